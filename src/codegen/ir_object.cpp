#include "codegen/ir_object.h"

#include "codegen/object.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace tilewright {

Result<std::string> objectOfIr(const std::string &text, Isa isa) {
  registerCpuBackend();
  LLVMContext context;
  SMDiagnostic problem;
  std::unique_ptr<Module> module = parseAssemblyString(text, problem, context);
  if (!module) return Failure{problem.getMessage().str()};
  Triple triple(tripleOf(isa));
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target) return Failure{error};
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, isa == Isa::aarch64 ? "generic" : "x86-64", "", TargetOptions(), Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  SmallString<0> bytes;
  raw_svector_ostream out(bytes);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, CodeGenFileType::ObjectFile)) return Failure{"LLVM has no emitter for objects"};
  passes.run(*module);
  return std::string(bytes);
}

} // namespace tilewright
