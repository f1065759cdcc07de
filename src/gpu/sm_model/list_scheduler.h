// The order of operations between two barriers or waits, as the assembler chooses it.
#pragma once

#include "gpu/sm_model/code.h"

namespace tilewright::gpu::model {

/// Orders the operations of a body, and of those nested in it.
void orderAsAssembler(Body &body);

} // namespace tilewright::gpu::model
