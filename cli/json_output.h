// What --json promises: one JSON value on the standard output, after a mistake as well. What people read, and what kernels print, goes to
// the standard error meanwhile.
//   tilewright run nowhere.py --json
//     {"diagnostics":[{"name":"fileNotFound", ...}],"error":"cannot read 'nowhere.py': No such file or directory"}
#pragma once

#include "support/diagnostics.h"

#include "llvm/Support/JSON.h"

namespace tilewright {

/// From here on the standard output takes JSON alone.
void beginJson();
/// Gives the standard output back, for a program that takes this one's place.
void releaseOutput();

/// An error, or records of the compiler, that the object will tell. Nothing where nobody asked for JSON.
void noteError(const std::string &text);
void noteDiagnostics(const Diagnostics &diagnostics);

/// The results, and the error if there was one.
void printJson(llvm::json::Value results);
/// Ends a command: where it failed without results, the error alone is printed. False if the output did not take all of it.
bool endJson(int status);

} // namespace tilewright
