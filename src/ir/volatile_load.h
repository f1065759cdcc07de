// Loads of memory to which other programs may store at the same time. Two loads of one address may return different values.
#pragma once

#include "ir/tt.h"

namespace tilewright::tt {

/// True if the load is volatile or has the cache modifier cv. Such a load is never merged, moved or repeated.
bool isVolatileLoad(LoadOp load);

/// True if loads of one address by two threads may return different values. The program must then load each element once. Such a load is
/// volatile, or a `while` loop repeats it and the kernel stores to its memory. Each thread makes the loads of a mapped function's elements.
bool mayChangeMeanwhile(LoadOp load);

} // namespace tilewright::tt
