// Configurations of one kernel should compute the same results. One that does not, because a mask is missing
// or a block is too small for its algorithm, is often the fastest; so before it may win, each runs once from
// the same state of the tensors, and what it leaves there is compared with what the first one left.
//
// Other blocks add in another order, so floats may differ in some of their last bits, or by those of a typical element,
// since a small element may be what is left of large terms. Integers may not differ. A small element that a configuration
// does not write at all would pass this test; so where an element is as it was before the run, and the first configuration
// has changed it, the run is repeated with other numbers in such places: whatever still holds those was not written.
#pragma once

#include "runtime/kernel.h"
#include "tune/card_copy.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// For each parameter of a compiled kernel, whether the kernel may write to the memory behind it.
std::vector<bool> writtenParameters(const CompiledKernel &kernel);

/// Not if TILEWRIGHT_CHECK_TUNING is off: for kernels whose results, or scratch tensors, differ from one configuration to the next.
bool resultsAreChecked();

class ResultCheck {
public:
  /// Keeps the present contents of these tensors, including members of tuples. Tensors
  /// of unknown size, and those that are too large to be worth copying, are ignored.
  explicit ResultCheck(llvm::ArrayRef<Argument> written);
  ResultCheck(const ResultCheck &) = delete;
  ResultCheck &operator=(const ResultCheck &) = delete;

  /// Restores the tensors; between two runs of one configuration, it leaves marks in a few elements.
  void restore() const;
  /// After a run from that state: how its results differ from those of the first run, or null.
  std::optional<std::string> compare();
  /// Whether that comparison needs another run, from the state that `restore` makes.
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
  /// How a tensor differs from what is expected, or null. Collects suspects.
  std::optional<std::string> compare(Tensor &tensor) const;
  /// The end of a configuration's comparison.
  std::optional<std::string> closed(std::optional<std::string> difference);

  std::vector<Tensor> tensors;
  size_t total = 0;
  bool isFirst = true, isOther = false;
};

/// The failure of a configuration whose results differ from those of the first; and whether a failure is of that kind.
std::string otherResults(const std::string &config, const std::string &first, const std::string &difference);
bool isOtherResults(llvm::StringRef failure);

} // namespace tilewright
