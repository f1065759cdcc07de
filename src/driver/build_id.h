// Identifies this build of the compiler in cache keys: another build may generate different code.
#pragma once

#include <string>

namespace tilewright {

/// The digest of the object file with this code, and of LLVM and MLIR if they are shared libraries.
std::string buildId();

} // namespace tilewright
