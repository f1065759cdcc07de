// A load of the aligned words around the needed bytes: some of its bytes may lie outside every tensor, and nobody uses those.
// An aligned word that contains one byte of a tensor can always be read, because memory is allocated in larger pieces.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// A unit attribute of a ptx.load_global: the simulator checks only those of its bytes that lie in a tensor.
constexpr llvm::StringLiteral unalignedName = "ptx.unaligned";

} // namespace tilewright::ptx
