// What pad-tiles says about products and ranges that it has made larger.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::tt {

/// Of a product: how many of its rows and columns are real (two integers). Nobody looks at the others, whatever they are. Of a
/// tt.make_range (one integer): how many of its numbers are.
constexpr llvm::StringLiteral validExtentName = "tt.valid_extent";

} // namespace tilewright::tt
