// A scheduling policy outside the compiler's table: one function that writes the schedule, and one row. Loops that only load to registers
// and multiply nothing get their loads an iteration ahead.
#include "gpu/cost_model/accumulators.h"
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/schedule/decisions/attempts.h"
#include "gpu/schedule/decisions/kernel_schedule.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

bool scheduleStreaming(LoopSchedule &schedule, const PolicyContext &context) {
  if (!schedule.circularBuffers.empty() || !schedule.computed.empty() || multipliesByThreads(schedule.loop)) return false;
  int64_t registers = registersForTiles(context.config, context.target, /*warpSpecialized=*/false) - accumulatorsOf(schedule.loop);
  addRegisterLoads(schedule, registers);
  return !schedule.registerLoads.empty();
}

constexpr Policy streaming[] = {{"streaming", scheduleStreaming}};

constexpr char kernel[] = R"(
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
tt.func public @sums(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32)
    attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c1024 = arith.constant 1024 : i32
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<1024xf32>) : i32 {
    %start = arith.muli %i, %c1024 : i32
    %row = tt.addptr %x, %start : !tt.ptr<f32>, i32
    %rows = tt.splat %row : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %pointers = tt.addptr %rows, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %tile = tt.load %pointers : tensor<1024x!tt.ptr<f32>>
    %next = arith.addf %acc, %tile : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  }
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %pointers = tt.addptr %outs, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %pointers, %sum : tensor<1024x!tt.ptr<f32>>
  tt.return
}
)";

class PolicyTest : public testing::Test {
protected:
  PolicyTest() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(kernel, &context, "test.mlir");
    EXPECT_TRUE(mlir::succeeded(assignLayouts(*module)));
    function = *module->getOps<tt::FuncOp>().begin();
  }

  /// The loop's loads of tiles, and those outside all loops, after pipeline-loops with these policies.
  std::pair<int64_t, int64_t> pipeline(llvm::ArrayRef<Policy> policies) {
    ttg::ConfigAttr config = ttg::configOf(function);
    EXPECT_TRUE(mlir::succeeded(scheduleToFit(function, {config, *gpuTarget(config.getTarget().getValue())}, policies)));
    function.walk([&](mlir::scf::ForOp loop) { made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName); });
    EXPECT_TRUE(mlir::succeeded(pipelineLoops(*module)));
    int64_t inside = 0, outside = 0;
    function.walk([&](tt::LoadOp load) { ++(load->getParentOfType<mlir::scf::ForOp>() ? inside : outside); });
    function.walk([&](mlir::scf::ForOp loop) { carried = loop.getNumRegionIterArgs(); });
    return {inside, outside};
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tt::FuncOp function;
  ttg::LoopScheduleAttr made;
  size_t carried = 0;
};

TEST_F(PolicyTest, own) {
  EXPECT_EQ(pipeline(streaming), std::pair(int64_t(1), int64_t(1))); // the next iteration's, and before the loop the first iteration's
  EXPECT_EQ(carried, 2u);                                            // the sum, and the tile that has been loaded
  ASSERT_TRUE(made);
  EXPECT_EQ(made.getPolicy().getValue(), "streaming");
  ASSERT_EQ(made.getBuffers().size(), 1u);
  EXPECT_EQ(made.getBuffers()[0].getKind(), ttg::BufferKind::registers);
  ASSERT_EQ(made.getOps().size(), 1u);
  EXPECT_EQ(made.getOps()[0].getStage(), made.getIndexStage() - 1);
}

static std::string textOf(tt::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream);
  return text;
}

/// A decision is a value: only writing it changes the kernel.
TEST_F(PolicyTest, decidingChangesNothing) {
  ttg::ConfigAttr config = ttg::configOf(function);
  std::string before = textOf(function);
  Result<KernelSchedule> made = decideSchedule(function, {config, *gpuTarget(config.getTarget().getValue())}, streaming, 0);
  ASSERT_TRUE(made);
  EXPECT_EQ(textOf(function), before);
  ASSERT_EQ(made->loops.size(), 1u);
  EXPECT_EQ(made->loops[0].registerLoads.size(), 1u);
  EXPECT_FALSE(made->producerObstacle); // no load could be a producer's
  ASSERT_TRUE(mlir::succeeded(writeSchedule(*made, function)));
  EXPECT_NE(textOf(function), before);
}

/// An attempt that is refused leaves no diagnostic. A bug that it shows is reported, and fails.
TEST_F(PolicyTest, attemptsReportBugs) {
  ttg::ConfigAttr config = ttg::configOf(function);
  GpuTarget target = *gpuTarget(config.getTarget().getValue());
  std::vector<Diag> reported;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (std::optional<Refusal> refusal = refusalOf(diagnostic)) reported.push_back(refusal->id);
  });
  auto schedule = [&](llvm::function_ref<bool(tt::FuncOp)> mayPlan) {
    return scheduleCopy(function, {config, target}, [](tt::FuncOp) { return true; }, mayPlan);
  };
  mlir::FailureOr<ScheduledCopy> made =
      schedule([](tt::FuncOp copy) { return refuse(copy, Diag::outOfResources, {"shared memory", "2", "1"}), false; });
  ASSERT_TRUE(mlir::succeeded(made));
  EXPECT_FALSE(made->bytes);
  EXPECT_TRUE(reported.empty());
  EXPECT_TRUE(mlir::failed(schedule([](tt::FuncOp copy) { return bug(copy, "a step fails"), true; })));
  EXPECT_EQ(reported, std::vector{Diag::internalError});
  EXPECT_TRUE(
      mlir::failed(scheduleToFit(function, {config, target}, streaming, [](tt::FuncOp copy) { return bug(copy, "a step fails"), true; })));
  EXPECT_EQ(reported.size(), 2u);
}

/// What a policy has decided is forgotten when another one schedules the loop.
TEST_F(PolicyTest, policiesStartFresh) {
  ttg::ConfigAttr config = ttg::configOf(function);
  GpuTarget target = *gpuTarget(config.getTarget().getValue());
  PolicyContext ofKernel{config, target};
  mlir::scf::ForOp loop;
  function.walk([&](mlir::scf::ForOp found) { loop = found; });
  LoopSchedule schedule(findPrefetchableLoads(loop, target));
  applyPolicies(schedule, 2, ofKernel, streaming);
  EXPECT_EQ(schedule.registerLoads.size(), 1u);
  applyPolicies(schedule, 2, ofKernel, {});
  EXPECT_TRUE(schedule.registerLoads.empty());
}

/// A policy may name no load that cannot run ahead.
TEST_F(PolicyTest, registerLoadsAreVerified) {
  mlir::scf::ForOp loop;
  function.walk([&](mlir::scf::ForOp found) { loop = found; });
  tt::LoadOp load = *loop.getBody()->getOps<tt::LoadOp>().begin();
  LoopSchedule schedule(findPrefetchableLoads(loop, *gpuTarget("sm_90a")));
  schedule.registerLoads.push_back(load);
  EXPECT_TRUE(verify(schedule));
  load.setIsVolatile(true);
  EXPECT_EQ(verify(schedule).error(), "a load to registers cannot run ahead: it is volatile");
}

/// A step that tries a decision on a copy of the kernel fails if that shows a bug.
TEST_F(PolicyTest, bugOfAttemptIsReported) {
  int64_t reported = 0, seen = 0;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &) { ++reported; });
  auto rewrite = [](tt::FuncOp copy) { // an operand partition without a producer
    copy.walk([](tt::LoadOp load) {
      mlir::OpBuilder b(load->getContext());
      b.setInsertionPointAfter(load);
      auto tile = mlir::cast<mlir::RankedTensorType>(load.getType());
      auto shared = ttg::SharedAttr::get(b.getContext(), SharedLayout::rowMajor(ttg::shapeOf(tile), 32, {0}));
      auto buffer = ttg::AllocOp::create(b, load.getLoc(), ttg::BufferType::get(b.getContext(), 1, b.getF32Type(), shared));
      ttg::setPartition(ttg::StoreSharedOp::create(b, load.getLoc(), load.getResult(), buffer), ttg::Partition::operands);
    });
    return true;
  };
  ttg::ConfigAttr config = ttg::configOf(function);
  EXPECT_TRUE(mlir::failed(
      scheduleCopy(function, {config, *gpuTarget(config.getTarget().getValue())}, rewrite, [&](tt::FuncOp) { return ++seen != 0; })));
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(reported, 1);
}

TEST_F(PolicyTest, none) {
  EXPECT_EQ(pipeline({}), std::pair(int64_t(1), int64_t(0)));
  EXPECT_EQ(carried, 1u);
}

} // namespace
