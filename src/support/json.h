// Parses JSON from untrusted sources.
#pragma once

#include "support/result.h"

#include "llvm/Support/JSON.h"

namespace tilewright {

/// Parses JSON. Fails for invalid JSON and for deep nesting, because llvm::json::parse is recursive.
Result<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace tilewright
