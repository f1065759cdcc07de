// How code for a processor makes a load where it stands (ir/made_anew.h).
#pragma once

#include "cpu/emit.h"
#include "ir/made_anew.h"

namespace tilewright::cpu {

/// No access to memory is moved across this place by LLVM, or left out because of one on its other side. It is no instruction.
void holdOrder(ImplicitLocOpBuilder &b);

} // namespace tilewright::cpu
