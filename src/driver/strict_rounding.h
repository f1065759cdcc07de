#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// For numerics="strict" on GPUs: makes divisions and square roots of fp32 and narrower types correctly rounded.
///
///   %q = arith.divf %x, %y : f32      ->  %q = tt.precise_divf %x, %y : f32
///   %r = math.rsqrt %x : f32          ->  %r = tt.precise_divf 1, (tt.precise_sqrt %x)
///
/// Code for CPUs rounds them correctly in any case. The kernel gets ttg.strict_numerics: the
/// sums of a loop keep their order, and exponentials are as exact as those of libdevice.
void setStrictRounding(mlir::ModuleOp module);

} // namespace tilewright
