// Checks the hardware's rules, so that a message names the rule: the driver's encoder reports only "invalid argument".

#include "runtime/cuda/maps.h"

#include <algorithm>

namespace tilewright::gpu {

static Failure rule(const std::string &quantity, int64_t value, const std::string &wanted) {
  return Failure{quantity + " is " + std::to_string(value) + ", and must be " + wanted};
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
  if (spec.swizzle && inner > spec.swizzle) return rule("the inner size of the box in bytes", inner, "no more than its swizzle");
  out.l2Promotion = 2; // 128 bytes
  out.fill = spec.nanFill;
  return out;
}

} // namespace tilewright::gpu
