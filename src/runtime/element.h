// One element of a tensor as a number of the host.
#pragma once

#include "evaluate/types.h"

namespace tilewright {

/// Converts through double: exact for all types but 64-bit integers beyond 2^53.
double loadElement(Scalar type, const void *element);
/// Rounds to the nearest value of the type. Integers are truncated.
void storeElement(Scalar type, void *element, double value);

} // namespace tilewright
