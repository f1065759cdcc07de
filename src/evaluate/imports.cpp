// Resolves `import x`: the language, Python's own modules, or files and folders next to the importing file. Everything else is host code.
#include "evaluate/imports.h"

#include "evaluate/packages.h"
#include "support/files.h"
#include "support/work_control.h"
#include "syntax/parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilewright {

namespace {

namespace path = llvm::sys::path;

/// A folder of modules (with or without __init__.py, whose names come first).
class FolderNamespace : public Namespace {
public:
  FolderNamespace(std::string folder, Namespace &importer) : folder(std::move(folder)), importer(importer.weak_from_this()) {}
  std::string path() const override { return folder; }
  MaybeValue lookup(llvm::StringRef name, Diagnostics &diagnostics) override;

private:
  std::string folder;
  std::weak_ptr<Namespace> importer;
};

/// True if the text is untrusted: its imports find no files.
bool areFilesDenied() {
  const WorkControl *control = currentControl();
  return control && control->limits.deniesFiles;
}

FileScope *fileScope(Namespace &scope) {
  return dynamic_cast<FileScope *>(&scope);
}

std::string joined(llvm::StringRef folder, llvm::StringRef dotted) {
  llvm::SmallString<256> file(folder);
  for (auto [part, rest] = dotted.split('.'); !part.empty(); std::tie(part, rest) = rest.split('.'))
    path::append(file, part);
  return std::string(file);
}

/// The folder of the importing file. The dots of a relative import climb from here, `level` of them.
std::string importFolder(Namespace &scope, int64_t level) {
  llvm::SmallString<256> folder(scope.path());
  path::remove_filename(folder);
  for (int64_t i = 1; i < level; ++i)
    path::append(folder, "..");
  return std::string(folder.empty() ? "." : folder.str());
}

MaybeValue load(FileScope &importer, const std::string &file, Diagnostics &diagnostics) {
  llvm::SmallString<256> key(file);
  llvm::sys::fs::make_absolute(key);
  path::remove_dots(key, true);
  std::shared_ptr<ModuleTable> table = importer.table();
  llvm::SmallString<256> rootKey(table->rootPath);
  llvm::sys::fs::make_absolute(rootKey);
  path::remove_dots(rootKey, true);
  std::shared_ptr<Namespace> module = key == rootKey ? table->root.lock() : nullptr;
  if (!module) module = table->loaded.lookup(key);
  if (!module) {
    Result<std::string> text = readFile(file);
    if (!text) return fail(diagnostics, {}, Diag::fileNotFound, {file, text.error()});
    std::shared_ptr<const ast::Module> syntax = parse(SourceFile::create(file, std::move(*text), 1), diagnostics);
    if (!syntax) return std::nullopt;
    module = makeFileScope(std::move(syntax), table);
    table->loaded[key] = module;
  }
  return Value::nameSpace(std::move(module));
}

/// The module or folder `dotted` below `folder`; nothing, without an error, if there is none.
MaybeValue findBelow(Namespace &scope, const std::string &folder, llvm::StringRef dotted, Diagnostics &diagnostics) {
  FileScope *importer = fileScope(scope);
  if (!importer || areFilesDenied()) return std::nullopt;
  std::string base = joined(folder, dotted);
  if (llvm::sys::fs::is_regular_file(base + ".py")) return load(*importer, base + ".py", diagnostics);
  if (llvm::sys::fs::is_directory(base)) return Value::nameSpace(std::make_shared<FolderNamespace>(base, scope));
  return std::nullopt;
}

MaybeValue FolderNamespace::lookup(llvm::StringRef name, Diagnostics &diagnostics) {
  std::shared_ptr<Namespace> scope = importer.lock();
  FileScope *file = scope ? fileScope(*scope) : nullptr;
  if (!file || areFilesDenied()) return std::nullopt;
  int64_t errors = errorCount(diagnostics);
  std::string init = joined(folder, "__init__") + ".py";
  if (llvm::sys::fs::is_regular_file(init)) {
    MaybeValue package = load(*file, init, diagnostics);
    MaybeValue member = package ? package->asNamespace()->lookup(name, diagnostics) : std::nullopt;
    if (member || errorCount(diagnostics) != errors) return member;
  }
  return findBelow(*scope, folder, name, diagnostics);
}

/// `import package.a.b` in package/x/y.py, if the folders between have no __init__.py: the import names a folder above the file.
MaybeValue findInOwnPackage(Namespace &scope, llvm::StringRef dotted, Diagnostics &diagnostics) {
  llvm::SmallString<256> folder(importFolder(scope, 1));
  llvm::sys::fs::make_absolute(folder);
  path::remove_dots(folder, true);
  for (llvm::StringRef inside = folder; !inside.empty() && inside != path::root_path(inside); inside = path::parent_path(inside))
    if (path::filename(inside) == dotted.split('.').first) return findBelow(scope, path::parent_path(inside).str(), dotted, diagnostics);
  return std::nullopt;
}

/// The folders that an absolute import searches: the file's own and, as long as that is a package, the ones above it.
MaybeValue findAbsolute(Namespace &scope, llvm::StringRef dotted, Diagnostics &diagnostics) {
  if (!fileScope(scope) || areFilesDenied()) return std::nullopt;
  constexpr int64_t maxLevels = 16;
  std::string folder = importFolder(scope, 1);
  for (int64_t level = 0; level < maxLevels; ++level) {
    int64_t errors = errorCount(diagnostics);
    MaybeValue found = findBelow(scope, folder, dotted, diagnostics);
    if (found || errorCount(diagnostics) != errors) return found;
    if (!llvm::sys::fs::is_regular_file(joined(folder, "__init__") + ".py")) break;
    llvm::SmallString<256> above(folder);
    path::append(above, "..");
    folder = std::string(above);
  }
  return findInOwnPackage(scope, dotted, diagnostics);
}

// An installed package. One part of PyTorch is read: the code that torch.compile
// generates imports helpers from there, which are functions of kernels.
MaybeValue findInstalled(Namespace &scope, llvm::StringRef module, Diagnostics &diagnostics) {
  for (const std::string &folder : installedFolders())
    if (MaybeValue found = findBelow(scope, folder, module, diagnostics)) return found;
  return std::nullopt;
}

// Packages that are never imported from the folder of a kernel file; a folder "torch" there is ignored.
bool isWellKnown(llvm::StringRef package) {
  constexpr llvm::StringLiteral names[] = {"torch",      "numpy", "jax",    "typing",     "dataclasses", "enum", "warnings",
                                           "contextlib", "abc",   "pytest", "matplotlib", "pandas",      "cupy", "einops"};
  for (llvm::StringRef name : names)
    if (package == name) return true;
  return false;
}

std::string dotted(llvm::StringRef module, int64_t level) {
  return std::string(static_cast<size_t>(level), '.') + module.str();
}

} // namespace

MaybeValue importModule(Namespace &scope, llvm::StringRef module, int64_t level, SourceRange range, Diagnostics &diagnostics) {
  if (level > 0) {
    int64_t errors = errorCount(diagnostics);
    if (module.empty())
      return fileScope(scope) ? MaybeValue(Value::nameSpace(std::make_shared<FolderNamespace>(importFolder(scope, level), scope)))
                              : hostModule(".");
    MaybeValue found = findBelow(scope, importFolder(scope, level), module, diagnostics);
    if (!found && !fileScope(scope)) return hostModule(module);
    if (!found && errorCount(diagnostics) == errors)
      return fail(diagnostics, range, Diag::moduleNotFound,
                  {dotted(module, level), "the compiler looks for " + joined(importFolder(scope, level), module) + ".py"});
    return found;
  }
  if (std::shared_ptr<Namespace> ours = languageModule(module)) return Value::nameSpace(std::move(ours));
  llvm::StringRef package = module.split('.').first;
  if (package == "triton" || package == "tilewright")
    return fail(diagnostics, range, Diag::moduleNotFound, {module.str(), "check the name of the module"});
  // The environment may hold secrets, so to an untrusted text `os` is host code.
  if (package == "os" && areFilesDenied()) return hostModule(module);
  if (std::shared_ptr<Namespace> python = pythonModule(module)) return Value::nameSpace(std::move(python));
  bool isHelper = module.starts_with("torch._inductor.runtime");
  if (!isWellKnown(package) || isHelper) {
    int64_t errors = errorCount(diagnostics);
    MaybeValue found = isHelper ? std::nullopt : findAbsolute(scope, module, diagnostics);
    if (found || errorCount(diagnostics) != errors) return found;
    found = findInstalled(scope, module, diagnostics);
    if (found || errorCount(diagnostics) != errors) return found;
  }
  return hostModule(module);
}

MaybeValue importMember(Namespace &scope, const Value &module, llvm::StringRef path, int64_t level, llvm::StringRef name,
                        Diagnostics &diagnostics) {
  if (const HostValue *host = module.asHost()) return hostAttribute(*host, name);
  std::shared_ptr<Namespace> space = module.asNamespace();
  if (!space) return std::nullopt;
  return space->lookup(name, diagnostics);
}

bool importFails(Namespace &scope, const ast::Stmt &stmt) {
  Diagnostics trial;
  if (const auto *import = llvm::dyn_cast<ast::ImportStmt>(&stmt)) {
    for (const ast::ImportAlias &alias : import->names)
      if (!importModule(scope, alias.path, 0, alias.range, trial)) return true;
    return false;
  }
  const auto *from = llvm::dyn_cast<ast::ImportFromStmt>(&stmt);
  if (!from) return false;
  MaybeValue module = importModule(scope, from->module, from->level, from->range, trial);
  if (!module) return true;
  // The language's members are known; a member of another file is looked up when it is used.
  if (languageModule(from->module) && from->level == 0)
    for (const ast::ImportAlias &alias : from->names)
      if (alias.path != "*" && !importMember(scope, *module, from->module, 0, alias.path, trial)) return true;
  return false;
}

std::vector<std::string> importedFiles(Namespace &file) {
  std::vector<std::string> files;
  if (FileScope *scope = fileScope(file))
    for (const auto &entry : scope->table()->loaded)
      files.push_back(entry.first().str());
  llvm::sort(files);
  return files;
}

} // namespace tilewright
