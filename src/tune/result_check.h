// Configurations of one kernel are meant to compute the same. One that does not, because a mask is missing or a block is too small for its
// algorithm, is often the fastest; so each runs once from the same state of the tensors, and what it leaves there is compared with what the
// first one left, before it may win.
//
// Sums are taken in another order by other blocks, so floats may differ by some of their last bits, or of those of a typical element, as
// small ones are what is left of large terms. Integers may not differ. A small element that a configuration does not write at all would
// pass so; where one is as it was before the run, and the first configuration has changed it, the run is made again with other numbers in
// such places: what still holds those is not written.
#pragma once

#include "runtime/kernel.h"
#include "tune/card_copy.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// For each parameter of a compiled kernel, whether it may write to the memory behind it.
std::vector<bool> writtenParameters(const CompiledKernel &kernel);

/// Not where TILEWRIGHT_CHECK_TUNING=0: for kernels whose results, or scratch tensors, are another thing for each configuration.
bool resultsAreChecked();

class ResultCheck {
public:
  /// Keeps what is in these tensors now; members of tuples count. Those of unknown size, and more of them than it would be worth to copy,
  /// are not looked at.
  explicit ResultCheck(llvm::ArrayRef<Argument> written);
  ResultCheck(const ResultCheck &) = delete;
  ResultCheck &operator=(const ResultCheck &) = delete;

  /// Makes the tensors what they were; between the two runs of a configuration of which more is to be known, all but a few elements.
  void restore() const;
  /// Behind a run from there: how its results differ from those of the first run that asked, or nothing.
  std::optional<std::string> compare();
  /// Whether that comparison wants to see another run, from what `restore` makes of the tensors.
  bool isUnsure() const;
  /// Whether the last comparison found a difference.
  bool differed() const { return isOther; }

private:
  struct Tensor {
    Argument argument;
    std::vector<char> before, expected;
    std::unique_ptr<CardCopy> card; // where it is large, and on a GPU: in place of the two above
    std::vector<size_t> suspects;   // elements that may not have been written
  };
  void add(const Argument &argument);
  /// How a tensor differs from what is expected, or nothing. Collects suspects.
  std::optional<std::string> compare(Tensor &tensor) const;
  /// The end of a configuration's comparison.
  std::optional<std::string> closed(std::optional<std::string> difference);

  std::vector<Tensor> tensors;
  size_t total = 0;
  bool isFirst = true, isOther = false;
};

/// The failure of a configuration whose results differ from those of the first, and whether a failure is that.
std::string otherResults(const std::string &config, const std::string &first, const std::string &difference);
bool isOtherResults(llvm::StringRef failure);

} // namespace tilewright
