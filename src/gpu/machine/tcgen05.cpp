// Verifiers of tcgen05 operations, and what else follows from an operation alone.
#include "gpu/machine/tcgen05.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

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

MmaForm formOf(ptx::Tcgen05MmaOp op) {
  MmaForm form;
  form.ctaGroup = op.getCtaGroup();
  form.aInTensorMemory = op.getA().getType().isInteger(32);
  form.scaleBlock = op.getScaleBlock().value_or(0);
  return form;
}

} // namespace tilewright::gpu

namespace tilewright::ptx {

/// The rules that loads and stores of tensor memory share. PTX ISA 9.7.16.8.3, table 49.
static LogicalResult verifyRegisters(Operation *op, TensorShape shape, size_t count, bool hasHalfOffset) {
  constexpr size_t maxRegisters = 128;
  size_t least = size_t(gpu::registersOf(shape));
  if (!llvm::isPowerOf2_64(count) || count < least || count > maxRegisters)
    return op->emitOpError() << "of shape " << stringifyTensorShape(shape).drop_front() << " moves a power of two from " << least
                             << " to 128 registers, not " << count;
  if (hasHalfOffset != (shape == TensorShape::m16x32bx2))
    return op->emitOpError() << "has an offset of its second half for the shape 16x32bx2, and only for it";
  return success();
}

LogicalResult Tcgen05LdOp::verify() {
  return verifyRegisters(*this, getShape(), getValues().size(), getHalfOffset().has_value());
}
LogicalResult Tcgen05StOp::verify() {
  return verifyRegisters(*this, getShape(), getValues().size(), getHalfOffset().has_value());
}

LogicalResult Tcgen05MmaOp::verify() {
  gpu::MmaKind kind = gpu::kindOf(getKind());
  bool hasScales = gpu::hasBlockScales(kind);
  if (bool(getScaleA()) != hasScales || bool(getScaleB()) != hasScales || getScaleBlock().has_value() != hasScales)
    return emitOpError() << "of kind " << stringifyMmaKind(getKind())
                         << (hasScales ? " needs scales of A and B and their block" : " has no scales");
  size_t words = 4 * size_t(getCtaGroup());
  if (!getDisable().empty() && (hasScales || getDisable().size() != words))
    return emitOpError() << "disables lanes by " << words << " words, and only without block scales";
  if (getScaleInputD() && kind != gpu::MmaKind::f16 && kind != gpu::MmaKind::tf32)
    return emitOpError() << "scales the input D only for kinds f16 and tf32";
  APInt bits;
  if (!matchPattern(getInstruction(), m_ConstantInt(&bits))) return success(); // the simulator checks the others
  Result<gpu::InstructionDescriptor> descriptor = gpu::decodeInstruction(kind, uint32_t(bits.getZExtValue()));
  if (!descriptor) return emitOpError() << descriptor.error();
  std::string broken = gpu::brokenRule(*descriptor, gpu::formOf(*this));
  return broken.empty() ? success() : LogicalResult(emitOpError() << broken);
}

} // namespace tilewright::ptx
