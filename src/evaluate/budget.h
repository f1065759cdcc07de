// What evaluation at compile time may use: steps, memory, and the native stack.
//
// Whatever starts an evaluation (a module's name, a kernel's emission) opens a budget, and all that runs inside shares
// it. Each step of the evaluator, each value that is made, and each item that a comparison, a search or a text looks at
// takes from it. Once it is spent, loops over items stop where they are. Their results are worthless, but the evaluator
// asks after every expression and reports the error before they are used. So helpers need no way to report it.
#pragma once

#include "support/diagnostics.h"

namespace tilewright {

/// The budget of the evaluation that runs on this thread. The outermost one counts; budgets inside it share it.
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
/// True if a recursion may go one level deeper. False where the stack is low, which spends the budget.
bool mayRecurse();
/// Gives up on something that nests too deeply, as `mayRecurse` does.
void spendStack();
/// False once the budget is spent; then it has reported why.
bool withinBudget(SourceRange range, Diagnostics &diagnostics);

} // namespace tilewright
