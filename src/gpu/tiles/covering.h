// Rows that start anywhere (rows of 1025 halves, one after another) permit no access wider than an element. For rows that
// a product reads, a thread loads the aligned words that cover its part, and shifts them (gpu/thread/unaligned_load.cpp).
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ttg {

/// On a tt.load (a unit attribute): ttg.vector neighbours lie side by side, but at any address.
constexpr llvm::StringLiteral unalignedName = "ttg.unaligned";

/// On a tt.load (a unit attribute): its elements are aligned words, some bytes of which may lie outside the tensor.
constexpr llvm::StringLiteral alignedWordsName = "ttg.aligned_words";

} // namespace tilewright::ttg
