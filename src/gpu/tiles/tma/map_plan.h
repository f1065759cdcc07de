// A plan for a tensor map: the address and the mask of one load or store as a box in a tensor.
//     a + (m0 + i) * stride_am + (k0 + j), where m0 + i < M     ->     base a, dims {k: start k0; m: start m0, stride stride_am, bound M}
// Each plan is verified before use: `verifyTensorMap` expands it into an address and a mask and compares these with the original ones.
#pragma once

#include "ir/address/indices.h"

namespace tilewright::gpu {

/// Describes one dimension of a map, and where the tile starts in it.
struct MapDimension {
  int64_t tileDim = -1; // -1: an additional dimension, along which the tile has one element
  address::Polynomial stride{}, start{};
  std::optional<address::Polynomial> distance{}; // start - bound, for a dimension that is masked
  bool fixed = false;                            // the mask also compares with 0, so `start` is exact and may be negative
  bool placeholder = false;                      // one element; the stride is unknown
  bool clamped = false;                          // `start` may have any value past the bounds
  bool isSigned = false;                         // an additional dimension with a second coordinate, because `start` may be negative
  address::Polynomial bound{};                   // empty: no bound
};

struct MapPlan {
  mlir::BlockArgument base;
  address::Polynomial offset;           // in elements; the host adds it to the base
  llvm::SmallVector<MapDimension> dims; // innermost first
  address::Mask tileMask;               // the condition under which any of the tile exists
  llvm::SmallVector<int64_t> box;       // by dimension of the tile: how many elements are copied. Elements past them are not demanded
};

/// Returns the plan for an access of `kernel` through a tile of pointers under a mask (null: none), or the failure reason. It holds under
/// the launch guards that `indices` collects. `demanded`: the demanded elements of a loaded tile, by dimension (empty: all).
Result<MapPlan> planTensorMap(address::Indices &indices, tt::FuncOp kernel, mlir::Value pointers, mlir::Value mask,
                              llvm::ArrayRef<int64_t> demanded = {});

/// True if the plan copies exactly the demanded elements that the pointers and the mask select, to and from the same positions.
bool verifyTensorMap(address::Indices &indices, const MapPlan &plan, mlir::Value pointers, mlir::Value mask,
                     llvm::ArrayRef<int64_t> demanded = {});

/// Returns the verified plan of a load or a store, or the failure reason. The kernel does not rely on the guards of `indices` yet.
Result<MapPlan> planVerifiedMap(mlir::Operation *op, address::Indices &indices, mlir::Value pointers, mlir::Value mask,
                                llvm::ArrayRef<int64_t> demanded);

} // namespace tilewright::gpu
