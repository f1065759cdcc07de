// The table of libdevice's functions (libdevice.def), and those that are written in the language (libdevice.py).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace tilewright {

struct JitFunction;

/// A row of libdevice.def.
struct LibraryOverload {
  llvm::StringRef name, result, parameters, symbol, definition;
};
llvm::ArrayRef<LibraryOverload> libraryOverloads();

/// The text of libdevice.py and special_functions.py, one module.
llvm::StringRef libdeviceSource();
/// Its function of this name; null if there is none.
std::shared_ptr<const JitFunction> libdeviceFunction(llvm::StringRef name);

} // namespace tilewright
