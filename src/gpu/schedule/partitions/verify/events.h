// What the warps of partitions do with mbarriers, and with stages that TMA fills, in a small launch.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/gpu_hardware.h"

namespace tilewright::gpu {

/// A warp group of a partition, in a CTA. The first warp of a partition executes some operations alone, so it is a group of its own.
struct WarpGroup {
  ttg::Partition partition;
  int64_t cta, firstWarp, warps; ///< `firstWarp`: in the partition
  bool isIdle;                   ///< it only takes part in barriers of all warps

  int64_t number() const { return firstWarp / warpsOfGroup; }
};

constexpr size_t noIndex = UINT32_MAX;          ///< no stage
constexpr size_t notAllocated = UINT32_MAX - 1; ///< a barrier or a stage that its allocation does not have

/// What a warp group does: it waits for `phases` of a barrier, or arrives there, or reads or fills a stage. An MMA reads for some time.
struct Event {
  enum class Kind : uint8_t { wait, arrival, read, beginRead, endRead, write };

  mlir::Operation *op;
  Kind kind;
  size_t barrier = 0;     ///< of a wait or an arrival
  size_t stage = noIndex; ///< of a read or a write, or which the copy fills that arrives
  int64_t phases = 0;
  int64_t arrivals = 0, bytes = 0; ///< the bytes that TMA brings are negative
  size_t read = 0;                 ///< of the end of an MMA's read: the index of the read among the warp group's events
  bool isAsync = false;            ///< the tensor core does it, at any time after the group's earlier such events
};

/// The barriers and the stages of all CTAs. Each CTA has those of the kernel, and a barrier each for the cta_barriers of the consumers and
/// of all warps. Stages are the tiles of buffers that TMA or a partition fills; a buffer that is not circular has one.
struct Resources {
  Resources(tt::FuncOp function, llvm::ArrayRef<WarpGroup> groups);
  bool hasStages(mlir::Value buffer) const;

  int64_t ctas;
  llvm::DenseMap<mlir::Value, size_t> firstBarrier;
  llvm::SmallVector<int64_t> arrivals; ///< of a phase, at each barrier of a CTA
  size_t ofConsumers;                  ///< its cta_barrier
  llvm::DenseMap<mlir::Operation *, size_t> firstStage;
  size_t stages = 0;      ///< in each CTA
  bool tmaStores = false; ///< TMA stores one of them
};

} // namespace tilewright::gpu
