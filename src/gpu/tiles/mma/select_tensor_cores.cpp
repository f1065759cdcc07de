// Replaces dots by the instructions that assign-layouts has chosen (`ttg.dot_choice`), and puts operands where these read them:
//   before: %d = tt.dot %a, %b, %c : tensor<128x64xf16, #x> * tensor<64x256xf16, #y> -> tensor<128x256xf32, #wgmma>
//   after:  %p = ttg.alloc    %q = ttg.alloc    ttg.store_shared %a, %p    ttg.store_shared %b, %q    ttg.fence_async
//           %e = ttg.mma_async %p, %q, %c    %d = ttg.mma_async_wait 0, %e
// insert-barriers orders the accesses later. Nothing overlaps yet: pipeline-loops turns loads that only feed a buffer into prefetched
// copies, and keeps MMAs in flight.
#include "gpu/passes.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/tiles/mma/reshaped_source.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/mma_extent.h"
#include "gpu/ttg/ttg.h"
#include "ir/refusal.h"
#include "ir/scaled_dot.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// An operand, and how its dimensions map to those of the tile in shared memory.
struct Source {
  Value tile;
  Type element;               // of the operand: the tile has the same bits, perhaps as another type
  SmallVector<int32_t> order; // dimension i of the operand is dimension order[i] of the tile
};

class Selector {
public:
  Selector(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), b(function.getContext()) {}

  LogicalResult run() {
    SmallVector<tt::DotOp> dots;
    function.walk([&](tt::DotOp dot) { dots.push_back(dot); });
    for (tt::DotOp dot : dots)
      recordReach(dot);
    for (tt::DotOp dot : dots)
      if (failed(select(dot))) return failure();
    if (failed(checkScaledDots(function, config, target))) return failure();
    SmallVector<tt::DotScaledOp> scaled;
    function.walk([&](tt::DotScaledOp dot) { scaled.push_back(dot); });
    for (tt::DotScaledOp dot : scaled)
      scaledMma(dot, target, config.getWarps())->tcgen05 ? scaledByDescriptor(dot) : scaledByWarps(dot);
    return success();
  }

private:
  static Source asItIs(Value operand) {
    auto rank = static_cast<int32_t>(cast<RankedTensorType>(operand.getType()).getRank());
    return {operand, getElementTypeOrSelf(operand.getType()), llvm::to_vector(llvm::seq<int32_t>(0, rank))};
  }

  /// Returns the tile that an operand is derived from without cost. Conversions, transpositions and bitcasts before a buffer are free:
  /// threads write the buffer in any layout, and read it along any dimension and as any type.
  static Source sourceOf(Value operand) {
    Source source = asItIs(operand);
    while (Operation *op = source.tile.getDefiningOp()) {
      if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) {
        source.tile = convert.getSrc();
      } else if (auto cast = dyn_cast<tt::BitcastOp>(op)) {
        source.tile = cast.getSrc();
      } else if (auto transposed = dyn_cast<tt::TransOp>(op)) {
        for (int32_t &dim : source.order)
          dim = transposed.getOrder()[static_cast<size_t>(dim)];
        source.tile = transposed.getSrc();
      } else {
        break;
      }
    }
    return source;
  }

  /// Returns the dimensions of a tile, the one contiguous in memory first, so that a copy does not transpose it.
  static Dims memoryOrder(Value tile) {
    if (auto load = tile.getDefiningOp<ttg::DescriptorLoadOp>()) return Dims(load.getOrder().begin(), load.getOrder().end());
    Layout layout = ttg::layoutOf(tile.getType());
    Dims order = rowMajorOrder(static_cast<int64_t>(layout.shape.size())), transposed = order;
    if (order.size() < 2) return order;
    std::swap(transposed[0], transposed[1]);
    return contiguousRun(layout, transposed) > contiguousRun(layout, order) ? transposed : order;
  }

  /// Records how many columns of B each dot reads at a time. Several dots may read one tile; its layout suits the one that reads the
  /// fewest.
  void recordReach(tt::DotOp dot) {
    auto choice = dot->getAttrOfType<ttg::DotChoiceAttr>(ttg::dotChoiceName);
    bool isWgmma = choice && choice.getKind() == ttg::MmaKind::wgmma;
    checkCopiedExtent(dot.getA(), 0, dot, isWgmma && !choice.getAInRegisters());
    checkCopiedExtent(dot.getB(), 1, dot, isWgmma);
    if (!choice || !readsByDescriptor(choice.getKind())) return;
    Source source = sourceOf(dot.getB());
    int64_t &columns = reaches.try_emplace({source.tile, source.order[0]}, choice.getColumns()).first->second;
    columns = std::min(columns, choice.getColumns());
  }

  /// Copies the whole tile if a dot does not read it by wgmma, or reads beyond the copied extent.
  void checkCopiedExtent(Value operand, size_t dim, tt::DotOp dot, bool byDescriptor) {
    Source source = sourceOf(operand);
    auto load = source.tile.getDefiningOp<ttg::DescriptorLoadOp>();
    if (!load || load.getCopiedExtent().empty()) return;
    byDescriptor = byDescriptor && coveringExtent(dot)[dim] <= load.getCopiedExtent()[static_cast<size_t>(source.order[dim])];
    if (!byDescriptor) load.setCopiedExtent({});
  }

  /// Returns the layout of the operand's buffer. `along`: the operand's K dimension. `reach`: elements of the other dimension that one
  /// wgmma reads. `either`: either dimension may be contiguous.
  SharedLayout sharedLayout(const Source &source, size_t along, int64_t reach, bool either) {
    auto tile = cast<RankedTensorType>(source.tile.getType());
    Dims shape = ttg::shapeOf(tile), order = memoryOrder(source.tile);
    int64_t bits = ttg::memoryBits(tile), inner = source.order[along];
    if (order[0] != inner && (!either || reach * bits < minSwizzleSpanBytes * 8)) std::swap(order[0], order[1]);
    int64_t widest = order[0] == inner ? swizzleSpanBytes : std::min(swizzleSpanBytes, reach * bits / 8);
    return SharedLayout::swizzled(shape, bits, widest, order);
  }

  /// Returns a buffer that holds the tile. It is written before the loop if the tile is loop-invariant.
  Value bufferOf(Operation *dot, Value tile, const SharedLayout &layout) {
    Type element = getElementTypeOrSelf(tile.getType());
    Type stored = element.isInteger(1) ? Type(b.getI8Type()) : element;
    auto type = ttg::BufferType::get(1, stored, layout);
    Operation *from = tile.getDefiningOp();
    Block *home = from ? from->getBlock() : cast<BlockArgument>(tile).getOwner();
    Value buffer;
    if (home == dot->getBlock()) {
      b.setInsertionPoint(dot);
      buffer = ttg::AllocOp::create(b, dot->getLoc(), type);
      pending.push_back({tile, buffer});
    } else {
      auto key = std::make_pair(tile, Type(type));
      if (Value known = hoisted.lookup(key)) {
        buffer = known;
      } else {
        from ? b.setInsertionPointAfter(from) : b.setInsertionPointToStart(home);
        buffer = ttg::AllocOp::create(b, dot->getLoc(), type);
        store(dot->getLoc(), {{tile, buffer}});
        hoisted[key] = buffer;
      }
    }
    if (auto load = dyn_cast_or_null<ttg::DescriptorLoadOp>(from))
      buffer.getDefiningOp<ttg::AllocOp>().setCopiedExtent(load.getCopiedExtent());
    return buffer;
  }

  /// Returns the same bytes as a tile of this type and layout. `order`: its dimensions in the buffer's tile; none if the tile is reshaped.
  Value viewOf(Location loc, Value buffer, Type element, const SharedLayout &layout, ArrayRef<int32_t> order) {
    auto view = ttg::BufferType::get(1, element, layout);
    if (view == buffer.getType() && llvm::is_sorted(order)) return buffer;
    b.setInsertionPointAfter(buffer.getDefiningOp());
    return ttg::ViewOp::create(b, loc, view, buffer, order);
  }

  /// Returns a buffer that holds the operand.
  Value buffered(Operation *dot, const Source &source, const SharedLayout &layout) {
    Value buffer = bufferOf(dot, source.tile, layout);
    Type stored = cast<ttg::BufferType>(buffer.getType()).getElementType();
    bool isBit = getElementTypeOrSelf(source.tile.getType()).isInteger(1);
    Dims order(source.order.begin(), source.order.end());
    return viewOf(dot->getLoc(), buffer, isBit ? stored : source.element, layout.transposed(order), source.order);
  }

  /// Returns a buffer that holds the scales as tcgen05.cp reads them: whole words of whole blocks of rows.
  Value bufferedScales(tt::DotScaledOp dot, Value scale, bool isLeft) {
    ScaleBuffer layouts = scaleBuffer(scale, isLeft);
    Value buffer = bufferOf(dot, layouts.tile, layouts.stored);
    return viewOf(dot->getLoc(), buffer, getElementTypeOrSelf(scale.getType()), layouts.read, {});
  }

  /// Returns a buffer of an operand of a dot with scales. `isPadded`: the MMA reads a byte for each number, and pairs of 4-bit numbers have
  /// 8 bytes of padding after each 8 bytes along K. 64 rows of A are those of 128 rows whose sums are in the lanes of a tile of 64 rows.
  /// They are K-major: the swizzle of M-major rows moves row 16, where padding starts, by an amount that depends on K.
  Value bufferedScaled(tt::DotScaledOp dot, const Source &source, size_t along, int64_t reach, bool either, bool isPadded) {
    auto inner = static_cast<size_t>(source.order[along]), outer = 1 - inner;
    bool isHalf = along == 1 && ttg::shapeOf(source.tile.getType())[outer] < tensorMemoryLanes;
    SharedLayout layout = sharedLayout(source, along, reach, either && !isHalf);
    if (!isPadded && !isHalf) return buffered(dot, source, layout);
    Dims whole = layout.shape, order = spanOf(layout)->order;
    whole[inner] *= isPadded ? 2 : 1;
    whole[outer] *= isHalf ? 2 : 1;
    SharedLayout read = SharedLayout::swizzled(whole, 8, order[0] == source.order[along] ? swizzleSpanBytes : reach, order), stored = read;
    if (isPadded) stored = stored.padded(static_cast<int64_t>(inner), log2Of(bytesBetweenPadding));
    if (isHalf) stored = stored.padded(static_cast<int64_t>(outer), halfTileRowBit);
    Value buffer = bufferOf(dot, source.tile, stored);
    Dims seen(source.order.begin(), source.order.end());
    return viewOf(dot->getLoc(), buffer, isPadded ? Type(b.getI8Type()) : source.element, read.transposed(seen), {});
  }

  void store(Location loc, ArrayRef<std::pair<Value, Value>> tiles) {
    for (auto [tile, buffer] : tiles)
      ttg::StoreSharedOp::create(b, loc, tile, buffer);
    ttg::FenceAsyncOp::create(b, loc);
  }

  void storePending(Operation *dot) {
    b.setInsertionPoint(dot);
    if (!pending.empty()) store(dot->getLoc(), pending);
    pending.clear();
  }

  /// Returns the accumulator of the dot. Tensor cores accumulate in 32 bits, or in fp16 for fp16 operands if the dot asks for that.
  Value accumulator(tt::DotOp dot, ttg::MmaKind kind) {
    Value c = dot.getC();
    auto type = cast<RankedTensorType>(c.getType());
    if (kind == ttg::MmaKind::fma || ttg::elementBits(type) != 16) return c;
    bool isF16 = type.getElementType().isF16() && getElementTypeOrSelf(dot.getA().getType()).isF16();
    if (isF16 && kind != ttg::MmaKind::tcgen05) return c;
    return arith::ExtFOp::create(b, dot.getLoc(), RankedTensorType::get(type.getShape(), b.getF32Type(), type.getEncoding()), c);
  }

  LogicalResult select(tt::DotOp dot) {
    auto choice = dot->getAttrOfType<ttg::DotChoiceAttr>(ttg::dotChoiceName);
    if (!choice) return bug(dot, "it has no ttg.dot_choice from assign-layouts");
    switch (choice.getKind()) {
    case ttg::MmaKind::wgmma:
    case ttg::MmaKind::tcgen05: finish(dot, byDescriptor(dot, choice)); break;
    case ttg::MmaKind::mma: finish(dot, byWarps(dot)); break;
    case ttg::MmaKind::fma: finish(dot, byThreads(dot)); break;
    }
    return success();
  }

  /// Returns after how many elements of K the sum of an fp8 dot is promoted to f32. Null: at the end.
  IntegerAttr promotionInterval(tt::DotOp dot) {
    return isPromotedWithinIteration(dot) ? b.getI32IntegerAttr(static_cast<int32_t>(dot.getMaxNumImpreciseAcc())) : IntegerAttr();
  }

  Value byDescriptor(tt::DotOp dot, ttg::DotChoiceAttr choice) {
    // In shared memory 16-bit operands may be M-major (A) or N-major (B), and those of 8 bits for tcgen05; other ones must be K-major.
    int64_t bits = ttg::elementBits(dot.getA().getType());
    bool isTcgen05 = choice.getKind() == ttg::MmaKind::tcgen05, eitherMajor = bits == 16 || (isTcgen05 && bits == 8);
    auto shared = [&](Value operand, size_t along, int64_t reach) {
      Source source = sourceOf(operand);
      auto known = reaches.find({source.tile, source.order[along]});
      int64_t columns = known == reaches.end() ? reach : std::min(reach, known->second);
      return buffered(dot, source, sharedLayout(source, along, columns, eitherMajor));
    };
    Value a = choice.getAInRegisters() ? dot.getA() : shared(dot.getA(), 1, 64), second = shared(dot.getB(), 0, choice.getColumns());
    storePending(dot);
    Value c = accumulator(dot, choice.getKind());
    // tcgen05.mma computes the whole tile, with the precision of f32.
    Dims shape = ttg::shapeOf(dot.getType()), extent = isTcgen05 ? shape : coveringExtent(dot);
    DenseI64ArrayAttr part = extent != shape ? b.getDenseI64ArrayAttr(extent) : DenseI64ArrayAttr();
    IntegerAttr interval = isTcgen05 ? IntegerAttr() : promotionInterval(dot);
    auto d = ttg::MmaAsyncOp::create(b, dot.getLoc(), c.getType(), a, second, c, Value(), interval, part);
    return ttg::MmaAsyncWaitOp::create(b, dot.getLoc(), 0, d.getD()).getResults()[0];
  }

  Value byWarps(tt::DotOp dot) {
    Value a = throughShared(dot, dot.getA(), 1), second = throughShared(dot, dot.getB(), 0);
    storePending(dot);
    a = inRegisters(a, dot.getA(), dot.getLoc());
    second = inRegisters(second, dot.getB(), dot.getLoc());
    Value c = accumulator(dot, ttg::MmaKind::mma);
    return tt::DotOp::create(b, dot.getLoc(), c.getType(), a, second, c, dot.getInputPrecision(), dot.getMaxNumImpreciseAcc());
  }

  /// Operands and scales that are loaded go through buffers, so that their copies can be prefetched. The dot stays.
  void scaledByWarps(tt::DotScaledOp dot) {
    SmallVector<std::pair<OpOperand *, size_t>> operands = {{&dot.getAMutable(), 1}, {&dot.getBMutable(), 0}};
    for (MutableOperandRange scales : {dot.getAScaleMutable(), dot.getBScaleMutable()})
      for (OpOperand &scale : scales)
        operands.push_back({&scale, 1});
    SmallVector<Value> sources =
        llvm::map_to_vector(operands, [&](auto each) { return throughShared(dot, each.first->get(), each.second); });
    storePending(dot);
    llvm::SmallSetVector<Operation *, 4> unused;
    for (auto [operand, source] : llvm::zip(operands, sources)) {
      Value tile = operand.first->get();
      addIfFree(unused, tile);
      operand.first->set(inRegisters(source, tile, dot.getLoc()));
    }
    eraseUnused(unused);
  }

  Type numbersOf(tt::ScaleDotElemType format) {
    switch (format) {
    case tt::ScaleDotElemType::E2M1: return b.getType<Float4E2M1FNType>();
    case tt::ScaleDotElemType::E2M3: return b.getType<Float6E2M3FNType>();
    case tt::ScaleDotElemType::E3M2: return b.getType<Float6E3M2FNType>();
    case tt::ScaleDotElemType::E4M3: return b.getType<Float8E4M3FNType>();
    default: return b.getType<Float8E5M2Type>();
    }
  }

  /// Returns the scales of an operand: ones, of the type of the other one's (or exponents), if it has none.
  Value scalesOf(const tt::ScaledOperand &x, const tt::ScaledOperand &other) {
    if (x.scale) return x.scale;
    Dims shape{x.outer(), x.depth() / tt::scaleGroup(x, other)};
    Type element = other.scale ? getElementTypeOrSelf(other.scale.getType()) : b.getI8Type();
    RankedTensorType type = ttg::withLayout(RankedTensorType::get(shape, element), Layout::coalesced(shape, 1, config.getWarps(), {1, 0}));
    constexpr int64_t exponentOfOne = 127;
    TypedAttr one = element.isInteger() ? TypedAttr(b.getIntegerAttr(element, exponentOfOne)) : TypedAttr(b.getFloatAttr(element, 1.0));
    Value &ones = unitScales[type];
    if (ones) return ones;
    b.setInsertionPointToStart(&function.getBody().front());
    return ones = arith::ConstantOp::create(b, x.tile.getLoc(), DenseElementsAttr::get(type, one));
  }

  /// Operands and scales go through buffers; two numbers of 4 bits are a byte of the tile along K.
  void scaledByDescriptor(tt::DotScaledOp dot) {
    int64_t columns = std::min(ttg::shapeOf(dot.getType())[1], tcgen05MaxColumns);
    llvm::SmallSetVector<Operation *, 4> unused;
    auto shared = [&](Value operand, tt::ScaleDotElemType format, size_t along, int64_t reach) {
      addIfFree(unused, operand);
      Source source = sourceOf(operand);
      bool either = format != tt::ScaleDotElemType::E2M1 && !tt::isSixBits(format); // bytes of several numbers must be K-major
      return bufferedScaled(dot, source, along, reach, either, readsWithPadding(dot, operand));
    };
    auto scales = [&](Value scale, bool isLeft) {
      addIfFree(unused, scale);
      return bufferedScales(dot, scale, isLeft);
    };
    Value a = shared(dot.getA(), dot.getAElemType(), 1, 64), second = shared(dot.getB(), dot.getBElemType(), 0, columns);
    tt::ScaledOperand left = leftOf(dot), right = rightOf(dot);
    Value aScale = scales(scalesOf(left, right), /*isLeft=*/true), bScale = scales(scalesOf(right, left), /*isLeft=*/false);
    storePending(dot);
    auto formats = ttg::BlockScalesAttr::get(b.getContext(), numbersOf(dot.getAElemType()), numbersOf(dot.getBElemType()),
                                             tt::scaleGroup(left, right));
    auto d = ttg::MmaAsyncOp::create(b, dot.getLoc(), dot.getType(), a, second, dot.getC(), Value(), IntegerAttr(), DenseI64ArrayAttr(),
                                     aScale, bScale, formats, /*paired=*/false, Value(), Value());
    dot.replaceAllUsesWith(ttg::MmaAsyncWaitOp::create(b, dot.getLoc(), 0, d.getD()).getResults()[0]);
    dot.erase();
    eraseUnused(unused);
  }

  Value byThreads(tt::DotOp dot) {
    // Threads read element by element, from a row-major buffer. Rows of A start at the same bank. The swizzle of rows of 64 or 128 bytes
    // avoids bank conflicts between two lanes that read two rows.
    auto plain = [&](Value operand, bool isA) {
      auto tile = cast<RankedTensorType>(operand.getType());
      int64_t bits = ttg::elementBits(tile), row = tile.getShape().back() * bits / 8;
      bool isPermuted = isA && tile.getRank() == 2 && (row == 64 || row == 128);
      Dims order = rowMajorOrder(tile.getRank());
      SharedLayout layout = isPermuted ? SharedLayout::swizzled(ttg::shapeOf(tile), bits, row, order)
                                       : SharedLayout::rowMajor(ttg::shapeOf(tile), bits, order);
      return buffered(dot, asItIs(operand), layout);
    };
    Value a = plain(dot.getA(), true), second = plain(dot.getB(), false);
    storePending(dot);
    Value c = accumulator(dot, ttg::MmaKind::fma);
    return ttg::FmaDotOp::create(b, dot.getLoc(), c.getType(), a, second, c);
  }

  /// Puts a loaded operand of mma.sync into a buffer that ldmatrix reads, so that its copy can be prefetched. Returns other operands
  /// unchanged.
  Value throughShared(Operation *dot, Value operand, size_t along) {
    Source source = sourceOf(operand);
    bool loaded = isa_and_nonnull<tt::LoadOp, ttg::DescriptorLoadOp>(source.tile.getDefiningOp()) && source.order.size() == 2;
    return loaded ? buffered(dot, source, sharedLayout(source, along, 64, true)) : operand;
  }

  Value inRegisters(Value throughShared, Value operand, Location loc) {
    return isa<ttg::BufferType>(throughShared.getType()) ? Value(ttg::LoadSharedOp::create(b, loc, operand.getType(), throughShared))
                                                         : throughShared;
  }

  void finish(tt::DotOp dot, Value d) {
    auto type = cast<RankedTensorType>(dot.getType());
    if (d.getType() != type) d = arith::TruncFOp::create(b, dot.getLoc(), type, d);
    llvm::SmallSetVector<Operation *, 4> unused;
    addIfFree(unused, dot.getA());
    addIfFree(unused, dot.getB());
    dot.replaceAllUsesWith(d);
    dot.erase();
    eraseUnused(unused);
  }

  /// Adds the conversion, transposition or reshape that makes a tile, which a buffer may have replaced.
  static void addIfFree(llvm::SmallSetVector<Operation *, 4> &unused, Value tile) {
    if (onlyRenumbers(tile.getDefiningOp())) unused.insert(tile.getDefiningOp());
  }

  /// Both operands may be one tile, or one a transposition of the other. Visits each operation once, and never after it is erased.
  static void eraseUnused(llvm::SmallSetVector<Operation *, 4> &unused) {
    while (!unused.empty()) {
      Operation *op = unused.pop_back_val();
      if (!op->use_empty()) continue;
      Value source = op->getOperand(0);
      op->erase();
      addIfFree(unused, source);
    }
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  OpBuilder b;
  DenseMap<std::pair<Value, int32_t>, int64_t> reaches; // by tile and its K dimension
  SmallVector<std::pair<Value, Value>> pending;         // tile and buffer: to be stored right before the dot
  DenseMap<std::pair<Value, Type>, Value> hoisted;
  DenseMap<Type, Value> unitScales;
};

} // namespace

LogicalResult selectTensorCores(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return Selector(function, config, target).run();
  });
}

} // namespace tilewright::gpu
