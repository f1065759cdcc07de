// Measures the peaks of this machine's CPU, with which kernels are compared. Clocks, memory and other programs make them lower than a data
// sheet's.
#pragma once

#include <string>

namespace tilewright {

struct CpuPeaks {
  double bytesPerSecond = 0;       // of a copy that does not fit into the caches; bytes read and written
  double float32 = 0, float64 = 0; // operations per second of multiply-adds in registers: two each
  bool isDisturbed = false;        // other programs used a part of the CPUs meanwhile
};

/// Measures for about half a second, on all threads that launches use.
CpuPeaks measurePeaks();

/// Describes this CPU for launches: "znver5 avx512 2", with its level and its threads.
std::string cpuText();

} // namespace tilewright
