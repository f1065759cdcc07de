// The report of a verification: a result for each variant of the inputs, as data, text and JSON.
#pragma once

#include "author/comparison.h"
#include "author/variants.h"

#include <array>

namespace tilewright::author {

/// The program that wrote an element last.
struct Writer {
  std::string kernel;
  std::array<int64_t, 3> program{};
};

/// One compared tensor.
struct Output {
  std::string name; // "output 0", "input x"
  std::string type; // "float32"
  std::vector<int64_t> shape;
  bool isResult = true; // false: an input that neither function should have changed
  Tolerances tolerances;
  Comparison comparison;
  int64_t unwritten = 0;
  std::vector<std::vector<int64_t>> firstUnwritten; // indices
  std::optional<Writer> writer;                     // of the worst element
  bool isOfManyThreads = false;                     // wrong only in the run on many threads

  bool isRight() const { return comparison.wrong == 0 && unwritten == 0; }
  std::vector<int64_t> worstIndex() const; // of a wrong tensor
  /// Returns a sentence that describes the errors.
  std::string text() const;
};

enum class Outcome : uint8_t {
  right,
  wrong,
  refused, // the kernel ends with an error, which is not a wrong number
  skipped  // there is no such variant
};
const char *outcomeName(Outcome outcome);

struct VerifyResult {
  std::string variant;
  VariantKind kind = VariantKind::given;
  Outcome outcome = Outcome::right;
  std::vector<std::string> inputs; // "float32[64, 32]"
  std::string details;
  std::vector<Output> outputs;

  /// Returns a line with the outcome and the inputs, and a second one if there are details.
  std::string text() const;
};

struct Report {
  std::vector<VerifyResult> results;

  bool isCorrect() const;
  double maxAbsolute() const;
  double maxRelative() const;
  /// Returns how many variants are right, wrong, refused and skipped, and the first wrong one.
  std::string details() const;
  /// {"correct": ..., "max_abs_diff": ..., "max_rel_diff": ..., "details": ..., "variants": [...]}
  std::string json() const;
  /// Returns the lines of all results, and a summary.
  std::string text() const;
};

/// Returns the indices of an element, given its offset in row-major order.
std::vector<int64_t> indexOf(size_t offset, llvm::ArrayRef<int64_t> shape);
/// "[3, 17]"
std::string listText(llvm::ArrayRef<int64_t> numbers);

} // namespace tilewright::author
