#include "author/verifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace tilewright::author {

/// Limit of the elements that the interpreter computes for a variant: less than a second.
static constexpr int64_t workToCheck = int64_t(1) << 23;
static constexpr size_t maxShown = 8; // elements that a list shows

static std::string countText(const std::optional<std::vector<VerifiedValue>> &results) {
  if (!results) return "nothing";
  return std::to_string(results->size()) + (results->size() == 1 ? " result" : " results");
}

/// True if both have one type and shape. `mayBeExact`: a reference in float64 may check floats of any type.
static bool areComparable(const VerifiedValue &result, const VerifiedValue &expected, bool mayBeExact) {
  if (!result.hasShape || !expected.hasShape) return result.type == expected.type;
  bool isMoreExact = mayBeExact && expected.type == "float64" && result.isFloat;
  return result.shape == expected.shape && (isMoreExact || result.type == expected.type);
}

namespace {

/// Verifies one variant.
class VariantVerifier {
public:
  VariantVerifier(const Variant &variant, const std::vector<VerifiedValue> &given, const VerifierOptions &options,
                  const VerifierCallbacks &callbacks)
      : variant(variant), given(given), options(options), callbacks(callbacks) {}

  /// Returns nothing if a callback ended it, or, with `failure` set, if there is nothing to compare with.
  std::optional<VerifyResult> verify(std::string &failure) {
    std::optional<VerifiedRun> reference = callbacks.run(/*isReference=*/true, 0);
    if (!reference) return std::nullopt;
    if (reference->raised) {
      std::string reason = callbacks.reference + " " + callbacks.raises + " " + *reference->raised;
      if (variant.kind != VariantKind::given) return makeResult(Outcome::skipped, reason);
      failure = std::move(reason);
      return std::nullopt;
    }
    std::vector<VerifiedRun> runs;
    for (size_t pattern = 0; pattern < std::size(patterns); ++pattern) {
      std::optional<VerifiedRun> run = callbacks.run(/*isReference=*/false, pattern);
      if (!run) return std::nullopt;
      Outcome outcome = variant.kind == VariantKind::given ? Outcome::wrong : Outcome::refused;
      if (run->raised) return makeResult(outcome, callbacks.kernel + " " + callbacks.raises + " " + *run->raised);
      runs.push_back(std::move(*run));
    }
    if (std::string mismatch = mismatchOf(runs[0], *reference); !mismatch.empty()) return makeResult(Outcome::wrong, mismatch);
    return compareAll(runs, *reference);
  }

private:
  VerifyResult makeResult(Outcome outcome, std::string details, std::vector<Output> outputs = {}) const {
    VerifyResult made{variant.name, variant.kind, outcome, {}, std::move(details), std::move(outputs)};
    for (const VerifiedValue &input : given)
      made.inputs.push_back(input.text);
    return made;
  }

  /// Returns the reason why results cannot be compared, or an empty text.
  std::string mismatchOf(const VerifiedRun &run, const VerifiedRun &reference) const {
    bool isOther = run.results.has_value() != reference.results.has_value();
    if (isOther || (run.results && run.results->size() != reference.results->size()))
      return callbacks.kernel + " returns " + countText(run.results) + ", and " + callbacks.reference + " " +
             onlyCount(reference.results, isOther);
    if (!run.results) return "";
    bool mayBeExact = llvm::none_of(run.inputs, [](const VerifiedValue &input) { return input.isTensor && input.type == "float64"; });
    for (auto [result, expected] : llvm::zip(*run.results, *reference.results))
      if (!areComparable(result, expected, mayBeExact))
        return result.name + " is " + result.text + " from " + callbacks.kernel + ", and " + expected.text + " from " + callbacks.reference;
    return "";
  }
  static std::string onlyCount(const std::optional<std::vector<VerifiedValue>> &results, bool isOther) {
    return isOther ? countText(results) : std::to_string(results->size());
  }

  std::optional<VerifyResult> compareAll(const std::vector<VerifiedRun> &runs, const VerifiedRun &reference) {
    std::vector<Output> outputs;
    std::set<uint64_t> returned;
    auto add = [&](std::optional<size_t> result, size_t input) {
      std::optional<Output> output = compareOne(runs, reference, result, input);
      if (!output) return false;
      if (output->isResult || !output->isRight()) outputs.push_back(std::move(*output));
      return true;
    };
    for (size_t i = 0; i < (reference.results ? reference.results->size() : 0); ++i) {
      if (const VerifiedValue &result = (*runs[0].results)[i]; result.isTensor) returned.insert(result.address);
      if (!add(i, 0)) return std::nullopt;
    }
    for (size_t i = 0; i < runs[0].inputs.size(); ++i) {
      const VerifiedValue &input = runs[0].inputs[i];
      if (!input.isTensor || llvm::is_contained(input.shape, 0) || returned.count(input.address)) continue;
      if (!add(std::nullopt, i)) return std::nullopt;
    }
    std::vector<std::string> problems;
    for (const Output &output : outputs)
      if (!output.isRight()) problems.push_back(output.text());
    for (const std::string &tensor : runs[1].outOfBounds)
      problems.push_back(callbacks.kernel + " writes outside of " + tensor);
    std::optional<std::string> fault = callbacks.findFault ? callbacks.findFault(workToCheck) : "";
    if (!fault) return std::nullopt;
    if (!fault->empty()) problems.push_back(*fault);
    return makeResult(problems.empty() ? Outcome::right : Outcome::wrong, llvm::join(problems, "; "), std::move(outputs));
  }

  std::optional<Output> compareOne(const std::vector<VerifiedRun> &runs, const VerifiedRun &reference, std::optional<size_t> result,
                                   size_t input) const {
    auto of = [&](const VerifiedRun &run) -> const VerifiedValue & { return result ? (*run.results)[*result] : run.inputs[input]; };
    const VerifiedValue &first = of(runs[0]), &second = of(runs[1]), &expected = of(reference);
    Output output;
    output.name = first.name, output.type = first.type, output.shape = first.shape;
    output.isResult = result || expected.bytes() != given[input].bytes();
    Tolerances byType = tolerancesOf(first.type, runs[0].hasDot, first.isOnGpu);
    output.tolerances = {options.relative.value_or(byType.relative), options.absolute.value_or(byType.absolute)};
    Numbers mine = first.numbers(), wanted = expected.numbers();
    bool isEmpty = llvm::is_contained(first.shape, 0);
    if (!isEmpty && (!mine.data || !wanted.data)) return std::nullopt;
    output.comparison = compare(mine, wanted, output.tolerances);
    if (output.comparison.wrong == 0 && second.shape == first.shape && !isEmpty) {
      Numbers again = second.numbers();
      if (!again.data) return std::nullopt;
      Comparison other = compare(again, wanted, output.tolerances);
      if (other.wrong) output.comparison = std::move(other), output.isOfManyThreads = true;
    }
    if (!first.isTensor || isEmpty) return output;
    if (second.shape == first.shape) findUnwritten(first, second, output);
    if (output.comparison.worst) output.writer = callbacks.findWriter(result, input, *output.comparison.worst);
    return output;
  }

  static void findUnwritten(const VerifiedValue &first, const VerifiedValue &second, Output &output) {
    std::string one = first.bytes(), other = second.bytes();
    size_t count = first.width ? one.size() / first.width : 0;
    if (one.size() != other.size()) return;
    std::vector<bool> unwritten = unwrittenElements(one.data(), other.data(), count, first.width, first.type == "bool");
    for (size_t offset = 0; offset < count; ++offset) {
      if (!unwritten[offset]) continue;
      if (++output.unwritten <= static_cast<int64_t>(maxShown)) output.firstUnwritten.push_back(indexOf(offset, first.shape));
    }
  }

  const Variant &variant;
  const std::vector<VerifiedValue> &given;
  const VerifierOptions &options;
  const VerifierCallbacks &callbacks;
};

} // namespace

std::optional<Report> verify(llvm::ArrayRef<Variant> variants, const VerifierOptions &options, const VerifierCallbacks &callbacks,
                             std::string &failure) {
  Report report;
  for (const Variant &variant : variants) {
    std::optional<VerifyResult> result;
    if (variant.unfit.empty()) {
      std::optional<std::vector<VerifiedValue>> given = callbacks.begin(variant, report.results.size());
      if (given) result = VariantVerifier(variant, *given, options, callbacks).verify(failure);
    } else {
      result = VerifyResult{variant.name, variant.kind, Outcome::skipped, {}, variant.unfit, {}};
    }
    if (!result) return std::nullopt;
    report.results.push_back(std::move(*result));
    if (!callbacks.report(report.results.back())) return std::nullopt;
  }
  return report;
}

} // namespace tilewright::author
