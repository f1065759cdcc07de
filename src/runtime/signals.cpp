// Compiled programs own no lock, heap memory or file. So a thread may leave one at any instruction, and a signal that takes a launch's
// threads out of the kernel's code ends the launch. This costs nothing unless a launch is interrupted. The signal is SIGURG, whose default
// action is to ignore it: a late one does no harm.
//
// Handlers call only async-signal-safe functions: no allocation, no lock, no stdio.

#include "runtime/signals.h"

#include "codegen/host_calls.h"
#include "runtime/pool.h"

#include <cstring>
#include <initializer_list>
#include <mutex>
#include <signal.h>
#include <sys/ucontext.h>
#include <unistd.h>

namespace tilewright {
namespace {

/// Text of bounded length, built without allocating.
class Message {
public:
  Message &operator<<(llvm::StringRef text) {
    size_t count = std::min(text.size(), sizeof(bytes) - size);
    std::memcpy(bytes + size, text.data(), count);
    size += count;
    return *this;
  }
  Message &number(uint64_t value, uint64_t base) {
    char digits[24];
    size_t at = sizeof(digits);
    do
      digits[--at] = "0123456789abcdef"[value % base];
    while (value /= base);
    return *this << llvm::StringRef(digits + at, sizeof(digits) - at);
  }
  void write() const {
    size_t done = 0;
    for (ssize_t count = 1; done < size && count > 0; done += static_cast<size_t>(count))
      if ((count = ::write(STDERR_FILENO, bytes + done, size - done)) < 0) return;
  }

private:
  char bytes[1024];
  size_t size = 0;
};

/// Prints the argument nearest to an address, by the begin of its memory.
void printNearest(const RunningLaunch &launch, uint64_t address) {
  size_t nearest = launch.slots.size();
  uint64_t minDistance = UINT64_MAX;
  for (size_t i = 0; i < launch.slots.size() && i < launch.kinds.size(); ++i) {
    uint64_t start = launch.slots[i], distance = start < address ? address - start : start - address;
    if (launch.kinds[i] != SlotKind::pointer || distance >= minDistance) continue;
    minDistance = distance;
    nearest = i;
  }
  if (nearest >= launch.names.size()) return;
  llvm::StringRef name = launch.names[nearest];
  Message message;
  message << "  The nearest argument is '" << name.take_front(name.find('=')) << "': the address is ";
  message.number(minDistance, 10) << " bytes " << (launch.slots[nearest] <= address ? "after" : "before") << " its start.\n";
  message.write();
}

void explain(const RunningLaunch &launch, int number, const siginfo_t &info) {
  static std::atomic<bool> isReported{false};
  if (isReported.exchange(true)) return; // other threads usually have the same fault
  Message message;
  message << "\ntilewright: kernel '" << launch.kernel << "' used ";
  // The CPU does not report non-canonical addresses, and a forwarded signal has lost its address.
  bool known = info.si_code > 0 && info.si_addr;
  uint64_t address = reinterpret_cast<uint64_t>(info.si_addr);
  if (known)
    (message << "the address 0x").number(address, 16);
  else
    message << "an address";
  message << " that it may not use (" << (number == SIGSEGV ? "SIGSEGV" : "SIGBUS") << ").\n";
  message << "  To find the line: with tilewright.engine(\"interpret\", check_bounds=True): ... in Python, or tilewright run --sanitize.\n";
  message.write();
  // Printed last, because a kernel that overwrites memory may have overwritten the names as well.
  if (known) printNearest(launch, address);
}

struct sigaction beforeSegv, beforeBus, beforeUrg;

/// Does what would happen without this handler.
void passOn(const struct sigaction &before, int number, siginfo_t *info, void *context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  // The instruction is repeated and fails again; a signal that was sent is sent again.
  ::sigaction(number, &before, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

void onBadAddress(int number, siginfo_t *info, void *context) {
  // faulthandler raises the signal again for the previous handler.
  bool raised = info->si_code == SI_TKILL && info->si_pid == ::getpid();
  if (const RunningLaunch *launch = runningLaunch(); launch && (info->si_code > 0 || raised)) explain(*launch, number, *info);
  passOn(number == SIGSEGV ? beforeSegv : beforeBus, number, info, context);
}

uintptr_t counterOf(void *context) {
  [[maybe_unused]] const mcontext_t &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(machine.pc);
#else
  return 0; // programs end on their caller's thread
#endif
}

void onStop(int number, siginfo_t *info, void *context) {
  leaveIfStopped(counterOf(context));
  bool handled = (beforeUrg.sa_flags & SA_SIGINFO) || (beforeUrg.sa_handler != SIG_DFL && beforeUrg.sa_handler != SIG_IGN);
  if (handled && info->si_code != SI_TKILL) passOn(beforeUrg, number, info, context);
}

void install(int number, void (*handler)(int, siginfo_t *, void *), int flags, struct sigaction &before) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, &before);
}

} // namespace

void reportBadAddresses() {
  static std::once_flag once;
  std::call_once(once, [] {
    install(SIGSEGV, onBadAddress, SA_ONSTACK, beforeSegv);
    install(SIGBUS, onBadAddress, SA_ONSTACK, beforeBus);
  });
}

void stopPrograms(pthread_t caller) {
  static std::once_flag once;
  // Not blocked during its handler, because the handler does not always return.
  std::call_once(once, [] { install(SIGURG, onStop, SA_NODEFER | SA_RESTART, beforeUrg); });
  pthread_kill(caller, SIGURG);
  signalWorkers(SIGURG);
}

} // namespace tilewright
