// Reads upstream's TTGIR (.ttgir files) as tt IR. Its layouts distribute tiles over threads for another compiler; this compiler chooses
// its own.
#pragma once

#include "support/diagnostics.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tilewright {

/// True if the text is TTGIR: its modules have a number of warps.
bool isTtgir(llvm::StringRef text);

/// The same program as tt IR text, with the locations of the file. The attribute "ttg.num-warps" of the module stays. Null after an
/// error: there is no counterpart for buffers that are written several times, barriers and asynchronous copies.
std::optional<std::string> withoutLayouts(const SourceFile &file, Diagnostics &diagnostics);

} // namespace tilewright
