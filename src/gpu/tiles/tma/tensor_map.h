// Exports tensor maps and launch guards from the compiler: what form-descriptors wrote on a kernel's map arguments becomes what a launch
// evaluates.
//   before: %arg9: !ptx.tensor_map {ttg.tensor_map = #ttg.tensor_map<base = 0, ..., strides = [[array<i64: 1, 6>]], box = array<i64: 64>>}
//   after:  TensorMapSpec {baseSlot 0, ..., strides {slot 6}, box {64}}
#pragma once

#include "support/artifact.h"

#include "ir/tt.h"

#include <optional>

namespace tilewright::gpu {

/// Returns the recipes of a kernel's map arguments, in order. Removes arguments without uses. Reports an error on the kernel and returns
/// null if a recipe is incomplete.
std::optional<std::vector<TensorMapSpec>> takeTensorMaps(tt::FuncOp kernel);

/// Returns what the kernel's code assumes about its launches. Reports a guard that is unknown, and returns null.
std::optional<std::vector<LaunchGuard>> collectLaunchGuards(tt::FuncOp kernel);

} // namespace tilewright::gpu
