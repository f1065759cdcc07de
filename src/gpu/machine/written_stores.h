// What the copy engine stores comes in no order with what threads store. A ttg.tma_store_wait waits until buffers have been read; with this
// attribute until all is written, and whoever meets the thread that waits may store to the same places.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::gpu {

constexpr llvm::StringLiteral waitForWritesName = "ttg.wait_for_writes";

} // namespace tilewright::gpu
