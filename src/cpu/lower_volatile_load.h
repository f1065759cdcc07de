// CPU lowering of volatile loads (ir/volatile_load.h).
#pragma once

#include "cpu/emit.h"
#include "ir/volatile_load.h"

namespace tilewright::cpu {

/// Emits a compiler barrier: LLVM neither moves a memory access across it nor merges accesses on its two sides. It becomes no instruction.
void emitCompilerBarrier(ImplicitLocOpBuilder &b);
/// The barrier after a volatile load. Where the CPU may execute later loads early (AArch64), it is an acquire fence: a program that waits
/// for a store of another program then sees what that program stored before.
void emitBarrierAfterVolatileLoad(ImplicitLocOpBuilder &b, const CpuTarget &target);

/// True if the operation and its regions do not write memory, wait for another program, or contain a volatile load.
bool onlyReads(mlir::Operation *op);

} // namespace tilewright::cpu
