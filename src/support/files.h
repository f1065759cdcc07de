// Files as the compiler and its caches use them: whole, and never half-written for another process to see.
#pragma once

#include "support/result.h"

#include <string>
#include <string_view>

namespace tilewright {

/// The whole file.
Result<std::string> readFile(const std::string &path);

/// Replaces the file in one step: readers see the old bytes or the new ones. The folder must exist.
Result<void> writeFileAtomically(const std::string &path, std::string_view bytes);

/// The folder and those above it; no error if they exist.
Result<void> makeDirectories(const std::string &path);

/// Where compiled kernels are kept: $TILEWRIGHT_CACHE_DIR, or "tilewright" under $XDG_CACHE_HOME or ~/.cache. Not created here.
std::string cacheDirectory();

} // namespace tilewright
