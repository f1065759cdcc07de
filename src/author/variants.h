// Other inputs, derived from those that are given: what a kernel that is right for one size often gets wrong.
//
//   float32[64, 48], float32[48, 80], 48      every other element of longer rows; rows with gaps; 80 -> 0, 80 -> 1, 80 -> 79, 64 -> 0, ...
//
// Extents that are equal are taken for one size (the K of two factors), and an integer of that value, or of a tensor's number of elements,
// for the same number. Where that is wrong, the reference does not accept the derived inputs, and the variant is left out.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::author {

/// An input, as far as variants depend on it.
struct InputProperties {
  std::optional<std::vector<int64_t>> shape; // of a tensor
  std::optional<int64_t> integer;            // an argument that is one
  int64_t highest = -1;                      // the greatest element of a tensor of integers, which may be indices
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
  std::map<int64_t, int64_t> changes; // of resized: what each extent becomes
  std::string unfit;                  // why it is left out; empty: it is not

  /// Of a tensor of this shape: that of the derived one.
  std::vector<int64_t> shapeOf(llvm::ArrayRef<int64_t> shape) const;
  /// The extents of the memory that the derived tensor is a view of: the same, or longer rows.
  std::vector<int64_t> wholeOf(llvm::ArrayRef<int64_t> shape) const;
  /// Which elements of that the last axis takes: every one, or every other one.
  int64_t stepOfLast() const { return layout == Layout::everySecond ? 2 : 1; }
  /// What an integer among such inputs becomes.
  int64_t integerOf(int64_t value, llvm::ArrayRef<InputProperties> inputs) const;
};

/// All that can be derived from inputs like these, of the wanted kinds.
std::vector<Variant> variantsOf(llvm::ArrayRef<InputProperties> inputs, llvm::ArrayRef<VariantKind> kinds);

} // namespace tilewright::author
