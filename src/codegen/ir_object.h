// Objects from LLVM IR text, for functions that are simpler to write as text than to build: the launchers of `tilewright build`.
#pragma once

#include "support/result.h"
#include "support/target.h"

#include <string>

namespace tilewright {

/// Returns the relocatable, position-independent object of a module for any CPU of an instruction set, or LLVM's error.
Result<std::string> objectOfIr(const std::string &text, Isa isa);

} // namespace tilewright
