// Inserts the barriers and fences that accesses to shared memory need, once all buffers have their offsets. An iteration of a matmul:
//   before: wait for stage i    mma_async %stage    mma_async_wait 1: MMA i - 1 is over    tma_load of i + 2, to the stage of MMA i - 1
//   after:  wait for stage i    mma_async %stage    mma_async_wait 1    cta_barrier    tma_load
// barrier_analysis.cpp finds the accesses that need one. A barrier stands before the later access, in the innermost block that has both
// accesses: for an access before a loop, no barrier is inserted in the loop. Accesses of inner loops come first. In a loop those of one
// iteration come first, whose barriers often order those of different iterations as well.
#include "gpu/passes.h"
#include "gpu/schedule/shared_memory/barrier_analysis.h"
#include "ir/refusal.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>
#include <tuple>

using namespace mlir;

namespace tilewright::gpu {
namespace {

int64_t loopsAround(Operation *op) {
  int64_t loops = 0;
  for (Operation *parent = op->getParentOp(); parent && !isa<tt::FuncOp>(parent); parent = parent->getParentOp())
    loops += isa<scf::ForOp, scf::WhileOp>(parent);
  return loops;
}

/// Two accesses that are not ordered yet, and where a barrier can order them.
struct Unordered {
  PendingAccess earlier;
  SharedAccess later;
  BarrierNeed need;
  Operation *position = nullptr;
  bool isCarried = false; ///< the earlier access may be of a previous iteration, or from before the loop

  Unordered(const PendingAccess &earlier, const SharedAccess &later, BarrierNeed need) : earlier(earlier), later(later), need(need) {
    Operation *op = later.op, *from = earlier.left ? earlier.left : earlier.access.op, *other = nullptr;
    while (!(other = op->getBlock()->findAncestorOpInBlock(*from)))
      op = op->getParentOp();
    bool isInside = op == other ? !earlier.left && isa<scf::WhileOp>(op) : earlier.wait && op != later.op && op->isAncestor(earlier.wait);
    position = isInside ? later.op : op;
    Operation *wait = earlier.wait ? op->getBlock()->findAncestorOpInBlock(*earlier.wait) : nullptr;
    isCarried = isInside || !other->isBeforeInBlock(op) || (wait && wait->isBeforeInBlock(other));
  }
};

/// The kind of a pair. Pairs of an earlier kind are ordered first: their barriers often order those of a later kind as well.
struct PairKind {
  bool isDeferred = false;
  bool onlyFence = false;
  auto operator<=>(const PairKind &) const = default;
};
/// What decides which pair is ordered first: the least key.
using Key = std::tuple<bool, int64_t, PairKind, bool, int64_t>;

/// Inserts one barrier after another: first for the accesses of inner loops, which need no barrier of an outer one. Each loop is analyzed
/// by itself, and the whole kernel once at the end.
class Inserter {
public:
  Inserter(tt::FuncOp function, ArrayRef<Exemption> exempt)
      : function(function), body(function.getBody().front()), rules(function, function->hasAttr(ttg::warpSpecializedName), exempt),
        b(function.getContext()) {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op] = int64_t(numbers.size()); });
  }

  LogicalResult run() {
    SmallVector<LoopLikeOpInterface> loops;
    function.walk([&](LoopLikeOpInterface loop) { loops.push_back(loop); }); // inner ones first
    for (LoopLikeOpInterface loop : loops)
      if (failed(orderIn(loop, llvm::map_to_vector(loop.getLoopRegions(), [](Region *region) { return &region->front(); }))))
        return failure();
    return orderIn(nullptr, &body);
  }

private:
  /// For each access a barrier, a fence, other partitions in the barrier, and a wait before it.
  int64_t maxChanges() const { return 4 * int64_t(numbers.size()); }

  /// Orders the accesses of a loop, whose iteration these blocks are, as far as a barrier in the loop but in none of its inner loops can do
  /// that. Without a loop, orders what is left in the kernel.
  LogicalResult orderIn(Operation *loop, ArrayRef<Block *> iteration) {
    PairKind kind;
    for (int64_t changes = maxChanges(); changes > 0; --changes) {
      for (Block *block : iteration)
        orderWithin(*block, loop, kind);
      std::optional<Unordered> next = firstUnordered(loop);
      if (!next) return success();
      if (next->need.wait)
        return bug(next->later.op, "it may access shared memory before an asynchronous access to the same bytes has ended");
      kind = kindOf(*next);
      order(*next);
    }
    return bug(function, "no barriers order its accesses to shared memory");
  }

  /// Orders the accesses of one iteration, up to this kind of pairs. An iteration is straight-line code, so the analysis continues from
  /// each new barrier.
  void orderWithin(Block &iteration, Operation *loop, PairKind last) {
    states.clear();
    PendingAccesses pending;
    int64_t changes = 0;
    for (Operation *op = &iteration.front(); op && changes <= maxChanges();) {
      states[op] = pending;
      std::optional<Unordered> first;
      visit(op, pending, [&](const Unordered &each) {
        bool isMeant = !each.need.wait && !each.isCarried && loopAround(each.position) == loop;
        if (isMeant && kindOf(each) <= last) keepFirst(first, each);
      });
      op = first ? iteration.findAncestorOpInBlock(*order(*first)) : op->getNextNode();
      if (!first) continue;
      pending = stateBefore(op);
      ++changes;
    }
  }

  /// Returns the state before an operation, which may be new: then it is that before the next one.
  const PendingAccesses &stateBefore(Operation *op) const {
    while (!states.contains(op))
      op = op->getNextNode();
    return states.find(op)->second;
  }

  /// Returns the pair that is ordered next: of those that a barrier in the loop orders, or of the kernel if there is no loop.
  std::optional<Unordered> firstUnordered(Operation *loop) {
    std::optional<Unordered> first;
    auto see = [&](const Unordered &each) {
      if (!loop || (!each.need.wait && loopAround(each.position) == loop)) keepFirst(first, each);
    };
    PendingAccesses state;
    if (loop) return visit(loop, state, see), first;
    for (Operation &op : body)
      visit(&op, state, see);
    return first;
  }

  void visit(Operation *op, PendingAccesses &state, function_ref<void(const Unordered &)> see) {
    visitUnordered(op, rules, stages, state, [&](const PendingAccess &earlier, const SharedAccess &later, BarrierNeed need) {
      see(Unordered(earlier, later, need));
    });
  }

  static Operation *loopAround(Operation *op) { return op->getParentOfType<LoopLikeOpInterface>(); }

  /// A TMA store can use barriers of other accesses, so it comes later. So do other accesses that need all warps in the barrier.
  static PairKind kindOf(const Unordered &each) {
    return {(each.earlier.access.accessor == Accessor::tmaStore) != each.need.allWarps, !each.need.barrier && !each.need.allWarps};
  }

  Key keyOf(const Unordered &each) const {
    return {!each.need.wait, -loopsAround(each.position), kindOf(each), each.isCarried, numbers.lookup(each.position)};
  }

  void keepFirst(std::optional<Unordered> &first, const Unordered &each) const {
    if (!first || keyOf(each) < keyOf(*first)) first = each;
  }

  /// Orders two accesses. Returns the first operation from which on the kernel has changed.
  Operation *order(const Unordered &each) {
    Operation *barrier = each.earlier.barrier;
    bool isUsable = barrier && !each.need.barrier && loopsAround(barrier) <= loopsAround(each.position);
    if (each.need.fence && isUsable) {
      b.setInsertionPoint(barrier);
      return ttg::FenceAsyncOp::create(b, barrier->getLoc());
    }
    auto sync = dyn_cast_or_null<ttg::CtaBarrierOp>(barrier);
    bool isOrdered = each.earlier.fencedBarrier || !changesProxy(each.earlier.access, each.later);
    if (each.need.allWarps && sync && isOrdered && !sync.getAllWarps() && barrier->getBlock() == each.position->getBlock()) {
      sync.setAllWarps(true);
      return sync;
    }
    if (each.earlier.access.accessor == Accessor::tmaStore && waitsEarlier(each)) return each.earlier.wait;
    Operation *position = firstOfRow(each);
    b.setInsertionPoint(position);
    Location loc = each.later.op->getLoc();
    // Before a loop: a fence in the loop comes too late for a barrier before it.
    bool needsFence = each.need.fence || (each.position != each.later.op && changesProxy(each.earlier.access, each.later));
    Operation *fence = nullptr;
    if (needsFence && !isa_and_nonnull<ttg::FenceAsyncOp>(position->getPrevNode())) fence = ttg::FenceAsyncOp::create(b, loc);
    Operation *made = ttg::CtaBarrierOp::create(b, loc, each.need.allWarps);
    return fence ? fence : made;
  }

  /// A barrier earlier in the block orders a TMA store, too, if the thread that started the store waits for it before that barrier.
  bool waitsEarlier(const Unordered &each) {
    Operation *wait = each.earlier.wait;
    if (!wait || wait->getBlock() != each.later.op->getBlock()) return false;
    for (Operation *op = wait->getPrevNode(); op && op->getNumRegions() == 0 && !isa<ttg::TmaStoreOp>(op); op = op->getPrevNode())
      if (isa<ttg::CtaBarrierOp>(op)) {
        wait->moveBefore(op);
        states.erase(wait); // that of its old position
        return true;
      }
    return false;
  }

  /// The position before accesses of the same kind that stand in a row. Before reads and copies: after the last operation with an effect,
  /// so that the barrier does not wait for arithmetic.
  static Operation *firstOfRow(const Unordered &each) {
    Operation *position = each.position;
    bool isStore = isa<ttg::StoreSharedOp>(position);
    for (Operation *op = position->getPrevNode(); op && op != each.earlier.access.op; op = op->getPrevNode()) {
      bool isRow = op->getName() == each.position->getName() && isa<ttg::StoreSharedOp, ttg::TmaLoadOp>(op);
      bool isPassed = isa<ttg::BarrierExpectOp, ttg::AllocOp>(op) || (isMemoryEffectFree(op) && op->getNumRegions() == 0);
      if (!isRow && (isStore || !isPassed)) break;
      position = op;
    }
    return position;
  }

  tt::FuncOp function;
  Block &body;
  BarrierRules rules;
  OpBuilder b;
  StageCache stages;
  DenseMap<Operation *, int64_t> numbers;        ///< positions in the text, of what is not a new barrier or fence
  DenseMap<Operation *, PendingAccesses> states; ///< before each operation of an iteration that has been analyzed
};

} // namespace

LogicalResult insertBarriers(tt::FuncOp function, ArrayRef<Exemption> exempt) {
  if (failed(verifyKnown(function))) return failure();
  return Inserter(function, exempt).run();
}

LogicalResult insertBarriers(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) { return insertBarriers(function, exemptions()); });
}

} // namespace tilewright::gpu
