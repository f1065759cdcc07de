// What the expansion of a plan relies on. takeMmaPlan has found in the loops themselves what threads compute and what is copied.
#include "gpu/schedule/tensor_memory/mma_plan.h"

#include "support/gpu_hardware.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The columns that are in use at the same time.
class ColumnsInUse {
public:
  void add(int64_t first, int64_t count) { spans.push_back({first, count}); }
  void add(const TensorTile &tile) { add(tile.column, tile.columns()); }

  Result<void> verify(int64_t allocated) {
    llvm::sort(spans);
    int64_t end = 0;
    for (auto [first, count] : spans) {
      if (first < 0 || first > allocated || count > allocated - first) return Failure{"a tile is outside of the allocation"};
      if (first < end) return Failure{"two tiles have the same columns"};
      end = first + count;
    }
    return {};
  }

private:
  SmallVector<std::pair<int64_t, int64_t>> spans;
};

Result<void> verifyAllocation(int64_t columns, const GpuTarget &target) {
  bool exists = columns >= minTensorColumns && columns <= target.tensorColumns && llvm::isPowerOf2_64(static_cast<uint64_t>(columns));
  return exists ? Result<void>() : Failure{"tensor memory has no allocation of so many columns"};
}

/// All loops have columns of their own: a warp may multiply in one loop while others load the sums of another one.
Result<void> verify(const AccumulationPlan &plan) {
  ColumnsInUse columns;
  for (const auto &[loop, its] : plan.loops) {
    for (const auto &[number, sum] : its.sums) {
      if (sum.depth != 1 && sum.depth != 2) return Failure{"a sum has one or two tiles"};
      if (sum.depth != its.depth()) return Failure{"the sums of a loop have different numbers of tiles"};
      columns.add(sum);
    }
    if (its.scales) columns.add(its.scales.first, setsOfScales * its.scales.columns);
  }
  return columns.verify(plan.columns);
}

class ChainVerifier {
public:
  ChainVerifier(const ChainPlan &plan, const ChainLoop &its) : plan(plan), its(its) {}

  Result<void> run() {
    if (its.earlyMmas == ttg::EarlyMmas::interleaved && plan.rowGroups == 1)
      return Failure{"early MMAs are interleaved, but not of row groups"};
    for (const ChainedMma &mma : its.mmas) {
      bool isPrefetched = mma.isEarly() && its.earlyMmas == ttg::EarlyMmas::prefetched;
      if (mma.result.depth != (isPrefetched ? 2 : 1))
        return Failure{"results of early MMAs that run an iteration ahead have two tiles, others one"};
      columns.add(mma.result);
      if (mma.late())
        if (Result<void> valid = verifyLate(mma, *mma.late()); !valid) return valid;
    }
    return columns.verify(plan.columns);
  }

private:
  Result<void> verifyLate(const ChainedMma &mma, const LateMma &late) {
    if (late.operand)
      if (Result<void> valid = verifyOperand(mma, *late.operand); !valid) return valid;
    if (!late.isCorrected()) return {};
    const auto &sum = std::get<RescaledSum>(late.sum);
    size_t buffer = *sum.factorBuffer;
    if (!corrected.insert(buffer).second) return Failure{"two sums of a loop have their factors in one buffer"};
    bool fits = sum.factors && buffer < plan.factorBuffers.size() && plan.factorBuffers[buffer] == factorBufferOf(sum.factors);
    return fits ? Result<void>() : Failure{"the buffer of a sum's factors has another type"};
  }

  Result<void> verifyOperand(const ChainedMma &mma, const TensorOperand &operand) {
    RankedTensorType type = mma.operandInRegisters();
    auto isWhole = [&](int32_t end) { return end % partStepOf(type) == 0; };
    bool isInterleaved = its.earlyMmas == ttg::EarlyMmas::interleaved, inParts = operand.partEnds.size() > 1;
    if (operand.partEnds.empty() || operand.partEnds.back() != type.getDimSize(1))
      return Failure{"the parts of an operand are not all of it"};
    if (inParts && !(isInterleaved && llvm::all_of(operand.partEnds, isWhole))) return Failure{"an operand cannot be stored in such parts"};
    if (operand.pingPong && !isInterleaved) return Failure{"row groups take turns, but their MMAs do not"};
    if (operand.sharesColumns) return verifyShared(mma, operand);
    if (operand.tile.depth != 1) return Failure{"an operand in columns of its own has several tiles"};
    columns.add(operand.tile);
    return {};
  }

  /// The operand takes the columns of a result that its threads have loaded before: a warp stores to the rows that it has loaded.
  Result<void> verifyShared(const ChainedMma &mma, const TensorOperand &operand) {
    auto isShared = [&](const ChainedMma &each) { return each.isEarly() && each.result.column == operand.tile.column; };
    const auto *shared = llvm::find_if(its.mmas, isShared);
    if (shared == its.mmas.end()) return Failure{"an operand is in the columns of no result"};
    bool isLoaded = ttg::MmaAsyncWaitOp(std::get<EarlyMma>(shared->kind).wait)->isBeforeInBlock(mma.op);
    bool fits = operand.tile.depth == shared->result.depth && operand.tile.type.columns() <= shared->result.type.columns();
    bool hasRows =
        plan.rowGroups * warpsOfGroup == plan.warps && mma.operandInRegisters().getDimSize(0) == shared->resultType().getDimSize(0);
    if (!isLoaded || !fits || !hasRows || !sharing.insert(shared).second) return Failure{"an operand cannot have the columns of a result"};
    return {};
  }

  const ChainPlan &plan;
  const ChainLoop &its;
  ColumnsInUse columns;
  llvm::SmallDenseSet<size_t> corrected;
  llvm::SmallPtrSet<const ChainedMma *, 4> sharing; ///< early MMAs in whose columns an operand is
};

Result<void> verify(const ChainPlan &plan) {
  if (plan.rowGroups != 1 && !(plan.rowGroups * warpsOfGroup == plan.warps && plan.haveRowGroups(plan.rowGroups)))
    return Failure{"the warp groups have no rows of their own"};
  for (const auto &[loop, its] : plan.loops)
    if (Result<void> valid = ChainVerifier(plan, its).run(); !valid) return valid;
  return {};
}

} // namespace

Result<void> verify(const MmaPartitionPlan &plan, const GpuTarget &target) {
  return std::visit(
      [&](const auto &each) {
        Result<void> exists = verifyAllocation(each.columns, target);
        return exists ? verify(each) : exists;
      },
      plan);
}

} // namespace tilewright::gpu
