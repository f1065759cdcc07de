// Whether a kernel gets a producer warp: a table of what speaks against it. One warp group computes or stores while another multiplies:
// that is the gain, because warp groups run decoupled. If nothing is computed between MMAs, and all synchronize to store, warp
// specialization costs a little. If a second CTA fits on an SM, it already fills the gaps. docs/heuristics.md has the numbers (Decisions
// without a number).
#include "gpu/schedule/partitions/warp_specialization.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/registers.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loops/multicast.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/partitions/backward_slice.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/mma_extent.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/address/divisibility.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// A kernel, and those of its loops that load ahead.
struct Kernel {
  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  ArrayRef<LoopSchedule> loops = {};
  bool runsDecoupled = false; ///< no warp group waits for another from tile to tile

  int64_t groups() const { return config.getWarps() / warpsOfGroup; }
  bool hasClusters() const { return config.getCtas() != 1; }
  PartitionRegisters registers() const { return partitionRegisters(config.getWarps(), target, producerRegisters); }
};

//===------------------------------------------------------------------------------------------------------------- predicates

/// The author has asked for it: tl.range(..., warp_specialize=True), of any loop.
bool isAskedSomewhere(tt::FuncOp function) {
  WalkResult walk = function.walk(
      [](scf::ForOp loop) { return loop->hasAttr(tt::warpSpecializeName) ? WalkResult::interrupt() : WalkResult::advance(); });
  return walk.wasInterrupted();
}

/// The author has asked for it, of the loop or one around it.
bool isAsked(const LoopSchedule &schedule) {
  for (Operation *op = schedule.loop; op; op = op->getParentOp())
    if (op->hasAttr(tt::warpSpecializeName)) return true;
  return false;
}

/// True if nothing but the number of warps speaks for or against it.
bool isOpen(const Kernel &kernel) {
  return !kernel.hasClusters() && !isAskedSomewhere(kernel.function);
}

/// True if the author has divided the warps, by a ttg.warp_specialize.
bool hasOwnPartitions(const Kernel &kernel) {
  tt::FuncOp function = kernel.function;
  return !function.getBody().getOps<ttg::WarpSpecializeOp>().empty();
}

bool staysInFlight(const LoopSchedule &schedule) {
  return !schedule.edges.empty() && !schedule.drainsAtWait();
}

/// True if an MMA warp leaves nothing to the threads: the MMAs stay in flight, and they alone read what is copied.
bool leavesNothing(const LoopSchedule &schedule) {
  return staysInFlight(schedule) && schedule.computed.empty() &&
         llvm::all_of(schedule.circularBuffers, std::mem_fn(&CircularBuffer::onlyMmasRead));
}

/// True if threads compute between dots of the loop, or it has none of its own.
bool isChain(const LoopSchedule &schedule) {
  auto mmas = scf::ForOp(schedule.loop).getBody()->getOps<ttg::MmaAsyncOp>();
  return mmas.empty() || (std::distance(mmas.begin(), mmas.end()) > 1 && !leavesNothing(schedule));
}

/// True if only warp groups that run decoupled could make a producer pay: CTAs of a cluster share no tiles, and no MMA warp multiplies the
/// next tile while others store this one, or the next iteration's first dot while others compute.
bool needsOverlap(const Kernel &kernel) {
  bool overlapsByMmaWarp = kernel.target.tcgen05 && (llvm::all_of(kernel.loops, leavesNothing) || llvm::all_of(kernel.loops, isChain));
  return !kernel.hasClusters() && !overlapsByMmaWarp && llvm::none_of(kernel.loops, isAsked);
}

/// True if `needsOverlap`, and the warp groups do not run decoupled from tile to tile anyway.
bool needsOverlapInTile(const Kernel &kernel) {
  return needsOverlap(kernel) && !kernel.runsDecoupled;
}

bool hasTooManySums(const Kernel &kernel) {
  if (kernel.groups() == 2) return false;
  int64_t registers = registersForTiles(kernel.config, kernel.target, /*warpSpecialized=*/true);
  return llvm::any_of(kernel.loops, [&](const LoopSchedule &schedule) { return accumulatorsOf(schedule.loop) > registers; });
}

/// True if the sums of an MMA's instruction do not fit in the registers with which a CTA starts.
bool hasTooLargeMma(const Kernel &kernel) {
  int64_t warps = kernel.config.getWarps();
  auto isTooLarge = [&](ttg::MmaAsyncOp mma) {
    auto type = cast<RankedTensorType>(mma.getType());
    if (isInTensorMemory(type)) return WalkResult::advance();
    int64_t columns = Layout::wgmmaColumns(ttg::shapeOf(type), warps);
    if (!mmaExtent(mma).empty()) columns = std::min(columns, mmaExtent(mma)[1]);
    bool fits = sumsFitAtStart(columns, ttg::elementBits(type), kernel.registers());
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  };
  return llvm::any_of(kernel.loops,
                      [&](const LoopSchedule &schedule) { return scf::ForOp(schedule.loop).walk(isTooLarge).wasInterrupted(); });
}

template <typename Predicate> bool anyBuffer(const Kernel &kernel, Predicate predicate) {
  return llvm::any_of(kernel.loops, [&](const LoopSchedule &schedule) { return llvm::any_of(schedule.circularBuffers, predicate); });
}

/// Returns why a producer warp cannot compute what the copies need, if it cannot.
std::optional<std::string> obstacleToAddresses(const Kernel &kernel) {
  auto producer = BackwardSlice::ofWarp(kernel.function);
  for (const LoopSchedule &schedule : kernel.loops)
    for (const Copy &copy : schedule.copies()) {
      producer.keep(copy.load->getParentOp());
      for (Value operand : copy.load->getOperands())
        producer.need(operand);
    }
  Result<LaunchGuards> guards = producer.guardsToCompute();
  if (guards) return {};
  return "the producer warp cannot compute the addresses of the loads: " + guards.error();
}

/// True if each loop has a tile that all CTAs load.
bool shareTiles(const Kernel &kernel) {
  return llvm::all_of(kernel.loops, [&](const LoopSchedule &schedule) {
    return llvm::any_of(schedule.circularBuffers, [&](const CircularBuffer &circular) {
      return llvm::any_of(circular.copies,
                          [&](const Copy &copy) { return multicastParts(circular, copy, kernel.config, schedule.paired).has_value(); });
    });
  });
}

/// True if rows of what is copied may begin within a sector of the L2: each line of a box then is one sector more, and what a
/// SM gets from there takes longer than the MMAs.
bool mayStartWithinSector(const Copy &copy, tt::FuncOp function) {
  auto load = dyn_cast<ttg::DescriptorLoadOp>(copy.load);
  ttg::TensorMapAttr recipe = load ? ttg::tensorMapOf(load.getMap()) : ttg::TensorMapAttr();
  if (!recipe) return false;
  auto isOdd = [&](Attribute term) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(term).asArrayRef(); // a coefficient, and arguments
    int64_t elementBytes = recipe.getElement().getIntOrFloatBitWidth() / 8;
    return address::divisorOfTerm(function, numbers.front(), numbers.drop_front()) * elementBytes % sectorBytes != 0;
  };
  return llvm::any_of(recipe.getStrides(), [&](Attribute stride) { return llvm::any_of(cast<ArrayAttr>(stride), isOdd); });
}

/// True if the tiles that CTAs share arrive as fast without a producer.
bool allRowsStartAtSector(const Kernel &kernel) {
  return !anyBuffer(kernel, [&](const CircularBuffer &circular) {
    return llvm::any_of(circular.copies, [&](const Copy &copy) { return mayStartWithinSector(copy, kernel.function); });
  });
}

bool isPaired(const Kernel &kernel) {
  return llvm::any_of(kernel.loops, [](const LoopSchedule &schedule) { return schedule.paired; });
}

//===---------------------------------------------------------------------------------------------------------------- tables

/// In the reason, {0} is the GPU, {1} the registers of a consumer's thread, and {2} those of a thread at the start of a CTA.
struct Obstacle {
  bool (*applies)(const Kernel &kernel);
  const char *reason;
};

/// Obstacles that no schedule changes.
constexpr Obstacle ofKernels[] = {
    {hasOwnPartitions, "the kernel has partitions of its own"},
    {[](const Kernel &k) { return !k.target.setmaxnreg || !k.target.tma; }, "warps of {0} cannot reallocate registers between warps"},
    {[](const Kernel &k) { return k.hasClusters() && ctasMayNeedBarrier(k.function); }, "the CTAs of a program may need a barrier"},
    {[](const Kernel &k) { return k.config.getMaxRegisters() != 0; }, "maxnreg sets the number of registers"},
    {[](const Kernel &k) { return k.groups() == 0 || (k.groups() + 1) * threadsOfGroup > k.target.threadsPerBlock; },
     "it needs num_warps of 4, 8 or 16, to leave space for the producer warpgroup"},
    {[](const Kernel &k) { return isOpen(k) && k.groups() == 1 && !k.target.tcgen05; },
     "a single warpgroup has no other one to overlap with"},
    {[](const Kernel &k) { return isOpen(k) && k.groups() > 2; }, "with so many warpgroups, none gains enough registers"},
};

/// Obstacles to a producer that copies for these loops.
constexpr Obstacle ofProducers[] = {
    {[](const Kernel &k) { return contains(k.function, ProgramOrder::learnsWrites); },
     "the kernel may wait for data that another program writes"},
    {hasTooManySums, "its accumulators do not fit in {1} registers per thread"},
    {hasTooLargeMma, "the accumulators of an MMA do not fit in the {2} registers per thread at the start of a CTA"},
    {[](const Kernel &k) { return anyBuffer(k, [](const CircularBuffer &c) { return !c.tma; }); }, "a loop's tiles are not copied by TMA"},
    {[](const Kernel &k) { return anyBuffer(k, [](const CircularBuffer &c) { return !c.mmasRead && !c.holdsRows(); }); },
     "a loop's tiles are not operands of a warpgroup MMA"},
};

/// Reasons why a producer would gain nothing. A pair of CTAs needs one in any case.
constexpr Obstacle toGain[] = {
    {[](const Kernel &k) { return k.hasClusters() && !shareTiles(k); }, "the program has several CTAs, and they have no tile in common"},
    {[](const Kernel &k) { return k.hasClusters() && llvm::none_of(k.loops, isAsked) && allRowsStartAtSector(k); },
     "the program has several CTAs, and all rows start at an L2 sector"},
    {[](const Kernel &k) { return needsOverlap(k) && k.groups() == 1; }, "a single warpgroup has no other one to overlap with"},
    {[](const Kernel &k) { return needsOverlapInTile(k) && llvm::all_of(k.loops, staysInFlight); },
     "there is no computation between the dots to overlap with"},
    {[](const Kernel &k) {
       return needsOverlapInTile(k) &&
              llvm::none_of(k.loops, [&](const LoopSchedule &schedule) { return limitsToOneCtaPerSM(schedule.loop, k.config, k.target); });
     },
     "a second CTA fits on the SM, and uses the tensor cores while this one computes"},
};

std::optional<std::string> firstOf(ArrayRef<Obstacle> obstacles, const Kernel &kernel) {
  const Obstacle *found = llvm::find_if(obstacles, [&](const Obstacle &obstacle) { return obstacle.applies(kernel); });
  if (found == obstacles.end()) return {};
  PartitionRegisters registers = kernel.registers();
  return llvm::formatv(/*Validate=*/false, found->reason, kernel.target.name, registers.consumer, registers.atStart).str();
}

} // namespace

std::optional<std::string> warpSpecializationObstacle(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  return firstOf(ofKernels, {function, config, target});
}

std::optional<std::string> warpSpecializationObstacle(ArrayRef<LoopSchedule> loops, bool runsDecoupled, ttg::ConfigAttr config,
                                                      const GpuTarget &target) {
  if (loops.empty()) return "no loop has a pipelined load";
  Kernel kernel{scf::ForOp(loops.front().loop)->getParentOfType<tt::FuncOp>(), config, target, loops, runsDecoupled};
  for (ArrayRef<Obstacle> obstacles : {ArrayRef(ofKernels), ArrayRef(ofProducers)})
    if (std::optional<std::string> reason = firstOf(obstacles, kernel)) return reason;
  if (std::optional<std::string> reason = obstacleToAddresses(kernel)) return reason;
  return isPaired(kernel) ? std::nullopt : firstOf(toGain, kernel);
}

} // namespace tilewright::gpu
