// Hoists loads. Case 1: several programs accumulate a sum under a lock; the first one stores, and each later one loads and adds:
//   before: %count = tt.load %flag                               after: %count = tt.load %flag
//           %sum = scf.if %count == 0 { yield %x }                      %old = tt.load %p, %mask
//                  else { %old = tt.load %p, %mask                      %sum = scf.if %count == 0 { yield %x }
//                         yield %x + %old }                                    else { yield %x + %old }
//           tt.store %p, %sum, %mask                                    tt.store %p, %sum, %mask
// The branch waits for memory, and the load inside it would wait again while other programs wait for the lock. After hoisting both loads
// are in flight together. The speculative load is safe: the store after the branch accesses the same addresses in any case. Up to that
// store the program does not wait for another program, so no other program has to write them first.
//
// Case 2: the weights of a normalized row, which are loaded at their use:
//   before: %x = tt.load; %mean = tt.reduce ...; %w = tt.load; tt.store       after: %x = tt.load; %w = tt.load; %mean = tt.reduce ...
// Without hoisting, the threads wait for memory twice. A limit on the registers of the hoisted tiles avoids spills.
#include "gpu/cost_model/registers.h"
#include "gpu/passes.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/ttg.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t maxDepth = 8; // maximum depth of the operations that compute an address, a mask or a condition

static bool areSame(Value one, Value other, int64_t depth) {
  if (one == other) return true;
  Operation *first = one.getDefiningOp(), *second = other.getDefiningOp();
  if (!first || !second || depth == 0 || first->getNumRegions() || !isPure(first)) return false;
  auto compare = [&](Value x, Value y) { return success(areSame(x, y, depth - 1)); };
  return OperationEquivalence::isEquivalentTo(first, second, compare, nullptr, OperationEquivalence::IgnoreLocations);
}

/// True if the value is available, or pure operations can compute it from available ones.
static bool canBeComputed(Value value, function_ref<bool(Value)> isAvailable, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (isAvailable(value)) return true;
  return op && depth > 0 && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return canBeComputed(operand, isAvailable, depth - 1); });
}

/// Moves the operation, after what computes those of its operands that are not available.
static void moveWithOperands(Operation *op, function_ref<bool(Value)> isAvailable, function_ref<void(Operation *)> move) {
  for (Value operand : op->getOperands())
    if (!isAvailable(operand)) moveWithOperands(operand.getDefiningOp(), isAvailable, move);
  move(op);
}

static bool comesFromMemory(Value value) {
  return tt::dependsOn(value, [](Value source) {
    Operation *op = source.getDefiningOp();
    if (isa_and_nonnull<tt::LoadOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op)) return tt::Search::found;
    return op && isPure(op) ? tt::Search::follow : tt::Search::skip;
  });
}

/// True if the operation neither signals another program nor waits for one.
static bool isNonSynchronizing(Operation *op) {
  if (auto load = dyn_cast<tt::LoadOp>(op)) return !tt::isVolatileLoad(load);
  if (isa<tt::AtomicRMWOp>(op)) return op->getResult(0).use_empty();
  return isa<tt::StoreOp>(op) || isMemoryEffectFree(op);
}

static bool isNonSynchronizing(Region &region) {
  return region.empty() || llvm::all_of(region.front(), [](Operation &op) { return isNonSynchronizing(&op); });
}

/// True if a store after the branch covers everything that `load` may read, with no waiting operation in between.
static bool isStoredAfter(scf::IfOp branch, tt::LoadOp load) {
  for (Operation *op = branch->getNextNode(); op && isNonSynchronizing(op); op = op->getNextNode()) {
    auto store = dyn_cast<tt::StoreOp>(op);
    bool isAll = store && (!store.getMask() || (load.getMask() && areSame(store.getMask(), load.getMask(), maxDepth)));
    if (isAll && areSame(store.getPtr(), load.getPtr(), maxDepth)) return true;
  }
  return false;
}

static void loadBefore(scf::IfOp branch) {
  bool waits = comesFromMemory(branch.getCondition());
  if (!waits || !isNonSynchronizing(branch.getThenRegion()) || !isNonSynchronizing(branch.getElseRegion())) return;
  for (Region *arm : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (arm->empty()) continue;
    SmallVector<Operation *> operations = llvm::map_to_vector(arm->front().without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : operations) {
      auto load = dyn_cast<tt::LoadOp>(op);
      if (!load && !isMemoryEffectFree(op)) break; // it may write what a later load reads
      if (!load || !isStoredAfter(branch, load)) continue;
      auto isBefore = [&](Value value) { return !branch->isAncestor(value.getParentBlock()->getParentOp()); };
      if (!llvm::all_of(load->getOperands(), [&](Value operand) { return canBeComputed(operand, isBefore, maxDepth); })) continue;
      moveWithOperands(load, isBefore, [&](Operation *moved) { moved->moveBefore(branch); });
      load->setAttr(ttg::hoistedName, UnitAttr::get(load.getContext()));
    }
  }
}

/// Returns the 32-bit registers of a thread that hold a tile in its memory type.
static int64_t registersOf(RankedTensorType tile, int64_t threads) {
  return registersOfElements(tile.getNumElements(), ttg::elementBits(tile), threads);
}

/// Moves loads after the first reduction of a block up to the loads before it.
static void loadBeforeReduction(Block &block, int64_t threads) {
  Operation *last = nullptr; // the last of the loads before the reduction
  int64_t registers = 0;
  bool isAfter = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto load = dyn_cast<tt::LoadOp>(op);
    auto tile = load ? dyn_cast<RankedTensorType>(load.getType()) : nullptr;
    bool isPlain = load ? !tt::isVolatileLoad(load) : isMemoryEffectFree(&op);
    if (!isPlain && isAfter) return; // it may write what a later load reads
    if (!isPlain) last = nullptr;
    if (tile && isPlain && !isAfter) last = &op;
    isAfter |= isa<tt::ReduceOp>(op);
    if (!tile || !isAfter || !last) continue;
    auto isUpToLast = [&](Value value) {
      Operation *made = value.getDefiningOp();
      return !made || made->getBlock() != &block || made == last || made->isBeforeInBlock(last);
    };
    bool isReady = llvm::all_of(op.getOperands(), [&](Value operand) { return canBeComputed(operand, isUpToLast, maxDepth); });
    int64_t more = registersOf(tile, threads);
    if (!isReady || registers + more > maxHoistedRegisters) continue;
    registers += more;
    moveWithOperands(&op, isUpToLast, [&](Operation *moved) {
      moved->moveAfter(last);
      last = moved;
    });
  }
}

LogicalResult hoistLoads(ModuleOp module) {
  module.walk(loadBefore);
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) {
    llvm::SmallSetVector<Block *, 4> blocks;
    function.walk([&](tt::ReduceOp reduce) { blocks.insert(reduce->getBlock()); });
    for (Block *block : blocks)
      loadBeforeReduction(*block, config.getWarps() << laneBits);
    return success();
  });
}

} // namespace tilewright::gpu
