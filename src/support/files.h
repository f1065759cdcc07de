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

/// The same for a path that a user names: a link stays one, and its file is replaced; what is no file (/dev/null, a pipe) is written into.
Result<void> writeOutputFile(const std::string &path, std::string_view bytes);

/// The folder and those above it; no error if they exist.
Result<void> makeDirectories(const std::string &path);

/// The same, made so that no other user can look into them.
Result<void> makePrivateDirectories(const std::string &path);

/// Whether nobody but this user (and root) can put anything into the folder, or put another in its place: code that is found there is then
/// this user's own. Fails with the reason; a folder that is not there yet is fine.
Result<void> checkPrivateFolder(const std::string &path);
/// As readFile, for a file that must be this user's own: no link, nothing but a regular file, not writable by others, of at most
/// `mostBytes`.
Result<std::string> readPrivateFile(const std::string &path, int64_t mostBytes);

/// Where compiled kernels are kept: $TILEWRIGHT_CACHE_DIR, or "tilewright" under $TRITON_CACHE_DIR or ~/.cache. Not created here.
std::string cacheDirectory();

} // namespace tilewright
