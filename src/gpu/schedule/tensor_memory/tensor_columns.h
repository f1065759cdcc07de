// Tensor memory of a kernel: which columns a tile takes, and the allocation with its tiles and barriers at the kernel's entry.
#pragma once

#include "gpu/schedule/shared_memory/operation_spans.h"
#include "gpu/ttg/ttg.h"

#include <tuple>

namespace tilewright::gpu {

/// `depth` tiles of tensor memory, one after another.
struct TensorTile {
  ttg::TensorMemoryType type;
  int64_t depth = 1;
  int64_t column = 0; ///< the first one
  int64_t columns() const { return depth * type.columns(); }
  bool operator==(const TensorTile &) const = default;
};

/// Returns a tile for a value with a layout, at column 0.
TensorTile tensorTileOf(mlir::Type value, int64_t depth = 1);

/// MMAs of even and odd number have their scales in different columns: an MMA's scales are copied while the one before it multiplies.
constexpr int64_t setsOfScales = 2;

/// The columns of MMAs' scales, if they have any.
struct ScaleColumns {
  int64_t columns = 0; ///< of one set
  int64_t first = 0;
  mlir::Value address; ///< of the first one
  explicit operator bool() const { return columns != 0; }
};

/// The columns of one allocation.
class TensorColumns {
public:
  /// Returns the first of so many columns that nothing else has while they are live: by default, in the whole kernel.
  int64_t take(int64_t columns, OperationSpan live = {0, INT64_MAX});
  void take(TensorTile &tile) { tile.column = take(tile.columns()); }
  void take(ScaleColumns &scales) { scales.first = scales ? take(setsOfScales * scales.columns) : 0; }
  /// Returns the number of columns up to the last one that is taken.
  int64_t used() const;
  /// Returns the number of columns of the allocation, a power of two.
  int64_t allocated() const;

private:
  struct Block {
    int64_t first, end;
    OperationSpan live;
  };
  llvm::SmallVector<Block> taken; ///< by their first column
};

/// mbarriers for one purpose: their number, and the arrivals that complete a phase of each.
struct BarrierSet {
  int64_t count = 0, arrivals = 1;
};

/// The allocation of tensor memory at a kernel's entry.
class TensorMemory {
public:
  TensorMemory(tt::FuncOp function, int64_t columns, bool paired = false);
  /// Returns the tiles. All loops that have equal tiles in the same columns get one operation.
  mlir::Value tile(const TensorTile &tile);
  /// Returns the mbarriers; null if there are none.
  mlir::Value barriers(BarrierSet set);
  /// Sets the address of scales, if there are any.
  void allocate(ScaleColumns &scales);
  /// Returns the i32 constant 0, which is known in the whole kernel.
  mlir::Value zero() const { return zeroConstant; }
  /// Frees the columns at the kernel's end.
  void free();

private:
  tt::FuncOp function;
  mlir::OpBuilder b;
  mlir::Value address, zeroConstant;
  llvm::DenseMap<std::tuple<mlir::Type, int64_t, int64_t>, mlir::Value> tiles; ///< by type, depth and column
};

//===---------------------------------------------------------------------------------------------------------- MMA partition

/// Gives the operation to the partition that issues the MMAs.
void assignToMmas(mlir::Operation *op);
/// Removes the waits for MMAs in `within`: barriers replace them.
void dropMmaWaits(mlir::Operation *within);
/// Waits for a phase of MMAs or of accesses to tensor memory: those before its arrivals come before those after the wait.
ttg::BarrierWaitOp waitForResults(mlir::OpBuilder &b, mlir::Location loc, mlir::Value barriers, mlir::Value index, mlir::Value parity,
                                  bool perWarpGroup = false);

/// Starts an MMA of these operands with the scales of `mma`, in these columns, and paired as it is. Unless the caller adds barriers, a
/// commit must follow.
ttg::Tcgen05MmaOp startMma(mlir::OpBuilder &b, ttg::MmaAsyncOp mma, mlir::Value first, mlir::Value second, mlir::Value d,
                           mlir::Value accumulate, mlir::Value scaleColumns = {});

//===------------------------------------------------------------------------------------------------------------ block scales

/// Returns the columns of one set of scales of an MMA: four bytes of 128 rows take four.
int64_t scaleColumnsOf(ttg::MmaAsyncOp mma);
/// Returns the address of the set of this MMA's number.
mlir::Value scaleSetOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value number, const ScaleColumns &scales);

} // namespace tilewright::gpu
