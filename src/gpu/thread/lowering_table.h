// The lowerings: one function for each operation, in the files by topic. Each reads the scalars of its operands from the context, and
// stores those of its results there. Each file adds its functions to the table, from which lower-to-threads selects.
#pragma once

#include "gpu/thread/thread_context.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::gpu {

using Lowering = LogicalResult (*)(ThreadContext &, mlir::Operation *);
using LoweringTable = llvm::DenseMap<mlir::TypeID, Lowering>;

/// A row of the table: the operation is the type of the function's second parameter.
template <auto function> struct LoweringOf;
template <typename Op, LogicalResult (*function)(ThreadContext &, Op)> struct LoweringOf<function> {
  static LogicalResult lower(ThreadContext &t, mlir::Operation *op) { return function(t, mlir::cast<Op>(op)); }
  static void addTo(LoweringTable &table) { table[mlir::TypeID::get<Op>()] = &lower; }
};
template <auto... functions> void addLowerings(LoweringTable &table) {
  (LoweringOf<functions>::addTo(table), ...);
}

void addControlFlowLowerings(LoweringTable &table);
void addProgramLoopLowerings(LoweringTable &table);
void addPartitionLowerings(LoweringTable &table);
void addShapeLowerings(LoweringTable &table);
void addElementLowerings(LoweringTable &table);
void addMathLowerings(LoweringTable &table);
void addSmallFloatLowerings(LoweringTable &table);
void addMemoryLowerings(LoweringTable &table);
void addAtomicLowerings(LoweringTable &table);
void addBufferLowerings(LoweringTable &table);
void addSharedTileLowerings(LoweringTable &table);
void addBarrierLowerings(LoweringTable &table);
void addTmaLowerings(LoweringTable &table);
void addMmaLowerings(LoweringTable &table);
void addScaledDotLowerings(LoweringTable &table);
void addWgmmaLowerings(LoweringTable &table);
void addTensorMemoryLowerings(LoweringTable &table);
void addTcgen05Lowerings(LoweringTable &table);
void addFmaDotLowerings(LoweringTable &table);
void addConvertLowerings(LoweringTable &table);
void addReductionLowerings(LoweringTable &table);
void addScanLowerings(LoweringTable &table);
void addGatherLowerings(LoweringTable &table);
void addDebugLowerings(LoweringTable &table);

/// Lowers any operation: by the table, or by the dialect's common rule. Reports an error on operations that GPUs do not support.
LogicalResult lowerOp(ThreadContext &t, mlir::Operation *op);

} // namespace tilewright::gpu
