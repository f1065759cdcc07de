// A plan for a tensor map: how the address and the mask of one load or store become a box in a tensor.
//     a + (m0 + i) * stride_am + (k0 + j), where m0 + i < M     ->     base a, dims {k: start k0; m: start m0, stride stride_am, bound M}
// A plan is worth nothing unless it says the same as what it was made from. So it is expanded into an address and a mask again, and these
// are compared with the original ones before anybody uses it (`provesItself`).
#pragma once

#include "ir/address/indices.h"

namespace tilewright::gpu {

/// One dimension of a map, and where the tile starts in it.
struct MapDimension {
  int64_t tileDim = -1; // -1: a further dimension, along which the tile has one element
  address::Polynomial stride{}, start{};
  std::optional<address::Polynomial> distance{}; // start - bound, for a dimension that is masked
  bool fixed = false;                            // the mask compares with 0 too: `start` is what it says, and may be negative
  bool placeholder = false;                      // one element; how far the next would be is not known
  bool clamped = false;                          // `start` may be anything: beyond the bounds, how far does not matter
  address::Polynomial bound{};                   // none without terms
};

struct MapPlan {
  mlir::BlockArgument base;
  address::Polynomial offset;           // elements, that the host adds to the base
  llvm::SmallVector<MapDimension> dims; // innermost first
  address::Mask wholly;                 // what must hold for any of the tile to exist
  llvm::SmallVector<int64_t> box;       // by dimension of the tile: how much of it is moved. What lies behind that, nobody looks at
};

constexpr int64_t mapAlignment = 16; // bytes: of a map's base and of its strides

/// The plan for the access of `kernel` through a tile of pointers under a mask (null: none), or why there is none. It holds where
/// indices.facts() do. `looked`: how much of a tile that is loaded is looked at, by dimension (none: all).
Result<MapPlan> planTensorMap(address::Indices &indices, tt::FuncOp kernel, mlir::Value pointers, mlir::Value mask,
                              llvm::ArrayRef<int64_t> looked = {});

/// Whether the plan moves exactly the elements that pointers and mask say, to and from the same places, of those that are looked at.
bool provesItself(address::Indices &indices, const MapPlan &plan, mlir::Value pointers, mlir::Value mask,
                  llvm::ArrayRef<int64_t> looked = {});

} // namespace tilewright::gpu
