// What an instruction does besides computing its results. The code that spells the inline assembly says it as an attribute,
// which becomes attributes of LLVM's call when the module is translated; nobody reads it back from the assembly's text.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir {
class DialectRegistry;
class Operation;
} // namespace mlir

namespace tilewright {

enum class Effect : int32_t {
  none,     ///< may be merged, moved and dropped
  reads,    ///< reads memory; may be dropped
  together, ///< threads act together, on registers alone: stays where it is
  writes,   ///< or writes memory, or makes others' writes visible: stays where it is
  product   ///< like writes, and the loop around it must not be unrolled: wgmma
};

inline bool staysInPlace(Effect effect) {
  return effect >= Effect::together;
}
inline bool touchesMemory(Effect effect) {
  return effect != Effect::none && effect != Effect::together;
}

/// The attribute of inline assembly that holds its Effect, as an integer.
constexpr llvm::StringLiteral effectName = "ptx.effect";
void setEffect(mlir::Operation *assembly, Effect effect);

/// Lets the translation to LLVM IR read the attribute.
void registerEffects(mlir::DialectRegistry &registry);

} // namespace tilewright
