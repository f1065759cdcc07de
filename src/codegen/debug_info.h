// Debug information: where in the kernel's file an instruction comes from. With TILEWRIGHT_DEBUG_INFO=1
//
//     gdb           break kernel.py:12, backtraces and steps by lines of the kernel: objects carry DWARF line tables, and are registered by
//                   GDB's interface for JIT compilers
//     perf report   add_kernel in place of [JIT] tid 31249: /tmp/perf-PID.map names what has been loaded
//     Nsight, SASS  .file and .loc in PTX, and ptxas -lineinfo
//
// Without it code does not know its lines, so that a kernel which only moves in its file is found in the cache; with it the place of the
// kernel is part of the key. No instruction differs. TRITON_DISABLE_LINE_INFO=1, upstream's variable, turns it off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

bool debugInfoIsOn();

/// Where a section of an object has been loaded.
struct LoadedSection {
  std::string name;
  uint64_t address = 0;
};
/// A function of an object.
struct LoadedFunction {
  std::string name;
  uint64_t begin = 0, end = 0;
};

/// Debuggers know an object as long as this lives.
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
