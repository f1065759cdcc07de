#include "support/temporary_folder.h"

#include "support/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <unistd.h>

namespace tilewright {

TemporaryFolder::TemporaryFolder() {
  const char *parent = std::getenv("TMPDIR");
  folder = std::string(parent && *parent ? parent : "/tmp") + "/tilewright-XXXXXX";
  if (!::mkdtemp(folder.data())) problem = "cannot make the temporary folder '" + folder + "': " + std::strerror(errno);
}

TemporaryFolder::~TemporaryFolder() {
  if (!problem.empty()) return;
  if (DIR *entries = ::opendir(folder.c_str())) {
    while (const dirent *entry = ::readdir(entries))
      ::unlink(file(entry->d_name).c_str()); // it fails for "." and ".."
    ::closedir(entries);
  }
  ::rmdir(folder.c_str());
}

Result<void> TemporaryFolder::made() const {
  if (problem.empty()) return {};
  return Failure{problem};
}

Result<void> TemporaryFolder::write(std::string_view name, std::string_view bytes) const {
  if (Result<void> done = writeFileAtomically(file(name), bytes); !done)
    return Failure{"cannot write the temporary file '" + file(name) + "': " + done.error()};
  return {};
}

Result<void> TemporaryFolder::hasRoom(size_t bytes) const {
  Result<void> done = write("room", std::string(bytes, '\1'));
  ::unlink(file("room").c_str());
  return done;
}

} // namespace tilewright
