// Interleaves the bodies of an unrolled loop. Each body is a dependency chain, and one chain of exp fills much of a CPU's scheduler.
// Without interleaving the CPU sees too few independent chains to keep its units busy.
//
//   before: a1 a2 a3 ... b1 b2 b3 ... c1 c2 c3 ... d1 d2 d3 ...
//   after:  a1 b1 c1 d1  a2 b2 c2 d2  a3 b3 c3 d3 ...
//
// (Softmax of 256x1024 in the caches, one thread of a Zen 5, hand-written C = 1: AVX2 1.10 to 1.24, AVX-512 1.20 to 1.33.)
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::cpu {

/// Calls emit(0), emit(1), ... emit(count - 1), which insert operations at the builder's insertion point, and interleaves them. Memory
/// effects of one body must be independent of the other bodies; a body may use values of earlier bodies.
void emitInterleaved(mlir::ImplicitLocOpBuilder &b, int64_t count, llvm::function_ref<void(int64_t)> emit);

} // namespace tilewright::cpu
