#include "support/memory_map.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tilewright {

std::optional<MemoryMap> MemoryMap::ofProcess() {
  std::FILE *file = std::fopen("/proc/self/maps", "re");
  if (!file) return std::nullopt;
  MemoryMap map;
  char line[512], permissions[8];
  bool isStart = true; // a path may be longer than the buffer
  while (std::fgets(line, sizeof line, file)) {
    unsigned long begin = 0, end = 0;
    if (isStart && std::sscanf(line, "%lx-%lx %7s", &begin, &end, permissions) == 3)
      map.mappings.push_back({begin, end, permissions[0] == 'r', permissions[1] == 'w'});
    isStart = std::strchr(line, '\n') != nullptr;
  }
  std::fclose(file);
  return map;
}

std::string MemoryMap::problemOf(uint64_t begin, uint64_t end, bool isWritten) const {
  auto mapping = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping &each) { return begin < each.end; });
  for (uint64_t at = begin; at < end; ++mapping) {
    char address[32];
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(at));
    if (mapping == mappings.end() || at < mapping->begin) return std::string("no memory is mapped at ") + address;
    if (!mapping->isReadable) return std::string("the memory at ") + address + " cannot be read";
    if (isWritten && !mapping->isWritable)
      return std::string("the memory at ") + address + " cannot be written, and the kernel writes to it";
    at = mapping->end;
  }
  return "";
}

} // namespace tilewright
