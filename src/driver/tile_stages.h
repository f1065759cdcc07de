// Upstream's TTGIR (.ttgir files), read as tt IR. Its layouts say how one compiler distributes tiles over threads; this compiler chooses
// its own.
#pragma once

#include "support/diagnostics.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tilewright {

/// Whether the text is TTGIR: its modules say how many warps they are for.
bool isTtgir(llvm::StringRef text);

/// The same program as text of tt IR, with the places of the file. The module's "ttg.num-warps" stays. Null after an error, for what has
/// no counterpart: buffers that are written several times, barriers, copies that run in the background.
std::optional<std::string> withoutLayouts(const SourceFile &file, Diagnostics &diagnostics);

} // namespace tilewright
