// Ctrl-C while a kernel runs.
//
// Python's own handler of SIGINT only sets a flag. The interpreter's main thread reads it between two bytecode instructions, so not while
// the thread is in a kernel. A handler here therefore counts SIGINT before it calls Python's handler. A watcher thread, which is awake only
// while kernels are launched, checks every 50 ms. If SIGINT has come and the main thread is in the same launch as at the last check, the
// watcher stops the launch (runtime/signals.h), and Python's handler runs.
//
//   main thread     epoch 5 ....................................... epoch 6, KeyboardInterrupt
//   SIGINT                          count 1 -> Python's handler
//   watcher              epoch 5?           epoch 5, count 1: stop
//
// This costs a launch two writes to its own memory. If the program has its own handler for SIGINT, which may not raise
// (asyncio's, for instance), the first SIGINT does not stop the launch, as in any call into C. A second one stops it.

#include "gil.h"

#include "core.h"
#include "runtime/signals.h"

#include <chrono>
#include <linux/membarrier.h>
#include <mutex>
#include <signal.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace tilewright::python {

namespace {

std::atomic<int64_t> interrupts{0}; // SIGINTs so far
struct sigaction beforeInterrupt;

void countInterrupt(int number, siginfo_t *info, void *context) {
  interrupts.fetch_add(1);
  if (beforeInterrupt.sa_flags & SA_SIGINFO) return beforeInterrupt.sa_sigaction(number, info, context);
  beforeInterrupt.sa_handler(number);
}

/// Puts the counter before the present handler. Without a handler, the process ends or ignores the signal, as before.
void hookInterrupt() {
  struct sigaction found = {};
  ::sigaction(SIGINT, nullptr, &found);
  if (found.sa_handler == SIG_DFL || found.sa_handler == SIG_IGN) return;
  if ((found.sa_flags & SA_SIGINFO) && found.sa_sigaction == countInterrupt) return;
  // Python sets its own handler again at signal.signal(). Other handlers may call ours, so ours must not call them.
  static bool hooked = false;
  if (hooked && found.sa_handler != beforeInterrupt.sa_handler) return;
  hooked = true;
  beforeInterrupt = found;
  struct sigaction action = found;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = countInterrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

/// Whether SIGINT raises KeyboardInterrupt, as it does unless the program changes that.
bool raisesByItself() {
  WithGil gil;
  try {
    nb::module_ signals = nb::module_::import_("signal");
    return signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"));
  } catch (nb::python_error &error) {
    return false;
  }
}

bool isPythonsMainThread() {
  nb::object main = nb::module_::import_("threading").attr("main_thread")();
  return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

} // namespace

/// Watches the launches of Python's main thread.
///
/// Both sides write a word and then read the other's; one of them must see the other's write. The watcher
/// issues the fence between the two (membarrier) where the system can do that, so that launches need none.
class Watcher {
public:
  bool isBusy() const { return epoch.load(std::memory_order_relaxed) % 2 == 1; }

  void begin(Interruptible &launch) {
    current.store(&launch, std::memory_order_relaxed);
    countBefore.store(interrupts.load(std::memory_order_relaxed), std::memory_order_relaxed);
    nextEpoch();
    if (asleep.load(std::memory_order_relaxed)) rouse();
  }

  void end() {
    nextEpoch();
    if (stopping.load(std::memory_order_relaxed)) std::lock_guard<std::mutex> wait(lock);
  }

private:
  void nextEpoch() {
    epoch.store(epoch.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (fencesHere.load(std::memory_order_relaxed))
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  void fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!fencesHere.load(std::memory_order_relaxed)) ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }

  void rouse() {
    std::lock_guard<std::mutex> guard(lock);
    hookInterrupt();
    caller = pthread_self();
    asleep.store(false);
    if (!started) {
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      auto run = [](void *self) -> void * {
        static_cast<Watcher *>(self)->watch();
        return nullptr;
      };
      pthread_t thread;
      started = pthread_create(&thread, nullptr, run, this) == 0;
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (started) pthread_detach(thread);
    }
    if (!started) asleep.store(true); // Ctrl-C waits for the end of this launch; the next one tries again
    wake.fetch_add(1);
    wake.notify_one();
  }

  void watch() {
    // In a process of several threads the system takes 10 to 70 ms for this: the first launch does not wait for it, and fences itself.
    fencesHere.store(::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0);
    uint64_t last = 0;
    int64_t idle = 0;
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      uint64_t now = epoch.load();
      idle = now == last && now % 2 == 0 ? idle + 1 : 0;
      if (now == last && now % 2 == 1) attend(now);
      if (idle >= 20) {
        sleepUntilLaunch(now);
        idle = 0;
      }
      last = now;
    }
  }

  void sleepUntilLaunch(uint64_t now) {
    uint32_t seen = wake.load();
    asleep.store(true);
    fence();
    if (epoch.load() == now)
      wake.wait(seen);
    else
      asleep.store(false);
  }

  /// Handles a launch that lasts longer than one check: stops it if SIGINT has come.
  void attend(uint64_t now) {
    hookInterrupt(); // the program may have set a handler in the meantime
    int64_t count = interrupts.load() - countBefore.load();
    if (count <= 0 || (count == 1 && !raisesByItself())) return;
    while (stop(now))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  bool stop(uint64_t now) {
    std::lock_guard<std::mutex> guard(lock);
    stopping.store(true);
    fence();
    bool same = epoch.load() == now;
    if (same) {
      current.load()->stopped.store(true);
      stopPrograms(caller);
    }
    stopping.store(false);
    return same;
  }

  alignas(64) std::atomic<uint64_t> epoch{0}; // odd while the main thread is in a launch
  std::atomic<Interruptible *> current{nullptr};
  std::atomic<int64_t> countBefore{0};
  alignas(64) std::atomic<bool> asleep{true};
  std::atomic<bool> stopping{false}, fencesHere{true};
  std::atomic<uint32_t> wake{0};
  std::mutex lock;
  bool started = false;
  pthread_t caller{};
};
static constinit Watcher watcher;

/// Asked for once in each thread, and again in a child: its main thread is the one that forked.
static bool isMainThread() {
  static constinit std::atomic<uint32_t> forks{0};
  struct Answer {
    uint32_t asked = UINT32_MAX;
    bool isMain = false;
  };
  static constinit thread_local Answer answer;
  if (uint32_t now = forks.load(std::memory_order_relaxed); answer.asked != now) {
    static std::once_flag registered;
    std::call_once(registered, [] {
      pthread_atfork(nullptr, nullptr, [] {
        forks.fetch_add(1);
        new (&watcher) Watcher; // the child does not have its thread, and its lock may be held
      });
    });
    answer = {now, isPythonsMainThread()};
  }
  return answer.isMain;
}

Interruptible::Interruptible() {
  if (!isMainThread() || watcher.isBusy()) return;
  active = true;
  watcher.begin(*this);
  // Signals that came earlier, while the kernel was compiled, do not count for this launch.
  if (PyErr_CheckSignals() == 0) return;
  watcher.end();
  throw nb::python_error();
}

Interruptible::~Interruptible() {
  if (active) watcher.end();
}

void raiseInterrupt(const std::string &message) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  raise(PyExc_KeyboardInterrupt, message);
}

} // namespace tilewright::python
