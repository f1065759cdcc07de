// The part of a result that a wgmma computes (demanded_extent.h): its registers, and those of the values that it becomes.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns the extent of a wgmma; empty: all.
llvm::ArrayRef<int64_t> mmaExtent(ttg::MmaAsyncOp wgmma);
/// True if a wgmma of this extent accumulates into this register of some thread.
bool isInMmaExtent(const Layout &layout, llvm::ArrayRef<int64_t> extent, int64_t reg);
/// Returns how many registers of a thread the wgmma accumulates into.
int64_t mmaRegisters(ttg::MmaAsyncOp wgmma);

/// Returns how many accumulators share a register: 16-bit ones do with that of the next column.
inline int64_t accumulatorsOfRegister(mlir::Type element) {
  return element.isF16() ? 2 : 1;
}

/// Maps accumulators to the rows and columns that MMAs compute, if these are not all.
using Sums = llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>>;
/// Returns the entries for all such MMAs of the function and for aliases of their results: loop-carried values, branch results and waits.
Sums partialSums(mlir::Operation *function);

} // namespace tilewright::gpu
