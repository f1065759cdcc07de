// The verifiers of the ptx operations: the rules of PTX that follow from an operation alone. The printer and the simulator rely on them.
#include "gpu/machine/tcgen05.h"
#include "support/gpu_hardware.h"

#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::ptx {

//===------------------------------------------------------------------------------------------------------------ memory

static LogicalResult verifyAccess(Operation *op, TypeRange types) {
  constexpr size_t maxBits = 8 * gpu::maxAccessBytes;
  if (types.empty() || !llvm::all_equal(types) || !types.front().isIntOrFloat() || types.front().getIntOrFloatBitWidth() < 8)
    return op->emitOpError("accesses values of one type of 8 to 64 bits");
  size_t bits = types.front().getIntOrFloatBitWidth();
  if (!llvm::isPowerOf2_64(types.size()) || types.size() * bits > maxBits)
    return op->emitOpError("cannot access ") << types.size() << " values of " << bits << " bits at once";
  return success();
}

LogicalResult LoadGlobalOp::verify() {
  if (getCache() == Cache::wb || getCache() == Cache::wt) return emitOpError("is a load, which has no such cache operator");
  if (!getOther().empty() && getOther().getTypes() != getValues().getTypes())
    return emitOpError("has another type of `other` than of values");
  return verifyAccess(*this, getValues().getTypes());
}
LogicalResult StoreGlobalOp::verify() {
  if (getCache() == Cache::ca || getCache() == Cache::cv) return emitOpError("is a store, which has no such cache operator");
  return verifyAccess(*this, getValues().getTypes());
}
LogicalResult LoadSharedOp::verify() {
  return verifyAccess(*this, getValues().getTypes());
}
LogicalResult StoreSharedOp::verify() {
  return verifyAccess(*this, getValues().getTypes());
}
LogicalResult LoadBlockOp::verify() {
  return verifyAccess(*this, getValues().getTypes());
}

static LogicalResult verifyMatrices(Operation *op, size_t count) {
  return count == 1 || count == 2 || count == 4 ? success() : LogicalResult(op->emitOpError("moves 1, 2 or 4 matrices at once"));
}
LogicalResult LdmatrixOp::verify() {
  return verifyMatrices(*this, getValues().size());
}
LogicalResult StmatrixOp::verify() {
  return verifyMatrices(*this, getValues().size());
}

static LogicalResult verifyRank(Operation *op, size_t rank) {
  return rank >= 1 && rank <= gpu::tmaMaxRank ? success()
                                              : LogicalResult(op->emitOpError("has a tensor map of 1 to 5 dimensions, not ") << rank);
}
LogicalResult TmaLoadOp::verify() {
  return verifyRank(*this, getCoordinates().size());
}
LogicalResult TmaStoreOp::verify() {
  return verifyRank(*this, getCoordinates().size());
}

//===---------------------------------------------------------------------------------------------------- mbarriers

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

//===------------------------------------------------------------------------------------------------------ matrices

LogicalResult WgmmaOp::verify() {
  int64_t n = getN();
  Format a = getAFormat();
  bool isInteger = a == Format::s8 || a == Format::u8, hasSixteenBits = a == Format::f16 || a == Format::bf16;
  int64_t step = isInteger && n > 24 ? gpu::wgmmaColumnStepOfIntegers : gpu::wgmmaColumnStep;
  if (n < gpu::wgmmaColumnStep || n > gpu::wgmmaMaxColumns || n % step) return emitOpError("cannot have n = ") << n << " for this format";
  size_t accumulators = static_cast<size_t>(getCFormat() == Format::f16 ? n / 4 : n / 2);
  if (getC().size() != accumulators || getC().getTypes() != getD().getTypes())
    return emitOpError("has ") << accumulators << " accumulators";
  bool hasRegisters = getA().size() == 4, isDescriptor = getA().size() == 1 && getA().front().getType().isInteger(64);
  if (!hasRegisters && !isDescriptor) return emitOpError("has a descriptor or four registers of a");
  if ((getATransposed() || getBTransposed()) && !hasSixteenBits) return emitOpError("transposes operands of 16 bits only");
  if (getATransposed() && hasRegisters) return emitOpError("cannot transpose registers");
  return success();
}
LogicalResult WgmmaWaitOp::verify() {
  if (getValues().getTypes() != getResults().getTypes()) return emitOpError("has results of the types of its values");
  if (getComputeBeforeWait() > getValues().size()) return emitOpError("passes fewer values through than are to be computed before it");
  return success();
}

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
