// What the functions of the CPU lowering share: the values made so far, the place where code goes, and what may be assumed there.
//
// The functions stand by families: control flow and operations in order (operations.h), a tile's value at a place (evaluate.h), loop nests
// over an index space (loops.h), what is checked when the program runs (conditions.h), tiles in scratch memory (scratch.h), and what makes
// loops (roots.h).
#pragma once

#include "cpu/analysis.h"
#include "cpu/emit.h"
#include "cpu/notes.h"
#include "ir/refusal.h"
#include "support/arena.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <memory>

namespace tilewright::cpu {

/// A tile in memory: element (i0, i1, ...) is at base + sum(i * stride) elements. `element` may be wider than the tile's own type (a dot's
/// fp32 accumulator of an fp16 tile); readers convert.
struct Buffer {
  Value base; // !llvm.ptr
  Type element;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0; // elements
};

/// One index of a place: its value (i64) and the loop level from which on it is known.
struct Index {
  Value value;
  int64_t level = 0;
};

/// Where a tile is evaluated: one index a dimension; along dimension `vector`, `lanes` elements from there. vector == -1: one element.
struct TileIndex {
  llvm::SmallVector<Index, 3> at;
  int64_t vector = -1;
  int64_t lanes = 1;
};

/// A tile's elements at a place.
struct Lanes {
  enum Kind { uniform, affine, vector } kind = uniform;
  Value value;       // uniform: the scalar; affine: the scalar at index 0 of the vector dimension; vector: the vector
  int64_t step = 0;  // affine: integers count 1, pointers bytes
  Value uniformStride; // affine with a step known at run time (i64)
};

/// The code at one level of a loop nest.
struct Level {
  mlir::Operation *inner = nullptr; // the loop of the next level; this level's code goes in front of it
  std::map<std::vector<const void *>, Lanes> memo;
};

struct Rows; // rows.h

/// The roots that read a load; 0: none yet.
struct Readings {
  int64_t first, second;
};

/// A tile of zeros that a loop carries to a product: its buffer holds nothing before that product's first turn writes it.
struct FirstIteration {
  Value isFirst; // i1, known in the loop's body
  Value zeros;
};

struct Context {
  Context(mlir::ModuleOp module, const CpuTarget &target, bool fpFusion)
      : module(module), target(target), fpFusion(fpFusion), b(module.getLoc(), module.getContext()) {}

  mlir::ModuleOp module;
  const CpuTarget &target;
  bool fpFusion;
  ImplicitLocOpBuilder b;
  tt::FuncOp kernel;
  std::unique_ptr<TileAnalysis> analysis;

  // Values: scalars as they are, tiles that are in scratch. Others are computed on demand.
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, FirstIteration> firstIterations;             // of carried tiles
  llvm::MapVector<Value, Buffer> pending;                  // tiles that the first reduction to read them stores as it goes
  llvm::DenseMap<mlir::Operation *, Value> storedDirectly; // stores, and whether (i1) their product has already run them (direct_store.h)
  llvm::SmallVector<Value, 3> programId, numPrograms;
  Value arena;
  int64_t arenaUsed = 0, arenaPeak = 0;
  int64_t lastingBytes = 0;             // beside them, of what turns of loops leave for later turns
  int64_t panelCacheBytes = sizeof(ArenaHead); // in front of scratch: whether the launch is alone, what programs and turns leave for later ones
  llvm::SmallVector<std::pair<int64_t, int64_t>> panelCacheHeaders; // at which offset, and how many lines
  Value zeroIndex;
  llvm::DenseMap<int64_t, Value> indexConstants;

  // The loop nest that is being emitted, and what holds in it.
  llvm::SmallVector<Level> levels;
  llvm::DenseSet<Value> trueMasks; // masks that hold
  const Rows *rows = nullptr;      // the innermost loop is split into these; null: it is not
  Index rowStart, rowNext;         // in a row: the indices of its first two elements; of one alone, if it has no second
  bool isRowOfVector = false;      // each vector is a row of its own (Rows::ofVectors)
  Value rowEnd;                    // i64, where a vector may reach beyond its row; null: it does not
  bool assumeConditions = false;   // conditional steps hold
  bool fallback = false;            // emitting the version of a root that assumes nothing: one simple loop
  bool packing = false;            // what is loaded is copied for a product, and memory is idle during the product
  bool guarded = false;            // code outside all loops is reached only where `trueMasks` hold

  // Around it.
  llvm::SmallVector<Value> enclosingTrips; // i64, of the loops around the current operation
  int64_t currentNest = 0;                 // counts the operations that were lowered
  llvm::DenseMap<mlir::Operation *, Readings> readings;
  Atomics atomics = Atomics::none;
  bool streaming = false;          // in this loop whole vectors are stored past the caches
  bool nonTemporal = false;            // some store is a streaming one: fence at the end
  bool usesAmx = false;          // some product uses tile registers, which are configured at the start
  mlir::Operation *root = nullptr; // the operation that code is emitted for
  Notes notes;
  bool failedAny = false;
};

/// Reports the first refusal of a kernel, or the first bug that shows in it; the lowering continues until it can stop.
void refuse(Context &ctx, mlir::Operation *op, Diag id, const std::string &what);
void bug(Context &ctx, mlir::Operation *op, const std::string &what);

} // namespace tilewright::cpu
