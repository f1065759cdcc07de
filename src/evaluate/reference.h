// The reference of the language: what its table of builtins and its library say in a line, told in full.
//
// The texts lie in src/evaluate/reference/*.txt and are part of the library. `help(tl.sum)`, `tilewright explain sum`, the stubs of editors
// and the pages of docs/ show them; tests/run/test_reference.py runs their examples.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright {

/// Arguments, result, errors and examples of a function by its path below triton.language; empty where there is no text.
llvm::StringRef referenceText(llvm::StringRef path);

/// What a function of libdevice does, in a line; empty where there is none of that name.
llvm::StringRef libdeviceSummary(llvm::StringRef name);

} // namespace tilewright
