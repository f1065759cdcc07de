// Barriers of threads, and mbarriers.
#include "gpu/machine/mbarrier_scope.h"
#include "gpu/schedule/named_barriers.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/shared.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

static LogicalResult lowerCtaBarrier(ThreadContext &t, ttg::CtaBarrierOp op) {
  if (op.getAllCtas()) return arriveAtCluster(t), waitForCluster(t), success();
  int64_t warps = t.kernel.allWarps;
  if (!op.getAllWarps() || warps == t.kernel.config.getWarps()) return ctaBarrier(t), success();
  fenceTensorMemory(t, ptx::TensorFence::before);
  ptx::BarrierOp::create(t.b, allWarpsBarrier, static_cast<uint32_t>(warps << laneBits));
  fenceTensorMemory(t, ptx::TensorFence::after);
  return success();
}

static LogicalResult lowerClusterArrive(ThreadContext &t, ttg::ClusterArriveOp) {
  return arriveAtCluster(t), success();
}

static LogicalResult lowerClusterWait(ThreadContext &t, ttg::ClusterWaitOp) {
  return waitForCluster(t), success();
}

static LogicalResult lowerFenceAsync(ThreadContext &t, ttg::FenceAsyncOp op) {
  if (t.kernel.target.tma) ptx::FenceAsyncOp::create(t.b, op.getInterleavedStores()); // older GPUs have no TMA
  return success();
}

Value barrierAt(ThreadContext &t, Value barriers, Value index) {
  return arith::AddIOp::create(t.b, t.getScalar(barriers),
                               arith::ShLIOp::create(t.b, t.getScalar(index), t.i32(llvm::Log2_64(mbarrierBytes))));
}

/// The barrier of the thread's warp group.
static Value barrierOfGroup(ThreadContext &t, Value barriers, Value index) {
  Value group = arith::ShRUIOp::create(t.b, t.threads.warp, t.i32(warpGroupBit));
  return arith::AddIOp::create(t.b, barrierAt(t, barriers, index), arith::ShLIOp::create(t.b, group, t.i32(llvm::Log2_64(mbarrierBytes))));
}

static LogicalResult lowerInitBarriers(ThreadContext &t, ttg::InitBarriersOp op) {
  auto branch = scf::IfOp::create(t.b, isFirstThread(t), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    for (auto [barriers, arrivals] : llvm::zip(op.getBarriers(), op.getArrivals()))
      for (int64_t i = 0; i < cast<ttg::BarriersType>(barriers.getType()).getCount(); ++i) {
        Value barrier = arith::AddIOp::create(t.b, t.getScalar(barriers), t.i32(i * mbarrierBytes));
        ptx::MbarrierInitOp::create(t.b, barrier, static_cast<uint32_t>(arrivals), Value());
      }
  }
  ptx::MbarrierInitFenceOp::create(t.b);
  if (op.getAllCtas()) {
    ptx::ClusterArriveOp::create(t.b, /*relaxed=*/true);
    ptx::ClusterWaitOp::create(t.b);
  } else {
    ptx::BarrierOp::create(t.b);
  }
  return success();
}

static LogicalResult lowerBarrierExpect(ThreadContext &t, ttg::BarrierExpectOp op) {
  Value predicate = isFirstThread(t);
  if (op.getPredicate()) predicate = arith::AndIOp::create(t.b, predicate, t.getScalar(op.getPredicate()));
  ptx::MbarrierExpectOp::create(t.b, barrierAt(t, op.getBarriers(), op.getIndex()), op.getBytes(), predicate);
  return success();
}

/// Emits for the first warp alone, or for all.
static void inWarps(ThreadContext &t, bool firstWarp, llvm::function_ref<void()> emit) {
  firstWarp ? inFirstWarp(t, emit) : emit();
}

/// The address of the barrier at which the operation waits or arrives.
template <typename Op> static Value barrierOf(ThreadContext &t, Op op) {
  return op.getPerWarpGroup() ? barrierOfGroup(t, op.getBarriers(), op.getIndex()) : barrierAt(t, op.getBarriers(), op.getIndex());
}

static LogicalResult lowerBarrierWait(ThreadContext &t, ttg::BarrierWaitOp op) {
  Value barrier = barrierOf(t, op);
  ptx::Scope scope = op.getFromOtherCtas() ? ptx::scopeAcrossCtas(t.kernel.target) : ptx::Scope::cta;
  inWarps(t, op.getFirstWarp(), [&] { ptx::MbarrierWaitOp::create(t.b, barrier, t.getScalar(op.getParity()), scope); });
  if (op.getTensorMemory()) fenceTensorMemory(t, ptx::TensorFence::after);
  return success();
}

/// One lane arrives for its warp, after all threads of the warp have reached this point.
static LogicalResult lowerBarrierArrive(ThreadContext &t, ttg::BarrierArriveOp op) {
  inWarps(t, op.getFirstWarp(), [&] {
    fenceTensorMemory(t, ptx::TensorFence::before);
    ptx::WarpBarrierOp::create(t.b);
    Value predicate = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, t.threads.lane, t.i32(0));
    if (op.getPredicate()) predicate = arith::AndIOp::create(t.b, predicate, t.getScalar(op.getPredicate()));
    arriveAt(t, barrierOf(t, op), predicate, op.isForCluster(), op.getToFirstCta());
  });
  return success();
}

void addBarrierLowerings(LoweringTable &table) {
  addLowerings<lowerCtaBarrier, lowerClusterArrive, lowerClusterWait, lowerFenceAsync, lowerInitBarriers, lowerBarrierExpect,
               lowerBarrierWait, lowerBarrierArrive>(table);
}

} // namespace tilewright::gpu
