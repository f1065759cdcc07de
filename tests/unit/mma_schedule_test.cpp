// The order of MMAs within an iteration: each rule of its verifier catches an order that breaks it.
#include "gpu/schedule/mmas/mma_schedule.h"

#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/ttg/buffer_accesses.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

constexpr char kernel[] = R"(
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>
tt.func public @scores(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %o: !tt.ptr<f32>, %flag: !tt.ptr<f32>,
    %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  scf.for %i = %c0 to %n step %c64 : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %t = tt.trans %k {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %t, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %f = tt.load %flag : !tt.ptr<f32>
    %all = tt.splat %f : f32 -> tensor<64x64xf32>
    %d = arith.mulf %s, %all : tensor<64x64xf32>
    tt.store %out, %d : tensor<64x64x!tt.ptr<f32>>
  }
  tt.return
}
)";

class MmaScheduleTest : public testing::Test {
protected:
  MmaScheduleTest() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    load();
  }

  /// The kernel as pipeline-loops leaves it.
  void load() {
    module = mlir::parseSourceString<mlir::ModuleOp>(kernel, &context, "test.mlir");
    for (auto step : {assignLayouts, selectTensorCores, stageTmaTransfers, scheduleLoops, pipelineLoops, copyUnpipelined})
      ASSERT_TRUE(mlir::succeeded(step(*module)));
    module->walk([&](mlir::scf::ForOp each) { loop = each; });
    mma = first<ttg::MmaAsyncOp>();
    wait = first<ttg::MmaAsyncWaitOp>();
    ASSERT_TRUE(mma && wait);
  }

  template <typename Op> Op first() {
    auto found = loop.getBody()->getOps<Op>();
    return found.empty() ? Op() : *found.begin();
  }

  /// The error for an order in which `op` stands right after `after`.
  std::string errorOf(mlir::Operation *op, mlir::Operation *after) {
    MmaSchedule schedule{loop, {{after, false}, {op, true}}, {}};
    Result<void> valid = verify(schedule);
    return valid ? "" : valid.error();
  }

  ttg::BarrierArriveOp arriveBefore(mlir::Operation *position) {
    mlir::OpBuilder b(position);
    auto full = first<ttg::BarrierWaitOp>();
    return ttg::BarrierArriveOp::create(b, position->getLoc(), full.getBarriers(), full.getIndex(), mlir::Value());
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::scf::ForOp loop;
  ttg::MmaAsyncOp mma;
  ttg::MmaAsyncWaitOp wait;
};

TEST_F(MmaScheduleTest, results) {
  EXPECT_EQ(errorOf(wait, mma->getPrevNode()), "an operation uses a result that is not yet there");
  EXPECT_EQ(errorOf(wait, mma), "");
}

TEST_F(MmaScheduleTest, copiesAreWaitedFor) {
  mlir::OpBuilder b(mma);
  mlir::Operation *full = b.clone(*first<ttg::BarrierWaitOp>());
  EXPECT_EQ(errorOf(mma, full->getPrevNode()), "a copy is read before the wait for it");
}

/// TMA fills the stage that the MMA reads.
TEST_F(MmaScheduleTest, operandsAreWritten) {
  auto refill = first<ttg::TmaLoadOp>();
  auto full = first<ttg::BarrierWaitOp>();
  ASSERT_TRUE(refill && full);
  mlir::OpBuilder b(mma);
  mlir::Value at = loop.getInductionVar();
  mlir::Operation *copy = ttg::TmaLoadOp::create(b, mma.getLoc(), refill.getMap(), mlir::ValueRange{at, at}, stageOf(mma.getB()),
                                                 full.getBarriers(), full.getIndex(), mlir::Value(), refill.getEvict());
  EXPECT_EQ(errorOf(mma, copy->getPrevNode()), "an MMA starts before its operand is written");
}

/// An operand that is one of several buffers may be any buffer.
TEST_F(MmaScheduleTest, oneOfSeveralBuffers) {
  auto full = first<ttg::BarrierWaitOp>();
  mlir::OpBuilder b(full);
  mlir::Value yes = mlir::arith::ConstantOp::create(b, mma.getLoc(), b.getBoolAttr(true)), either = mma.getB();
  ttg::AllocOp other = ttg::AllocOp::create(b, mma.getLoc(), mlir::cast<ttg::BufferType>(either.getType()), ttg::Lifetime::uses);
  b.setInsertionPoint(mma);
  either = mlir::arith::SelectOp::create(b, mma.getLoc(), yes, either, other);
  mlir::Operation *store = ttg::StoreSharedOp::create(b, mma.getLoc(), mma.getC(), other);
  EXPECT_EQ(errorOf(mma, store->getPrevNode()), "");
  mma.getBMutable().assign(either);
  EXPECT_EQ(errorOf(mma, store->getPrevNode()), "an MMA starts before its operand is written");
}

/// A fence shows an MMA what threads have stored.
TEST_F(MmaScheduleTest, operandsAreFenced) {
  mlir::OpBuilder b(mma);
  mlir::Operation *fence = ttg::FenceAsyncOp::create(b, mma.getLoc());
  EXPECT_EQ(errorOf(mma, fence->getPrevNode()), ""); // only TMA writes its operands
  b.setInsertionPoint(fence);
  ttg::StoreSharedOp::create(b, mma.getLoc(), mma.getC(), stageOf(mma.getB()));
  EXPECT_EQ(errorOf(mma, fence->getPrevNode()), "an MMA starts before its operand is written");
}

TEST_F(MmaScheduleTest, stagesAreReleasedAfterMmas) {
  ttg::BarrierArriveOp arrive = arriveBefore(wait);
  EXPECT_EQ(errorOf(mma, arrive), "an MMA starts after its stage is released");
  EXPECT_EQ(errorOf(arrive, mma->getPrevNode()), "only MMAs and waits of the consumers, loads and arithmetic may move");
  load();
  EXPECT_EQ(errorOf(wait, arriveBefore(wait->getNextNode())), "a stage is released while an MMA reads it");
}

TEST_F(MmaScheduleTest, loadsSeeWrites) {
  auto flag = first<tt::LoadOp>();
  EXPECT_EQ(errorOf(flag, wait->getPrevNode()), "");
  flag.setIsVolatile(true);
  EXPECT_EQ(errorOf(flag, wait->getPrevNode()), "a load cannot move: it is volatile");
}

} // namespace
