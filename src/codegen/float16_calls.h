// Conversions of 16-bit floats, as functions of the kernel's own object.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Defines the functions that LLVM's code generation calls for 16-bit floats, if the module has values of these types and the target
/// lacks the instructions. They belong to a compiler's run-time library, and some systems lack them; an object must not need that.
void defineFloat16Calls(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace tilewright
