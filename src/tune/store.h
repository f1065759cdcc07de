// Stores tuning results between processes: in the cache folder, and in files that users copy from machine to machine.
//
// An entry belongs to a problem and to the list of measured configurations, so a kernel with another list is measured again. It does not
// belong to a build of the compiler: the command line, a C++ program and Python share their results.
#pragma once

#include "support/result.h"
#include "tune/problem.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The result of one configuration.
struct Measured {
  /// The median, the 20th and the 80th percentile, in milliseconds. The percentiles decide between equal medians. Empty: it failed.
  std::vector<double> milliseconds;
  std::string failure = {}; // the reason
  size_t group = 0;         // of configurations whose results are equal (tune/result_check.h), during a search
};

/// The measurements of a problem.
struct TunedEntry {
  TuneProblem problem;
  std::vector<std::string> configs; // configText of each
  std::vector<Measured> results;    // of each
  size_t best = 0;
};

/// Returns the name of an entry in the cache folder.
std::string tunedKey(const TuneProblem &problem, llvm::ArrayRef<std::string> configs);
/// Loads an entry of the cache folder, if there is one. A damaged one is removed and reported as a warning.
std::optional<TunedEntry> loadTuned(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, Diagnostics &diagnostics);
void storeTuned(const TunedEntry &entry, Diagnostics &diagnostics);
/// Returns all entries of the cache folder, by kernel and key.
std::vector<TunedEntry> allTuned(Diagnostics &diagnostics);

/// Converts one result to JSON, and back; null if the text is not a result.
std::string measuredText(const Measured &result);
std::optional<Measured> readMeasured(const std::string &text);

/// Converts a file of entries to JSON, and back.
std::string tunedText(llvm::ArrayRef<TunedEntry> entries);
Result<std::vector<TunedEntry>> readTunedFile(const std::string &path);

/// Returns the configuration that the file named by TILEWRIGHT_TUNED gives for a problem. A file that cannot be read is reported once, as a
/// warning; so is a configuration that is not in `configs`.
std::optional<size_t> pinnedConfig(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, Diagnostics &diagnostics);

} // namespace tilewright
