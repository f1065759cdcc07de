// How code for a processor makes a load where it stands (ir/volatile_load.h).
#pragma once

#include "cpu/emit.h"
#include "ir/volatile_load.h"

namespace tilewright::cpu {

/// No access to memory is moved across this place by LLVM, or left out because of one on its other side. It is no instruction.
void holdOrder(ImplicitLocOpBuilder &b);

/// Whether neither the operation nor anything in it changes memory, waits for another program, or has a load that is made anew.
bool onlyReads(mlir::Operation *op);

} // namespace tilewright::cpu
