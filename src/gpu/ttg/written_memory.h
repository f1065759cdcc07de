// What operations of a kernel write to memory, and which loads may therefore execute at another time.
#pragma once

#include "gpu/ttg/ttg.h"
#include "support/result.h"

namespace tilewright::ttg {

/// The pointer through which an operation writes to memory, or the argument that its tensor map describes. Null if that is not known, and
/// nothing if it writes no tensor. Of a loop or a branch it says nothing: its body's operations say that themselves.
std::optional<mlir::Value> writtenPointer(mlir::Operation *op);

/// The launch guards under which a load returns the same wherever in `within`, a loop or the kernel, it executes: it may run ahead of its
/// iteration, move, or be repeated by other threads. It is not volatile, and nothing in `within` writes what it reads. Other programs may
/// write that, but only an operation that learns of their writes makes a load after it return something else. So the caller also excludes
/// ProgramOrder::learnsWrites (program_order.h) between the two points. A load through a tensor map needs no guards: form-descriptors
/// makes maps only of tensors that the kernel does not write (tensor_accesses.h).
Result<LaunchGuards> unwrittenGuards(tt::LoadOp load, mlir::Operation *within);

} // namespace tilewright::ttg
