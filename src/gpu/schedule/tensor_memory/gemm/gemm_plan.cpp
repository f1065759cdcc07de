#include "gpu/schedule/tensor_memory/gemm/gemm_plan.h"

#include "gpu/ttg/buffer_accesses.h"
#include "ir/slice.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

bool multipliesInPairs(tt::FuncOp function) {
  return function.walk([](ttg::MmaAsyncOp mma) { return mma.getPaired() ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

Value stageIndexOf(ttg::MmaAsyncOp mma) {
  Value index;
  for (Value buffer : mma.buffers()) {
    ttg::StageOp stage = stageOf(buffer);
    if (!stage || (index && index != stage.getIndex())) return {};
    index = stage.getIndex();
  }
  return index;
}

TensorTile sumTileOf(RankedTensorType sum, int64_t depth, bool paired) {
  Dims shape = ttg::shapeOf(sum);
  // Of a pair, 64 rows take all lanes: the second half of the columns is in the later ones (layout B).
  if (paired && shape[0] < tensorMemoryLanes) shape = {2 * shape[0], shape[1] / 2};
  return tensorTileOf(RankedTensorType::get(shape, sum.getElementType()), depth);
}

/// Fails if the loop has other effects than its MMAs, or needs a sum in registers.
static Result<void> checkLoop(scf::ForOp loop, const TensorAccumulators &sums) {
  for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (sums.contains(argument) && !tt::isZeros(init)) return Failure{"a sum starts from other numbers than zeros"};
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto wait = dyn_cast<ttg::BarrierWaitOp>(op);
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
    auto mma = dyn_cast<ttg::MmaAsyncOp>(op);
    bool isOfFirstWarp = (wait && wait.getFirstWarp()) || (arrive && arrive.getFirstWarp());
    bool isKnown = isOfFirstWarp || mma || isa<ttg::MmaAsyncWaitOp>(op) || ttg::partitionOf(&op) == ttg::Partition::producer;
    if (!isKnown && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))) return Failure{"threads compute between the dots of a loop"};
    if (mma && sums.isSumRead(mma)) return Failure{"threads read a sum in the loop that adds to it"};
  }
  return {};
}

Result<AccumulationPlan> findAccumulation(tt::FuncOp function, ttg::ConfigAttr config) {
  TensorAccumulators sums(function);
  AccumulationPlan plan;
  plan.paired = multipliesInPairs(function);
  if (config.getCtas() != (plan.paired ? 2 : 1)) return Failure{"the CTAs of the cluster do not multiply together"};
  bool all = true;
  function.walk([&](ttg::MmaAsyncOp mma) {
    BlockArgument sum = sums.sumOf(mma);
    all &= sum && !mma.getUseC() && isa<ttg::BufferType>(mma.getA().getType()) && stageIndexOf(mma) && mma.getPaired() == plan.paired;
    if (!all) return;
    AccumulationLoop &loop = plan.loops[mma->getParentOp()];
    if (!loop.mmas.empty()) all &= stageIndexOf(mma) == stageIndexOf(loop.mmas.front().first);
    loop.mmas.emplace_back(mma, numberOf(sum));
    loop.sums[numberOf(sum)] = {};
    loop.scales.columns = std::max(loop.scales.columns, scaleColumnsOf(mma));
  });
  if (!all) return Failure{"a dot does more than to accumulate copied operands in a loop"};
  for (auto &[loop, its] : plan.loops)
    if (Result<void> checked = checkLoop(cast<scf::ForOp>(loop), sums); !checked) return Failure{checked.error()};
  return plan;
}

/// Places up to `depth` tiles of each sum, and after these the scales.
static void placeTiles(AccumulationPlan &plan, int64_t depth) {
  TensorColumns columns;
  for (auto &[op, its] : plan.loops) {
    auto loop = cast<scf::ForOp>(op);
    int64_t tiles = isa<tt::FuncOp>(loop->getParentOp()) ? 1 : depth; // it runs once
    for (auto &[number, tile] : its.sums) {
      tile = sumTileOf(cast<RankedTensorType>(loop.getResult(number).getType()), tiles, plan.paired);
      columns.take(tile);
    }
  }
  for (auto &[op, its] : plan.loops)
    columns.take(its.scales);
  plan.columns = columns.allocated();
}

Result<AccumulationPlan> planAccumulation(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  Result<AccumulationPlan> plan = findAccumulation(function, config);
  if (!plan) return plan;
  placeTiles(*plan, /*depth=*/2);
  if (plan->columns > target.tensorColumns) placeTiles(*plan, /*depth=*/1);
  if (plan->columns > target.tensorColumns) return Failure{"the sums do not fit in tensor memory"};
  return plan;
}

} // namespace tilewright::gpu
