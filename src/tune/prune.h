// prune_configs_by: a kernel's own functions that say which configurations are worth measuring.
#pragma once

#include "runtime/argument.h"

#include <optional>
#include <vector>

namespace tilewright {

/// The configurations of kernel.autotune that its prune_configs_by leaves, by their places in the list, best estimate
/// first if there is a model. Functions that only Python can call are left out, with a warning. Null after an error.
std::optional<std::vector<size_t>> prunedConfigs(const JitFunction &kernel, llvm::ArrayRef<Config> configs, llvm::ArrayRef<Argument> known,
                                                 Diagnostics &diagnostics);

} // namespace tilewright
