// A folder of temporary files under $TMPDIR, or /tmp. It is removed with its files.
#pragma once

#include "support/result.h"

#include <string>
#include <string_view>

namespace tilewright {

class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// Fails if the folder could not be made, with its path and the system's reason.
  Result<void> made() const;
  std::string file(std::string_view name) const { return folder + "/" + std::string(name); }
  /// Writes a file of the folder. Fails with its path and the system's reason.
  Result<void> write(std::string_view name, std::string_view bytes) const;
  /// Fails if the folder has no room for `bytes` more bytes, with its path and the system's reason.
  Result<void> hasRoom(size_t bytes) const;

private:
  std::string folder, problem;
};

} // namespace tilewright
