// Which warp issues a kernel's MMAs.
#pragma once

#include "gpu/schedule/accumulators/chain_plan.h"
#include "gpu/schedule/accumulators/mma_partition.h"

#include <variant>

namespace tilewright::gpu {

using MmaPartitionPlan = std::variant<AccumulationPlan, ChainPlan>;

/// Plans a partition for the MMAs of a kernel, one warp. The failure says why the first warp of the threads has to issue them.
Result<MmaPartitionPlan> planMmaPartition(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
