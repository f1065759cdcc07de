// Undefined elements: if a mask is false and the load has no `other`, the element has any value.
//
//     x = tl.load(x_ptr + i, mask=i < n)      elements from n on: undefined
//     tl.store(out_ptr + i, x, mask=i < n)    valid: they are not stored
//     tl.store(sum_ptr, tl.sum(x))            error: they are in the sum
//
// With the sanitizer, tiles have a bit for each undefined element. A result computed from one is undefined too, unless a select takes
// another value, or the operation is an `&` with false. It is an error to store one, or to use one in an address, a mask or a branch.
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
  mlir::Operation *load; // the load of the first of them
};
/// Null if every element is defined.
using UndefinedElements = std::shared_ptr<const Undefined>;

/// Marks the elements of a load's result whose mask is false.
void markUndefined(Tile &result, const Tile &mask, mlir::Operation *load);
/// Called before an operation. Reports an error if the operation uses an undefined element in a store, an address, a mask or a branch.
llvm::LogicalResult checkDefined(Program &program, mlir::Operation *op);
/// Called after an operation other than a load: marks the undefined elements of its results.
llvm::LogicalResult followUndefined(Program &program, mlir::Operation *op, llvm::LogicalResult (*meaning)(Program &, mlir::Operation *));

} // namespace tilewright::interp
