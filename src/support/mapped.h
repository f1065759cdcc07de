// Tests whether memory is mapped, for accesses through pointers whose tensor is not known.
#pragma once

#include <cstdint>

namespace tilewright {

/// True if all bytes of [address, address + bytes) are in pages of this process. It is a system call, so callers cache the result.
bool isMapped(uint64_t address, int64_t bytes);

} // namespace tilewright
