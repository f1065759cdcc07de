#include "author/verifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace tilewright::author {

/// Elements that the interpreter computes for a variant: less than a second.
static constexpr int64_t workToCheck = int64_t(1) << 23;
static constexpr size_t maxShown = 8; // elements that a list shows

static std::string countText(const std::optional<std::vector<VerifiedOutput>> &results) {
  if (!results) return "nothing";
  return std::to_string(results->size()) + (results->size() == 1 ? " result" : " results");
}

/// Whether both are of one type and shape. `mayBeExact`: a reference in float64 was made so on purpose, and judges all floats.
static bool areComparable(const VerifiedOutput &result, const VerifiedOutput &expected, bool mayBeExact) {
  if (!result.hasShape || !expected.hasShape) return result.type == expected.type;
  bool isMoreExact = mayBeExact && expected.type == "float64" && result.isFloat;
  return result.shape == expected.shape && (isMoreExact || result.type == expected.type);
}

namespace {

/// One variant.
class VariantVerifier {
public:
  VariantVerifier(const Variant &variant, const std::vector<VerifiedOutput> &given, const VerifierOptions &options, const VerifierCallbacks &callbacks)
      : variant(variant), given(given), options(options), callbacks(callbacks) {}

  /// Nothing where the door ended it, or, with `failure` set, where nothing can be judged.
  std::optional<VerifyResult> verifier(std::string &failure) {
    std::optional<VerifiedRun> reference = callbacks.run(/*isReference=*/true, 0);
    if (!reference) return std::nullopt;
    if (reference->raised) {
      std::string why = callbacks.reference + " " + callbacks.raises + " " + *reference->raised;
      if (variant.kind != VariantKind::given) return verdict(Outcome::skipped, why);
      failure = std::move(why);
      return std::nullopt;
    }
    std::vector<VerifiedRun> runs;
    for (size_t pattern = 0; pattern < std::size(patterns); ++pattern) {
      std::optional<VerifiedRun> run = callbacks.run(/*isReference=*/false, pattern);
      if (!run) return std::nullopt;
      Outcome outcome = variant.kind == VariantKind::given ? Outcome::wrong : Outcome::refused;
      if (run->raised) return verdict(outcome, callbacks.kernel + " " + callbacks.raises + " " + *run->raised);
      runs.push_back(std::move(*run));
    }
    if (std::string mismatch = mismatchOf(runs[0], *reference); !mismatch.empty()) return verdict(Outcome::wrong, mismatch);
    return compareAll(runs, *reference);
  }

private:
  VerifyResult verdict(Outcome outcome, std::string details, std::vector<Output> outputs = {}) const {
    VerifyResult made{variant.name, variant.kind, outcome, {}, std::move(details), std::move(outputs)};
    for (const VerifiedOutput &input : given)
      made.inputs.push_back(input.text);
    return made;
  }

  /// Why results cannot be compared, or nothing.
  std::string mismatchOf(const VerifiedRun &run, const VerifiedRun &reference) const {
    bool isOther = run.results.has_value() != reference.results.has_value();
    if (isOther || (run.results && run.results->size() != reference.results->size()))
      return callbacks.kernel + " returns " + countText(run.results) + ", and " + callbacks.reference + " " + onlyCount(reference.results, isOther);
    if (!run.results) return "";
    bool mayBeExact = llvm::none_of(run.inputs, [](const VerifiedOutput &input) { return input.isTensor && input.type == "float64"; });
    for (auto [result, expected] : llvm::zip(*run.results, *reference.results))
      if (!areComparable(result, expected, mayBeExact))
        return result.name + " is " + result.text + " from " + callbacks.kernel + ", and " + expected.text + " from " + callbacks.reference;
    return "";
  }
  static std::string onlyCount(const std::optional<std::vector<VerifiedOutput>> &results, bool isOther) {
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
      if (const VerifiedOutput &result = (*runs[0].results)[i]; result.isTensor) returned.insert(result.address);
      if (!add(i, 0)) return std::nullopt;
    }
    for (size_t i = 0; i < runs[0].inputs.size(); ++i) {
      const VerifiedOutput &input = runs[0].inputs[i];
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
    return verdict(problems.empty() ? Outcome::right : Outcome::wrong, llvm::join(problems, "; "), std::move(outputs));
  }

  std::optional<Output> compareOne(const std::vector<VerifiedRun> &runs, const VerifiedRun &reference, std::optional<size_t> result,
                                   size_t input) const {
    auto of = [&](const VerifiedRun &run) -> const VerifiedOutput & { return result ? (*run.results)[*result] : run.inputs[input]; };
    const VerifiedOutput &first = of(runs[0]), &second = of(runs[1]), &expected = of(reference);
    Output output;
    output.name = first.name, output.type = first.type, output.shape = first.shape;
    output.isResult = result || expected.bytes() != given[input].bytes();
    Tolerances byType = tolerancesOf(first.type, runs[0].hasProduct, first.isOnGpu);
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

  static void findUnwritten(const VerifiedOutput &first, const VerifiedOutput &second, Output &output) {
    std::string one = first.bytes(), other = second.bytes();
    size_t count = first.width ? one.size() / first.width : 0;
    if (one.size() != other.size()) return;
    std::vector<bool> unwritten = unwrittenElements(one.data(), other.data(), count, first.width, first.type == "bool");
    for (size_t place = 0; place < count; ++place) {
      if (!unwritten[place]) continue;
      if (++output.unwritten <= static_cast<int64_t>(maxShown)) output.firstUnwritten.push_back(indexOf(place, first.shape));
    }
  }

  const Variant &variant;
  const std::vector<VerifiedOutput> &given;
  const VerifierOptions &options;
  const VerifierCallbacks &callbacks;
};

} // namespace

std::optional<Report> verify(llvm::ArrayRef<Variant> variants, const VerifierOptions &options, const VerifierCallbacks &callbacks, std::string &failure) {
  Report report;
  for (const Variant &variant : variants) {
    std::optional<VerifyResult> verdict;
    if (variant.unfit.empty()) {
      std::optional<std::vector<VerifiedOutput>> given = callbacks.begin(variant, report.verdicts.size());
      if (given) verdict = VariantVerifier(variant, *given, options, callbacks).verifier(failure);
    } else {
      verdict = VerifyResult{variant.name, variant.kind, Outcome::skipped, {}, variant.unfit, {}};
    }
    if (!verdict) return std::nullopt;
    report.verdicts.push_back(std::move(*verdict));
    if (!callbacks.tell(report.verdicts.back())) return std::nullopt;
  }
  return report;
}

} // namespace tilewright::author
