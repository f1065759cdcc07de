// Selects the instruction for a dot and the layouts of its operands and result. assign-layouts decides and assigns layouts accordingly;
// select-tensor-cores reads the decision from the operation's `ttg.dot_choice`.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/target.h"

#include <array>
#include <optional>
#include <string>

namespace tilewright::gpu {

// Operands of each kind:
//   wgmma    asynchronous MMA of a warp group: B in shared memory; A too, unless it is computed from another dot's result
//   tcgen05  asynchronous MMA that one thread issues: the result in tensor memory, operands in shared memory; A in tensor memory, too, if
//            it is computed from another dot's result. Its layout is that of threads before they store it there
//   mma      mma.sync of a warp: operands in registers
//   fma      multiply-add instructions: operands in shared memory. fp32 where tf32 is not allowed, fp64, wide integers, small tiles
struct DotChoice {
  ttg::MmaKind kind = ttg::MmaKind::fma;
  Layout result;            ///< of C and D
  std::optional<Layout> a;  ///< in registers; null: in shared memory
  std::optional<Layout> b;  ///< likewise
  int64_t instructionN = 0; ///< wgmma, tcgen05: columns of one instruction
  std::string reason;       ///< shown to users: why no better instruction is possible; empty for wgmma and tcgen05

  /// Returns the operation's `ttg.dot_choice`. The layouts are in the types after layout assignment.
  ttg::DotChoiceAttr attribute(mlir::MLIRContext *context) const {
    return ttg::DotChoiceAttr::get(context, kind, instructionN, a.has_value(), reason);
  }
};

/// True for the asynchronous MMAs, which read their operands from shared memory through descriptors.
inline bool readsByDescriptor(ttg::MmaKind kind) {
  return kind == ttg::MmaKind::wgmma || kind == ttg::MmaKind::tcgen05;
}

/// True if the sum of an fp8 dot is promoted to f32 within one iteration of its loop over K.
bool isPromotedWithinIteration(tt::DotOp dot);

/// Returns the instruction for a dot. Depends on types, the target and the number of warps.
ttg::MmaKind mmaKind(tt::DotOp op, int64_t warps, const GpuTarget &target);

/// Chooses the instruction and layouts for the layout plan. Depends also on how A is computed. `secondAlongColumns`: B is loaded, and its
/// rows are contiguous in memory.
DotChoice chooseDot(tt::DotOp op, int64_t warps, const GpuTarget &target, bool secondAlongColumns = false);

/// Returns the rows, columns and depth of one instruction of a dot with this choice. Multiply-adds have neither rows nor columns.
std::array<int64_t, 3> instructionShape(tt::DotOp dot, ttg::DotChoiceAttr choice, const GpuTarget &target);

/// True if tensor cores multiply f32 tiles of these shapes as tf32.
bool multipliesAsTf32(tt::DotOp op, int64_t warps, const GpuTarget &target);

/// Returns the grid of warps over the result of mma.sync. Rows come first if the tile is tall. All warps split the rows if another dot uses
/// this one's rows (`chained`).
std::pair<int64_t, int64_t> warpGrid(int64_t rows, int64_t columns, int64_t warps, bool chained);

/// True if a dot has the tile as an operand.
bool feedsDot(mlir::Value tile);

} // namespace tilewright::gpu
