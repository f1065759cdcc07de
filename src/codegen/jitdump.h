// A jitdump: what perf needs to annotate code that was made at run time, and to name its lines. `perf record -k mono` sees that the process
// maps /tmp/jit-PID.dump (or one in JITDUMPDIR), and `perf inject --jit` makes an object file of each function in it:
//
//     TILEWRIGHT_DEBUG_INFO=1 perf record -k mono -o a.data python script.py
//     perf inject --jit -i a.data -o b.data && perf annotate -i b.data
#pragma once

#include "codegen/debug_info.h"

namespace tilewright {

/// Appends the code of an object's functions, which is in memory by now, with their lines. What cannot be written is omitted.
void appendToJitDump(const std::string &object, const std::vector<LoadedSection> &sections, const std::vector<LoadedFunction> &functions);

} // namespace tilewright
