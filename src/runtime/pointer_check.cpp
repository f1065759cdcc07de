#include "runtime/pointer_check.h"

#include "support/memory_map.h"

#include "llvm/ADT/StringExtras.h"

namespace tilewright {

namespace {

class PointerCheck {
public:
  PointerCheck(llvm::StringRef kernel, llvm::ArrayRef<std::string> names, const std::vector<bool> &writes, const MemoryMap &map,
               Diagnostics &diagnostics)
      : kernel(kernel), names(names), writes(writes), map(map), diagnostics(diagnostics) {}

  bool visit(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments) {
    for (size_t i = 0; i < specs.size() && i < arguments.size(); ++i) {
      if (specs[i].constant) continue;
      if (!specs[i].members.empty()) {
        if (!visit(specs[i].members, arguments[i].members())) return false;
        continue;
      }
      if (!look(arguments[i])) return false;
      slot += 1 + arguments[i].shape().size() + arguments[i].strides().size();
    }
    return true;
  }

private:
  bool look(const Argument &argument) {
    bool isTensor = argument.isPointer() || argument.kind() == Argument::Kind::descriptor;
    if (!isTensor || argument.device() >= 0) return true;
    auto first = reinterpret_cast<uint64_t>(argument.address());
    auto reach = argument.reach().value_or(std::pair(first, first + static_cast<uint64_t>(byteSize(argument.element()))));
    if (reach.first == reach.second) return true;
    std::string problem = argument.address() ? map.problemOf(reach.first, reach.second, isWritten()) : "it is null";
    if (problem.empty()) return true;
    std::string name = slot < names.size() ? llvm::StringRef(names[slot]).split('=').first.str() : std::to_string(slot);
    Diagnostic &error = diagnostics.error({}, Diag::absentMemory, {kernel.str(), name});
    error.message = "kernel '" + kernel.str() + "' cannot use '" + name + "': " + problem;
    error.hint = "pass a pointer to memory that has the size of the argument and lives as long as the launch";
    return false;
  }
  bool isWritten() const { return slot < writes.size() && writes[slot]; }

  llvm::StringRef kernel;
  llvm::ArrayRef<std::string> names;
  const std::vector<bool> &writes;
  const MemoryMap &map;
  Diagnostics &diagnostics;
  size_t slot = 0;
};

} // namespace

bool checkPointers(llvm::StringRef kernel, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                   llvm::ArrayRef<std::string> slotNames, const std::vector<bool> &writes, Diagnostics &diagnostics) {
  std::optional<MemoryMap> map = MemoryMap::ofProcess();
  if (map) return PointerCheck(kernel, slotNames, writes, *map, diagnostics).visit(specs, arguments);
  diagnostics.error({}, Diag::invalidOption, {"pointers cannot be checked: the system does not list the mappings", "mount /proc"});
  return false;
}

} // namespace tilewright
