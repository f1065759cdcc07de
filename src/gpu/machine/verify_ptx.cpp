// The verifiers of ptx operations: what an operation alone must satisfy. The simulator checks the rules between operations.
//
//   ptx.tcgen05_ld m16x128b %a -> i32             of shape 16x128b moves a power of two from 2 to 128 registers, not 1
//   ptx.mbarrier_wait %bar, %parity scope gpu     an mbarrier synchronizes threads of a CTA or of a cluster
#include "gpu/machine/tcgen05.h"

#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::ptx {

// ---- mbarriers

static LogicalResult verifyScope(Operation *op, Scope scope) {
  if (scope == Scope::cta || scope == Scope::cluster) return success();
  return op->emitOpError("has the scope of a CTA or of a cluster: an mbarrier synchronizes no other threads");
}

LogicalResult MbarrierArriveOp::verify() {
  if (getToFirst() && !getInCtas()) return emitOpError("arrives in the first CTA only if it names the CTAs of the cluster");
  if (getInCtas() && getCount() != 1) return emitOpError("arrives once in each CTA of the cluster");
  return verifyScope(*this, getScope());
}

LogicalResult MbarrierWaitOp::verify() {
  return verifyScope(*this, getScope());
}

// ---- tensor memory

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
