// The C interface (include/tilewright/c.h) over the runtime: handles, argument conversion, errors as objects.

#include "api/handles.h"

#include "api/host_call.h"
#include "evaluate/module.h"
#include "runtime/interpreted.h"
#include "support/files.h"
#include "syntax/parser.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

using namespace tilewright;
using namespace tilewright::api;

struct TwModule {
  std::shared_ptr<Namespace> scope;     // of a Python file
  std::shared_ptr<const IrKernel> text; // of IR text
  std::vector<std::string> kernels;
};

struct TwMeta {
  const JitFunction *kernel;
  llvm::ArrayRef<Argument> arguments;
};

void tilewright::api::setError(TwError **error, std::string text) {
  if (error) *error = new TwError{std::move(text)};
}

static TwModule *makeModule(std::shared_ptr<Namespace> scope, const Diagnostics &diagnostics, TwError **error) {
  if (!scope) {
    setError(error, diagnostics.render());
    return nullptr;
  }
  auto *module = new TwModule{scope, nullptr, {}};
  module->kernels = kernelNames(*scope);
  return module;
}

Scalar tilewright::api::scalarOf(TwType type) {
  switch (type) {
  case TW_I1: return Scalar::int1;
  case TW_I8: return Scalar::int8;
  case TW_I16: return Scalar::int16;
  case TW_I32: return Scalar::int32;
  case TW_I64: return Scalar::int64;
  case TW_U8: return Scalar::uint8;
  case TW_U16: return Scalar::uint16;
  case TW_U32: return Scalar::uint32;
  case TW_U64: return Scalar::uint64;
  case TW_F16: return Scalar::fp16;
  case TW_BF16: return Scalar::bf16;
  case TW_F32: return Scalar::fp32;
  case TW_F64: return Scalar::fp64;
  case TW_F8E5: return Scalar::fp8e5;
  case TW_F8E4: return Scalar::fp8e4nv;
  }
  return Scalar::int8;
}

static Argument pointerOf(const TwArgument &argument, int64_t device) {
  Argument made = Argument::pointer(argument.value.pointer, scalarOf(argument.type), std::max<int64_t>(argument.bytes, 0), device);
  return argument.bytes < 0 ? made.reaching(0, 0) : made;
}

static Argument argumentOf(const TwArgument &argument) {
  switch (argument.kind) {
  case TW_NONE: return Argument::none();
  case TW_BOOL: return Argument::boolean(argument.value.integer != 0);
  case TW_INT: return Argument::integer(argument.value.integer);
  case TW_UINT: return Argument::unsignedInteger(argument.value.unsignedInteger);
  case TW_FLOAT: return Argument::floating(argument.value.floating);
  case TW_STRING: return Argument::constant(Value::string(argument.value.string ? argument.value.string : ""));
  case TW_POINTER: return pointerOf(argument, -1);
  case TW_DEVICE_POINTER: return pointerOf(argument, argument.device);
  }
  return Argument::none();
}

Arguments::Arguments(const TwArgument *arguments, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (arguments[i].name)
      named.push_back({arguments[i].name, argumentOf(arguments[i])});
    else
      positional.push_back(argumentOf(arguments[i]));
  }
}

std::optional<CompileRequest> tilewright::api::requestOf(const TwKernel &kernel, llvm::ArrayRef<Argument> bound,
                                                         const LaunchOptions &options, Diagnostics &diagnostics) {
  CompileRequest request;
  request.kernel = kernel.text ? KernelSource(kernel.text) : KernelSource(&kernel.tuned.function());
  std::optional<std::vector<ArgumentSpec>> specs =
      kernel.text ? kernel.text->specs : specialize(kernel.tuned.function(), bound, diagnostics);
  if (!specs) return std::nullopt;
  request.args = std::move(*specs);
  request.options = options.kernel;
  request.target = hostCpu();
  return request;
}

std::optional<std::string> tilewright::api::pointerOfUnknownExtent(const JitFunction &kernel, llvm::ArrayRef<Argument> bound) {
  for (size_t i = 0; i < bound.size(); ++i)
    if (bound[i].isPointer() && bound[i].address() && !bound[i].reach()) return kernel.parameters[i].name;
  return std::nullopt;
}

/// Runs one launch on the interpreter, which checks every access. What went wrong, or empty.
static std::string runSanitized(TwKernel &kernel, const GridFunction &extents, const Arguments &given, const LaunchOptions &options) {
  Diagnostics diagnostics;
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, diagnostics);
  std::optional<Grid> grid = choice ? extents(choice->arguments, diagnostics) : std::nullopt;
  if (!grid || !programCount(*grid, diagnostics)) return diagnostics.render();
  for (const Argument &argument : choice->arguments)
    if (argument.device() >= 0) return "sanitized launches run on the CPU: copy the tensors to its memory\n";
  std::optional<CompileRequest> request = requestOf(kernel, choice->arguments, choice->options, diagnostics);
  std::shared_ptr<InterpretedKernel> program = request ? InterpretedKernel::create(*request, diagnostics) : nullptr;
  if (!program || !program->checkMemory(choice->arguments, diagnostics)) return diagnostics.render();
  for (const std::string &name : program->unchecked(choice->arguments))
    return "sanitized launches want to know how many bytes lie behind '" + name + "': pass a vector, a span, or the pointer's extent\n";
  auto print = [](llvm::StringRef text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  std::string problem = program->run(*grid, choice->arguments, {/*checkBounds=*/true, print, {}, {}, nullptr});
  return problem.empty() ? problem : problem + "\n";
}

std::optional<Grid> GivenGrid::operator()(llvm::ArrayRef<Argument> bound, Diagnostics &problems) const {
  TwGrid raw{{1, 1, 1}, 1};
  if (grid) {
    raw = *grid;
  } else if (TwMeta meta{&kernel.tuned.function(), bound}; !function || !function(context, &meta, &raw)) {
    problems.error({}, Diag::badGrid, {function ? "the grid function gave no grid" : "there is no grid"});
    return std::nullopt;
  }
  Grid result;
  for (size_t i = 0; i < 3; ++i)
    result.extent[i] = raw.extent[i];
  result.rank = raw.rank;
  return result;
}

/// What a launch computes, for whoever measures the host code that it is in.
static void countLaunch(HostCall &call, TwKernel &kernel, const GridFunction &extents, const Arguments &given,
                        const LaunchOptions &options) {
  Diagnostics ignored; // the launch tells
  std::optional<TunedKernel::Choice> choice = kernel.tuned.choose(extents, given.positional, given.named, options, ignored);
  std::optional<Grid> grid = choice ? extents(choice->arguments, ignored) : std::nullopt;
  if (grid) call.count(kernel, *grid, choice->arguments, choice->options);
}

LaunchOptions tilewright::api::launchOptions(const TwOptions *options) {
  LaunchOptions result;
  if (!options) return result;
  result.threads = options->threads;
  if (options->numWarps != 0) result.kernel.numWarps = options->numWarps;
  if (options->numStages != 0) result.kernel.numStages = options->numStages;
  if (options->numCtas != 0) result.kernel.numCtas = options->numCtas;
  if (options->maxRegisters != 0) result.kernel.maxnreg = options->maxRegisters;
  result.stream = options->stream;
  result.cooperative = options->cooperative != 0;
  result.programmaticLaunch = options->programmaticLaunch != 0;
  return result;
}

extern "C" {

const char *twVersion(void) {
  return TILEWRIGHT_VERSION;
}
const char *twErrorText(const TwError *error) {
  return error->text.c_str();
}
TwError *twErrorNew(const char *text) {
  return new TwError{text ? text : ""};
}
void twErrorFree(TwError *error) {
  delete error;
}

static TwModule *textModule(const std::string &path, TwError **error) {
  Diagnostics diagnostics;
  Result<std::string> bytes = readFile(path);
  if (!bytes) diagnostics.error({}, Diag::fileNotFound, {path, bytes.error()});
  std::shared_ptr<const IrKernel> text = bytes ? readIrKernel(*bytes, path, "", diagnostics) : nullptr;
  if (text) return new TwModule{nullptr, text, {text->name}};
  setError(error, diagnostics.render());
  return nullptr;
}

TwModule *twModuleFromFile(const char *path, TwError **error) {
  llvm::StringRef name = path;
  if (name.ends_with(".ttir") || name.ends_with(".mlir")) return textModule(path, error);
  Diagnostics diagnostics;
  return makeModule(loadModule(path, diagnostics), diagnostics, error);
}

TwModule *twModuleFromSource(const char *source, const char *name, TwError **error) {
  Diagnostics diagnostics;
  std::shared_ptr<const ast::Module> tree = parse(SourceFile::create(name, source, 1), diagnostics);
  return makeModule(tree ? moduleScope(tree) : nullptr, diagnostics, error);
}

void twModuleFree(TwModule *module) {
  delete module;
}
size_t twModuleKernelCount(const TwModule *module) {
  return module->kernels.size();
}
const char *twModuleKernelName(const TwModule *module, size_t index) {
  return index < module->kernels.size() ? module->kernels[index].c_str() : nullptr;
}

TwKernel *twKernelFind(TwModule *module, const char *name, TwError **error) {
  if (module->text && module->text->name == name) return new TwKernel(module->text);
  if (module->text) {
    setError(error, "there is no kernel '" + std::string(name) + "' in " + std::string(module->text->file->name()) + "\n");
    return nullptr;
  }
  Diagnostics diagnostics;
  if (std::shared_ptr<const JitFunction> function = findKernel(*module->scope, name, diagnostics)) return new TwKernel(std::move(function));
  setError(error, diagnostics.render());
  return nullptr;
}

void twKernelFree(TwKernel *kernel) {
  delete kernel;
}

int64_t twMetaInteger(const TwMeta *meta, const char *name, int *found) {
  if (found) *found = 0;
  for (size_t i = 0; i < meta->arguments.size(); ++i) {
    if (meta->kernel->parameters[i].name != name || !meta->arguments[i].isNumber()) continue;
    if (found) *found = 1;
    return meta->arguments[i].asInteger();
  }
  return 0;
}

int twLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments, size_t count,
             const TwOptions *options, TwError **error) {
  Diagnostics diagnostics;
  GivenGrid extents(*kernel, grid, gridFunction, context);
  Arguments converted(arguments, count);
  HostCall *call = HostCall::current();
  if (call && call->mode() == HostCall::Mode::counted) countLaunch(*call, *kernel, extents, converted, launchOptions(options));
  if ((options && options->sanitize) || (call && call->mode() == HostCall::Mode::interpreted)) {
    std::string problem = runSanitized(*kernel, extents, converted, launchOptions(options));
    if (!problem.empty()) setError(error, problem);
    return problem.empty();
  }
  // By reference, as std::function would put a copy of the captures on the heap.
  if (kernel->tuned.launch(std::ref(extents), converted.positional, converted.named, launchOptions(options), diagnostics)) return 1;
  setError(error, diagnostics.render());
  return 0;
}

char *twEmit(TwKernel *kernel, const char *stage, const TwArgument *arguments, size_t count, const TwOptions *options, TwError **error) {
  static const std::pair<const char *, Stage> stages[] = {
      {"ast", Stage::ast}, {"tt", Stage::tt}, {"loops", Stage::loops}, {"llvm", Stage::llvm}, {"asm", Stage::assembly}};
  const Stage *wanted = nullptr;
  for (const auto &[name, value] : stages)
    if (std::strcmp(name, stage) == 0) wanted = &value;
  if (!wanted) {
    setError(error, std::string("there is no stage '") + stage + "'; the stages are ast, tt, loops, llvm and asm\n");
    return nullptr;
  }
  Diagnostics diagnostics;
  Arguments converted(arguments, count);
  LaunchOptions launch = launchOptions(options);
  std::optional<std::string> text;
  std::optional<BoundArguments> bound = bindArguments(kernel->tuned.function(), converted.positional, converted.named, diagnostics);
  bool hasStage = !kernel->text || *wanted != Stage::ast; // IR text has no syntax tree
  if (std::optional<CompileRequest> request = bound && hasStage ? requestOf(*kernel, *bound, launch, diagnostics) : std::nullopt)
    text = emitStage(*request, *wanted, diagnostics);
  if (text) return ::strdup(text->c_str());
  setError(error, diagnostics.render());
  return nullptr;
}

void twStringFree(char *text) {
  std::free(text);
}

} // extern "C"
