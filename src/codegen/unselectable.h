// Operations on vectors for which LLVM 22 selects no instructions, or wrong or slow ones, as others with the same result:
//   before: masked.load <8 x bf16>, %p, %mask     after: bitcast (masked.load <8 x i16>, %p, %mask) to <8 x bf16>
#pragma once

namespace llvm {
class Function;
class Triple;
} // namespace llvm

namespace tilewright {

/// Runs after optimization, which could restore the replaced operations.
void replaceUnselectable(llvm::Function &function, const llvm::Triple &triple);

} // namespace tilewright
