// What this machine's processor reaches at best, measured: the roof that a kernel is held against. A data sheet says what could be; clocks,
// memory and neighbours decide what is.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

struct Roof {
  double bytesPerSecond = 0;       // of a copy that no cache holds; bytes read and bytes written
  double float32 = 0, float64 = 0; // operations a second of multiply and add in registers: two each
};

/// Takes about half a second, on all threads that launches use.
Roof measureRoof();

/// What this processor is to launches, in words: "znver5 avx512 2", with its level and the threads.
std::string processorText();
/// The key in the cache folder (runtime/cache.h) of what a machine was measured to do: JSON, {"bytes_per_second": ..., "float32": ...}. Of
/// a GPU it also has the rates of products by type, which PyTorch's measure (python/tilewright/_author/roof.py).
std::string roofKey(std::string_view machine);

} // namespace tilewright
