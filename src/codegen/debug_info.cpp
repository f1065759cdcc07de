#include "codegen/debug_info.h"

#include "codegen/jitdump.h"
#include "support/settings.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <mutex>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

// GDB finds both by these names. It sets a breakpoint in the function, and reads the list when the breakpoint is hit.
extern "C" {
struct jit_code_entry {
  jit_code_entry *next, *previous;
  const char *file;
  uint64_t bytes;
};
enum jit_actions : uint32_t { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };
struct jit_descriptor {
  uint32_t version;
  uint32_t action;
  jit_code_entry *relevant, *first;
};
#define SEEN_BY_GDB __attribute__((visibility("default"), used))
SEEN_BY_GDB jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, nullptr, nullptr};
SEEN_BY_GDB __attribute__((noinline)) void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
}

namespace tilewright {

bool debugInfoIsOn() {
  return isSwitchedOn("TILEWRIGHT_DEBUG_INFO", false) && !isSwitchedOn("TRITON_DISABLE_LINE_INFO", false);
}

struct DebuggedObject::Entry {
  std::string object;
  jit_code_entry code{};
};

static std::mutex &listLock() {
  static auto *lock = new std::mutex;
  return *lock;
}

/// Sets the addresses of sections in the headers, so that the debugger can relocate the debug sections.
static void placeSections(std::string &object, const std::vector<LoadedSection> &sections) {
  auto *header = reinterpret_cast<Elf64_Ehdr *>(object.data());
  if (object.size() < sizeof(*header) || header->e_shoff + uint64_t(header->e_shnum) * sizeof(Elf64_Shdr) > object.size()) return;
  auto *headers = reinterpret_cast<Elf64_Shdr *>(object.data() + header->e_shoff);
  const char *names = object.data() + headers[header->e_shstrndx].sh_offset;
  for (size_t i = 0; i < header->e_shnum; ++i) {
    auto found = std::find_if(sections.begin(), sections.end(),
                              [&](const LoadedSection &section) { return section.name == names + headers[i].sh_name; });
    if ((headers[i].sh_flags & SHF_ALLOC) && found != sections.end()) headers[i].sh_addr = found->address;
  }
}

static void appendToPerfMap(const std::vector<LoadedFunction> &functions) {
  // perf only reads this file. The folder is writable by all users, and another compiler of this process may have created the file. So it
  // is appended to if this user owns it, and otherwise left alone.
  std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  struct stat status{};
  bool isOwn = file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
  std::FILE *map = isOwn ? ::fdopen(file, "a") : nullptr;
  if (!map && file >= 0) ::close(file);
  if (!map) return;
  for (const LoadedFunction &function : functions)
    std::fprintf(map, "%lx %lx %s\n", static_cast<unsigned long>(function.begin), static_cast<unsigned long>(function.end - function.begin),
                 function.name.c_str());
  std::fclose(map);
}

DebuggedObject::DebuggedObject(const std::string &object, const std::vector<LoadedSection> &sections,
                               const std::vector<LoadedFunction> &functions)
    : entry(std::make_unique<Entry>()) {
  entry->object = object;
  placeSections(entry->object, sections);
  entry->code = {nullptr, nullptr, entry->object.data(), entry->object.size()};
  std::lock_guard<std::mutex> guard(listLock());
  appendToPerfMap(functions);
  appendToJitDump(object, sections, functions);
  jit_code_entry *first = __jit_debug_descriptor.first;
  entry->code.next = first;
  if (first) first->previous = &entry->code;
  __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &entry->code;
  __jit_debug_descriptor.action = JIT_REGISTER_FN;
  __jit_debug_register_code();
}

DebuggedObject::~DebuggedObject() {
  std::lock_guard<std::mutex> guard(listLock());
  jit_code_entry *next = entry->code.next, *previous = entry->code.previous;
  if (next) next->previous = previous;
  (previous ? previous->next : __jit_debug_descriptor.first) = next;
  __jit_debug_descriptor.relevant = &entry->code;
  __jit_debug_descriptor.action = JIT_UNREGISTER_FN;
  __jit_debug_register_code();
}

} // namespace tilewright
