// Analyzes tiles before any code is emitted: how a tile varies along its dimensions, which masks are boxes, and which tiles are stored.
#pragma once

#include "ir/address/indices.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::cpu {

/// Describes how a tile's elements change from one index to the next along one dimension.
struct Stride {
  enum Kind { constant, uniform, other } kind = other; // uniform: the same amount each time, known only at run time
  int64_t amount = 0;                                  // constant: integers count 1, pointers bytes; 0: no change
  bool wraps = false;                                  // holds only if no `x % n` that it depends on wraps around inside the tile
  bool extends = false; // holds only if no integer that is extended to a wider type overflows inside the tile
  bool modular = false; // for integers: holds modulo overflow; isExact tells whether overflow can happen
  bool varies = false;  // uniform: the amount depends on the indices along other dimensions
  bool isConditional() const { return wraps || extends; }
  /// True if all elements along the dimension are equal. `i - i % n` has stride 0 only where the remainder does not wrap around.
  bool isZero() const { return hasAmount(0) && !isConditional(); }
  /// True if the stride is `expected`, provided that its conditions hold.
  bool hasAmount(int64_t expected) const { return kind == constant && amount == expected; }
};

/// One term of a mask. `index < bound` is true for the first indices of dimension `dim`, `index >= bound` for the last ones.
struct BoxTerm {
  mlir::Operation *compare; // arith.cmpi
  int64_t dim;              // of the mask's tile; -1: the term is the same everywhere
  bool indexIsLhs;
  bool lower = false;   // `index >= bound`: true for all indices if it is true for the first
  bool mayWrap = false; // the index may overflow inside the tile; then the term is not a box
};

/// The reason why a tile lives in scratch.
enum class StoredFor : uint8_t {
  itsOperation, // the operation produces the whole tile at once
  longChain,    // computing it takes a long chain of operations
  laterStore,   // a store may overwrite the memory that it is loaded from before the tile is read
  manyUses,     // it is expensive and read more than once, or in every iteration of a loop
};

/// Returns the shape of a tile type; empty for scalars.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return shapeOf(value.getType());
}
/// True if each element of the results depends only on the elements at the same index of the operands and can be computed alone.
bool isElementwise(mlir::Operation *op);
inline bool isTile(mlir::Type type) {
  return llvm::isa<mlir::RankedTensorType>(type);
}
inline bool isTile(mlir::Value value) {
  return isTile(value.getType());
}
/// Returns the bytes of an element in memory: 8 for pointers, 1 for i1.
int64_t elementBytes(mlir::Type element);

/// True if both pointers are a base plus the same tile of offsets, and point to elements of equal size.
bool haveSameOffsets(mlir::Value first, mlir::Value second);

/// True if every element is at most 0 or NaN for all inputs, as in `x - max(x)`, possibly times a constant. With `fused`, a
/// multiplication followed by a subtraction may be rounded only once, so the difference can be positive: such values do not count.
bool isNotPositive(mlir::Value value, bool fused);

/// Returns the constant that an integer is, or that all elements of a tile are.
std::optional<int64_t> constantOf(mlir::Value value);

/// Returns the integers that `op` extends to a wider type, or the offsets that it adds to pointers. Null for other operations.
mlir::Value extendedFrom(mlir::Operation *op);

class TileAnalysis {
public:
  /// May assume any launch guard that is not in `failedGuards`; guards() returns those that it has assumed so far.
  TileAnalysis(tt::FuncOp function, address::FailedGuards failedGuards);
  const std::vector<LaunchGuard> &guards() const { return indices.guards(); }
  /// Returns true and records a versioning request if code may be generated for launches that pass `guard`. False once a launch has failed
  /// it.
  bool prefers(const LaunchGuard &guard);
  const std::vector<LaunchGuard> &versioningRequests() const { return preferred; }

  using Strides = llvm::DenseMap<std::pair<mlir::Value, int64_t>, Stride>;
  Stride strideOf(mlir::Value tile, int64_t dim);
  /// From this call on, strideOf takes the strides in `assumed` as given and adds those that follow; null ends this. Returns the previous
  /// map.
  Strides *assumeStrides(Strides *assumed);
  /// True if the tile's stride is not `other` and follows only from assumed strides.
  bool needsAssumedStrides(mlir::Value tile, int64_t dim);
  /// True if all elements of a tile are equal.
  bool isOneValue(mlir::Value tile);
  /// True if no element is negative. This is proven, or a launch guard checks it.
  bool isNotNegative(mlir::Value tile) { return indices.assumeNonNegativeElements(tile); }
  /// True if nothing overflows in the tile. This is proven, or a launch guard checks it.
  bool isExact(mlir::Value tile);
  /// True if the integers that `op` extends (extendedFrom) do not wrap around along `dim`.
  bool extendsWithoutWrap(mlir::Operation *op, int64_t dim);
  /// True if the first address and the strides determine all addresses of a tile of pointers, so the range of bytes is known.
  bool reachIsKnown(mlir::Value pointer);
  /// True if scalars give a lower and an upper bound for the elements (Bounds in conditions.cpp); the bounds need not be tight. Holds for
  /// integers and pointers: sums, multiplications by constants, and quotients and remainders of non-negative numbers by constants.
  bool boundsAreKnown(mlir::Value tile) { return boundsAreKnown(tile, 0); }
  /// True if the strides prove that no two elements of the tile of pointers have the same address.
  bool distinctAddresses(mlir::Value pointer);
  /// True if `mask` is a conjunction of box terms; appends them.
  bool box(mlir::Value mask, llvm::SmallVectorImpl<BoxTerm> &terms);

  /// True if the tile lives in scratch instead of being recomputed.
  bool isStored(mlir::Value tile) const { return stored.contains(tile); }
  std::optional<StoredFor> storedFor(mlir::Value tile) const {
    auto found = stored.find(tile);
    return found == stored.end() ? std::nullopt : std::optional(found->second);
  }
  /// True if a loop nest that runs after `position` (in the same block) still reads the value that `tile` had before `position`.
  bool isReadAfter(mlir::Value tile, mlir::Operation *position);
  /// True if `reader`, in the block that computes `tile`, is the first loop nest to read it, and reads each element at its own index.
  bool isFirstReader(mlir::Operation *reader, mlir::Value tile);
  /// Estimates the instructions for one vector of the tile if it is computed on demand.
  int64_t cost(mlir::Value tile);
  /// The same in a loop over rows (rows.h), where a value that is uniform in a row is computed once per row.
  int64_t costInRows(mlir::Value tile);

private:
  struct Demand {
    mlir::Operation *root;
    bool expands;
    bool moves;
  }; // moves: the tile is read at another index than the root's
  using Seen = llvm::DenseSet<std::pair<mlir::Value, int>>;
  Stride computeStride(mlir::Value tile, int64_t dim);
  Stride sumStride(mlir::Operation *sum, int64_t dim, int64_t sign);
  bool boundsAreKnown(mlir::Value tile, int64_t depth);
  Stride mulStride(mlir::arith::MulIOp mul, int64_t dim);
  Stride extendedStride(mlir::Operation *op, int64_t dim);
  bool storeMayOverwrite(tt::LoadOp load, tt::StoreOp store, bool elsewhere);
  void demands(mlir::Value tile, bool expands, bool moves, bool throughViews, llvm::SmallVectorImpl<Demand> &out, Seen &seen);
  int64_t ownCost(mlir::Operation *op, const llvm::DenseMap<mlir::Value, int64_t> &known);
  bool isGathered(mlir::Value tile);
  void findRows(mlir::Operation *function);
  void cutLongChains(mlir::Operation *function);
  int64_t chainAbove(mlir::Value tile);
  void decide(mlir::Value tile);
  bool mustStore(mlir::Operation *op);

  address::FailedGuards failedGuards;
  address::Indices indices;
  std::vector<LaunchGuard> preferred;
  Strides strides;
  Strides *assumedStrides = nullptr;
  Strides inRows; // of quotients and remainders by long rows
  llvm::DenseMap<mlir::Value, bool> exact, bounded;
  llvm::DenseMap<mlir::Value, int64_t> costs, rowCosts;
  llvm::DenseMap<mlir::Value, StoredFor> stored;
};

} // namespace tilewright::cpu
