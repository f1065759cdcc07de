// What operations cost: each function sets the unit, the issue slots, the occupancy and the latency of a node.
#pragma once

#include "gpu/sm_model/code.h"

namespace tilewright::gpu::model {

/// Sets the costs of an operation of any dialect. `fusesMultiplyAdd`: a * b + c is one instruction.
void setCosts(Node &node, const SmRates &rates, bool fusesMultiplyAdd);

/// Returns the bytes of one value of each type; a bool takes one.
int64_t bytesOf(mlir::TypeRange types);

/// Of the operations in operations.def.
namespace costs {
void free(Node &node, const SmRates &rates);        ///< part of another instruction, or of none
void instruction(Node &node, const SmRates &rates); ///< an issue slot, and no unit
void integer(Node &node, const SmRates &rates);
void floatArithmetic(Node &node, const SmRates &rates);
void special(Node &node, const SmRates &rates);
void fastDivision(Node &node, const SmRates &rates);
void pack(Node &node, const SmRates &rates);
void exchange(Node &node, const SmRates &rates);
void loadGlobal(Node &node, const SmRates &rates);
void loadShared(Node &node, const SmRates &rates);
void storeShared(Node &node, const SmRates &rates);
void loadMatrices(Node &node, const SmRates &rates);
void storeMatrices(Node &node, const SmRates &rates);
void loadResponse(Node &node, const SmRates &rates);
void mma(Node &node, const SmRates &rates);
void wgmma(Node &node, const SmRates &rates);
void tcgen05Mma(Node &node, const SmRates &rates);
void copyToTensorMemory(Node &node, const SmRates &rates);
void loadTensorMemory(Node &node, const SmRates &rates);
void storeTensorMemory(Node &node, const SmRates &rates);
} // namespace costs

} // namespace tilewright::gpu::model
