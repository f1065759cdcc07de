// Accesses to global memory, and copies.
#include "gpu/sm_model/costs.h"
#include "gpu/sm_model/sm.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/tt.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace tilewright::gpu::model {

/// Returns the argument from which an address is computed, if it is known.
static std::optional<int64_t> baseOf(Value address) {
  for (int depth = 0; depth < 64; ++depth) {
    if (auto argument = dyn_cast<BlockArgument>(address)) {
      if (isa<tt::FuncOp>(argument.getOwner()->getParentOp())) return argument.getArgNumber();
      auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
      OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
      if (!init) return {};
      address = init->get();
      continue;
    }
    Operation *op = address.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::AndIOp>(op)) return {}; // the latter aligns it
    // The pointer is the first operand.
    address = op->getOperand(0);
  }
  return {};
}

/// The streams of `traffic`. What no argument is known for comes after the arguments.
int64_t Sm::loadsFrom(Value address) const {
  return 2 * baseOf(address).value_or(code.body.arguments.size());
}
int64_t Sm::storesTo(Value address) const {
  return loadsFrom(address) + 1;
}

namespace {
/// What a TMA copy moves.
struct Box {
  double bytes = 0;
  int64_t base = 0;                          ///< the argument
  int64_t loads() const { return 2 * base; } // streams of `traffic`
  int64_t stores() const { return 2 * base + 1; }
};
} // namespace

static Box boxOf(Value map) {
  ttg::TensorMapAttr spec = ttg::tensorMapOf(map);
  if (!spec) return {};
  Box box{static_cast<double>(spec.getElement().getIntOrFloatBitWidth()) / 8, spec.getBase()};
  for (int64_t extent : spec.getBox().asArrayRef())
    box.bytes *= static_cast<double>(extent);
  return box;
}

/// Moves bytes between this SM and the L2 cache, and some of them from or to memory. `stream`: in `traffic`. The cache keeps what is stored
/// until memory has nothing to read, as far as there is room.
double Sm::moveBytes(double time, double bytes, int64_t stream) {
  bool isStore = stream % 2;
  double cyclesPerByte = rates.memoryCyclesPerByte();
  double missed = bytes * misses[static_cast<size_t>(stream)], start = std::max(time, l2Free);
  traffic[static_cast<size_t>(stream)] += bytes;
  busy.l2Bytes += bytes, busy.memoryBytes += missed;
  l2Free = start + bytes / rates.l2BytesPerCycle;
  if (memoryFree < start) {
    unwritten = std::max(unwritten - (start - memoryFree) / cyclesPerByte, 0.0);
    memoryFree = start;
  }
  if (!isStore) return std::max(l2Free, memoryFree += missed * cyclesPerByte);
  unwritten += missed;
  double room = rates.l2Bytes / static_cast<double>(rates.sms);
  if (unwritten <= room) return l2Free;
  memoryFree += (unwritten - room) * cyclesPerByte;
  unwritten = room;
  return l2Free = std::max(l2Free, memoryFree);
}

double Sm::loadBytes(double time, double bytes, int64_t stream) {
  return moveBytes(time, bytes, stream) + rates.l2Latency + misses[static_cast<size_t>(stream)] * rates.memoryLatency;
}

/// The bytes of the sectors that a warp touches. The first execution by the same lanes counts for all.
double Sm::bytesOfAccess(const Step &step, Value address, Value predicate, int64_t bytesOfThread) {
  uint32_t lanes = step.warp.lanesWhere(predicate);
  auto [it, inserted] = accessBytes.try_emplace({&step.node, lanes}, 0);
  if (!inserted || !lanes) return it->second;
  std::set<int64_t> sectors;
  double coalesced = 0;
  for (int64_t lane = 0; lane < lanesOfWarp; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    coalesced += static_cast<double>(bytesOfThread);
    if (Integer at = step.warp.inLane(address, lane))
      for (int64_t byte = 0; byte < bytesOfThread; byte += sectorBytes)
        sectors.insert((*at + byte) / sectorBytes);
  }
  double touched = static_cast<double>(sectors.size()) * sectorBytes;
  return it->second = touched > 0 ? touched : coalesced;
}

void Sm::loadGlobal(Step &step) {
  auto load = cast<ptx::LoadGlobalOp>(step.node.op);
  double bytes = bytesOfAccess(step, load.getAddress(), load.getPredicate(), bytesOf(load.getValues().getTypes()));
  step.setReady(bytes > 0 ? loadBytes(step.time, bytes, loadsFrom(load.getAddress())) : step.time);
}

void Sm::storeGlobal(Step &step) {
  auto store = cast<ptx::StoreGlobalOp>(step.node.op);
  double bytes = bytesOfAccess(step, store.getAddress(), store.getPredicate(), bytesOf(store.getValues().getTypes()));
  Cta &cta = ctaOf(step.index);
  cta.stored = std::max(cta.stored, moveBytes(step.time, bytes, storesTo(store.getAddress())));
  cta.hasWritten = true;
  if (step.node.releases && bytes > 0) release(step, store.getAddress());
}

//===---------------------------------------------------------------------------------------------------------------- copies

void Sm::copyAsync(Step &step) {
  auto copy = cast<ptx::CopyAsyncOp>(step.node.op);
  double bytes = bytesOfAccess(step, copy.getGlobal(), copy.getPredicate(), copy.getBytes());
  step.warp.copies.add(loadBytes(step.time, bytes, loadsFrom(copy.getGlobal())));
}

void Sm::commitCopies(Step &step) {
  step.warp.copies.commit();
}

void Sm::waitForCopies(Step &step) {
  step.warp.copies.wait(cast<ptx::CopyWaitOp>(step.node.op).getPending(), step.warp.now);
}

void Sm::loadByTma(Step &step) {
  auto load = cast<ptx::TmaLoadOp>(step.node.op);
  if (!step.warp.lanesWhere(load.getPredicate())) return;
  Box box = boxOf(load.getMap());
  double done = loadBytes(step.time, box.bytes, box.loads()) + tmaLatency;
  int64_t copies = load.getMulticast() ? llvm::popcount(static_cast<uint32_t>(*load.getMulticast())) : 1;
  if (load.getToLeader()) copies *= cluster; // the other CTA of the pair does the same
  arrive(mbarrierAt(step, load.getBarrier(), Value()), 0, -static_cast<int64_t>(box.bytes) * copies, done);
}

void Sm::storeByTma(Step &step) {
  auto store = cast<ptx::TmaStoreOp>(step.node.op);
  if (!step.warp.lanesWhere(store.getPredicate())) return;
  Box box = boxOf(store.getMap());
  step.warp.stores.add(moveBytes(step.time, box.bytes, box.stores()));
}

void Sm::commitStores(Step &step) {
  step.warp.stores.commit();
}

void Sm::waitForStores(Step &step) {
  step.warp.stores.wait(cast<ptx::TmaWaitOp>(step.node.op).getPending(), step.warp.now);
}

} // namespace tilewright::gpu::model
