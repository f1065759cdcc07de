// The effect of an instruction besides computing its results. The code that prints the inline assembly stores it as an attribute. The
// translation turns it into attributes of LLVM's call, so no code parses the assembly text.
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
  together, ///< warp-collective, on registers only; not moved
  writes,   ///< also writes memory, or makes writes visible; not moved
  mma       ///< like writes, and the loop around it must not be unrolled: wgmma
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
