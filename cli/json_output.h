// With --json, the standard output is exactly one JSON value, even after a mistake. Text, and the output of kernels, goes to the standard
// error.
//   tilewright run nowhere.py --json
//     {"diagnostics":[{"name":"fileNotFound", ...}],"error":"cannot read 'nowhere.py': No such file or directory"}
#pragma once

#include "support/diagnostics.h"

#include "llvm/Support/JSON.h"

namespace tilewright {

/// From here on the standard output takes JSON alone.
void beginJson();
/// Restores the standard output, for a program that replaces this one.
void releaseOutput();

/// Adds an error, or diagnostics of the compiler, to the object. Does nothing without --json.
void noteError(const std::string &text);
void noteDiagnostics(const Diagnostics &diagnostics);

/// The results, and the error if there was one.
void printJson(llvm::json::Value results);
/// Ends a command: if it failed without results, the error alone is printed. False if a write failed.
bool endJson(int status);

} // namespace tilewright
