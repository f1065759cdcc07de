// The loops of a kernel that have MMAs.
#pragma once

#include "gpu/cost_model/launch_control.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

/// Returns the innermost loops around MMAs (ttg.mma_async).
llvm::SetVector<mlir::Operation *> loopsWithMmas(tt::FuncOp function);
/// Returns the locations of these loops: steps replace loops.
llvm::SetVector<mlir::Location> locationsOfMmaLoops(tt::FuncOp function);
/// Returns the MMAs of a loop if all of them stand in its body itself; otherwise none.
llvm::SmallVector<ttg::MmaAsyncOp> mmasOf(mlir::scf::ForOp loop);
/// Returns what the MMAs of an iteration multiply in each CTA.
llvm::SmallVector<DotShape> dotShapesOf(mlir::scf::ForOp loop);
/// True if the MMAs in the loop's body itself are those of a pair of CTAs.
bool hasPairedMmas(mlir::scf::ForOp loop);
/// True if all dots of a loop, in whatever form, add to sums that loops carry: threads compute nothing between them.
bool onlyAccumulates(mlir::scf::ForOp loop);
/// Records for explain what a pass has decided about the loops at these locations, and why.
void remarkOnLoops(tt::FuncOp function, llvm::StringRef pass, const llvm::SetVector<mlir::Location> &loops, llvm::StringRef text);

} // namespace tilewright::gpu
