// Which compiler this is, for cache keys: code of another build may differ in every byte.
#pragma once

#include <string>

namespace tilewright {

/// The digest of the object file that holds this code and, where LLVM and MLIR are shared libraries, of those as well.
std::string buildId();

} // namespace tilewright
