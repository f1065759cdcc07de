// Signals during a compiled kernel: a bad address is reported with the kernel's name, and a launch can be ended from outside.
#pragma once

#include <pthread.h>

namespace tilewright {

/// Installs a handler that explains a bad address (SIGSEGV, SIGBUS) in a kernel on the standard error, before the previous handler runs: a
/// debugger, Python's faulthandler, or a core dump. Only the first call has an effect.
void reportBadAddresses();

/// Ends the programs of launches whose `stop` is set, on the pool's workers and on the thread `caller`. A program that is inside code
/// called by the kernel continues, so this must be repeated until the launch returns.
void stopPrograms(pthread_t caller);

} // namespace tilewright
