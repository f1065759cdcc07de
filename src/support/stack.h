// How much native stack the running thread has left.
//
// Texts nest, and what walks over them recurses. Counting levels does not bound the stack: one level takes a hundred bytes here and two
// kilobytes there, and threads have stacks of 8 MB or of 256 KB. So every recursion over a user's input asks here before it goes deeper,
// and a text that is too deep is refused, on whatever thread.
#pragma once

#include <cstdint>
#include <functional>

namespace tilewright {

/// The bytes between here and the end of this thread's stack; a large number where nobody can tell.
int64_t stackLeft();

/// Whether so little stack is left that a recursion has to end. What remains is enough to report an error and to return.
bool stackIsLow();

/// Does the work where so many bytes of stack are left: here, or on a thread of its own, for which this one waits. For what recurses and
/// does not ask, LLVM. The work throws nothing.
void onStackOf(int64_t bytes, const std::function<void()> &work);

} // namespace tilewright
