// Installed Python packages: their folders and their versions, read from their files. No Python runs.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The version of PyTorch, and of its CUDA, if none is installed: newer than all releases. A file that asks for a minimum gets it.
inline constexpr llvm::StringLiteral newestVersion = "9999.0.0";

/// Returns the folders of installed packages: those of PYTHONPATH, and the site-packages of the active virtual environment.
std::vector<std::string> installedFolders();

/// Returns the version in the metadata of an installed package (NAME-VERSION.dist-info/METADATA). `name` is compared as pip does: case,
/// '-', '_' and '.' do not count. Empty: it is not installed.
std::optional<std::string> installedVersion(llvm::StringRef name);

/// Returns a member of torch.version of the installed PyTorch ("cuda": "13.0"). Empty: it is not installed, or the member is None.
std::optional<std::string> torchVersionMember(llvm::StringRef member);

} // namespace tilewright
