// Debug information: the line of the kernel's file that an instruction comes from. With TILEWRIGHT_DEBUG_INFO=1
//
//     gdb           break kernel.py:12, backtraces, stepping by lines of the kernel: objects have DWARF line tables, and are
//                   registered through GDB's interface for JIT compilers
//     perf report   add_kernel instead of [JIT] tid 31249: /tmp/perf-PID.map names the loaded functions
//     Nsight, SASS  .file and .loc in PTX, and ptxas -lineinfo
//
// Without it, code has no line numbers, so a kernel that only moves within its file is found in the cache. With it, the kernel's location
// is part of the cache key. No instruction differs. Upstream's variable TRITON_DISABLE_LINE_INFO=1 turns it off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

bool debugInfoIsOn();

/// The address at which a section of an object has been loaded.
struct LoadedSection {
  std::string name;
  uint64_t address = 0;
};
/// A function of an object.
struct LoadedFunction {
  std::string name;
  uint64_t begin = 0, end = 0;
};

/// Registers an object with debuggers during its lifetime.
class DebuggedObject {
public:
  DebuggedObject(const std::string &object, const std::vector<LoadedSection> &sections, const std::vector<LoadedFunction> &functions);
  ~DebuggedObject();
  DebuggedObject(const DebuggedObject &) = delete;
  DebuggedObject &operator=(const DebuggedObject &) = delete;

private:
  struct Entry;
  std::unique_ptr<Entry> entry;
};

} // namespace tilewright
