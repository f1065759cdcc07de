// Counts the accumulators of a loop. Results with disjoint live ranges share registers. Attention backward in one kernel:
//   s = KQ    p = VG    w = exp2(s)    dv += wG    x = w * p    store x    dq = xK    dk += xQ    store dq
// dv and dk are live throughout, s and p until x is packed, dq after that. The count is dv + dk + the larger one of s + p and dq.
#include "gpu/cost_model/accumulators.h"

#include "gpu/cost_model/live_ranges.h"
#include "gpu/cost_model/registers.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/mma_extent.h"
#include "gpu/ttg/tile_equivalence.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

//===---------------------------------------------------------------------------------------------- before tiles have layouts

int64_t accumulatorBits(Type tile, const Dims &shape, const Dims &valid) {
  Type element = getElementTypeOrSelf(tile);
  return elementCount(shape) / shape.back() * valid.back() * (element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64);
}

int64_t tileAccumulatorBits(Value tile) {
  Dims shape = ttg::shapeOf(tile.getType());
  auto dot = tile.getDefiningOp<tt::DotOp>();
  return accumulatorBits(tile.getType(), shape, dot ? validExtent(dot) : shape);
}

/// Returns the last use of the dot's result in the block, including elementwise results computed from it.
static Operation *lastUse(tt::DotOp dot) {
  Block *block = dot->getBlock();
  Operation *last = dot;
  (void)tt::reaches(dot.getD(), [&](OpOperand &use) {
    Operation *op = block->findAncestorOpInBlock(*use.getOwner());
    if (!op) return tt::Search::skip;
    if (last->isBeforeInBlock(op)) last = op;
    bool passes = op == use.getOwner() && (isElementwiseOnTiles(op) || isa<tt::FpToFpOp>(op));
    return passes ? tt::Search::follow : tt::Search::skip;
  });
  return last;
}

/// Returns the accumulator bits that are live at one time in an iteration: the loop-carried tiles, and the maximum over the dots in the
/// body.
static int64_t accumulatorBitsOf(scf::ForOp loop, function_ref<int64_t(Value)> bitsOf, bool carriedSums) {
  if (loop.getBody()->getOps<tt::DotOp>().empty()) return 0;
  int64_t carried = 0;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (Value yielded = loop.getTiedLoopYieldedValue(argument)->get();
        isTile(argument) && (carriedSums || !yielded.getDefiningOp<tt::DotOp>()))
      carried += bitsOf(yielded);
  SmallVector<LiveRange> ranges; // of accumulators that are not carried
  for (auto dot : loop.getBody()->getOps<tt::DotOp>())
    if (!isa<BlockArgument>(dot.getC())) ranges.push_back({dot, lastUse(dot), bitsOf(dot.getResult())});
  return carried + maxLive(ranges);
}

int64_t maxAccumulatorBits(tt::FuncOp function, function_ref<int64_t(Value)> bitsOf, bool carriedSums) {
  int64_t bits = 0;
  function.walk([&](scf::ForOp loop) { bits = std::max(bits, accumulatorBitsOf(loop, bitsOf, carriedSums)); });
  return bits;
}

bool accumulatorsFit(int64_t bits, int64_t warps, const GpuTarget &target) {
  return bits / 32 <= (warps << laneBits) * (target.registersPerThread - otherRegisters);
}

/// The registers that one CTA has for the accumulators of a kernel with so many dots, with the maximum number of warps that have all
/// registers of a thread.
static int64_t registersForAccumulators(int64_t dots, const GpuTarget &target) {
  auto threads = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(target.registersPerSM / target.registersPerThread)));
  return threads * (target.registersPerThread - (dots == 1 ? otherRegistersNextToSums : otherRegisters));
}

bool accumulatorsFit(tt::FuncOp function, const GpuTarget &target, function_ref<int64_t(Value)> bitsOf) {
  int64_t dots = 0;
  function.walk([&](tt::DotOp) { ++dots; });
  int64_t registers = maxAccumulatorBits(function, bitsOf) / 32;
  return registers <= registersForAccumulators(dots, target);
}

//===---------------------------------------------------------------------------------------------------------- with layouts

int64_t registersOf(Type tile) {
  int64_t bits = ttg::elementBits(tile);
  return std::max<int64_t>(1, ttg::layoutOf(tile).registersPerThread() * bits / 32);
}

bool isInTensorMemory(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile || tile.getRank() != 2 || ttg::elementBits(tile) != registerBits || tile.getDimSize(0) < tcgen05MinRows) return false;
  Layout layout = ttg::layoutOf(tile);
  int64_t warps = int64_t(1) << layout.bits(Axis::warp);
  return warps % warpsOfGroup == 0 && layout == Layout::tensorMemory(ttg::shapeOf(tile), warps);
}

/// True if threads write the operand in an iteration: then its MMA starts after them.
static bool isWrittenByThreads(Value operand, Block *body) {
  ttg::AllocOp alloc = allocOf(operand);
  return !alloc || llvm::any_of(accessesOf(alloc), [&](Operation *access) {
    auto store = dyn_cast<ttg::StoreSharedOp>(access);
    return store && store->getBlock() == body && !isa_and_nonnull<tt::LoadOp, ttg::DescriptorLoadOp>(store.getSrc().getDefiningOp());
  });
}

/// Returns the last operation that uses the result, or values that take its registers: those computed from it element by element. Null if
/// it is live when the iteration ends.
static Operation *lastUse(ttg::MmaAsyncOp mma, Block *body) {
  SmallVector<Value> values = {mma.getD()};
  Operation *last = mma;
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != body || user->hasTrait<OpTrait::IsTerminator>()) return nullptr;
      if (last->isBeforeInBlock(user)) last = user;
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(user)) values.push_back(wait.getResults()[use.getOperandNumber()]);
      if (auto sum = dyn_cast<ttg::MmaAsyncOp>(user); sum && sum.getC() == values[i]) values.push_back(sum.getD());
      bool asWide = isElementwiseOnTiles(user) && registersOf(user->getResult(0).getType()) >= registersOf(mma.getType());
      if (asWide && !llvm::is_contained(values, user->getResult(0))) values.push_back(user->getResult(0));
    }
  return last;
}

int64_t accumulatorsOf(scf::ForOp loop, bool loadedSums) {
  Block *body = loop.getBody();
  int64_t liveThroughout = 0;
  SmallVector<LiveRange> ranges;
  loop.walk([&](ttg::MmaAsyncOp mma) {
    int64_t registers = mmaRegisters(mma);
    if (mma.getPromotionInterval()) registers += std::min(registers, registersOfPromotedPart);
    Operation *last = mma->getBlock() == body ? lastUse(mma, body) : nullptr;
    bool isCarried = !last || isa<BlockArgument>(mma.getC());
    if (isInTensorMemory(mma.getType()) && !loadedSums) {
      auto wait = llvm::find_if(mma->getUsers(), [](Operation *user) { return isa<ttg::MmaAsyncWaitOp>(user); });
      if (!isCarried && wait != mma->user_end()) ranges.push_back({*wait, last->getNextNode(), registers});
      return;
    }
    if (isCarried) {
      liveThroughout += registers;
      return;
    }
    bool staysInPlace = isWrittenByThreads(mma.getA(), body) || isWrittenByThreads(mma.getB(), body);
    ranges.push_back({staysInPlace ? mma.getOperation() : &body->front(), last->getNextNode(), registers});
  });
  return liveThroughout + maxLive(ranges);
}

bool multipliesByThreads(scf::ForOp loop) {
  auto has = [&](auto ops) { return ops.begin() != ops.end(); };
  Block *body = loop.getBody();
  return !has(body->getOps<ttg::MmaAsyncOp>()) && (has(body->getOps<tt::DotOp>()) || has(body->getOps<ttg::FmaDotOp>()));
}

int64_t registersOfMmas(scf::ForOp loop) {
  int64_t registers = 0;
  loop.walk([&](Operation *op) {
    if (!isa<tt::DotOp, ttg::FmaDotOp>(op)) return;
    for (Type type : llvm::concat<Type>(op->getOperandTypes(), op->getResultTypes()))
      if (isa<RankedTensorType>(type)) registers += registersOf(type);
  });
  return registers;
}

int64_t registersForTiles(ttg::ConfigAttr config, const GpuTarget &target, bool warpSpecialized) {
  int64_t limit = config.getMaxRegisters(), available = availableRegisters(config.getWarps() << laneBits, limit, target);
  if (warpSpecialized) {
    available = partitionRegisters(config.getWarps(), target, producerRegisters).consumer + copyRegisters;
    if (limit > 0) available = std::min(available, limit);
  }
  return available - otherRegisters;
}

bool holdWholeOperands(scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) {
  return registersOfMmas(loop) <= registersForTiles(config, target, /*warpSpecialized=*/false);
}

bool limitsToOneCtaPerSM(scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) {
  return !fitOnSM(2, config.getWarps() << laneBits, accumulatorsOf(loop, /*loadedSums=*/true) + otherRegisters, target);
}

} // namespace tilewright::gpu
