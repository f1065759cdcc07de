// Chooses the occupancy of a kernel from the instructions of one thread:
//     ptx.kernel = #ptx.kernel<threads = 384, sharedBytes = 65536>                   and ptx.max_registers true 240, false 24
// becomes
//     ptx.kernel = #ptx.kernel<threads = 384, sharedBytes = 65536, minCtas = 1>
// A kernel without MMAs and without a promise gets `tryTwoCtas`: if it nearly fits twice on an SM, ptxas runs again (nearlyTwoCtas).
#include "gpu/cost_model/choose_occupancy.h"

#include "gpu/cost_model/registers.h"
#include "gpu/machine/ptx.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if an iteration loads with several instructions and has no other visible effect.
static bool loopSumsLoads(scf::ForOp loop) {
  int64_t loads = 0;
  bool others = false;
  loop.getBody()->walk([&](Operation *op) {
    bool isLoad = isa<ptx::LoadGlobalOp>(op);
    loads += isLoad;
    others |= !isLoad && !isMemoryEffectFree(op);
  });
  return loads >= minSummedLoads && !others;
}

namespace {
/// What decides about the occupancy.
struct Contents {
  bool hasMmas = false, hasWarpgroupMmas = false, sumsLoads = false;
  int64_t more = 0, fewer = 0; ///< registers of a thread after setmaxnreg, of consumers and of the producer; 0: there is none
};
} // namespace

static Contents contentsOf(tt::FuncOp kernel) {
  Contents found;
  kernel.walk([&](Operation *op) {
    found.hasWarpgroupMmas |= isa<ptx::WgmmaOp>(op);
    found.hasMmas |= isa<ptx::MmaOp, ptx::WgmmaOp, ptx::WgmmaFenceOp, ptx::WgmmaCommitOp, ptx::WgmmaWaitOp>(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) found.sumsLoads |= loopSumsLoads(loop);
    if (auto change = dyn_cast<ptx::MaxRegistersOp>(op)) (change.getIncrease() ? found.more : found.fewer) = change.getCount();
  });
  return found;
}

/// Returns the minimum number of CTAs per SM that the kernel promises (minnctapersm); 0: none.
/// - Kernels that reallocate registers between warps need a promise. Without one ptxas does not know the number of registers, and ignores
///   setmaxnreg. They promise as many CTAs as their registers allow.
/// - Warpgroup MMAs promise one CTA: their accumulators fill the registers anyway, and ptxas then schedules with all of them.
/// - Kernels that sum loads in a loop promise one CTA. Otherwise ptxas places the additions of one load before the next load, and an
///   iteration waits for memory several times.
/// - Others make no promise. With one, ptxas would use all registers for one CTA, whose loads no longer overlap with the arithmetic of
///   another.
static int64_t minCtasPerSM(const Contents &contents, int64_t threads, const GpuTarget &target) {
  if (contents.more == 0 || contents.fewer == 0) return contents.hasWarpgroupMmas || contents.sumsLoads || contents.more || contents.fewer;
  int64_t registers = (threads - threadsOfGroup) * contents.more + threadsOfGroup * contents.fewer;
  return std::max<int64_t>(1, target.registersPerSM / registers);
}

void chooseOccupancy(tt::FuncOp kernel, const GpuTarget &target) {
  auto launch = kernel->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  if (!launch || launch.getMaxRegisters() > 0) return; // the author has set the registers
  Contents contents = contentsOf(kernel);
  int64_t minCtas = minCtasPerSM(contents, launch.getThreads(), target);
  bool tryTwoCtas = minCtas == 0 && !contents.hasMmas; // MMAs fill an SM with one CTA
  kernel->setAttr(ptx::kernelName, ptx::KernelAttr::get(kernel.getContext(), launch.getThreads(), launch.getSharedBytes(),
                                                        launch.getCluster(), launch.getMaxRegisters(), minCtas, tryTwoCtas));
}

} // namespace tilewright::gpu
