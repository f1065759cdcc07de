// A sum that several programs add to behind a lock, of which the first one stores, and the others load and add:
//   before: %count = tt.load %flag                               after: %count = tt.load %flag
//           %sum = scf.if %count == 0 { yield %x }                      %old = tt.load %p, %mask
//                  else { %old = tt.load %p, %mask                      %sum = scf.if %count == 0 { yield %x }
//                         yield %x + %old }                                    else { yield %x + %old }
//           tt.store %p, %sum, %mask                                    tt.store %p, %sum, %mask
// The branch waits for memory, and the load in it would wait once more; meanwhile all other programs wait for the lock. Now both
// loads are in flight at the same time. The load can be made although its result may not be needed: the store after the branch
// touches the same places in any case, and up to there the program waits for no other program, which would have to write them first.
//
// Weights of a normalized row, which are loaded where they are needed:
//   before: %x = tt.load; %mean = tt.reduce ...; %w = tt.load; tt.store       after: %x = tt.load; %w = tt.load; %mean = tt.reduce ...
// The threads would wait for memory once for the row and once for the weights. Only a few registers of each may hold what is early.
#include "gpu/machine/early.h"
#include "gpu/passes.h"
#include "gpu/tiles/ttg.h"
#include "ir/volatile_load.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t deepest = 8; // operations that an address, a mask or a condition is followed through

static bool areSame(Value one, Value other, int64_t depth) {
  if (one == other) return true;
  Operation *first = one.getDefiningOp(), *second = other.getDefiningOp();
  if (!first || !second || depth == 0 || first->getNumRegions() || !isPure(first)) return false;
  auto compare = [&](Value x, Value y) { return success(areSame(x, y, depth - 1)); };
  return OperationEquivalence::isEquivalentTo(first, second, compare, nullptr, OperationEquivalence::IgnoreLocations);
}

/// Whether the value is there in front of the branch, or can be computed there.
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

/// Whether the operation neither lets another program proceed, nor waits for one.
static bool blocksNobody(Operation *op) {
  if (auto load = dyn_cast<tt::LoadOp>(op)) return !tt::isVolatileLoad(load);
  if (isa<tt::AtomicRMWOp>(op)) return op->getResult(0).use_empty();
  return isa<tt::StoreOp>(op) || isMemoryEffectFree(op);
}

static bool blocksNobody(Region &region) {
  return region.empty() || llvm::all_of(region.front(), [](Operation &op) { return blocksNobody(&op); });
}

/// The store after the branch to everything that `load` may read, with nothing between that waits.
static bool isStoredBehind(scf::IfOp branch, tt::LoadOp load) {
  for (Operation *op = branch->getNextNode(); op && blocksNobody(op); op = op->getNextNode()) {
    auto store = dyn_cast<tt::StoreOp>(op);
    bool isAll = store && (!store.getMask() || (load.getMask() && areSame(store.getMask(), load.getMask(), deepest)));
    if (isAll && areSame(store.getPtr(), load.getPtr(), deepest)) return true;
  }
  return false;
}

static void loadBefore(scf::IfOp branch) {
  bool waits = comesFromMemory(branch.getCondition(), deepest);
  if (!waits || !blocksNobody(branch.getThenRegion()) || !blocksNobody(branch.getElseRegion())) return;
  for (Region *arm : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (arm->empty()) continue;
    SmallVector<Operation *> operations = llvm::map_to_vector(arm->front().without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : operations) {
      auto load = dyn_cast<tt::LoadOp>(op);
      if (!load && !isMemoryEffectFree(op)) break; // it may write what a later load reads
      if (!load || !isStoredBehind(branch, load)) continue;
      if (!llvm::all_of(load->getOperands(), [&](Value operand) { return canBeBefore(branch, operand, deepest); })) continue;
      moveBefore(branch, load);
      load->setAttr(ptx::hoistedName, UnitAttr::get(load.getContext()));
    }
  }
}

/// Whether the value is available after `last`, or can be computed there.
static bool canBeAfter(Operation *last, Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != last->getBlock() || op == last || op->isBeforeInBlock(last)) return true;
  return depth > 0 && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return canBeAfter(last, operand, depth - 1); });
}

/// Moves the operation, and first what it needs, to directly after `last`; each that moves is the new `last`. Operations up to `last` stay
/// where they are, so each operand is defined before its user, whatever the order in which the operands are found.
static void moveAfter(Operation *&last, Operation *op) {
  if (op == last || op->isBeforeInBlock(last)) return;
  for (Value operand : op->getOperands())
    if (Operation *made = operand.getDefiningOp(); made && made->getBlock() == last->getBlock()) moveAfter(last, made);
  op->moveAfter(last);
  last = op;
}

/// The 32-bit registers of a thread that hold what a tile has in memory.
static int64_t registersOf(RankedTensorType tile, int64_t threads) {
  Type element = tile.getElementType();
  return element.isIntOrFloat() ? (tile.getNumElements() * element.getIntOrFloatBitWidth() / threads + 31) / 32 : 1024;
}

/// Loads behind the first reduction of a block of operations move to the loads in front of it.
static void loadBeforeReduction(Block &block, int64_t threads) {
  constexpr int64_t maxRegisterLimit = 16;
  Operation *last = nullptr; // the loads end here
  int64_t registers = 0;
  bool isBehind = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto load = dyn_cast<tt::LoadOp>(op);
    auto tile = load ? dyn_cast<RankedTensorType>(load.getType()) : nullptr;
    bool isPlain = load ? !tt::isVolatileLoad(load) : isMemoryEffectFree(&op);
    if (!isPlain && isBehind) return; // it may write what is loaded behind it
    if (!isPlain) last = nullptr;
    if (tile && isPlain && !isBehind) last = &op;
    isBehind |= isa<tt::ReduceOp>(op);
    if (!tile || !isBehind || !last) continue;
    registers += registersOf(tile, threads);
    bool isReady = llvm::all_of(op.getOperands(), [&](Value operand) { return canBeAfter(last, operand, deepest); });
    if (registers <= maxRegisterLimit && isReady) moveAfter(last, &op);
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
