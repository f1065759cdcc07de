// Compiles a file with kernels in C++ to a shared library, with the user's C++ compiler.
#pragma once

#include "support/diagnostics.h"
#include "support/temporary_folder.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct CompiledSource {
  std::unique_ptr<TemporaryFolder> folder;
  std::vector<std::string> files; // that the compiler read: headers, except those of the system
  std::string library() const { return folder->file("kernels.so"); }
};

/// The compiler is $CXX, or the first of c++, clang++ and g++ in PATH. What it prints goes to stderr. Null after an error.
std::optional<CompiledSource> compileCppSource(const std::string &path, Diagnostics &diagnostics);

} // namespace tilewright
