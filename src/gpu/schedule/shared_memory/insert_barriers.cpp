// Inserts the barriers and fences that accesses to shared memory need, once all buffers have their offsets. An iteration of a matmul:
//   before: wait for stage i    mma_async %stage    mma_async_wait 1: MMA i - 1 is over    tma_load of i + 2, to the stage of MMA i - 1
//   after:  wait for stage i    mma_async %stage    mma_async_wait 1    cta_barrier    tma_load
// barrier_analysis.cpp finds the accesses that need one. A barrier stands before the later access, in the innermost block that has both
// accesses: for an access before a loop, no barrier is inserted in the loop. Accesses of inner loops come first, then those of one
// iteration, whose barriers often order those of different iterations as well.
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

/// What decides which pair is ordered first: the least key.
using Key = std::tuple<bool, int64_t, bool, bool, bool, int64_t>;

/// Inserts one barrier after another. A barrier changes nothing before it, so the analysis continues from there. It goes on only until no
/// later pair can come first: in straight-line code, up to the first pair.
class Inserter {
public:
  Inserter(tt::FuncOp function, ArrayRef<Exemption> exempt)
      : function(function), body(function.getBody().front()), rules(function, function->hasAttr(ttg::warpSpecializedName), exempt),
        b(function.getContext()) {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op] = int64_t(numbers.size()); });
    int64_t loops = 0;
    for (Operation &op : llvm::reverse(body)) {
      op.walk([&](Operation *inner) { loops = std::max(loops, loopsAround(inner)); });
      loopsFrom[&op] = loops;
    }
  }

  LogicalResult run() {
    orderIterations();
    position = &body.front();
    for (int64_t changes = maxChanges(); changes > 0; --changes) {
      std::optional<Unordered> next = nextUnordered();
      if (!next) return success();
      if (next->need.wait)
        return bug(next->later.op, "it may access shared memory before an asynchronous access to the same bytes has ended");
      analyzeFrom(order(*next));
    }
    return bug(function, "no barriers order its accesses to shared memory");
  }

private:
  /// For each access a barrier, a fence, other partitions in the barrier, and a wait before it.
  int64_t maxChanges() const { return 4 * int64_t(numbers.size()); }

  /// Orders the accesses of one iteration of the innermost loops, as far as these come before all other pairs. An iteration is
  /// straight-line code, so the analysis continues from each new barrier. That of the whole kernel has to go through the loop again.
  void orderIterations() {
    int64_t depth = loopsFrom.lookup(&body.front());
    SmallVector<Block *> iterations;
    function.walk([&](LoopLikeOpInterface loop) {
      for (Region *region : loop.getLoopRegions())
        if (loopsAround(loop) + 1 == depth) iterations.push_back(&region->front());
    });
    for (Block *iteration : iterations)
      orderIteration(*iteration);
    states.clear();
  }

  void orderIteration(Block &iteration) {
    PendingAccesses pending;
    int64_t changes = 0;
    for (Operation *op = &iteration.front(); op && changes <= maxChanges();) {
      states[op] = pending;
      SmallVector<Unordered> found;
      visitUnordered(op, rules, cache, pending, [&](const PendingAccess &earlier, const SharedAccess &later, BarrierNeed need) {
        Unordered each(earlier, later, need);
        if (!need.wait && !isMismatched(each) && needsBarrier(need) && !each.isCarried) found.push_back(each);
      });
      op = found.empty() ? op->getNextNode() : iteration.findAncestorOpInBlock(*order(*firstOf(found)));
      if (found.empty()) continue;
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

  /// Lets the analysis of the kernel's body continue from an operation on, or from the one around it. What stands before has not changed.
  void analyzeFrom(Operation *changed) {
    position = body.findAncestorOpInBlock(*changed);
    state = stateBefore(position);
    while (!unordered.empty() && !body.findAncestorOpInBlock(*unordered.back().later.op)->isBeforeInBlock(position))
      unordered.pop_back();
  }

  /// Analyzes one operation of the kernel's body.
  void analyzeNext() {
    states[position] = state;
    SmallVector<Unordered> found;
    visitUnordered(position, rules, cache, state, [&](const PendingAccess &earlier, const SharedAccess &later, BarrierNeed need) {
      found.emplace_back(earlier, later, need);
    });
    if (!found.empty()) unordered.push_back(*firstOf(found));
    position = position->getNextNode();
  }

  /// Returns the pair that is ordered next, if there is one. A pair that is not yet known is at `position` or later.
  std::optional<Unordered> nextUnordered() {
    auto first = size_t(firstOf(unordered) - unordered.begin());
    while (position && (first == unordered.size() || minKeyFrom(position) < keyOf(unordered[first]))) {
      size_t known = unordered.size();
      analyzeNext();
      if (unordered.size() > known && (first == known || keyOf(unordered[known]) < keyOf(unordered[first]))) first = known;
    }
    return first < unordered.size() ? std::optional(unordered[first]) : std::nullopt;
  }

  Key minKeyFrom(Operation *op) const {
    while (!numbers.contains(op)) // a barrier or fence
      op = op->getNextNode();
    return {true, -loopsFrom.lookup(op), false, false, false, numbers.lookup(op)};
  }

  /// A TMA store can use the barriers of other accesses. If the producer takes part, it is the last access that needs a barrier.
  static bool isMismatched(const Unordered &each) { return (each.earlier.access.accessor == Accessor::tmaStore) != each.need.allWarps; }
  static bool needsBarrier(BarrierNeed need) { return need.barrier || need.allWarps; }

  Key keyOf(const Unordered &each) const {
    return {!each.need.wait, -loopsAround(each.position),  isMismatched(each), !needsBarrier(each.need),
            each.isCarried,  numbers.lookup(each.position)};
  }

  /// Returns the pair that is ordered first; the end if there is none.
  const Unordered *firstOf(ArrayRef<Unordered> pairs) const {
    return std::min_element(pairs.begin(), pairs.end(), [&](const Unordered &x, const Unordered &y) { return keyOf(x) < keyOf(y); });
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
  AccessCache cache;
  DenseMap<Operation *, int64_t> numbers;        ///< positions in the text, of what is not a new barrier or fence
  DenseMap<Operation *, int64_t> loopsFrom;      ///< of each operation of the body: the loops around what is in it, or after it
  DenseMap<Operation *, PendingAccesses> states; ///< before each operation that has been analyzed
  Operation *position = nullptr;                 ///< the operation of the body that is analyzed next; null at the end
  PendingAccesses state;                         ///< before it
  SmallVector<Unordered> unordered;              ///< of each operation before it at most one pair, in their order
};

} // namespace

LogicalResult insertBarriers(tt::FuncOp function, ArrayRef<Exemption> exempt) {
  return Inserter(function, exempt).run();
}

LogicalResult insertBarriers(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) { return insertBarriers(function, exemptions()); });
}

} // namespace tilewright::gpu
