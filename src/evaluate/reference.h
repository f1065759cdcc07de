// The reference of the language: full texts for the one-line summaries in the table of builtins and the library.
//
// The texts are in src/evaluate/reference/*.txt and are part of the library. `help(tl.sum)`, `tilewright explain sum`, the stubs of editors
// and the pages of docs/ show them; tests/run/test_reference.py runs their examples.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright {

/// Arguments, result, errors and examples of a function by its path below triton.language; empty if there is no text.
llvm::StringRef referenceText(llvm::StringRef path);

/// The one-line summary of a function of libdevice; empty if there is no function of that name.
llvm::StringRef libdeviceSummary(llvm::StringRef name);

} // namespace tilewright
