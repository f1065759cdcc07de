// Kernels in C++ as input of commands: a file with TILEWRIGHT_EXPORT (tilewright/language/launch.h), or the shared library that the user's
// compiler made of such files. A file is first compiled with that compiler. Loading a library runs its code.
#pragma once

#include "cli/command.h"
#include "frontend/frontend.h"

namespace tilewright {

/// True for the path of a source file in C++, or of a shared library.
bool isNativeFile(const std::string &path);
/// True for the path of a source file in C++.
bool isCppSource(llvm::StringRef path);

/// Loads a kernel of such a file; an empty name is for a library with one kernel. Null after an error.
std::optional<FileKernel> loadNativeKernel(const std::string &path, const std::string &name, Diagnostics &diagnostics);

/// Gives the parameters of a kernel in C++ their types in C++, which may be pointers to constants. False, after an error, if the signature
/// has another type.
bool takeNativeTypes(const FileKernel &kernel, llvm::MutableArrayRef<ArgumentSpec> args, Diagnostics &diagnostics);

} // namespace tilewright
