#include "runtime/pointer_check.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdio>
#include <optional>

namespace tilewright {

namespace {

struct Mapping {
  uint64_t begin, end;
  bool readable, writable;
};

/// Returns the mappings of this process in order of address; nothing if the system does not list them.
std::optional<std::vector<Mapping>> mappingsOfProcess() {
  std::FILE *file = std::fopen("/proc/self/maps", "re");
  if (!file) return std::nullopt;
  std::vector<Mapping> all;
  char line[512], permissions[8];
  bool isStart = true; // a path may be longer than the buffer
  while (std::fgets(line, sizeof line, file)) {
    unsigned long begin = 0, end = 0;
    if (isStart && std::sscanf(line, "%lx-%lx %7s", &begin, &end, permissions) == 3)
      all.push_back({begin, end, permissions[0] == 'r', permissions[1] == 'w'});
    isStart = llvm::StringRef(line).ends_with("\n");
  }
  std::fclose(file);
  return all;
}

/// Returns what is wrong with the memory [begin, end), or an empty text.
std::string problemOf(llvm::ArrayRef<Mapping> mappings, uint64_t begin, uint64_t end, bool isWritten) {
  const Mapping *mapping = llvm::find_if(mappings, [&](const Mapping &each) { return begin < each.end; });
  for (uint64_t at = begin; at < end; ++mapping) {
    std::string address = "0x" + llvm::utohexstr(at, /*LowerCase=*/true);
    if (mapping == mappings.end() || at < mapping->begin) return "no memory is mapped at " + address;
    if (!mapping->readable) return "the memory at " + address + " cannot be read";
    if (isWritten && !mapping->writable) return "the memory at " + address + " cannot be written, and the kernel writes to it";
    at = mapping->end;
  }
  return "";
}

class PointerCheck {
public:
  PointerCheck(llvm::StringRef kernel, llvm::ArrayRef<std::string> names, const std::vector<bool> &writes, llvm::ArrayRef<Mapping> mappings,
               Diagnostics &diagnostics)
      : kernel(kernel), names(names), writes(writes), mappings(mappings), diagnostics(diagnostics) {}

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
    std::string problem = !argument.address() ? "it is null" : problemOf(mappings, reach.first, reach.second, isWritten());
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
  llvm::ArrayRef<Mapping> mappings;
  Diagnostics &diagnostics;
  size_t slot = 0;
};

} // namespace

bool checkPointers(llvm::StringRef kernel, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                   llvm::ArrayRef<std::string> slotNames, const std::vector<bool> &writes, Diagnostics &diagnostics) {
  std::optional<std::vector<Mapping>> mappings = mappingsOfProcess();
  if (mappings) return PointerCheck(kernel, slotNames, writes, *mappings, diagnostics).visit(specs, arguments);
  diagnostics.error({}, Diag::invalidOption, {"pointers cannot be checked: the system does not list the mappings", "mount /proc"});
  return false;
}

} // namespace tilewright
