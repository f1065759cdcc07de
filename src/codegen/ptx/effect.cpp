// MLIR cannot express three properties of inline assembly, so the translation adds them to LLVM's call:
//     asm "bar.sync 0;"       Effect::writes    -> convergent: not duplicated into, or moved out of, a branch
//     asm "ld.shared ..."     Effect::reads     -> memory(read): may be merged and dropped, not moved across a store
//     asm "ex2.approx ..."    Effect::none      -> memory(none)
#include "codegen/ptx/effect.h"

#include "codegen/ptx/text.h"
#include "gpu/machine/ptx.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"

#include "llvm/IR/InstrTypes.h"

using namespace mlir;

namespace tilewright {

void setEffect(Operation *assembly, Effect effect) {
  assembly->setAttr(effectName, IntegerAttr::get(IntegerType::get(assembly->getContext(), 32), static_cast<int32_t>(effect)));
}

static void describe(llvm::CallBase &call, Effect effect) {
  call.setDoesNotThrow();
  if (staysInPlace(effect)) {
    call.setConvergent();
    if (!touchesMemory(effect)) call.setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    if (effect == Effect::mma) call.addFnAttr(llvm::Attribute::get(call.getContext(), keepRolledName));
    return;
  }
  call.addFnAttr(llvm::Attribute::WillReturn);
  call.setMemoryEffects(touchesMemory(effect) ? llvm::MemoryEffects::readOnly() : llvm::MemoryEffects::none());
}

namespace {
class Translation : public LLVMTranslationDialectInterface {
public:
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;
  LogicalResult amendOperation(Operation *, ArrayRef<llvm::Instruction *> instructions, NamedAttribute attribute,
                               LLVM::ModuleTranslation &) const override {
    if (attribute.getName() != effectName) return success();
    auto effect = static_cast<Effect>(cast<IntegerAttr>(attribute.getValue()).getInt());
    for (llvm::Instruction *instruction : instructions)
      if (auto *call = dyn_cast<llvm::CallBase>(instruction)) describe(*call, effect);
    return success();
  }
};
} // namespace

void registerEffects(DialectRegistry &registry) {
  registry.insert<ptx::PtxDialect>();
  registry.addExtension(+[](MLIRContext *, ptx::PtxDialect *dialect) { dialect->addInterfaces<Translation>(); });
}

} // namespace tilewright
