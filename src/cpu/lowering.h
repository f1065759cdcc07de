// The CPU lowering's one class. Its parts: lower.cpp (operations in order, control flow), evaluate.cpp (a tile's value at a place),
// loops.cpp (loop nests over an index space), roots_*.cpp (what makes loops), entry.cpp (the functions around a program).
#pragma once

#include "cpu/analysis.h"
#include "cpu/emit.h"
#include "cpu/lower.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>
#include <map>
#include <set>

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

/// Tiles with the dimensions of the root that theirs stand for: one tile may be met along rows and again along columns.
using PlacedTiles = std::set<std::pair<const void *, std::vector<int64_t>>>;

/// How loops run over an index space.
struct LoopSpec {
  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t, 3> order; // dimensions, outermost first
  llvm::SmallVector<int64_t, 3> chunk; // indices taken at once, by dimension
  int64_t unroll = 1;                  // bodies per turn of the innermost loop
  llvm::SmallVector<Value, 3> extent;  // by dimension: no index from here on is wanted (null: shape)
  llvm::SmallVector<Value, 3> full;    // by dimension: below this all `fullMasks` hold (null: everywhere)
  llvm::SmallVector<Value> fullMasks;
};

/// How many indices of a dimension a mask leaves, from the first one on.
struct BoxCount {
  Value count;  // i64
  Value noWrap; // i1: the index does not overflow inside the tile, so that `count` says it all; null: never
};

/// A load that a store's loop would compute on its way.
struct Hazard {
  tt::LoadOp load;
  bool samePlace; // it reads, at each index, the place that is stored to, if both start at the same address
};

/// The bytes from `low` up to `high` (i64).
struct Reach {
  Value low, high;
};

class Lowering {
public:
  Lowering(mlir::ModuleOp module, const CpuTarget &target, bool fpFusion);
  mlir::LogicalResult run(LoopsInfo &info);

private:
  // lower.cpp
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  mlir::LogicalResult lowerScalar(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult yieldTiles(ValueRange values, llvm::ArrayRef<Buffer> targets, mlir::Operation *yield);
  Type lowered(Type type); // scalars: pointers become !llvm.ptr
  Value scalar(Value value);
  Value indexConstant(int64_t value); // known everywhere: it stands at the top of the program
  Value scalarToIndex(Value value);   // any integer -> i64, sign-extended

  // evaluate.cpp
  Lanes evaluate(Value tile, const Place &place);
  Lanes evaluateOp(mlir::Operation *op, Value tile, const Place &place);
  Lanes evaluateLoad(tt::LoadOp load, const Place &place);
  Lanes readBuffer(const Buffer &buffer, Type logical, const Place &place);
  Value evaluateScalar(Value tile, Place place); // the element at the place
  Value asVector(const Lanes &lanes, Type element, const Place &place);
  /// One elementwise operation on scalars or vectors of its operands. Null after an error on `op`.
  Value emitElementwise(mlir::Operation *op, ValueRange operands);
  /// The combine region of a reduction or scan on scalars or vectors.
  llvm::SmallVector<Value> emitRegion(mlir::Region &region, ValueRange args);
  Place placeOf(Value operand, Value tile, const Place &place); // the operand's place for an elementwise or shape op's result place
  int64_t levelOf(Value tile, const Place &place);
  void refuse(mlir::Operation *op, const llvm::Twine &what);

  // prefetch.cpp
  /// Where a turn of a loop reads `load` a second time, at `address`: asks for the same place of the next turn.
  void prefetchNextTurn(tt::LoadOp load, Value address);

  // loops.cpp
  /// All indices one by one, outermost dimension first; `vectorDim` (-1: none) innermost, `chunk` at a time.
  static LoopSpec loopsOver(llvm::ArrayRef<int64_t> shape, int64_t vectorDim, int64_t chunk);
  void emitLoops(const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<Place>)> body, int64_t vectorDim);
  void loopLevel(const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<Place>)> body, size_t level, bool full, Place place,
                 int64_t vectorDim);
  void forLoop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
  llvm::SmallVector<Value> forLoop(Value from, Value to, int64_t step, ValueRange carried,
                                   llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)> body);
  /// Fills `extent` and `full` from the masks of the loads that `tiles` compute on demand and, for stores, the store's own mask.
  void applyMasks(LoopSpec &spec, ValueRange tiles, Value storeMask);
  void collectMasks(Value tile, llvm::ArrayRef<int64_t> dims, llvm::SmallVectorImpl<std::pair<Value, llvm::SmallVector<int64_t>>> &masks,
                    PlacedTiles &seen);
  BoxCount boxCount(const BoxTerm &term, int64_t size);
  /// The dimension to take vectors along, judged by the memory accesses of `tiles` (same index space) and `pointers`.
  int64_t chooseVectorDim(llvm::ArrayRef<int64_t> shape, ValueRange tiles, ValueRange pointers);
  void scoreDims(Value tile, llvm::ArrayRef<int64_t> dims, llvm::SmallVectorImpl<int64_t> &scores, llvm::DenseSet<Value> &seen);
  int64_t chunkFor(llvm::ArrayRef<int64_t> shape, int64_t vectorDim, ValueRange tiles);
  int64_t widestElement(Value tile, llvm::DenseSet<Value> &seen);
  // conditions.cpp
  /// Runs `body` under the assumption that all conditional steps along `dim` hold where they do at run time, else without.
  void withConditions(ValueRange tiles, int64_t dim, llvm::function_ref<void()> body);
  /// i1: all conditional steps of `tiles` along `dim` hold; null where there are none, or where nothing can be said.
  Value conditions(ValueRange tiles, int64_t dim);
  void collectConditions(Value tile, llvm::ArrayRef<int64_t> dims, int64_t dim,
                         llvm::SmallVectorImpl<std::pair<mlir::Operation *, int64_t>> &found, PlacedTiles &seen);
  Value staysBelow(mlir::Operation *remainder, int64_t size);
  Value widensExactly(mlir::Operation *extension);
  /// i1: nothing that is widened on the way to the addresses overflows; null where that is certain.
  Value reachesExactly(ValueRange pointers);
  /// i1: the indices that `mask` compares with its bounds do not overflow; null where that is certain.
  Value masksExactly(Value mask, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<Hazard> hazardsOf(tt::StoreOp op);
  /// i1: no load of `hazards` reads what the store has written before; null where that is certain.
  Value isUndisturbed(tt::StoreOp op, llvm::ArrayRef<Hazard> hazards);
  Reach reachOf(Value pointer, Value mask);
  Value stepAlong(Value tile, int64_t dim, Value first); // i64
  Value lastIndex(Value mask, llvm::ArrayRef<int64_t> shape, int64_t dim);
  /// i1: no two elements are at one address; null where that is certain.
  Value isInjective(Value pointer, Value mask);
  Value both(Value first, Value second); // i1, null: true

  // roots_store.cpp
  Buffer allocate(llvm::ArrayRef<int64_t> shape, Type element);
  Buffer allocateFor(Value tile);
  void materialize(Value tile, const Buffer &target);
  Buffer buffered(Value tile); // the tile's buffer, made now if it is not there
  void lowerStore(tt::StoreOp op);
  Value streamingPays(tt::StoreOp op, int64_t vectorDim, int64_t chunk); // i1, or null where it never does
  void storeTile(tt::StoreOp op, int64_t vectorDim, int64_t chunk, bool streaming);
  void storeAt(tt::StoreOp op, const Place &place, Value data, bool streaming);
  void storeFast(tt::StoreOp op, int64_t vectorDim, int64_t chunk);
  void storeCarefully(tt::StoreOp op, llvm::ArrayRef<Hazard> hazards, int64_t vectorDim, int64_t chunk);
  void lowerScalarStore(tt::StoreOp op);
  void storeChunk(const Buffer &target, Value vector, const Place &place);
  Value bufferAddress(const Buffer &buffer, const Place &place);
  Value convertTo(Value value, Type element); // between float types, scalars or vectors
  std::optional<Buffer> carriedTarget(Value tile, mlir::Operation *position);
  /// Whether computing `tile` reads `buffer`'s memory; with `elsewhere`, only whether it does so at other places than the one computed.
  bool reads(Value tile, const Buffer &buffer, bool elsewhere);

  // roots_reduce.cpp
  bool isStoredByReduction(Value tile);
  void storeConditionalLoads(ValueRange sources);
  void lowerReduce(tt::ReduceOp op);
  void lowerScan(tt::ScanOp op);
  void lowerHistogram(tt::HistogramOp op);
  void lowerGather(tt::GatherOp op);

  // roots_dot.cpp
  void lowerDot(tt::DotOp op);
  void packPanels(Value tile, Value base, int64_t k, int64_t n, int64_t panel, Type operand, llvm::ArrayRef<Index> batch);

  // roots_atomic.cpp
  void lowerAtomic(mlir::Operation *op);
  void forEachElement(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const Place &, Value)> body);
  void lowerPrint(tt::PrintOp op);
  void lowerAssert(tt::AssertOp op);

  // entry.cpp
  mlir::LogicalResult createFunctions(tt::FuncOp kernel, LoopsInfo &info);

  struct Level {
    mlir::Operation *inner = nullptr; // the loop of the next level, before which this level's code goes
    std::map<std::vector<const void *>, Lanes> memo;
  };

  struct Readings {
    int64_t first, second; // roots that read a load; 0: none yet
  };

  mlir::ModuleOp module;
  const CpuTarget &target;
  bool fpFusion;
  ImplicitLocOpBuilder b;
  std::unique_ptr<TileAnalysis> analysis;
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, Buffer> pending; // tiles that the next reduction over them stores on its way
  llvm::SmallVector<Level> levels;
  llvm::DenseSet<Value> trueMasks; // masks that hold in the loop being emitted
  bool assumeConditions = false;   // conditional steps hold
  bool careful = false;            // the version of a root that nothing is assumed of: one simple loop
  int64_t arenaUsed = 0, arenaPeak = 0;
  Value arena;
  llvm::SmallVector<Value, 3> programId, numPrograms;
  llvm::SmallVector<Value> enclosingTrips; // i64, of the loops around the current op
  bool streams = false;                    // some store is a streaming one: fence at the end
  int64_t currentRoot = 0;                 // counts the operations that were lowered
  llvm::DenseMap<mlir::Operation *, Readings> readings;
  bool failedAny = false;
  tt::FuncOp kernel;
  Value zeroIndex;
  llvm::DenseMap<int64_t, Value> indexConstants;
};

} // namespace tilewright::cpu
