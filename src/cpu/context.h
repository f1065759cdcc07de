// The state of the CPU lowering: the values that exist, the insertion point, and the assumptions that hold there.
//
// The functions are grouped by task:
//   control_flow.h, operations.h   control flow and operations in program order
//   evaluate.h                     the value of a tile at an index
//   loops.h                        loop nests over an index space
//   loop_nests.h                   the operations that need loop nests of their own
//   conditions.h                   run-time checks
//   scratch.h                      tiles in scratch memory
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

/// A tile in memory: element (i0, i1, ...) is at base + sum(i * stride) elements. `element` may be wider than the tile's own type (the
/// fp32 accumulator of an fp16 dot); readers convert.
struct Buffer {
  Value base; // !llvm.ptr
  Type element;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0; // elements
};

/// One coordinate of a tile index: its value (i64) and the outermost loop level at which it is known.
struct Index {
  Value value;
  int64_t level = 0;
};

/// The index at which a tile is evaluated: one coordinate per dimension. Along dimension `vector` it covers `lanes` elements; vector == -1:
/// one element.
struct TileIndex {
  llvm::SmallVector<Index, 3> at;
  int64_t vector = -1;
  int64_t lanes = 1;
};

/// The elements of a tile at a TileIndex.
struct Lanes {
  enum Kind { uniform, affine, vector } kind = uniform;
  Value value;         // uniform: the scalar; affine: the scalar at index 0 of the vector dimension; vector: the vector
  int64_t stride = 0;  // affine: integers count 1, pointers bytes
  Value uniformStride; // affine with a stride known at run time (i64)
};

/// The code at one level of a loop nest.
struct Level {
  mlir::Operation *inner = nullptr; // the loop of the next level; code of this level goes before it
  std::map<std::vector<const void *>, Lanes> memo;
};

struct Rows; // rows.h

/// The first two loop nests that read a load; 0: none yet.
struct Readings {
  int64_t first, second;
};

/// A zero-initialized accumulator of a loop: the dot's first iteration writes it instead of adding to it.
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

  // Values: scalars, and tiles that are in scratch. All other tiles are computed on demand.
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, FirstIteration> firstIterations;   // of carried tiles
  llvm::MapVector<Value, Buffer> pending;                  // tiles that the first reduction to read them stores on the way
  llvm::DenseMap<mlir::Operation *, Value> storedDirectly; // by store: i1, true if its dot has already stored the results (direct_store.h)
  llvm::SmallVector<Value, 3> programId, numPrograms;
  Value arena;
  int64_t arenaUsed = 0, arenaPeak = 0;
  int64_t lastingBytes = 0; // bytes that iterations leave for later iterations
  // Bytes before scratch: the arena's head, and data that programs and iterations leave for later ones.
  int64_t panelCacheBytes = sizeof(ArenaHead);
  llvm::SmallVector<std::pair<int64_t, int64_t>> panelCacheHeaders; // offset and number of cache lines
  Value zeroIndex;
  llvm::DenseMap<int64_t, Value> indexConstants;

  // The loop nest that is being emitted, and the assumptions that hold in it.
  llvm::SmallVector<Level> levels;
  llvm::DenseSet<Value> trueMasks; // masks that hold
  const Rows *rows = nullptr;      // the innermost loop is split into these rows; null: it is not
  Index rowStart, rowNext;         // in a row: the indices of its first two elements; only the first if there is no second
  bool isRowOfVector = false;      // each vector is a row of its own (Rows::ofVectors)
  Value rowEnd;                    // i64, where a vector may reach beyond its row; null: it does not
  bool assumeConditions = false;   // conditional strides hold
  bool fallback = false;           // emitting the fallback version of a root: one simple loop without assumptions
  bool packing = false;            // loads are copied for a dot; memory is idle during the dot
  bool guarded = false;            // code outside all loops runs only where `trueMasks` hold

  // The code around it.
  llvm::SmallVector<Value> enclosingTrips; // i64, trip counts of the loops around the current operation
  int64_t currentNest = 0;                 // counts the operations that were lowered
  llvm::DenseMap<mlir::Operation *, Readings> readings;
  Atomics atomics = Atomics::none;
  bool storesNonTemporal = false;  // whole vectors in this loop use non-temporal stores
  bool needsFence = false;         // some store is non-temporal, so the entry function ends with a fence
  bool usesAmx = false;            // some dot uses AMX tiles, which are configured at the start
  mlir::Operation *root = nullptr; // the operation that the current loop nest belongs to
  Notes notes;
  bool failedAny = false;
};

/// Reports a kernel's first refusal, or the first internal error; the lowering continues until it can stop.
void refuse(Context &ctx, mlir::Operation *op, Diag id, const std::string &what);
void bug(Context &ctx, mlir::Operation *op, const std::string &what);

} // namespace tilewright::cpu
