// A kernel must compile in milliseconds at its first launch, and the lowering has already chosen vectors, unrolling and blocking. So
// LLVM's -O3 is not used: vectorizers, unrollers and interprocedural passes take most of its time, and some undo these choices. Instead,
// a short list of passes cleans up repeated address arithmetic, dead code and loop-invariant values. Then LLVM selects instructions,
// schedules them and allocates registers.
#include "codegen/object.h"

#include "codegen/llvm_module.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/IR/Function.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86AsmParser(); // for inline assembly in kernels
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
void LLVMInitializeAArch64AsmParser();
}

namespace tilewright {

void allowFpFusion(mlir::ModuleOp module) {
  module->setAttr(fusionAttribute, mlir::UnitAttr::get(module.getContext()));
}

constexpr int64_t sveUnit = 16; // bytes that every SVE register has

static void initializeTargets() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser();
}

/// Omits unwind tables: the functions that a kernel calls do not throw. `scalableBytes` is the least size of an SVE register, 0 without
/// SVE.
static void prepare(const CpuTarget &target, int64_t scalableBytes, Function &function) {
  function.setDoesNotThrow();
  if (!target.tuneCpu.empty()) function.addFnAttr("tune-cpu", target.tuneCpu);
  constexpr unsigned most = 16; // times the smallest register
  if (scalableBytes)
    function.addFnAttr(Attribute::getWithVScaleRangeArgs(function.getContext(), static_cast<unsigned>(scalableBytes / sveUnit), most));
}

void registerCpuBackend() {
  static std::once_flag once;
  std::call_once(once, initializeTargets);
}

std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind) {
  registerCpuBackend();
  CodeGenerator generator{tripleOf(target.isa), target.cpu, target.features, CodeModel::Small, {}, [](Function &) {}, {}};
  generator.prepare = [&](Function &function) { prepare(target, target.scalableBytes, function); };
  // LLVM 22 cannot select SVE instructions for some operations on vectors of a fixed size, such as truncations to half a register of NEON.
  // If registers may have any size, it splits such vectors into those of NEON.
  if (target.scalableBytes > sveUnit) generator.fallback = [&](Function &function) { prepare(target, sveUnit, function); };
  return generate(module, generator, kind);
}

} // namespace tilewright
