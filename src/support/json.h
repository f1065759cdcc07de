// JSON that may come from anywhere.
#pragma once

#include "support/result.h"

#include "llvm/Support/JSON.h"

namespace tilewright {

/// llvm::json::parse calls itself for each level of nesting: text that is nested more deeply than any file of ours is a failure here, and
/// so is text that is no JSON.
Result<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace tilewright
