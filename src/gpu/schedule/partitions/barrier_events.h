// What the warp groups of partitions do with mbarriers: each one's list of waits and arrivals, in a small launch.
#pragma once

#include "gpu/ttg/ttg.h"

#include "llvm/ADT/STLFunctionalExtras.h"

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

/// What a warp group does: it waits for `phases` of a barrier, or arrives there, or reads a stage that TMA fills.
struct Event {
  enum class Kind : uint8_t { wait, arrival, read };

  mlir::Operation *op;
  Kind kind;
  size_t barrier; ///< `noBarrier`: its index is none of an allocated one. Of a read: that at which the stage's copies arrive
  int64_t phases = 0;
  int64_t arrivals = 0, bytes = 0; ///< the bytes that TMA brings are negative
};

/// The barriers of all CTAs: those of the kernel, and one each for the cta_barriers of the consumers and of all warps.
struct Barriers {
  Barriers(tt::FuncOp function, int64_t ctas, int64_t consumerGroups, int64_t groups);
  size_t perCta() const { return arrivals.size(); }

  int64_t ctas;
  llvm::DenseMap<mlir::Value, size_t> first;
  llvm::DenseMap<mlir::Operation *, ttg::TmaLoadOp> copies; ///< one by buffer; null if they arrive at barriers of several kinds
  llvm::SmallVector<int64_t> arrivals;                      ///< of a phase, in each CTA
  size_t ofConsumers;
};

/// Calls `use` for each launch with the events of each warp group, in the order of its program, until it returns false. Returns
/// the operation that depends on data, or is of more iterations than can be listed; null if there is none.
mlir::Operation *listEvents(tt::FuncOp function, llvm::ArrayRef<WarpGroup> groups, const Barriers &barriers,
                            llvm::ArrayRef<Launch> launches, llvm::function_ref<bool(llvm::ArrayRef<std::vector<Event>>)> use);

} // namespace tilewright::gpu
