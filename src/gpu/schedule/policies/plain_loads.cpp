// Loops that only load to registers, and in which all threads meet in every iteration, as for a reduction. The loads of the next iteration
// are issued at the top of an iteration:
//   load i+1    compute i    barrier    compute i
// ptxas itself moves loads above arithmetic, but nothing past a barrier. Loops without barriers are unrolled (codegen/unroll_loads.h), so
// there this would only take registers.
#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/policies/policies.h"
#include "gpu/schedule/shared_memory/scratch.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the lowering of an operation in the loop has a barrier.
static bool hasBarriers(scf::ForOp loop) {
  WalkResult walk =
      loop.getBody()->walk([](Operation *op) { return scratchBytes(op) != 0 ? WalkResult::interrupt() : WalkResult::advance(); });
  return walk.wasInterrupted();
}

/// Registers of a thread for the tiles that the loop carries.
static int64_t carriedRegisters(scf::ForOp loop) {
  int64_t registers = 0;
  for (Value carried : loop.getRegionIterArgs())
    if (isa<RankedTensorType>(carried.getType())) registers += registersOf(carried.getType());
  return registers;
}

bool schedulePlainLoads(LoopSchedule &schedule, const PolicyContext &context) {
  scf::ForOp loop = schedule.loop;
  if (!schedule.circularBuffers.empty() || !schedule.computed.empty() || schedule.warpSpecialized) return false;
  bool multiplies = !loop.getBody()->getOps<ttg::MmaAsyncOp>().empty() || multipliesByThreads(loop);
  if (multiplies || !hasBarriers(loop)) return false;
  int64_t available = registersForTiles(context.config, context.target, /*warpSpecialized=*/false);
  addRegisterLoads(schedule, available - accumulatorsOf(loop) - carriedRegisters(loop));
  return !schedule.registerLoads.empty();
}

} // namespace tilewright::gpu
