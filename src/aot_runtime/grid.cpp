#include "aot_runtime/grid.h"

#include "support/inline_vector.h"

#include <algorithm>

namespace tilewright::aot {

using Kind = GridStep::Kind;

static std::optional<int64_t> floorOf(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static std::optional<int64_t> nextPowerOf2(int64_t number) {
  int64_t power = 1;
  while (power < number) {
    if (power > INT64_MAX / 2) return std::nullopt;
    power *= 2;
  }
  return power;
}

static std::optional<int64_t> combine(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
  case Kind::add: return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::sub: return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::mul: return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::floordiv: return floorOf(a, b);
  case Kind::mod: {
    std::optional<int64_t> quotient = floorOf(a, b);
    return quotient ? std::optional(a - *quotient * b) : std::nullopt;
  }
  case Kind::cdiv: { // as Triton: (a + b - 1) // b
    if (__builtin_add_overflow(a, b, &result) || __builtin_sub_overflow(result, 1, &result)) return std::nullopt;
    return floorOf(result, b);
  }
  case Kind::min: return std::min(a, b);
  case Kind::max: return std::max(a, b);
  case Kind::equal: return a == b;
  case Kind::notEqual: return a != b;
  case Kind::less: return a < b;
  case Kind::lessEqual: return a <= b;
  case Kind::greater: return a > b;
  case Kind::greaterEqual: return a >= b;
  default: return std::nullopt;
  }
}

/// The result of a step on the results of the steps before, of which some may have failed.
static std::optional<int64_t> combine(Kind kind, std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a) return std::nullopt;
  if (kind == Kind::both && *a == 0) return 0;
  if (kind == Kind::either && *a != 0) return 1;
  if (!b) return std::nullopt;
  if (kind == Kind::both || kind == Kind::either) return *b != 0;
  return combine(kind, *a, *b);
}

std::optional<int64_t> evaluate(llvm::ArrayRef<GridStep> program, llvm::ArrayRef<uint64_t> arguments) {
  InlineVector<std::optional<int64_t>, 16> stack;
  for (const GridStep &step : program) {
    if (step.kind == Kind::constant || step.kind == Kind::parameter) {
      bool isParameter = step.kind == Kind::parameter;
      if (isParameter && static_cast<uint64_t>(step.value) >= arguments.size()) return std::nullopt;
      stack.push_back(isParameter ? static_cast<int64_t>(arguments[static_cast<size_t>(step.value)]) : step.value);
      continue;
    }
    size_t operands = step.kind == Kind::nextPowerOf2 ? 1 : 2;
    if (stack.size() < operands) return std::nullopt;
    std::optional<int64_t> last = stack[stack.size() - 1], result;
    if (operands == 2) result = combine(step.kind, stack[stack.size() - 2], last);
    if (operands == 1 && last) result = nextPowerOf2(*last);
    stack.resize(stack.size() - operands, std::nullopt);
    stack.push_back(result);
  }
  if (stack.size() != 1) return std::nullopt;
  return stack[0];
}

bool isSound(llvm::ArrayRef<GridStep> program, int64_t parameters) {
  int64_t depth = 0;
  for (const GridStep &step : program) {
    if (step.kind == Kind::parameter && (step.value < 0 || step.value >= parameters)) return false;
    bool pushes = step.kind == Kind::constant || step.kind == Kind::parameter;
    if (!pushes && depth < (step.kind == Kind::nextPowerOf2 ? 1 : 2)) return false;
    depth += pushes ? 1 : step.kind == Kind::nextPowerOf2 ? 0 : -1;
  }
  return depth == 1;
}

} // namespace tilewright::aot
