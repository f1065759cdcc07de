#include "ir/slots.h"

#include "ir/tt.h"

using namespace mlir;

namespace tilewright {

std::optional<SlotKind> slotKindOf(Type type) {
  if (isa<tt::PointerType>(type)) return SlotKind::pointer;
  if (type.isInteger(1)) return SlotKind::i1;
  if (type.isInteger(8)) return SlotKind::i8;
  if (type.isInteger(16)) return SlotKind::i16;
  if (type.isInteger(32)) return SlotKind::i32;
  if (type.isInteger(64)) return SlotKind::i64;
  if (type.isF16()) return SlotKind::f16;
  if (type.isBF16()) return SlotKind::bf16;
  if (type.isF32()) return SlotKind::f32;
  if (type.isF64()) return SlotKind::f64;
  return std::nullopt;
}

} // namespace tilewright
