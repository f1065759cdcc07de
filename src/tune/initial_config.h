// Sizes for a kernel that lists none: autotune(configs="auto"). Each open parameter has a ladder of values, tried against the estimate
// (tune/estimate.h), one parameter at a time, until nothing gets better: a few dozen estimates instead of hundreds of combinations.
//
// Nothing is measured. A guess must not cause a wrong number either: its user runs a second combination as well and compares the results
// (result_check.h), because a parameter called BLOCK may not be a free choice: the softmax of a row needs a block as long as the row.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Something to choose, and what may be chosen: smallest first.
struct OpenSize {
  std::string name; // a parameter of the kernel, or num_warps
  std::vector<int64_t> values;
};

/// Whether a constexpr parameter that a launch leaves open is a size, judged by its name: BLOCK_M, TILE, GROUP_SIZE_M.
bool isSizeName(llvm::StringRef name);
/// The ladders of these parameters; on a GPU the number of warps is open, too, and where blocks form clusters, how many share a program:
/// few tiles of a long K are split so.
std::vector<OpenSize> openSizes(llvm::ArrayRef<std::string> names, bool isGpu, bool hasClusters);

struct InitialConfig {
  std::vector<int64_t> sizes; // in the order of the ladders
  std::vector<int64_t> other; // the best of those that differ in each parameter; empty: none of them works
};
/// `estimate`: seconds; infinite for what does not work. Null where nothing works.
std::optional<InitialConfig> chooseInitialSizes(llvm::ArrayRef<OpenSize> open, llvm::function_ref<double(llvm::ArrayRef<int64_t>)> estimate);

} // namespace tilewright
