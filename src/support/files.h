// File access for the compiler and its caches: whole files, so that no other process reads a half-written one.
#pragma once

#include "support/result.h"

#include <string>
#include <string_view>

namespace tilewright {

/// Reads a file of at most 256 MiB. A pipe is read to its end.
Result<std::string> readFile(const std::string &path);
/// The same for a regular file: other kinds of files are refused, and a pipe is not waited for.
Result<std::string> readRegularFile(const std::string &path);

/// Replaces the file atomically: readers see the old bytes or the new ones. The folder must exist.
Result<void> writeFileAtomically(const std::string &path, std::string_view bytes);

/// The same for a path that a user names: links stay, and their targets are replaced; devices and pipes are written to.
Result<void> writeOutputFile(const std::string &path, std::string_view bytes);

/// Creates the folder and its parents; it is not an error if they exist.
Result<void> makeDirectories(const std::string &path);

/// The same, with permissions that keep other users out.
Result<void> makePrivateDirectories(const std::string &path);

/// Succeeds if only this user (and root) can put files into the folder or replace the folder, so code in it is this user's own. Fails with
/// the reason. A folder that does not exist yet is accepted.
Result<void> checkPrivateFolder(const std::string &path);
/// Like readFile, for this user's own files: a regular file, not a link, not writable by others, of at most `maxBytes`.
Result<std::string> readPrivateFile(const std::string &path, int64_t maxBytes);

/// The same for folders and files that are only read: the superuser may own them, too.
Result<void> checkTrustedFolder(const std::string &path);
Result<std::string> readTrustedFile(const std::string &path, int64_t maxBytes);

/// Returns the folder of compiled kernels: $TILEWRIGHT_CACHE_DIR, or "tilewright" under $TRITON_CACHE_DIR or ~/.cache. It is not created
/// here.
std::string cacheDirectory();

} // namespace tilewright
