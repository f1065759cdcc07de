// Objects for programs that do without Tilewright: how their functions are called, and the C header that declares them.
#pragma once

#include "driver/compile.h"

namespace tilewright {

/// The name of the function of an object: NAME_HASH, where the hash tells variants of a kernel apart by signature, target and options.
std::string objectSymbol(const CompileRequest &request);
/// Whether C allows the name.
bool isCName(llvm::StringRef name);
/// A C header that declares the function `request.symbol` and its scratch memory. Nothing after an error.
std::optional<std::string> objectHeader(const CompileRequest &request, Diagnostics &diagnostics);

} // namespace tilewright
