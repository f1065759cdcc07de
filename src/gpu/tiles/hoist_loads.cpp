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
#include "gpu/tiles/ttg.h"
#include "ir/volatile_load.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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

/// True if the value is defined before the branch, or can be computed there.
static bool canBeBefore(scf::IfOp branch, Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!branch->isAncestor(value.getParentBlock()->getParentOp())) return true;
  return op && depth > 0 && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return canBeBefore(branch, operand, depth - 1); });
}

static void moveBefore(scf::IfOp branch, Operation *op) {
  for (Value operand : op->getOperands())
    if (branch->isAncestor(operand.getParentBlock()->getParentOp())) moveBefore(branch, operand.getDefiningOp());
  op->moveBefore(branch);
}

static bool comesFromMemory(Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0) return false;
  if (isa<tt::LoadOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op)) return true;
  return isPure(op) && llvm::any_of(op->getOperands(), [&](Value operand) { return comesFromMemory(operand, depth - 1); });
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
  bool waits = comesFromMemory(branch.getCondition(), maxDepth);
  if (!waits || !isNonSynchronizing(branch.getThenRegion()) || !isNonSynchronizing(branch.getElseRegion())) return;
  for (Region *arm : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (arm->empty()) continue;
    SmallVector<Operation *> operations = llvm::map_to_vector(arm->front().without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : operations) {
      auto load = dyn_cast<tt::LoadOp>(op);
      if (!load && !isMemoryEffectFree(op)) break; // it may write what a later load reads
      if (!load || !isStoredAfter(branch, load)) continue;
      if (!llvm::all_of(load->getOperands(), [&](Value operand) { return canBeBefore(branch, operand, maxDepth); })) continue;
      moveBefore(branch, load);
      load->setAttr(ttg::hoistedName, UnitAttr::get(load.getContext()));
    }
  }
}

/// True if the value is available after `last`, or can be computed there.
static bool canBeAfter(Operation *last, Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != last->getBlock() || op == last || op->isBeforeInBlock(last)) return true;
  return depth > 0 && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return canBeAfter(last, operand, depth - 1); });
}

/// Moves the operation, after its operands, directly after `last`; each moved operation becomes the new `last`. Operations up to `last`
/// stay in place, so each operand is defined before its user, in any order of the operands.
static void moveAfter(Operation *&last, Operation *op) {
  if (op == last || op->isBeforeInBlock(last)) return;
  for (Value operand : op->getOperands())
    if (Operation *made = operand.getDefiningOp(); made && made->getBlock() == last->getBlock()) moveAfter(last, made);
  op->moveAfter(last);
  last = op;
}

/// Returns the 32-bit registers of a thread that hold a tile in its memory type.
static int64_t registersOf(RankedTensorType tile, int64_t threads) {
  Type element = tile.getElementType();
  return element.isIntOrFloat() ? registersOfElements(tile.getNumElements(), element.getIntOrFloatBitWidth(), threads) : 1024;
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
    registers += registersOf(tile, threads);
    bool isReady = llvm::all_of(op.getOperands(), [&](Value operand) { return canBeAfter(last, operand, maxDepth); });
    if (registers <= maxHoistedRegisters && isReady) moveAfter(last, &op);
  }
}

LogicalResult hoistLoads(ModuleOp module) {
  module.walk(loadBefore);
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) {
    loadBeforeReduction(function.getBody().front(), config.getWarps() * 32);
    return success();
  });
}

} // namespace tilewright::gpu
