// What is known about tiles before any code is emitted: how a tile varies
// along its dimensions, which masks are boxes, and which tiles are stored.
#pragma once

#include "ir/address/indices.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::cpu {

/// How a tile's elements change from one index to the next along one dimension.
struct Stride {
  enum Kind { constant, uniform, other } kind = other; // uniform: by the same amount each time, which is known only at run time
  int64_t amount = 0;                                  // constant: integers count 1, pointers bytes; 0: no change
  bool wraps = false;                                  // holds only if no `x % n` that it depends on wraps around inside the tile
  bool widens = false;                                 // holds only if no integer that is widened on the way overflows inside the tile
  bool modular = false;                                // for integers: holds up to overflow; isExact says whether there can be any
  bool varies = false;                                 // uniform: the amount depends on the indices along other dimensions
  bool isConditional() const { return wraps || widens; }
  /// All elements along the dimension are certainly equal. `i - i % n` has step 0 only where the remainder does not wrap around.
  bool isZero() const { return hasAmount(0) && !isConditional(); }
  /// The step is this one, if its conditions hold.
  bool hasAmount(int64_t wanted) const { return kind == constant && amount == wanted; }
};

/// One `index < bound` of a mask: true for the first indices of dimension `dim`; or `index >= bound`, true for the last ones.
struct BoxTerm {
  mlir::Operation *compare; // arith.cmpi
  int64_t dim;              // of the mask's tile; -1: the term is the same everywhere
  bool indexIsLhs;
  bool lower = false;   // `index >= bound`: true for all indices if it is true for the first
  bool mayWrap = false; // the index may overflow inside the tile; then none of this holds
};

/// Why a tile lives in scratch.
enum class StoredFor : uint8_t {
  itsOperation, // its operation makes all of it at once
  longChain,    // what computes it is long enough
  laterStore,   // memory that it is loaded from may be stored to before the tile is needed
  manyUses,     // it is expensive and needed more than once, or in every iteration of a loop
};

/// The shape of a tile type; empty for scalars.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return shapeOf(value.getType());
}
/// Whether each element of the results depends only on the elements at the same place of the operands, and can be computed alone.
bool isElementwise(mlir::Operation *op);
inline bool isTile(mlir::Type type) {
  return llvm::isa<mlir::RankedTensorType>(type);
}
inline bool isTile(mlir::Value value) {
  return isTile(value.getType());
}
/// Bytes of an element in memory; pointers 8, i1 1.
int64_t elementBytes(mlir::Type element);

/// Whether both pointers are a base plus the same tile of offsets, and point to elements of equal size.
bool haveSameOffsets(mlir::Value first, mlir::Value second);

/// Whether every element is at most 0, or NaN, whatever the inputs: `x - max(x)`, perhaps times a constant. With `fused`, a product
/// from which something is subtracted may be rounded only once, so that the difference can be positive: such products do not count.
bool isNotPositive(mlir::Value value, bool fused);

/// The constant that an integer is, or all elements of a tile are.
std::optional<int64_t> constantOf(mlir::Value value);

/// The integers that `op` widens: what it extends, or the offsets that it adds to pointers. Null for other operations.
mlir::Value extendedFrom(mlir::Operation *op);

class TileAnalysis {
public:
  /// May rely on facts about launches that are not in `refuted`; `facts` are those that it has relied on so far.
  TileAnalysis(tt::FuncOp function, address::FailedGuards failedGuards);
  const std::vector<LaunchGuard> &facts() const { return indices.facts(); }
  /// Whether code may be made for launches that satisfy a fact that is only preferred;
  /// false once a launch has broken it. Then `preferred` contains the fact.
  bool prefers(const LaunchGuard &guard);
  const std::vector<LaunchGuard> &versioningRequests() const { return preferred; }

  using Steps = llvm::DenseMap<std::pair<mlir::Value, int64_t>, Stride>;
  Stride step(mlir::Value tile, int64_t dim);
  /// From here on `step` takes the steps in `assumed` for given, and adds what follows from them; null: no more. Returns those before.
  Steps *assumeSteps(Steps *assumed);
  /// Whether the tile's step, unless it is `other`, follows from assumed steps alone.
  bool needsAssumedSteps(mlir::Value tile, int64_t dim);
  /// Whether all elements of a tile are equal.
  bool isOneValue(mlir::Value tile);
  /// Whether no element is negative: this is proven, or a fact that launches are checked for.
  bool isNotNegative(mlir::Value tile) { return indices.assumeNonNegativeElements(tile); }
  /// Whether nothing overflows in the tile: this is proven, or a fact that launches are checked for.
  bool isExact(mlir::Value tile);
  /// Whether what `op` widens (extendedFrom) moves along `dim` as exact numbers would.
  bool extendsWithoutWrap(mlir::Operation *op, int64_t dim);
  /// Whether the addresses of a tile of pointers follow from its first address and the steps, so that the bytes that it reaches are known.
  bool reachIsKnown(mlir::Value pointer);
  /// Whether a smallest and a largest element, perhaps not met by any, follow from scalars (Bounds in conditions.cpp): of integers and
  /// pointers. Sums, products with constants, and what is left of numbers that are not negative after a division by a constant.
  bool boundsAreKnown(mlir::Value tile) { return boundsAreKnown(tile, 0); }
  /// Whether no two elements of the tile of pointers can have the same address, as far as the steps show.
  bool distinctAddresses(mlir::Value pointer);
  /// Whether `mask` is a conjunction of box terms; appends them.
  bool box(mlir::Value mask, llvm::SmallVectorImpl<BoxTerm> &terms);

  /// Whether the tile lives in scratch rather than being recomputed.
  bool isStored(mlir::Value tile) const { return stored.contains(tile); }
  std::optional<StoredFor> storedFor(mlir::Value tile) const {
    auto found = stored.find(tile);
    return found == stored.end() ? std::nullopt : std::optional(found->second);
  }
  /// Whether some root that runs after `position` (in the same block) still reads `tile` as it was before `position`.
  bool isReadAfter(mlir::Value tile, mlir::Operation *position);
  /// Whether `reader` (in the block that computes `tile`) is the first root to read `tile`, and reads each element at its own place.
  bool isFirstReader(mlir::Operation *reader, mlir::Value tile);
  /// Estimated instructions for one vector of the tile, if it is computed on demand.
  int64_t cost(mlir::Value tile);
  /// The same in a loop over rows (rows.h), where what is one number in a row is computed once for all of its vectors.
  int64_t costInRows(mlir::Value tile);

private:
  struct Demand {
    mlir::Operation *root;
    bool expands;
    bool moves;
  }; // moves: it is read at another place than the root's
  using Seen = llvm::DenseSet<std::pair<mlir::Value, int>>;
  Stride computeStride(mlir::Value tile, int64_t dim);
  Stride sumStride(mlir::Operation *sum, int64_t dim, int64_t sign);
  bool boundsAreKnown(mlir::Value tile, int64_t depth);
  Stride productStride(mlir::arith::MulIOp dot, int64_t dim);
  Stride extendedStride(mlir::Operation *op, int64_t dim);
  bool storeDisturbs(tt::LoadOp load, tt::StoreOp store, bool elsewhere);
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
  Steps steps;
  Steps *assumedSteps = nullptr;
  Steps inRows; // of quotients and remainders by long rows
  llvm::DenseMap<mlir::Value, bool> exact, bounded;
  llvm::DenseMap<mlir::Value, int64_t> costs, rowCosts;
  llvm::DenseMap<mlir::Value, StoredFor> stored;
};

} // namespace tilewright::cpu
