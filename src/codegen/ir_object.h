// Objects from LLVM IR text, for functions that are simpler to write as text than to build: the launchers of `tilewright build`.
#pragma once

#include "support/result.h"

#include <string>

namespace tilewright {

/// Returns the relocatable, position-independent object of a module for any x86-64 CPU, or LLVM's error.
Result<std::string> objectOfIr(const std::string &text);

} // namespace tilewright
