// Checks the file of a shared library before the system's loader opens it. The loader crashes on a truncated file: it maps segments that
// the file does not have.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// Fails with the reason if a file is not a shared library of this machine with all its segments. `head`: its first bytes, which have the
/// tables of its segments; `fileBytes`: its size.
Result<void> checkSharedLibrary(std::string_view head, uint64_t fileBytes);
/// The same for a file, which must be a regular one.
Result<void> checkSharedLibraryFile(const std::string &path);

} // namespace tilewright
