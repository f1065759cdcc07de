// What tuning has found, kept between processes: in the cache folder, and in files that people take from machine to machine.
//
// An entry belongs to a problem and to the list of configurations that were measured, so that a kernel with another list is measured. It
// does not belong to a build of the compiler: the command line, a C++ program and Python are different builds, and share what they find.
#pragma once

#include "support/result.h"
#include "tune/problem.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The result of one configuration.
struct Measured {
  /// The median, then what decides between equal medians (the 20th and the 80th percentile), in milliseconds. Empty: it failed.
  std::vector<double> milliseconds;
  std::string failure = {}; // why
  size_t group = 0;         // of configurations whose results are equal (tune/result_check.h), while a search goes on
};

/// What was measured for a problem.
struct TunedEntry {
  TuneProblem problem;
  std::vector<std::string> configs; // configText of each
  std::vector<Measured> results;    // of each
  size_t best = 0;
};

/// The name of its entry in the cache folder.
std::string tunedKey(const TuneProblem &problem, llvm::ArrayRef<std::string> configs);
/// The entry of the cache folder, or nothing. A damaged one is removed and reported as a warning.
std::optional<TunedEntry> loadTuned(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, Diagnostics &diagnostics);
void storeTuned(const TunedEntry &entry, Diagnostics &diagnostics);
/// All entries of the cache folder, by kernel and key.
std::vector<TunedEntry> allTuned(Diagnostics &diagnostics);

/// One result as JSON, and back; null if the text is none.
std::string measuredText(const Measured &result);
std::optional<Measured> readMeasured(const std::string &text);

/// A file of entries, as JSON.
std::string tunedText(llvm::ArrayRef<TunedEntry> entries);
Result<std::vector<TunedEntry>> readTunedFile(const std::string &path);

/// The configuration that the file named by TILEWRIGHT_TUNED wants for a problem. A file that cannot
/// be read is reported once, as a warning, and so is a configuration that is none of `configs`.
std::optional<size_t> pinnedConfig(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, Diagnostics &diagnostics);

} // namespace tilewright
