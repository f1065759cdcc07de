// The best that this machine's processor reaches, measured: the roof that a kernel is compared
// with. A data sheet says what is possible; clocks, memory and neighbours decide what happens.
#pragma once

#include <string>

namespace tilewright {

struct CpuPeaks {
  double bytesPerSecond = 0;       // of a copy that no cache holds; bytes read and bytes written
  double float32 = 0, float64 = 0; // operations a second of multiply and add in registers: two each
  bool isDisturbed = false;        // other programs used a part of the processors meanwhile
};

/// Takes about half a second, on all threads that launches use.
CpuPeaks measurePeaks();

/// What this processor means to launches, in words: "znver5 avx512 2", with its level and its threads.
std::string cpuText();

} // namespace tilewright
