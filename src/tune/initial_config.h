// Chooses sizes for a kernel that lists none: autotune(configs="auto"). Each open parameter has an ordered list of values. The search tries
// them against the estimate (tune/estimate.h), one parameter at a time, until nothing improves: a few dozen estimates instead of hundreds
// of combinations.
//
// Nothing is measured. An initial configuration must not cause wrong results either: a parameter called BLOCK may not be a free choice. The
// softmax of a row, for example, needs a block as long as the row. So the caller runs a second combination as well and compares the results
// (result_check.h).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// An open parameter and its possible values, the smallest first.
struct OpenSize {
  std::string name; // a parameter of the kernel, or num_warps
  std::vector<int64_t> values;
};

/// True if a constexpr parameter that a launch leaves open is a size, by its name: BLOCK_M, TILE, GROUP_SIZE_M.
bool isSizeName(llvm::StringRef name);
/// Returns the values of these parameters. On a GPU the number of warps is open as well. With clusters, so is the number of CTAs of a
/// program, which splits few tiles of a long K.
std::vector<OpenSize> openSizes(llvm::ArrayRef<std::string> names, bool isGpu, bool hasClusters);

struct InitialConfig {
  std::vector<int64_t> sizes; // one for each open size
  std::vector<int64_t> other; // the best combination that differs in each parameter; empty: none works
};
/// Chooses sizes. `estimate` returns seconds; infinite for a combination that does not work. Null if none works.
std::optional<InitialConfig> chooseInitialSizes(llvm::ArrayRef<OpenSize> open,
                                                llvm::function_ref<double(llvm::ArrayRef<int64_t>)> estimate);

} // namespace tilewright
