// A kernel prints each tile as a whole (codegen/tile_text), by one call of stdio, so that lines of concurrent programs do not mix.
// Compiled code calls once for each element, in order; the call for the last element prints the tile.
//
// After a failed assertion, a program must not continue to the memory access that the assertion guards. Compiled programs own no
// resources (locks, heap memory), so longjmp can end them. A run without failures only costs one setjmp.

#include "codegen/host_calls.h"

#include "codegen/tile_text.h"
#include "support/host_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>
#include <pthread.h>
#include <vector>

namespace tilewright {

namespace {
struct Guard {
  RunningLaunch *launch;
  std::jmp_buf leave;
};
} // namespace

/// The innermost guard of a thread. Signal handlers read it, so it is no thread_local variable: the first access to one may allocate
/// memory. (Access without a call, `initial-exec`, would take all of the library's thread-local memory, and LLVM's, from the little static
/// memory that a process has for libraries loaded later.) Reading a pthread key never allocates.
class CurrentGuard {
public:
  CurrentGuard() { isUsable = ::pthread_key_create(&key, nullptr) == 0; }
  Guard *get() const { return isUsable ? static_cast<Guard *>(::pthread_getspecific(key)) : nullptr; }
  void set(Guard *guard) const {
    if (isUsable) ::pthread_setspecific(key, guard);
  }

private:
  pthread_key_t key{};
  bool isUsable = false;
};
static const CurrentGuard current;

RunningLaunch *runningLaunch() {
  Guard *guard = current.get();
  return guard ? guard->launch : nullptr;
}

void leaveIfStopped(uintptr_t counter) {
  Guard *guard = current.get();
  if (!guard || !guard->launch->isStopped() || counter < guard->launch->codeBegin || counter >= guard->launch->codeEnd) return;
  guard->launch->interrupted.store(true);
  std::longjmp(guard->leave, 1);
}

bool runGuarded(RunningLaunch &launch, void (*run)(void *), void *data) {
  Guard guard{&launch, {}};
  Guard *volatile outer = current.get(); // read again after longjmp
  current.set(&guard);
  bool done = _setjmp(guard.leave) == 0;
  if (done) run(data);
  current.set(outer);
  return done;
}

/// `(  7, 12)`: each number is padded to the width of the largest one of its dimension. Advances `format` past the extents and their
/// semicolon.
static std::string indexText(llvm::StringRef &format, int64_t element) {
  llvm::SmallVector<int64_t> extents;
  auto [list, rest] = format.split(';');
  format = rest;
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    int64_t extent = 1;
    part.getAsInteger(10, extent);
    extents.push_back(extent);
  }
  llvm::SmallVector<std::string> numbers;
  for (int64_t extent : llvm::reverse(extents)) {
    std::string number = std::to_string(element % extent);
    element /= extent;
    size_t width = std::to_string(extent - 1).size();
    if (extent > 1 && number.size() < width) number.insert(0, width - number.size(), ' ');
    numbers.push_back(number);
  }
  std::reverse(numbers.begin(), numbers.end());
  std::string text = "(";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + numbers[i];
  return text + ")";
}

static std::string programText(int32_t x, int32_t y, int32_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

extern "C" {
static void tilewrightPrint(int32_t x, int32_t y, int32_t z, const char *given, int64_t element, uint64_t bits) {
  static thread_local std::vector<uint64_t> elements; // of the tile that this thread is printing
  if (element == 0) elements.clear();
  elements.push_back(bits);
  PrintFormat format = parsePrintFormat(given);
  if (int64_t(elements.size()) < format.count()) return;
  std::string line = programText(x, y, z) + format.prefix.str();
  if (format.kind != 'n') line += tileText(format, elements, line.size());
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

/// Also checks for an interruption: a kernel that prints endlessly spends nearly all its time here.
static void tilewrightPrintAndCheck(int32_t x, int32_t y, int32_t z, const char *given, int64_t element, uint64_t bits) {
  tilewrightPrint(x, y, z, given, element, bits);
  if (Guard *guard = current.get()) leaveIfStopped(guard->launch->codeBegin);
}

static void tilewrightAssertFailed(int32_t x, int32_t y, int32_t z, const char *given, int64_t element) {
  Guard *guard = current.get();
  if (!guard) return; // called by a program that loads kernels itself
  {
    llvm::StringRef format(given);
    bool tile = format.starts_with(",");
    std::string index = indexText(format, element);
    auto [place, message] = format.split('\n');
    std::lock_guard<std::mutex> lock(guard->launch->lock);
    if (!guard->launch->failed) {
      std::string &text = guard->launch->text;
      if (!place.empty()) text = place.str() + ": ";
      text += "program " + programText(x, y, z) + ": device-side assertion failed";
      if (tile) text += " at element " + index;
      if (!message.empty()) text += ": " + message.str();
      guard->launch->failed = true;
    }
  }
  std::longjmp(guard->leave, 1);
}
}

void *hostCall(llvm::StringRef name) {
  if (name == hostNames.print) return reinterpret_cast<void *>(tilewrightPrintAndCheck);
  if (name == hostNames.assertFailed) return reinterpret_cast<void *>(tilewrightAssertFailed);
  return nullptr;
}

} // namespace tilewright
