// Files as the compiler and its caches use them: whole, and never half-written for another process to see.
#pragma once

#include "support/result.h"

#include <string>
#include <string_view>

namespace tilewright {

/// The whole file, of at most 256 MiB.
Result<std::string> readFile(const std::string &path);

/// Replaces the file in one step: readers see the old bytes or the new ones. The folder must exist.
Result<void> writeFileAtomically(const std::string &path, std::string_view bytes);

/// The same for a path that a user names: links stay, and the files they lead to are replaced; devices and pipes are written to.
Result<void> writeOutputFile(const std::string &path, std::string_view bytes);

/// The folder and those above it; no error if they exist.
Result<void> makeDirectories(const std::string &path);

/// The same, but no other user can look into the folders that it makes.
Result<void> makePrivateDirectories(const std::string &path);

/// Whether only this user (and root) can put files into the folder, or put another folder in its place: code
/// that is found there is then this user's own. Fails with the reason; a folder that does not exist yet is fine.
Result<void> checkPrivateFolder(const std::string &path);
/// Like readFile, for a file that must be this user's own: a regular file and not a link, not writable by others, of at most
/// `maxBytes`.
Result<std::string> readPrivateFile(const std::string &path, int64_t maxBytes);

/// Where compiled kernels are kept: $TILEWRIGHT_CACHE_DIR, or "tilewright" under $TRITON_CACHE_DIR or ~/.cache. Not created here.
std::string cacheDirectory();

} // namespace tilewright
