#include "evaluate/budget.h"

#include "support/stack.h"

namespace tilewright {

namespace {

constexpr int64_t maxSteps = 4'000'000; // about a second
constexpr int64_t maxMegabytes = 256;   // of all that one evaluation allocates, even if it is freed

struct Spent {
  int64_t depth = 0, steps = 0, bytes = 0;
  bool stack = false;
  const Diagnostics *reportedTo = nullptr; // one error is enough
};
thread_local Spent spent;

bool isSpent() {
  return spent.steps > maxSteps || spent.bytes > maxMegabytes << 20 || spent.stack;
}

} // namespace

Budget::Budget() {
  if (spent.depth++ == 0) spent = {1, 0, 0, false, nullptr};
}

Budget::~Budget() {
  --spent.depth;
}

bool spend(int64_t steps) {
  if (spent.depth == 0) return true;
  spent.steps += steps;
  return !isSpent();
}

bool spendBytes(int64_t bytes) {
  if (spent.depth == 0) return true;
  spent.bytes += bytes;
  return !isSpent();
}

bool mayRecurse() {
  if (!stackIsLow()) return true;
  spendStack();
  return false;
}

void spendStack() {
  if (spent.depth > 0) spent.stack = true;
}

bool withinBudget(SourceRange range, Diagnostics &diagnostics) {
  if (spent.depth == 0 || !isSpent()) return true;
  if (spent.reportedTo == &diagnostics && diagnostics.hasErrors()) return false;
  spent.reportedTo = &diagnostics;
  if (spent.stack)
    diagnostics.error(range, Diag::stackExhausted, {});
  else if (spent.steps > maxSteps)
    diagnostics.error(range, Diag::evaluationTooLong, {std::to_string(maxSteps)});
  else
    diagnostics.error(range, Diag::evaluationTooLarge, {std::to_string(maxMegabytes)});
  return false;
}

} // namespace tilewright
