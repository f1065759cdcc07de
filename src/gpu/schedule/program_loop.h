// Program loops. A CTA executes its own program, and then programs of CTAs whose launch it has canceled (cluster launch control). Such a
// loop is an scf.for from 0 with a ttg.clc_program in its body: it counts programs, and ends when no launch is left to cancel.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Responses of a CTA that warps may not have read yet. A power of two, so that stage and parity of an iteration are bits of its number.
/// The producer is one program ahead of the MMAs at most, and these are one ahead of the warps that store.
constexpr int64_t clcStages = 4;

/// Returns the operation that makes the loop a program loop; null if it is none.
inline ttg::ClcProgramOp clcProgramOf(mlir::scf::ForOp loop) {
  auto programs = loop.getBody()->getOps<ttg::ClcProgramOp>();
  return programs.empty() ? ttg::ClcProgramOp() : *programs.begin();
}

} // namespace tilewright::gpu
