// Compiled kernels and tuning results on disk, shared by any number of processes.
//
// An entry is a file named by the hash of everything that its content depends on. Its code is run, so only a folder that nobody else can
// write to is used, and only files of this user in it (support/files). It is written to a temporary file and renamed, so
// readers see only whole entries; a checksum in the header reveals damage. A cache must never stop a program:
// where the folder cannot be written, or is full, the program goes on without it, after one warning.
#pragma once

#include "driver/compile.h"
#include "support/artifact.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright {

/// TILEWRIGHT_CACHE=0 turns it off.
bool cacheEnabled();

enum class CacheKind { kernel, tuned, measured, claim };
/// False with TRITON_ALWAYS_COMPILE: kernels are compiled although they are in the folder.
bool cacheIsRead();

/// The bytes stored under `key` (hex), or nothing. A damaged entry is removed, reported as a warning and counts as absent.
std::optional<std::string> loadCached(const std::string &key, CacheKind kind, Diagnostics &diagnostics);
/// Stores bytes under `key`. The first failure of a process is reported as a warning, the others are silent.
void storeCached(const std::string &key, CacheKind kind, std::string_view bytes, Diagnostics &diagnostics);
void removeCached(const std::string &key, CacheKind kind);
/// Whether entries can be put into the folder; if not, a warning says why.
bool cacheTakesEntries(Diagnostics &diagnostics);
/// The bytes of all entries of one kind, in any order.
std::vector<std::string> allCached(CacheKind kind, Diagnostics &diagnostics);

/// An artifact as bytes, and back; null if the bytes are no artifact.
std::string encodeArtifact(const CpuArtifact &artifact);
std::optional<CpuArtifact> decodeArtifact(std::string_view bytes);
std::string encodeArtifact(const GpuArtifact &artifact);
std::optional<GpuArtifact> decodeGpuArtifact(std::string_view bytes);

/// The key of a kernel: compiler build (LLVM included), source with all it depends on, specialisation, options, target, assembler.
std::string kernelCacheKey(const CompileRequest &request);

/// A name that belongs to one process, among all that share the folder, until the process gives it back or ends.
class CacheClaim {
public:
  /// Null while another process has it.
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
/// Removes all entries; how many there were. Other files in the folder are left alone.
int64_t clearCache();

} // namespace tilewright
