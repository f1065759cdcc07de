// The reference of the language: it tells in full what the table of builtins and the library say in one line.
//
// The texts lie in src/evaluate/reference/*.txt and are part of the library. `help(tl.sum)`, `tilewright explain sum`, the stubs of editors
// and the pages of docs/ show them; tests/run/test_reference.py runs their examples.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright {

/// Arguments, result, errors and examples of a function by its path below triton.language; empty where there is no text.
llvm::StringRef referenceText(llvm::StringRef path);

/// What a function of libdevice does, in one line; empty where there is no function of that name.
llvm::StringRef libdeviceSummary(llvm::StringRef name);

} // namespace tilewright
