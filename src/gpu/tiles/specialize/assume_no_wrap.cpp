// Marks 32-bit offsets that do not wrap around. Their terms then give the distances between the addresses of a thread's elements, so that
// these share most of their computation (gpu/thread/scalars/cse_addresses):
//   before: %p = tt.addptr %x, %offsets            %offsets = 128*program_id(0) + i0, of 32 bits
//   after:  %p = tt.addptr %x, %offsets {ttg.no_wrap}        and in `ttg.launch_guards`: 128*program_id(0) + i0 fits in 32 bits
// The mark is on the operation that extends a 32-bit value to 64 bits. Without it each address is computed separately.
//
// Divisions of numbers that are then not negative become unsigned. LLVM turns those by powers of two into shifts and masks, of which
// elements of a thread share more: 4*lane and 4*lane + 512 have the same remainder by 64, and the same address of a load.
//   before: arith.remsi %index, 64      %index = 1024*program_id(0) + i0
//   after:  arith.remui %index, 64      and in `ttg.launch_guards`: 1024*program_id(0) + i0 fits in 32 bits
#include "gpu/passes.h"
#include "gpu/ttg/ttg.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class Marker {
public:
  Marker(tt::FuncOp function, int64_t threads)
      : function(function), threads(threads), failedGuards(ttg::failedGuardsOf(function)), indices(function, failedGuards, cudaGridLimits) {
  }

  void run() {
    if (!sharesSomething()) return;
    function.walk([&](tt::AddPtrOp op) {
      mark(op, op.getOffset());
      markExtensions(op.getOffset());
    });
    ttg::relyOn(function, indices.guards());
    SmallVector<Operation *> divisions;
    DenseMap<Value, int64_t> nested; // divisions in a row that a value is computed by
    function.walk([&](Operation *op) {
      if (op->getNumResults() != 1 || op->getNumRegions() != 0) return;
      int64_t deepest = 0;
      for (Value operand : op->getOperands())
        deepest = std::max(deepest, nested.lookup(operand));
      bool divides = isa<arith::DivSIOp, arith::RemSIOp>(op);
      if (int64_t own = deepest + divides; own != 0) nested[op->getResult(0)] = own;
      if (divides && deepest < maxNestedDivisions && isa<RankedTensorType>(op->getResult(0).getType()) && isNotNegative(op))
        divisions.push_back(op);
    });
    for (Operation *op : divisions) // the analysis holds as long as the function does not change
      makeUnsigned(op);
  }

private:
  /// The name of an assumption repeats each operand of a division as often as that occurs.
  static constexpr int64_t maxNestedDivisions = 4;

  /// True if the assumptions about addresses show that neither operand is negative. For a value, no further ones are made.
  bool isNotNegative(Operation *division) {
    address::Indices trial(function, failedGuards, cudaGridLimits);
    bool holds = llvm::all_of(division->getOperands(), [&](Value operand) { return trial.assumeNonNegativeElements(operand); });
    return holds && llvm::all_of(trial.guards(), [&](const LaunchGuard &guard) { return llvm::is_contained(indices.guards(), guard); });
  }

  static void makeUnsigned(Operation *op) {
    OpBuilder b(op);
    Value left = op->getOperand(0), right = op->getOperand(1);
    Value made = isa<arith::DivSIOp>(op) ? Value(arith::DivUIOp::create(b, op->getLoc(), left, right))
                                         : Value(arith::RemUIOp::create(b, op->getLoc(), left, right));
    op->getResult(0).replaceAllUsesWith(made);
    op->erase();
  }

  /// True if a thread holds several addresses of some tile, which can share computation.
  bool sharesSomething() {
    return function
        .walk([&](tt::AddPtrOp op) {
          auto tile = dyn_cast<RankedTensorType>(op.getType());
          return tile && tile.getNumElements() > threads ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Marks `op`, which extends `narrow` to 64 bits.
  void mark(Operation *op, Value narrow) {
    auto tile = dyn_cast<RankedTensorType>(narrow.getType());
    if (tile && tile.getElementType().isInteger(32) && indices.assumeNoWrapOf(narrow))
      op->setAttr(ttg::noWrapName, UnitAttr::get(op->getContext()));
  }

  /// Marks the extensions inside a 64-bit offset.
  void markExtensions(Value offset) {
    (void)tt::dependsOn(offset, [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!op || !isa<RankedTensorType>(value.getType()) || !seen.insert(op).second) return tt::Search::skip;
      if (auto extension = dyn_cast<arith::ExtSIOp>(op)) mark(extension, extension.getIn());
      return isPure(op) && op->getNumRegions() == 0 ? tt::Search::follow : tt::Search::skip;
    });
  }

  tt::FuncOp function;
  int64_t threads;
  address::FailedGuards failedGuards;
  address::Indices indices;
  SmallPtrSet<Operation *, 16> seen;
};

} // namespace

LogicalResult assumeNoWrap(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) {
    Marker(function, config.getWarps() << laneBits).run();
    return success();
  });
}

} // namespace tilewright::gpu
