// LLVM's fatal errors as values. For example, instruction selection ends the process if a target has no instruction for an operation.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace tilewright {

/// Runs `run`. If LLVM reports a fatal error on this thread meanwhile, stops and returns its text; otherwise returns nothing. Fatal errors
/// outside of such calls end the process, as LLVM does without us.
///
/// After an error, no destructor of the functions between this one and LLVM's report has run. So whatever they may refer to (a context, a
/// module) must never be destroyed; it is lost, like the memory that they owned.
std::optional<std::string> fatalErrorOf(llvm::function_ref<void()> run);

} // namespace tilewright
