// The CTA's named barriers (bar.sync id). Each has one purpose: all threads that arrive at one must mean the same.
#pragma once

#include <cstdint>

namespace tilewright::gpu {

/// All threads of the CTA; where copies have a producer, its warp and those that hold tiles.
constexpr uint32_t allWarpsBarrier = 0;
/// The threads that hold tiles, where copies have a producer.
constexpr uint32_t tilesBarrier = 1;
/// The ping-pong barrier of the first of two warpgroups; the second one has the next number (two_stage_pipeline.cpp).
constexpr uint32_t pingPongBarrier = 2;
/// For the first of two warpgroups alone, which stores its rows; the second one has the next number (per_warp_group_store.cpp).
constexpr uint32_t groupBarrier = 4;

} // namespace tilewright::gpu
