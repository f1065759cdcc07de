#include "support/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tilewright {

bool isMapped(uint64_t address, int64_t bytes) {
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t begin = address / page * page, length = address + static_cast<uint64_t>(bytes) - begin;
  return ::msync(reinterpret_cast<void *>(begin), length, MS_ASYNC) == 0; // MS_ASYNC only checks: ENOMEM if a page is missing
}

} // namespace tilewright
