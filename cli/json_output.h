// What --json promises: exactly one JSON value on the standard output, even after a
// mistake. Text for people, and what kernels print, goes to the standard error meanwhile.
//   tilewright run nowhere.py --json
//     {"diagnostics":[{"name":"fileNotFound", ...}],"error":"cannot read 'nowhere.py': No such file or directory"}
#pragma once

#include "support/diagnostics.h"

#include "llvm/Support/JSON.h"

namespace tilewright {

/// From here on the standard output takes JSON alone.
void beginJson();
/// Gives the standard output back, for a program that replaces this one.
void releaseOutput();

/// An error, or records of the compiler, for the object to report. Does nothing unless JSON was asked for.
void noteError(const std::string &text);
void noteDiagnostics(const Diagnostics &diagnostics);

/// The results, and the error if there was one.
void printJson(llvm::json::Value results);
/// Ends a command: if it failed without results, the error alone is printed. False if the output did not take everything.
bool endJson(int status);

} // namespace tilewright
