// What evaluation at compile time may use: steps, memory, and the native stack.
//
// A budget is opened by whoever starts an evaluation (a module's name, a kernel's emission) and shared by all that runs inside of it.
// Each step of the evaluator, each value that is made, and each item that a comparison, a search or a text looks at takes from it. Once it
// is spent, loops over items stop where they are; their results are worthless, and the evaluator, which asks after every expression,
// reports the error before anybody sees them. So no helper deep below needs a place to report to.
#pragma once

#include "support/diagnostics.h"

namespace tilewright {

/// The budget of the evaluation that is running on this thread. The outermost one counts; others within share it.
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
/// Whether a recursion may go one level deeper. False where the stack is low, which spends the budget.
bool mayRecurse();
/// Gives up on what nests too deeply, as `mayRecurse` does.
void spendStack();
/// False after reporting why, once the budget is spent.
bool withinBudget(SourceRange range, Diagnostics &diagnostics);

} // namespace tilewright
