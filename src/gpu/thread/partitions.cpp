// Partitions become branches on the number of the warp:
//   before: ttg.warp_specialize() default { A } partition0() num_warps(1) { B } partition1() num_warps(4) { C }      in a kernel of 8 warps
//   after:  if warp >= 8 { if warp >= 12 { C } else { if warp == 8 { B } } } else { A }
// Each warp first sets the number of its registers; partitions that share a warp group do so before they branch. In a partition, warps and
// threads are numbered from 0.
#include "gpu/cost_model/registers.h"
#include "gpu/schedule/named_barriers.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/lowering_table.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// The threads of a partition, and its barrier.
static Threads threadsOf(ThreadContext &t, int64_t firstWarp, int64_t warps, uint32_t barrier) {
  // Indices [first, first + count) become [0, count). `count` is a power of two.
  auto numberFrom = [&](Value index, int64_t first, int64_t count) -> Value {
    if (first % count == 0) return arith::AndIOp::create(t.b, index, t.i32(count - 1));
    return arith::SubIOp::create(t.b, index, t.i32(first));
  };
  Value lane = t.threads.lane, warp = numberFrom(t.threads.warp, firstWarp, warps);
  Value index = warps == 1 ? lane : numberFrom(t.threads.index, firstWarp << laneBits, warps << laneBits);
  return {index, lane, warp, warps, barrier};
}

static Value isFromWarp(ThreadContext &t, Value warp, int64_t first) {
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::uge, warp, t.i32(first));
}

static PartitionRegisters registersOf(ThreadContext &t, ttg::WarpSpecializeOp op) {
  return partitionRegisters(t.kernel.config.getWarps(), t.kernel.target, op.registersOfGroups(), t.kernel.sharedBytes);
}

/// The default region waits for its registers until the other warps have released theirs. What it does before it reads the first tile, as
/// the start of its first copies, need not wait.
static void increaseRegisters(ThreadContext &t, ttg::WarpSpecializeOp op) {
  auto waits = [](Operation &inside) {
    bool hasTile = llvm::any_of(inside.getResultTypes(), llvm::IsaPred<RankedTensorType>);
    bool readsTile = isa<ttg::BarrierWaitOp>(inside) || (hasTile && !isMemoryEffectFree(&inside));
    return readsTile || inside.getNumRegions() != 0 || inside.hasTrait<OpTrait::IsTerminator>();
  };
  OpBuilder b(&*llvm::find_if(op.getDefaultRegion().front(), waits));
  PartitionRegisters registers = registersOf(t, op);
  bool increases = registers.consumer > registers.atStart;
  ptx::MaxRegistersOp::create(b, op.getLoc(), increases, static_cast<uint32_t>(registers.consumer));
}

/// All warps of the partition's warp groups set their registers.
static void setRegisters(ThreadContext &t, ttg::WarpSpecializeOp op, unsigned i) {
  if (!op.getRequestedRegisters()) return;
  int64_t registers = (*op.getRequestedRegisters())[i];
  ptx::MaxRegistersOp::create(t.b, registers > registersOf(t, op).atStart, static_cast<uint32_t>(registers));
}

/// Warps of the partition's warp groups beyond its number of warps do nothing.
static LogicalResult lowerPartition(ThreadContext &t, ttg::WarpSpecializeOp op, unsigned i) {
  int64_t firstWarp = op.firstWarp(t.kernel.config.getWarps(), i), warps = op.getPartitionNumWarps()[i];
  Threads all = t.threads;
  t.threads = threadsOf(t, firstWarp, warps, partitionBarrier + i);
  OpBuilder::InsertionGuard guard(t.b);
  if (warps < warpsOfGroup) {
    auto predicate = warps == 1 ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ult;
    Value runs = arith::CmpIOp::create(t.b, predicate, all.warp, t.i32(warps == 1 ? firstWarp : firstWarp + warps));
    if (warps > 1 && firstWarp % warpsOfGroup != 0) runs = arith::AndIOp::create(t.b, runs, isFromWarp(t, all.warp, firstWarp));
    t.b.setInsertionPointToStart(scf::IfOp::create(t.b, runs, /*withElseRegion=*/false).thenBlock());
  }
  LogicalResult lowered = lowerBlock(t, op.getPartitions()[i].front());
  t.threads = all;
  return lowered;
}

/// The branches of the partitions from number `i` on, at the insertion point. Partitions of one warp group set its registers together.
static LogicalResult lowerPartitions(ThreadContext &t, ttg::WarpSpecializeOp op, unsigned i) {
  unsigned end = i + 1;
  while (op.sharesWarpGroup(end))
    ++end;
  OpBuilder::InsertionGuard guard(t.b);
  if (end < op.getPartitions().size()) {
    Value isLater = isFromWarp(t, t.threads.warp, op.firstWarp(t.kernel.config.getWarps(), end));
    auto branch = scf::IfOp::create(t.b, isLater, /*withElseRegion=*/true);
    t.b.setInsertionPointToStart(branch.thenBlock());
    if (failed(lowerPartitions(t, op, end))) return failure();
    t.b.setInsertionPointToStart(branch.elseBlock());
  }
  setRegisters(t, op, i);
  for (; i < end; ++i)
    if (failed(lowerPartition(t, op, i))) return failure();
  return success();
}

/// All warps run the operations before the partitions. Returns one that is right only in those of the default region, or null: it writes a
/// tile, or needs scratch memory for one.
static Operation *onlyForDefaultWarps(ttg::WarpSpecializeOp partitions) {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  Operation *found = nullptr;
  for (Operation &before : llvm::make_range(partitions->getBlock()->begin(), partitions->getIterator()))
    before.walk([&](Operation *op) {
      bool hasTile = llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile);
      if (!found && hasTile && (scratchBytes(op) != 0 || hasEffect<MemoryEffects::Write>(op))) found = op;
    });
  return found;
}

static LogicalResult lowerWarpSpecialize(ThreadContext &t, ttg::WarpSpecializeOp op) {
  auto kernel = dyn_cast<tt::FuncOp>(op->getParentOp());
  if (!kernel || op != ttg::partitionsAtEnd(kernel))
    return refuse(op, Diag::notOnGpus, {"an operation after the partitions of a kernel", "end the kernel with ttg.warp_specialize"});
  if (Operation *before = onlyForDefaultWarps(op))
    return refuse(before, Diag::notOnGpus, {"this operation before the partitions of a kernel", "move it into the default region"});
  if (op.getPartitions().size() > maxPartitions)
    return refuse(op, Diag::notOnGpus,
                  {"a kernel with " + std::to_string(op.getPartitions().size()) + " partitions",
                   "use at most " + std::to_string(maxPartitions) + ": each one needs a named barrier"});
  auto branch = scf::IfOp::create(t.b, isFromWarp(t, t.threads.warp, t.kernel.config.getWarps()), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(branch.thenBlock());
  if (failed(lowerPartitions(t, op, 0))) return failure();
  t.b.setInsertionPointToStart(branch.elseBlock());
  if (op.getRequestedRegisters()) increaseRegisters(t, op);
  t.threads.barrier = defaultBarrier;
  return lowerBlock(t, op.getDefaultRegion().front());
}

void addPartitionLowerings(LoweringTable &table) {
  addLowerings<lowerWarpSpecialize>(table);
}

} // namespace tilewright::gpu
