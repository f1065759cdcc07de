// Elements that no load defined: where a mask is off and the load has no `other`, a tile holds anything.
//
//     x = tl.load(x_ptr + i, mask=i < n)      elements from n on: undefined
//     tl.store(out_ptr + i, x, mask=i < n)    good: they are not stored
//     tl.store(sum_ptr, tl.sum(x))            bad: they are in the sum
//
// With the sanitizer, tiles carry a bit for each such element. What is computed from one is undefined, too, except by a selection
// of another value, or an `&` with false. To store one, or to let one decide where to store, load or branch, is an error.
#pragma once

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/LogicalResult.h"

#include <memory>

namespace mlir {
class Operation;
}

namespace tilewright::interp {

class Program;
struct Tile;

struct Undefined {
  llvm::BitVector elements;
  mlir::Operation *load; // where the first of them came from
};
/// Null: every element is defined.
using UndefinedElements = std::shared_ptr<const Undefined>;

/// Marks the elements of a load's result that its mask leaves out.
void markUndefined(Tile &result, const Tile &mask, mlir::Operation *load);
/// Called before an operation: an error where the operation lets an undefined element leave its tile.
llvm::LogicalResult checkDefined(Program &program, mlir::Operation *op);
/// Called after an operation whose results are computed from its operands (not a load): marks what is undefined in them.
llvm::LogicalResult followUndefined(Program &program, mlir::Operation *op, llvm::LogicalResult (*meaning)(Program &, mlir::Operation *));

} // namespace tilewright::interp
