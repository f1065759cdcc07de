// Options that several commands read into the compiler's own.
#pragma once

#include "cli/command.h"
#include "frontend/frontend.h"

namespace tilewright {

/// What codeOptions() offers. Nothing, after a printed error, for a bad number.
std::optional<KernelOptions> readCodeOptions(const CommandLine &line);

} // namespace tilewright
