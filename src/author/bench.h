// The measurement of a kernel: its time, compared with its reference's and with the machine's peaks.
#pragma once

#include "author/noise.h"
#include "support/result.h"
#include "support/statistics.h"
#include "tune/machine_peaks.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::author {

/// The work of one call.
struct Work {
  int64_t bytes = 0;     // of its tensors, each counted once
  double operations = 0; // on floats, and of dots of any type; 0 if they cannot be counted
  bool hasDot = false;
  std::string type = "float32"; // of its results
};

/// Returns the name of the peak for work of this type. A type without one is computed in float32.
std::string peakName(const MachinePeaks &peaks, const Work &work);

/// Returns the rates of a call that exceed the peaks, or no rates. A working set that fits into the caches (`cacheBytes`) may exceed the
/// memory peak, so it does not raise it.
MachinePeaks reachedBeyond(const MachinePeaks &peaks, const Work &work, double seconds, int64_t cacheBytes);

struct Measurement {
  std::vector<double> kernel, reference; // milliseconds of each call; empty without a reference
  int64_t warmup = 0;
  Work work;
  MachinePeaks peaks;
  std::string machine; // whose peaks these are

  double milliseconds() const { return medianOf(kernel); }
  double bytesPerSecond() const;
  double operationsPerSecond() const;
  double intensity() const; // operations per byte
  double peak() const;      // operations per second that the roofline allows
  double memoryPeak() const;
  bool isBoundByMemory() const;
  /// Returns the time at the roofline divided by the measured time. 0 if the peaks are not known.
  double fractionOfPeak() const;

  /// Returns the measurement as `tilewright bench --json` prints it.
  std::string json() const;
  /// Returns the measurement as six lines of text.
  std::string text() const;
  /// Returns the measurement as an SVG chart; nothing if no operations are known.
  std::optional<std::string> roofline(const std::string &title) const;
};

/// Returns the 20th and the 80th percentile, as the tuner reports them.
std::pair<double, double> spreadOf(std::vector<double> times);

/// Compares two texts of Measurement::json. Messages call them by these names.
Result<Change> compareResults(const std::string &before, const std::string &after, const std::string &beforeName,
                              const std::string &afterName);

} // namespace tilewright::author
