// Tiles in shared memory in row-major order, whose elements are read by index.
#pragma once

#include "gpu/thread/thread_context.h"

namespace tilewright::gpu {

/// Writes the tile from element `firstElement` on; one thread writes each element.
void storeFlat(ThreadContext &t, Value base, const ThreadValues &held, const Layout &layout, int64_t firstElement);
Value loadFlat(ThreadContext &t, Value base, Value index, Type type);
ThreadValues loadAllFlat(ThreadContext &t, Value base, const Layout &layout, Type type);

} // namespace tilewright::gpu
