// The parameters of a kernel by name.
#pragma once

#include "evaluate/value.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright {

/// Returns the index of a kernel's parameter; nothing if it has none of this name.
inline std::optional<size_t> indexOfParameter(const JitFunction &kernel, llvm::StringRef name) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].name == name) return i;
  return std::nullopt;
}

} // namespace tilewright
