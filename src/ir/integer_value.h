// Evaluates integer arithmetic on known operands: of one thread, warp or program. An operand or a result that is not known is empty.
#pragma once

#include "mlir/IR/Operation.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>

namespace tilewright {

using Integer = std::optional<int64_t>;

/// Computes an operation of `arith` whose one result is an integer or an index. Results are sign-extended from the width of their type, as
/// the operands must be. Empty if the operation is another one, an operand that decides the result is not known, or it divides by 0.
Integer computeInteger(mlir::Operation *op, llvm::ArrayRef<Integer> operands);

} // namespace tilewright
