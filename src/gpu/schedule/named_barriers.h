// The CTA's named barriers (bar.sync id). Each has one purpose: all threads that arrive at one must mean the same.
#pragma once

#include "support/gpu_hardware.h"

#include <cstdint>

namespace tilewright::gpu {

/// The threads of all partitions, or of the CTA if it has none.
constexpr uint32_t allWarpsBarrier = 0;
/// The threads of the default region, in a kernel with partitions.
constexpr uint32_t defaultBarrier = 1;
/// The ping-pong barrier of the first of two warpgroups; the second one has the next number (two_stage_pipeline.cpp).
constexpr uint32_t pingPongBarrier = 2;
/// For the first of two warpgroups alone, which stores its rows; the second one has the next number (stores_in_flight.cpp).
constexpr uint32_t groupBarrier = 4;
/// The threads of the first partition; each other partition has the next number.
constexpr uint32_t partitionBarrier = 6;
constexpr uint32_t maxPartitions = namedBarriers - partitionBarrier;

} // namespace tilewright::gpu
