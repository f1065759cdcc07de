#include "tune/estimate.h"

#include "ir/tt.h"
#include "ir/work.h"
#include "pipeline/program.h"
#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tilewright {

namespace {

/// Walks a kernel's operations, counting how often each is executed.
class WorkCounter {
public:
  explicit WorkCounter(llvm::ArrayRef<std::optional<int64_t>> arguments) : arguments(arguments) {}

  void walk(Region &region, double times) {
    for (Operation &op : region.getOps()) {
      count(op, times);
      double trips = 1;
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        trips = tripsOf(loop);
        work.iterations += trips * times;
      }
      if (isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op))
        for (Region &inner : op.getRegions())
          walk(inner, times * trips);
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

  void count(Operation &op, double times) {
    double operations = arithmeticOf(&op);
    (isa<tt::DotOp>(op) ? work.products : work.arithmetic) += operations * times;
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      work.bytes += bytesOf(load.getType()) * times;
      loaded[op.getBlock()] += bytesOf(load.getType());
      work.tileBytes = std::max(work.tileBytes, loaded[op.getBlock()]);
    }
    if (auto store = dyn_cast<tt::StoreOp>(op)) work.bytes += bytesOf(store.getValue().getType()) * times;
    if (auto dot = dyn_cast<tt::DotOp>(op)) {
      work.sumBytes = std::max(work.sumBytes, bytesOf(dot.getType()));
      work.sumTraffic += 2 * bytesOf(dot.getType()) * times;
    }
  }

  double tripsOf(scf::ForOp loop) {
    std::optional<int64_t> low = valueOf(loop.getLowerBound(), 0), high = valueOf(loop.getUpperBound(), 0),
                           step = valueOf(loop.getStep(), 0);
    if (!low || !high || !step || *step <= 0) return 1;
    return static_cast<double>(std::max<int64_t>((*high - *low + *step - 1) / *step, 0));
  }

  /// Of an integer that follows from the arguments, in program 0.
  std::optional<int64_t> valueOf(mlir::Value value, int depth) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      bool isOfKernel = isa<tt::FuncOp>(argument.getOwner()->getParentOp());
      return isOfKernel && argument.getArgNumber() < arguments.size() ? arguments[argument.getArgNumber()] : std::nullopt;
    }
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) return constant.getSExtValue();
    Operation *op = value.getDefiningOp();
    constexpr int deepest = 64;
    if (isa<tt::GetProgramIdOp>(op)) return 0;
    if (depth > deepest || op->getNumOperands() == 0 || op->getNumOperands() > 2) return std::nullopt;
    std::optional<int64_t> a = valueOf(op->getOperand(0), depth + 1),
                           b = op->getNumOperands() == 2 ? valueOf(op->getOperand(1), depth + 1) : 1;
    if (!a || !b) return std::nullopt;
    return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) { return a; })
        .Case<arith::AddIOp>([&](auto) { return *a + *b; })
        .Case<arith::SubIOp>([&](auto) { return *a - *b; })
        .Case<arith::MulIOp>([&](auto) { return *a * *b; })
        .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) { return *b > 0 ? std::optional(*a / *b) : std::nullopt; })
        .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return *b > 0 ? std::optional(*a % *b) : std::nullopt; })
        .Case<arith::MinSIOp>([&](auto) { return std::min(*a, *b); })
        .Case<arith::MaxSIOp>([&](auto) { return std::max(*a, *b); })
        .Default([](Operation *) { return std::nullopt; });
  }

  llvm::ArrayRef<std::optional<int64_t>> arguments;
  llvm::DenseMap<Block *, double> loaded;
};

} // namespace

/// The integers among the run-time values, in the order of the kernel's arguments in IR.
static void appendIntegers(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                           std::vector<std::optional<int64_t>> &values) {
  for (auto [spec, argument] : llvm::zip(specs, arguments)) {
    if (spec.constant) continue;
    if (!spec.members.empty()) {
      appendIntegers(spec.members, argument.members(), values);
      continue;
    }
    bool isInteger = argument.kind() == Argument::Kind::integer || argument.kind() == Argument::Kind::boolean;
    values.push_back(isInteger ? std::optional(argument.asInteger()) : std::nullopt);
    if (argument.kind() != Argument::Kind::descriptor) continue;
    values.insert(values.end(), argument.shape().begin(), argument.shape().end());
    values.insert(values.end(), argument.strides().begin(), argument.strides().end());
  }
}

static std::optional<ProgramWork> workOfProgram(const CompileRequest &request, llvm::ArrayRef<Argument> arguments,
                                                Diagnostics &diagnostics) {
  std::unique_ptr<TileProgram> program = TileProgram::createSimplified(request, diagnostics);
  if (!program) return std::nullopt;
  std::vector<std::optional<int64_t>> values;
  appendIntegers(request.args, arguments, values);
  WorkCounter counter(values);
  HeldModule module = program->hold();
  auto kernel = (*module).lookupSymbol<tt::FuncOp>(request.kernel.name());
  if (!kernel || kernel.isExternal()) return ProgramWork{};
  counter.walk(kernel.getBody(), 1);
  return counter.work;
}

namespace {
/// What a machine's workers (cores, multiprocessors) do; only the proportions matter.
struct Workers {
  double count;
  double arithmetic, products; // operations a second of each
  double bytes;                // a second of each, from caches
  double memory;               // a second of all, from memory
  double start;                // seconds of a program's beginning and end
  double sums;                 // bytes a second of what products add to; on GPUs it stays in registers
  double iteration;            // seconds of an iteration's own
};
} // namespace

// Of a Zen 5 core and an H100, rounded: a machine that is half as fast in all of them orders configurations alike.
static Workers workersOf(const GpuTarget *gpu) {
  if (gpu) return {132, 4e11, 6e12, 4e10, 3e12, 2e-6, 1e15, 1e-7};
  double lanes = static_cast<double>(hostCpu().vectorBytes) / 4;
  return {static_cast<double>(defaultThreads()), lanes * 6e9, lanes * 1.2e10, 3e10, 3e10, 2e-7, 2e11, 5e-8};
}

double estimateSeconds(const ProgramWork &work, int64_t programs, const KernelOptions &options, const GpuTarget *gpu) {
  Workers workers = workersOf(gpu);
  if (gpu) {
    // A ring of slots for what a loop loads; sums in registers, at most 128 of a thread's.
    bool fits = work.tileBytes * static_cast<double>(std::max<int64_t>(options.numStages, 1)) <= static_cast<double>(gpu->sharedBytes) &&
                work.sumBytes <= 128.0 * 4 * 32 * static_cast<double>(options.numWarps);
    if (!fits) return std::numeric_limits<double>::infinity();
  } else if (work.tileBytes + work.sumBytes > static_cast<double>(hostCpu().l2Bytes)) {
    workers.bytes /= 4; // tiles that leave the core's own cache
  }
  double one = work.arithmetic / workers.arithmetic + std::max(work.products / workers.products, work.bytes / workers.bytes) +
               work.sumTraffic / workers.sums + work.iterations * workers.iteration + workers.start;
  double all = static_cast<double>(programs);
  return std::max(std::ceil(all / workers.count) * one, all * work.bytes / workers.memory / 4); // caches give most of it again
}

std::optional<ProgramWork> workOfLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                        const LaunchOptions &options, Diagnostics &diagnostics) {
  std::optional<std::vector<ArgumentSpec>> specs = specialize(*kernel, arguments, diagnostics);
  if (!specs) return std::nullopt;
  CompileRequest request;
  request.kernel = KernelSource(kernel.get());
  request.args = std::move(*specs);
  request.options = options.kernel;
  request.target = hostCpu();
  return workOfProgram(request, arguments, diagnostics);
}

std::optional<double> estimateLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                     const LaunchOptions &options, int64_t programs, Diagnostics &diagnostics) {
  std::optional<ProgramWork> work = workOfLaunch(kernel, arguments, options, diagnostics);
  if (!work) return std::nullopt;
  const gpu::CudaDevice *device = options.device >= 0 ? gpu::CudaDevice::get(options.device, diagnostics) : nullptr;
  return estimateSeconds(*work, programs, options.kernel, device ? &device->target : nullptr);
}

} // namespace tilewright
