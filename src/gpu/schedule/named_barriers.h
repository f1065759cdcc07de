// The block's named barriers (bar.sync id), each for one purpose: threads that meet at one must all mean the same.
#pragma once

#include <cstdint>

namespace tilewright::gpu {

/// All threads of the block; where copies have a producer, its warp and those that hold tiles.
constexpr uint32_t everybodyBarrier = 0;
/// The threads that hold tiles, where copies have a producer.
constexpr uint32_t tilesBarrier = 1;
/// The turn of the first of two warpgroups; the second one's is the next (rotate_loop.cpp).
constexpr uint32_t turnBarrier = 2;
/// The first of two warpgroups alone, which stores its rows; the second one's is the next (own_rows.cpp).
constexpr uint32_t groupBarrier = 4;

} // namespace tilewright::gpu
