// Loads that no loop hides, and what stands around the stores of their tiles.
#pragma once

#include "gpu/schedule/loop_schedule.h"

namespace tilewright::gpu {

/// Loads that are copied together where they stand: those whose tiles are stored next to each other.
struct CopyGroup {
  ttg::StoreSharedOp first;                       ///< of the whole run of stores
  llvm::SmallVector<ttg::StoreSharedOp> stores{}; ///< those that copies replace
  int64_t others = 0;                             ///< stores of the run that are threads' work
  mlir::Operation *reader = nullptr;              ///< the first reader of one of the buffers
  int64_t bytes = 0;
  bool threadsRead = false;
};
CopyGroup groupOf(ttg::DescriptorLoadOp load, llvm::ArrayRef<ttg::DescriptorLoadOp> left);

} // namespace tilewright::gpu
