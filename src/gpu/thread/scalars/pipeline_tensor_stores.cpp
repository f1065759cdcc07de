// Pipelines what a thread computes by special functions and stores to tensor memory, as the exponentials of attention. ptxas starts all
// operations whose operands are known, then those that depend on them: the special function unit is idle before and after its part. Stores
// to tensor memory keep their order with everything else, so parts of the computation between them stay apart:
//   before: f0 f1 f2 f3    ex2 0 ex2 1 ex2 2 ex2 3    cvt 0 cvt 1 cvt 2 cvt 3    st 0 st 1 st 2 st 3     (f: before the special function)
//   after:  f0 ex2 0 f1    ex2 1 f2 cvt 0  st 0    ex2 2 f3 cvt 1  st 1    ex2 3 cvt 2  st 2    cvt 3  st 3
// Between two stores, all operands are known at first, and the special functions alternate with the other operations. Barriers may stand
// between the stores: an MMA reads the first ones while the last ones are computed.
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// True for what may stand between stores of one sequence: computation of addresses, waits, and what says that parts are stored.
bool isBetweenStores(Operation *op) {
  return isMemoryEffectFree(op) ||
         isa<ptx::Tcgen05WaitOp, ptx::Tcgen05FenceOp, ptx::WarpBarrierOp, ptx::MbarrierArriveOp, ptx::MbarrierWaitOp>(op);
}

class TensorStorePipeline {
public:
  /// `first`: the first of a sequence of stores.
  explicit TensorStorePipeline(ptx::Tcgen05StOp first) {
    SmallVector<Operation *> free; // of effects, between two stores: they depend on none of the others
    bool hasBarrier = false;
    for (Operation *op = first; op && (isa<ptx::Tcgen05StOp>(op) || isBetweenStores(op)); op = op->getNextNode()) {
      bool isStore = isa<ptx::Tcgen05StOp>(op), isFree = isMemoryEffectFree(op);
      if (isFree) free.push_back(op);
      hasBarrier |= !isStore && !isFree;
      if (!isStore) continue;
      stores.push_back(op);
      for (Operation *each : free)
        if (hasBarrier) each->moveBefore(first);
      free.clear();
    }
    findMovable();
    assignParts();
  }

  Operation *last() const { return stores.back(); }

  /// True if each store has special functions of its own.
  bool pays() const {
    return stores.size() > 1 && llvm::all_of(parts, [](const Part &part) { return !part.special.empty(); });
  }

  void reorder() {
    emit(parts[0].before, stores[0]);
    emit(parts[0].special, stores[0]);
    if (parts.size() > 1) emit(parts[1].before, stores[0]);
    for (size_t i = 0; i < parts.size(); ++i) {
      SmallVector<Operation *> others = parts[i].after, special;
      if (i + 2 < parts.size()) others.append(parts[i + 2].before);
      if (i + 1 < parts.size()) special = parts[i + 1].special;
      alternate(special, others, stores[i]);
      if (i > 0) delayPass(stores[i - 1], stores[i]);
    }
  }

private:
  /// What one store needs that no earlier one does. `after`: also what depends on nothing but its values and earlier ones.
  struct Part {
    SmallVector<Operation *> before, special, after;
  };

  /// Nothing is stored between two arrivals, so the second one tells other warps that the special functions are theirs: it comes after
  /// those.
  static void delayPass(Operation *store, Operation *next) {
    SmallVector<Operation *> pass;
    bool hasArrived = false;
    for (Operation *op = store->getNextNode(); op != next; op = op->getNextNode()) {
      if (hasArrived && !isMemoryEffectFree(op)) pass.push_back(op);
      hasArrived |= isa<ptx::MbarrierArriveOp>(op);
    }
    emit(pass, next);
  }

  bool isAfterStores(Operation *op) const { return llvm::is_contained(stores, op) || last()->isBeforeInBlock(op); }

  /// Operations that are used only by one another, by the stores, or after the last of these.
  void findMovable() {
    Block *block = stores[0]->getBlock();
    for (Operation *op = stores[0]->getPrevNode(); op; op = op->getPrevNode()) {
      if (!isMemoryEffectFree(op) || op->getNumRegions() != 0 || op->use_empty()) continue;
      bool moves = llvm::all_of(op->getUsers(), [&](Operation *user) {
        Operation *around = block->findAncestorOpInBlock(*user);
        return around && (movable.contains(around) || isAfterStores(around));
      });
      if (moves) movable.insert(op), ordered.push_back(op);
    }
    std::reverse(ordered.begin(), ordered.end());
  }

  void assignParts() {
    size_t count = stores.size();
    DenseMap<Operation *, size_t> partOf; // the first store that needs it
    for (auto [number, store] : llvm::enumerate(stores))
      partOf[store] = number;
    for (Operation *op : llvm::reverse(ordered)) {
      size_t part = count;
      for (Operation *user : op->getUsers())
        if (auto known = partOf.find(user); known != partOf.end()) part = std::min(part, known->second);
      partOf[op] = part;
    }
    parts.resize(count);
    DenseSet<Operation *> special; // special functions, and what depends on them
    for (Operation *op : ordered) {
      bool dependsOnSpecial = false;
      size_t ofOperands = 0;
      for (Value operand : op->getOperands()) {
        Operation *from = operand.getDefiningOp();
        if (!from || !movable.contains(from)) continue;
        dependsOnSpecial |= special.contains(from);
        ofOperands = std::max(ofOperands, partOf[from]);
      }
      size_t &part = partOf[op];
      if (part == count) part = ofOperands;
      bool isSpecial = isa<ptx::SpecialOp>(op) && !dependsOnSpecial;
      if (isSpecial || dependsOnSpecial) special.insert(op);
      (isSpecial ? parts[part].special : dependsOnSpecial ? parts[part].after : parts[part].before).push_back(op);
    }
  }

  static void emit(ArrayRef<Operation *> operations, Operation *end) {
    for (Operation *op : operations)
      op->moveBefore(end);
  }

  /// Spreads `others` evenly among `special`.
  static void alternate(ArrayRef<Operation *> special, ArrayRef<Operation *> others, Operation *end) {
    size_t next = 0;
    for (auto [number, op] : llvm::enumerate(special)) {
      op->moveBefore(end);
      for (; next < others.size() * (number + 1) / special.size(); ++next)
        others[next]->moveBefore(end);
    }
    emit(others.drop_front(next), end);
  }

  SmallVector<Operation *> stores, ordered;
  DenseSet<Operation *> movable;
  std::vector<Part> parts;
};

} // namespace

LogicalResult pipelineTensorStores(ModuleOp module) {
  llvm::SmallPtrSet<Block *, 4> withSpecial;
  module.walk([&](ptx::SpecialOp special) { withSpecial.insert(special->getBlock()); });
  SmallVector<ptx::Tcgen05StOp> firsts;
  module.walk([&](ptx::Tcgen05StOp store) {
    if (!withSpecial.contains(store->getBlock())) return;
    Operation *before = store->getPrevNode();
    while (before && !isa<ptx::Tcgen05StOp>(before) && isBetweenStores(before))
      before = before->getPrevNode();
    bool isFirst = !isa_and_nonnull<ptx::Tcgen05StOp>(before);
    if (isFirst && isa<scf::ForOp>(store->getParentOp())) firsts.push_back(store);
  });
  for (ptx::Tcgen05StOp first : firsts)
    if (TensorStorePipeline pipeline(first); pipeline.pays()) pipeline.reorder();
  return success();
}

} // namespace tilewright::gpu
