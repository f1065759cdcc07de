// Where threads dequantize both operands of an MMA, all that tensor cores read is written to shared memory and read again, and no warp
// multiplies while all dequantize. A warpgroup of its own can dequantize the second operand, into a circular buffer, while two others
// dequantize the first one, which goes from their registers into the MMA:
//   before: for i { a = dequantize (copied a)    b = dequantize (copied b)    store a, b    fence    multiply    wait }
//   after:  warpgroups 0, 1:    for i { a = dequantize (copied a)   wait until b is made   multiply by registers   wait   arrive: read }
//           one more:           for i { b = dequantize (copied b)    store b    fence    arrive: b is made }
// Here the loop is rewritten as if all warps did all of it; what is the third warpgroup's is marked (`ttg.operand_partition`), and
// specialize-warps splits it. Of a tile that the third one computes each thread holds whole rows along K, and warps 4 to 7 hold copies
// of what 0 to 3 hold.
//
// Registers of the first operand hold pairs of adjacent elements along K, eight numbers apart. So that a thread reads sixteen adjacent
// elements at a time, K is gone through in another order, by both operands (thread_value_groups.h). Of its rows one half is dequantized
// while MMAs of the other half run. What the loop carries next to its sums is moved by carried_maxima.
#include "gpu/schedule/microscaling/carried_maxima.h"
#include "gpu/schedule/microscaling/dequantize_candidate.h"
#include "gpu/schedule/microscaling/thread_value_groups.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/operand_partition.h"
#include "gpu/ttg/tile_shapes.h"
#include "ir/refusal.h"
#include "ir/slice.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Rewrites a loop that suits.
class Rewrite {
public:
  Rewrite(tt::FuncOp function, DequantizeCandidate &loop, ttg::ConfigAttr config)
      : function(function), c(loop), config(config), left(function), right(function), b(function.getContext()) {}

  /// Decides what is computed in which layout; false if that is not possible.
  bool plan() {
    auto rightTile = cast<RankedTensorType>(c.second.store.getSrc().getType());
    int64_t along = c.dimOf(c.second, 0);
    evenOddInterleave = !c.first.isCopied() && isSmallOfBytes(c.first.store.getSrc()) && isSmallOfBytes(c.second.store.getSrc());
    rowLayout = rowsOfThreads(ttg::shapeOf(rightTile), along);
    if (evenOddInterleave) std::swap(rowLayout.basesOf(Axis::reg)[0], rowLayout.basesOf(Axis::reg)[1]);
    if (!right.canMake(c.second.store.getSrc(), rowLayout)) return false;
    if (right.copied().size() != 1 || cast<ttg::DescriptorLoadOp>(right.copied().front()).getOrder()[0] != along) return false;
    if (c.first.isCopied()) return true;
    // Where a byte holds several numbers, dequantizing them is enough work for that warpgroup.
    auto copied = cast<RankedTensorType>(right.copied().front()->getResult(0).getType());
    if (copied.getNumElements() == rightTile.getNumElements()) findScales(c.first.store.getSrc());
    auto leftTile = cast<RankedTensorType>(c.first.store.getSrc().getType());
    int64_t leftAlong = c.dimOf(c.first, 1);
    Layout operand = Layout::wgmmaOperandA(shapeOfFirst(), config.getWarps(), leftTile.getElementTypeBitWidth());
    if (leftAlong == 0) operand = operand.transposed({1, 0});
    operandLayout = Reorder(leftTile, leftAlong, evenOddInterleave).before(operand);
    if (!left.canMake(c.first.store.getSrc(), operandLayout) || left.copied().size() != 1) return false;
    return cast<ttg::DescriptorLoadOp>(left.copied().front()).getOrder()[0] == leftAlong;
  }

  /// Bytes of an iteration's scales that one warpgroup makes for the consumers.
  int64_t bytesOfScales() const {
    int64_t bytes = 0;
    for (Value tile : scales)
      bytes += bufferOf(tile).tileBytes();
    return bytes;
  }

  void run() {
    ttg::relyOn(function, c.guards);
    Value dequantized = right.make(c.second.store.getSrc(), rowLayout);
    b.setInsertionPoint(c.second.store);
    for (Value tile : scales)
      passOn(tile);
    if (!c.first.isCopied()) {
      dequantized = Reorder(cast<RankedTensorType>(dequantized.getType()), c.dimOf(c.second, 0), evenOddInterleave).apply(b, dequantized);
      passInRegisters();
    }
    c.second.store.getSrcMutable().assign(dequantized);
    for (Operation *op : {c.second.store.getOperation(), c.fence})
      markOperandPartition(op);
    c.loop = carryMaxima(c.loop, left, right);
    ttg::eraseDead(function);
    int64_t registers = scales.empty() ? dequantizeRegisters : loaderRegisters;
    function->setAttr(ttg::operandPartitionName, b.getI32IntegerAttr(static_cast<int32_t>(registers)));
  }

private:
  /// Where the tile depends on what the loop copies, what it depends on besides that comes from loads to registers alone: scales, before
  /// each is repeated for its group. The warpgroup that dequantizes the second operand makes those of the first one, too, and leaves them
  /// in a buffer: a fence waits for loads from memory, and the consumers have none then (docs/heuristics.md, `loaderRegisters`).
  void findScales(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!isTile(tile) || !op || op->getBlock() != c.loop.getBody() || isa<ttg::DescriptorLoadOp>(op)) return;
    if (!searched.insert(tile).second) return;
    if (dependsOn<ttg::DescriptorLoadOp>(tile)) {
      for (Value operand : op->getOperands())
        findScales(operand);
      return;
    }
    tile = tt::lookThrough<tt::ExpandDimsOp, tt::BroadcastOp, tt::ReshapeOp, tt::TransOp, ttg::ConvertLayoutOp>(tile);
    auto type = cast<RankedTensorType>(tile.getType());
    bool isNarrow = type.getRank() == 2 && type.getDimSize(0) == shapeOfFirst()[0] && type.getDimSize(1) <= maxForwardedScales;
    if (!isNarrow || type.getElementTypeBitWidth() < 8 || !dependsOn<tt::LoadOp>(tile) || llvm::is_contained(scales, tile)) return;
    if (!right.canMake(tile, rowsOfThreads(ttg::shapeOf(type), 1)) || right.copied().size() != 1) return;
    scales.push_back(tile);
    left.readFrom(tile, Value());
  }

  /// Whether the tile is made of small numbers that share bytes along K, times something: they are made faster by every second one.
  static bool isSmallOfBytes(Value tile) {
    auto scaled = tile.getDefiningOp<arith::MulFOp>();
    return scaled && llvm::any_of(scaled->getOperands(), [](Value operand) {
             auto unpack = tt::lookThrough<ttg::ConvertLayoutOp>(operand).getDefiningOp<ttg::UnpackE2m1Op>();
             return unpack && unpack.getSmall();
           });
  }

  /// Whether an operation of that kind, in the loop, makes what the value is computed from.
  template <typename Op> bool dependsOn(Value value) const {
    return tt::dependsOn(value, [&](Value source) {
      Operation *op = source.getDefiningOp();
      if (!op || op->getBlock() != c.loop.getBody()) return tt::Search::skip;
      return isa<Op>(op) ? tt::Search::found : tt::Search::follow;
    });
  }

  /// A buffer for the tile. Of powers of two in fp16 the upper byte is enough: four stages fit next to a tile that is stored.
  static ttg::BufferType bufferOf(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    Type element = isInUpperByte(tile) ? Type(IntegerType::get(tile.getContext(), 8)) : type.getElementType();
    return ttg::BufferType::get(
        tile.getContext(), 1, element,
        ttg::SharedAttr::get(tile.getContext(), scalesOfThreads(ttg::shapeOf(type), element.getIntOrFloatBitWidth())));
  }

  /// Scales of rows, in an order in which those of the rows that a thread multiplies, eight or half of all apart, are contiguous.
  static SharedLayout scalesOfThreads(const Dims &shape, int64_t bits) {
    auto bitsOf = [](int64_t extent) { return static_cast<unsigned>(llvm::Log2_64(static_cast<uint64_t>(extent))); };
    unsigned rowBits = bitsOf(shape[0]), groupBits = bitsOf(shape[1]), half = rowBits - 1;
    constexpr unsigned eight = 3;
    SmallVector<unsigned> order = {groupBits + half, groupBits + eight}; // the lowest first
    for (unsigned bit = 0; bit < groupBits; ++bit)
      order.push_back(bit);
    for (unsigned bit = 0; bit < rowBits; ++bit)
      if (bit != half && bit != eight) order.push_back(groupBits + bit);
    SharedLayout layout;
    layout.shape = shape;
    layout.elementBits = bits;
    for (unsigned bit : order)
      layout.bases.push_back(1u << bit);
    return layout;
  }

  /// Whether the lower byte of each element, of 16 bits, is 0: the bits have been shifted there.
  static bool isInUpperByte(Value tile) {
    auto bits = tile.getDefiningOp<tt::BitcastOp>();
    auto cut = bits ? bits.getSrc().getDefiningOp<arith::TruncIOp>() : arith::TruncIOp();
    auto shifted = cut ? cut.getIn().getDefiningOp<arith::ShLIOp>() : arith::ShLIOp();
    DenseIntElementsAttr by;
    return shifted && getElementTypeOrSelf(tile).getIntOrFloatBitWidth() == 16 && matchPattern(shifted.getRhs(), m_Constant(&by)) &&
           by.isSplat() && by.getSplatValue<APInt>().uge(8);
  }

  /// The upper bytes of a tile's elements.
  Value upperBytes(Value tile) {
    Location loc = tile.getLoc();
    auto type = cast<RankedTensorType>(tile.getType());
    auto words = cast<RankedTensorType>(type.clone(b.getI16Type()));
    Value bits = tt::BitcastOp::create(b, loc, words, tile);
    Value eight = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(words, Attribute(b.getI16IntegerAttr(8))));
    return arith::TruncIOp::create(b, loc, type.clone(b.getI8Type()), arith::ShRUIOp::create(b, loc, bits, eight));
  }

  /// Before the builder's insertion point the tile is stored for the consumers.
  void passOn(Value tile) {
    Value made = right.make(tile, rowsOfThreads(ttg::shapeOf(tile.getType()), 1));
    if (isInUpperByte(tile)) made = upperBytes(made);
    ttg::AllocOp buffer;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(c.loop.getBody());
      buffer = ttg::AllocOp::create(b, tile.getLoc(), bufferOf(tile));
    }
    markOperandPartition(ttg::StoreSharedOp::create(b, tile.getLoc(), made, buffer));
    left.readFrom(tile, buffer);
  }

  /// What is computed from the scales that are passed on stands before the first MMA, after their store.
  void sinkReads(Operation *mma) {
    DenseSet<Operation *> moved;
    for (Operation &op : llvm::make_early_inc_range(*mma->getBlock())) {
      if (&op == mma || moved.contains(&op)) return;
      auto load = dyn_cast<ttg::LoadSharedOp>(op);
      bool reads = load && allocOf(load.getBuffer()) && allocOf(load.getBuffer())->getBlock() == mma->getBlock();
      bool follows = llvm::any_of(op.getOperands(), [&](Value operand) { return moved.contains(operand.getDefiningOp()); });
      if (!reads && !follows) continue;
      moved.insert(&op);
      op.moveBefore(mma);
    }
  }

  /// Whole rows along K, one a thread of a warpgroup, further ones in further registers.
  static Layout rowsOfThreads(const Dims &shape, int64_t along) {
    Layout layout;
    layout.shape = shape;
    auto basis = [&](int64_t dim, int64_t step) {
      Dims at(2, 0);
      at[static_cast<size_t>(dim)] = step;
      return flatOf(shape, at);
    };
    for (int64_t step = 1; step < shape[static_cast<size_t>(along)]; step *= 2)
      layout.basesOf(Axis::reg).push_back(basis(along, step));
    for (int64_t step = 1; step < shape[static_cast<size_t>(1 - along)]; step *= 2) {
      Axis axis = step < int64_t(1) << laneBits ? Axis::lane : step < threadsOfGroup ? Axis::warp : Axis::reg;
      layout.basesOf(axis).push_back(basis(1 - along, step));
    }
    layout.basesOf(Axis::warp).push_back(0); // the other warpgroup holds copies
    return layout;
  }

  Dims shapeOfFirst() const {
    Dims shape = ttg::shapeOf(c.first.store.getSrc().getType());
    return {shape[static_cast<size_t>(c.first.order[0])], shape[static_cast<size_t>(c.first.order[1])]};
  }

  /// Half of the rows, in the layout of an MMA's first operand, before the builder's insertion point.
  Value operandHalf(RowHalves &halves, Value tile, size_t which) {
    Value half = halves.half(b, tile, which);
    half = Reorder(cast<RankedTensorType>(half.getType()), c.dimOf(c.first, 1), evenOddInterleave).apply(b, half);
    return c.first.order[0] == 0 ? half : transposed(b, half, {1, 0});
  }

  /// Two MMAs of half as many rows, of which one runs while the other one's rows are dequantized:
  ///   dequantize rows 0    start MMA 0    wait for MMA 1 of the iteration before    dequantize rows 1    start MMA 1    wait for MMA
  ///   0
  void passInRegisters() {
    Value tile = left.make(c.first.store.getSrc(), operandLayout);
    Location loc = c.mma.getLoc();
    ttg::WgmmaWaitOp wait = waitFor(c.mma.getD());
    auto old = cast<BlockArgument>(c.mma.getC());
    auto type = cast<RankedTensorType>(old.getType());
    unsigned number = old.getArgNumber() - 1;
    RowHalves sums(0), rows(c.first.order[0]);
    b.setInsertionPoint(c.loop);
    Value init = c.loop.getInitArgs()[number];
    SmallVector<Value> inits = {sums.half(b, init, 0), sums.half(b, init, 1)};
    c.loop = withMoreCarried(c.loop, inits);
    ValueRange carried = c.loop.getRegionIterArgs().take_back(2);
    auto start = [&](Value a, Value sum) {
      return ttg::WgmmaOp::create(b, loc, sum.getType(), a, c.mma.getB(), sum, Value(), IntegerAttr(), DenseI64ArrayAttr()).getD();
    };
    auto pass = [&](Value sum) { return ttg::WgmmaWaitOp::create(b, loc, 1, sum); };
    b.setInsertionPoint(c.mma);
    Value first = start(operandHalf(rows, tile, 0), carried[0]);
    sinkReads(first.getDefiningOp());
    auto drain = pass(carried[1]);
    drain->setAttr(ttg::drainsName, b.getUnitAttr());
    Value second = start(operandHalf(rows, tile, 1), drain.getResults()[0]);
    first = pass(first).getResults()[0];
    Operation *yield = c.loop.getBody()->getTerminator();
    yield->setOperand(number, c.loop.getRegionIterArg(number));
    yield->insertOperands(yield->getNumOperands(), {first, second});
    wait->erase();
    Operation *buffer = c.mma.getA().getDefiningOp();
    c.mma.erase();
    b.setInsertionPoint(beforeSums(number));
    ValueRange results = c.loop.getResults().take_back(2);
    auto drained = ttg::WgmmaWaitOp::create(b, loc, 0, results);
    Value whole = RowHalves::whole(b, drained.getResults()[0], drained.getResults()[1], type);
    c.loop.getResult(number).replaceAllUsesWith(whole);
    c.first.store->erase();
    if (buffer != c.first.alloc) buffer->erase();
    c.first.alloc->erase();
  }

  /// Where the loop's sums are wanted: what stands before that, the largest of the exponents, is computed under the last MMAs.
  Operation *beforeSums(unsigned number) {
    Operation *insertionPoint = c.loop->getNextNode();
    auto uses = [&](Operation *op) { return llvm::is_contained(op->getOperands(), c.loop.getResult(number)); };
    while (!uses(insertionPoint) && (insertionPoint->getNumRegions() == 0 || isa<tt::ReduceOp>(insertionPoint)) &&
           !insertionPoint->hasTrait<OpTrait::IsTerminator>())
      insertionPoint = insertionPoint->getNextNode();
    return insertionPoint;
  }

  tt::FuncOp function;
  DequantizeCandidate &c;
  ttg::ConfigAttr config;
  Relayout left, right;
  bool evenOddInterleave = false; ///< which elements registers hold
  SmallVector<Value> scales;      ///< of the first operand, which are passed on
  DenseSet<Value> searched;       ///< for them
  Layout rowLayout, operandLayout;
  OpBuilder b;
};
} // namespace

/// Partitions the first loop of the kernel in which that pays.
static void partitionDequantize(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (!target.wgmma || config.getWarps() != 2 * warpsOfGroup || config.getCtas() != 1 || config.getStages() < 2) return;
  if (warpSpecializationObstacle(function, config, target) || mayLearnOfWrites(function)) return;
  if (function.walk([](scf::WhileOp) { return WalkResult::interrupt(); }).wasInterrupted()) return;
  SmallVector<scf::ForOp> loops(function.getBody().getOps<scf::ForOp>());
  for (scf::ForOp tiles : SmallVector<scf::ForOp>(loops))
    llvm::append_range(loops, tiles.getBody()->getOps<scf::ForOp>());
  for (scf::ForOp loop : loops) {
    DequantizeCandidate candidate(loop, config, target);
    if (!candidate.match()) continue;
    Rewrite rewrite(function, candidate, config);
    if (!rewrite.plan()) continue;
    // The circular buffers must fit, what is copied and what is made of it.
    int64_t bytes = rewrite.bytesOfScales();
    loop.walk([&](ttg::DescriptorLoadOp load) {
      auto tile = cast<RankedTensorType>(load.getType());
      bytes += tile.getNumElements() * std::max<int64_t>(8, tile.getElementTypeBitWidth()) / 8;
    });
    ttg::AllocOp dequantized = candidate.second.alloc;
    int64_t depth = llvm::divideCeil(minDequantizedStages * (bytes + dequantized.getType().tileBytes()), dequantized.getType().tileBytes());
    if (planShared(function, {{dequantized, depth, loop}}).bytes > target.sharedBytes) continue;
    rewrite.run();
    return;
  }
}

LogicalResult partitionDequantize(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    partitionDequantize(function, config, target);
    return success();
  });
}

} // namespace tilewright::gpu
