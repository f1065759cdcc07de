// Options that several commands read into the compiler's own.
#pragma once

#include "cli/command.h"
#include "frontend/frontend.h"

namespace tilewright {

/// Reads what codeOptions() offers. Null, after a printed error, if a value is not a number; the compiler knows which numbers make sense.
std::optional<KernelOptions> readCodeOptions(const CommandLine &line);

} // namespace tilewright
