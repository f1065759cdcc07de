// ptxas moves a wait for products up, above arithmetic that does not depend on it, and then nothing is computed under the products that are
// waited for. What shall be computed first goes through the wait as its last values, and this attribute says how many they are. The wait's
// assembly makes ptxas compute them first, and changes nothing else. It names a few of them, far from one another; a second attribute, on
// the wait of tiles already, asks for every one. ptxas computes in no order that one could rely on, and may leave what is not named for
// later: a sum over all of them is better than either.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

constexpr llvm::StringLiteral computedBeforeName = "ptx.computed_before";
constexpr llvm::StringLiteral everyValueName = "ptx.every_value";

} // namespace tilewright::ptx
