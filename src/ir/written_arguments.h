// Finds the arguments to which a kernel may write. A launch must not pass read-only memory for these.
#pragma once

#include "ir/tt.h"

#include <vector>

namespace tilewright {

/// Returns a flag for each argument of `kernel`: true if a store or an atomic may write through it. If a pointer comes from several
/// arguments (a select, a branch), all of them count.
std::vector<bool> writtenArguments(tt::FuncOp kernel);

} // namespace tilewright
