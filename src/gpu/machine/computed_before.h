// ptxas moves a wait for products up, above arithmetic that does not depend on it, and then nothing is computed under the products that are
// waited for. What shall be computed first goes through the wait as its last values, and this attribute says how many they are. The wait's
// assembly makes ptxas compute them first, and changes nothing else. Where ptxas computes in the order of the program, the last two values
// stand for all; where it does not, a second attribute, on the wait of tiles already, asks for every one.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

constexpr llvm::StringLiteral computedBeforeName = "ptx.computed_before";
constexpr llvm::StringLiteral everyValueName = "ptx.every_value";

} // namespace tilewright::ptx
