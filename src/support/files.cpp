// Plain POSIX: std::filesystem reports through exceptions by default, and LLVM's wrappers have no advantage here.

#include "support/files.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {

static Failure systemFailure() {
  return {std::strerror(errno)};
}

/// The limit of a source, library or list of results. A sparse file of any size is easily made.
static constexpr size_t maxSourceBytes = size_t(256) << 20;
static constexpr const char *tooLarge = "it is larger than 256 MiB";

/// Reads an open file to its end. Pipes and files under /proc have no size, and not all devices have an end.
static Result<std::string> readAll(int fd, const struct stat &status, size_t maxBytes) {
  std::string bytes;
  while (true) {
    char chunk[1 << 16];
    ssize_t count = ::read(fd, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return systemFailure();
    if (count == 0) return bytes;
    bytes.append(chunk, static_cast<size_t>(count));
    if (bytes.size() > maxBytes) return Failure{S_ISREG(status.st_mode) ? tooLarge : "it has no end within 256 MiB"};
  }
}

namespace {
/// Closes a file in its destructor.
struct OpenFile {
  int fd;
  explicit OpenFile(int fd) : fd(fd) {}
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;
};
} // namespace

/// Without O_NONBLOCK, opening a pipe waits for a writer.
static Result<std::string> readWith(const std::string &path, int flags) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (file.fd < 0) return systemFailure();
  struct stat status{};
  if (::fstat(file.fd, &status) != 0) return systemFailure();
  if (S_ISDIR(status.st_mode)) return Failure{std::strerror(EISDIR)};
  if (!S_ISREG(status.st_mode) && (flags & O_NONBLOCK)) return Failure{"it is not a regular file"};
  if (S_ISREG(status.st_mode) && status.st_size > int64_t(maxSourceBytes)) return Failure{tooLarge};
  return readAll(file.fd, status, maxSourceBytes);
}

Result<std::string> readFile(const std::string &path) {
  return readWith(path, 0);
}
Result<std::string> readRegularFile(const std::string &path) {
  return readWith(path, O_NONBLOCK);
}

static bool isOthersToWrite(const struct stat &status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/// The superuser, who is always trusted.
static constexpr uid_t root = 0;

/// Who may own files whose contents are run: this user, or also the superuser, for files that the process only reads.
enum class Owner : uint8_t { user, userOrRoot };

static bool isTrusted(uid_t owner, Owner wanted) {
  return owner == ::geteuid() || (wanted == Owner::userOrRoot && owner == root);
}

static Result<std::string> readOwned(const std::string &path, int64_t maxBytes, Owner wanted) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd < 0) return errno == ELOOP ? Failure{"it is a symbolic link"} : systemFailure();
  struct stat status{};
  if (::fstat(file.fd, &status) != 0) return systemFailure();
  if (!S_ISREG(status.st_mode)) return Failure{"it is not a regular file"};
  if (!isTrusted(status.st_uid, wanted)) return Failure{"it belongs to user " + std::to_string(status.st_uid)};
  if (isOthersToWrite(status)) return Failure{"other users may write to it"};
  if (status.st_size > maxBytes) return Failure{"it is larger than any file stored here"};
  return readAll(file.fd, status, static_cast<size_t>(maxBytes));
}

Result<std::string> readPrivateFile(const std::string &path, int64_t maxBytes) {
  return readOwned(path, maxBytes, Owner::user);
}

Result<std::string> readTrustedFile(const std::string &path, int64_t maxBytes) {
  return readOwned(path, maxBytes, Owner::userOrRoot);
}

/// Returns the reason why other users could replace `folder`, or nothing. In a sticky folder such as /tmp, they cannot move files of
/// others.
static std::optional<std::string> riskOfParent(const std::string &folder, const struct stat &status) {
  std::string name = "'" + (folder.empty() ? "/" : folder) + "', which holds it, ";
  if (status.st_uid != ::geteuid() && status.st_uid != root) return name + "belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX)) return name + "may be changed by all users";
  return std::nullopt;
}

// Checks each folder from the root. A link may lead anywhere if no other user could have made it, and if its target passes the same check.
static Result<void> checkWithoutLinks(const std::string &path, Owner wanted, bool &hasLink) {
  bool shared = false; // true if others may write to the folder that holds this part of the path
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    struct stat status{};
    if (::lstat(part.c_str(), &status) != 0) return errno == ENOENT ? Result<void>() : Result<void>(systemFailure());
    if (S_ISLNK(status.st_mode)) {
      if (shared) return Failure{"'" + part + "' is a symbolic link in a folder that other users may write to"};
      if (::stat(part.c_str(), &status) != 0) return systemFailure();
      hasLink = true;
    }
    bool isLast = end == std::string::npos;
    if (isLast && !isTrusted(status.st_uid, wanted)) return Failure{"it belongs to user " + std::to_string(status.st_uid)};
    if (isLast && isOthersToWrite(status)) return Failure{"other users may write to it"};
    if (isLast) return {};
    if (std::optional<std::string> risk = riskOfParent(part, status)) return Failure{*risk};
    shared = isOthersToWrite(status);
  }
}

static Result<void> checkFolder(const std::string &name, Owner wanted) {
  std::string path = name;
  if (path.empty() || path[0] != '/') {
    char here[4096];
    if (!::getcwd(here, sizeof(here))) return systemFailure();
    path = std::string(here) + "/" + path;
  }
  while (path.size() > 1 && path.back() == '/')
    path.pop_back(); // with a trailing '/', "link/" would mean the link's target
  bool hasLink = false;
  Result<void> safe = checkWithoutLinks(path, wanted, hasLink);
  if (!safe || !hasLink) return safe;
  std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr), std::free);
  return target ? checkWithoutLinks(target.get(), wanted, hasLink) : safe;
}

Result<void> checkPrivateFolder(const std::string &path) {
  return checkFolder(path, Owner::user);
}

Result<void> checkTrustedFolder(const std::string &path) {
  return checkFolder(path, Owner::userOrRoot);
}

namespace {
/// While it lives, a write beyond the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG. Otherwise SIGXFSZ would end the process, which
/// may belong to another program.
class NoFileSizeSignal {
public:
  NoFileSizeSignal() {
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    sigset_t pending;
    wasPending = ::sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    isBlocked = ::pthread_sigmask(SIG_BLOCK, &signal, &before) == 0;
  }
  ~NoFileSizeSignal() {
    if (!isBlocked) return;
    int error = errno;
    const timespec now{0, 0};
    while (!wasPending && ::sigtimedwait(&signal, nullptr, &now) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
  }
  NoFileSizeSignal(const NoFileSizeSignal &) = delete;
  NoFileSizeSignal &operator=(const NoFileSizeSignal &) = delete;

private:
  sigset_t signal, before;
  bool wasPending = false, isBlocked = false;
};
} // namespace

/// Returns 0, or the error number.
static int writeAndClose(int fd, std::string_view bytes) {
  NoFileSizeSignal noSignal;
  int error = 0;
  for (size_t done = 0; error == 0 && done < bytes.size();) {
    ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count >= 0)
      done += static_cast<size_t>(count);
    else if (errno != EINTR)
      error = errno;
  }
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

Result<void> writeFileAtomically(const std::string &path, std::string_view bytes) {
  // The counter makes it unique among threads, the process ID among processes. O_EXCL and a retry do so among machines on one network
  // folder.
  static std::atomic<uint64_t> counter{0};
  std::string temporary;
  int fd = -1;
  for (int64_t attempt = 0; attempt < 100 && fd < 0; ++attempt) {
    temporary = path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 && errno != EEXIST) return systemFailure();
  }
  if (fd < 0) return systemFailure();
  int writeError = writeAndClose(fd, bytes);
  if (writeError == 0 && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (writeError == 0) writeError = errno;
  ::unlink(temporary.c_str());
  errno = writeError;
  return systemFailure();
}

Result<void> writeOutputFile(const std::string &path, std::string_view bytes) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return writeFileAtomically(path, bytes);
  if (S_ISREG(status.st_mode)) {
    std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr), std::free);
    return writeFileAtomically(target ? target.get() : path, bytes);
  }
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return systemFailure();
  if (int error = writeAndClose(fd, bytes); error != 0) {
    errno = error;
    return systemFailure();
  }
  return {};
}

static Result<void> makeWithMode(const std::string &path, mode_t mode) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (!part.empty() && ::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      // A read-only parent answers EROFS or EACCES even where the folder exists.
      int mkdirError = errno;
      struct stat status{};
      if (::stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        errno = mkdirError;
        return systemFailure();
      }
    }
    if (end == std::string::npos) break;
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return systemFailure();
  if (!S_ISDIR(status.st_mode)) {
    errno = ENOTDIR;
    return systemFailure();
  }
  return {};
}

Result<void> makeDirectories(const std::string &path) {
  return makeWithMode(path, 0755);
}
Result<void> makePrivateDirectories(const std::string &path) {
  return makeWithMode(path, 0700);
}

std::string cacheDirectory() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string own = variable("TILEWRIGHT_CACHE_DIR"); !own.empty()) return own;
  if (std::string triton = variable("TRITON_CACHE_DIR"); !triton.empty()) return triton + "/tilewright";
  if (std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/tilewright";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tilewright";
  return "/tmp/tilewright-" + std::to_string(::getuid());
}

} // namespace tilewright
