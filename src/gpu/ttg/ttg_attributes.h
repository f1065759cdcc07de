// The names of the ttg dialect's discardable attributes, which ttg_attributes.def describes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ttg {

#define TTG_ATTRIBUTE(constant, text, type, place) constexpr llvm::StringLiteral constant = text;
#include "gpu/ttg/ttg_attributes.def"

} // namespace tilewright::ttg
