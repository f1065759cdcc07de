// An entry: "TWCACHE2", the digest of its key (64 hex digits), the length of the payload (8 bytes, little endian), its BLAKE3 digest (64
// hex digits), the payload. It contains its key, so an entry copied to another name is not used for that name. The folder has 256
// sub-folders, named by the first two digits of the key, because file systems are slow with folders of a hundred thousand files.

#include "runtime/cache.h"

#include "codegen/debug_info.h"
#include "codegen/object.h"
#include "codegen/ptx/text.h"
#include "driver/build_id.h"
#include "evaluate/module.h"
#include "runtime/argument.h"
#include "support/artifact_bytes.h"
#include "support/cpu.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/settings.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <iterator>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {

static constexpr std::string_view magic = "TWCACHE2";
static constexpr std::string_view suffixes[] = {".twc", ".tuned", ".measured", ".claim"}; // for each kind
static constexpr size_t digits = 64, headerBytes = 8 + digits + 8 + digits;
static constexpr int64_t maxBytes = int64_t(1) << 30;

bool cacheIsRead() {
  return !isSwitchedOn("TRITON_ALWAYS_COMPILE", false);
}

bool cacheEnabled() {
  return isSwitchedOn("TILEWRIGHT_CACHE", true);
}

static std::string entryFolder(const std::string &key) {
  return cacheDirectory() + "/" + key.substr(0, 2);
}
static std::string_view suffixOf(CacheKind kind) {
  return suffixes[static_cast<size_t>(kind)];
}
static std::string entryPath(const std::string &key, CacheKind kind) {
  return entryFolder(key) + "/" + key.substr(2) + std::string(suffixOf(kind));
}

// ---- the shipped folder

namespace {
struct ShippedFolder {
  std::mutex lock;
  std::optional<std::string> path; // null: not set yet
};
ShippedFolder &shippedFolder() {
  static auto &only = *new ShippedFolder; // never destroyed: threads may launch while the process ends
  return only;
}
} // namespace

Result<void> setShippedCache(const std::string &folder) {
  if (!folder.empty() && ::access(folder.c_str(), R_OK | X_OK) != 0) return Failure{std::strerror(errno)};
  Result<void> safe = folder.empty() ? Result<void>() : checkTrustedFolder(folder);
  if (!safe) return safe;
  std::lock_guard<std::mutex> guard(shippedFolder().lock);
  shippedFolder().path = folder;
  return {};
}

static std::string shippedPath() {
  std::lock_guard<std::mutex> guard(shippedFolder().lock);
  if (!shippedFolder().path) {
    const char *given = std::getenv("TILEWRIGHT_SHIPPED_CACHE");
    shippedFolder().path = given ? given : "";
  }
  return *shippedFolder().path;
}

// ---- links in Triton's folder
//
// PyTorch copies compiled kernels to another machine as the files of $TRITON_CACHE_DIR/KEY, with the key of a kernel in base 32, and
// restores them there. If that variable names the folder, a kernel's entry has a second name in it.

static std::string base32(const std::string &hex) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string text;
  uint32_t bits = 0;
  int held = 0;
  for (char digit : hex) {
    bits = bits << 4 | llvm::hexDigitValue(digit);
    for (held += 4; held >= 5; held -= 5)
      text += letters[bits >> (held - 5) & 31];
  }
  if (held) text += letters[bits << (5 - held) & 31];
  return text;
}

/// Returns the folder of a kernel's second name, or nothing.
static std::string carriedFolder(const std::string &key) {
  const char *triton = std::getenv("TRITON_CACHE_DIR");
  bool isNamed = triton && *triton && cacheDirectory() == std::string(triton) + "/tilewright";
  return isNamed ? triton + ("/" + base32(key)) : "";
}

static std::string carriedName(const std::string &folder) {
  return folder + "/kernel" + std::string(suffixOf(CacheKind::kernel));
}

// Returns the payload, or the reason why the entry is invalid.
static Result<std::string> checkEntry(std::string bytes, std::string_view key) {
  if (bytes.size() < headerBytes) return Failure{"it ends within its header"};
  std::string_view view = bytes;
  if (view.substr(0, 8) != magic) return Failure{"it does not begin like an entry"};
  if (view.substr(8, digits) != hashHex(key)) return Failure{"it belongs to another key"};
  if (numberAt(bytes, 8 + digits) != bytes.size() - headerBytes) return Failure{"its length is wrong"};
  if (hashHex(view.substr(headerBytes)) != view.substr(16 + digits, digits)) return Failure{"its checksum is wrong"};
  bytes.erase(0, headerBytes);
  return bytes;
}

// Reports problems with the folder once, not for each kernel.
static void warnOnce(Diag id, const std::string &reason, Diagnostics &diagnostics) {
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true)) diagnostics.warning({}, id, {cacheDirectory(), reason});
}

/// The process runs machine code from this folder, so the folder must be this user's own.
static bool mayUseFolder(Diagnostics &diagnostics) {
  Result<void> safe = checkPrivateFolder(cacheDirectory());
  if (!safe) warnOnce(Diag::unsafeCache, safe.error(), diagnostics);
  return bool(safe);
}

/// Reads an entry. A damaged one is removed, so it is reported once.
static std::optional<std::string> readEntry(const std::string &path, std::string_view key, Diagnostics &diagnostics) {
  Result<std::string> payload = readPrivateFile(path, maxBytes);
  if (payload) payload = checkEntry(std::move(*payload), key);
  if (payload) return std::move(*payload);
  diagnostics.warning({}, Diag::damagedCache, {path, payload.error()});
  ::unlink(path.c_str());
  return std::nullopt;
}

/// Reads an entry of the shipped folder. A damaged one stays there.
static std::optional<std::string> readShipped(const std::string &key, CacheKind kind, Diagnostics &diagnostics) {
  bool mayBeShipped = kind == CacheKind::kernel || kind == CacheKind::tuned;
  std::string root = mayBeShipped ? shippedPath() : "";
  if (root.empty()) return std::nullopt;
  std::string folder = root + "/" + key.substr(0, 2), path = folder + "/" + key.substr(2) + std::string(suffixOf(kind));
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  Result<void> safe = checkTrustedFolder(folder);
  Result<std::string> payload = safe ? readTrustedFile(path, maxBytes) : Result<std::string>(Failure{safe.error()});
  if (payload) payload = checkEntry(std::move(*payload), key);
  if (payload) return std::move(*payload);
  diagnostics.warning({}, Diag::damagedCache, {path, payload.error()});
  return std::nullopt;
}

static std::optional<std::string> readOwn(const std::string &key, CacheKind kind, Diagnostics &diagnostics) {
  std::string path = entryPath(key, kind);
  if (::access(path.c_str(), F_OK) != 0) { // missing, or not readable, which storing will report
    std::string carried = kind == CacheKind::kernel ? carriedFolder(key) : "";
    path = carried.empty() ? "" : carriedName(carried);
    if (path.empty() || ::access(path.c_str(), F_OK) != 0 || !checkPrivateFolder(carried)) return std::nullopt;
    return readEntry(path, key, diagnostics);
  }
  if (!mayUseFolder(diagnostics)) return std::nullopt;
  return readEntry(path, key, diagnostics);
}

std::optional<std::string> loadCached(const std::string &key, CacheKind kind, Diagnostics &diagnostics) {
  if (!cacheEnabled()) return std::nullopt;
  std::optional<std::string> own = readOwn(key, kind, diagnostics);
  return own ? own : readShipped(key, kind, diagnostics);
}

bool cacheTakesEntries(Diagnostics &diagnostics) {
  if (!cacheEnabled()) return false;
  // New folders are created for this user alone; existing ones are checked before anything is written to them.
  Result<void> made = makePrivateDirectories(cacheDirectory());
  if (!made) warnOnce(Diag::cacheUnusable, made.error(), diagnostics);
  return made && mayUseFolder(diagnostics);
}

void storeCached(const std::string &key, CacheKind kind, std::string_view bytes, Diagnostics &diagnostics) {
  if (!cacheTakesEntries(diagnostics)) return;
  Result<void> done = makePrivateDirectories(entryFolder(key));
  std::string file(magic);
  file.reserve(headerBytes + bytes.size());
  file += hashHex(key);
  appendNumber(file, bytes.size());
  file += hashHex(bytes);
  file += bytes;
  if (done) done = writeFileAtomically(entryPath(key, kind), file);
  if (!done) return warnOnce(Diag::cacheUnusable, done.error(), diagnostics);
  std::string carried = kind == CacheKind::kernel ? carriedFolder(key) : "";
  if (carried.empty() || !makePrivateDirectories(carried)) return;
  ::unlink(carriedName(carried).c_str());
  // If the link cannot be made, PyTorch does not copy the entry, but it is still stored.
  static_cast<void>(::link(entryPath(key, kind).c_str(), carriedName(carried).c_str()) == 0);
}

void removeCached(const std::string &key, CacheKind kind) {
  ::unlink(entryPath(key, kind).c_str());
  std::string carried = kind == CacheKind::kernel ? carriedFolder(key) : "";
  if (!carried.empty()) ::unlink(carriedName(carried).c_str());
}

std::optional<CacheClaim> CacheClaim::take(const std::string &key) {
  if (!makePrivateDirectories(entryFolder(key))) return std::nullopt;
  int file = ::open(entryPath(key, CacheKind::claim).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return std::nullopt;
  CacheClaim claim(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return claim;
}

CacheClaim::~CacheClaim() {
  if (file < 0) return;
  ::flock(file, LOCK_UN); // a child process that was forked meanwhile holds the same lock
  ::close(file);
}

// ---- artifacts: their fields in order, texts and lists after their lengths

std::string encodeArtifact(const CpuArtifact &artifact) {
  ArtifactWriter out;
  out.text(artifact.entry);
  out.number(artifact.arenaBytes);
  out.number(static_cast<int64_t>(artifact.atomics));
  out.slots(artifact.slots, artifact.writes);
  out.guards(artifact.guards);
  out.text(artifact.object);
  return std::move(out.bytes);
}

std::optional<CpuArtifact> decodeArtifact(std::string_view bytes) {
  ArtifactReader in(bytes);
  CpuArtifact artifact;
  artifact.entry = in.text();
  artifact.arenaBytes = in.number();
  artifact.atomics = static_cast<Atomics>(in.number());
  in.slots(artifact.slots, artifact.writes);
  in.guards(artifact.guards, static_cast<int64_t>(artifact.slots.size()));
  artifact.object = in.text();
  if (!in.ok || !in.atEnd()) return std::nullopt;
  return artifact;
}

std::string kernelCacheKey(const CompileRequest &request) {
  const KernelOptions &options = request.options;
  Hasher hasher;
  hasher.add("kernel").add(buildId()).add(request.kernel.name()).add(request.kernel.hash(request.args));
  if (const JitFunction *function = request.kernel.function()) hasher.add(signatureText(*function, request.args));
  // Line tables and the messages of assertions contain line numbers, of functions in other files, too.
  bool namesLines = options.debug || debugInfoIsOn();
  if (const JitFunction *function = request.kernel.function(); function && function->decl && namesLines)
    hasher.add("lines").add(locationsHash(*function));
  hasher.addInteger(options.numWarps).addInteger(options.numStages).addInteger(options.numCtas).addInteger(options.maxnreg.value_or(-1));
  hasher.addInteger(options.debug && options.sanitizeOverflow ? 2 : options.debug).addInteger(options.fpFusion);
  hasher.addInteger(static_cast<int64_t>(options.rules)).addInteger(static_cast<int64_t>(options.numerics));
  hasher.addInteger(llvmOptimizes())
      .add(options.overrideText)
      .add(options.dotPrecision)
      .add(options.ptxOptions)
      .addInteger(options.flushesExp2);
  for (const auto &[name, path] : options.externLibs.value_or(KernelOptions::Libraries()))
    hasher.add("library").add(name).add(path);
  for (const std::string &name : request.failedGuards)
    hasher.add("without").add(name);
  if (request.gpu) {
    hasher.add("gpu").add(request.gpu->name).add(request.gpu->ptxVersion).addInteger(request.gpu->sharedBytes).add(assemblerIdentity());
    return hasher.hex();
  }
  const CpuTarget &target = request.target;
  hasher.add(target.name).add(target.cpu).add(target.features).addInteger(target.vectorBytes).addInteger(target.registers);
  hasher.addInteger(target.l2Bytes).addInteger(target.llcBytes).addInteger(target.cachedOutputBytes);
  hasher.addInteger(hasSlowSubnormals(target)).addInteger(hasSlowDivision(target));
  // The features do not determine this: the system may refuse AMX tiles to one process and grant them to another.
  hasher.addInteger(target.bf16Tiles).addInteger(target.fp16Tiles).addInteger(target.byteTiles);
  return hasher.hex();
}

// Calls visit(path, bytes) for every entry of the folder. Temporary files count, because they contain the suffix.
template <typename F> static void forEachEntry(F &&visit) {
  std::string root = cacheDirectory();
  if (!checkPrivateFolder(root)) return;
  DIR *top = ::opendir(root.c_str());
  if (!top) return;
  while (dirent *folder = ::readdir(top)) {
    std::string_view name = folder->d_name;
    if (name.size() != 2 || name == "..") continue;
    std::string path = root + "/" + std::string(name);
    DIR *inner = ::opendir(path.c_str());
    if (!inner) continue;
    while (dirent *file = ::readdir(inner)) {
      std::string_view fileName = file->d_name;
      if (std::none_of(std::begin(suffixes), std::end(suffixes),
                       [&](std::string_view suffix) { return fileName.find(suffix) != std::string_view::npos; }))
        continue;
      std::string filePath = path + "/" + std::string(fileName);
      struct stat status{};
      if (::stat(filePath.c_str(), &status) == 0) visit(filePath, static_cast<int64_t>(status.st_size));
    }
    ::closedir(inner);
  }
  ::closedir(top);
}

std::string cachedFile(const std::string &key, CacheKind kind) {
  return entryPath(key, kind);
}

std::vector<std::string> allCached(CacheKind kind, Diagnostics &diagnostics) {
  std::vector<std::string> all;
  std::string_view suffix = suffixOf(kind);
  forEachEntry([&](const std::string &path, int64_t) {
    llvm::StringRef name = path;
    if (!name.consume_back(suffix)) return;
    auto [folders, stem] = name.rsplit('/');
    std::string key = folders.take_back(2).str() + stem.str();
    if (std::optional<std::string> bytes = readEntry(path, key, diagnostics)) all.push_back(std::move(*bytes));
  });
  return all;
}

CacheUse cacheUse() {
  CacheUse use;
  forEachEntry([&](const std::string &, int64_t bytes) {
    ++use.entries;
    use.bytes += bytes;
  });
  return use;
}

int64_t clearCache() {
  int64_t count = 0;
  forEachEntry([&](const std::string &path, int64_t) {
    llvm::StringRef name = path;
    bool isKernel = name.consume_back(suffixOf(CacheKind::kernel));
    std::string carried = isKernel ? carriedFolder(name.take_back(digits + 1).str().erase(2, 1)) : "";
    if (!carried.empty()) ::unlink(carriedName(carried).c_str());
    count += ::unlink(path.c_str()) == 0;
  });
  return count;
}

} // namespace tilewright
