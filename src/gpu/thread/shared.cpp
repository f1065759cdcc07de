// Buffers in shared memory, their loads, stores and asynchronous copies. A buffer's value is the address of its first byte. The type says
// where each element is, so that every access is one address per thread plus constants:
//   ttg.load_shared %buffer : !ttg.buffer<1 x f16, #ttg.shared<128x64, ...>> -> tensor<128x64xf16, #operand>
//   -> offset = XOR over the bits of lane and warp; ldmatrix.x4 [buffer + offset], ldmatrix.x4 [buffer + offset + 2048], ...
#include "gpu/thread/shared.h"
#include "gpu/cost_model/hardware.h"
#include "gpu/layout/verify_plan.h"
#include "gpu/machine/mbarrier_scope.h"
#include "gpu/schedule/named_barriers.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

static SharedLayout sharedOf(Value buffer) {
  return cast<ttg::BufferType>(buffer.getType()).getLayout().layout();
}

//===------------------------------------------------------------------------------------------------------------- addresses

namespace {
/// Addresses of a thread's registers in a tile in shared memory: a few registers with addresses, plus constants. `variantZero`: a
/// loop-variant zero that stops ptxas from hoisting the addresses (see loopVariantZero), or null.
class SharedAddresses {
public:
  SharedAddresses(ThreadContext &t, Value base, const Layout &layout, const SharedLayout &shared, Value variantZero)
      : t(t), offsets(offsetBases(layout, shared)), additive(splitAdd(offsets)), base(base) {
    inTile = arith::XOrIOp::create(t.b, xorBases(t, t.lane, offsets[static_cast<size_t>(Axis::lane)]),
                                   xorBases(t, t.warp, offsets[static_cast<size_t>(Axis::warp)]));
    if (variantZero) inTile = arith::AddIOp::create(t.b, inTile, variantZero);
  }

  std::pair<Value, uint32_t> of(int64_t reg) {
    const std::vector<uint32_t> &registers = offsets[static_cast<size_t>(Axis::reg)];
    uint32_t added = 0, xored = 0;
    for (size_t bit = 0; bit < registers.size(); ++bit)
      if (reg >> bit & 1) (additive >> bit & 1 ? added : xored) ^= registers[bit];
    Value &address = addresses[xored];
    if (!address) {
      Value offset = xored ? Value(arith::XOrIOp::create(t.b, inTile, t.i32(xored))) : inTile;
      address = arith::AddIOp::create(t.b, base, offset);
    }
    return {address, added};
  }

private:
  ThreadContext &t;
  OffsetBases offsets;
  uint64_t additive;
  Value base, inTile;
  llvm::DenseMap<uint32_t, Value> addresses;
};
} // namespace

//===--------------------------------------------------------------------------------------------------------------- buffers

/// The address of an allocation; null if it has none.
static Value allocated(ThreadContext &t, Operation *op) {
  auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  if (!offset) return {};
  Value base = ptx::SharedBaseOp::create(t.b, t.b.getI32Type());
  return arith::AddIOp::create(t.b, base, t.i32(offset.getInt()));
}

static LogicalResult lowerAlloc(ThreadContext &t, ttg::AllocOp op) {
  Value address = allocated(t, op);
  if (!address) return bug(op, "this buffer has no offset in shared memory");
  t.set(op.getResult(), {address});
  return success();
}

static void makeBarriers(ThreadContext &t, ttg::AllocBarriersOp op) {
  for (int64_t i = 0; i < cast<ttg::BarriersType>(op.getType()).getCount(); ++i) {
    Value barrier = arith::AddIOp::create(t.b, t.getScalar(op.getResult()), t.i32(i * mbarrierBytes));
    ptx::MbarrierInitOp::create(t.b, barrier, op.getArrivals(), Value());
  }
}

static LogicalResult lowerAllocBarriers(ThreadContext &t, ttg::AllocBarriersOp op) {
  Value address = allocated(t, op);
  if (!address) return bug(op, "these barriers have no offset in shared memory");
  t.set(op.getResult(), {address});
  // Consecutive allocations are initialized together, at the last of them, in one branch: ptxas inserts a fence before each branch.
  Operation *next = op->getNextNode();
  while (isa<arith::ConstantOp, ttg::TensorTileOp>(next))
    next = next->getNextNode();
  if (isa<ttg::AllocBarriersOp>(next)) return success();
  SmallVector<ttg::AllocBarriersOp> run;
  for (Operation *at = op; isa_and_nonnull<arith::ConstantOp, ttg::TensorTileOp, ttg::AllocBarriersOp>(at); at = at->getPrevNode())
    if (auto barriers = dyn_cast<ttg::AllocBarriersOp>(at)) run.push_back(barriers);
  auto branch = scf::IfOp::create(t.b, isFirstThread(t), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    for (ttg::AllocBarriersOp barriers : llvm::reverse(run))
      makeBarriers(t, barriers);
  }
  ptx::MbarrierInitFenceOp::create(t.b);
  if (t.partitions && t.config.getCtas() != 1) { // CTAs arrive at each other's barriers
    ptx::ClusterArriveOp::create(t.b, /*relaxed=*/true);
    ptx::ClusterWaitOp::create(t.b);
  } else {
    ptx::BarrierOp::create(t.b);
  }
  return success();
}

static LogicalResult lowerStage(ThreadContext &t, ttg::StageOp op) {
  ttg::AllocOp alloc = allocOf(op.getBuffer());
  if (!alloc) return bug(op, "it is a stage of a buffer without an allocation");
  int64_t step = stageBytes(alloc);
  Value offset = arith::MulIOp::create(t.b, t.getScalar(op.getIndex()), t.i32(step));
  t.set(op.getResult(), {arith::AddIOp::create(t.b, t.getScalar(op.getBuffer()), offset)});
  return success();
}

/// True if each bit of an element's index in the buffer is a bit of its index in the view: dimensions are permuted, split, joined or
/// padded. A swizzle that moves elements to or from padding is none of these.
static bool showsElements(const SharedLayout &view, const SharedLayout &buffer) {
  LinearMap offsets = buffer.inverse();
  uint32_t seen = 0;
  for (int64_t element = 1; element < elementCount(buffer.shape); element *= 2) {
    uint32_t index = view.apply(offsets.apply(static_cast<uint32_t>(element)));
    if (!llvm::isPowerOf2_32(index) || (seen & index)) return false;
    seen |= index;
  }
  return view.elementBits == buffer.elementBits;
}

/// The same address, or that of a later element.
static LogicalResult lowerView(ThreadContext &t, ttg::ViewOp op) {
  SharedLayout view = sharedOf(op.getResult()), buffer = sharedOf(op.getBuffer());
  bool isPart = view.bytes() < buffer.bytes(); // from element `first` on
  if (!isPart && !showsElements(view, buffer)) return bug(op, "its elements are not those of its buffer");
  Value address = t.getScalar(op.getBuffer());
  int64_t bytes = op.getFirst() * buffer.elementBytes();
  if (bytes) address = arith::AddIOp::create(t.b, address, t.i32(bytes));
  t.set(op.getResult(), {address});
  return success();
}

static Value barrierAt(ThreadContext &t, Value barriers, Value index) {
  return arith::AddIOp::create(t.b, t.getScalar(barriers), arith::ShLIOp::create(t.b, t.getScalar(index), t.i32(3)));
}

/// The barrier of the thread's warp group.
static Value barrierOfGroup(ThreadContext &t, Value barriers, Value index) {
  Value group = arith::ShRUIOp::create(t.b, t.warp, t.i32(warpGroupBit));
  return arith::AddIOp::create(t.b, barrierAt(t, barriers, index), arith::ShLIOp::create(t.b, group, t.i32(3)));
}

/// Packs values of 1 to 8 bytes in total into an integer, and back.
Value packed(ThreadContext &t, ValueRange values) {
  int64_t bits = 0;
  for (Value value : values)
    bits += value.getType().getIntOrFloatBitWidth();
  Type type = t.b.getIntegerType(static_cast<unsigned>(bits));
  if (values.size() > 1) return ptx::PackOp::create(t.b, type, values);
  return values[0].getType() == type ? values[0] : Value(arith::BitcastOp::create(t.b, type, values[0]));
}

ThreadValues unpacked(ThreadContext &t, Value word, Type element) {
  int64_t count = word.getType().getIntOrFloatBitWidth() / element.getIntOrFloatBitWidth();
  if (count > 1) {
    SmallVector<Type> types(static_cast<size_t>(count), element);
    return ThreadValues(ptx::UnpackOp::create(t.b, types, word).getResults());
  }
  return {word.getType() == element ? word : Value(arith::BitcastOp::create(t.b, element, word))};
}

/// Verifies the plan of an access to a buffer, and reports an error on `op` if it is invalid.
template <typename Plan>
static LogicalResult prove(Operation *op, const SharedLayout &shared, const Layout &layout, const Plan &plan,
                           std::optional<std::string> (*verify)(const Plan &, const Layout &, const SharedLayout &)) {
  std::optional<std::string> error = verifyBuffer(shared);
  if (!error) error = verify(plan, layout, shared);
  return error ? bug(op, "the plan of its access to shared memory is invalid: " + *error) : success();
}

FailureOr<ThreadValues> loadTile(ThreadContext &t, Operation *op, Value base, const Layout &layout, const SharedLayout &shared, Type type) {
  Type inMemory = memoryType(t, type);
  SharedAddresses addresses(t, base, layout, shared, Value());
  ThreadValues results(static_cast<size_t>(layout.registersPerThread()), Value());
  if (std::optional<MatrixPlan> matrix = matricesRead(layout, shared, type)) {
    if (failed(prove(op, shared, layout, *matrix, verifyMatrices))) return failure();
    Value offsetInTile = arith::XOrIOp::create(t.b, xorBases(t, t.lane, {matrix->laneOffsets.begin(), matrix->laneOffsets.end()}),
                                               xorBases(t, t.warp, matrix->warpOffsets));
    for (const MatrixPlan::Instruction &instruction : matrix->instructions) {
      Value address = arith::AddIOp::create(t.b, base, arith::XOrIOp::create(t.b, offsetInTile, t.i32(instruction.offset)));
      SmallVector<Type> words(static_cast<size_t>(matrix->matrices), t.b.getI32Type());
      auto load = ptx::LdmatrixOp::create(t.b, words, address, matrix->transposed);
      for (auto [index, word] : llvm::enumerate(load.getValues()))
        for (auto [at, value] : llvm::enumerate(unpacked(t, word, type)))
          results[static_cast<size_t>(instruction.firstRegister) + index * static_cast<size_t>(matrix->perWord) + at] = value;
    }
    return results;
  }
  VectorAccess access = vectorAccess(layout, shared);
  if (failed(prove(op, shared, layout, access, verifyVectors))) return failure();
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (results[static_cast<size_t>(vector.registers[0])]) continue;
    auto [address, offset] = addresses.of(vector.registers[0]);
    // At most 8 values are loaded at once: more are packed in words.
    size_t count = vector.registers.size();
    size_t perWord = count > 8 ? count / 4 : 1;
    Type word = perWord > 1 ? Type(t.b.getI32Type()) : inMemory;
    SmallVector<Type> types(count / perWord, word);
    auto load = ptx::LoadSharedOp::create(t.b, types, address, Value(), static_cast<uint32_t>(offset));
    ThreadValues values;
    for (Value value : load.getValues()) {
      if (perWord == 1)
        values.push_back(value);
      else
        llvm::append_range(values, unpacked(t, value, inMemory));
    }
    for (auto [reg, value] : llvm::zip(vector.registers, values))
      results[static_cast<size_t>(reg)] = fromMemory(t, value, type);
  }
  return results;
}

LogicalResult storeTile(ThreadContext &t, Operation *op, Value base, const Layout &layout, const SharedLayout &shared, ValueRange held,
                        bool stmatrix, Value variantZero) {
  Type type = held.front().getType();
  if (std::optional<MatrixPlan> matrix = matricesWritten(layout, shared, type, stmatrix)) {
    if (failed(prove(op, shared, layout, *matrix, verifyMatrices))) return failure();
    Value offsetInTile = arith::XOrIOp::create(t.b, xorBases(t, t.lane, {matrix->laneOffsets.begin(), matrix->laneOffsets.end()}),
                                               xorBases(t, t.warp, matrix->warpOffsets));
    if (variantZero) offsetInTile = arith::AddIOp::create(t.b, offsetInTile, variantZero);
    for (const MatrixPlan::Instruction &instruction : matrix->instructions) {
      Value address = arith::AddIOp::create(t.b, base, arith::XOrIOp::create(t.b, offsetInTile, t.i32(instruction.offset)));
      SmallVector<Value> words;
      for (int64_t i = 0; i < matrix->matrices; ++i)
        words.push_back(packed(
            t, held.slice(static_cast<size_t>(instruction.firstRegister + i * matrix->perWord), static_cast<size_t>(matrix->perWord))));
      ptx::StmatrixOp::create(t.b, address, words, matrix->transposed);
    }
    return success();
  }
  SharedAddresses addresses(t, base, layout, shared, variantZero);
  Value first = holdsFirstCopy(t, layout);
  VectorAccess access = vectorAccess(layout, shared);
  if (failed(prove(op, shared, layout, access, verifyVectors))) return failure();
  llvm::DenseSet<int64_t> stored;
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (stored.contains(vector.registers[0])) continue;
    SmallVector<Value> values;
    for (int64_t reg : vector.registers) {
      values.push_back(toMemory(t, held[static_cast<size_t>(reg)]));
      stored.insert(reg);
    }
    if (values.size() > 8) {
      SmallVector<Value> words;
      size_t perWord = values.size() / 4;
      for (size_t i = 0; i < values.size(); i += perWord)
        words.push_back(packed(t, ValueRange(values).slice(i, perWord)));
      values = words;
    }
    auto [address, offset] = addresses.of(vector.registers[0]);
    ptx::StoreSharedOp::create(t.b, address, values, first, static_cast<uint32_t>(offset));
  }
  return success();
}

static LogicalResult lowerLoadShared(ThreadContext &t, ttg::LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  FailureOr<ThreadValues> loaded =
      loadTile(t, op, t.getScalar(op.getBuffer()), ttg::layoutOf(tile), sharedOf(op.getBuffer()), t.scalarType(tile.getElementType()));
  if (failed(loaded)) return failure();
  t.set(op.getResult(), std::move(*loaded));
  return success();
}

static LogicalResult lowerStoreShared(ThreadContext &t, ttg::StoreSharedOp op) {
  return storeTile(t, op, t.getScalar(op.getBuffer()), ttg::layoutOf(op.getSrc().getType()), sharedOf(op.getBuffer()), t.get(op.getSrc()),
                   t.target.stmatrix, loopVariantZero(t, op, op.getBuffer()));
}

static LogicalResult lowerCtaBarrier(ThreadContext &t, ttg::CtaBarrierOp op) {
  if (!t.partitions || !op.getAllWarps()) return ctaBarrier(t), success();
  int64_t warps = t.config.getWarps();
  for (int64_t partitionWarps : t.partitions.getPartitionNumWarps())
    warps += partitionWarps;
  fenceTensorMemory(t, ptx::TensorFence::before);
  ptx::BarrierOp::create(t.b, allWarpsBarrier, static_cast<uint32_t>(warps << laneBits));
  fenceTensorMemory(t, ptx::TensorFence::after);
  return success();
}

static LogicalResult lowerFenceAsync(ThreadContext &t, ttg::FenceAsyncOp op) {
  if (t.target.tma) ptx::FenceAsyncOp::create(t.b, op.getInterleavedStores()); // older GPUs have no TMA
  return success();
}

//===----------------------------------------------------------------------------------------------------- asynchronous copies

static LogicalResult lowerCopyAsync(ThreadContext &t, ttg::CopyAsyncOp op) {
  orderAccess(t, op);
  Layout layout = ttg::layoutOf(op.getPointers().getType());
  SharedLayout shared = sharedOf(op.getBuffer());
  VectorAccess access = vectorAccess(layout, shared);
  if (failed(prove(op, shared, layout, access, verifyVectors))) return failure();
  // The width is limited by contiguous elements in both memories: for pointers, `ttg.vector` registers.
  auto width = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  int64_t elements = std::min(width ? width.getInt() : 1, registersInOrder(access));
  int64_t bytes = elements * shared.elementBytes();
  if (bytes < 4) return bug(op, "an asynchronous copy moves 4 bytes at least");
  SharedAddresses addresses(t, t.getScalar(op.getBuffer()), layout, shared, Value());
  const ThreadValues &pointers = t.get(op.getPointers());
  Value first = holdsFirstCopy(t, layout);
  for (const VectorAccess::Vector &vector : access.vectors)
    for (size_t i = 0; i < vector.registers.size(); i += static_cast<size_t>(elements)) {
      size_t reg = static_cast<size_t>(vector.registers[i]);
      auto [address, offset] = addresses.of(vector.registers[i]);
      Value mask = op.getMask() ? t.get(op.getMask())[reg] : Value();
      // A copy by several threads would write the same bytes again. A false mask writes zeros, so it cannot prevent that.
      if (first) return bug(op, "a tile with elements held by several threads cannot be copied asynchronously");
      ptx::CopyAsyncOp::create(t.b, address, pointers[reg], mask, static_cast<uint32_t>(bytes), static_cast<uint32_t>(offset));
    }
  return success();
}

/// Emits the TMA boxes of a tile: one for each block of columns. `emit` gets a box, its coordinates and its address in the buffer.
static LogicalResult forBoxes(ThreadContext &t, Operation *op, Value buffer, ValueRange coordinates,
                              llvm::function_ref<void(const TmaBox &, ValueRange, Value)> emit) {
  ttg::AllocOp alloc = allocOf(buffer);
  std::optional<TmaBox> box = alloc ? copiedBox(alloc) : std::nullopt;
  if (!box) return bug(op, "TMA cannot fill this buffer");
  Value base = t.getScalar(buffer);
  for (int64_t i = 0; i < box->copies; ++i) {
    SmallVector<Value> at;
    for (Value coordinate : coordinates)
      at.push_back(t.getScalar(coordinate));
    if (i) at[0] = arith::AddIOp::create(t.b, at[0], t.i32(i * box->box[0]));
    if (box->isPadded) at[0] = arith::ShLIOp::create(t.b, at[0], t.i32(1)); // it counts numbers, two in a byte
    emit(*box, at, i ? Value(arith::AddIOp::create(t.b, base, t.i32(i * box->bytes))) : base);
  }
  return success();
}

static LogicalResult lowerTmaLoad(ThreadContext &t, ttg::TmaLoadOp op) {
  Value barrier = barrierAt(t, op.getBarriers(), op.getIndex());
  Value predicate = isFirstThread(t);
  if (op.getPredicate()) predicate = arith::AndIOp::create(t.b, predicate, t.getScalar(op.getPredicate()));
  ptx::Eviction evict = evictionOf(static_cast<tt::EvictionPolicy>(op.getEvict()));
  bool isForAll = op.getMulticast();
  int64_t blocks = t.config.getCtas(), box = 0;
  Value rank = isForAll ? Value(ptx::ClusterRankOp::create(t.b, t.b.getI32Type())) : Value();
  IntegerAttr all = isForAll ? t.b.getI32IntegerAttr((1 << blocks) - 1) : IntegerAttr();
  std::optional<BoxParts> parts = isForAll ? partsPerBox(op.getBuffer().getType(), blocks, op.getToLeader()) : BoxParts();
  if (!parts) return bug(op, "the CTAs of the cluster cannot share this tile");
  return forBoxes(t, op, op.getBuffer(), op.getCoordinates(), [&](const TmaBox &whole, ValueRange at, Value address) {
    Value starts = predicate;
    SmallVector<Value> coordinates(at);
    if (parts->count != 1) { // its part of each box
      int64_t extent = whole.box[parts->dim] / parts->count, bytes = whole.spanBytes ? extent * whole.spanBytes : parts->bytes;
      coordinates[parts->dim] = arith::AddIOp::create(t.b, coordinates[parts->dim], arith::MulIOp::create(t.b, rank, t.i32(extent)));
      address = arith::AddIOp::create(t.b, address, arith::MulIOp::create(t.b, rank, t.i32(bytes)));
    } else if (isForAll) {
      Value isMine = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, rank, t.i32(box++ % blocks));
      starts = arith::AndIOp::create(t.b, predicate, isMine);
    }
    ptx::TmaLoadOp::create(t.b, t.getScalar(op.getMap()), coordinates, address, barrier, starts, evict, all, op.getToLeader());
  });
}

/// True if TMA stores of an earlier iteration may still be in flight, which are not ordered with this one. Stores of one iteration are
/// disjoint, and reductions commute.
static bool mayOvertake(ttg::TmaStoreOp op) {
  if (op.getReduce()) return false;
  if (!op->getParentOfType<scf::ForOp>() && !op->getParentOfType<scf::WhileOp>()) return false;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (auto store = dyn_cast<ttg::TmaStoreOp>(before); store && !store.getReduce())
      return false; // that store has waited for all earlier ones
  return true;
}

/// For a per-warp-group store: what a warpgroup adds to the first row and to the address of a box, and its first thread.
struct WarpGroupRows {
  Value row, offset, isFirst;
};
/// Null if TMA cannot read the buffer.
static std::optional<WarpGroupRows> warpGroupRows(ThreadContext &t, ttg::TmaStoreOp op) {
  SharedLayout shared = sharedOf(op.getBuffer());
  std::optional<TmaBox> box = tmaBox(shared);
  if (!box) return std::nullopt;
  int64_t rows = shared.shape[0] / (t.warps / warpsOfGroup);
  Value group = arith::ShRUIOp::create(t.b, t.warp, t.i32(warpGroupBit));
  Value inGroup = arith::AndIOp::create(t.b, t.thread, t.i32(threadsOfGroup - 1));
  return WarpGroupRows{arith::MulIOp::create(t.b, group, t.i32(rows)), arith::MulIOp::create(t.b, group, t.i32(rows * box->spanBytes)),
                       arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, inGroup, t.i32(0))};
}

static LogicalResult lowerTmaStore(ThreadContext &t, ttg::TmaStoreOp op) {
  bool own = op.getPerWarpGroup();
  std::optional<WarpGroupRows> rows = own ? warpGroupRows(t, op) : WarpGroupRows{};
  if (!rows) return bug(op, "TMA cannot read this buffer");
  Value predicate = own ? rows->isFirst : isFirstThread(t);
  if (mayOvertake(op)) ptx::TmaWaitOp::create(t.b, 0, /*read=*/false);
  LogicalResult done = forBoxes(t, op, op.getBuffer(), op.getCoordinates(), [&](const TmaBox &, ValueRange at, Value address) {
    SmallVector<Value> coordinates(at);
    if (own) {
      coordinates[1] = arith::AddIOp::create(t.b, coordinates[1], rows->row);
      address = arith::AddIOp::create(t.b, address, rows->offset);
    }
    auto reduce = op.getReduce() ? ptx::ReduxAttr::get(t.b.getContext(), *ptx::symbolizeRedux(ttg::stringifyReduction(*op.getReduce())))
                                 : ptx::ReduxAttr();
    ptx::TmaStoreOp::create(t.b, t.getScalar(op.getMap()), coordinates, address, predicate, reduce);
  });
  if (succeeded(done)) ptx::TmaCommitOp::create(t.b); // the other threads commit empty groups
  return done;
}

static LogicalResult lowerBarrierExpect(ThreadContext &t, ttg::BarrierExpectOp op) {
  Value predicate = isFirstThread(t);
  if (op.getPredicate()) predicate = arith::AndIOp::create(t.b, predicate, t.getScalar(op.getPredicate()));
  ptx::MbarrierExpectOp::create(t.b, barrierAt(t, op.getBarriers(), op.getIndex()), op.getBytes(), predicate);
  return success();
}

/// Emits for the first warp alone, or for all.
static void inWarps(ThreadContext &t, bool firstWarp, llvm::function_ref<void()> emit) {
  firstWarp ? inFirstWarp(t, emit) : emit();
}

/// Returns the scope of waits: that of a cluster if warps of other CTAs arrive at the barriers.
static ptx::Scope scopeOfArrivals(ThreadContext &t, Value barriers) {
  bool fromOtherCtas = llvm::any_of(barriers.getUsers(), [](Operation *user) {
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(user);
    return arrive && arrive.isForCluster();
  });
  return fromOtherCtas ? ptx::scopeAcrossCtas(t.target) : ptx::Scope::cta;
}

static LogicalResult lowerBarrierWait(ThreadContext &t, ttg::BarrierWaitOp op) {
  Value barrier = op.getPerWarpGroup() ? barrierOfGroup(t, op.getBarriers(), op.getIndex()) : barrierAt(t, op.getBarriers(), op.getIndex());
  ptx::Scope scope = scopeOfArrivals(t, op.getBarriers());
  inWarps(t, op.getFirstWarp(), [&] { ptx::MbarrierWaitOp::create(t.b, barrier, t.getScalar(op.getParity()), scope); });
  if (op.getTensorMemory()) fenceTensorMemory(t, ptx::TensorFence::after);
  return success();
}

void arriveAt(ThreadContext &t, Value barrier, Value predicate, bool inCluster, bool toFirst) {
  IntegerAttr ctas = inCluster ? t.b.getI32IntegerAttr(static_cast<int32_t>(t.config.getCtas())) : IntegerAttr();
  ptx::Scope scope = inCluster ? ptx::scopeAcrossCtas(t.target) : ptx::Scope::cta;
  ptx::MbarrierArriveOp::create(t.b, barrier, 1, predicate, ctas, scope, toFirst);
}

/// One lane arrives for its warp, after all threads of the warp have reached this point.
static LogicalResult lowerBarrierArrive(ThreadContext &t, ttg::BarrierArriveOp op) {
  inWarps(t, op.getFirstWarp(), [&] {
    fenceTensorMemory(t, ptx::TensorFence::before);
    ptx::WarpBarrierOp::create(t.b);
    Value predicate = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, t.lane, t.i32(0));
    if (op.getPredicate()) predicate = arith::AndIOp::create(t.b, predicate, t.getScalar(op.getPredicate()));
    Value barrier =
        op.getPerWarpGroup() ? barrierOfGroup(t, op.getBarriers(), op.getIndex()) : barrierAt(t, op.getBarriers(), op.getIndex());
    arriveAt(t, barrier, predicate, op.isForCluster(), op.getToFirstCta());
  });
  return success();
}

static LogicalResult lowerCopyCommit(ThreadContext &t, ttg::CopyCommitOp) {
  ptx::CopyCommitOp::create(t.b);
  return success();
}

static LogicalResult lowerCopyWait(ThreadContext &t, ttg::CopyWaitOp op) {
  ptx::CopyWaitOp::create(t.b, op.getPending());
  return success();
}

static LogicalResult lowerTmaStoreWait(ThreadContext &t, ttg::TmaStoreWaitOp op) {
  ptx::TmaWaitOp::create(t.b, op.getPending(), /*read=*/!op.getUntilWritten());
  return success();
}

void addSharedLowerings(LoweringTable &table) {
  addLowerings<lowerAlloc, lowerAllocBarriers, lowerStage, lowerView, lowerLoadShared, lowerStoreShared, lowerCtaBarrier, lowerFenceAsync,
               lowerBarrierExpect, lowerBarrierWait, lowerBarrierArrive, lowerCopyAsync, lowerCopyCommit, lowerCopyWait, lowerTmaLoad,
               lowerTmaStore, lowerTmaStoreWait>(table);
}

} // namespace tilewright::gpu
