// Without instructions of the CPU, LLVM's code generation calls __truncsfbf2, __truncsfhf2 or __extendhfsf2:
//
//   %s = fptrunc float %x to bfloat          callq __truncsfbf2
//
// libgcc has the first one since version 13, and the others since version 12. The functions below are private to the object. By the calling
// convention, they pass a 16-bit float in the low half of a vector register's first lane, as LLVM does for these types.
#include "codegen/float16_calls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace tilewright {

// The nearest number, ties to even. NaNs stay quiet NaNs.
static constexpr const char *bfloatText = R"(
define internal bfloat @__truncsfbf2(float %x) nounwind {
  %word = bitcast float %x to i32
  %high = lshr i32 %word, 16
  %nan = or i32 %high, 64
  %last = and i32 %high, 1
  %half = add i32 %last, 32767
  %sum = add i32 %word, %half
  %rounded = lshr i32 %sum, 16
  %isnan = fcmp uno float %x, %x
  %result = select i1 %isnan, i32 %nan, i32 %rounded
  %short = trunc i32 %result to i16
  %value = bitcast i16 %short to bfloat
  ret bfloat %value
}
)";

// A sum with 0.5 rounds to the unit of half's subnormal numbers, 2^-24. 65520 and above become infinite.
static constexpr const char *halfText = R"(
define internal half @__truncsfhf2(float %x) nounwind {
  %word = bitcast float %x to i32
  %top = lshr i32 %word, 16
  %sign = and i32 %top, 32768
  %size = and i32 %word, 2147483647
  %based = sub i32 %size, 939524096
  %place = lshr i32 %size, 13
  %last = and i32 %place, 1
  %half = add i32 %last, 4095
  %sum = add i32 %based, %half
  %normal = lshr i32 %sum, 13
  %positive = bitcast i32 %size to float
  %shifted = fadd float %positive, 5.0e-01
  %bits = bitcast float %shifted to i32
  %small = sub i32 %bits, 1056964608
  %issmall = icmp ult i32 %size, 947912704
  %finite = select i1 %issmall, i32 %small, i32 %normal
  %islarge = icmp uge i32 %size, 1199566848
  %limited = select i1 %islarge, i32 31744, i32 %finite
  %payload = and i32 %place, 1023
  %nan = or i32 %payload, 32256
  %isnan = icmp ugt i32 %size, 2139095040
  %number = select i1 %isnan, i32 %nan, i32 %limited
  %result = or i32 %number, %sign
  %short = trunc i32 %result to i16
  %value = bitcast i16 %short to half
  ret half %value
}
define internal float @__extendhfsf2(half %x) nounwind {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %top = and i32 %bits, 32768
  %sign = shl i32 %top, 16
  %size = and i32 %bits, 32767
  %moved = shl i32 %size, 13
  %normal = add i32 %moved, 939524096
  %infinite = or i32 %moved, 2139095040
  %count = uitofp i32 %size to float
  %small = fmul float %count, 0x3E70000000000000
  %smallbits = bitcast float %small to i32
  %issmall = icmp ult i32 %size, 1024
  %isinfinite = icmp uge i32 %size, 31744
  %finite = select i1 %issmall, i32 %smallbits, i32 %normal
  %number = select i1 %isinfinite, i32 %infinite, i32 %finite
  %result = or i32 %number, %sign
  %value = bitcast i32 %result to float
  ret float %value
}
)";

static void define(Module &module, const char *text) {
  SMDiagnostic problem;
  SmallVector<Function *> before = to_vector(make_pointer_range(module.functions()));
  if (parseAssemblyInto(MemoryBufferRef(text, "float16 calls"), &module, nullptr, problem)) reportFatalInternalError(problem.getMessage());
  SmallVector<GlobalValue *> made;
  for (Function &function : module)
    if (!is_contained(before, &function)) made.push_back(&function);
  appendToCompilerUsed(module, made); // the calls appear later, while instructions are selected
}

/// Any instruction may become a conversion: on some CPUs LLVM promotes the operands of a select to float, and those of copies.
void defineFloat16Calls(Module &module, const TargetMachine &machine) {
  bool hasBfloat = false, hasHalf = false;
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      auto look = [&](const Type *type) {
        hasBfloat |= type->getScalarType()->isBFloatTy();
        hasHalf |= type->getScalarType()->isHalfTy();
      };
      look(instruction.getType());
      for (const Value *operand : instruction.operands())
        look(operand->getType());
    }
  if (hasBfloat) define(module, bfloatText);
  if (hasHalf && !machine.getMCSubtargetInfo()->checkFeatures("+f16c")) define(module, halfText);
}

} // namespace tilewright
