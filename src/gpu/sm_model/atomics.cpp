// Atomics, which the L2 cache executes one after another at each address (those of a warp together), and locks. A lock is a
// compare-and-swap that a loop repeats, and something that writes to the same address later:
//
//     while (compare_swap(lock, 0, 1) == 1) sleep;  ...  atomic exch(lock, 0)
//
// Other SMs contend for the same addresses. An SM gets its share of them, as it gets its share of memory: of 33 locks that 132 SMs use at
// the same time, a quarter of one. So between two holders of this SM, three others hold it, each as long as the holder before.
#include "gpu/machine/atomic_order.h"
#include "gpu/sm_model/costs.h"
#include "gpu/sm_model/sm.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace mlir;

namespace tilewright::gpu::model {

/// Returns how many different addresses the programs that run at the same time have, per SM. 0 if one is not known.
double Sm::addressesOfSm(Value address) {
  auto [it, inserted] = addresses.try_emplace(address, 0);
  if (!inserted) return it->second;
  int64_t programs = std::min(launch.programs(), std::max<int64_t>(resident * rates.sms / cluster, 1));
  std::set<int64_t> different;
  for (int64_t program = 0; program < programs; ++program) {
    Integer known = inProgram(address, placeOf(program, 0));
    if (!known) return 0;
    different.insert(*known);
  }
  return it->second = static_cast<double>(different.size()) / static_cast<double>(rates.sms);
}

void Sm::updateGlobal(Step &step) {
  auto update = [&](auto op, TypeRange values) {
    double bytes = bytesOfAccess(step, op.getAddress(), op.getPredicate(), bytesOf(values));
    if (bytes == 0) return step.setReady(step.time);
    if (isRelease(ownOrder(op))) fence(step);
    Integer address = step.warp.inLane(op.getAddress(), llvm::countr_zero(step.warp.lanesWhere(op.getPredicate())));
    double known = addressesOfSm(op.getAddress()), share = known > 0 ? std::min(known, 1.0) : 1;
    double &free = atomicFree[{address ? nullptr : &step.node, address.value_or(0)}];
    free = std::max(free, step.time) + atomicCycles / share;
    ctaOf(step.index).hasWritten = true;
    end = std::max(end, free);
    step.setReady(std::max(free, moveBytes(step.time, bytes, storesTo(op.getAddress()))) + 2 * rates.l2Latency);
    if (step.node.releases) release(step, op.getAddress());
  };
  if (auto atomic = dyn_cast<ptx::AtomicOp>(step.node.op)) return update(atomic, atomic.getValues().getTypes());
  update(cast<ptx::CompareSwapOp>(step.node.op), step.node.op->getResultTypes());
  if (step.node.acquires) acquire(step, cast<ptx::CompareSwapOp>(step.node.op).getAddress());
}

/// Waits until the CTA's writes have reached the L2 cache, and for an answer from there.
void Sm::fence(Step &step) {
  Cta &cta = ctaOf(step.index);
  step.warp.now = std::max(step.warp.now, cta.stored) + (cta.hasWritten ? releaseLatency : rates.l2Latency);
  step.time = step.warp.now;
  cta.hasWritten = false;
}

void Sm::sleep(Step &step) {
  step.warp.now += cast<ptx::SleepOp>(step.node.op).getNanoseconds() * 1e-9 * rates.clock;
}

//===------------------------------------------------------------------------------------------------------------------- locks

/// Returns the lock of a CTA. Null if no one waits for it, as far as known.
Lock *Sm::lockOf(const Step &step, Value address) {
  auto [it, inserted] = locks.try_emplace(address);
  std::vector<Lock> &all = it->second;
  if (inserted) all.resize(static_cast<size_t>(std::ceil(addressesOfSm(address))));
  return all.empty() ? nullptr : &all[warpCta[step.index] % all.size()];
}

void Sm::acquire(Step &step, Value address) {
  auto swap = cast<ptx::CompareSwapOp>(step.node.op);
  Lock *lock = lockOf(step, address);
  bool succeeds = !lock || (!lock->isHeld && step.time >= lock->freeFrom);
  step.warp.setInteger(step.node.results[0], step.warp.inLane(succeeds ? swap.getCompare() : swap.getValue(), 0));
  if (!lock) return;
  if (succeeds) lock->isHeld = true, lock->since = lock->isWanted ? lock->freeFrom : step.time;
  lock->isWanted = !succeeds;
}

/// True if a lock that others want has been held since a time before this one.
bool Sm::waitsSince(double time) const {
  return llvm::any_of(locks, [&](const auto &entry) {
    return llvm::any_of(entry.second, [&](const Lock &lock) { return lock.isHeld && lock.isWanted && lock.since < time; });
  });
}

/// The holders of other SMs follow, each for as long as this one, the time until its attempt included.
void Sm::release(Step &step, Value address) {
  Lock *lock = lockOf(step, address);
  if (!lock || !lock->isHeld) return;
  double others = static_cast<double>(locks[address].size()) / addressesOfSm(address) - 1;
  lock->isHeld = false;
  lock->freeFrom = step.time + others * (step.time - lock->since);
  end = std::max(end, lock->freeFrom);
}

} // namespace tilewright::gpu::model
