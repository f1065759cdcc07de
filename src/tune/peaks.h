// What a machine does at most: the roof above a kernel. Measured where the machine is this one, from data sheets (gpu_peaks.def) for a GPU
// that is not here.
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

  // What of these rates lasts. A measurement has seen that; of a data sheet's, a chip whose tensor cores are busy gives less at the clock
  // that its power allows, and memory has to be refreshed.
  double lastingProducts = 1, lastingBytes = 1;

  /// Of products of this type; those without a row are computed as float32.
  double productsOf(std::string_view type) const;
};

/// Of this processor, for code of `target`, from the cache folder, or measured now (half a second) and kept there.
Peaks cpuPeaks(const CpuTarget &target, Diagnostics &diagnostics);
/// Of a GPU for which this code is made: the one that is here, if `tilewright bench` has measured it, else a data sheet's.
Peaks gpuPeaks(const GpuTarget &target, Diagnostics &diagnostics);

} // namespace tilewright
