// Plain POSIX: std::filesystem reports through exceptions by default, and LLVM's wrappers add nothing that is needed here.

#include "support/files.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {

static Failure systemFailure() {
  return {std::strerror(errno)};
}

Result<std::string> readFile(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return systemFailure();
  struct stat status{};
  if (::fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    Failure failure = systemFailure();
    ::close(fd);
    return failure;
  }
  std::string bytes;
  bytes.reserve(static_cast<size_t>(status.st_size));
  // Pipes and files under /proc have no size, so the end is found by reading.
  while (true) {
    char chunk[1 << 16];
    ssize_t count = ::read(fd, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      Failure failure = systemFailure();
      ::close(fd);
      return failure;
    }
    if (count == 0) break;
    bytes.append(chunk, static_cast<size_t>(count));
  }
  ::close(fd);
  return bytes;
}

Result<void> writeFileAtomically(const std::string &path, std::string_view bytes) {
  // Unique among threads by the counter, among processes by the id, among machines on one network folder by O_EXCL and a retry.
  static std::atomic<uint64_t> counter{0};
  std::string temporary;
  int fd = -1;
  for (int64_t attempt = 0; attempt < 100 && fd < 0; ++attempt) {
    temporary = path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno != EEXIST) return systemFailure();
  }
  if (fd < 0) return systemFailure();
  bool ok = true;
  for (size_t done = 0; ok && done < bytes.size();) {
    ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count >= 0)
      done += static_cast<size_t>(count);
    else
      ok = errno == EINTR;
  }
  int writeError = ok ? 0 : errno;
  if (::close(fd) != 0 && ok) {
    ok = false;
    writeError = errno;
  }
  if (ok && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (ok) writeError = errno;
  ::unlink(temporary.c_str());
  errno = writeError;
  return systemFailure();
}

Result<void> makeDirectories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (!part.empty() && ::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
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

std::string cacheDirectory() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string own = variable("TILEWRIGHT_CACHE_DIR"); !own.empty()) return own;
  if (std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/tilewright";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tilewright";
  return "/tmp/tilewright-" + std::to_string(::getuid());
}

} // namespace tilewright
