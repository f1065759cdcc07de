// ptxas moves a wait for products up, above arithmetic that does not depend on it, and then nothing is computed under the products that are
// waited for. What shall be computed first goes through the wait as its last values, and this attribute says how many they are. The wait's
// assembly makes ptxas compute them first, and changes nothing else.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

constexpr llvm::StringLiteral computedBeforeName = "ptx.computed_before";

} // namespace tilewright::ptx
