// Four bodies of an unrolled loop are four chains in which each operation waits for the one before. A processor looks ahead as far as its
// schedulers hold what waits, and one chain of exp fills a good part of them: it never sees enough chains to keep its units busy.
//
//   before: a1 a2 a3 ... b1 b2 b3 ... c1 c2 c3 ... d1 d2 d3 ...
//   after:  a1 b1 c1 d1  a2 b2 c2 d2  a3 b3 c3 d3 ...
//
// (Softmax of 256x1024 in the caches, one thread of a Zen 5, hand-written C = 1: AVX2 1.10 to 1.24, AVX-512 1.20 to 1.33.)
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::cpu {

/// Runs emit(0), emit(1), ... emit(count - 1), which put operations where the builder stands, and deals those out in turn. What one of them
/// does to memory must not matter to another; it may use values of those before it.
void inTurn(mlir::ImplicitLocOpBuilder &b, int64_t count, llvm::function_ref<void(int64_t)> emit);

} // namespace tilewright::cpu
