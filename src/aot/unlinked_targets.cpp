// LLD initializes all targets of LLVM, and Debian's LLVM registers Polly, of which Debian has no archive. A self-contained build links only
// the targets that kernels need; these functions are for the rest. LLD links finished objects here and runs no passes.
#include "llvm/Plugins/PassPlugin.h"

#define TARGET(name)                                                                                                                       \
  void LLVMInitialize##name##TargetInfo() {}                                                                                               \
  void LLVMInitialize##name##Target() {}                                                                                                   \
  void LLVMInitialize##name##TargetMC() {}                                                                                                 \
  void LLVMInitialize##name##AsmPrinter() {}                                                                                               \
  void LLVMInitialize##name##AsmParser() {}

extern "C" {
#include "aot/unlinked_targets.inc"
}

/// LLVM calls it by this name.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "", [](llvm::PassBuilder &) {}};
}
