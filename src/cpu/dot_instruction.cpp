// Narrow types: a 32-bit lane holds two or four adjacent elements along k. One instruction multiplies them and adds the results to the sum:
//
//            bf16, two           bytes, four                        bytes as i16, two
//   x86      vdpbf16ps           vpdpbusd, unsigned with signed     vpmaddwd and an addition
//   AArch64  BFDOT               SDOT                               two widening multiply-adds (SMLAL)
//
// With SVE the vector of fixed length is the first part of a register.
#include "cpu/dot_instruction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tilewright::cpu {

static bool isPairOfWords(const DotPlan &plan) {
  return plan.group > 1 && plan.operand.isInteger(16);
}

const char *dotInstructionName(const CpuTarget &target, const DotPlan &plan) {
  bool isArm = target.isa == Isa::aarch64, isBf16 = plan.operand.isBF16();
  if (plan.matrix) return isBf16 ? "bfmmla" : "smmla";
  if (isPairOfWords(plan)) return isArm ? "smlal" : "vpmaddwd and an addition";
  if (plan.group > 1 && isArm) return isBf16 ? "bfdot" : "sdot";
  if (plan.group > 1) return isBf16 ? "vdpbf16ps" : "vpdpbusd";
  return target.fma && isa<FloatType>(plan.result) ? "fused multiply-add" : "a multiplication and an addition";
}

static Value multiplyAdd(ImplicitLocOpBuilder &b, const CpuTarget &target, Value x, Value y, Value sum) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(sum.getType()));
  if (target.fma && isFloat) return fma(b, x, y, sum);
  if (isFloat) return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, y));
  return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
}

/// Adds the products of pairs of i16.
static Value multiplyAccumulateWords(ImplicitLocOpBuilder &b, const CpuTarget &target, Value x, Value y, Value sum) {
  Type accumulator = sum.getType();
  int64_t lanes = lanesOf(accumulator);
  StringRef name = target.isa != Isa::x86_64 ? ""
                   : lanes == 16             ? "llvm.x86.avx512.pmaddw.d.512"
                   : lanes == 8              ? "llvm.x86.avx2.pmadd.wd"
                   : lanes == 4              ? "llvm.x86.sse2.pmadd.wd"
                                             : "";
  if (!name.empty()) return arith::AddIOp::create(b, sum, callIntrinsic(b, name, accumulator, {x, y}));
  for (int64_t half = 0; half < 2; ++half) {
    SmallVector<int32_t> mask;
    for (int64_t lane = 0; lane < lanes; ++lane)
      mask.push_back(2 * lane + half);
    Value first = arith::ExtSIOp::create(b, accumulator, shuffle(b, x, x, mask));
    Value second = arith::ExtSIOp::create(b, accumulator, shuffle(b, y, y, mask));
    sum = arith::AddIOp::create(b, sum, arith::MulIOp::create(b, first, second));
  }
  return sum;
}

/// Returns the type of a whole SVE register with these elements.
static Type scalableOf(Type element) {
  return VectorType::get({128 / element.getIntOrFloatBitWidth()}, element, {true});
}

/// Calls an intrinsic of SVE on vectors of fixed length. `number`: a last operand that is not a vector; null: none.
static Value callScalable(ImplicitLocOpBuilder &b, StringRef name, ValueRange operands, Value number) {
  SmallVector<Value> whole;
  for (Value operand : operands) {
    Type type = scalableOf(getElementTypeOrSelf(operand.getType()));
    whole.push_back(LLVM::vector_insert::create(b, type, LLVM::PoisonOp::create(b, type), operand, 0));
  }
  Type type = whole.front().getType();
  if (number) whole.push_back(number);
  Value result = callIntrinsic(b, name, type, whole);
  return LLVM::vector_extract::create(b, operands.front().getType(), result, 0);
}

Value loadReplicated(ImplicitLocOpBuilder &b, const DotPlan &plan, Type like, Value address) {
  Type element = plan.operand, whole = scalableOf(element);
  auto lanes = cast<VectorType>(whole).getNumElements();
  Type mask = VectorType::get({lanes}, b.getI1Type(), {true});
  constexpr int64_t allTrue = 31; // the pattern ALL of PTRUE
  std::string suffix = "nxv" + std::to_string(lanes) + (isa<FloatType>(element) ? element.isBF16() ? "bf" : "f" : "i") +
                       std::to_string(element.getIntOrFloatBitWidth());
  Value every =
      callIntrinsic(b, "llvm.aarch64.sve.ptrue.nxv" + std::to_string(lanes) + "i1", mask, {constantInt(b, b.getI32Type(), allTrue)});
  Value loaded = callIntrinsic(b, "llvm.aarch64.sve.ld1rq." + suffix, whole, {every, address});
  int64_t bytes = lanesOf(like) * getElementTypeOrSelf(like).getIntOrFloatBitWidth() / 8;
  return LLVM::vector_extract::create(b, vectorOf(element, 8 * bytes / element.getIntOrFloatBitWidth()), loaded, 0);
}

Value emitLaneInstruction(ImplicitLocOpBuilder &b, const DotPlan &plan, Value x, Value replicated, int64_t lane, Value sum) {
  Value number = constantInt(b, b.getI32Type(), lane);
  if (plan.group == 1)
    return callScalable(b, plan.result.isF64() ? "llvm.aarch64.sve.fmla.lane.nxv2f64" : "llvm.aarch64.sve.fmla.lane.nxv4f32",
                        {sum, x, replicated}, number);
  return callScalable(b, plan.operand.isBF16() ? "llvm.aarch64.sve.bfdot.lane.v2" : "llvm.aarch64.sve.sdot.lane.nxv4i32",
                      {sum, x, replicated}, number);
}

static Value emitArmDot(ImplicitLocOpBuilder &b, const DotPlan &plan, Value x, Value y, Value sum) {
  bool isBf16 = plan.operand.isBF16();
  if (lanesOf(sum.getType()) > 4)
    return callScalable(b, isBf16 ? "llvm.aarch64.sve.bfdot" : "llvm.aarch64.sve.sdot.nxv4i32", {sum, x, y}, nullptr);
  return callIntrinsic(b, isBf16 ? "llvm.aarch64.neon.bfdot.v4f32.v8bf16" : "llvm.aarch64.neon.sdot.v4i32.v16i8", sum.getType(),
                       {sum, x, y});
}

Value emitDotInstruction(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value x, Value y, Value sum) {
  if (plan.group == 1) return multiplyAdd(b, target, x, y, sum);
  if (isPairOfWords(plan)) return multiplyAccumulateWords(b, target, x, y, sum);
  if (target.isa == Isa::aarch64) return emitArmDot(b, plan, x, y, sum);
  std::string bits = std::to_string(32 * lanesOf(sum.getType()));
  StringRef name = plan.operand.isBF16() ? "llvm.x86.avx512bf16.dpbf16ps." : "llvm.x86.avx512.vpdpbusd.";
  return callIntrinsic(b, name.str() + bits, sum.getType(), {sum, x, y});
}

Value emitMatrixInstruction(ImplicitLocOpBuilder &b, const DotPlan &plan, Value x, Value y, Value sum) {
  StringRef name = plan.operand.isBF16() ? "llvm.aarch64.neon.bfmmla" : "llvm.aarch64.neon.smmla.v4i32.v16i8";
  return callIntrinsic(b, name, sum.getType(), {sum, x, y});
}

} // namespace tilewright::cpu
