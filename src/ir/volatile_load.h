// Loads of memory that other programs may store to meanwhile. Two loads of one address may return different values there.
#pragma once

#include "ir/tt.h"

namespace tilewright::tt {

/// Whether the load is volatile, or says that no cache may answer it. Such a load is never merged, moved or repeated.
bool isVolatileLoad(LoadOp load);

/// Whether two loads of one address, made by two threads, may return different values: the load is volatile, or it is repeated in a
/// `while` loop and the kernel stores to its memory. The program must load each element once.
bool mayChangeMeanwhile(LoadOp load);

} // namespace tilewright::tt
