// Rules of tcgen05 operations that the verifiers, the printer and the simulator share.
#pragma once

#include "gpu/machine/descriptors.h"
#include "gpu/machine/ptx.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::gpu {

constexpr int64_t tensorColumns = 512, tensorLanes = 128, lanesOfWarp = 32;

/// Returns the cta_group of an operation that has one.
std::optional<int64_t> ctaGroupOf(mlir::Operation *op);
/// Returns the first operation inside `function` whose cta_group differs from that of an earlier one, or null.
mlir::Operation *findOtherCtaGroup(mlir::Operation *function);

/// Returns the registers of the smallest tcgen05.ld of a shape: 1, 2 or 4.
int64_t registersOf(ptx::TensorShape shape);

/// A place that a thread's register holds: the lane relative to the address, and the column for 32-bit registers without packing.
struct TensorPlace {
  int64_t lane, column;
};
/// Returns the place of register `reg` of thread `thread` of a load or store with `count` registers. Of m16x32bx2, threads 16 to 31 have
/// the lanes of threads 0 to 15; `halfOffset` separates them.
TensorPlace placeOf(ptx::TensorShape shape, int64_t thread, int64_t reg);

/// The shape of a tcgen05.cp: rows and bytes of a row in shared memory, and the lanes that row `row` goes to.
struct CopyShape {
  int64_t rows, bytes;
  llvm::SmallVector<int64_t, 4> lanesOf(ptx::TensorCopy shape, int64_t row) const;
};
/// Returns the shape of a copy.
CopyShape shapeOf(ptx::TensorCopy shape);

/// Returns the kind of an MMA for the rules of descriptors. The two enums have the same numbers.
inline MmaKind kindOf(ptx::MmaKind kind) {
  static_assert(uint32_t(ptx::MmaKind::f16) == uint32_t(MmaKind::f16) && uint32_t(ptx::MmaKind::tf32) == uint32_t(MmaKind::tf32) &&
                uint32_t(ptx::MmaKind::f8f6f4) == uint32_t(MmaKind::f8f6f4) && uint32_t(ptx::MmaKind::i8) == uint32_t(MmaKind::i8) &&
                uint32_t(ptx::MmaKind::mxf8f6f4) == uint32_t(MmaKind::mxf8f6f4) &&
                uint32_t(ptx::MmaKind::mxf4) == uint32_t(MmaKind::mxf4) && uint32_t(ptx::MmaKind::mxf4nvf4) == uint32_t(MmaKind::mxf4nvf4));
  return MmaKind(uint32_t(kind));
}

/// Returns the parts of an MMA that the rules of descriptors concern.
MmaForm formOf(ptx::Tcgen05MmaOp op);

} // namespace tilewright::gpu
