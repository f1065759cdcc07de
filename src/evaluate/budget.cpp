#include "evaluate/budget.h"

#include "support/stack.h"
#include "support/work_control.h"

namespace tilewright {

namespace {

constexpr int64_t usualSteps = 4'000'000;          // about a second
constexpr int64_t usualBytes = int64_t(256) << 20; // of all that one evaluation allocates, even if it is freed
constexpr int64_t stepsBetweenChecks = 1024;       // of the control: a fraction of a millisecond

struct Spent {
  int64_t depth = 0, steps = 0, bytes = 0;
  int64_t maxSteps = usualSteps, maxBytes = usualBytes, nextCheck = 0;
  const WorkControl *control = nullptr;
  bool stack = false, isEnded = false;
  const Diagnostics *reportedTo = nullptr; // one error is enough
};
thread_local Spent spent;

bool isSpent() {
  return spent.steps > spent.maxSteps || spent.bytes > spent.maxBytes || spent.stack || spent.isEnded;
}

/// Opens the budget of an evaluation, with the limits of this thread's work.
void open() {
  spent = Spent();
  spent.depth = 1;
  spent.control = currentControl();
  if (!spent.control) return;
  if (int64_t steps = spent.control->limits.evaluatorSteps) spent.maxSteps = steps;
  if (int64_t bytes = spent.control->limits.evaluatorBytes) spent.maxBytes = bytes;
}

} // namespace

Budget::Budget() {
  if (spent.depth++ == 0) open();
}

Budget::~Budget() {
  --spent.depth;
}

bool spend(int64_t steps) {
  if (spent.depth == 0) return true;
  spent.steps += steps;
  if (spent.control && spent.steps >= spent.nextCheck) {
    spent.nextCheck = spent.steps + stepsBetweenChecks;
    spent.isEnded = !spent.control->mayContinue();
  }
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
  if (spent.isEnded)
    diagnostics.error(range, Diag::badValue, {"the evaluation stops: " + spent.control->describe()});
  else if (spent.stack)
    diagnostics.error(range, Diag::stackExhausted, {});
  else if (spent.steps > spent.maxSteps)
    diagnostics.error(range, Diag::evaluationTooLong, {std::to_string(spent.maxSteps)});
  else
    diagnostics.error(range, Diag::evaluationTooLarge, {std::to_string(spent.maxBytes >> 20)});
  if (spent.control && !spent.isEnded) spent.control->exceed();
  return false;
}

} // namespace tilewright
