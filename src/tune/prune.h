// prune_configs_by: a kernel's own functions that select the configurations to measure.
#pragma once

#include "runtime/argument.h"

#include <optional>
#include <vector>

namespace tilewright {

/// Returns the configurations of kernel.autotune that its prune_configs_by selects, as indices into the list. The best estimate comes first
/// if there is a model. Functions that only Python can call are skipped, with a warning. Null after an error.
std::optional<std::vector<size_t>> prunedConfigs(const JitFunction &kernel, llvm::ArrayRef<Config> configs, llvm::ArrayRef<Argument> known,
                                                 Diagnostics &diagnostics);

} // namespace tilewright
