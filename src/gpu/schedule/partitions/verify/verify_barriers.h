// The mbarriers of a kernel's partitions: what has to hold whatever the order in which its warps run.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

struct PartitionWarps {
  ttg::Partition partition;
  int64_t warps;
  bool onlyInFirstCta = false; ///< in other CTAs it only takes part in barriers of all warps
};

/// Reports a bug if waits and arrivals of the operations that are marked as these partitions' break a rule (verify_barriers.cpp).
mlir::LogicalResult verifyBarriers(tt::FuncOp function, ttg::ConfigAttr config, llvm::ArrayRef<PartitionWarps> partitions);

} // namespace tilewright::gpu
