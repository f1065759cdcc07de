// Lowers roots, the operations that need a loop nest of their own.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// Returns whether whole vectors of a store's tile should use non-temporal stores (i1); null: never.
Value usesNonTemporalStores(Context &ctx, tt::StoreOp op, int64_t vectorDim, int64_t chunk);
void lowerStore(Context &ctx, tt::StoreOp op);
bool isStoredByReduction(Context &ctx, Value tile);
void lowerReduce(Context &ctx, tt::ReduceOp op);
void lowerScan(Context &ctx, tt::ScanOp op);
void lowerHistogram(Context &ctx, tt::HistogramOp op);
void lowerGather(Context &ctx, tt::GatherOp op);
void lowerSort(Context &ctx, tt::SortOp op);
void lowerMap(Context &ctx, tt::MapElementwiseOp op);
void lowerAssembly(Context &ctx, tt::ElementwiseInlineAsmOp op);
void lowerDot(Context &ctx, tt::DotOp op);
void lowerAtomic(Context &ctx, mlir::Operation *op);
/// Returns the kind of atomic operations that a kernel has.
Atomics atomicsOf(tt::FuncOp kernel);
/// At the start of a launch: records for the programs whether their launch runs alone.
void recordIsAlone(ImplicitLocOpBuilder &b, Value arena, Value scratch);
void lowerPrint(Context &ctx, tt::PrintOp op);
void lowerAssert(Context &ctx, tt::AssertOp op);
/// Emits an assertion in a combine function, of one lane or several; if `holds` is a vector, all lanes must hold.
void emitAssert(Context &ctx, tt::AssertOp op, Value holds);

} // namespace tilewright::cpu
