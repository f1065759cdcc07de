// What the functions of the CPU lowering share: the values made so far, where code goes, and what is assumed there.
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

/// One index of a place: its value (i64) and the loop level at which it is known.
struct Index {
  Value value;
  int64_t level = 0;
};

/// Where a tile is asked for: one index a dimension; along dimension `vector`, `lanes` elements from there on. vector == -1: one element.
struct Place {
  llvm::SmallVector<Index, 3> at;
  int64_t vector = -1;
  int64_t lanes = 1;
};

/// A tile's elements at a place.
struct Lanes {
  enum Kind { uniform, affine, vector } kind = uniform;
  Value value;       // uniform: the scalar; affine: the scalar at index 0 of the vector dimension; vector: the vector
  int64_t step = 0;  // affine: integers count 1, pointers bytes
  Value uniformStep; // affine with a step known at run time (i64)
};

/// The code of one level of a loop nest.
struct Level {
  mlir::Operation *inner = nullptr; // the loop of the next level, before which this level's code goes
  std::map<std::vector<const void *>, Lanes> memo;
};

/// The roots that read a load; 0: none yet.
struct Readings {
  int64_t first, second;
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
  llvm::DenseMap<Value, Buffer> pending; // tiles that the next reduction over them stores on its way
  llvm::SmallVector<Value, 3> programId, numPrograms;
  Value arena;
  int64_t arenaUsed = 0, arenaPeak = 0;
  int64_t keptUsed = sizeof(ArenaHead); // in front of scratch: whether the launch is alone, and what programs leave for others
  llvm::SmallVector<std::pair<int64_t, int64_t>> keptHeaders; // at which offset, and how many lines
  Value zeroIndex;
  llvm::DenseMap<int64_t, Value> indexConstants;

  // The loop nest that is being emitted, and what holds in it.
  llvm::SmallVector<Level> levels;
  llvm::DenseSet<Value> trueMasks; // masks that hold
  bool assumeConditions = false;   // conditional steps hold
  bool careful = false;            // the version of a root that nothing is assumed of: one simple loop
  bool packing = false;            // what is loaded is copied for a product, during which memory is idle
  bool guarded = false;            // code outside of all loops is reached only where `trueMasks` hold

  // Around it.
  llvm::SmallVector<Value> enclosingTrips; // i64, of the loops around the current operation
  int64_t currentRoot = 0;                 // counts the operations that were lowered
  llvm::DenseMap<mlir::Operation *, Readings> readings;
  Atomics atomics = Atomics::none;
  bool streaming = false;          // in this loop whole vectors are stored past the caches
  bool streams = false;            // some store is a streaming one: fence at the end
  bool usesTiles = false;          // some product is one of tile registers: they are configured at the start
  mlir::Operation *root = nullptr; // the operation that code is emitted for
  Notes notes;
  bool failedAny = false;
};

/// The first refusal of a kernel, or the first bug that shows in it, is reported; the lowering goes on to where it can stop.
void refuse(Context &ctx, mlir::Operation *op, Diag id, const std::string &what);
void bug(Context &ctx, mlir::Operation *op, const std::string &what);

} // namespace tilewright::cpu
