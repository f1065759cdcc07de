// What the warp groups of partitions do with mbarriers: each one's list of waits and arrivals, in a small launch.
#pragma once

#include "gpu/ttg/ttg.h"

#include <optional>
#include <vector>

namespace tilewright::gpu {

/// Loops whose bounds are not known have so many iterations, and conditions that are not known have this value.
struct Launch {
  int64_t iterations;
  bool condition;
};

/// A warp group of a partition, in a CTA.
struct WarpGroup {
  ttg::Partition partition;
  int64_t cta, number, warps;
  bool isIdle = false; ///< it only takes part in barriers of all warps
};

constexpr size_t noBarrier = UINT32_MAX;

/// A wait or an arrival of a warp group.
struct Event {
  mlir::Operation *op;
  size_t barrier;                  ///< `noBarrier`: its index is none of an allocated one
  int64_t phases;                  ///< a wait: how many have to be complete; -1: an arrival
  int64_t arrivals = 0, bytes = 0; ///< an arrival; the bytes that TMA brings are negative
};

/// The barriers of all CTAs: those of the kernel, and one each for the cta_barriers of the consumers and of all warps.
struct Barriers {
  Barriers(tt::FuncOp function, int64_t ctas, int64_t consumerGroups, int64_t groups);
  size_t perCta() const { return arrivals.size(); }

  int64_t ctas;
  llvm::DenseMap<mlir::Value, size_t> first;
  llvm::SmallVector<int64_t> arrivals; ///< of a phase, in each CTA
  size_t ofConsumers;
};

/// Returns the waits and arrivals of each warp group, in the order of its program; null if they depend on data.
std::optional<std::vector<std::vector<Event>>> eventsOf(tt::FuncOp function, llvm::ArrayRef<WarpGroup> groups, const Barriers &barriers,
                                                        const Launch &launch);

} // namespace tilewright::gpu
