// The memory of this process as the system lists it (/proc/self/maps): which exists, and which of it may be written.
//
// Reading the list changes nothing, needs no signal handler and no right to trace processes, and sees protected pages. It takes about as
// long as a few hundred mappings are many microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

class MemoryMap {
public:
  /// Reads the list; nothing if the system does not give it.
  static std::optional<MemoryMap> ofProcess();
  /// Returns what is wrong with the memory [begin, end) for a kernel that reads it, and writes it if `isWritten`, or an empty text.
  std::string problemOf(uint64_t begin, uint64_t end, bool isWritten) const;

private:
  struct Mapping {
    uint64_t begin, end;
    bool isReadable, isWritable;
  };
  std::vector<Mapping> mappings; // in order of address
};

} // namespace tilewright
