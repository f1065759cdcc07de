// What operations of a kernel write to memory, and which loads may therefore execute at another time.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

namespace tilewright::ttg {

/// The pointer through which an operation writes to memory, or the argument that its tensor map describes. Null if that is not known, and
/// nothing if it writes no tensor. Of a loop or a branch it says nothing: its body's operations say that themselves.
std::optional<mlir::Value> writtenPointer(mlir::Operation *op);

/// The launch guards under which a load may run ahead of its iteration or move in `within`, a loop, or be repeated by another warp in
/// `within`, the kernel. It is not volatile, and nothing in `within` writes what it reads. Other programs may write that, but only an
/// operation that learns of their writes makes a load after it return something else. So the caller also excludes
/// ProgramOrder::learnsWrites (program_order.h) between the two points. A load that runs ahead passes whole iterations: these must have no
/// atomic operation, which may acquire writes of other programs even if its result is unused. A load through a tensor map needs no guards:
/// form-descriptors makes maps only of tensors that the kernel does not write (tensor_accesses.h).
Result<LaunchGuards> unwrittenGuards(tt::LoadOp load, mlir::Operation *within);
/// The same for a load that another partition makes, which runs ahead of the kernel's other warps: nothing writes what it reads before the
/// load, nor in the outermost loop or branch around it.
Result<LaunchGuards> unwrittenBeforeGuards(tt::LoadOp load);

} // namespace tilewright::ttg
