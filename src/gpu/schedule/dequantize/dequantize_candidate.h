// A loop in which a dequantize partition may pay: one MMA whose operands go through buffers, and whose second operand threads dequantize.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "support/result.h"

namespace tilewright::gpu {

/// An operand that goes through a buffer in the loop.
struct StoredOperand {
  ttg::StoreSharedOp store;
  ttg::AllocOp alloc;
  llvm::SmallVector<int32_t> order; ///< dimension i of the operand is dimension order[i] of the stored tile
  bool isCopied() const { return llvm::isa_and_nonnull<ttg::DescriptorLoadOp>(ttg::StoreSharedOp(store).getSrc().getDefiningOp()); }
};

/// The parts of such a loop.
struct DequantizeCandidate {
  mlir::scf::ForOp loop;
  ttg::MmaAsyncOp mma;
  StoredOperand first, second;
  mlir::Operation *fence = nullptr; ///< after the stores
  LaunchGuards guards;              ///< under which the loop suits

  /// The dimension of the stored tile that is dimension `dim` of the operand.
  static int64_t dimOf(const StoredOperand &operand, int64_t dim) { return operand.order[static_cast<size_t>(dim)]; }
  /// The first operand's rows, and K.
  Dims shapeOfFirst() const;
};

/// Returns the parts of the loop, or the reason why no partition can dequantize its second operand.
Result<DequantizeCandidate> matchDequantize(mlir::scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target);
/// True if such an operation of the block makes the value, or something that it is computed from.
bool isComputedFrom(mlir::Value value, mlir::Block *body, llvm::function_ref<bool(mlir::Operation *)> isSuch);
/// True if threads compute an operand of one of the loop's MMAs from elements that are narrower in memory.
bool upcastsOperand(mlir::scf::ForOp loop);

/// The layout of a tile that the partition computes: each thread holds whole rows along dimension `along`, further ones in further
/// registers. The bit of the second consumer warp group holds copies.
Layout rowsOfThreads(const Dims &shape, int64_t along);

} // namespace tilewright::gpu
