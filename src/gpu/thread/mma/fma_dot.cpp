// Dots by multiply-add instructions, whose threads read the elements that they need from shared memory:
//   ttg.fma_dot %a, %b, %c    ->    scf.for %k { each sum = fma(element of a, element of b, sum) }
#include "gpu/cost_model/thresholds.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/math.h"
#include "gpu/thread/memory/shared.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

static bool isRowMajor(const SharedLayout &shared) {
  return shared == SharedLayout::rowMajor(shared.shape, shared.elementBits, rowMajorOrder(static_cast<int64_t>(shared.shape.size())));
}

static int64_t bytesOfRow(const SharedLayout &shared) {
  return shared.shape.back() * shared.elementBytes();
}

/// True if FmaOperand can read the buffer.
static bool isReadable(Value buffer, bool isA) {
  SharedLayout shared = sharedOf(buffer);
  int64_t row = bytesOfRow(shared);
  bool canSwizzle = isA && shared.shape.size() == 2 && (row == 64 || row == 128);
  return isRowMajor(shared) || (canSwizzle && shared == SharedLayout::swizzled(shared.shape, shared.elementBits, row, rowMajorOrder(2)));
}

namespace {
/// An operand of a dot on CUDA cores: in shared memory in row-major order, except that the 16-byte chunks of A's rows may be permuted. It
/// is read at the K of a loop, as many contiguous elements at a time as 16 bytes hold: along K for A, along a row for B.
class FmaOperand {
public:
  /// `limit`: the maximum number of contiguous elements in one load.
  FmaOperand(ThreadContext &t, ttg::FmaDotOp op, bool isA, int64_t limit)
      : t(t), op(op), isA(isA), result(ttg::layoutOf(op.getType())), type(cast<ttg::BufferType>((isA ? op.getA() : op.getB()).getType())) {
    SharedLayout shared = type.getLayout().layout();
    if (!isRowMajor(shared)) chunks = bytesOfRow(shared) - 16;
    for (int axis : {0, 1})
      for (uint32_t basis : result.basesOf(axis == 0 ? Axis::lane : Axis::warp))
        threadOffsets[axis].push_back(static_cast<uint32_t>(permuted(offsetOf(coordinatesOf(result.shape, basis)))));
    Value ofLane = xorBases(t, t.threads.lane, threadOffsets[0]), ofWarp = xorBases(t, t.threads.warp, threadOffsets[1]);
    start = t.getScalar(isA ? op.getA() : op.getB());
    if (chunks)
      inTile = arith::XOrIOp::create(t.b, ofLane, ofWarp);
    else
      start = arith::AddIOp::create(t.b, start, arith::AddIOp::create(t.b, ofLane, ofWarp));
    while (2 * contiguous <= limit && mayRead(2 * contiguous))
      contiguous *= 2;
  }

  int64_t getContiguous() const { return contiguous; }

  /// Prepares for the iterations of the loop from `k` on.
  void enter(Value k) {
    Value along = arith::MulIOp::create(t.b, k, t.i32(strideOfK()));
    address = chunks ? Value(arith::XOrIOp::create(t.b, inTile, along)) : arith::AddIOp::create(t.b, start, along);
  }

  /// The factor of the result's element at `at` in iteration `k`, in the result's type. Each is loaded once.
  FailureOr<Value> element(const Dims &at, int64_t k) {
    int64_t offset = offsetOf(at) + k * strideOfK();
    Value &known = factors[offset];
    if (known) return known;
    FailureOr<Value> made = converted(read(offset));
    if (succeeded(made)) known = *made;
    return made;
  }

private:
  int64_t bytes() const { return type.getLayout().layout().elementBytes(); }
  int64_t strideOfK() const { return isA ? bytes() : result.shape.back() * bytes(); }

  /// True if a thread may load this many contiguous elements at once: they start at a multiple of their size, and end within their row.
  bool mayRead(int64_t count) const {
    auto isMultiple = [&](int64_t offset) { return offset % (count * bytes()) == 0; };
    int64_t row = (isA ? type.getShape().back() : result.shape.back()) * bytes();
    return count * bytes() <= maxAccessBytes && isMultiple(row) && llvm::all_of(threadOffsets[0], isMultiple) &&
           llvm::all_of(threadOffsets[1], isMultiple);
  }

  Value read(int64_t offset) {
    Value &known = loaded[offset];
    if (known) return known;
    int64_t first = offset - offset % (contiguous * bytes()), there = permuted(first);
    SmallVector<Type> types(static_cast<size_t>(contiguous), scalarType(type.getElementType()));
    Value from = chunks ? atChunk(there & chunks) : address;
    auto load = ptx::LoadSharedOp::create(t.b, types, from, Value(), static_cast<uint32_t>(there & ~chunks));
    for (auto [i, value] : llvm::enumerate(load.getValues()))
      loaded[first + static_cast<int64_t>(i) * bytes()] = value;
    return loaded[offset];
  }

  /// The stored offset of a byte of the row-major order, for rows of 64 and 128 bytes as in SharedLayout::swizzled.
  int64_t permuted(int64_t offset) const { return offset ^ (offset >> 3 & chunks); }

  /// The thread's address with these bits of its chunk index flipped.
  Value atChunk(int64_t bits) {
    Value &known = atChunks[bits];
    if (!known) known = arith::AddIOp::create(t.b, start, bits ? Value(arith::XOrIOp::create(t.b, address, t.i32(bits))) : address);
    return known;
  }

  /// The offset of the row of A, or the column of B, that the result's element at `at` needs, batches included.
  int64_t offsetOf(const Dims &at) const {
    size_t rank = result.shape.size(), m = rank - 2, n = rank - 1;
    int64_t batch = rank == 3 ? at[0] : 0, depth = isA ? type.getShape().back() : type.getShape()[m];
    return (isA ? (batch * result.shape[m] + at[m]) * depth : batch * depth * result.shape[n] + at[n]) * bytes();
  }

  FailureOr<Value> converted(Value value) {
    Type element = type.getElementType(), wideType = scalarType(getElementTypeOrSelf(op.getType()));
    if (value.getType() == wideType) return value;
    if (isa<IntegerType>(wideType) && isa<IntegerType>(element)) return Value(arith::ExtSIOp::create(t.b, wideType, value));
    if (isa<FloatType>(wideType) && isa<FloatType>(element)) return convertFloats(t, {value}, element, wideType, /*towardZero=*/false)[0];
    return refuse(op, Diag::notOnGpus, {"a matmul of " + mlirText(element) + " in " + mlirText(wideType), "convert the operands first"});
  }

  ThreadContext &t;
  ttg::FmaDotOp op;
  bool isA;
  Layout result;
  ttg::BufferType type;
  std::vector<uint32_t>
      threadOffsets[2]; // offsets in bytes of the lanes' and the warps' bits: registers add constants to a thread's offset
  int64_t contiguous = 1;
  int64_t chunks = 0;           // the bits of a byte offset that are its 16-byte chunk index, if chunks are permuted
  Value start, inTile, address; // with permuted chunks: the buffer, the thread's offset in it, and that at the loop's K
  std::map<int64_t, Value> loaded, factors, atChunks; // by offset
};
} // namespace

static LogicalResult lowerFmaDot(ThreadContext &t, ttg::FmaDotOp op) {
  if (!isReadable(op.getA(), /*isA=*/true) || !isReadable(op.getB(), /*isA=*/false)) return bug(op, "its threads cannot read this buffer");
  Layout layout = ttg::layoutOf(op.getType());
  int64_t depth = cast<ttg::BufferType>(op.getA().getType()).getShape().back(), registers = layout.registersPerThread();
  FmaOperand a(t, op, true, std::clamp<int64_t>(maxMultiplyAdds / registers, 1, maxContiguousOfFma)),
      second(t, op, false, maxContiguousOfFma);
  int64_t step = a.getContiguous();
  while (2 * step * registers <= maxMultiplyAdds && depth % (2 * step) == 0)
    step *= 2;
  auto loop = scf::ForOp::create(t.b, t.i32(0), t.i32(depth), t.i32(step), t.get(op.getC()));
  OpBuilder::InsertionGuard guard(t.b);
  if (!loop.getBody()->empty()) loop.getBody()->back().erase();
  t.b.setInsertionPointToEnd(loop.getBody());
  a.enter(loop.getInductionVar());
  second.enter(loop.getInductionVar());
  ThreadValues sums(loop.getRegionIterArgs());
  for (int64_t k = 0; k < step; ++k)
    for (auto [reg, sum] : llvm::enumerate(sums)) {
      Dims at = coordinatesOf(layout.shape, layout.apply(static_cast<int64_t>(reg), 0, 0));
      FailureOr<Value> x = a.element(at, k), y = second.element(at, k);
      if (failed(x) || failed(y)) return failure();
      if (isa<IntegerType>(sum.getType())) {
        sum = arith::AddIOp::create(t.b, arith::MulIOp::create(t.b, *x, *y), sum);
      } else {
        constexpr auto fused = arith::FastMathFlags::contract;
        sum = arith::AddFOp::create(t.b, arith::MulFOp::create(t.b, *x, *y, fused), sum, fused);
      }
    }
  scf::YieldOp::create(t.b, sums);
  t.set(op.getD(), ThreadValues(loop.getResults()));
  return success();
}

void addFmaDotLowerings(LoweringTable &table) {
  addLowerings<lowerFmaDot>(table);
}

} // namespace tilewright::gpu
