#include "tune/program_work.h"

#include "driver/program.h"
#include "gpu/tiles/cluster/split_k_in_cluster.h"
#include "ir/integer_value.h"
#include "ir/tt.h"
#include "ir/work.h"
#include "runtime/cuda/device.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

using namespace mlir;

namespace tilewright {

namespace {

/// One program of a launch: its ID and the grid's extents; unknown if no launch is described.
struct Program {
  std::array<Integer, 3> number{0, 0, 0}, extent;
};

/// Walks a kernel's operations and counts how often one program executes each.
class WorkCounter {
public:
  WorkCounter(llvm::ArrayRef<Integer> arguments, const Program &program, const std::string &file)
      : arguments(arguments), program(program), file(file) {}

  void walk(Region &region, double times) {
    for (Operation &op : region.getOps()) {
      count(op, times);
      if (auto choice = dyn_cast<scf::IfOp>(op)) {
        Integer taken = valueOf(choice.getCondition(), 0);
        if (!taken || *taken) walk(choice.getThenRegion(), times);
        if (!taken || !*taken) walk(choice.getElseRegion(), times);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        double trips = tripsOf(loop);
        work.iterations += trips * times;
        if (trips > 0) walk(loop.getRegion(), times * trips);
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        work.isExact = false;
        for (Region &inner : loop->getRegions())
          walk(inner, times);
      }
    }
  }

  ProgramWork work;

private:
  static double bytesOf(mlir::Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    mlir::Type element = getElementTypeOrSelf(type);
    double size = element.isIntOrFloat() ? std::max(element.getIntOrFloatBitWidth() / 8, 1u) : 8;
    return size * (tile ? static_cast<double>(tile.getNumElements()) : 1);
  }

  static bool isFunction(Operation *op) {
    bool isSingleInstruction =
        isa<math::FmaOp, math::AbsFOp, math::AbsIOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::RoundEvenOp>(op);
    return isa<tt::ExternElementwiseOp>(op) || (isa<math::MathDialect>(op->getDialect()) && !isSingleInstruction);
  }

  /// Returns the name of a dot's operand type in Peaks.
  static std::string operandsOf(tt::DotOp dot) {
    mlir::Type type = getElementTypeOrSelf(dot.getA().getType());
    if (type.isF64()) return "float64";
    if (type.isF16()) return "float16";
    if (type.isBF16()) return "bfloat16";
    if (type.isF32()) return dot.getInputPrecision() == tt::InputPrecision::TF32 ? "tf32" : "float32";
    return isa<FloatType>(type) ? "float8" : "int8";
  }

  /// Two operands of e2m1 take half the time of float8.
  void countDot(Operation &op, double operations, double times) {
    if (auto scaled = dyn_cast<tt::DotScaledOp>(op)) {
      bool arePairs = scaled.getAElemType() == tt::ScaleDotElemType::E2M1 && scaled.getBElemType() == tt::ScaleDotElemType::E2M1;
      work.dotOperations["float8"] += arePairs ? operations / 2 : operations;
    } else {
      work.dotOperations[operandsOf(cast<tt::DotOp>(op))] += operations;
    }
    double bytes = bytesOf(op.getResult(0).getType());
    work.sumBytes = std::max(work.sumBytes, bytes);
    work.sumTraffic += 2 * bytes * times;
  }

  void count(Operation &op, double times) {
    LineWork done;
    double operations = arithmeticOf(&op) * times;
    if (isa<tt::DotOp, tt::DotScaledOp>(op)) {
      done.dots = operations;
      countDot(op, operations, times);
    } else {
      done.arithmetic = operations;
      if (isFunction(&op)) done.functions = operations;
    }
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      done.bytes = bytesOf(load.getType()) * times;
      loaded[op.getBlock()] += bytesOf(load.getType());
      work.tileBytes = std::max(work.tileBytes, loaded[op.getBlock()]);
    }
    if (auto store = dyn_cast<tt::StoreOp>(op)) done.bytes = bytesOf(store.getValue().getType()) * times;
    if (auto atomic = dyn_cast<tt::AtomicRMWOp>(op)) done.bytes = 2 * bytesOf(atomic.getType()) * times;
    if (operations == 0 && done.bytes == 0) return;
    work.arithmetic += done.arithmetic, work.functions += done.functions, work.dots += done.dots, work.bytes += done.bytes;
    LineWork &line = work.lines[sourceLineOf(op.getLoc(), file)];
    line.arithmetic += done.arithmetic, line.functions += done.functions, line.dots += done.dots, line.bytes += done.bytes;
  }

  struct Bounds {
    int64_t low, trips, step;
  };
  std::optional<Bounds> boundsOf(scf::ForOp loop, int depth) {
    Integer low = valueOf(loop.getLowerBound(), depth), high = valueOf(loop.getUpperBound(), depth), step = valueOf(loop.getStep(), depth);
    if (loop.getUnsignedCmp() && loop.getStep().getType().isInteger(32))
      for (Integer *bound : {&low, &high})
        if (*bound) *bound = static_cast<uint32_t>(**bound);
    if (!low || !high || !step || *step <= 0) return std::nullopt;
    return Bounds{*low, std::max<int64_t>((*high - *low + *step - 1) / *step, 0), *step};
  }

  double tripsOf(scf::ForOp loop) {
    std::optional<Bounds> bounds = boundsOf(loop, 0);
    work.isExact &= bounds.has_value();
    return bounds ? static_cast<double>(bounds->trips) : 1;
  }

  /// Returns the value of a kernel's integer argument, or of a loop's induction variable at half of its range.
  Integer valueOfArgument(BlockArgument argument, int depth) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<tt::FuncOp>(parent)) return argument.getArgNumber() < arguments.size() ? arguments[argument.getArgNumber()] : std::nullopt;
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || argument != loop.getInductionVar()) return std::nullopt;
    std::optional<Bounds> bounds = boundsOf(loop, depth);
    return bounds ? Integer(bounds->low + bounds->trips / 2 * bounds->step) : std::nullopt;
  }

  /// Returns the value of an integer that follows from the arguments and the program ID.
  Integer valueOf(mlir::Value value, int depth) {
    constexpr int deepest = 64;
    if (depth > deepest) return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(value)) return valueOfArgument(argument, depth + 1);
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) return constant.getSExtValue();
    Operation *op = value.getDefiningOp();
    if (auto id = dyn_cast<tt::GetProgramIdOp>(op)) return program.number[static_cast<size_t>(id.getAxis())];
    if (auto extent = dyn_cast<tt::GetNumProgramsOp>(op)) return program.extent[static_cast<size_t>(extent.getAxis())];
    if (op->getNumOperands() == 0 || op->getNumOperands() > 3 || op->getNumResults() != 1) return std::nullopt;
    llvm::SmallVector<Integer, 3> of;
    for (mlir::Value operand : op->getOperands())
      of.push_back(valueOf(operand, depth + 1));
    return computeInteger(op, of);
  }

  llvm::ArrayRef<Integer> arguments;
  const Program &program;
  const std::string &file;
  llvm::DenseMap<Block *, double> loaded;
};

} // namespace

/// Appends the integers among the run-time values, in the order of the kernel's arguments in IR.
static void appendIntegers(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, std::vector<Integer> &values) {
  for (auto [spec, argument] : llvm::zip(specs, arguments)) {
    if (spec.constant) continue;
    if (!spec.members.empty()) {
      appendIntegers(spec.members, argument.members(), values);
      continue;
    }
    bool isInteger = argument.kind() == Argument::Kind::integer || argument.kind() == Argument::Kind::boolean;
    values.push_back(isInteger ? Integer(argument.asInteger()) : std::nullopt);
    if (argument.kind() != Argument::Kind::descriptor) continue;
    values.insert(values.end(), argument.shape().begin(), argument.shape().end());
    values.insert(values.end(), argument.strides().begin(), argument.strides().end());
  }
}

/// Returns a few programs, spread evenly over the grid. None for an empty grid.
static std::vector<Program> samplesOf(const std::optional<Grid> &grid) {
  if (!grid) return {Program()};
  auto [x, y, z] = grid->extent;
  constexpr int64_t maxSamples = 9;
  int64_t all = x * y * z, count = std::min(all, maxSamples);
  std::vector<Program> programs;
  for (int64_t i = 0; i < count; ++i) {
    // From 0 to all - 1 with both ends; in 128 bits, because a grid may have 2^63 programs.
    auto at = count == 1 ? 0 : static_cast<int64_t>(static_cast<__int128>(i) * (all - 1) / (count - 1));
    programs.push_back({{at % x, at / x % y, at / x / y}, {x, y, z}});
  }
  return programs;
}

static constexpr double ProgramWork::*sums[] = {&ProgramWork::arithmetic, &ProgramWork::functions,  &ProgramWork::dots,
                                                &ProgramWork::bytes,      &ProgramWork::sumTraffic, &ProgramWork::iterations};
static constexpr double LineWork::*lineSums[] = {&LineWork::arithmetic, &LineWork::functions, &LineWork::dots, &LineWork::bytes};

static void add(ProgramWork &all, const ProgramWork &one) {
  for (double ProgramWork::*field : sums)
    all.*field += one.*field;
  all.tileBytes = std::max(all.tileBytes, one.tileBytes);
  all.sumBytes = std::max(all.sumBytes, one.sumBytes);
  all.isExact &= one.isExact;
  for (const auto &[type, operations] : one.dotOperations)
    all.dotOperations[type] += operations;
  for (const auto &[where, work] : one.lines)
    for (double LineWork::*field : lineSums)
      all.lines[where].*field += work.*field;
}

static void divide(ProgramWork &all, double count) {
  for (double ProgramWork::*field : sums)
    all.*field /= count;
  for (auto &[type, operations] : all.dotOperations)
    operations /= count;
  for (auto &[where, work] : all.lines)
    for (double LineWork::*field : lineSums)
      work.*field /= count;
}

std::optional<ProgramWork> workOfRequest(const CompileRequest &request, llvm::ArrayRef<Argument> arguments, const std::optional<Grid> &grid,
                                         Diagnostics &diagnostics) {
  std::unique_ptr<TileProgram> program = TileProgram::createSimplified(request, diagnostics);
  if (!program) return std::nullopt;
  std::vector<Integer> values;
  if (!arguments.empty()) appendIntegers(request.args, arguments, values);
  HeldModule module = program->hold();
  auto kernel = (*module).lookupSymbol<tt::FuncOp>(request.kernel.name());
  ProgramWork mean;
  if (!kernel || kernel.isExternal()) return mean;
  mean.splitsSums = request.gpu && !gpu::splitKOf(kernel, request.options.numCtas, *request.gpu).dots.empty();
  std::string file = sourceFileOf(kernel);
  std::vector<Program> samples = samplesOf(grid);
  for (const Program &sample : samples) {
    WorkCounter counter(values, sample, file);
    counter.walk(kernel.getBody(), 1);
    add(mean, counter.work);
  }
  if (!samples.empty()) divide(mean, static_cast<double>(samples.size()));
  return mean;
}

std::optional<ProgramWork> workOfLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                        const LaunchOptions &options, const Grid &grid, Diagnostics &diagnostics) {
  std::optional<std::vector<ArgumentSpec>> specs = specialize(*kernel, arguments, diagnostics);
  if (!specs) return std::nullopt;
  CompileRequest request;
  request.kernel = KernelSource(kernel.get());
  request.args = std::move(*specs);
  request.options = options.kernel;
  request.target = hostCpu();
  if (const gpu::CudaDevice *device = options.device >= 0 ? gpu::CudaDevice::get(options.device, diagnostics) : nullptr)
    request.gpu = device->target; // decides whether dots of f32 may use TF32
  return workOfRequest(request, arguments, grid, diagnostics);
}

} // namespace tilewright
