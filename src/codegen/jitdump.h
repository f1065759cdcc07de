// A jitdump lets perf annotate code that was generated at run time, with its lines. `perf record -k mono` records that the process maps
// ~/.debug/jit/jit-PID.dump (or one in JITDUMPDIR). `perf inject --jit` makes an object file of each function in it:
//
//     TILEWRIGHT_DEBUG_INFO=1 perf record -k mono -o a.data python script.py
//     perf inject --jit -i a.data -o b.data && perf annotate -i b.data
#pragma once

#include "codegen/debug_info.h"

namespace tilewright {

/// Appends the code of an object's loaded functions, with their lines. Data that cannot be written is omitted.
void appendToJitDump(const std::string &object, const std::vector<LoadedSection> &sections, const std::vector<LoadedFunction> &functions);

} // namespace tilewright
