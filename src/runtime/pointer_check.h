// Checks the addresses of a launch before it runs, on request: a bad one is an error with the names of the kernel and the argument, not a
// fault inside the kernel.
//
// support/memory_map tells which memory exists. Reading it takes tens of microseconds or more, so only a launch that asks for it pays.
#pragma once

#include "runtime/argument.h"

namespace tilewright {

/// True if all pointers to the host's memory are valid from their first to their last byte, or for one element if the size is not known.
/// `slotNames`, `writes`: by run-time value, as in CompiledKernel. Empty tensors are not checked. False after an error.
bool checkPointers(llvm::StringRef kernel, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                   llvm::ArrayRef<std::string> slotNames, const std::vector<bool> &writes, Diagnostics &diagnostics);

} // namespace tilewright
