// The limits of compile-time evaluation: steps, memory, and the native stack.
//
// The start of an evaluation (of a module's name, or of a kernel's emission) opens a budget, which all nested code shares. Each step of
// the evaluator, each created value, and each item that a comparison, a search or a text reads takes from it. Once the budget is spent,
// loops over items stop early. Their results are invalid, but the evaluator checks the budget after every expression and reports the
// error before they are used. So helpers do not report it.
#pragma once

#include "support/diagnostics.h"

namespace tilewright {

/// The budget of the evaluation that runs on this thread. Nested budgets share the outermost one.
class Budget {
public:
  Budget();
  ~Budget();
  Budget(const Budget &) = delete;
  Budget &operator=(const Budget &) = delete;
};

/// Takes steps from the budget. False once it is spent. Outside of an evaluation nothing is counted.
bool spend(int64_t steps);
/// The same for memory that is about to be allocated.
bool spendBytes(int64_t bytes);
/// True if a recursion may go one level deeper. If the stack is low, returns false and spends the budget.
bool mayRecurse();
/// Gives up on something that nests too deeply, as `mayRecurse` does.
void spendStack();
/// False once the budget is spent; then it has reported why.
bool withinBudget(SourceRange range, Diagnostics &diagnostics);

} // namespace tilewright
