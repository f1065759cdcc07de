// Products. The layouts have been chosen so that a thread already holds what its instruction wants; what is left is to find the registers
// of each instruction, and where in shared memory its operands start:
//   ttg.wgmma %a, %b, %c : 128x64 * 64x256, 8 warps -> a warpgroup multiplies its 64 rows: 4 wgmma m64n256k16, 32 bytes further along K
//   each
#include "gpu/thread/lowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

static ptx::Format formatOf(Type element) {
  if (element.isF16()) return ptx::Format::f16;
  if (element.isBF16()) return ptx::Format::bf16;
  if (element.isF32()) return ptx::Format::tf32;
  if (isa<Float8E4M3FNType>(element)) return ptx::Format::e4m3;
  if (isa<Float8E5M2Type>(element)) return ptx::Format::e5m2;
  return ptx::Format::s8;
}

static ptx::Format accumulatorOf(Type element) {
  return element.isF32() ? ptx::Format::f32 : ptx::Format::s32;
}

namespace {
/// Which register of the first thread holds an element. Other threads' are the same register, elsewhere in the tile.
class Registers {
public:
  explicit Registers(const Layout &layout) : shape(layout.shape) {
    for (int64_t reg = layout.registersPerThread(); reg-- > 0;)
      places[layout.apply(reg, 0, 0, 0)] = reg;
  }
  /// Nothing if it is another thread's.
  std::optional<size_t> at(const Dims &coordinates) const {
    auto place = places.find(flatOf(shape, coordinates));
    return place == places.end() ? std::nullopt : std::optional(static_cast<size_t>(place->second));
  }
  /// The elements that the first thread holds, in row-major order.
  std::vector<Dims> elements() const {
    std::vector<Dims> all;
    for (auto [flat, reg] : places)
      all.push_back(coordinatesOf(shape, flat));
    return all;
  }

private:
  Dims shape;
  std::map<uint32_t, int64_t> places;
};
} // namespace

//===------------------------------------------------------------------------------------------------------------- mma.sync

LogicalResult lowerDot(ThreadContext &t, tt::DotOp op) {
  auto aType = cast<RankedTensorType>(op.getA().getType()), bType = cast<RankedTensorType>(op.getB().getType());
  auto dType = cast<RankedTensorType>(op.getType());
  Layout layout = ttg::layoutOf(dType);
  Registers a(ttg::layoutOf(aType)), second(ttg::layoutOf(bType)), d(layout);
  size_t m = layout.shape.size() - 2, n = m + 1;
  ptx::Format aFormat = formatOf(aType.getElementType()), bFormat = formatOf(bType.getElementType());
  ptx::Format dFormat = accumulatorOf(dType.getElementType());
  int64_t width = aFormat == ptx::Format::tf32 ? 1 : 32 / aType.getElementTypeBitWidth(),
          step = 8 * width; // elements of K: word, instruction

  auto misfit = [&] { return op.emitError("these layouts are not those of mma.sync"); };
  // Words are made once, however many instructions read them. Null: this thread does not hold what the instruction reads.
  std::map<std::vector<int64_t>, Value> words[2];
  auto word = [&](int which, Dims at) -> Value {
    Value &known = words[which][at];
    if (known) return known;
    const Registers &registers = which == 0 ? a : second;
    const Parts &held = t.get(which == 0 ? op.getA() : op.getB());
    SmallVector<Value> values;
    for (int64_t i = 0; i < width; ++i) {
      std::optional<size_t> reg = registers.at(at);
      if (!reg) return {};
      values.push_back(held[*reg]);
      ++at[which == 0 ? n : m];
    }
    if (aFormat == ptx::Format::tf32)
      values[0] = ptx::ConvertOp::create(t.b, t.b.getF32Type(), values[0], ptx::Format::f32, ptx::Format::tf32);
    return known = packed(t, values);
  };

  int64_t depth = aType.getShape().back();
  Parts sums = t.get(op.getC());
  for (Dims at : d.elements()) {
    if (at[m] % 16 || at[n] % 8) continue; // the first element of a 16 x 8 tile
    int64_t rows[2] = {at[m], at[m] + 8};
    std::array<size_t, 4> registers;
    for (size_t i = 0; i < 4; ++i) {
      Dims element = at;
      element[m] = rows[i / 2];
      element[n] += static_cast<int64_t>(i % 2);
      std::optional<size_t> reg = d.at(element);
      if (!reg) return misfit();
      registers[i] = *reg;
    }
    for (int64_t k = 0; k < depth; k += step) {
      SmallVector<Value> as, bs, cs;
      for (int64_t half : {int64_t(0), step / 2})
        for (int64_t row : rows) {
          Dims element = at;
          element[m] = row;
          element[n] = k + half;
          as.push_back(word(0, element));
        }
      for (int64_t half : {int64_t(0), step / 2}) {
        Dims element = at;
        element[m] = k + half;
        bs.push_back(word(1, element));
      }
      if (llvm::is_contained(as, Value()) || llvm::is_contained(bs, Value())) return misfit();
      for (size_t reg : registers)
        cs.push_back(sums[reg]);
      SmallVector<Type> types(4, cs[0].getType());
      auto product = ptx::MmaOp::create(t.b, types, as, bs, cs, aFormat, bFormat, dFormat);
      for (auto [reg, value] : llvm::zip(registers, product.getD()))
        sums[reg] = value;
    }
  }
  t.set(op.getResult(), std::move(sums));
  return success();
}

//===---------------------------------------------------------------------------------------------------------------- wgmma

namespace {
/// The part of a matrix descriptor that does not depend on the address (hopper.md has the table): strides between atoms of 8 rows of a
/// span.
struct MatrixDescriptor {
  bool alongK = true;
  uint64_t low = 0, high = 0;
};
} // namespace

/// `kDim`: the dimension that products run along.
static std::optional<MatrixDescriptor> describe(const SharedLayout &shared, int64_t kDim) {
  std::optional<TileSwizzle> swizzle = spanOf(shared);
  if (!swizzle || swizzle->spanBytes == 0) return std::nullopt;
  MatrixDescriptor descriptor;
  descriptor.alongK = swizzle->order[0] == kDim;
  uint64_t span = static_cast<uint64_t>(swizzle->spanBytes), mode = span == 128 ? 1 : span == 64 ? 2 : 3;
  // Along K one instruction stays within a span. Otherwise its rows are K, and blocks of columns lie one behind the other.
  uint64_t leading = descriptor.alongK ? 16 : static_cast<uint64_t>(shared.shape[static_cast<size_t>(kDim)]) * span;
  descriptor.low = leading / 16 << 16;
  descriptor.high = mode << 30 | 8 * span / 16;
  return descriptor;
}

LogicalResult lowerWgmma(ThreadContext &t, ttg::WgmmaOp op) {
  auto dType = cast<RankedTensorType>(op.getD().getType());
  Layout layout = ttg::layoutOf(dType);
  auto bType = cast<ttg::BufferType>(op.getB().getType());
  SharedLayout bShared = bType.getLayout().layout();
  auto aBuffer = dyn_cast<ttg::BufferType>(op.getA().getType());
  Type aElement = aBuffer ? aBuffer.getElementType() : getElementTypeOrSelf(op.getA().getType());
  ptx::Format aFormat = formatOf(aElement), bFormat = formatOf(bType.getElementType()), dFormat = accumulatorOf(dType.getElementType());
  int64_t depth = bShared.shape[0], step = 256 / aElement.getIntOrFloatBitWidth();

  // Columns of an instruction: as far as registers run on before they reach the next rows or repeat (Layout::wgmmaAccumulator).
  int64_t warps = t.config.getWarps(), n = Layout::wgmmaColumns(layout.shape, warps), count = n / 2;
  if (layout != Layout::wgmmaAccumulator(layout.shape, warps, n)) return op.emitError("these accumulators are not in wgmma's layout");

  std::optional<MatrixDescriptor> aDescriptor, bDescriptor = describe(bShared, 0);
  SharedLayout aShared;
  if (aBuffer) {
    aShared = aBuffer.getLayout().layout();
    aDescriptor = describe(aShared, 1);
  }
  if (!bDescriptor || (aBuffer && !aDescriptor)) return op.emitError("wgmma cannot read this buffer");

  // A descriptor is the thread's start (equal in a warpgroup), plus constants.
  auto start = [&](Value buffer, const SharedLayout &shared, const MatrixDescriptor &descriptor, bool rows) -> Value {
    LinearMap places = shared.inverse();
    std::vector<uint32_t> groups;
    for (auto [bit, basis] : llvm::enumerate(layout.basesOf(Axis::warp))) {
      Dims at = coordinatesOf(layout.shape, basis);
      Dims element = rows ? Dims{at[0], 0} : Dims{0, at[1]};
      bool warpgroup = bit >= 2; // lower ones are the warps of a warpgroup, which share a descriptor
      groups.push_back(warpgroup ? places.apply(flatOf(shared.shape, element)) * static_cast<uint32_t>(shared.elementBytes()) : 0);
    }
    Value address = arith::AddIOp::create(t.b, t.getScalar(buffer), xorBases(t, t.warp, groups));
    return arith::AddIOp::create(t.b, arith::ShRUIOp::create(t.b, address, t.i32(4)), t.i32(static_cast<int64_t>(descriptor.low)));
  };
  auto matrix = [&](Value from, const SharedLayout &shared, const MatrixDescriptor &descriptor, const Dims &at) -> Value {
    uint32_t offset = shared.inverse().apply(flatOf(shared.shape, at)) * static_cast<uint32_t>(shared.elementBytes());
    Value low = arith::AddIOp::create(t.b, from, t.i32(offset >> 4));
    low = arith::ExtUIOp::create(t.b, t.b.getI64Type(), low);
    return arith::OrIOp::create(t.b, low, t.i64(static_cast<int64_t>(descriptor.high << 32)));
  };
  Value bStart = start(op.getB(), bShared, *bDescriptor, false), aStart;
  if (aBuffer) aStart = start(op.getA(), aShared, *aDescriptor, true);
  std::optional<Registers> a;
  if (!aBuffer) a.emplace(ttg::layoutOf(op.getA().getType()));

  Parts sums = t.get(op.getC());
  Value useC = op.getUseC() ? t.getScalar(op.getUseC()) : Value();
  // A product that starts from zeros does not read them, so that nobody has to write them.
  if (!useC && (matchPattern(op.getC(), m_PosZeroFloat()) || matchPattern(op.getC(), m_Zero())))
    useC = t.constant(t.b.getI1Type(), t.b.getBoolAttr(false));
  // Registers of A are packed before the fence that orders them with the products.
  std::map<std::pair<int64_t, int64_t>, SmallVector<Value>> packedA;
  int64_t width = 32 / aElement.getIntOrFloatBitWidth();
  if (a)
    for (const Dims &at : a->elements()) {
      if (at[0] % 64 || at[1] % step) continue;
      SmallVector<Value> &words = packedA[{at[0], at[1]}];
      for (int64_t half : {int64_t(0), step / 2})
        for (int64_t row : {0, 8}) {
          SmallVector<Value> values;
          for (int64_t i = 0; i < width; ++i) {
            std::optional<size_t> reg = a->at({at[0] + row, at[1] + half + i});
            if (!reg) return op.emitError("the first operand is not in wgmma's layout");
            values.push_back(t.get(op.getA())[*reg]);
          }
          words.push_back(packed(t, values));
        }
    }
  ptx::WgmmaFenceOp::create(t.b);
  for (int64_t first = 0; first < layout.registersPerThread(); first += count) {
    Dims at = coordinatesOf(layout.shape, layout.apply(first, 0, 0, 0));
    for (int64_t k = 0; k < depth; k += step) {
      SmallVector<Value> aValues;
      if (aBuffer)
        aValues.push_back(matrix(aStart, aShared, *aDescriptor, {at[0], k}));
      else if (auto words = packedA.find({at[0], k}); words != packedA.end())
        aValues = words->second;
      else
        return op.emitError("the first operand is not in wgmma's layout");
      Value bValue = matrix(bStart, bShared, *bDescriptor, {k, at[1]});
      ValueRange c = ValueRange(sums).slice(static_cast<size_t>(first), static_cast<size_t>(count));
      auto product = ptx::WgmmaOp::create(t.b, c.getTypes(), aValues, bValue, c, k == 0 ? useC : Value(), static_cast<uint32_t>(n), aFormat,
                                          bFormat, dFormat, aBuffer && !aDescriptor->alongK, !bDescriptor->alongK);
      for (auto [index, value] : llvm::enumerate(product.getD()))
        sums[static_cast<size_t>(first) + index] = value;
    }
  }
  ptx::WgmmaCommitOp::create(t.b);
  t.set(op.getD(), std::move(sums));
  return success();
}

LogicalResult lowerWgmmaWait(ThreadContext &t, ttg::WgmmaWaitOp op) {
  Parts values = t.gather(op.getTiles());
  auto wait = ptx::WgmmaWaitOp::create(t.b, ValueRange(values).getTypes(), op.getPending(), values);
  t.scatter(op.getResults(), wait.getResults());
  return success();
}

//===------------------------------------------------------------------------------------------------- multiply and add

LogicalResult lowerFmaDot(ThreadContext &t, ttg::FmaDotOp op) {
  auto dType = cast<RankedTensorType>(op.getD().getType());
  Layout layout = ttg::layoutOf(dType);
  Type type = t.scalarType(dType.getElementType());
  auto aType = cast<ttg::BufferType>(op.getA().getType()), bType = cast<ttg::BufferType>(op.getB().getType());
  size_t rank = layout.shape.size(), m = rank - 2, n = rank - 1;
  int64_t depth = aType.getShape().back(), aBytes = aType.getLayout().layout().elementBytes();
  int64_t bBytes = bType.getLayout().layout().elementBytes();

  // Where the thread's first element is, in the rows of A and in the columns of B, batches included; registers add constants to that.
  auto offsetOf = [&](const Dims &at, bool inA) {
    int64_t batch = rank == 3 ? at[0] : 0;
    return inA ? ((batch * layout.shape[m]) + at[m]) * depth * aBytes : (batch * depth * layout.shape[n] + at[n]) * bBytes;
  };
  auto first = [&](Value buffer, bool inA) -> Value {
    std::vector<uint32_t> places[2];
    for (int axis : {0, 1})
      for (uint32_t basis : layout.basesOf(axis == 0 ? Axis::lane : Axis::warp))
        places[axis].push_back(static_cast<uint32_t>(offsetOf(coordinatesOf(layout.shape, basis), inA)));
    Value inTile = arith::AddIOp::create(t.b, xorBases(t, t.lane, places[0]), xorBases(t, t.warp, places[1]));
    return arith::AddIOp::create(t.b, t.getScalar(buffer), inTile);
  };
  Value aStart = first(op.getA(), true), bStart = first(op.getB(), false);

  auto widened = [&](Value value, Type element) -> FailureOr<Value> {
    if (value.getType() == type) return value;
    if (isa<IntegerType>(type) && isa<IntegerType>(element)) return Value(arith::ExtSIOp::create(t.b, type, value));
    if (isa<FloatType>(type) && isa<FloatType>(element)) return convertFloats(t, {value}, element, type, /*towardZero=*/false)[0];
    return op.emitError("products of ") << element << " in " << type << " are not built for GPUs";
  };
  auto loop = scf::ForOp::create(t.b, t.i32(0), t.i32(depth), t.i32(1), t.get(op.getC()));
  OpBuilder::InsertionGuard guard(t.b);
  if (!loop.getBody()->empty()) loop.getBody()->back().erase();
  t.b.setInsertionPointToEnd(loop.getBody());
  Value k = loop.getInductionVar();
  Value aPlace = arith::AddIOp::create(t.b, aStart, arith::MulIOp::create(t.b, k, t.i32(aBytes)));
  Value bPlace = arith::AddIOp::create(t.b, bStart, arith::MulIOp::create(t.b, k, t.i32(layout.shape[n] * bBytes)));
  std::map<int64_t, Value> loaded[2];
  auto element = [&](bool inA, int64_t offset) -> FailureOr<Value> {
    Value &known = loaded[inA][offset];
    if (known) return known;
    Type stored = (inA ? aType : bType).getElementType(), inMemory = t.scalarType(stored);
    auto load = ptx::LoadSharedOp::create(t.b, TypeRange{inMemory}, inA ? aPlace : bPlace, Value(), static_cast<uint32_t>(offset));
    FailureOr<Value> wide = widened(load.getValues()[0], stored);
    if (succeeded(wide)) known = *wide;
    return wide;
  };
  Parts sums;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    Dims at = coordinatesOf(layout.shape, layout.apply(reg, 0, 0, 0));
    FailureOr<Value> x = element(true, offsetOf(at, true)), y = element(false, offsetOf(at, false));
    if (failed(x) || failed(y)) return failure();
    Value sum = loop.getRegionIterArg(static_cast<unsigned>(reg));
    if (isa<IntegerType>(type)) {
      sums.push_back(arith::AddIOp::create(t.b, arith::MulIOp::create(t.b, *x, *y), sum));
    } else {
      constexpr auto fused = arith::FastMathFlags::contract;
      sums.push_back(arith::AddFOp::create(t.b, arith::MulFOp::create(t.b, *x, *y, fused), sum, fused));
    }
  }
  scf::YieldOp::create(t.b, sums);
  t.set(op.getD(), Parts(loop.getResults()));
  return success();
}

} // namespace tilewright::gpu
