// Dots by wgmma. This file finds the registers of each instruction, and the addresses of its operands in shared memory:
//   ttg.mma_async %a, %b, %c : 128x64 * 64x256, 8 warps
//   -> a warpgroup multiplies its 64 rows by 4 wgmma m64n256k16, each of which starts 32 bytes further along K
#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/wgmma_descriptor.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/math.h"
#include "gpu/thread/mma/matrix_registers.h"
#include "gpu/ttg/mma_extent.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// An operand in shared memory. A descriptor is the thread's start (equal in a warpgroup), plus constants.
struct SharedOperand {
  SharedLayout shared;
  bool alongK = true;
  uint64_t bits = 0; ///< of the descriptor, apart from the address
  Value start;       ///< the lower half of the descriptor

  /// The descriptor of the matrix whose first element is at `at`.
  Value matrix(ThreadContext &t, const Dims &at) const {
    uint32_t offset = shared.inverse().apply(flatOf(shared.shape, at)) * static_cast<uint32_t>(shared.elementBytes());
    Value low = arith::AddIOp::create(t.b, start, t.i32(offset >> 4));
    low = arith::ExtUIOp::create(t.b, t.b.getI64Type(), low);
    return arith::OrIOp::create(t.b, low, t.i64(static_cast<int64_t>(bits >> 32 << 32)));
  }
};

/// The words of A's registers, by the first row and column of an instruction's fragment.
using PackedA = llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<Value>>;
} // namespace

/// `kDim`: the K dimension; `result`: the accumulators' layout; `zero`: added to the address, or null. Nothing if wgmma cannot read the
/// buffer.
static std::optional<SharedOperand> sharedOperand(ThreadContext &t, Value buffer, int64_t kDim, const Layout &result, Value zero) {
  SharedLayout shared = cast<ttg::BufferType>(buffer.getType()).getLayout().layout();
  std::optional<TileSwizzle> swizzle = spanOf(shared);
  if (!swizzle || swizzle->spanBytes == 0) return std::nullopt;
  bool alongK = swizzle->order[0] == kDim;
  WgmmaDescriptor descriptor;
  descriptor.span = swizzle->spanBytes;
  auto span = static_cast<uint64_t>(descriptor.span);
  // Along K one instruction stays within a span. Otherwise the rows of a span are K, and blocks of columns follow one another.
  descriptor.leading = alongK ? 16 : static_cast<uint64_t>(shared.shape[static_cast<size_t>(kDim)]) * span;
  descriptor.stride = swizzleRows * span;
  uint64_t bits = encode(descriptor);
  LinearMap offsets = shared.inverse();
  std::vector<uint32_t> groups;
  for (auto [bit, basis] : llvm::enumerate(result.basesOf(Axis::warp))) {
    Dims at = coordinatesOf(result.shape, basis);
    Dims element = kDim == 1 ? Dims{at[0], 0} : Dims{0, at[1]};
    bool warpgroup = bit >= warpGroupBit; // lower bits are the warps of a warpgroup, which share a descriptor
    groups.push_back(warpgroup ? offsets.apply(flatOf(shared.shape, element)) * static_cast<uint32_t>(shared.elementBytes()) : 0);
  }
  Value address = arith::AddIOp::create(t.b, t.getScalar(buffer), xorBases(t, t.threads.warp, groups));
  if (zero) address = arith::AddIOp::create(t.b, address, t.getScalar(zero));
  Value start = arith::AddIOp::create(t.b, descriptorStart(t, address), t.i32(static_cast<int64_t>(bits & UINT32_MAX)));
  return SharedOperand{shared, alongK, bits, start};
}

/// Packs the registers of A, before the fence that orders them with the MMAs. `step`: elements of K per instruction.
static FailureOr<PackedA> packA(ThreadContext &t, ttg::MmaAsyncOp op, int64_t step) {
  PackedA packedA;
  Type type = op.getA().getType();
  Registers a(ttg::layoutOf(type));
  int64_t width = 32 / getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  for (const Dims &at : a.elements()) {
    if (at[0] % wgmmaRows || at[1] % step) continue;
    SmallVector<Value> &words = packedA[{at[0], at[1]}];
    for (int64_t half : {int64_t(0), step / 2})
      for (int64_t row : {0, 8}) {
        SmallVector<Value> values;
        for (int64_t i = 0; i < width; ++i) {
          std::optional<size_t> reg = a.at({at[0] + row, at[1] + half + i});
          if (!reg) return FailureOr<PackedA>(failure());
          values.push_back(t.get(op.getA())[*reg]);
        }
        words.push_back(packed(t, values));
      }
  }
  return packedA;
}

namespace {
/// A dot on warpgroups, ready to be emitted.
struct WarpgroupMma {
  ptx::Format aFormat, bFormat, dFormat;
  int64_t depth, step, columns; // K: in total, and per instruction; columns per instruction, without a reduced extent
  int64_t ofRegister;           // accumulators
  SmallVector<int64_t> extent;  // the rows and columns of the MMA extent; none: all
  Layout layout;                // of the accumulators
  std::optional<SharedOperand> first;
  PackedA packedA; // used if `first` is not set
  SharedOperand second;
};
} // namespace

static FailureOr<WarpgroupMma> mmaOf(ThreadContext &t, ttg::MmaAsyncOp op) {
  auto refuseLayout = [&](const char *what) { return bug(op, what), FailureOr<WarpgroupMma>(failure()); };
  auto dType = cast<RankedTensorType>(op.getD().getType());
  Layout layout = ttg::layoutOf(dType);
  ttg::BufferType bType = op.getB().getType();
  auto aBuffer = dyn_cast<ttg::BufferType>(op.getA().getType());
  Type aElement = aBuffer ? aBuffer.getElementType() : getElementTypeOrSelf(op.getA().getType());
  int64_t depth = bType.getShape()[0], step = 256 / aElement.getIntOrFloatBitWidth();
  // Columns per instruction: as many as follow in the registers before the next rows or a repetition (Layout::wgmmaAccumulator).
  int64_t warps = t.threads.warps, columns = Layout::wgmmaColumns(layout.shape, warps);
  if (layout != Layout::wgmmaAccumulator(layout.shape, warps, columns)) return refuseLayout("these accumulators are not in wgmma's layout");
  std::optional<SharedOperand> second = sharedOperand(t, op.getB(), 0, layout, op.getBZero()), first;
  if (aBuffer) first = sharedOperand(t, op.getA(), 1, layout, op.getAZero());
  if (!second || (aBuffer && !first)) return refuseLayout("wgmma cannot read this buffer");
  FailureOr<PackedA> packedA = aBuffer ? PackedA() : packA(t, op, step);
  if (failed(packedA)) return refuseLayout("the first operand is not in wgmma's layout");
  std::optional<ptx::Format> aFormat = formatOf(aElement), bFormat = formatOf(bType.getElementType());
  std::optional<ptx::Format> dFormat = accumulatorOf(dType.getElementType());
  bool areBytes =
      aElement.getIntOrFloatBitWidth() == 8 && isa<FloatType>(aElement) && isByteFloat(bType.getElementType()); // of two formats
  if (!aFormat || !bFormat || !dFormat || (aElement != bType.getElementType() && !areBytes))
    return refuseLayout("wgmma does not multiply these elements");
  return WarpgroupMma{*aFormat,
                      *bFormat,
                      *dFormat,
                      depth,
                      step,
                      columns,
                      accumulatorsOfRegister(dType.getElementType()),
                      SmallVector<int64_t>(mmaExtent(op)),
                      layout,
                      first,
                      std::move(*packedA),
                      *second};
}

/// The number of the CTA's warps with rows in the MMA extent, where `first` is the first row of the first warpgroup.
static int64_t warpsWithRows(ThreadContext &t, const WarpgroupMma &mma, int64_t first) {
  if (mma.extent.empty()) return t.threads.warps;
  int64_t groups = (mma.extent[0] - first + wgmmaRows - 1) / wgmmaRows;
  return std::min<int64_t>(t.threads.warps, groups * warpsOfGroup);
}

/// The accumulators of one instruction: contiguous columns of a thread.
struct Columns {
  int64_t start = 0, count = 0; // accumulators
};

/// The accumulators of each instruction. Columns that some warpgroups skip come first: the last instruction ends the group.
static SmallVector<Columns> columnsOf(ThreadContext &t, const WarpgroupMma &mma) {
  SmallVector<std::pair<int64_t, Columns>> byWarps;
  for (int64_t start = 0; start < mma.layout.registersPerThread(); start += mma.columns / 2) {
    if (!isInMmaExtent(mma.layout, mma.extent, start)) continue;
    Dims at = coordinatesOf(mma.layout.shape, mma.layout.apply(start, 0, 0));
    int64_t columns = mma.extent.empty() ? mma.columns : std::min(mma.columns, mma.extent[1] - at[1]);
    byWarps.push_back({warpsWithRows(t, mma, at[0]), {start, columns / 2}});
  }
  llvm::sort(byWarps, [](const auto &x, const auto &y) { return std::pair(x.first, x.second.start) < std::pair(y.first, y.second.start); });
  return SmallVector<Columns>(llvm::make_second_range(byWarps));
}

/// Issues the instructions of the depths [from, to) for some columns. They add to the registers `sums`, unless the predicate `reads` is
/// false.
static FailureOr<ThreadValues> startColumns(ThreadContext &t, ttg::MmaAsyncOp op, const WarpgroupMma &mma, Columns columns,
                                            ThreadValues sums, Value reads, int64_t from, int64_t to) {
  Dims at = coordinatesOf(mma.layout.shape, mma.layout.apply(columns.start, 0, 0));
  int64_t warps = warpsWithRows(t, mma, at[0]);
  for (int64_t k = from; k < to; k += mma.step) {
    const std::optional<SharedOperand> &first = mma.first;
    SmallVector<Value> aValues = first ? SmallVector<Value>{first->matrix(t, {at[0], k})} : mma.packedA.lookup({at[0], k});
    if (aValues.empty()) return bug(op, "the first operand is not in wgmma's layout"), FailureOr<ThreadValues>(failure());
    Value bValue = mma.second.matrix(t, {k, at[1]});
    IntegerAttr partial = warps != t.threads.warps ? t.b.getI32IntegerAttr(static_cast<int32_t>(warps)) : IntegerAttr();
    auto started = ptx::WgmmaOp::create(t.b, ValueRange(sums).getTypes(), aValues, bValue, sums, k == from ? reads : Value(),
                                        static_cast<uint32_t>(2 * columns.count), mma.aFormat, mma.bFormat, mma.dFormat,
                                        first && !first->alongK, !mma.second.alongK, partial);
    sums.assign(started.getD().begin(), started.getD().end());
  }
  return sums;
}

/// Issues the instructions of all depths, and commits the group.
static FailureOr<ThreadValues> issueMmas(ThreadContext &t, ttg::MmaAsyncOp op, const WarpgroupMma &mma, ThreadValues sums, Value reads) {
  ptx::WgmmaFenceOp::create(t.b);
  for (Columns columns : columnsOf(t, mma)) {
    auto start = sums.begin() + columns.start / mma.ofRegister;
    ThreadValues before(start, start + columns.count / mma.ofRegister);
    FailureOr<ThreadValues> part = startColumns(t, op, mma, columns, before, reads, 0, mma.depth);
    if (failed(part)) return failure();
    llvm::copy(*part, start);
  }
  ptx::WgmmaCommitOp::create(t.b);
  return sums;
}

//===------------------------------------------------------------------------------------------- sums that leave tensor cores

namespace {
/// A partial sum that is promoted together: the depths [from, to) of some columns.
struct PromotedPart {
  int64_t from, to;
  SmallVector<Columns> columns;
  int64_t registers = 0;
};
} // namespace

/// Splits the MMAs into promoted parts. `every`: the promotion interval, in elements of K. If a part of the tile is multiplied, all
/// columns are promoted together.
static std::vector<PromotedPart> promotedParts(ThreadContext &t, const WarpgroupMma &mma, int64_t every) {
  int64_t steps = std::max<int64_t>(1, llvm::divideCeil(every, mma.step));
  int64_t limit = mma.extent.empty() ? registersOfPromotedPart : mma.layout.registersPerThread();
  std::vector<PromotedPart> parts;
  for (int64_t from = 0; from < mma.depth; from += steps * mma.step) {
    auto begin = [&] { parts.push_back({from, std::min(mma.depth, from + steps * mma.step), {}}); };
    begin();
    for (Columns all : columnsOf(t, mma))
      for (int64_t start = 0; start < all.count; start += limit) {
        int64_t count = std::min(limit, all.count - start);
        if (parts.back().registers + count > limit) begin();
        parts.back().columns.push_back({all.start + start, count});
        parts.back().registers += count;
      }
  }
  return parts;
}

/// Adds up the promoted partial sums in registers. ptxas overlaps the additions of one part with the MMA of the next.
static FailureOr<ThreadValues> promote(ThreadContext &t, ttg::MmaAsyncOp op, const WarpgroupMma &mma, ThreadValues sums, Value reads) {
  Value zero = t.constant(t.b.getF32Type(), t.b.getF32FloatAttr(0)), no = t.constant(t.b.getI1Type(), t.b.getBoolAttr(false));
  if (reads)
    for (Value &sum : sums)
      sum = arith::SelectOp::create(t.b, reads, sum, zero);
  for (const PromotedPart &part : promotedParts(t, mma, *op.getPromotionInterval())) {
    ptx::WgmmaFenceOp::create(t.b);
    ThreadValues values;
    SmallVector<Value *> targets;
    for (Columns columns : part.columns) {
      ThreadValues zeros(static_cast<size_t>(columns.count), zero);
      FailureOr<ThreadValues> started = startColumns(t, op, mma, columns, zeros, no, part.from, part.to);
      if (failed(started)) return failure();
      values.append(*started);
      for (int64_t i = 0; i < columns.count; ++i)
        targets.push_back(&sums[static_cast<size_t>(columns.start + i)]);
    }
    ptx::WgmmaCommitOp::create(t.b);
    auto done = ptx::WgmmaWaitOp::create(t.b, ValueRange(values).getTypes(), 0, values);
    for (auto [sum, value] : llvm::zip(targets, done.getResults()))
      *sum = arith::AddFOp::create(t.b, *sum, value);
  }
  return sums;
}

static LogicalResult lowerWgmma(ThreadContext &t, ttg::MmaAsyncOp op) {
  FailureOr<WarpgroupMma> mma = mmaOf(t, op);
  if (failed(mma)) return failure();
  Value reads = op.getUseC() ? t.getScalar(op.getUseC()) : Value();
  ThreadValues before = asRegisters(t, t.get(op.getC()), mma->ofRegister);
  FailureOr<ThreadValues> sums = op.getPromotionInterval() ? promote(t, op, *mma, before, reads) : issueMmas(t, op, *mma, before, reads);
  if (failed(sums)) return failure();
  if (mma->ofRegister > 1) { // accumulators that share a register become separate values only when the MMA has completed
    auto done = ptx::WgmmaWaitOp::create(t.b, ValueRange(*sums).getTypes(), 0, *sums);
    sums = asElements(t, done.getResults(), mma->ofRegister, getElementTypeOrSelf(op.getD().getType()));
  }
  t.set(op.getD(), std::move(*sums));
  return success();
}

/// The registers of the wait's tile `number` that MMAs in flight may write.
static SmallVector<size_t> registersInFlight(ThreadContext &t, ttg::MmaAsyncWaitOp op, size_t number) {
  Value tile = op.getTiles()[number];
  ArrayRef<int64_t> extent;
  if (op.getExtents()) extent = cast<DenseI64ArrayAttr>((*op.getExtents())[number]).asArrayRef();
  auto all = llvm::seq<size_t>(0, t.get(tile).size());
  if (extent.empty()) return llvm::to_vector(all);
  Layout layout = ttg::layoutOf(tile.getType());
  return llvm::filter_to_vector(all, [&](size_t reg) { return isInMmaExtent(layout, extent, static_cast<int64_t>(reg)); });
}

static LogicalResult lowerWgmmaWait(ThreadContext &t, ttg::MmaAsyncWaitOp op) {
  size_t tiles = op.getTiles().size();
  SmallVector<SmallVector<size_t>> inFlight;
  ThreadValues values;
  uint32_t computed = 0;
  for (size_t number = 0; number < tiles; ++number) {
    inFlight.push_back(registersInFlight(t, op, number));
    for (size_t reg : inFlight.back())
      values.push_back(t.get(op.getTiles()[number])[reg]);
    if (number + op.getComputed() >= tiles) computed += static_cast<uint32_t>(inFlight.back().size());
  }
  auto wait = ptx::WgmmaWaitOp::create(t.b, ValueRange(values).getTypes(), op.getPending(), values, computed, op.getNamesAll());
  ValueRange through = wait.getResults();
  for (size_t number = 0; number < tiles; ++number) {
    ThreadValues parts = t.get(op.getTiles()[number]);
    for (size_t reg : inFlight[number]) {
      parts[reg] = through.front();
      through = through.drop_front();
    }
    t.set(op.getResults()[number], std::move(parts));
  }
  return success();
}

void addWgmmaLowerings(LoweringTable &table) {
  addLowerings<lowerWgmma, lowerWgmmaWait>(table);
}

} // namespace tilewright::gpu
