#include "evaluate/packages.h"

#include "support/files.h"
#include "support/work_control.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

namespace tilewright {

namespace path = llvm::sys::path;

static std::string joined(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<256> file(folder);
  path::append(file, name);
  return std::string(file);
}

/// Returns the paths in a folder; nothing if it cannot be read.
static std::vector<std::string> listed(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    paths.push_back(it->path());
  return paths;
}

std::vector<std::string> installedFolders() {
  if (const WorkControl *control = currentControl(); control && control->limits.deniesFiles) return {};
  std::vector<std::string> folders;
  if (const char *given = std::getenv("PYTHONPATH")) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(given).split(parts, ':', -1, false);
    for (llvm::StringRef part : parts)
      folders.push_back(part.str());
  }
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    for (const std::string &folder : listed(joined(environment, "lib")))
      if (path::filename(folder).starts_with("python")) folders.push_back(joined(folder, "site-packages"));
  return folders;
}

/// Returns a package's name as PEP 503 normalizes it.
static std::string normalized(llvm::StringRef name) {
  std::string result;
  for (char c : name.lower()) {
    bool isSeparator = c == '-' || c == '_' || c == '.';
    if (!isSeparator || !llvm::StringRef(result).ends_with("-")) result += isSeparator ? '-' : c;
  }
  return result;
}

std::optional<std::string> installedVersion(llvm::StringRef name) {
  std::string wanted = normalized(name);
  for (const std::string &folder : installedFolders())
    for (const std::string &entry : listed(folder)) {
      llvm::StringRef file = path::filename(entry);
      if (!file.consume_back(".dist-info") || normalized(file.split('-').first) != wanted) continue;
      Result<std::string> metadata = readFile(joined(entry, "METADATA"));
      for (llvm::StringRef rest = metadata ? llvm::StringRef(*metadata) : ""; !rest.empty();) {
        llvm::StringRef line;
        std::tie(line, rest) = rest.split('\n');
        if (line.trim().empty()) break; // the description follows
        if (line.consume_front("Version:")) return line.trim().str();
      }
    }
  return std::nullopt;
}

std::optional<std::string> torchVersionMember(llvm::StringRef member) {
  for (const std::string &folder : installedFolders()) {
    Result<std::string> text = readFile(joined(joined(folder, "torch"), "version.py"));
    for (llvm::StringRef rest = text ? llvm::StringRef(*text) : ""; !rest.empty();) {
      llvm::StringRef line;
      std::tie(line, rest) = rest.split('\n'); // cuda: Optional[str] = '13.0'
      auto [target, value] = line.split('=');
      if (target.split(':').first.trim() != member) continue;
      value = value.trim();
      if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"')) return value.drop_front().drop_back().str();
    }
    if (text) break;
  }
  return std::nullopt;
}

} // namespace tilewright
