// The builtins of the language: one table (builtins.def), asked by name.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tilewright {

/// One builtin. `path` is its name below triton.language ("load", "math.exp", "extra.libdevice.tanh").
struct Builtin {
  llvm::StringRef path;
  llvm::StringRef signature; // "load(pointer, mask=None, other=None, ...)"
  llvm::StringRef summary;
  int64_t index; // of its emitter
};

/// Null if there is none of that name.
const Builtin *findBuiltin(llvm::StringRef path);
std::vector<const Builtin *> allBuiltins();

/// The part of the library that is written in the language itself (prelude.py): softmax, philox, cdiv, sort, ... Never empty.
llvm::StringRef preludeSource();

} // namespace tilewright
