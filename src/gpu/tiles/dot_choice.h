// Which instruction a product becomes, and which layouts it needs for its operands and its result. assign-layouts
// decides and arranges the tiles accordingly; select-tensor-cores follows the decision on the operation, `ttg.dot_choice`.
#pragma once

#include "gpu/tiles/ttg.h"

#include <optional>
#include <string>

namespace tilewright::gpu {

//   wgmma    a warpgroup's asynchronous product: B, and A unless it is computed from another product, in shared memory
//   mma      mma.sync of a warp: operands in registers
//   fma      multiplications and additions: operands in shared memory. fp32 where tf32 is not allowed, fp64, wide integers, small tiles
struct DotChoice {
  ttg::MmaKind kind = ttg::MmaKind::fma;
  Layout result;            ///< of C and D
  std::optional<Layout> a;  ///< in registers; null: in shared memory
  std::optional<Layout> b;  ///< likewise
  int64_t instructionN = 0; ///< wgmma: columns of one instruction
  std::string reason;       ///< for people: why no better instruction is possible; empty for wgmma

  /// `ttg.dot_choice` of the operation. The layouts are in the types, once they are assigned.
  ttg::DotChoiceAttr attribute(mlir::MLIRContext *context) const {
    return ttg::DotChoiceAttr::get(context, kind, instructionN, a.has_value(), reason);
  }
};

/// Which instruction a product becomes. Depends on types, on the target and on the number of warps.
ttg::MmaKind mmaKind(tt::DotOp op, ttg::ConfigAttr config);

/// Called by assign-layouts' plan. Depends on where A comes from, too. `secondAlongColumns`: B is loaded, and its rows lie in memory.
DotChoice chooseDot(tt::DotOp op, ttg::ConfigAttr config, bool secondAlongColumns = false);

/// Whether a product takes the tile as an operand.
bool feedsDot(mlir::Value tile);

} // namespace tilewright::gpu
