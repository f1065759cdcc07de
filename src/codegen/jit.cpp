// A kernel's object is small and complete: one function, constants, calls of math functions. LLVM's full JIT (sessions, lazy lookup,
// shared symbol tables) would cost more time than the linking itself. So its linker, JITLink, is used directly: it parses the ELF bytes
// into a graph, lays out and relocates the sections, and keeps the mapping.

#include "codegen/jit.h"

#include "codegen/debug_info.h"
#include "codegen/host_calls.h"
#include "support/target.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/SymbolStringPool.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <dlfcn.h>

using namespace llvm;

namespace tilewright {

// The host program may lack libm, or have it where dlsym(RTLD_DEFAULT) does not find it. Some systems lack libmvec.
static void *findSymbol(StringRef name) {
  if (void *own = hostCall(name)) return own;
  std::string text = name.str();
  if (void *address = ::dlsym(RTLD_DEFAULT, text.c_str())) return address;
  for (const char *library : {"libmvec.so.1", "libm.so.6", "libc.so.6", "libgcc_s.so.1"})
    if (void *handle = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL)) // opened once, then reference counted
      if (void *address = ::dlsym(handle, text.c_str())) return address;
  return nullptr;
}

namespace {
/// The result of linking an object.
struct Linked {
  StringMap<void *> symbols;
  uintptr_t codeBegin = 0, codeEnd = 0;
  std::vector<LoadedSection> sections;
  std::vector<LoadedFunction> functions;
  std::unique_ptr<DebuggedObject> debugged; // must be destroyed before the memory
  jitlink::JITLinkMemoryManager::FinalizedAlloc memory;
};
} // namespace

struct LoadedObject::Impl {
  Linked linked;
};

static jitlink::InProcessMemoryManager &memoryManager() {
  static auto *manager = new jitlink::InProcessMemoryManager(sys::Process::getPageSizeEstimate());
  return *manager;
}

static const std::shared_ptr<orc::SymbolStringPool> &symbolPool() {
  static auto *pool = new std::shared_ptr<orc::SymbolStringPool>(std::make_shared<orc::SymbolStringPool>());
  return *pool;
}

namespace {

// All callbacks run on the linking thread before link() returns, because the memory manager works in this process.
class LinkContext : public jitlink::JITLinkContext {
public:
  LinkContext(Linked &loaded, std::string &error) : JITLinkContext(nullptr), loaded(loaded), error(error) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override { return memoryManager(); }
  void notifyFailed(Error failure) override { error = toString(std::move(failure)); }

  void lookup(const LookupMap &wanted, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> continuation) override {
    jitlink::AsyncLookupResult found;
    for (const auto &[name, flags] : wanted) {
      void *address = findSymbol(*name);
      if (!address && flags != jitlink::SymbolLookupFlags::WeaklyReferencedSymbol)
        return continuation->run(createStringError("no library on this system defines '" + *name + "'"));
      found[name] = {orc::ExecutorAddr::fromPtr(address), JITSymbolFlags::Exported};
    }
    continuation->run(std::move(found));
  }

  Error notifyResolved(jitlink::LinkGraph &graph) override {
    for (jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getScope() != jitlink::Scope::Local)
        loaded.symbols[*symbol->getName()] = symbol->getAddress().toPtr<void *>();
    for (jitlink::Section &section : graph.sections()) {
      if ((section.getMemProt() & orc::MemProt::Exec) == orc::MemProt::None) continue;
      for (jitlink::Block *block : section.blocks()) {
        uintptr_t begin = block->getAddress().getValue(), end = begin + block->getSize();
        loaded.codeBegin = loaded.codeEnd ? std::min(loaded.codeBegin, begin) : begin;
        loaded.codeEnd = std::max(loaded.codeEnd, end);
      }
    }
    if (debugInfoIsOn()) noteForDebuggers(graph);
    return Error::success();
  }

  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc alloc) override { loaded.memory = std::move(alloc); }

private:
  void noteForDebuggers(jitlink::LinkGraph &graph) {
    for (jitlink::Section &section : graph.sections())
      if (jitlink::SectionRange range(section); !range.empty())
        loaded.sections.push_back({section.getName().str(), range.getStart().getValue()});
    for (jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->isCallable())
        loaded.functions.push_back(
            {(*symbol->getName()).str(), symbol->getAddress().getValue(), symbol->getAddress().getValue() + symbol->getSize()});
  }

  Linked &loaded;
  std::string &error;
};

} // namespace

/// Returns the reason if an ELF object is for another instruction set than this process; else "".
static std::string foreignMachine(StringRef object) {
  constexpr size_t machineAt = 18; // e_machine, a 16-bit number
  unsigned expected = hostIsa == Isa::aarch64 ? ELF::EM_AARCH64 : ELF::EM_X86_64, found = 0;
  if (object.size() >= machineAt + 2) found = static_cast<uint8_t>(object[machineAt]) | static_cast<uint8_t>(object[machineAt + 1]) << 8;
  if (found == expected) return "";
  std::string name = found == ELF::EM_AARCH64 ? nameOf(Isa::aarch64) : found == ELF::EM_X86_64 ? nameOf(Isa::x86_64) : "another machine";
  return "its code is for " + name + ", and this process runs on " + nameOf(hostIsa);
}

LoadedObject::LoadedObject() : impl(std::make_unique<Impl>()) {}

LoadedObject::~LoadedObject() {
  impl->linked.debugged.reset();
  if (!impl->linked.memory) return;
  std::vector<jitlink::JITLinkMemoryManager::FinalizedAlloc> allocations;
  allocations.push_back(std::move(impl->linked.memory));
  consumeError(memoryManager().deallocate(std::move(allocations)));
}

std::shared_ptr<LoadedObject> LoadedObject::load(const std::string &object, std::string &error) {
  error.clear();
  // The parser checks everything except truncation, which would otherwise be read up to the end.
  if (identify_magic(object) != file_magic::elf_relocatable) {
    error = "it is not a relocatable ELF object";
    return nullptr;
  }
  if (std::string foreign = foreignMachine(object); !foreign.empty()) {
    error = foreign;
    return nullptr;
  }
  Expected<std::unique_ptr<jitlink::LinkGraph>> graph = jitlink::createLinkGraphFromObject(MemoryBufferRef(object, "kernel"), symbolPool());
  if (!graph) {
    error = toString(graph.takeError());
    return nullptr;
  }
  std::shared_ptr<LoadedObject> loaded(new LoadedObject);
  Linked &linked = loaded->impl->linked;
  jitlink::link(std::move(*graph), std::make_unique<LinkContext>(linked, error));
  if (!error.empty() || !linked.memory) {
    if (error.empty()) error = "the linker returned no result";
    return nullptr;
  }
  if (debugInfoIsOn()) linked.debugged = std::make_unique<DebuggedObject>(object, linked.sections, linked.functions);
  return loaded;
}

std::pair<uintptr_t, uintptr_t> LoadedObject::codeRange() const {
  return {impl->linked.codeBegin, impl->linked.codeEnd};
}

void *LoadedObject::lookup(const std::string &symbol) const {
  return impl->linked.symbols.lookup(symbol);
}

} // namespace tilewright
