// More stages than num_stages, where they take shared memory that nothing else can use. How many CTAs share an SM depends on their
// registers and on their shared memory. A kernel of 128 threads with 64 accumulators each takes over 90 registers of a thread, so at most 5
// CTAs share an SM of 227 KiB, and each may have 45 KiB:
//   num_stages = 2, stages of 8 KiB:    16 KiB  ->  5 stages, 40 KiB
// A deeper buffer pays while more bytes in flight cover more of the latency (`coveringBytes`). A loop with num_stages of its own
// (tl.range) keeps that number.
#include "gpu/schedule/decisions/free_stages.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/registers.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/mma_loops.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns the registers of a thread that tiles take throughout a loop, at least.
int64_t registersOfLoop(scf::ForOp loop) {
  int64_t carried = 0;
  for (Value argument : loop.getRegionIterArgs())
    if (isa<RankedTensorType>(argument.getType()) && !isInTensorMemory(argument.getType())) carried += registersOf(argument.getType());
  return std::max(carried, accumulatorsOf(loop, /*loadedSums=*/true));
}

class FreeStages {
public:
  FreeStages(MutableArrayRef<LoopSchedule> schedules, SharedBudget &budget, const KernelLoops &kernel)
      : schedules(schedules), budget(budget), kernel(kernel), context(kernel.context) {}

  void run() {
    auto may = [&](const LoopSchedule &schedule) { return mayDeepen(schedule); };
    if (context.target.tcgen05 || llvm::none_of(schedules, may)) return; // with tcgen05, tensor memory limits the CTAs, too
    ctas = std::min(ctasByThreads(), ctasByShared(budget.bytes(), context.target));
    for (LoopSchedule &schedule : schedules)
      if (mayDeepen(schedule)) deepen(schedule);
  }

private:
  /// Returns how many CTAs the threads and registers of an SM suffice for, at most.
  int64_t ctasByThreads() const {
    const GpuTarget &target = context.target;
    int64_t warps = context.config.getWarps(), threads = warps << laneBits, registers = 0;
    if (llvm::any_of(schedules, [](const LoopSchedule &schedule) { return schedule.warpSpecialized; }))
      return partitionRegisters(warps, target, producerRegisters).ctas;
    for (const LoopSchedule &schedule : schedules)
      registers = std::max(registers, registersOfLoop(schedule.loop));
    int64_t ofThread =
        std::min(registers + otherRegistersNextToSums, availableRegisters(threads, context.config.getMaxRegisters(), target));
    return std::min(ctasByRegisters(threads, ofThread, target), target.threadsPerSM / threads);
  }

  /// True for the only loop that uses its circular buffers, if it has as many stages as requested for the kernel. If threads compute
  /// operands, copies wait for them, too. What is computed between dots covers the latency of copies.
  bool mayDeepen(const LoopSchedule &schedule) const {
    if (schedule.circularBuffers.empty() || !schedule.computed.empty() || schedule.continues) return false;
    if (schedule.stages < std::max<int64_t>(schedule.requested, 2) || scf::ForOp(schedule.loop)->hasAttr(tt::numStagesName)) return false;
    if (!onlyAccumulates(schedule.loop)) return false;
    return llvm::none_of(schedules, [&](const LoopSchedule &other) { return other.continues == schedule.loop; });
  }

  void deepen(LoopSchedule &schedule) {
    int64_t current = barriersOf(schedule);
    scf::ForOp loop = schedule.loop;
    auto around = schedule.crossTile ? cast<scf::ForOp>(loop->getParentOp()) : loop;
    for (int64_t stages = coveringStages(bytesOfStage(schedule)); stages > schedule.stages; --stages) {
      LoopSchedule deeper = kernel.withPolicy(schedule, stages);
      SmallVector<DeeperBuffer> buffers = buffersOf(deeper, stages, around);
      int64_t barriers = barriersOf(deeper) - current, bytes = budget.bytesWith(buffers, barriers);
      if (!budget.holds(bytes) || ctasByShared(bytes, context.target) < ctas) continue;
      budget.reserve(buffers, barriers);
      schedule = kernel.withRegisterLoads(std::move(deeper));
      return;
    }
  }

  /// Returns the depth with which `coveringBytes` are in flight: while one stage is read, and the next one has arrived.
  static int64_t coveringStages(int64_t bytes) {
    return std::min(maxFreeStages, 2 + static_cast<int64_t>(llvm::divideCeil(coveringBytes, bytes)));
  }

  MutableArrayRef<LoopSchedule> schedules;
  SharedBudget &budget;
  const KernelLoops &kernel;
  const PolicyContext &context;
  int64_t ctas = 1; ///< that share an SM without further stages
};

} // namespace

void addFreeStages(MutableArrayRef<LoopSchedule> schedules, SharedBudget &budget, const KernelLoops &kernel) {
  FreeStages(schedules, budget, kernel).run();
}

} // namespace tilewright::gpu
