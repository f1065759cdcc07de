// What signals do to a compiled kernel while it runs: a bad address is reported with the kernel's name, and a launch can be ended from
// outside.
#pragma once

#include <pthread.h>

namespace tilewright {

/// From now on a bad address (SIGSEGV, SIGBUS) in a kernel is explained on the standard error before the previous handler
/// runs: a debugger, Python's faulthandler, the end of the process with a core dump. Only the first call has an effect.
void reportBadAddresses();

/// Ends the programs of launches whose `stop` is set, on the pool's workers and on the thread `caller`. A program
/// that is just then in code that the kernel calls goes on, so this must be repeated until the launch returns.
void stopPrograms(pthread_t caller);

} // namespace tilewright
