// ptxas moves a wait for products up, above arithmetic that does not depend on it, and then nothing is computed while
// those products run. What should be computed first passes through the wait as its last values, and this attribute says
// how many they are. The wait's assembly makes ptxas compute them first, and changes nothing else. It names a few of them,
// far from one another; a second attribute, which the wait on tiles already has, asks for every one. The order in which
// ptxas computes is unpredictable, and it may postpone what is not named: a sum over all of them works better than either.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

constexpr llvm::StringLiteral computeBeforeWaitName = "ptx.compute_before_wait";
constexpr llvm::StringLiteral nameEveryValueName = "ptx.name_every_value";

} // namespace tilewright::ptx
