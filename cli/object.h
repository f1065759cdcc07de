// Objects for programs without Tilewright: the names of their functions, and the C header that declares them.
#pragma once

#include "driver/compile.h"

namespace tilewright {

/// The name of the function of an object: NAME_HASH, where the hash of signature, target and options identifies the variant.
std::string objectSymbol(const CompileRequest &request);
/// A C header that declares the function `request.symbol` and its scratch memory. Nothing after an error.
std::optional<std::string> objectHeader(const CompileRequest &request, Diagnostics &diagnostics);

/// The object as C source, for build systems that take only C: its assembly, for compilers that accept GNU assembly. The header is that of
/// the object. Nothing after an error.
std::optional<std::string> objectSource(const CompileRequest &request, Diagnostics &diagnostics);

} // namespace tilewright
