// The plan of a partition that issues a kernel's MMAs. plan-accumulators writes it as attributes, and place-accumulators carries it out.
#pragma once

#include "gpu/schedule/tensor_memory/chained_dots/chained_plan.h"
#include "gpu/schedule/tensor_memory/gemm/gemm_plan.h"

#include <variant>

namespace tilewright::gpu {

using MmaPartitionPlan = std::variant<AccumulationPlan, ChainPlan>;

/// Plans a partition for the MMAs of a kernel, one warp. The failure says why the first warp of the threads has to issue them.
Result<MmaPartitionPlan> planMmaPartition(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

/// Checks what the expansion relies on: an allocation that the target has, columns of their own for tiles that are in use at the same time,
/// and what row groups, parts of operands and early MMAs need (verify_mma_plan.cpp).
Result<void> verify(const MmaPartitionPlan &plan, const GpuTarget &target);

/// Writes the plan as attributes: `ttg.mma_partition` of the kernel, `ttg.early_mmas` of loops, and `ttg.mma_plan` of MMAs.
void writeMmaPlan(tt::FuncOp function, const MmaPartitionPlan &plan);
/// Reads the plan back, and removes the attributes. Reports an error if no warp of its own can issue the kernel's MMAs, if the plan is
/// another kernel's, or if it does not hold.
mlir::FailureOr<MmaPartitionPlan> takeMmaPlan(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);

} // namespace tilewright::gpu
