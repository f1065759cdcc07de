#include "cli/native_kernels.h"

#include "api/handles.h"
#include "cli/cpp_source.h"
#include "support/shared_library.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>
#include <dlfcn.h>
#include <memory>

namespace tilewright {

bool isCppSource(llvm::StringRef path) {
  return path.ends_with(".cpp") || path.ends_with(".cc") || path.ends_with(".cxx");
}

bool isNativeFile(const std::string &path) {
  return isCppSource(path) || llvm::StringRef(path).ends_with(".so");
}

namespace {
struct FreeModule {
  void operator()(TwModule *module) const { twModuleFree(module); }
};
struct FreeKernel {
  void operator()(TwKernel *kernel) const { twKernelFree(kernel); }
};
using OwnedModule = std::unique_ptr<TwModule, FreeModule>;
using ExportedKernel = TwModule *(*)(size_t index, TwError **error);
} // namespace

static std::nullopt_t refuse(Diagnostics &diagnostics, const std::string &problem, const std::string &advice) {
  diagnostics.error({}, Diag::invalidOption, {problem, advice});
  return std::nullopt;
}

/// Reports an error of the C interface, and frees it.
static std::nullopt_t refuse(Diagnostics &diagnostics, TwError *error) {
  std::string text = llvm::StringRef(twErrorText(error)).rtrim().str();
  twErrorFree(error);
  llvm::StringRef shown = text;
  shown.consume_front("error: ");
  return refuse(diagnostics, shown.str(), "");
}

/// Returns the function of TILEWRIGHT_EXPORT in `library`, which was made of `path`, or is it. The library stays open, because kernels may
/// call its functions. Null after an error.
static ExportedKernel openLibrary(const std::string &libraryPath, const std::string &path, Diagnostics &diagnostics) {
  if (Result<void> checked = checkSharedLibraryFile(libraryPath); !checked) {
    refuse(diagnostics, "the shared library cannot be loaded: '" + libraryPath + "': " + checked.error(), "");
    return nullptr;
  }
  std::unique_ptr<char, decltype(&std::free)> whole(::realpath(libraryPath.c_str(), nullptr), std::free); // dlopen searches for plain names
  void *library = ::dlopen(whole ? whole.get() : libraryPath.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    refuse(diagnostics, std::string("the shared library cannot be loaded: ") + ::dlerror(), "");
    return nullptr;
  }
  void *found = ::dlsym(library, "tilewrightExportedKernel");
  if (!found)
    refuse(diagnostics, "'" + path + "' exports no kernels", "write TILEWRIGHT_EXPORT(NAME, ...) in one of its files, with its kernels");
  return reinterpret_cast<ExportedKernel>(found);
}

/// Returns the modules of all exported kernels, one for each. Null after an error.
static std::optional<std::vector<OwnedModule>> exportedModules(ExportedKernel exported, Diagnostics &diagnostics) {
  std::vector<OwnedModule> modules;
  while (true) {
    TwError *error = nullptr;
    OwnedModule module(exported(modules.size(), &error));
    if (error) return refuse(diagnostics, error);
    if (!module) return modules;
    modules.push_back(std::move(module));
  }
}

std::optional<FileKernel> loadNativeKernel(const std::string &path, const std::string &name, Diagnostics &diagnostics) {
  FileKernel result;
  std::optional<CompiledSource> compiled;
  if (isCppSource(path)) {
    compiled = compileCppSource(path, diagnostics);
    if (!compiled) return std::nullopt;
    result.files = compiled->files;
  }
  ExportedKernel exported = openLibrary(compiled ? compiled->library() : path, path, diagnostics);
  std::optional<std::vector<OwnedModule>> modules = exported ? exportedModules(exported, diagnostics) : std::nullopt;
  if (!modules) return std::nullopt;
  std::vector<std::string> names;
  OwnedModule chosen;
  for (OwnedModule &module : *modules) {
    names.push_back(twModuleKernelName(module.get(), 0));
    if (!chosen && (name == names.back() || (name.empty() && modules->size() == 1))) chosen = std::move(module);
  }
  std::string list = llvm::join(names, ", ");
  if (!chosen && name.empty()) return refuse(diagnostics, "'" + path + "' has several kernels: " + list, "choose one with --kernel NAME");
  if (!chosen) return refuse(diagnostics, "there is no kernel '" + name + "' in '" + path + "'", "its kernels are " + list);
  TwError *error = nullptr;
  std::shared_ptr<TwKernel> kernel(twKernelFind(chosen.get(), twModuleKernelName(chosen.get(), 0), &error), FreeKernel());
  if (!kernel) return refuse(diagnostics, error);
  result.module = chosen->scope;
  result.function = std::shared_ptr<const JitFunction>(kernel, &kernel->tuned.function());
  result.isNative = true;
  return result;
}

bool takeNativeTypes(const FileKernel &kernel, llvm::MutableArrayRef<ArgumentSpec> args, Diagnostics &diagnostics) {
  if (!kernel.isNative) return true;
  for (auto [parameter, spec] : llvm::zip(kernel.function->parameters, args)) {
    if (spec.constant || !parameter.annotation) continue;
    const Type &wanted = *parameter.annotation;
    bool isSamePointer = spec.type.isPointer() && wanted.isPointer() && spec.type.element() == wanted.element();
    if (isSamePointer) spec.type = wanted;
    if (spec.type == wanted) continue;
    refuse(diagnostics, "the signature gives '" + parameter.name + "' the type " + spec.type.str() + ", and C++ " + wanted.str(),
           "leave the type out, or write that of C++");
    return false;
  }
  return true;
}

} // namespace tilewright
