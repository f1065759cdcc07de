// What came out of a verification: a verdict for each variant of the inputs, as data, as text, and as JSON.
#pragma once

#include "author/comparison.h"
#include "author/variants.h"

#include <array>

namespace tilewright::author {

/// The program that wrote a place last.
struct Writer {
  std::string kernel;
  std::array<int64_t, 3> program{};
};

/// One tensor that was judged.
struct Output {
  std::string name; // "output 0", "input x"
  std::string type; // "float32"
  std::vector<int64_t> shape;
  bool isResult = true; // else it is an input that neither function should have changed
  Tolerances tolerances;
  Comparison comparison;
  int64_t unwritten = 0;
  std::vector<std::vector<int64_t>> firstUnwritten; // indices
  std::optional<Writer> writer;                     // of the worst element
  bool isOfManyThreads = false;                     // wrong only in the run on many threads

  bool isRight() const { return comparison.wrong == 0 && unwritten == 0; }
  std::vector<int64_t> worstIndex() const; // of a wrong one
  /// What is wrong, in a sentence.
  std::string text() const;
};

enum class Outcome : uint8_t {
  right,
  wrong,
  refused, // the kernel ends with an error, which is no wrong number
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

  /// A line with the outcome and the inputs, and where there is more to say another one.
  std::string text() const;
};

struct Report {
  std::vector<VerifyResult> verdicts;

  bool isCorrect() const;
  double maxAbsolute() const;
  double maxRelative() const;
  /// How many variants are right, wrong, refused, skipped; and the first that is wrong.
  std::string details() const;
  /// {"correct": ..., "max_abs_diff": ..., "max_rel_diff": ..., "details": ..., "variants": [...]}
  std::string json() const;
  /// The verdicts' lines, and one that sums them up.
  std::string text() const;
};

/// Indices of the place in row-major order.
std::vector<int64_t> indexOf(size_t place, llvm::ArrayRef<int64_t> shape);
/// "[3, 17]"
std::string listText(llvm::ArrayRef<int64_t> numbers);

} // namespace tilewright::author
