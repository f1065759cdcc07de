// LLD initializes all targets of LLVM. A self-contained build links only those that kernels need; these functions are for the others.
#define TARGET(name)                                                                                                                       \
  void LLVMInitialize##name##TargetInfo() {}                                                                                               \
  void LLVMInitialize##name##Target() {}                                                                                                   \
  void LLVMInitialize##name##TargetMC() {}                                                                                                 \
  void LLVMInitialize##name##AsmPrinter() {}                                                                                               \
  void LLVMInitialize##name##AsmParser() {}

extern "C" {
#include "aot/unlinked_targets.inc"
}
