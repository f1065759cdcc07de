// The peaks of a machine, which limit a kernel. They are measured on this machine; for other GPUs they come from data sheets
// (gpu_peaks.def).
#pragma once

#include "support/diagnostics.h"
#include "support/target.h"

#include <map>
#include <string>
#include <string_view>

namespace tilewright {

struct Peaks {
  std::string machine;                             // "znver5 avx512 2"
  std::string source;                              // "measured", "data sheet"
  int64_t workers = 1;                             // cores that launches use, or SMs
  double bytes = 0;                                // per second, to and from memory
  double arithmetic = 0;                           // operations per second of float32; a multiply-add counts as two
  std::map<std::string, double, std::less<>> dots; // the same for dots, by the type of their operands: "float16"

  // The sustained fraction of these rates. A measurement already includes it. A GPU with busy tensor cores stays below the data sheet's
  // rate, because its power limits the clock, and because memory must be refreshed.
  double sustainedDots = 1, sustainedBytes = 1;

  /// Returns the rate of dots of this type; a type without a row is computed as float32.
  double dotOperationsPerSecond(std::string_view type) const;
};

/// Returns the peaks of this CPU for code for `target`: from the cache folder, or measured now (half a second) and stored there.
Peaks cpuPeaks(const CpuTarget &target, Diagnostics &diagnostics);
/// Returns the peaks of a GPU: those of this machine's GPU, if `tilewright bench` has measured it, otherwise a data sheet's.
Peaks gpuPeaks(const GpuTarget &target, Diagnostics &diagnostics);

} // namespace tilewright
