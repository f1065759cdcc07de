// The class behind lowerToThreads: a walk over the tile program that emits one thread's part of it. A tile becomes as many scalars as the
// thread has registers in the tile's layout; `parts` says which. lower_to_threads.cpp has control flow and shapes, the other lower_*.cpp
// what their names say.
#pragma once

#include "gpu/tiles/ttg.h"
#include "support/target.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tilewright::gpu {

using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;
using Parts = llvm::SmallVector<Value, 4>;

ptx::Eviction evictionOf(tt::EvictionPolicy policy);

class ThreadLowering {
public:
  ThreadLowering(tt::FuncOp source, ttg::ConfigAttr config, GpuTarget target)
      : source(source), config(config), target(std::move(target)), b(source.getLoc(), source.getContext()) {}
  /// Replaces the function by its thread's form.
  LogicalResult run();

private:
  // ---- types and values
  /// The scalar that stands for an element: pointers are i64, 8-bit floats i8.
  Type scalarType(Type element);
  int64_t partsOf(Type type); // 1 for scalars
  void appendTypes(Type type, llvm::SmallVectorImpl<Type> &types);
  const Parts &get(Value value) { return parts.find(value)->second; }
  Value getScalar(Value value) { return get(value).front(); }
  void set(Value value, Parts scalars) { parts[value] = std::move(scalars); }
  Parts gather(mlir::ValueRange values);
  void scatter(mlir::ValueRange values, mlir::ValueRange scalars);
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value constant(Type type, mlir::Attribute value);
  Value zero(Type type);
  /// The row-major index in the tile of what this thread holds in the register `reg` of `layout`, as i32.
  Value flatIndex(const Layout &layout, int64_t reg);
  /// True in the threads that hold the first copy of what they hold; null if nothing is held twice.
  Value holdsFirstCopy(const Layout &layout);
  /// XOR of `bases[i]` over the bits set in `place`.
  Value xorBases(Value place, const std::vector<uint32_t> &bases);

  // ---- operations
  LogicalResult lowerBlock(mlir::Block &block);
  LogicalResult lowerOp(mlir::Operation *op);
  LogicalResult lower(mlir::Operation *op, llvm::function_ref<Value(mlir::ValueRange)> element);
  LogicalResult lowerConstant(mlir::Operation *op);
  LogicalResult lowerRange(tt::MakeRangeOp op);
  LogicalResult mapRegisters(mlir::Operation *op, Value source, const std::function<uint32_t(uint32_t)> &map);
  LogicalResult lowerFor(mlir::Operation *op);
  LogicalResult lowerIf(mlir::Operation *op);
  LogicalResult lowerWhile(mlir::Operation *op);
  LogicalResult lowerAddPtr(tt::AddPtrOp op);
  LogicalResult lowerJoin(tt::JoinOp op);
  LogicalResult lowerSplit(tt::SplitOp op);
  LogicalResult lowerUnsplat(tt::UnsplatOp op);
  LogicalResult lowerTable(mlir::Operation *op, mlir::DenseElementsAttr table);
  // lower_memory.cpp
  LogicalResult lowerLoad(tt::LoadOp op);
  LogicalResult lowerStore(tt::StoreOp op);
  LogicalResult lowerAtomic(tt::AtomicRMWOp op);
  LogicalResult lowerCompareSwap(tt::AtomicCASOp op);
  /// In the threads that perform a store or an atomic operation; null: all.
  Value performs(Type pointer);
  /// The result of whoever performed it, to all that hold copies of the element.
  Parts shareResults(mlir::Operation *op, const Parts &results, Type pointer);
  /// An atomic operation that the target has not, as a loop around compare_swap.
  Value atomicByCompareSwap(tt::AtomicRMWOp op, ptx::Order order, ptx::Scope scope, Value address, Value value, Value predicate);
  // lower_shared.cpp
  /// Addresses of a thread's registers in a tile in shared memory: few registers with addresses, and constants to be added.
  class SharedPlaces {
  public:
    SharedPlaces(ThreadLowering &lowering, Value base, const Layout &layout, const SharedLayout &shared);
    std::pair<Value, uint32_t> of(int64_t reg);

  private:
    ThreadLowering &lowering;
    OffsetBases offsets;
    uint64_t additive;
    Value base, inTile;
    llvm::DenseMap<uint32_t, Value> addresses;
  };
  /// Nothing for other operations.
  std::optional<LogicalResult> lowerShared(mlir::Operation *op);
  LogicalResult lowerAlloc(mlir::Operation *op);
  LogicalResult lowerSlot(ttg::SlotOp op);
  LogicalResult lowerLoadShared(ttg::LoadSharedOp op);
  LogicalResult lowerStoreShared(ttg::StoreSharedOp op);
  LogicalResult lowerCopyAsync(ttg::CopyAsyncOp op);
  LogicalResult lowerTmaLoad(ttg::TmaLoadOp op);
  LogicalResult lowerTmaStore(ttg::TmaStoreOp op);
  LogicalResult lowerBarrierExpect(ttg::BarrierExpectOp op);
  LogicalResult forBoxes(mlir::Operation *op, Value buffer, mlir::ValueRange coordinates,
                         llvm::function_ref<void(mlir::ValueRange, Value)> emit);
  Parts loadTile(Value base, const Layout &layout, const SharedLayout &shared, Type type);
  void storeTile(Value base, const Layout &layout, const SharedLayout &shared, mlir::ValueRange held, bool stmatrix);
  Value isFirstThread();
  Value barrierAt(Value barriers, Value index);
  /// Values side by side as one integer, the first lowest; and back.
  Value packed(mlir::ValueRange values);
  Parts unpacked(Value word, Type element);
  // lower_matrix.cpp
  LogicalResult lowerDot(tt::DotOp op);
  LogicalResult lowerWgmma(ttg::WgmmaOp op);
  LogicalResult lowerWgmmaWait(ttg::WgmmaWaitOp op);
  LogicalResult lowerFmaDot(ttg::FmaDotOp op);
  // lower_math.cpp
  LogicalResult lowerElementwise(mlir::Operation *op);
  LogicalResult lowerMath(mlir::Operation *op);
  LogicalResult lowerExtern(tt::ExternElementwiseOp op);
  LogicalResult lowerFloatConversion(mlir::Operation *op, bool towardZero);
  LogicalResult lowerByteFloats(mlir::Operation *op);
  Parts convertFloats(const Parts &values, Type from, Type to, bool towardZero);
  Parts widenBytes(const Parts &bytes, Type format); // to f32
  /// From f32 to a small float: 8-bit formats (as bytes), or 16-bit ones where the rounding is toward zero.
  Parts narrowToBytes(const Parts &values, Type format, bool towardZero);
  Value divide(Value x, Value y);
  /// What libm calls `name`, of floats of 16 to 64 bits; null if it is not known.
  Value mathFunction(llvm::StringRef name, mlir::ValueRange operands);
  // lower_convert.cpp
  LogicalResult lowerConvert(ttg::ConvertLayoutOp op);
  /// The tile in another layout, for `op`, whose scratch it may use.
  mlir::FailureOr<Parts> convertParts(mlir::Operation *op, const Parts &held, const Layout &from, const Layout &to);
  Parts shuffleParts(const Parts &held, const ShufflePlan &plan);
  Parts exchangeParts(mlir::Operation *op, const Parts &held, const Layout &from, const Layout &to, const ScratchPlan &plan);
  Parts permuteByThread(Parts values, const std::vector<uint32_t> &masks);
  // lower_exchange.cpp
  LogicalResult lowerReduce(tt::ReduceOp op);
  LogicalResult lowerReadBlocks(ttg::ReadBlocksOp op);
  /// Runs the region of a reduction or a scan on scalars.
  mlir::FailureOr<Parts> combine(mlir::Block &region, mlir::ValueRange first, mlir::ValueRange second);
  // lower_scan.cpp
  LogicalResult lowerScan(tt::ScanOp op);
  std::map<int64_t, Parts> totalsOfLane(const std::map<int64_t, Parts> &totals, int64_t bit);
  std::map<int64_t, Parts> totalsOfWarp(mlir::Operation *op, const std::map<int64_t, Parts> &totals, int64_t bit);
  // lower_gather.cpp
  LogicalResult lowerGather(tt::GatherOp op);
  LogicalResult lowerHistogram(tt::HistogramOp op);
  LogicalResult lowerCat(tt::CatOp op);
  /// The tile to shared memory in row-major order, from element `firstElement` on; each element by one thread.
  void storeFlat(Value base, const Parts &held, const Layout &layout, int64_t firstElement);
  Value loadFlat(Value base, Value index, Type type);
  Parts loadAllFlat(Value base, const Layout &layout, Type type);
  // lower_debug.cpp
  LogicalResult lowerPrint(tt::PrintOp op);
  LogicalResult lowerAssert(tt::AssertOp op);
  LogicalResult lowerInlineAsm(tt::ElementwiseInlineAsmOp op);
  LogicalResult lowerMapElementwise(tt::MapElementwiseOp op);

  /// The shared memory that scratchBytes promises to `op`. Everybody may use it between two barriers.
  Value scratch(mlir::Operation *op);
  /// All threads of the program meet, and see what the others have written.
  void meet();
  /// Of the launch's grid along an axis: the program, and how many there are.
  Value programId(int64_t axis);
  Value programCount(int64_t axis);
  /// A barrier, if this access may touch what another thread reads or writes through the same argument before or after it in the program.
  void orderAccess(Value pointer, bool writes);
  /// As if the loop had made a turn before.
  void expectTurn(mlir::Operation *loop);
  Value toMemory(Value scalar); // i1 is a byte in memory
  Value fromMemory(Value stored, Type scalar);
  Type memoryType(Type scalar);

  tt::FuncOp source;
  ttg::ConfigAttr config;
  GpuTarget target;
  mlir::ImplicitLocOpBuilder b;
  llvm::DenseMap<Value, Parts> parts;
  Value thread, lane, warp;
  struct GlobalAccess {
    Value pointer;
    bool writes, changes; ///< changes: it was another turn's, and meant other elements
  };
  llvm::SmallVector<GlobalAccess> sinceBarrier;
  int64_t sharedBytes = 0;
};

} // namespace tilewright::gpu
