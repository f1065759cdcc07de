// What operations cost: each function sets the unit, the issue slots, the occupancy and the latency of a node.
#pragma once

#include "gpu/sm_model/code.h"

namespace tilewright::gpu::model {

/// Sets the costs of an operation of any dialect. `fusesMultiplyAdd`: a * b + c is one instruction.
void setCosts(Node &node, const SmRates &rates, bool fusesMultiplyAdd);

/// Returns the bytes of one value of each type; a bool takes one.
int64_t bytesOf(mlir::TypeRange types);

/// Of the operations in operations.def. `free`: part of another instruction, or of none. `instruction`: an issue slot, and no unit.
namespace costs {
using Costs = void(Node &node, const SmRates &rates);
Costs free, instruction, integer, floatArithmetic, special, fastDivision, pack, exchange;
Costs loadGlobal, loadShared, storeShared, loadMatrices, storeMatrices, loadResponse;
Costs mma, wgmma, tcgen05Mma, copyToTensorMemory, loadTensorMemory, storeTensorMemory;
} // namespace costs

} // namespace tilewright::gpu::model
