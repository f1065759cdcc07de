// Rows that start anywhere (1025 halves, one behind the other) have no access wider than an element. Of rows that a product reads, a
// thread loads the aligned words that cover its part, and shifts them (gpu/thread/covering_load.cpp).
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ttg {

/// Of a tt.load (a unit attribute): ttg.vector neighbours lie side by side, but at any address.
constexpr llvm::StringLiteral coveringName = "ttg.covering";

/// Of a tt.load (a unit attribute): its elements are aligned words, of which some bytes may lie outside of a tensor.
constexpr llvm::StringLiteral wordsName = "ttg.words";

} // namespace tilewright::ttg
