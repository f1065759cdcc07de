#include "runtime/write_watch.h"

#include <cstring>
#include <utility>

namespace tilewright {

WriteWatch::WriteWatch(const char *address, size_t bytes) : address(address), before(address, address + bytes) {}

void WriteWatch::check(std::string_view kernel, const int32_t grid[3], int64_t program) {
  if (std::memcmp(address, before.data(), before.size()) == 0) return;
  std::memcpy(before.data(), address, before.size());
  // The first axis changes fastest.
  int64_t x = grid[0], y = grid[1];
  writer = Writer{std::string(kernel), {program % x, program / x % y, program / x / y}};
}

static thread_local std::optional<WriteWatch> watched;

WriteWatch *watchedWrites() {
  return watched ? &*watched : nullptr;
}

void watchWrites(std::optional<WriteWatch> watch) {
  watched = std::move(watch);
}

} // namespace tilewright
