// `tilewright explain FILE`: remarks on a compiled kernel, as text, as JSON, or as a page for a browser.
#pragma once

#include "cli/command.h"

namespace tilewright {

/// The line's one word is FILE. Returns the exit status.
int explainKernel(const CommandLine &line);

} // namespace tilewright
