// Which arguments a kernel may write to: a launch must not pass read-only memory for these.
#pragma once

#include "ir/tt.h"

#include <vector>

namespace tilewright {

/// For each argument of `kernel`, whether a store or an atomic may reach memory through it. Where a pointer comes from several arguments
/// (a select, a branch), all of them count.
std::vector<bool> writtenArguments(tt::FuncOp kernel);

} // namespace tilewright
