// The memory layout of a launch's run-time values for compiled code of any target: one 8-byte slot each.
#pragma once

#include <cstdint>

namespace tilewright {

/// The contents of an argument's 8-byte slot: pointers and i64 as they are, smaller integers sign- or zero-extended, f32 as its bits in the
/// low half, f16 and bf16 in the low 16 bits, f64 as its bits.
enum class SlotKind : uint8_t { pointer, i1, i8, i16, i32, i64, f16, bf16, f32, f64 };

} // namespace tilewright
