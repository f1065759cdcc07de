// Measures the native stack that the running thread has left.
//
// Texts nest, and code that walks over them recurses. Counting levels does not bound the stack: one level takes between a hundred bytes and
// two kilobytes, and threads have stacks of 8 MB or of 256 KB. So every recursion over a user's input checks the stack, and a text that is
// too deep is an error, on any thread.
#pragma once

#include <cstdint>
#include <functional>

namespace tilewright {

/// Returns the bytes between here and the end of this thread's stack; a large number if it is not known.
int64_t stackLeft();

/// True if so little stack is left that a recursion has to end. The rest is enough to report an error and to return.
bool stackIsLow();

/// Runs the work with so many bytes of stack: on this thread, or on a new one, for which this one waits. For code that recurses without a
/// check, such as LLVM. The work must not throw.
void onStackOf(int64_t bytes, const std::function<void()> &work);

} // namespace tilewright
