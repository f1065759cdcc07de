// Checks the hardware's rules, so that a message names the rule: the driver's encoder reports only "invalid argument".

#include "runtime/cuda/maps.h"

#include <algorithm>

namespace tilewright::gpu {

static Failure rule(const std::string &quantity, int64_t value, const std::string &wanted) {
  return Failure{quantity + " is " + std::to_string(value) + ", and must be " + wanted};
}

/// The further rules of the element type CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, whose inner extents count numbers of 4 bits.
static Result<void> countNumbers(TensorMapArguments &out) {
  constexpr uint64_t alignment = 32, numbers = 128;
  auto wrong = [](const std::string &quantity, uint64_t value, const std::string &wanted) {
    return rule(quantity + " of a map of 4-bit numbers with padding", static_cast<int64_t>(value), wanted);
  };
  out.dims[0] *= 2;
  out.box[0] *= 2;
  if (!out.address) out.dims[0] = numbers;
  if (out.address % alignment) return wrong("the address", out.address, "a multiple of 32 bytes");
  if (out.dims[0] % numbers) return wrong("the inner extent", out.dims[0], "a multiple of 128");
  if (out.box[0] != numbers) return wrong("the inner extent of the box", out.box[0], "128");
  if (out.swizzle && out.swizzle != 3) return wrong("the code of the swizzle", out.swizzle, "0 or 3");
  for (size_t i = 0; i + 1 < out.rank; ++i) {
    if (out.dims[i + 1] == 1 && out.strides[i] % alignment) out.strides[i] = alignment;
    if (out.strides[i] % alignment) return wrong("a stride", out.strides[i], "a multiple of 32 bytes");
  }
  return {};
}

Result<TensorMapArguments> tensorMapArguments(const TensorMapSpec &spec, llvm::ArrayRef<uint64_t> slots) {
  constexpr int64_t largestStride = int64_t(1) << 40;
  size_t rank = spec.dims.size();
  if (rank < 1 || rank > 5) return rule("the number of dimensions", static_cast<int64_t>(rank), "1 to 5");
  if (spec.strides.size() != rank - 1 || spec.box.size() != rank) return Failure{"its strides and box do not fit its dimensions"};
  TensorMapArguments out;
  out.dataType = static_cast<uint32_t>(spec.element);
  out.rank = static_cast<uint32_t>(rank);
  out.address = slots[static_cast<size_t>(spec.baseSlot)] + static_cast<uint64_t>(spec.baseOffset.evaluate(slots) * spec.elementBytes);
  bool empty = slots[static_cast<size_t>(spec.baseSlot)] == 0;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = spec.dims[i].unbounded ? int64_t(INT32_MAX) + 1 : spec.dims[i].extent.evaluate(slots);
    if (!spec.dims[i].unbounded && extent > largestMapExtent)
      return rule("the extent of dimension " + std::to_string(i) + " (innermost first)", extent,
                  "at most " + std::to_string(largestMapExtent));
    empty |= extent <= 0;
    out.dims[i] = static_cast<uint64_t>(std::max<int64_t>(extent, 1));
  }
  if (empty) {
    out.address = 0;
    std::fill_n(out.dims, rank, 1);
  }
  if (out.address % 16 != 0) return Failure{"its address is not a multiple of 16 bytes"};
  for (size_t i = 0; i < rank; ++i) {
    std::string which = "dimension " + std::to_string(i) + " (innermost first)";
    int64_t box = spec.box[i];
    if (box < 1 || box > 256) return rule("the box of " + which, box, "1 to 256");
    out.box[i] = static_cast<uint32_t>(box);
    if (i == 0) continue;
    int64_t stride = 0;
    if (__builtin_mul_overflow(spec.strides[i - 1].evaluate(slots), spec.elementBytes, &stride)) stride = largestStride;
    // A dimension of one element has no stride.
    if (out.dims[i] == 1 && (stride % 16 != 0 || stride <= 0 || stride >= largestStride)) stride = 16;
    if (stride % 16 != 0 || stride < 0 || stride >= largestStride)
      return rule("the stride of " + which, stride, "a multiple of 16 bytes, from 0 to 2^40");
    out.strides[i - 1] = static_cast<uint64_t>(stride);
  }
  int64_t inner = spec.box[0] * spec.elementBytes;
  if (inner % 16 != 0) return rule("the inner size of the box in bytes", inner, "a multiple of 16");
  switch (spec.swizzle) {
  case 0: out.swizzle = 0; break;
  case 32: out.swizzle = 1; break;
  case 64: out.swizzle = 2; break;
  case 128: out.swizzle = 3; break;
  default: return rule("the swizzle", spec.swizzle, "0, 32, 64 or 128");
  }
  bool isPairs = spec.element == MapElement::paddedPairs;
  if (spec.swizzle && inner * (isPairs ? 2 : 1) > spec.swizzle)
    return rule("the inner size of the box in bytes", inner, "no more than its swizzle");
  out.l2Promotion = 2; // 128 bytes
  out.fill = spec.nanFill;
  if (Result<void> counted = isPairs ? countNumbers(out) : Result<void>(); !counted) return Failure{counted.error()};
  return out;
}

} // namespace tilewright::gpu
