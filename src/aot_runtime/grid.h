// Expressions of arguments for launches without a compiler, as programs for a stack machine: grids and heuristics.
//     cdiv(M, 64)                parameter 3, constant 64, cdiv
//     args["M"] % 64 == 0        parameter 3, constant 64, mod, constant 0, equal
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::aot {

struct GridStep {
  /// Comparisons, `both` (and) and `either` (or) give 1 or 0.
  enum class Kind : uint8_t {
    constant,
    parameter,
    add,
    sub,
    mul,
    floordiv,
    cdiv,
    mod,
    min,
    max,
    nextPowerOf2,
    equal,
    notEqual,
    less,
    lessEqual,
    greater,
    greaterEqual,
    both,
    either
  };
  static constexpr Kind last = Kind::either;
  Kind kind = Kind::constant;
  int64_t value = 0; // the constant, or the index of the parameter
  bool operator==(const GridStep &) const = default;
};
using GridProgram = std::vector<GridStep>;

/// Returns the result, with Python's meaning of the operators. Null after a division by 0, an overflow, or for a program that is not one.
/// As in Python, the second operand of `and` and `or` does not matter if the first decides.
std::optional<int64_t> evaluate(llvm::ArrayRef<GridStep> program, llvm::ArrayRef<uint64_t> arguments);

/// True if the program leaves one number, and its parameters are below `parameters`.
bool isSound(llvm::ArrayRef<GridStep> program, int64_t parameters);

} // namespace tilewright::aot
