// Hides the symbols of an object that this process has made, in its symbol table.

#include "aot/build.h"

#include "llvm/Object/ELFObjectFile.h"

namespace tilewright::aot {

Result<void> hideSymbols(std::string &object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) return Failure{llvm::toString(file.takeError())};
  auto *elf = llvm::dyn_cast<llvm::object::ELF64LEObjectFile>(file->get());
  if (!elf) return Failure{"it is not a file of ELF's 64-bit format"};
  for (const llvm::object::SymbolRef &symbol : elf->symbols()) {
    llvm::Expected<const llvm::object::ELF64LEObjectFile::Elf_Sym *> found = elf->getSymbol(symbol.getRawDataRefImpl());
    if (!found) return Failure{llvm::toString(found.takeError())};
    if ((*found)->getBinding() != llvm::ELF::STB_GLOBAL || (*found)->isUndefined()) continue;
    auto offset = static_cast<size_t>(reinterpret_cast<const char *>(*found) - object.data());
    reinterpret_cast<llvm::object::ELF64LEObjectFile::Elf_Sym *>(object.data() + offset)->setVisibility(llvm::ELF::STV_HIDDEN);
  }
  return {};
}

} // namespace tilewright::aot
