// Checks that the configurations of a kernel compute the same results. A wrong one, because a mask is missing or a block is too small for
// the algorithm, is often the fastest. So each configuration runs once from the same state of the tensors before it may win, and
// configurations with equal results form a group. tune/agreement.h decides which group is right.
//
//   BLOCK=512    512 of 1000 columns    group 0
//   BLOCK=1024   all columns            group 1
//   BLOCK=2048   all columns            group 1
//
// Other block sizes add in another order, so floats may differ in some of their last bits. They may also differ by the last bits of a
// typical element, because a small element may be the difference of large terms. Integers may not differ. A small element that a
// configuration does not write at all would pass this test. So if a run leaves an element unchanged that the group has changed, the run is
// repeated with other values at these elements: an element that still holds its value was not written.
#pragma once

#include "runtime/kernel.h"
#include "tune/device_copy.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Returns for each parameter of a compiled kernel whether the kernel may write to its memory.
std::vector<bool> writtenParameters(const CompiledKernel &kernel);

/// True unless TILEWRIGHT_CHECK_TUNING is off. Turn it off for kernels whose results, or scratch tensors, differ between configurations.
bool resultsAreChecked();

class ResultCheck {
public:
  /// A tensor that the kernel writes, or a tuple of such tensors.
  struct Written {
    std::string name;
    Argument argument;
  };
  /// Stores the present contents of these tensors. Tensors of unknown size, and those that are too large to copy, are ignored.
  explicit ResultCheck(llvm::ArrayRef<Written> written);
  ResultCheck(const ResultCheck &) = delete;
  ResultCheck &operator=(const ResultCheck &) = delete;

  /// Restores the tensors. Between two runs of one configuration, it also writes marker values to a few elements.
  void restore() const;
  /// Compares the tensors after a run from that state. Returns the group of the results. Null: the comparison needs another run, from the
  /// state that `restore` makes.
  std::optional<size_t> compare();
  /// True if `compare` has requested that run.
  bool isUnsure() const { return doubted.has_value(); }
  /// Cancels the requested run. Called before another configuration runs, because the last one may have failed.
  void giveUp();

  /// True if the tensors now hold the results of a group.
  bool holdsResultsOf(size_t group) const;
  /// Returns the worst difference: "element 513 of 'y_ptr' is 0 instead of 0.0014; 488 of 1000 elements differ".
  std::string difference(size_t group, size_t expected) const;
  /// True if `group` leaves elements unchanged that `other` changes, and changes no others.
  bool isIncomplete(size_t group, size_t other) const;

private:
  struct Tensor {
    std::string name;
    Argument argument;
    std::vector<char> before;
    std::unique_ptr<DeviceCopy> deviceCopy; // for a large tensor on a GPU, instead of host copies
    std::vector<size_t> suspects;           // elements that may not have been written
  };
  struct Group {
    bool isStored = true;                   // false: there is no memory for it, so no configuration can join it
    size_t index = 0;                       // among the stored groups
    std::vector<std::vector<char>> results; // by tensor; empty for one with a DeviceCopy
    std::string note;                       // the difference from the group that it was first compared with
  };
  enum class Match { same, unsure, different };

  void add(const std::string &name, const Argument &argument);
  std::vector<char> resultOf(const Group &group, size_t tensor) const;
  /// Compares a tensor with a group's. Appends the elements that may be unwritten to `suspects`.
  bool isSame(size_t tensor, const Group &group, std::vector<size_t> &suspects) const;
  Match match(const Group &group, std::vector<std::vector<size_t>> &suspects) const;
  size_t addGroup();
  size_t settle();

  std::vector<Tensor> tensors;
  std::vector<Group> groups;
  size_t storedGroups = 0;
  size_t total = 0;
  std::optional<size_t> doubted; // the group of the results if all suspects were written
};

} // namespace tilewright
