// How many registers of a thread the results of a loop's MMAs take, and how many there are. Results that are in use one after the other
// share registers. Attention backward in one kernel:
//   s = KQ    p = VG    w = exp2(s)    dv += wG    x = w * p    store x    dq = xK    dk += xQ    store dq
// dv and dk are in use throughout, s and p until x is packed, dq after that: what is counted is dv + dk + the larger one of s + p and dq.
#include "gpu/schedule/loop_schedule.h"
#include "gpu/tiles/demanded_extent.h"
#include "gpu/tiles/registers.h"
#include "gpu/tiles/tile_equivalence.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

int64_t registersOf(Type tile) {
  int64_t bits = cast<RankedTensorType>(tile).getElementTypeBitWidth();
  return std::max<int64_t>(1, ttg::layoutOf(tile).registersPerThread() * bits / 32);
}

namespace {
/// From which operation of the loop's body on an MMA's result is in use, and until which; null: throughout.
struct InUse {
  Operation *first = nullptr, *last = nullptr;
  int64_t registers = 0;
  bool at(Operation *op) const {
    return !first || ((first == op || first->isBeforeInBlock(op)) && (last == op || op->isBeforeInBlock(last)));
  }
};
} // namespace

/// Whether threads write the operand in an iteration: then its MMA starts where it stands, after them.
static bool isWrittenByThreads(Value operand, Block *body) {
  ttg::AllocOp alloc = allocOf(operand);
  return !alloc || llvm::any_of(accessesOf(alloc), [&](Operation *access) {
    auto store = dyn_cast<ttg::StoreSharedOp>(access);
    return store && store->getBlock() == body && !isa_and_nonnull<tt::LoadOp, ttg::DescriptorLoadOp>(store.getSrc().getDefiningOp());
  });
}

/// The last operation that uses the result, or what takes its registers: numbers made of it element by element. Null if it is in use when
/// the iteration ends.
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
  SmallVector<InUse> results;
  loop.walk([&](ttg::WgmmaOp mma) {
    InUse &use = results.emplace_back(InUse{nullptr, nullptr, mmaRegisters(mma)});
    if (mma.getPromotionInterval()) use.registers += std::min(use.registers, registersOfPromotedPart);
    Operation *last = mma->getBlock() == body ? lastUse(mma, body) : nullptr;
    if (!last || isa<BlockArgument>(mma.getC())) return;
    bool staysInPlace = isWrittenByThreads(mma.getA(), body) || isWrittenByThreads(mma.getB(), body);
    use.first = staysInPlace ? mma.getOperation() : &body->front();
    use.last = last;
  });
  int64_t maxRegisters = 0;
  auto count = [&](Operation *at) {
    int64_t registers = 0;
    for (const InUse &use : results)
      if (use.at(at)) registers += use.registers;
    maxRegisters = std::max(maxRegisters, registers);
  };
  count(&body->front());
  for (const InUse &use : results)
    if (use.first) count(use.first);
  return maxRegisters;
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
  constexpr int64_t copyRegisters = 16; // stages and coordinates, which a producer has in the place of others
  int64_t threads = config.getWarps() << laneBits;
  int64_t available = warpSpecialized ? consumerRegisters(config, target) + copyRegisters
                                      : std::min(target.registersPerThread, target.registersPerSM / threads);
  if (config.getMaxRegisters() > 0) available = std::min(available, config.getMaxRegisters());
  return available - otherRegisters;
}

bool limitsToOneCtaPerSM(const LoopSchedule &schedule, ttg::ConfigAttr config, const GpuTarget &target) {
  int64_t threads = config.getWarps() << laneBits;
  return 2 * threads * (accumulatorsOf(schedule.loop) + otherRegisters) > target.registersPerSM;
}

} // namespace tilewright::gpu
