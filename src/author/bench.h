// What a measurement says of a kernel: its time, beside its reference's and beside what the machine was measured to allow.
#pragma once

#include "author/noise.h"
#include "support/result.h"
#include "tune/machine_peaks.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::author {

/// What one call does.
struct Work {
  int64_t bytes = 0;     // of its tensors, each once
  double operations = 0; // on floats, and of products of any type; 0 where they cannot be counted
  bool hasProduct = false;
  std::string type = "float32"; // of its results
};

/// Which row of a roof says what is possible for work of this type. A type that has none is computed in float32.
std::string peakName(const MachinePeaks &peaks, const Work &work);

/// What a call that took so long shows to be possible, beyond the roof; without rates where it stayed below. What fits into caches
/// (`cacheBytes`) goes through the roof of memory, and says nothing about it.
MachinePeaks reachedBeyond(const MachinePeaks &peaks, const Work &work, double seconds, int64_t cacheBytes);

struct Measurement {
  std::vector<double> kernel, reference; // milliseconds of each call; no reference: none
  int64_t warmup = 0;
  Work work;
  MachinePeaks peaks;
  std::string machine; // whose roof it is

  double milliseconds() const { return medianOf(kernel); }
  double bytesPerSecond() const;
  double operationsPerSecond() const;
  double intensity() const; // operations a byte
  double peak() const;      // operations a second that the roof allows
  double memoryPeak() const;
  bool isBoundByMemory() const;
  /// The time that the roof allows, as a share of the one that it took. 0 where the roof is not known.
  double fractionOfPeak() const;

  /// With the names of `tilewright bench --json`.
  std::string json() const;
  /// Six lines for a person.
  std::string text() const;
  /// As a picture; nothing where there are no operations to draw.
  std::optional<std::string> roofline(const std::string &title) const;
};

/// The 20th and the 80th percentile; as the tuner takes them.
std::pair<double, double> spreadOf(std::vector<double> times);

/// Of two texts that Measurement::json wrote, which are called so in messages.
Result<Change> compareResults(const std::string &before, const std::string &after, const std::string &beforeName,
                              const std::string &afterName);

} // namespace tilewright::author
