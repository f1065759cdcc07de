// Counts the accumulators of a loop. Results with disjoint live ranges share registers. Attention backward in one kernel:
//   s = KQ    p = VG    w = exp2(s)    dv += wG    x = w * p    store x    dq = xK    dk += xQ    store dq
// dv and dk are live throughout, s and p until x is packed, dq after that. The count is dv + dk + the larger one of s + p and dq.
#include "gpu/cost_model/accumulators.h"

#include "gpu/cost_model/live_ranges.h"
#include "gpu/cost_model/registers.h"
#include "gpu/tiles/buffer_accesses.h"
#include "gpu/tiles/demanded_extent.h"
#include "gpu/tiles/tile_equivalence.h"

using namespace mlir;

namespace tilewright::gpu {

int64_t registersOf(Type tile) {
  int64_t bits = cast<RankedTensorType>(tile).getElementTypeBitWidth();
  return std::max<int64_t>(1, ttg::layoutOf(tile).registersPerThread() * bits / 32);
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
static Operation *lastUse(ttg::WgmmaOp mma, Block *body) {
  SmallVector<Value> values = {mma.getD()};
  Operation *last = mma;
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != body || user->hasTrait<OpTrait::IsTerminator>()) return nullptr;
      if (last->isBeforeInBlock(user)) last = user;
      if (auto wait = dyn_cast<ttg::WgmmaWaitOp>(user)) values.push_back(wait.getResults()[use.getOperandNumber()]);
      if (auto sum = dyn_cast<ttg::WgmmaOp>(user); sum && sum.getC() == values[i]) values.push_back(sum.getD());
      bool asWide = isElementwiseOnTiles(user) && registersOf(user->getResult(0).getType()) >= registersOf(mma.getType());
      if (asWide && !llvm::is_contained(values, user->getResult(0))) values.push_back(user->getResult(0));
    }
  return last;
}

int64_t accumulatorsOf(scf::ForOp loop) {
  Block *body = loop.getBody();
  int64_t liveThroughout = 0;
  SmallVector<LiveRange> ranges;
  loop.walk([&](ttg::WgmmaOp mma) {
    int64_t registers = mmaRegisters(mma);
    if (mma.getPromotionInterval()) registers += std::min(registers, registersOfPromotedPart);
    Operation *last = mma->getBlock() == body ? lastUse(mma, body) : nullptr;
    if (!last || isa<BlockArgument>(mma.getC())) {
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
  return !has(body->getOps<ttg::WgmmaOp>()) && (has(body->getOps<tt::DotOp>()) || has(body->getOps<ttg::FmaDotOp>()));
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
    available = consumerRegisters(config.getWarps(), target, producerRegisters) + copyRegisters;
    if (limit > 0) available = std::min(available, limit);
  }
  return available - otherRegisters;
}

bool limitsToOneCtaPerSM(scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) {
  return !fitOnSM(2, config.getWarps() << laneBits, accumulatorsOf(loop) + otherRegisters, target);
}

} // namespace tilewright::gpu
