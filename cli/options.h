// Options that several commands read into the compiler's own.
#pragma once

#include "cli/command.h"
#include "frontend/frontend.h"

namespace tilewright {

/// What codeOptions() offers. Nothing, after a printed error, for what is no number; which numbers make sense the compiler knows.
std::optional<KernelOptions> readCodeOptions(const CommandLine &line);

} // namespace tilewright
