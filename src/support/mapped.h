// Whether memory is there: for accesses through pointers whose tensor is not known.
#pragma once

#include <cstdint>

namespace tilewright {

/// Whether all bytes of [address, address + bytes) lie in pages of this process. Asks the system, so callers keep the answer.
bool isMapped(uint64_t address, int64_t bytes);

} // namespace tilewright
