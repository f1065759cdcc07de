// Compilations on other threads. Each future has a thread of its own, and as many of them compile at once as there are CPUs.
#include "api/call.h"
#include "api/sized.h"

#include "support/cpu.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

using namespace tilewright;
using namespace tilewright::api;

namespace {

/// Lets a limited number of threads compile.
class Gate {
public:
  /// Waits until it may compile. False if `canceled` is set before.
  bool enter(const std::atomic<bool> &canceled) {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [&] { return canceled || running < defaultThreads(); });
    if (canceled) return false;
    ++running;
    return true;
  }
  void leave() {
    std::lock_guard<std::mutex> guard(lock);
    --running;
    changed.notify_all();
  }
  void wake() {
    std::lock_guard<std::mutex> guard(lock);
    changed.notify_all();
  }

private:
  std::mutex lock;
  std::condition_variable changed;
  int64_t running = 0;
};

Gate &gate() {
  static auto &only = *new Gate; // never destroyed: threads may compile while the process ends
  return only;
}

/// Blocks all signals while it lives: they are for the threads of the embedding program.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

} // namespace

struct TwFuture {
  TwFuture(TwKernel &kernel, const TwGrid *grid, TwGridFunction function, void *context, const TwArgument *arguments, size_t count,
           const TwOptions *options, Diagnostics &diagnostics)
      : kernel(kernel), hasGrid(grid || function), givenGrid(copied(grid, diagnostics)),
        extents(kernel, grid ? &givenGrid : nullptr, function, context), given(arguments, count, diagnostics),
        call(kernel, options, &isCanceled, diagnostics) {
    for (NamedArgument &argument : given.named)
      argument.name = names.emplace_back(argument.name.str());
  }

  static TwGrid copied(const TwGrid *grid, Diagnostics &diagnostics) {
    TwGrid copy{sizeof(TwGrid), {1, 1, 1}, 1};
    std::string problem = grid ? readSized(grid, copy, "TwGrid") : "";
    if (!problem.empty()) diagnostics.error({}, Diag::badGrid, {problem});
    return copy;
  }

  void work() {
    if (gate().enter(isCanceled)) {
      guarded(&failure, 0, [&] { return prepareKernel(kernel, hasGrid ? &extents : nullptr, given, call, &failure); });
      gate().leave();
    } else {
      setError(&failure, TW_ERROR_CANCELED, "the compilation was canceled before it began\n");
    }
    std::lock_guard<std::mutex> guard(lock);
    isReady = true;
    changed.notify_all();
  }

  TwKernel &kernel;
  bool hasGrid;
  TwGrid givenGrid;
  GivenGrid extents;
  Arguments given;
  std::deque<std::string> names;
  std::atomic<bool> isCanceled{false};
  Call call;
  TwError *failure = nullptr;

  std::mutex lock; // of isReady; `failure` does not change after it is set
  std::condition_variable changed;
  bool isReady = false;
  std::thread thread;
};

static TwFuture *startFuture(TwKernel &kernel, const TwGrid *grid, TwGridFunction function, void *context, const TwArgument *arguments,
                             size_t count, const TwOptions *options, TwError **error) {
  Diagnostics diagnostics;
  auto future = std::make_unique<TwFuture>(kernel, grid, function, context, arguments, count, options, diagnostics);
  if (diagnostics.hasErrors()) return setError(error, diagnostics), nullptr;
  SignalsBlocked blocked;
  future->thread = std::thread([raw = future.get()] { raw->work(); });
  return future.release();
}

/// Waits, at most `seconds`, or without limit if they are negative. False if the future is not ready.
static bool waitFor(TwFuture &future, double seconds) {
  std::unique_lock<std::mutex> guard(future.lock);
  auto isReady = [&] { return future.isReady; };
  constexpr double most = 1e9; // larger numbers overflow the clock
  if (!(seconds >= 0 && seconds < most)) return future.changed.wait(guard, isReady), true;
  return future.changed.wait_for(guard, std::chrono::duration<double>(seconds), isReady);
}

extern "C" {

TwFuture *twPrepareAsync(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments,
                         size_t count, const TwOptions *options, TwError **error) {
  return guarded(error, static_cast<TwFuture *>(nullptr), [&]() -> TwFuture * {
    if (kernel) return startFuture(*kernel, grid, gridFunction, context, arguments, count, options, error);
    return setError(error, TW_ERROR_INVALID_ARGUMENT, noKernel), nullptr;
  });
}

int twFutureIsReady(const TwFuture *future) {
  if (!future) return 0;
  auto &mine = const_cast<TwFuture &>(*future);
  std::lock_guard<std::mutex> guard(mine.lock);
  return mine.isReady;
}

int twFutureWait(TwFuture *future, double seconds, TwError **error) {
  return guarded(error, 0, [&] {
    if (!future) return setError(error, TW_ERROR_INVALID_ARGUMENT, "there is no future: its handle is null\n"), 0;
    if (!waitFor(*future, seconds)) return setError(error, TW_ERROR_DEADLINE, "the compilation is not ready yet\n"), 0;
    if (!future->failure) return 1;
    return setError(error, future->failure->code, future->failure->text), 0;
  });
}

void twFutureCancel(TwFuture *future) {
  if (!future) return;
  future->isCanceled = true;
  gate().wake();
}

void twFutureFree(TwFuture *future) {
  if (!future) return;
  twFutureCancel(future);
  future->thread.join();
  twErrorFree(future->failure);
  delete future;
}

} // extern "C"
