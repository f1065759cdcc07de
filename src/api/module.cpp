// Modules and kernels of the C interface.
#include "api/call.h"

#include "evaluate/module.h"
#include "support/files.h"
#include "syntax/parser.h"

#include <cstring>

using namespace tilewright;
using namespace tilewright::api;

static const char *const noModule = "there is no module: its handle is null or was moved from, or loading it has failed\n";

TwModule *tilewright::api::makeModule(std::shared_ptr<Namespace> scope, const Diagnostics &diagnostics, TwError **error) {
  if (!scope) return setError(error, diagnostics), nullptr;
  reportWarnings(diagnostics);
  auto module = std::make_unique<TwModule>(TwModule{scope, nullptr, {}});
  module->kernels = kernelNames(*scope);
  return module.release();
}

static TwModule *textModule(const std::string &path, TwError **error) {
  Diagnostics diagnostics;
  Result<std::string> bytes = readFile(path);
  if (!bytes) diagnostics.error({}, Diag::fileNotFound, {path, bytes.error()});
  std::shared_ptr<const IrKernel> text = bytes ? readIrKernel(*bytes, path, "", diagnostics) : nullptr;
  if (text) return new TwModule{nullptr, text, {text->name}, std::nullopt};
  return setError(error, diagnostics), nullptr;
}

static TwKernel *findIn(TwModule &module, const char *name, TwError **error) {
  if (module.text && module.text->name == name) return new TwKernel(module.text);
  if (module.text) {
    std::string problem = "there is no kernel '" + std::string(name) + "' in " + std::string(module.text->file->name()) + "\n";
    return setError(error, TW_ERROR_NOT_FOUND, problem), nullptr;
  }
  Diagnostics diagnostics;
  WorkControl control;
  control.limits = module.limits.value_or(WorkLimits());
  ControlScope scope(&control);
  std::shared_ptr<const JitFunction> function = findKernel(*module.scope, name, diagnostics);
  if (!function && control.ended() == WorkControl::Ended::limit) return setError(error, TW_ERROR_LIMIT, diagnostics.render()), nullptr;
  if (!function) return setError(error, diagnostics), nullptr;
  reportWarnings(diagnostics);
  if (module.rules.empty()) return new TwKernel(std::move(function), module.limits);
  auto *ruled = new JitFunction(*function);
  ruled->heuristics = module.rules;
  // `function` owns the scope of its names, so the copy keeps it.
  return new TwKernel(std::shared_ptr<const JitFunction>(ruled, [function](const JitFunction *copy) { delete copy; }), module.limits);
}

static TwModule *sourceModule(const char *source, const char *name, const std::optional<WorkLimits> &limits, TwError **error) {
  if (!source || !name) return setError(error, TW_ERROR_INVALID_ARGUMENT, "the source of the module, or its name, is null\n"), nullptr;
  constexpr size_t maxBytes = 256 << 20;
  size_t bytes = std::strlen(source), most = limits && limits->textBytes ? static_cast<size_t>(limits->textBytes) : maxBytes;
  most = std::min(most, maxBytes);
  if (bytes > most) {
    std::string problem = "the text of '" + std::string(name) + "' has " + std::to_string(bytes) + " bytes; the limit is ";
    return setError(error, TW_ERROR_LIMIT, problem + std::to_string(most) + "\n"), nullptr;
  }
  WorkControl control;
  control.limits = limits.value_or(WorkLimits());
  ControlScope scope(&control);
  Diagnostics diagnostics;
  std::shared_ptr<const ast::Module> tree = parse(SourceFile::create(name, source, 1), diagnostics);
  TwModule *module = makeModule(tree ? moduleScope(tree) : nullptr, diagnostics, error);
  if (module) module->limits = limits;
  return module;
}

extern "C" {

TwModule *twModuleFromFile(const char *path, TwError **error) {
  return guarded(error, static_cast<TwModule *>(nullptr), [&]() -> TwModule * {
    if (!path) return setError(error, TW_ERROR_INVALID_ARGUMENT, "the path of the module is null\n"), nullptr;
    llvm::StringRef name = path;
    if (name.ends_with(".ttir") || name.ends_with(".ttgir") || name.ends_with(".mlir")) return textModule(path, error);
    Diagnostics diagnostics;
    return makeModule(loadModule(path, diagnostics), diagnostics, error);
  });
}

TwModule *twModuleFromSource(const char *source, const char *name, TwError **error) {
  return guarded(error, static_cast<TwModule *>(nullptr), [&] { return sourceModule(source, name, std::nullopt, error); });
}

TwModule *twModuleFromSourceWithLimits(const char *source, const char *name, const TwLimits *limits, TwError **error) {
  return guarded(error, static_cast<TwModule *>(nullptr), [&]() -> TwModule * {
    Diagnostics diagnostics;
    WorkLimits read = limitsOf(limits, diagnostics);
    if (!limits) diagnostics.error({}, Diag::invalidOption, {"the limits of the module are null", ""});
    return diagnostics.hasErrors() ? (setError(error, diagnostics), nullptr) : sourceModule(source, name, read, error);
  });
}

void twModuleFree(TwModule *module) {
  delete module;
}
size_t twModuleKernelCount(const TwModule *module) {
  return module ? module->kernels.size() : 0;
}
const char *twModuleKernelName(const TwModule *module, size_t index) {
  return module && index < module->kernels.size() ? module->kernels[index].c_str() : nullptr;
}

TwKernel *twKernelFind(TwModule *module, const char *name, TwError **error) {
  return guarded(error, static_cast<TwKernel *>(nullptr), [&]() -> TwKernel * {
    if (module && name) return findIn(*module, name, error);
    return setError(error, TW_ERROR_INVALID_ARGUMENT, module ? "the name of the kernel is null\n" : noModule), nullptr;
  });
}

void twKernelFree(TwKernel *kernel) {
  delete kernel;
}

} // extern "C"
