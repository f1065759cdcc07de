// Selects the block-scaled MMA for a tl.dot_scaled, and the layouts of its operands, scales and result: mma.sync, or tcgen05.mma with
// operands in shared memory and the result in tensor memory. Other scaled dots are dots of dequantized operands
// (ir/passes/expand_scaled_dots).
#pragma once

#include "gpu/machine/descriptors.h"
#include "gpu/tiles/cta_split.h"
#include "gpu/ttg/ttg.h"
#include "support/target.h"

#include <array>
#include <optional>

namespace tilewright::gpu {

// Instructions, by the formats of the operands:
//   mxf4nvf4   e2m1 with e2m1: K is 64, two numbers in a byte. Scales of e8m0 for 32 numbers, or of e4m3 for 16
//   mxf8f6f4   other pairs of e4m3, e5m2, e2m3, e3m2 and e2m1: K is 32, a byte for each number. Scales of e8m0 for 32 numbers
//   f8f6f4     the same without scales, by mma.sync. For tcgen05.mma, scales are ones then: mxf4 is twice as fast as f8f6f4 for e2m1, and
//              takes two numbers in a byte
struct ScaledMma {
  MmaKind kind = MmaKind::f8f6f4;
  TensorFormat scale = TensorFormat::ue8m0;
  int64_t vector = 0;   ///< scales of a row that one instruction takes: 1, 2 or 4; 0: none
  bool tcgen05 = false; ///< otherwise mma.sync

  /// Returns the elements along K of one instruction: 32 or 64.
  int64_t k() const { return depthOf(kind); }
};

/// Returns the instruction for a dot of this target; nothing if there is none for its formats, its scales or its sizes. `warps`: of the
/// kernel.
std::optional<ScaledMma> scaledMma(tt::DotScaledOp op, const GpuTarget &target, int64_t warps);

/// Returns the rows, columns and depth of one instruction of the dot.
std::array<int64_t, 3> instructionShape(tt::DotScaledOp op, const ScaledMma &mma);

/// Reports a scaled dot that has no instruction. Steps before assign-layouts replace such dots.
mlir::LogicalResult checkScaledDots(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

/// Returns how the CTAs of a cluster share a dot that is not split yet, so that each has an instruction for its part: by rows or by
/// columns. A single CTA computes the whole. Nothing if there is no instruction.
std::optional<CtaSplit> scaledDotSplit(tt::DotScaledOp op, const GpuTarget &target, int64_t warps, int64_t ctas);

/// True if the dot reads the tile by tcgen05.mma as pairs of 4-bit numbers with padding, because the other operand has 8 bits.
bool readsWithPadding(tt::DotScaledOp op, mlir::Value tile);

/// A buffer for the scales of an operand of tcgen05.mma.
struct ScaleBuffer {
  mlir::Value tile;    ///< that the scales are a reshape of
  SharedLayout stored; ///< of `tile`
  SharedLayout read;   ///< of the scales as tcgen05.cp reads them: of whole words and whole blocks of rows, where `stored` has padding
};
ScaleBuffer scaleBuffer(mlir::Value scale, bool isLeft);

struct ScaledDotLayouts {
  Layout result;
  std::optional<Layout> a, b, aScale, bScale; ///< null: of any layout
};
/// Returns the layouts of a dot that the target of the kernel has an instruction for.
ScaledDotLayouts scaledDotLayouts(tt::DotScaledOp op, int64_t warps, const GpuTarget &target);

} // namespace tilewright::gpu
