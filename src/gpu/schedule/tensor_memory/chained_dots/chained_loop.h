// Loops in which threads compute between dots, as in attention: what their MMAs need of the threads and of copies. It is found in the
// kernel; chained_plan.h has what is decided about it.
#pragma once

#include "gpu/schedule/tensor_memory/tensor_columns.h"
#include "gpu/ttg/ttg.h"
#include "support/result.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"

#include <optional>
#include <variant>

namespace tilewright::gpu {

/// An MMA that needs nothing that threads compute in its iteration. They load its result after a wait.
struct EarlyMma {
  ttg::MmaAsyncWaitOp wait;
};

/// Threads load the MMA's result after a wait, and store what it adds to, unless that is zero.
struct LoadedSum {
  ttg::MmaAsyncWaitOp wait;
};
/// A sum that the loop carries in tensor memory, by its number, and that only MMAs change.
struct InPlaceSum {
  unsigned number;
  bool storesInit; ///< threads store what it starts from; otherwise the first MMA overwrites it
};
/// A sum that the loop carries in tensor memory, and that threads change before the MMA adds to it. They store what it starts from.
struct RescaledSum {
  unsigned number;
  mlir::Value factors;                ///< if each row is multiplied by one number: the tile of these, in the rows' layout
  std::optional<size_t> factorBuffer; ///< decided: of the plan, if the correction partition multiplies by the factors
};

/// Operand A in tensor memory, where threads store it. All of it is decided.
struct TensorOperand {
  TensorTile tile;
  bool sharesColumns = false;          ///< its columns are those of an early MMA's result, which threads have loaded before
  bool pingPong = false;               ///< row groups compute it one after the other
  llvm::SmallVector<int32_t> partEnds; ///< in K: threads store it in these parts, and the MMA starts with the first
};

/// An MMA that starts when threads have written its operands, or the sum that it adds to.
struct LateMma {
  std::variant<LoadedSum, InPlaceSum, RescaledSum> sum;
  size_t lastReader = 0; ///< the last MMA that reads an operand that threads write to shared memory for this one
  std::optional<TensorOperand> operand = {};

  /// True if the correction partition multiplies the sum by factors.
  bool isCorrected() const;
  /// True if threads need not wait before they store the operand: it has two tiles, and the previous iteration's MMA reads the other one.
  /// The MMA before that was complete before the scores in whose columns the operand is. The sum is the correction partition's.
  bool hasOtherTile() const { return operand && operand->tile.depth > 1 && isCorrected(); }
  /// The parts in which threads write its operands.
  size_t partCount() const { return operand ? operand->partEnds.size() : 1; }
};

/// An MMA of the loop.
struct ChainedMma {
  ttg::MmaAsyncOp op;
  std::variant<EarlyMma, LateMma> kind;
  TensorTile result = {}; ///< decided

  bool isEarly() const { return std::holds_alternative<EarlyMma>(kind); }
  LateMma *late() { return std::get_if<LateMma>(&kind); }
  const LateMma *late() const { return std::get_if<LateMma>(&kind); }
  /// The sum, if it has factors that threads compute; null otherwise.
  RescaledSum *scaledSum();
  /// The number of the sum that the loop carries in tensor memory, if the result is one.
  std::optional<unsigned> carriedSum() const;
  /// True if threads store what that sum starts from.
  bool storesInit() const;
  mlir::RankedTensorType resultType() const;
  /// The type of operand A if it is in registers; null otherwise.
  mlir::RankedTensorType operandInRegisters() const;
};

struct ChainLoop {
  llvm::SmallVector<ChainedMma> mmas;                                  ///< in the order of the text
  llvm::MapVector<mlir::Value, ttg::BarrierWaitOp> fullWaits;          ///< by barriers
  llvm::SmallVector<std::pair<ttg::BarrierArriveOp, size_t>> releases; ///< and the MMA after which it stands
  size_t lastLate = 0;                                                 ///< the last MMA that is not early
  ttg::EarlyMmas earlyMmas = ttg::EarlyMmas::in_iteration;             ///< decided: when they are issued
};

/// The loops with MMAs of a warp-specialized kernel.
struct Chains {
  int64_t warps = 0; ///< of the consumers
  llvm::MapVector<mlir::Operation *, ChainLoop> loops;
  llvm::DenseMap<mlir::Operation *, mlir::Value> fullBarriers; ///< by the buffers that a producer fills
  bool storesOperands = false;                                 ///< threads write operands to shared memory

  /// True if each of so many warp groups can have MMAs and barriers of its own: it has 128 rows of all tiles. What threads write to shared
  /// memory is read by the MMAs of all groups.
  bool haveRowGroups(int64_t groups) const;
};

/// Fails if the MMA partition cannot issue the MMAs of all loops: MMAs of scaled operands or of several CTAs, loops in which threads
/// compute nothing for MMAs, and operands that are neither copied by a producer nor written in their loop or before it.
Result<Chains> findChains(tt::FuncOp function, ttg::ConfigAttr config);

} // namespace tilewright::gpu
