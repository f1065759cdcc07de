// The memory layout of a launch's run-time values for compiled code of any target: one 8-byte slot each.
#pragma once

#include <cstdint>

namespace tilewright {

/// The contents of an argument's 8-byte slot: pointers and i64 as they are, smaller integers sign- or zero-extended, f32 as its bits in the
/// low half, f16 and bf16 in the low 16 bits, f64 as its bits.
enum class SlotKind : uint8_t { pointer, i1, i8, i16, i32, i64, f16, bf16, f32, f64 };

/// Returns the bytes of a GPU kernel's parameter for a slot: the low bytes of the slot.
constexpr int64_t parameterBytes(SlotKind kind) {
  switch (kind) {
  case SlotKind::i1:
  case SlotKind::i8: return 1;
  case SlotKind::i16:
  case SlotKind::f16:
  case SlotKind::bf16: return 2;
  case SlotKind::i32:
  case SlotKind::f32: return 4;
  case SlotKind::pointer:
  case SlotKind::i64:
  case SlotKind::f64: return 8;
  }
  return 8;
}

} // namespace tilewright
