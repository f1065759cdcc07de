// Which results are right, if the configurations of a kernel disagree. Configurations with equal results are one group
// (tune/result_check.h), and this is the order of the evidence:
//
//   majority      one group has more than half of the votes. Each set of constants has one vote: configurations that differ in warps alone
//                 share an algorithm, and its mistake.
//   interpreter   each group's first configuration runs on the reference interpreter. A group is out if the interpreter computes other
//                 results, or finds a race or a bad address; one group is left.
//   coverage      one group writes all that each of the other groups writes, and more. That is no proof, so the choice is not kept.
//   none          the first group is taken. That is no proof either.
#pragma once

#include "tune/store.h"

#include <functional>

namespace tilewright {

enum class Decision : uint8_t { agreed, majority, interpreter, coverage, none };

/// How an entry point compares groups of results.
struct GroupCallbacks {
  /// The worst difference between two groups, as text.
  std::function<std::string(size_t group, size_t expected)> difference;
  /// Whether `group` leaves elements unwritten that `other` writes, and writes no others.
  std::function<bool(size_t group, size_t other)> isIncomplete;
  /// Runs a configuration on the interpreter, which also looks for races and bad addresses: whether it finds the results of `group` and no
  /// error. Null if it cannot tell: the launch is too large, or on a GPU.
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

/// Turns the results of all groups but the right one into failures that name the configurations and the worst difference. The remaining
/// results are of group 0.
void rejectDisagreeing(llvm::ArrayRef<std::string> configs, const Agreement &agreement, const GroupCallbacks &callbacks,
                       std::vector<Measured> &results);

/// Whether the evidence is a proof, so that the choice may be kept.
inline bool isProven(Decision decision) {
  return decision <= Decision::interpreter;
}
/// A sentence for the user after the difference: what follows from the decision.
const char *decisionText(Decision decision);

/// The failure of a configuration whose results differ from those of `expected`; and whether a failure is of that kind.
std::string otherResults(const std::string &config, const std::string &expected, const std::string &difference);
bool isOtherResults(llvm::StringRef failure);

} // namespace tilewright
