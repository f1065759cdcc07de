// The most that a machine can do: the roof above a kernel. It is measured where the machine
// is this one; for a GPU that is not here it comes from data sheets (gpu_peaks.def).
#pragma once

#include "support/diagnostics.h"
#include "support/target.h"

#include <map>
#include <string>
#include <string_view>

namespace tilewright {

struct Peaks {
  std::string machine;                                 // "znver5 avx512 2"
  std::string source;                                  // "measured", "data sheet"
  int64_t workers = 1;                                 // cores that launches use, or multiprocessors
  double bytes = 0;                                    // a second, to and from memory
  double arithmetic = 0;                               // operations a second of float32, a multiply-add as two
  std::map<std::string, double, std::less<>> products; // the same of products, by the type of their operands: "float16"

  // The part of these rates that lasts. A measurement already includes that; a chip whose tensor cores are busy
  // stays below a data sheet's rate, because its power limits the clock, and because memory must be refreshed.
  double lastingProducts = 1, lastingBytes = 1;

  /// For products of this type; types without a row are computed as float32.
  double dotOperations(std::string_view type) const;
};

/// For this processor and code for `target`: from the cache folder, or measured now (half a second) and kept there.
Peaks cpuPeaks(const CpuTarget &target, Diagnostics &diagnostics);
/// For a GPU that this code is made for: the one in this machine, if `tilewright bench` has measured it, otherwise a data sheet's.
Peaks gpuPeaks(const GpuTarget &target, Diagnostics &diagnostics);

} // namespace tilewright
