// Linkers can write a build id into an object file's notes. If there is one, it identifies the content. Otherwise, code and constants are
// hashed in memory, which takes some milliseconds per megabyte. A self-contained build contains LLVM.
#include "driver/build_id.h"

#include "support/hash.h"

#include "llvm/Support/ErrorHandling.h"

#include "mlir/IR/Verifier.h"

#include <elf.h>
#include <link.h>
#include <set>
#include <vector>

namespace tilewright {

namespace {
struct Search {
  std::vector<uintptr_t> addresses; // code whose object files are searched for
  std::set<uintptr_t> seen;         // object files, by their load address
  Hasher hasher;
};
} // namespace

static bool hasBuildId(const char *notes, size_t bytes) {
  size_t at = 0;
  auto rounded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes + at);
    if (note->n_type == NT_GNU_BUILD_ID) return true;
    at += sizeof(*note) + rounded(note->n_namesz) + rounded(note->n_descsz);
  }
  return false;
}

static int visit(dl_phdr_info *info, size_t, void *data) {
  Search &search = *static_cast<Search *>(data);
  bool wanted = false, named = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &header = info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + header.p_vaddr;
    for (uintptr_t address : search.addresses)
      wanted |= header.p_type == PT_LOAD && address >= start && address < start + header.p_memsz;
    if (header.p_type == PT_NOTE) named |= hasBuildId(reinterpret_cast<const char *>(start), header.p_memsz);
  }
  if (!wanted || !search.seen.insert(info->dlpi_addr).second) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &header = info->dlpi_phdr[i];
    bool isConstant = header.p_type == PT_LOAD && !(header.p_flags & PF_W); // code and read-only data
    if (header.p_type != PT_NOTE && (named || !isConstant)) continue;
    search.hasher.add(std::string_view(reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr), header.p_memsz));
  }
  return 0;
}

std::string buildId() {
  static const std::string id = [] {
    auto addressOf = [](auto *function) { return reinterpret_cast<uintptr_t>(function); };
    Search search;
    // One function of each library that makes code: ours, LLVM's, MLIR's.
    search.addresses = {addressOf(&buildId), addressOf(&llvm::install_fatal_error_handler), addressOf(&mlir::verify)};
    dl_iterate_phdr(visit, &search);
    return search.hasher.hex();
  }();
  return id;
}

} // namespace tilewright
