// Loads of memory that others may store to meanwhile: each is made where it stands, as often as the program says.
#pragma once

#include "cpu/emit.h"
#include "ir/tt.h"

namespace tilewright::cpu {

/// Whether the load is volatile, or says that no cache may answer it.
bool isMadeAnew(tt::LoadOp load);
/// No access to memory is moved across this place by LLVM, or left out because of one on its other side. It is no instruction.
void holdOrder(ImplicitLocOpBuilder &b);

} // namespace tilewright::cpu
