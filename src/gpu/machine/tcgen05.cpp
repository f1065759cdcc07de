// What follows from a tcgen05 operation alone.
#include "gpu/machine/tcgen05.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<int64_t> ctaGroupOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<ptx::Tcgen05AllocOp, ptx::Tcgen05DeallocOp, ptx::Tcgen05RelinquishOp, ptx::Tcgen05CpOp, ptx::Tcgen05ShiftOp, ptx::Tcgen05MmaOp,
            ptx::Tcgen05CommitOp>([](auto concrete) { return int64_t(concrete.getCtaGroup()); })
      .Default([](Operation *) { return std::nullopt; });
}

Operation *findOtherCtaGroup(Operation *function) {
  std::optional<int64_t> group;
  Operation *other = nullptr;
  function->walk([&](Operation *op) {
    std::optional<int64_t> own = ctaGroupOf(op);
    if (own && group && *own != *group && !other) other = op;
    if (own && !group) group = own;
  });
  return other;
}

int64_t registersOf(ptx::TensorShape shape) {
  switch (shape) {
  case ptx::TensorShape::m16x128b: return 2;
  case ptx::TensorShape::m16x256b: return 4;
  default: return 1;
  }
}

TensorPlace placeOf(ptx::TensorShape shape, int64_t thread, int64_t reg) {
  switch (shape) {
  case ptx::TensorShape::m32x32b: return {thread, reg};
  case ptx::TensorShape::m16x32bx2: return {thread % 16, reg};
  case ptx::TensorShape::m16x64b: return {thread / 4 + 8 * (thread & 1), (thread >> 1 & 1) + 2 * reg};
  case ptx::TensorShape::m16x128b: return {thread / 4 + 8 * (reg & 1), thread % 4 + 4 * (reg / 2)};
  case ptx::TensorShape::m16x256b: return {thread / 4 + 8 * (reg >> 1 & 1), thread % 4 * 2 + (reg & 1) + 8 * (reg / 4)};
  }
  return {0, 0};
}

CopyShape shapeOf(ptx::TensorCopy shape) {
  switch (shape) {
  case ptx::TensorCopy::m128x256b: return {128, 32};
  case ptx::TensorCopy::m4x256b: return {4, 32};
  case ptx::TensorCopy::m128x128b: return {128, 16};
  case ptx::TensorCopy::m32x128b: return {32, 16};
  default: return {64, 16};
  }
}

llvm::SmallVector<int64_t, 4> CopyShape::lanesOf(ptx::TensorCopy shape, int64_t row) const {
  switch (shape) {
  case ptx::TensorCopy::m4x256b: return {32 * row};
  case ptx::TensorCopy::m64x128b_02_13: return {row, row + 64};
  case ptx::TensorCopy::m64x128b_01_23: return {row + row / 32 * 32, row + row / 32 * 32 + 32};
  case ptx::TensorCopy::m32x128b: return {row, row + 32, row + 64, row + 96};
  default: return {row};
  }
}

MmaForm formOf(ptx::Tcgen05MmaOp op) {
  MmaForm form;
  form.ctaGroup = op.getCtaGroup();
  form.aInTensorMemory = op.getA().getType().isInteger(32);
  form.scaleBlock = op.getScaleBlock().value_or(0);
  return form;
}

} // namespace tilewright::gpu
