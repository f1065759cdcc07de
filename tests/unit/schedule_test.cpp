// Schedules and plans of shared memory prove themselves: what the planners make holds, and what was tampered with is caught before it
// becomes code.
#include "gpu/cost_model/accumulators.h"
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/policies/policies.h"
#include "gpu/schedule/shared_memory/shared_accesses.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

/// A kernel as select-tensor-cores leaves it, and the schedule of its loop.
class Schedule : public testing::Test {
protected:
  Schedule() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void load(const std::string &config, const std::string &body) {
    std::string source = "#config = #ttg.config<" + config +
                         ">\n#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, "
                         "swizzle = 0>\ntt.func public @kernel(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %o: !tt.ptr<f32>, "
                         "%x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {\n"
                         "%c0 = arith.constant 0 : i32\n%c64 = arith.constant 64 : i32\n%c128 = arith.constant 128 : i32\n" +
                         body + "tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context, "test.mlir");
    ASSERT_TRUE(module);
    ASSERT_TRUE(mlir::succeeded(assignLayouts(*module)) && mlir::succeeded(selectTensorCores(*module)));
    function = *module->getOps<tt::FuncOp>().begin();
    function.walk([&](mlir::scf::ForOp found) { loop = found; });
  }

  LoopSchedule schedule(int64_t stages, bool warpSpecialized) {
    ttg::ConfigAttr config = ttg::configOf(function);
    GpuTarget target = *gpuTarget(config.getTarget().getValue());
    LoopSchedule schedule(findPrefetchableLoads(loop, target));
    EXPECT_FALSE(schedule.circularBuffers.empty());
    schedule.warpSpecialized = warpSpecialized;
    applyPolicies(schedule, stages, {config, target});
    EXPECT_TRUE(verify(schedule));
    return schedule;
  }

  void caught(LoopSchedule doctored, llvm::function_ref<void(LoopSchedule &)> change) {
    change(doctored);
    EXPECT_FALSE(verify(doctored));
  }

  void caught(LoopSchedule doctored, llvm::function_ref<void(LoopSchedule &)> change, llvm::StringRef reason) {
    change(doctored);
    Result<void> valid = verify(doctored);
    EXPECT_TRUE(!valid && valid.error() == reason) << (valid ? "" : valid.error());
  }

  /// Copies and releases of all circular buffers stand after `op`.
  static void moveRefills(LoopSchedule &schedule, mlir::Operation *op) {
    for (CircularBuffer &circular : schedule.circularBuffers)
      circular.copyAfter = circular.releaseAfter = op;
  }

  /// Sums accumulate in place: products run on over the back edge.
  void loadGemm() {
    load("warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_90a\"", R"(
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %b = ttg.descriptor_load %x[%c0, %k] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
)");
  }

  /// Two products, one waits for the other.
  void loadAttention(const std::string &maxRegisters) {
    load("warps = 8, ctas = 1, stages = 2, maxRegisters = " + maxRegisters + ", target = \"sm_90a\"", R"(
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %nothing = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
  %r = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %zero) -> (tensor<128x64xf32>) : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %t = tt.trans %k {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
    %s = tt.dot %q, %t, %nothing : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    %e = math.exp2 %s : tensor<128x128xf32>
    %w = arith.truncf %e : tensor<128x128xf32> to tensor<128x128xf16>
    %d = tt.dot %w, %v, %acc : tensor<128x128xf16> * tensor<128x64xf16> -> tensor<128x64xf32>
    scf.yield %d : tensor<128x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<128x64x!tt.ptr<f32>>
)");
  }

  /// Three products; the last one adds up in place.
  void loadBackward(const std::string &maxRegisters) {
    load("warps = 4, ctas = 1, stages = 3, maxRegisters = " + maxRegisters + ", target = \"sm_90a\"", R"(
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %g = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %kt = tt.trans %k {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %vt = tt.trans %v {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %kt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %t = tt.dot %g, %vt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = arith.mulf %s, %t : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %b = ttg.descriptor_load %x[%c128, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %d = tt.dot %w, %b, %sum : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
)");
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tt::FuncOp function;
  mlir::scf::ForOp loop;
};

TEST_F(Schedule, mmasInFlight) {
  loadGemm();
  LoopSchedule good = schedule(3, /*warpSpecialized=*/false);
  EXPECT_EQ(good.policy, "gemm");
  ASSERT_EQ(good.circularBuffers.size(), 1u);
  ASSERT_EQ(good.edges.size(), 1u);
  EXPECT_EQ(good.circularBuffers[0].distance, 2);
  caught(good, [](LoopSchedule &s) { s.stages = 1; });
  caught(good, [](LoopSchedule &s) { s.circularBuffers.clear(); });
  caught(good, [](LoopSchedule &s) { s.circularBuffers[0].distance = 3; }); // filled while it is read
  caught(good, [](LoopSchedule &s) { s.circularBuffers[0].distance = 0; }); // started where it is waited for
  caught(good, [](LoopSchedule &s) { moveRefills(s, nullptr); });           // before the MMA of the previous iteration is drained
  caught(good, [](LoopSchedule &s) { moveRefills(s, &s.loop.getBody()->front()); });
  caught(good, [](LoopSchedule &s) { moveRefills(s, s.loop); });
  caught(good, [](LoopSchedule &s) { s.circularBuffers[0].endOfReads = s.circularBuffers[0].firstReader; }); // released while it is read
  caught(good, [](LoopSchedule &s) { s.circularBuffers[0].firstReader = s.circularBuffers[0].endOfReads; }); // read before the wait
  caught(good, [](LoopSchedule &s) { s.shiftedMma = s.edges[0].op, s.shift = 1; });
  caught(good, [](LoopSchedule &s) { s.edges[0].until = s.loop; });
  caught(good, [](LoopSchedule &s) { s.computed.push_back(s.circularBuffers[0].copies[0].store); }, "threads fill a buffer of copies");
}

/// The last of three MMAs stays in flight until the next iteration's first wait, after which its stages are refilled.
TEST_F(Schedule, lastMmaStaysInFlight) {
  for (bool warpSpecialized : {false, true}) {
    loadBackward("0");
    LoopSchedule good = schedule(3, warpSpecialized);
    EXPECT_EQ(good.policy, "many-dots");
    ASSERT_TRUE(good.drainsAtWait());
    ASSERT_EQ(good.edges.size(), 1u);
    auto wait = mlir::cast<ttg::MmaAsyncWaitOp>(good.edges[0].until);
    for (const CircularBuffer &circular : good.circularBuffers)
      EXPECT_EQ(circular.distance, warpSpecialized ? 0 : 2);
    if (!warpSpecialized) caught(good, [](LoopSchedule &s) { s.circularBuffers.back().distance = 3; }); // the MMA in flight reads it
    caught(good, [](LoopSchedule &s) { moveRefills(s, s.circularBuffers[0].firstReader); });            // before the MMA is drained
    caught(good, [](LoopSchedule &s) { s.edges.push_back(s.edges[0]); });
    caught(good, [&](LoopSchedule &) { wait.setPending(1); });
    wait.setPending(0);
    caught(good, [](LoopSchedule &s) { s.edges[0].until = s.edges[0].op->getNextNode(); }); // added to before
  }
  loadBackward("128"); // not enough registers for its first operand and all accumulators
  LoopSchedule good = schedule(3, /*warpSpecialized=*/false);
  EXPECT_EQ(good.policy, "waited-dots");
  EXPECT_TRUE(good.edges.empty());
}

TEST_F(Schedule, accumulatorsOneAfterTheOther) {
  load("warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_90a\"", R"(
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %s = tt.dot %q, %k, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %t = tt.dot %q, %v, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = arith.mulf %s, %t : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %u = tt.trans %w {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %a = tt.dot %u, %q, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %d = tt.dot %w, %k, %sum : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    tt.store %out, %a : tensor<64x64x!tt.ptr<f32>>
    scf.yield %d : tensor<64x64xf32>
  }
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
)");
  // 32 registers a thread each: %d throughout, at the same time %s and %t, and after them %a, whose operand threads compute from those.
  EXPECT_EQ(accumulatorsOf(loop), 3 * 32);
  loadBackward("0");
  EXPECT_EQ(accumulatorsOf(loop), 3 * 32);
}

TEST_F(Schedule, prefetchedMma) {
  loadAttention("0");
  LoopSchedule good = schedule(2, /*warpSpecialized=*/false);
  EXPECT_EQ(good.policy, "chained-dots");
  ASSERT_EQ(good.circularBuffers.size(), 2u);
  ASSERT_EQ(good.shift, 1);
  EXPECT_EQ(good.circularBuffers[0].copyAfter, nullptr);
  caught(good, [](LoopSchedule &s) { s.circularBuffers[0].distance = 1; }); // the shifted MMA reads it before it is copied
  caught(good, [](LoopSchedule &s) { s.circularBuffers[1].copyAfter = nullptr, s.circularBuffers[1].releaseAfter = nullptr; });
  caught(good, [](LoopSchedule &s) { moveRefills(s, nullptr); });
  caught(good, [](LoopSchedule &s) { moveRefills(s, s.circularBuffers[0].firstReader); }); // before the values are read
}

/// Only the first MMA of a chain can run early, and the last one late: the rewriting moves nothing else.
TEST_F(Schedule, shiftedMmas) {
  loadAttention("0");
  LoopSchedule early = schedule(2, /*warpSpecialized=*/false), late = schedule(3, /*warpSpecialized=*/true);
  mlir::Operation *first = early.shiftedMma, *last = late.shiftedMma;
  ASSERT_TRUE(early.shift == 1 && late.shift == -1 && first != last);
  auto mma = mlir::cast<ttg::MmaAsyncOp>(first);
  auto wait = mlir::cast<ttg::MmaAsyncWaitOp>(first->getNextNode());
  std::string isOther = "the shifted MMA is not the first one of its chain, or the last one";
  caught(early, [&](LoopSchedule &s) { s.shiftedMma = last; }, isOther);
  caught(late, [&](LoopSchedule &s) { s.shiftedMma = first; }, isOther);
  caught(early, [](LoopSchedule &s) { s.shift = -1; }, "an MMA is shifted for which the partitions of the loop are not made");
  caught(late, [](LoopSchedule &s) { s.shift = 1; }, "an MMA is shifted for which the partitions of the loop are not made");
  wait.setPending(1);
  caught(early, [](LoopSchedule &) {}, "no MMA can be shifted: the first MMA is not waited for alone, where it stands");
  wait.setPending(0);
  mlir::OpBuilder b(last);
  auto copy = mlir::cast<ttg::MmaAsyncOp>(b.clone(*first)); // another reader of the first copies
  caught(early, [](LoopSchedule &) {}, "no MMA can be shifted: no MMA alone reads the first copies");
  copy.erase();
  mlir::Value sum = mma.getC();
  mma.getCMutable().assign(b.clone(*sum.getDefiningOp())->getResult(0)); // visible at the last MMA only
  caught(early, [](LoopSchedule &) {}, "no MMA can be shifted: the first MMA adds to what the loop computes");
  mma.getCMutable().assign(sum);
  EXPECT_TRUE(verify(early) && verify(late));
  // Of two stages, the second one only computes.
  b.setInsertionPointAfter(last->getNextNode());
  tt::PrintOp::create(b, loop.getLoc(), "", false, last->getNextNode()->getResults(), llvm::ArrayRef<int32_t>{0});
  EXPECT_TRUE(verify(early));
  caught(late, [](LoopSchedule &) {}, "no MMA can be shifted: its two stages are not separable");
}

/// A producer warp fills the stages that the consumers release.
TEST_F(Schedule, releasedStages) {
  loadAttention("0");
  LoopSchedule good = schedule(3, /*warpSpecialized=*/true);
  EXPECT_EQ(good.policy, "chained-dots");
  ASSERT_EQ(good.shift, -1);
  EXPECT_NE(good.circularBuffers[0].releaseAfter, good.circularBuffers[1].releaseAfter);
  caught(good, [](LoopSchedule &s) { moveRefills(s, nullptr); });
  caught(good, [](LoopSchedule &s) { moveRefills(s, s.circularBuffers[0].firstReader); });
  caught(good, [](LoopSchedule &s) { moveRefills(s, s.circularBuffers[0].endOfReads); }); // the values are still read
  caught(good, [](LoopSchedule &s) { s.circularBuffers[1].tma = false; });
  // Two stages are enough: that of the first MMA is released where this MMA has ended, not at the end of the iteration.
  EXPECT_EQ(schedule(2, /*warpSpecialized=*/true).shift, -1);
}

TEST_F(Schedule, oneIterationAfterTheOther) {
  loadAttention("128");
  LoopSchedule good = schedule(2, /*warpSpecialized=*/false);
  EXPECT_EQ(good.policy, "waited-dots");
  ASSERT_EQ(good.circularBuffers.size(), 2u);
  ASSERT_EQ(good.shift, 0);
  EXPECT_EQ(good.circularBuffers[0].distance, 2);
  EXPECT_EQ(good.circularBuffers[1].distance, 1);
  caught(good, [](LoopSchedule &s) { s.circularBuffers[1].distance = 2; }); // the values' stage is read further down
  caught(good, [](LoopSchedule &s) { moveRefills(s, s.circularBuffers[0].firstReader); });
  caught(good, [](LoopSchedule &s) { s.circularBuffers[1].distance = 0; });
}

TEST_F(Schedule, copiesByThreads) {
  load("warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_80\"", R"(
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %row = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %col = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %rows = arith.muli %row, %stride : tensor<64x1xi32>
  %r2 = tt.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %c2 = tt.broadcast %col : tensor<1x64xi32> -> tensor<64x64xi32>
  %offsets = arith.addi %r2, %c2 : tensor<64x64xi32>
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %at = arith.muli %k, %c64 : i32
    %q = tt.addptr %p, %at : !tt.ptr<f16>, i32
    %s = tt.splat %q : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %t = tt.addptr %s, %offsets : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %a = tt.load %t : tensor<64x64x!tt.ptr<f16>>
    %d = tt.dot %a, %a, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
)");
  // Before the pipeline has merged them the tile has two buffers, and a load with two uses does not run ahead: one is enough here.
  mlir::Operation *second = nullptr;
  function.walk([&](ttg::StoreSharedOp store) { second = store; });
  auto stored = mlir::cast<ttg::StoreSharedOp>(second);
  mlir::OpBuilder b(stored.getSrc().getDefiningOp());
  stored.getSrcMutable().assign(b.clone(*stored.getSrc().getDefiningOp())->getResult(0));
  LoopSchedule good = schedule(3, /*warpSpecialized=*/false);
  ASSERT_FALSE(good.circularBuffers.empty());
  EXPECT_FALSE(good.circularBuffers[0].tma);
  EXPECT_EQ(good.policy, "copy-async");
  caught(good, [](LoopSchedule &s) { s.circularBuffers[0].distance = 3; });
  caught(good, [](LoopSchedule &s) { s.warpSpecialized = true; });
  caught(good,
         [](LoopSchedule &s) { s.circularBuffers.push_back(s.circularBuffers[0]), s.circularBuffers.back().distance -= 1; }); // one wait
}

/// What is written on the loop is read back.
TEST_F(Schedule, attribute) {
  for (bool backward : {false, true})
    for (bool warpSpecialized : {false, true}) {
      if (backward)
        loadBackward("0");
      else
        loadAttention("0");
      LoopSchedule written = schedule(2, warpSpecialized);
      int64_t nextId = 7;
      written.reason = "for people";
      writeSchedule(written, nextId);
      EXPECT_GT(nextId, 7);
      mlir::FailureOr<LoopSchedule> read = readSchedule(loop);
      ASSERT_TRUE(mlir::succeeded(read));
      EXPECT_TRUE(verify(*read));
      EXPECT_EQ(read->policy, written.policy);
      EXPECT_EQ(read->stages, written.stages);
      EXPECT_EQ(read->warpSpecialized, written.warpSpecialized);
      EXPECT_EQ(read->shiftedMma, written.shiftedMma);
      EXPECT_EQ(read->shift, written.shift);
      ASSERT_EQ(read->edges.size(), written.edges.size());
      for (auto [x, y] : llvm::zip(read->edges, written.edges))
        EXPECT_TRUE(x.op == y.op && x.until == y.until);
      ASSERT_EQ(read->circularBuffers.size(), written.circularBuffers.size());
      for (auto [x, y] : llvm::zip(read->circularBuffers, written.circularBuffers)) {
        EXPECT_EQ(x.copies.size(), y.copies.size());
        EXPECT_EQ(x.distance, y.distance);
        EXPECT_EQ(x.firstReader, y.firstReader);
        EXPECT_EQ(x.endOfReads, y.endOfReads);
        EXPECT_EQ(x.releaseAfter, y.releaseAfter);
        EXPECT_EQ(x.fillOrder, y.fillOrder);
        if (!warpSpecialized) EXPECT_EQ(x.copyAfter, y.copyAfter);
      }
    }
}

TEST_F(Schedule, placesInSharedMemory) {
  loadAttention("0");
  SharedPlan good = planShared(function);
  ASSERT_TRUE(verify(good));
  auto caughtPlan = [&](llvm::function_ref<void(SharedPlan &)> change) {
    SharedPlan doctored = good;
    change(doctored);
    EXPECT_FALSE(verify(doctored));
  };
  int64_t pairs = 0;
  for (size_t i = 0; i < good.reservations.size(); ++i) {
    caughtPlan([&](SharedPlan &p) { p.reservations[i].offset += 16; });
    caughtPlan([&](SharedPlan &p) { p.reservations[i].offset = p.bytes; });
    caughtPlan([&](SharedPlan &p) { p.reservations[i].first = p.reservations[i].last + 1; });
    for (size_t j = 0; j < i; ++j) {
      if (good.reservations[i].first > good.reservations[j].last || good.reservations[j].first > good.reservations[i].last) continue;
      ++pairs;
      caughtPlan([&](SharedPlan &p) { p.reservations[i].offset = p.reservations[j].offset; });
    }
  }
  EXPECT_GT(pairs, 0);
  caughtPlan([](SharedPlan &p) { p.bytes -= 1; });
  caughtPlan([](SharedPlan &p) { p.reservations[0].isBarriers = true, p.reservations[0].offset = p.reservations[1].offset; });
}

/// With MMAs in flight, an iteration releases stages of the previous one, where each buffer has been read.
TEST_F(Schedule, releasesAtTwoPlaces) {
  load("warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_90a\"", R"(
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %count = %c0) -> (tensor<128x64xf32>, i32) : i32 {
    %a = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %b = ttg.descriptor_load %x[%c0, %k] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %d = tt.dot %a, %b, %acc : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32>
    %next = arith.addi %count, %n : i32
    scf.yield %d, %next : tensor<128x64xf32>, i32
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
  tt.store %out, %r#0 : tensor<128x64x!tt.ptr<f32>>
  %q = tt.bitcast %p : !tt.ptr<f16> -> !tt.ptr<i32>
  tt.store %q, %r#1 : !tt.ptr<i32>
)");
  LoopSchedule made = schedule(3, /*warpSpecialized=*/true);
  ASSERT_EQ(made.circularBuffers.size(), 1u);
  CircularBuffer &first = made.circularBuffers.front(), second = first;
  second.copies = {first.copies.pop_back_val()};
  second.fillOrder = 1;
  second.releaseAfter = *loop.getBody()->getOps<mlir::arith::AddIOp>().begin();
  made.circularBuffers.push_back(second);
  ASSERT_TRUE(verify(made));
  int64_t nextId = 0;
  writeSchedule(made, nextId);
  function->setAttr(ttg::warpSpecializedName, mlir::UnitAttr::get(&context));
  ASSERT_TRUE(mlir::succeeded(pipelineLoops(*module)));
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  int64_t arrivals = 0;
  function.walk([&](ttg::BarrierArriveOp arrive) { arrivals += arrive->getParentOfType<mlir::scf::ForOp>() != nullptr; });
  EXPECT_EQ(arrivals, 2);
}

/// Operands that threads compute need MMAs in flight, or a partition and a producer.
TEST_F(Schedule, ComputedOperandsWithoutReleasesAreCaught) {
  loadGemm();
  LoopSchedule made = schedule(3, /*warpSpecialized=*/true);
  EXPECT_TRUE(verifyComputed(made));
  made.computed.push_back(made.circularBuffers.front().copies.front().store);
  EXPECT_TRUE(verifyComputed(made));
  made.operandPartition = true;
  EXPECT_TRUE(verifyComputed(made));
  made.operandPlan.releaseAfter = made.circularBuffers.front().firstReader; // where the previous iteration's MMA is still in flight
  made.edges.front().until = made.loop.getBody()->getTerminator();
  EXPECT_EQ(verifyComputed(made).error(), "a stage of a computed operand is released while it is still being read");
  made.operandPlan.releaseAfter = nullptr;
  made.circularBuffers.front().releaseAfter = nullptr;
  EXPECT_EQ(verifyComputed(made).error(), "stages of a computed operand are not released in the loop");
  made.warpSpecialized = false;
  EXPECT_EQ(verifyComputed(made).error(), "a partition computes an operand, but no producer copies for it");
  made.operandPartition = false;
  made.edges.clear();
  EXPECT_EQ(verifyComputed(made).error(), "computed operands without MMAs in flight");
}

/// Only MMAs after its store read a buffer that gets several stages, and it is one for each iteration.
TEST_F(Schedule, buffersOfComputedOperands) {
  loadGemm();
  LoopSchedule made = schedule(3, /*warpSpecialized=*/false);
  ttg::StoreSharedOp store = made.circularBuffers.front().copies.front().store;
  made.computed.push_back(store);
  EXPECT_TRUE(verifyComputed(made));
  made.computedStages = 1;
  EXPECT_EQ(verifyComputed(made).error(), "a single buffer of a computed operand cannot be filled while an MMA reads it");
  made.computedStages = 2;
  mlir::OpBuilder b(store->getNextNode());
  mlir::Operation *second = b.clone(*store);
  EXPECT_EQ(verifyComputed(made).error(), "a computed operand has no stages: not only MMAs after it use its buffer");
  second->erase();
  store.getBuffer().getDefiningOp()->moveBefore(loop);
  EXPECT_EQ(verifyComputed(made).error(), "a computed operand has no stages: its buffer is not the iteration's");
}

/// A later loop may continue with circular buffers only if their barriers expect its arrivals.
TEST_F(Schedule, arrivalsAtEmptyBarriers) {
  loadGemm();
  LoopSchedule made = schedule(3, /*warpSpecialized=*/true);
  ttg::ConfigAttr config = ttg::configOf(function);
  LoopBuffers buffers = allocateBuffers(function, config, made);
  EXPECT_TRUE(buffers.fit(made, config));
  LoopSchedule other = made;
  other.operandPartition = true;
  EXPECT_FALSE(buffers.fit(other, config));
  other = made;
  other.paired = true;
  EXPECT_FALSE(buffers.fit(other, config));
  other = made;
  other.circularBuffers.front().firstWarp = true;
  EXPECT_FALSE(buffers.fit(other, config));
  other = made;
  other.stages = 2;
  EXPECT_FALSE(buffers.fit(other, config));
}

/// The stages that an index computed from bits may name, where a constant `true` is the 1 of a comparison; a chain of selects takes no
/// exponential time.
TEST_F(Schedule, stagesOfIndices) {
  std::string body = "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n%two = arith.constant 2 : i32\n"
                     "%true = arith.constant true\n%false = arith.constant false\n"
                     "%known = arith.cmpi slt, %zero, %one : i32\n%same = arith.cmpi eq, %known, %true : i1\n"
                     "%less = arith.cmpi slt, %true, %false : i1\n%flipped = arith.addi %true, %known : i1\n"
                     "%i0 = arith.select %same, %one, %two : i32\n%i1 = arith.select %less, %one, %two : i32\n"
                     "%i2 = arith.select %flipped, %one, %two : i32\n%s0 = arith.select %bit, %zero, %one : i32\n";
  constexpr int selects = 64;
  for (int i = 0; i < selects; ++i)
    body += "%a" + std::to_string(i) + " = arith.subi %s" + std::to_string(i) + ", %zero : i32\n%s" + std::to_string(i + 1) +
            " = arith.select %bit, %s" + std::to_string(i) + ", %a" + std::to_string(i) + " : i32\n";
  module = mlir::parseSourceString<mlir::ModuleOp>("tt.func public @kernel(%bit: i1) {\n" + body + "tt.return\n}\n", &context);
  ASSERT_TRUE(module);
  llvm::SmallVector<mlir::Value> selected;
  module->walk([&](mlir::arith::SelectOp select) { selected.push_back(select); });
  auto stages = [&](size_t index) { return stagesOf(selected[index], 4).bits.getZExtValue(); };
  EXPECT_EQ(stages(0), 0b0010u);
  EXPECT_EQ(stages(1), 0b0010u); // a signed bit that is set is -1
  EXPECT_EQ(stages(2), 0b0100u); // 1 + 1 is 0
  EXPECT_EQ(stages(selected.size() - 1), 0b0011u);
}

} // namespace
