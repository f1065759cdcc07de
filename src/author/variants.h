// Derives other inputs from the given ones. They find errors of kernels that are right for one size only.
//
//   float32[64, 48], float32[48, 80], 48      every second element of longer rows; rows with gaps; 80 -> 0, 80 -> 1, 80 -> 79, 64 -> 0, ...
//
// Equal extents are assumed to be one size (the K of two operands). So is an integer argument with that value, or with a tensor's number of
// elements. If that is wrong, the reference does not accept the derived inputs, and the variant is skipped.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::author {

/// The properties of an input on which variants depend.
struct InputProperties {
  std::optional<std::vector<int64_t>> shape; // of a tensor
  std::optional<int64_t> integer;            // an integer argument
  int64_t highest = -1;                      // the largest element of a tensor of integers, which may be indices
};

enum class VariantKind : uint8_t { given, strided, empty, one, odd };
inline constexpr VariantKind allKinds[] = {VariantKind::given, VariantKind::strided, VariantKind::empty, VariantKind::one,
                                           VariantKind::odd};
const char *kindName(VariantKind kind);
std::optional<VariantKind> kindNamed(std::string_view name);

struct Variant {
  enum class Layout : uint8_t { asGiven, everySecond, withGaps, resized };
  VariantKind kind = VariantKind::given;
  std::string name; // "as given", "98432 -> 1"
  Layout layout = Layout::asGiven;
  std::map<int64_t, int64_t> changes; // for a resized variant: the new value of each extent
  std::string unfit;                  // the reason why it is skipped; empty: it is not

  /// Returns the shape of the derived tensor.
  std::vector<int64_t> shapeOf(llvm::ArrayRef<int64_t> shape) const;
  /// Returns the extents of the memory that the derived tensor is a view of: the same, or longer rows.
  std::vector<int64_t> wholeOf(llvm::ArrayRef<int64_t> shape) const;
  /// Returns the stride of the last axis in that memory: every element, or every second one.
  int64_t stepOfLast() const { return layout == Layout::everySecond ? 2 : 1; }
  /// Returns the new value of an integer argument.
  int64_t integerOf(int64_t value, llvm::ArrayRef<InputProperties> inputs) const;
};

/// Returns all variants of the wanted kinds for these inputs.
std::vector<Variant> variantsOf(llvm::ArrayRef<InputProperties> inputs, llvm::ArrayRef<VariantKind> kinds);

} // namespace tilewright::author
