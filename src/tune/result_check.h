// Configurations of one kernel should compute the same results. One that does not, because a mask is missing or a block is too small for
// its algorithm, is often the fastest. So each configuration runs once from the same state of the tensors before it may win, and
// configurations with equal results form a group. tune/agreement.h decides which group is right.
//
//   BLOCK=512    512 of 1000 columns    group 0
//   BLOCK=1024   all columns            group 1
//   BLOCK=2048   all columns            group 1
//
// Other blocks add in another order, so floats may differ in some of their last bits, or by those of a typical element, since a small
// element may be the difference of large terms. Integers may not differ. A small element that a configuration does not write at all would
// pass this test. So where an element is as it was before the run, and the group has changed it, the run is repeated with other numbers in
// such places: an element that still holds its number was not written.
#pragma once

#include "runtime/kernel.h"
#include "tune/device_copy.h"

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
  /// A tensor that the kernel writes, or a tuple of such tensors.
  struct Written {
    std::string name;
    Argument argument;
  };
  /// Keeps the present contents of these tensors. Tensors of unknown size, and those that are too large to be copied, are ignored.
  explicit ResultCheck(llvm::ArrayRef<Written> written);
  ResultCheck(const ResultCheck &) = delete;
  ResultCheck &operator=(const ResultCheck &) = delete;

  /// Restores the tensors; between two runs of one configuration, it leaves marks in a few elements.
  void restore() const;
  /// After a run from that state: the number of the group that the results belong to. Null: the comparison needs another run, from the
  /// state that `restore` makes.
  std::optional<size_t> compare();
  /// Whether `compare` has asked for that run.
  bool isUnsure() const { return doubted.has_value(); }
  /// Called before another configuration runs: the last one may have failed in the run that `compare` asked for.
  void giveUp();

  /// Whether the tensors hold the results of a group now.
  bool holdsResultsOf(size_t group) const;
  /// The worst difference: "element 513 of 'y_ptr' is 0 instead of 0.0014; 488 of 1000 elements differ".
  std::string difference(size_t group, size_t expected) const;
  /// Whether `group` leaves elements unchanged that `other` changes, and changes no others.
  bool isIncomplete(size_t group, size_t other) const;

private:
  struct Tensor {
    std::string name;
    Argument argument;
    std::vector<char> before;
    std::unique_ptr<DeviceCopy> gpu; // if the tensor is large, and on a GPU: in place of host copies
    std::vector<size_t> suspects;   // elements that may not have been written
  };
  struct Group {
    bool isKept = true;                     // false: there was no memory for it, so no configuration can join it
    size_t place = 0;                       // among those that are kept
    std::vector<std::vector<char>> results; // by tensor; empty for one with a DeviceCopy
    std::string note;                       // the difference from the group that it was first compared with
  };
  enum class Match { same, unsure, different };

  void add(const std::string &name, const Argument &argument);
  std::vector<char> resultOf(const Group &group, size_t tensor) const;
  /// Compares a tensor with a group's. Appends elements to `suspects` that may not have been written.
  bool isSame(size_t tensor, const Group &group, std::vector<size_t> &suspects) const;
  Match match(const Group &group, std::vector<std::vector<size_t>> &suspects) const;
  size_t addGroup();
  size_t settle();

  std::vector<Tensor> tensors;
  std::vector<Group> groups;
  size_t storedGroups = 0;
  size_t total = 0;
  std::optional<size_t> doubted; // the group that the results may belong to, if all suspects were written
};

} // namespace tilewright
