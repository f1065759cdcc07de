// Decides which results are right, if the configurations of a kernel disagree. Configurations with equal results are one group
// (tune/result_check.h), and the evidence is used in this order:
//
//   majority      one group has more than half of the votes. Each set of constants has one vote: configurations that differ only in warps
//                 share an algorithm, and its mistakes.
//   interpreter   each group's first configuration runs on the reference interpreter. A group is rejected if the interpreter computes other
//                 results, or finds a race or a bad address. It decides if one group remains.
//   coverage      one group writes all that each other group writes, and more. That is not a proof, so the choice is not stored.
//   none          the first group is chosen. That is not a proof either.
#pragma once

#include "tune/store.h"

#include <functional>

namespace tilewright {

enum class Decision : uint8_t { agreed, majority, interpreter, coverage, none };

/// Callbacks of an entry point to compare groups of results.
struct GroupCallbacks {
  /// Returns the worst difference between two groups, as text.
  std::function<std::string(size_t group, size_t expected)> difference;
  /// True if `group` leaves elements unwritten that `other` writes, and writes no others.
  std::function<bool(size_t group, size_t other)> isIncomplete;
  /// Runs a configuration on the interpreter, which also checks for races and bad addresses. True if its results are those of `group`,
  /// without an error. Null if it cannot run: the launch is too large, or on a GPU.
  std::function<std::optional<bool>(size_t config, size_t group)> isConfirmed;
  /// For each configuration, the first one with the same constants (sameConstants). Empty: all differ.
  std::vector<size_t> constants;
};

/// The group of the right results, and the evidence.
struct Agreement {
  Decision decision = Decision::agreed;
  size_t right = 0;
};
Agreement agreementOf(llvm::ArrayRef<Measured> results, const GroupCallbacks &callbacks);

/// Replaces the results of all groups but the right one with failures, which name the configurations and the worst difference. The
/// remaining results are of group 0.
void rejectDisagreeing(llvm::ArrayRef<std::string> configs, const Agreement &agreement, const GroupCallbacks &callbacks,
                       std::vector<Measured> &results);

/// True if the evidence is a proof, so the choice may be stored.
inline bool isProven(Decision decision) {
  return decision <= Decision::interpreter;
}
/// Returns a sentence that follows the difference in messages: the consequence of the decision.
const char *decisionText(Decision decision);

/// Builds the failure of a configuration whose results differ from those of `expected`; tests whether a failure is of that kind.
std::string otherResults(const std::string &config, const std::string &expected, const std::string &difference);
bool isOtherResults(llvm::StringRef failure);

} // namespace tilewright
