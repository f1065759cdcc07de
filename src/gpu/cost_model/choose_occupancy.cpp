// Chooses the occupancy of a kernel from its partitions, or else from the instructions of one thread:
//     ptx.kernel = #ptx.kernel<threads = 128, sharedBytes = 65536>                   and ptx.wgmma
// becomes
//     ptx.kernel = #ptx.kernel<threads = 128, sharedBytes = 65536, minCtas = 1>
// A kernel without MMAs and without a promise gets `tryMoreCtas`: if one more CTA nearly fits on an SM, ptxas runs again.
#include "gpu/cost_model/choose_occupancy.h"

#include "gpu/cost_model/registers.h"
#include "gpu/machine/ptx.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <algorithm>

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
};
} // namespace

static Contents contentsOf(tt::FuncOp kernel) {
  Contents found;
  kernel.walk([&](Operation *op) {
    found.hasWarpgroupMmas |= isa<ptx::WgmmaOp>(op);
    found.hasMmas |=
        isa<ptx::MmaOp, ptx::ScaledMmaOp, ptx::WgmmaOp, ptx::WgmmaFenceOp, ptx::WgmmaCommitOp, ptx::WgmmaWaitOp, ptx::Tcgen05MmaOp>(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) found.sumsLoads |= loopSumsLoads(loop);
  });
  return found;
}

int64_t minCtasWithPartitions(ttg::WarpSpecializeOp partitions, ttg::ConfigAttr config, const GpuTarget &target, int64_t sharedBytes) {
  SmallVector<int64_t> kept = partitions.registersOfGroups();
  if (kept.empty() || config.getMaxRegisters() > 0) return 0;
  return partitionRegisters(config.getWarps(), target, kept, sharedBytes).ctas;
}

/// Returns the minimum number of CTAs per SM that a kernel without partitions promises (minnctapersm); 0: none.
/// - Warpgroup MMAs promise one CTA: their accumulators fill the registers anyway, and ptxas then schedules with all of them.
/// - Kernels that sum loads in a loop promise one CTA. Otherwise ptxas places the additions of one load before the next load, and an
///   iteration waits for memory several times.
/// - Others make no promise. With one, ptxas would use all registers for one CTA, whose loads no longer overlap with the arithmetic of
///   another.
static int64_t minCtasOf(const Contents &contents) {
  return contents.hasWarpgroupMmas || contents.sumsLoads;
}

void chooseOccupancy(tt::FuncOp kernel) {
  auto launch = kernel->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  // The author has set the registers, or lower-to-threads those of partitions.
  if (!launch || launch.getMaxRegisters() > 0 || launch.getMinCtas() > 0) return;
  Contents contents = contentsOf(kernel);
  int64_t minCtas = minCtasOf(contents);
  bool tryMoreCtas = minCtas == 0 && !contents.hasMmas; // MMAs fill an SM with one CTA
  kernel->setAttr(ptx::kernelName,
                  ptx::KernelAttr::get(kernel.getContext(), launch.getThreads(), launch.getSharedBytes(), launch.getCluster(),
                                       launch.getMaxRegisters(), minCtas, tryMoreCtas, launch.getPairConversions()));
}

int64_t ctasThatNearlyFit(const CtaResources &cta, const GpuTarget &target) {
  int64_t ctas = 2; // the fewest whose registers do not fit
  while (ctas <= maxCtasOfSecondRun && cta.registersPerThread <= registersForOccupancy(ctas, cta.threads, target))
    ++ctas;
  bool roomForThreads = ctas * cta.threads <= target.threadsPerSM;
  bool roomInShared = ctasByShared(cta.sharedBytes, target) >= ctas;
  int64_t fewer = cta.registersPerThread * (registersPerTakenOne - 1) / registersPerTakenOne;
  bool nearlyFit = fewer <= registersForOccupancy(ctas, cta.threads, target);
  return ctas <= maxCtasOfSecondRun && roomForThreads && roomInShared && nearlyFit ? ctas : 0;
}

bool suitsMoreCtas(const KernelMemory &before, const KernelMemory &after) {
  return after.spillBytes == 0 && after.localBytes <= before.localBytes;
}

} // namespace tilewright::gpu
