// Which accesses to shared memory are not ordered before a point of the program. Two accesses conflict if they may touch the same byte and
// one writes. The later one must begin after
//   the end of the earlier one: MMAs, TMA stores and cp.async end at a wait,
//   a barrier of all threads, because other threads may have made the earlier one, and
//   a fence before that barrier, if a thread made the earlier one and TMA or an MMA makes the later one.
// Tensor memory is another space with the same rules, without fences (ttg.cta_barrier orders it). barrier_exemptions.cpp has the cases that
// need less. Accesses of different partitions to bytes that two buffers share need a barrier of all partitions.
#pragma once

#include "gpu/schedule/shared_memory/shared_accesses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::gpu {

/// An access that may still have to be ordered before later ones.
struct PendingAccess {
  SharedAccess access;
  int64_t younger = 0;                ///< asynchronous operations of its kind that started after it
  bool committed = false;             ///< cp.async: its group is complete
  bool running = false;               ///< no wait has ended it
  mlir::Operation *wait = nullptr;    ///< the wait that has ended it
  mlir::Operation *barrier = nullptr; ///< the latest barrier of all consumers since then
  bool allWarps = false;              ///< all partitions have passed a barrier
  bool fenced = false;                ///< its threads have passed a fence
  bool fencedBarrier = false;         ///< a barrier of all consumers has come after the fence
  bool fencedAllWarps = false;        ///< the same, of all partitions
  bool groupBarrier = false;          ///< the same, of its warp group
  mlir::Operation *left = nullptr;    ///< the outermost loop around it that has ended since then
  bool operator==(const PendingAccess &other) const;
};

/// What an access needs before it may follow an earlier one.
struct BarrierNeed {
  bool wait = false, barrier = false, allWarps = false, fence = false;
  explicit operator bool() const { return wait || barrier || allWarps || fence; }
};

/// A rule by which an access needs less before it may follow an earlier one that touches the same bytes.
struct Exemption {
  llvm::StringLiteral name;
  BarrierNeed lifts; ///< what the access does not need by this rule
  bool (*applies)(const PendingAccess &earlier, const SharedAccess &later);
};
/// The rules of insert-barriers, each with its reason (barrier_exemptions.cpp).
llvm::ArrayRef<Exemption> exemptions();

/// True if a fence must order two accesses: a thread makes the earlier one, TMA or an MMA the later one.
bool changesProxy(const SharedAccess &earlier, const SharedAccess &later);

/// The stages that an index may name by depth, which barriers do not change.
using StageCache = llvm::DenseMap<std::pair<mlir::Value, unsigned>, StageSet>;
using PendingAccesses = llvm::SmallVector<PendingAccess>;
using Visitor = llvm::function_ref<void(const PendingAccess &, const SharedAccess &, BarrierNeed)>;

/// An access of a kernel, and what any access of the kernel may need before it follows.
struct KnownAccess {
  SharedAccess access;
  bool mayConflict = false;     ///< anything at all
  bool mayNeedAllWarps = false; ///< a barrier of all partitions
  bool mayNeedFence = false;
};

/// What the analysis knows of a kernel.
struct BarrierRules {
  BarrierRules(tt::FuncOp function, bool hasPartitions, llvm::ArrayRef<Exemption> exempt);

  bool hasPartitions; ///< the kernel is warp-specialized
  int64_t maxPending; ///< the most asynchronous operations that a wait leaves in flight: how many more are younger makes no difference
  llvm::ArrayRef<Exemption> exempt;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<KnownAccess, 1>> accesses;
};

/// Reports a bug if the analysis does not know an operation, or does not visit an access.
mlir::LogicalResult verifyKnown(tt::FuncOp function);

/// Goes over an operation of a kernel's body, with its regions. `state`: the accesses that are pending before it, then after it. Visits
/// each pair of accesses that are not ordered yet, of which the later one is in the operation.
void visitUnordered(mlir::Operation *op, const BarrierRules &rules, StageCache &stages, PendingAccesses &state, Visitor visit);

/// Inserts the barriers and fences that a kernel needs (insert_barriers.cpp).
mlir::LogicalResult insertBarriers(tt::FuncOp function, llvm::ArrayRef<Exemption> exempt);

} // namespace tilewright::gpu
