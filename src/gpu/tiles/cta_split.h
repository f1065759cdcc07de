// How a tile is split across the CTAs of a cluster: replicated, or sharded along one dimension. See split_ctas.cpp.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdint>
#include <optional>

namespace tilewright::gpu {

/// The dimension that a tile is sharded along; none: the tile is replicated.
struct CtaSplit {
  std::optional<int64_t> dim;
  bool isReplicated() const { return !dim.has_value(); }
  bool isShardedAlong(int64_t other) const { return dim == other; }
  bool operator==(const CtaSplit &) const = default;
};
inline const CtaSplit replicated;

inline CtaSplit shardedAlong(int64_t dim) {
  return {dim};
}
/// Returns the same split of a tile without the dimension `gone`, which must not be the split one.
inline CtaSplit withoutDim(CtaSplit split, int64_t gone) {
  return split.dim && *split.dim > gone ? shardedAlong(*split.dim - 1) : split;
}
/// Returns the same split of a tile with an additional dimension `added`.
inline CtaSplit withDim(CtaSplit split, int64_t added) {
  return split.dim && *split.dim >= added ? shardedAlong(*split.dim + 1) : split;
}

/// Returns the split of a reshape's source for the split `split` of its result: the dimension with as many elements before it.
inline CtaSplit sourceOfReshape(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to, CtaSplit split, int64_t ctas) {
  if (split.isReplicated()) return replicated;
  int64_t before = 1;
  for (int64_t extent : to.take_front(size_t(*split.dim)))
    before *= extent;
  int64_t passed = 1;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    if (passed == before && extent > 1) return extent >= ctas ? shardedAlong(int64_t(dim)) : replicated;
    passed *= extent;
  }
  return replicated;
}

} // namespace tilewright::gpu
