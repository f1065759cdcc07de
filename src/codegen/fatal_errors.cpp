// As in LLVM's CrashRecoveryContext, which also handles signals: a library must not.
#include "codegen/fatal_errors.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace tilewright {

namespace {
struct Recovery {
  std::jmp_buf back;
  std::string reason;
  const void *stackTrace; ///< LLVM's list of what this thread does; its entries are on the stack
  Recovery *outer;
};
} // namespace

static thread_local Recovery *innermost = nullptr;

static void handle(void *, const char *reason, bool) {
  if (Recovery *recovery = innermost) {
    recovery->reason = reason;
    std::longjmp(recovery->back, 1);
  }
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
  std::abort();
}

std::optional<std::string> fatalErrorOf(llvm::function_ref<void()> run) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(handle); });
  // On the heap, because a jump may restore old values of local variables.
  const std::unique_ptr<Recovery> recovery(new Recovery{{}, "", llvm::SavePrettyStackState(), innermost});
  innermost = recovery.get();
  std::optional<std::string> error;
  if (setjmp(recovery->back) == 0)
    run();
  else
    error = std::move(recovery->reason);
  innermost = recovery->outer;
  llvm::RestorePrettyStackState(recovery->stackTrace);
  return error;
}

} // namespace tilewright
