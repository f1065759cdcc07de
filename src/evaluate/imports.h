// The files of a module and its helpers.
#pragma once

#include "evaluate/evaluate.h"

namespace tilewright {

/// The modules of one program by file, like Python's sys.modules: each is loaded once. The first of them owns the table.
struct ModuleTable {
  llvm::StringMap<std::shared_ptr<Namespace>> loaded;
  std::weak_ptr<Namespace> root;
  std::string rootPath;
};

/// The scope of a file, which can import the files in the same folder.
class FileScope : public SourceNamespace {
public:
  /// `owned` is the same table in its owner, else null.
  FileScope(std::shared_ptr<const ast::Module> module, const std::shared_ptr<ModuleTable> &table, std::shared_ptr<ModuleTable> owned)
      : SourceNamespace(std::move(module)), shared(table), owned(std::move(owned)) {}

  /// The table, or a new one if the first module was destroyed.
  std::shared_ptr<ModuleTable> table() {
    std::shared_ptr<ModuleTable> found = shared.lock();
    if (!found) shared = found = owned = std::make_shared<ModuleTable>();
    return found;
  }

private:
  std::weak_ptr<ModuleTable> shared;
  std::shared_ptr<ModuleTable> owned;
};

/// Returns the absolute paths of the files that a file and its imports have loaded so far, in order.
std::vector<std::string> importedFiles(Namespace &file);

/// A module that is loaded by another one.
std::shared_ptr<Namespace> makeFileScope(std::shared_ptr<const ast::Module> module, std::shared_ptr<ModuleTable> table);

} // namespace tilewright
