#include "tune/agreement.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace tilewright {

static bool works(const Measured &result) {
  return !result.milliseconds.empty();
}

/// The votes of each group. A set of constants whose configurations are in several groups divides its vote.
static std::map<size_t, double> votesOf(llvm::ArrayRef<Measured> results, llvm::ArrayRef<size_t> constants) {
  std::map<size_t, std::map<size_t, double>> byConstants; // configurations by their constants and group
  for (size_t i = 0; i < results.size(); ++i)
    if (works(results[i])) ++byConstants[constants.empty() ? i : constants[i]][results[i].group];
  std::map<size_t, double> votes;
  for (const auto &[constant, groups] : byConstants) {
    double count = 0;
    for (const auto &[group, configs] : groups)
      count += configs;
    for (const auto &[group, configs] : groups)
      votes[group] += configs / count;
  }
  return votes;
}

static size_t firstOfGroup(llvm::ArrayRef<Measured> results, size_t group) {
  auto isOfGroup = [&](const Measured &result) { return works(result) && result.group == group; };
  return static_cast<size_t>(llvm::find_if(results, isOfGroup) - results.begin());
}

/// The groups that the interpreter does not put out; all of them if none would be left.
static std::vector<size_t> confirmedGroups(llvm::ArrayRef<Measured> results, const std::map<size_t, double> &votes, const GroupCallbacks &callbacks) {
  std::vector<size_t> all, left;
  for (const auto &[group, vote] : votes) {
    std::optional<bool> isConfirmed = callbacks.isConfirmed ? callbacks.isConfirmed(firstOfGroup(results, group), group) : std::nullopt;
    all.push_back(group);
    if (isConfirmed.value_or(true)) left.push_back(group);
  }
  return left.empty() ? all : left;
}

Agreement agreementOf(llvm::ArrayRef<Measured> results, const GroupCallbacks &callbacks) {
  std::map<size_t, double> votes = votesOf(results, callbacks.constants);
  if (votes.empty()) return {};
  if (votes.size() == 1) return {Decision::agreed, votes.begin()->first};
  double all = 0;
  for (const auto &[group, vote] : votes)
    all += vote;
  constexpr double rounding = 1e-9; // of sums of thirds
  for (const auto &[group, vote] : votes)
    if (vote > all / 2 + rounding) return {Decision::majority, group};
  std::vector<size_t> left = confirmedGroups(results, votes, callbacks);
  if (left.size() == 1) return {Decision::interpreter, left.front()};
  for (size_t group : left) {
    auto isLess = [&](size_t other) { return other == group || callbacks.isIncomplete(other, group); };
    if (callbacks.isIncomplete && llvm::all_of(left, isLess)) return {Decision::coverage, group};
  }
  auto first = llvm::find_if(results, [&](const Measured &result) { return works(result) && llvm::is_contained(left, result.group); });
  return {Decision::none, first->group};
}

void rejectDisagreeing(llvm::ArrayRef<std::string> configs, const Agreement &agreement, const GroupCallbacks &callbacks,
                       std::vector<Measured> &results) {
  size_t right = firstOfGroup(results, agreement.right);
  std::vector<std::string> failures(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (works(results[i]) && results[i].group != agreement.right)
      failures[i] = otherResults(configs[i], configs[right], callbacks.difference(results[i].group, agreement.right));
  for (size_t i = 0; i < results.size(); ++i) {
    if (!failures[i].empty()) results[i] = {{}, std::move(failures[i])};
    results[i].group = 0;
  }
}

const char *decisionText(Decision decision) {
  switch (decision) {
  case Decision::agreed: return "";
  case Decision::majority: return "most configurations agree with each other, and not with this one; it is not chosen. Is a mask missing?";
  case Decision::interpreter: return "the interpreter finds other results than this configuration, or an error; it is not chosen";
  case Decision::coverage:
    return "this one leaves elements unwritten; it is not chosen. That is no proof, so the choice is not kept. A kernel whose scratch "
           "tensors differ by design sets TILEWRIGHT_CHECK_TUNING=0";
  case Decision::none:
    return "nothing shows which is right; the configuration that comes first is taken, and not kept. A kernel whose scratch tensors differ "
           "by design sets TILEWRIGHT_CHECK_TUNING=0";
  }
  return "";
}

static constexpr llvm::StringLiteral otherWords = " gives other results than ";

std::string otherResults(const std::string &config, const std::string &expected, const std::string &difference) {
  return "'" + config + "'" + otherWords.str() + "'" + expected + "': " + difference;
}

bool isOtherResults(llvm::StringRef failure) {
  return failure.contains(otherWords);
}

} // namespace tilewright
