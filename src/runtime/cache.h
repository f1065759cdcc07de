// Compiled kernels and tuning results on disk, shared by any number of processes.
//
// An entry is a file named by the hash of all its inputs. Its code is run, so only a folder that no other user can write to is used, and
// only this user's files in it (support/files). It is written to a temporary file and renamed, so readers see only whole entries; a
// checksum in the header reveals damage. A cache must never stop a program: if the folder is read-only or full, the program continues
// without it, after one warning.
#pragma once

#include "driver/compile.h"
#include "support/artifact.h"
#include "support/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright {

/// TILEWRIGHT_CACHE=0 turns it off.
bool cacheEnabled();

enum class CacheKind { kernel, tuned, measured, claim };
/// False with TRITON_ALWAYS_COMPILE: then kernels are compiled even if the folder has them.
bool cacheIsRead();

/// Sets a folder of entries that a product ships with itself. It has the layout of the cache folder, is read after that one, and is never
/// written. Only this user or the superuser may be able to write to it. An empty path removes it. Without a call, it is
/// $TILEWRIGHT_SHIPPED_CACHE.
Result<void> setShippedCache(const std::string &folder);

/// Returns the bytes stored under `key` (hex), or nothing. A damaged entry is removed, reported as a warning and counts as missing.
std::optional<std::string> loadCached(const std::string &key, CacheKind kind, Diagnostics &diagnostics);
/// Stores bytes under `key`. A process reports its first failure as a warning and ignores later ones.
void storeCached(const std::string &key, CacheKind kind, std::string_view bytes, Diagnostics &diagnostics);
void removeCached(const std::string &key, CacheKind kind);
/// True if entries can be stored in the folder; if not, it reports a warning.
bool cacheTakesEntries(Diagnostics &diagnostics);
/// The file of an entry in the folder. There may be none.
std::string cachedFile(const std::string &key, CacheKind kind);
/// Returns the bytes of all entries of one kind, in any order.
std::vector<std::string> allCached(CacheKind kind, Diagnostics &diagnostics);

/// Converts an artifact to bytes, and back; null if the bytes are not an artifact.
std::string encodeArtifact(const CpuArtifact &artifact);
std::optional<CpuArtifact> decodeArtifact(std::string_view bytes);

/// Returns the key of a kernel: compiler build (LLVM included), source with all its dependencies, specialization, options, target,
/// assembler.
std::string kernelCacheKey(const CompileRequest &request);

/// A name that one of the processes that share the folder owns, until that process releases it or ends.
class CacheClaim {
public:
  /// Claims the name; null while another process has it.
  static std::optional<CacheClaim> take(const std::string &key);
  CacheClaim(CacheClaim &&other) noexcept : file(std::exchange(other.file, -1)) {}
  CacheClaim &operator=(CacheClaim &&) = delete;
  ~CacheClaim();

private:
  explicit CacheClaim(int file) : file(file) {}
  int file;
};

struct CacheUse {
  int64_t entries = 0, bytes = 0;
};
CacheUse cacheUse();
/// Removes all entries and returns their number. Other files in the folder stay.
int64_t clearCache();

} // namespace tilewright
