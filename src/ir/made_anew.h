// Loads of memory that others may store to meanwhile: each is made where it stands, as often as the program says.
#pragma once

#include "ir/tt.h"

namespace tilewright::tt {

/// Whether the load is volatile, or says that no cache may answer it.
bool isMadeAnew(LoadOp load);

} // namespace tilewright::tt
