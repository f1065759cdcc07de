// Every order of an iteration that differs from the decided one by one move, or by one edge: the verifier refuses it, or the kernel
// computes the same numbers, in whatever order warps run and copies complete. Attention backward has MMAs of copies, and of what threads
// compute.
#include "gpu/machine/ptx.h"
#include "gpu/machine/simulate.h"
#include "gpu/passes.h"
#include "gpu/schedule/mma_intervals.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/schedule/operation_ids.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

constexpr int64_t size = 64, iterations = 3, rowLength = 2 * size;

struct Options {
  int64_t warps, stages;
  bool warpSpecialize; ///< as the author of a loop asks for it
};

std::string kernel(const Options &options) {
  return "#config = #ttg.config<warps = " + std::to_string(options.warps) + ", ctas = 1, stages = " + std::to_string(options.stages) +
         R"(, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[128]]], box = [], element = f16, swizzle = 0>
tt.func public @backward(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %rows: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map},
    %y: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %k = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %v = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%dv = %zero, %dk = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) : i32 {
    %q = ttg.descriptor_load %y[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %qt = tt.trans %q {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %k, %qt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %g = ttg.descriptor_load %y[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %dv1 = tt.dot %w, %g, %dv : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %gt = tt.trans %g {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %dp = tt.dot %v, %gt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %starts = tt.splat %rows : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %places = tt.addptr %starts, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %row = tt.load %places : tensor<64x!tt.ptr<f32>>
    %wide = tt.expand_dims %row {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %all = tt.broadcast %wide : tensor<1x64xf32> -> tensor<64x64xf32>
    %ds = arith.mulf %e, %dp : tensor<64x64xf32>
    %dd = arith.mulf %ds, %all : tensor<64x64xf32>
    %h = arith.truncf %dd : tensor<64x64xf32> to tensor<64x64xf16>
    %dk1 = tt.dot %h, %q, %dk : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %dv1, %dk1 : tensor<64x64xf32>, tensor<64x64xf32>
  })" + (options.warpSpecialize ? " {tt.warp_specialize}" : "") +
         R"(
  %c64s = arith.constant dense<64> : tensor<64x1xi32>
  %column = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %first = arith.muli %column, %c64s : tensor<64x1xi32>
  %firsts = tt.broadcast %first : tensor<64x1xi32> -> tensor<64x64xi32>
  %more = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %mores = tt.broadcast %more : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %firsts, %mores : tensor<64x64xi32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %elements = tt.addptr %out, %offsets : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %both = arith.addf %r#0, %r#1 : tensor<64x64xf32>
  tt.store %elements, %both : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
)";
}

class MmaOrders : public testing::TestWithParam<Options> {
protected:
  MmaOrders() : matrix(static_cast<size_t>(iterations * size * rowLength)), rows(size) {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    constexpr uint16_t halves[] = {0, 0x3400, 0xb400, 0x3000, 0xb000}; // 0, 1/4, -1/4, 1/8, -1/8
    uint32_t state = 1;
    for (uint16_t &number : matrix)
      number = halves[(state = state * 1664525 + 1013904223) / 65536 % std::size(halves)];
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = 0.25F * static_cast<float>(i % 5);
    scheduled = mlir::parseSourceString<mlir::ModuleOp>(kernel(GetParam()), &context, "test.mlir");
    for (auto step : {assignLayouts, selectTensorCores, stageTmaTransfers, scheduleLoops})
      EXPECT_TRUE(mlir::succeeded(step(*scheduled)));
    module = scheduled->clone();
    EXPECT_TRUE(mlir::succeeded(expandLoops(*module)));
    mlir::OwningOpRef<mlir::ModuleOp> decided = module->clone();
    std::optional<std::vector<float>> results = resultsOf(*decided, 0);
    EXPECT_TRUE(results) << problem;
    if (results) expected = *results;
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) { return problem = diagnostic.str(), mlir::success(); });
  }

  static mlir::scf::ForOp loopIn(mlir::ModuleOp module) {
    mlir::scf::ForOp loop;
    module.walk([&](mlir::scf::ForOp each) { loop = each; });
    return loop;
  }

  static llvm::LogicalResult expandLoops(mlir::ModuleOp module) {
    return llvm::success(succeeded(pipelineLoops(module)) && succeeded(copyUnpipelined(module)) && succeeded(scheduleMmas(module)));
  }

  /// Checks that a kernel after schedule-mmas gets the results of the decided one.
  void expectSame(mlir::ModuleOp changed, const std::string &change) {
    std::optional<std::vector<float>> results = resultsOf(changed, static_cast<uint64_t>(++accepted));
    EXPECT_TRUE(results && *results == expected) << change << ": " << (results ? "other results" : problem);
  }

  /// Carries out what the loops say and simulates the kernel. Returns its results, or nothing if a step or the simulator reports an error.
  std::optional<std::vector<float>> resultsOf(mlir::ModuleOp module, uint64_t seed) {
    for (auto step : {overlapMmas, planAccumulators, placeAccumulators, allocateShared, insertBarriers, specializeWarps, prepareLowering,
                      orderAccesses, lowerToThreads})
      if (failed(step(module))) return std::nullopt;
    std::vector<float> out(size * size);
    SimulateOptions options;
    options.memory = {{0, ~uint64_t(0), "memory"}};
    options.seed = seed;
    options.timing = static_cast<AsyncTiming>(seed % 3);
    options.maxSteps = 10'000'000;
    SimulatedArguments arguments;
    for (const void *slot : {static_cast<const void *>(matrix.data()), static_cast<const void *>(nullptr),
                             static_cast<const void *>(out.data()), static_cast<const void *>(rows.data())})
      arguments.slots.push_back(reinterpret_cast<uint64_t>(slot));
    arguments.slots[1] = iterations * size;
    tt::FuncOp function = *module.getOps<tt::FuncOp>().begin();
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto map = function.getArgAttrOfType<ttg::TensorMapAttr>(i, ttg::tensorMapName))
        arguments.maps.push_back({arguments.slots[0],
                                  MapElement::f16,
                                  {rowLength, iterations * size},
                                  {rowLength},
                                  map.getBox().asArrayRef().vec(),
                                  map.getSwizzle(),
                                  false});
    auto error = simulate(module, "backward", {1, 1, 1}, arguments, options);
    if (error) problem = error->message();
    return error ? std::nullopt : std::optional(out);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> scheduled, module; ///< after schedule-loops, and after schedule-mmas
  std::vector<uint16_t> matrix;
  std::vector<float> rows, expected;
  std::string problem; ///< the last error
  int64_t accepted = 0, refused = 0;
};

/// The decided order of MMAs, and what differs from it.
class Changes {
public:
  explicit Changes(mlir::scf::ForOp loop) : loop(loop), order(*loop.getBody()) {
    auto decided = loop->getAttrOfType<ttg::MmaScheduleAttr>(ttg::mmaScheduleName);
    OperationsById byId(loop.getBody());
    mlir::Operation *last = nullptr;
    for (ttg::OrderedOpAttr op : decided.getOps()) {
      mlir::Operation *found = byId.lookup(op.getId());
      if (op.getMoves() && last) order.moveAfter(found, last);
      if (op.getMoves() && !last) order.moveBefore(found, order.all().front());
      last = found;
    }
    edges.assign(decided.getEdges().begin(), decided.getEdges().end());
    int64_t next = 1000;
    for (mlir::Operation &op : *loop.getBody())
      if (!op.hasAttr(ttg::idName)) setId(&op, next++);
  }

  static bool hasEffect(mlir::Operation *op) { return !mlir::isMemoryEffectFree(op); }

  /// The order in which `op` stands after `position` (null: at the top), with what computes its operands if it moves up.
  BlockOrder moved(mlir::Operation *op, mlir::Operation *position) const {
    BlockOrder changed = order;
    llvm::SmallPtrSet<mlir::Operation *, 8> needed;
    auto need = [&](mlir::Operation *user) {
      for (mlir::Value operand : user->getOperands())
        if (mlir::Operation *from = operand.getDefiningOp()) needed.insert(from);
    };
    llvm::SmallVector<mlir::Operation *> along = {op};
    need(op);
    for (mlir::Operation *before = order.previous(op); before && before != position; before = order.previous(before))
      if (needed.contains(before) && !hasEffect(before)) {
        along.push_back(before);
        need(before);
      }
    if (position && !order.isBefore(position, op)) along = {op};
    for (mlir::Operation *each : along)
      position ? changed.moveAfter(each, position) : changed.moveBefore(each, changed.all().front());
    return changed;
  }

  void set(const BlockOrder &chosen, llvm::ArrayRef<ttg::AsyncEdgeAttr> ends) {
    llvm::SmallVector<ttg::OrderedOpAttr> ops;
    for (mlir::Operation *op : chosen.all())
      if (!op->hasTrait<mlir::OpTrait::IsTerminator>())
        ops.push_back(ttg::OrderedOpAttr::get(op->getContext(), idOf(op), chosen.hasMoved(op)));
    loop->setAttr(ttg::mmaScheduleName, ttg::MmaScheduleAttr::get(loop.getContext(), ops, ends));
  }

  /// What may stand before a moved operation; null for nothing.
  std::vector<mlir::Operation *> positions() const {
    std::vector<mlir::Operation *> all = {nullptr};
    llvm::copy_if(order.all(), std::back_inserter(all), hasEffect);
    return all;
  }

  mlir::scf::ForOp loop;
  BlockOrder order; ///< the decided one
  std::vector<ttg::AsyncEdgeAttr> edges;
};

TEST_P(MmaOrders, movesAndEdges) {
  mlir::scf::ForOp loop = loopIn(*module);
  ASSERT_TRUE(loop->hasAttr(ttg::mmaScheduleName));
  Changes changes(loop);
  auto check = [&](const BlockOrder &order, llvm::ArrayRef<ttg::AsyncEdgeAttr> edges, const std::string &change) {
    changes.set(order, edges);
    mlir::OwningOpRef<mlir::ModuleOp> changed = module->clone(), alone = module->clone();
    if (succeeded(overlapMmas(*alone)))
      expectSame(*changed, change);
    else
      ++refused;
  };
  std::set<std::vector<mlir::Operation *>> tried;
  for (mlir::Operation *op : changes.order.all())
    if (mlir::isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp, ttg::BarrierWaitOp, tt::LoadOp>(op))
      for (mlir::Operation *position : changes.positions()) {
        if (position == op) continue;
        BlockOrder order = changes.moved(op, position);
        std::vector<mlir::Operation *> effects;
        llvm::copy_if(order.all(), std::back_inserter(effects), Changes::hasEffect);
        if (!tried.insert(effects).second) continue; // only arithmetic stands elsewhere
        check(order, changes.edges, std::to_string(idOf(op)) + " after " + (position ? std::to_string(idOf(position)) : "nothing"));
      }
  for (size_t i = 0; i < changes.edges.size(); ++i)
    for (auto wait : loop.getBody()->getOps<ttg::MmaAsyncWaitOp>()) {
      std::vector<ttg::AsyncEdgeAttr> edges = changes.edges;
      edges[i] = ttg::AsyncEdgeAttr::get(&context, edges[i].getMma(), idOf(wait), edges[i].getDistance());
      check(changes.order, edges, std::to_string(edges[i].getMma()) + " ends at " + std::to_string(idOf(wait)));
    }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 50);
}

TEST_P(MmaOrders, numbersOfLoopSchedules) {
  auto decided = loopIn(*scheduled)->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
  ASSERT_TRUE(decided);
  std::string text;
  llvm::raw_string_ostream(text) << decided;
  const std::regex number("[^a-z0-9]([0-9]+)");
  for (auto each = std::sregex_iterator(text.begin(), text.end(), number); each != std::sregex_iterator(); ++each)
    for (int64_t value = -1; value < 5; ++value) {
      std::string changed = text;
      changed.replace(static_cast<size_t>(each->position(1)), static_cast<size_t>(each->length(1)), std::to_string(value));
      mlir::Attribute attribute = mlir::parseAttribute(changed, &context);
      if (!attribute || attribute == decided) continue;
      mlir::OwningOpRef<mlir::ModuleOp> kernel = scheduled->clone();
      loopIn(*kernel)->setAttr(ttg::loopScheduleName, attribute);
      if (succeeded(expandLoops(*kernel)))
        expectSame(*kernel, changed);
      else
        ++refused;
    }
  EXPECT_GT(accepted + refused, 10);
}

INSTANTIATE_TEST_SUITE_P(kernels, MmaOrders,
                         testing::Values(Options{4, 1, false}, Options{4, 2, false}, Options{4, 3, false}, Options{4, 2, true}));

} // namespace
