// How a tile of a program of several blocks is shared by them: see split_ctas.cpp.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdint>
#include <optional>

namespace tilewright::gpu {

/// The dimension that a tile is split along; none: the tile is whole.
struct CtaSplit {
  std::optional<int64_t> dim;
  bool isReplicated() const { return !dim.has_value(); }
  bool isShardedAlong(int64_t other) const { return dim == other; }
  bool operator==(const CtaSplit &) const = default;
};
inline const CtaSplit whole;

inline CtaSplit along(int64_t dim) {
  return {dim};
}
/// The same dimension in a tile that has one less, `gone`; it must not be that one.
inline CtaSplit withoutDim(CtaSplit form, int64_t gone) {
  return form.dim && *form.dim > gone ? along(*form.dim - 1) : form;
}
/// The same dimension in a tile that has one more, `added`.
inline CtaSplit withDim(CtaSplit form, int64_t added) {
  return form.dim && *form.dim >= added ? along(*form.dim + 1) : form;
}

/// How the dimension `form` of the result of a change of shape lies in its source: where as many elements stand before both.
inline CtaSplit sourceOfReshape(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to, CtaSplit form, int64_t blocks) {
  if (form.isReplicated()) return whole;
  int64_t before = 1;
  for (int64_t extent : to.take_front(size_t(*form.dim)))
    before *= extent;
  int64_t passed = 1;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    if (passed == before && extent > 1) return extent >= blocks ? along(int64_t(dim)) : whole;
    passed *= extent;
  }
  return whole;
}

} // namespace tilewright::gpu
