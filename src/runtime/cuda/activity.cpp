// CUPTI numbers each call of the driver's interface. The record of a kernel has the number of its launch,
// and a separate record says which mark the thread had when it made a call. Both arrive in buffers, in
// any order, some time after the kernel: so they are combined when somebody asks, after a flush.

#include "runtime/cuda/activity.h"

#include "runtime/cuda/cupti.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <unordered_map>
#include <unordered_set>

namespace tilewright::gpu {

static constexpr size_t bufferBytes = 1 << 20, bufferAlignment = 8;
static constexpr cupti::Kind kinds[] = {cupti::Kind::externalCorrelation,
                                        cupti::Kind::driverCall,
                                        cupti::Kind::runtimeCall,
                                        cupti::Kind::kernel,
                                        cupti::Kind::copy,
                                        cupti::Kind::fill};

namespace {
struct Piece { // one kernel, copy or fill
  uint32_t correlation;
  uint64_t start, end;
};
/// What CUPTI has told so far.
struct Recording {
  std::mutex switching; // for starting and stopping
  int64_t users = 0;
  std::mutex lock; // guards what follows; never held while CUPTI is called, because CUPTI may hand over a buffer
  cupti::Subscriber subscriber = nullptr;
  int64_t toHostClock = 0; // nanoseconds to add to CUPTI's times
  uint64_t lastMark = 0;
  std::unordered_map<uint32_t, uint64_t> markOf; // by correlation
  std::vector<Piece> pieces;                     // those whose mark is not known yet
  std::unordered_map<uint64_t, ActivityTimes> times;
  std::unordered_set<uint64_t> unflushed; // marks that were left since the last flush
};
} // namespace

static Recording &recording() {
  static auto *state = new Recording; // CUPTI may call when main is over
  return *state;
}

// ---- the library

/// A library that is loaded already (PyTorch loads one) is preferred to the toolkit's: a process must have only one.
static void *openLibrary(std::string &why) {
  const char *named = std::getenv("TILEWRIGHT_LIBCUPTI");
  std::vector<std::string> paths = {"libcupti.so.13", "libcupti.so.12"};
  for (const char *folder : {"lib64", "lib", "extras/CUPTI/lib64"})
    paths.push_back(std::string("/usr/local/cuda/") + folder + "/libcupti.so");
  if (named && *named) paths = {named};
  for (const std::string &path : paths) {
    if (void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char *reason = ::dlerror();
    if (why.empty()) why = reason ? reason : path;
  }
  return nullptr;
}

namespace {
struct Opened {
  cupti::Library functions;
  std::string why; // why it cannot be used
};
} // namespace

static const Opened &library() {
  static const Opened *once = [] {
    auto *opened = new Opened;
    void *handle = openLibrary(opened->why);
    if (!handle) return opened;
    opened->why.clear();
#define CUPTI_FUNCTION(name, symbol, parameters)                                                                                           \
  opened->functions.name = reinterpret_cast<decltype(opened->functions.name)>(::dlsym(handle, symbol));                                    \
  if (!opened->functions.name && opened->why.empty()) opened->why = std::string("libcupti has no function ") + symbol;
    TILEWRIGHT_CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
    return opened;
  }();
  return *once;
}

static std::string describe(cupti::Status status) {
  if (status == cupti::otherSubscriber) return "another profiler has CUPTI";
  const char *text = nullptr;
  library().functions.errorText(status, &text);
  return text ? text : "error " + std::to_string(status);
}

// ---- records

static void giveBuffer(uint8_t **buffer, size_t *bytes, size_t *maxRecords) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(bufferAlignment, bufferBytes));
  *bytes = *buffer ? bufferBytes : 0;
  *maxRecords = 0; // no limit but the space
}

static void take(const cupti::Record *record, Recording &into) {
  switch (record->kind) {
  case cupti::Kind::externalCorrelation: {
    auto *found = reinterpret_cast<const cupti::CorrelationRecord *>(record);
    if (found->externalKind == cupti::ownCorrelation) into.markOf[found->correlation] = found->external;
    break;
  }
  case cupti::Kind::kernel: {
    auto *found = reinterpret_cast<const cupti::KernelRecord *>(record);
    into.pieces.push_back({found->correlation, found->start, found->end});
    break;
  }
  case cupti::Kind::copy:
  case cupti::Kind::fill: {
    auto *found = reinterpret_cast<const cupti::MemoryRecord *>(record);
    into.pieces.push_back({found->correlation, found->start, found->end});
    break;
  }
  default: break;
  }
}

static void takeBuffer(void *, uint32_t, uint8_t *buffer, size_t, size_t used) {
  Recording &into = recording();
  std::lock_guard<std::mutex> guard(into.lock);
  cupti::Record *record = nullptr;
  while (used > 0 && library().functions.nextRecord(buffer, used, &record) == cupti::success)
    take(record, into);
  std::free(buffer);
}

/// Assigns pieces to their marks. A piece that has no mark after a flush was launched outside all of them.
static void settle(Recording &state) {
  std::lock_guard<std::mutex> guard(state.lock);
  for (const Piece &piece : state.pieces) {
    auto mark = state.markOf.find(piece.correlation);
    if (mark == state.markOf.end() || piece.start == 0) continue; // 0: CUPTI had no memory for it
    int64_t begin = static_cast<int64_t>(piece.start) + state.toHostClock, end = static_cast<int64_t>(piece.end) + state.toHostClock;
    auto [found, isNew] = state.times.try_emplace(mark->second, ActivityTimes{begin, end, 0, 0});
    ActivityTimes &times = found->second;
    times.begin = std::min(times.begin, begin);
    times.end = std::max(times.end, end);
    times.busy += end - begin;
    ++times.count;
  }
  state.pieces.clear();
  state.markOf.clear();
  state.unflushed.clear();
}

// ---- the interface

static int64_t hostNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Null, or why CUPTI cannot be used.
static std::optional<std::string> begin(Recording &state) {
  const cupti::Library &functions = library().functions;
  // The subscriber owns CUPTI; the callback itself is never needed.
  auto nothing = [](void *, int32_t, uint32_t, const void *) {};
  cupti::Status status = functions.subscribe(&state.subscriber, nothing, nullptr);
  if (status != cupti::success) return describe(status);
  status = functions.registerBuffers(giveBuffer, takeBuffer);
  size_t enabled = 0;
  while (status == cupti::success && enabled < std::size(kinds)) {
    status = functions.enable(kinds[enabled]);
    enabled += status == cupti::success;
  }
  uint64_t now = 0;
  if (status == cupti::success) status = functions.timestamp(&now);
  state.toHostClock = hostNanoseconds() - static_cast<int64_t>(now);
  if (status == cupti::success) return std::nullopt;
  while (enabled > 0)
    functions.disable(kinds[--enabled]);
  functions.unsubscribe(state.subscriber);
  return describe(status);
}

std::optional<std::string> startActivities() {
  if (!library().why.empty()) return library().why;
  Recording &state = recording();
  std::lock_guard<std::mutex> guard(state.switching);
  if (state.users == 0)
    if (std::optional<std::string> why = begin(state)) return why;
  ++state.users;
  return std::nullopt;
}

void stopActivities() {
  Recording &state = recording();
  std::lock_guard<std::mutex> guard(state.switching);
  if (state.users == 0 || --state.users > 0) return;
  const cupti::Library &functions = library().functions;
  functions.flush(0);
  settle(state); // the times of what was recorded may still be asked for
  for (cupti::Kind kind : kinds)
    functions.disable(kind);
  functions.unsubscribe(state.subscriber);
}

uint64_t enterActivity() {
  Recording &state = recording();
  uint64_t mark = 0;
  {
    std::lock_guard<std::mutex> guard(state.lock);
    mark = ++state.lastMark;
  }
  if (library().why.empty()) library().functions.push(cupti::ownCorrelation, mark);
  return mark;
}

void leaveActivity(uint64_t mark) {
  if (!library().why.empty()) return;
  library().functions.pop(cupti::ownCorrelation, nullptr);
  Recording &state = recording();
  std::lock_guard<std::mutex> guard(state.lock);
  state.unflushed.insert(mark);
}

std::optional<ActivityTimes> activityTimes(uint64_t mark, const CudaDevice &device) {
  if (!library().why.empty()) return std::nullopt;
  Recording &state = recording();
  auto isFlushed = [&] {
    std::lock_guard<std::mutex> guard(state.lock);
    return !state.unflushed.contains(mark);
  };
  if (!isFlushed()) {
    ContextScope scope(device);
    device.driver->synchronizeContext();
    library().functions.flush(0);
    settle(state);
  }
  std::lock_guard<std::mutex> guard(state.lock);
  auto found = state.times.find(mark);
  if (found == state.times.end()) return std::nullopt;
  ActivityTimes times = found->second;
  state.times.erase(found);
  return times;
}

} // namespace tilewright::gpu
