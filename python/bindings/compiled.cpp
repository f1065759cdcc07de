// Compiled specializations for Python: made by a launch, from a description of arguments, from IR text, or from the bytes of another
// process.

#include "compiled.h"
#include "core.h"
#include "kernel.h"

#include "driver/dump.h"
#include "driver/operations.h"
#include "evaluate/module.h"
#include "runtime/cache.h"
#include "runtime/cuda/kernel.h"
#include "support/artifact.h"
#include "support/artifact_bytes.h"
#include "support/c_names.h"
#include "tune/result_check.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string_view>

using namespace nb::literals;

namespace tilewright::python {

namespace {
struct NamedStage {
  std::string_view name;
  Stage stage;
};
} // namespace

/// The stages that the compiler can make again.
static constexpr NamedStage cpuStages[] = {{"source", Stage::ast}, {"ttir", Stage::tt},      {"loops", Stage::loops},
                                           {"llir", Stage::llvm},  {"asm", Stage::assembly}, {"obj", Stage::object}};
static constexpr NamedStage gpuStages[] = {
    {"source", Stage::ast}, {"ttir", Stage::tt}, {"ttgir", Stage::ttg}, {"llir", Stage::llvm}, {"ptx", Stage::ptx}};

static std::optional<Stage> stageNamed(llvm::ArrayRef<NamedStage> stages, const std::string &name) {
  for (const NamedStage &each : stages)
    if (each.name == name) return each.stage;
  return std::nullopt;
}

/// Those of a kernel for a CPU or for the simulator, which keep none.
static llvm::ArrayRef<NamedStage> stagesOf(const PyCompiled &self) {
  if (self.simulated) return gpuStages;
  return cpuStages;
}

/// Text that the compiler makes again from what the kernel was compiled from.
static std::string madeAgain(const PyCompiled &self,
                             llvm::function_ref<std::optional<std::string>(const CompileRequest &, Diagnostics &)> make) {
  Diagnostics diagnostics;
  std::optional<std::string> text;
  {
    WithoutGil release;
    Compiling compiling;
    text = make(self.request(), diagnostics);
  }
  if (!text) raiseErrors(diagnostics, self.function.get());
  return std::move(*text);
}

/// The kernel at a stage.
static std::string madeAgain(const PyCompiled &self, Stage stage) {
  if (stage == Stage::tt) return madeAgain(self, locatedTiles);
  return madeAgain(self, [&](const CompileRequest &request, Diagnostics &diagnostics) { return emitStage(request, stage, diagnostics); });
}

// Of a GPU kernel: what the compiler kept, and what can be made again from the source.
static nb::object gpuStageOf(const PyCompiled &self, const GpuArtifact &artifact, const std::string &name) {
  if (name == "ptx" && !artifact.ptx.empty()) return nb::str(artifact.ptx.c_str(), artifact.ptx.size());
  if (name == "cubin" && !artifact.cubin.empty()) return nb::bytes(artifact.cubin.data(), artifact.cubin.size());
  for (const auto &[stage, text] : artifact.stages)
    if (stage == name) return nb::str(text.c_str(), text.size());
  std::optional<Stage> known = stageNamed(gpuStages, name);
  if (!known || !self.function) raise(PyExc_KeyError, name);
  std::string text = madeAgain(self, *known);
  return nb::str(text.c_str(), text.size());
}

static std::vector<std::string> stageNames(const PyCompiled &self) {
  if (self.simulated || !self.compiled || !self.compiled->gpu()) {
    std::vector<std::string> names;
    for (const NamedStage &each : stagesOf(self))
      names.emplace_back(each.name);
    return names;
  }
  const GpuArtifact &artifact = self.compiled->gpu()->artifact();
  std::vector<std::string> names = {"source", "ttir", "ttgir", "llir"};
  for (const auto &stage : artifact.stages)
    if (!llvm::is_contained(names, stage.first)) names.push_back(stage.first);
  if (!artifact.ptx.empty()) names.push_back("ptx");
  if (!artifact.cubin.empty()) names.push_back("cubin");
  return names;
}

static nb::object stageOf(const PyCompiled &self, const std::string &name) {
  if (self.compiled && self.compiled->gpu()) return gpuStageOf(self, self.compiled->gpu()->artifact(), name);
  std::optional<Stage> stage = stageNamed(stagesOf(self), name);
  if (!stage) raise(PyExc_KeyError, name);
  if (*stage == Stage::object && self.compiled) {
    const std::string &object = self.compiled->artifact().object;
    return nb::bytes(object.data(), object.size());
  }
  if (self.text && *stage == Stage::ast) {
    std::string_view source = self.text->file->text();
    return nb::str(source.data(), source.size());
  }
  std::string text = madeAgain(self, *stage);
  if (*stage == Stage::object) return nb::bytes(text.data(), text.size());
  return nb::str(text.c_str(), text.size());
}

static void readOptions(nb::dict options, KernelOptions &out) {
  if (options.contains("numerics")) setKernelOption(out, Option::numerics, options["numerics"], "numerics");
  readSettings(out);
  for (auto [key, value] : options) {
    std::string name = nb::cast<std::string>(nb::str(key));
    Option option = optionNamed(name);
    if (option == Option::numerics) continue; // it came first: the others outweigh it
    bool isSwitch = llvm::is_contained({Option::debug, Option::sanitizeOverflow, Option::fpFusion}, option); // None is off
    if (isSwitch || !value.is_none()) setKernelOption(out, option, value, name);
  }
}

/// A description of what a kernel is compiled for: types by parameter (None: a constant; a tuple: the types of its members), constants
/// and multiples of 16. The latter are named by paths: (2,) is a parameter, (2, 0) the first member of the tuple that is passed for it.
struct Description {
  nb::dict constants;
  nb::list aligned;
};

static nb::tuple longer(const nb::tuple &path, size_t index) {
  return nb::steal<nb::tuple>(PySequence_Concat(path.ptr(), nb::make_tuple(index).ptr()));
}

static ArgumentSpec readSpec(nb::handle type, const nb::tuple &path, const Description &description, const std::string &parameter) {
  ArgumentSpec spec;
  if (description.constants.contains(path)) {
    spec.constant = toValue(description.constants[path]);
    return spec;
  }
  if (nb::isinstance<nb::tuple>(type)) {
    for (nb::handle member : nb::iter(type))
      spec.members.push_back(readSpec(member, longer(path, spec.members.size()), description, parameter));
    if (nb::hasattr(type, "_fields")) spec.fieldNames = nb::cast<std::vector<std::string>>(nb::list(type.attr("_fields")));
    if (spec.members.empty()) spec.constant = Value::tuple({});
    return spec;
  }
  std::string name = type.is_none() ? "None" : nb::cast<std::string>(type);
  std::optional<Type> parsed = parseTypeName(name);
  if (!parsed) raise(PyExc_ValueError, "'" + name + "' is not the name of a type, for the parameter '" + parameter + "'");
  spec.type = *parsed;
  if (PySequence_Contains(description.aligned.ptr(), path.ptr()) == 1) spec.divisibility = 16;
  return spec;
}

static void readDescription(nb::handle types, const Description &description, PyCompiled &out) {
  for (nb::handle type : nb::iter(types)) {
    size_t index = out.specs.size();
    out.specs.push_back(readSpec(type, nb::make_tuple(index), description, out.function->parameters[index].name));
  }
}

// ---- what a kernel was compiled for, as Python has it

/// The @jit function that was given as an argument; None where Python has forgotten it.
static nb::object kernelOf(const JitFunction *function) {
  static nb::handle known = nb::getattr(packageObject("runtime.jit", "JITFunction"), "known").release();
  for (nb::handle kernel : nb::iter(known.attr("values")()))
    if (PyKernel *candidate = nb::inst_ptr<PyKernel>(kernel); candidate->state && candidate->state->function.get() == function)
      return nb::borrow(kernel);
  return nb::none();
}

static nb::object constantOf(const Value &value) {
  if (std::shared_ptr<const JitFunction> function = value.asFunction()) return kernelOf(function.get());
  try {
    return fromValue(value);
  } catch (nb::python_error &) { // the compiler's own: it has no Python object
    return nb::none();
  }
}

static nb::object typeOf(const ArgumentSpec &spec) {
  if (spec.constant) return nb::none();
  if (spec.members.empty()) return nb::str(signatureName(spec.type).c_str());
  nb::list members;
  for (const ArgumentSpec &member : spec.members)
    members.append(member.constant ? nb::object(nb::str("constexpr")) : typeOf(member));
  if (spec.fieldNames.empty()) return nb::tuple(members);
  return packageObject("runtime.specialization", "named")(nb::cast(spec.fieldNames), members);
}

static void describe(const ArgumentSpec &spec, const nb::tuple &path, Description &description) {
  if (spec.constant) description.constants[path] = constantOf(*spec.constant);
  if (spec.divisibility % 16 == 0) description.aligned.append(path);
  for (auto [index, member] : llvm::enumerate(spec.members))
    describe(member, longer(path, index), description);
}

static nb::tuple descriptionOf(const PyCompiled &self) {
  nb::list types;
  Description description;
  for (auto [index, spec] : llvm::enumerate(self.specs)) {
    types.append(typeOf(spec));
    describe(spec, nb::make_tuple(index), description);
  }
  return nb::make_tuple(types, description.constants, description.aligned);
}

static nb::dict optionsOf(const PyCompiled &self) {
  nb::dict out;
  out["num_warps"] = self.options.numWarps;
  out["num_stages"] = self.options.numStages;
  out["num_ctas"] = self.options.numCtas;
  out["maxnreg"] = self.options.maxnreg ? nb::object(nb::int_(*self.options.maxnreg)) : nb::none();
  out["debug"] = self.options.debug;
  out["sanitize_overflow"] = self.options.sanitizeOverflow;
  out["enable_fp_fusion"] = self.options.fpFusion;
  out["numerics"] = std::string(nameOf(self.options.numerics));
  if (!self.options.ptxOptions.empty()) out["ptx_options"] = self.options.ptxOptions;
  if (!self.options.flushesExp2) out["enable_reflect_ftz"] = false;
  nb::list libraries;
  for (const auto &[name, path] : self.options.externLibs.value_or(KernelOptions::Libraries()))
    libraries.append(nb::make_tuple(name, path));
  if (self.options.externLibs) out["extern_libs"] = nb::tuple(libraries);
  out["backend_name"] = self.options.backend;
  return out;
}

// ---- to another process and back

/// The kernel as bytes and text: its code, and its tt IR, from which versions for launches that break the code's properties are compiled
/// there.
static nb::tuple savedState(const PyCompiled &self) {
  if (!self.compiled) raise(PyExc_TypeError, "a kernel of the interpreter cannot be pickled");
  const gpu::GpuKernel *gpu = self.compiled->gpu();
  std::string bytes = gpu ? encodeArtifact(gpu->artifact()) : encodeArtifact(self.compiled->artifact());
  nb::list parameters;
  for (const JitFunction::Parameter &parameter : self.function->parameters)
    parameters.append(nb::make_tuple(parameter.name, parameter.isConstexpr));
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), stageOf(self, "ttir"), self.function->name, parameters, descriptionOf(self),
                        optionsOf(self), gpu ? gpu->artifact().target : "", self.key());
}

static std::shared_ptr<PyCompiled> restored(nb::bytes bytes, const std::string &text, const std::string &name, nb::list parameters,
                                            nb::tuple description, nb::dict options, const std::string &target, std::string key) {
  auto out = std::make_shared<PyCompiled>();
  auto face = std::make_shared<JitFunction>();
  face->name = name;
  for (nb::handle row : parameters) {
    JitFunction::Parameter &parameter = face->parameters.emplace_back();
    parameter.name = nb::cast<std::string>(row[0]);
    parameter.isConstexpr = nb::cast<bool>(row[1]);
  }
  out->function = face;
  out->savedKey = std::move(key);
  readOptions(options, out->options);
  readDescription(description[0], {nb::cast<nb::dict>(description[1]), nb::cast<nb::list>(description[2])}, *out);
  Diagnostics diagnostics;
  out->text = readIrKernel(text, name + ".ttir", "", diagnostics);
  std::string_view code(bytes.c_str(), bytes.size());
  std::shared_ptr<CompiledKernel> loaded;
  if (!target.empty()) {
    out->options.backend = "cuda";
    if (std::optional<GpuTarget> gpu = gpuTarget(target)) out->options.capability = gpu->capability;
    if (std::optional<GpuArtifact> artifact = decodeGpuArtifact(code)) loaded = CompiledKernel::load(std::move(*artifact));
  } else if (std::optional<CpuArtifact> artifact = decodeArtifact(code)) {
    loaded = CompiledKernel::load(std::move(*artifact), diagnostics);
  }
  if (!loaded || !out->text) raise(PyExc_ValueError, "the kernel '" + name + "' was pickled by another version, or damaged since");
  loaded->setSpecs(*face, out->specs);
  out->compiled = loaded;
  loaded->allowOtherVersions(out->request());
  return out;
}

/// Makes a request from a kernel and a description of its arguments. An empty target is this CPU.
static CompileRequest readRequest(PyKernel &kernel, nb::list types, nb::dict constants, nb::list aligned, nb::dict options,
                                  const std::string &target, PyCompiled &out) {
  out.function = kernel.jit();
  readDescription(types, {constants, aligned}, out);
  readOptions(options, out.options);
  CompileRequest request = out.request();
  if (target.empty()) return request;
  request.gpu = gpuOfArch(target);
  out.options.backend = "cuda";
  out.options.capability = request.gpu->capability;
  return request;
}

/// triton.compile(ASTSource(...)): specialized for a description of arguments.
static std::shared_ptr<PyCompiled> compileDescribed(PyKernel &kernel, nb::list types, nb::dict constants, nb::list aligned,
                                                    nb::dict options, const std::string &target) {
  auto out = std::make_shared<PyCompiled>();
  Diagnostics diagnostics;
  CompileRequest request = readRequest(kernel, types, constants, aligned, options, target, *out);
  {
    WithoutGil release;
    Compiling compiling;
    out->compiled = CompiledKernel::make(request, diagnostics);
  }
  showWarnings(diagnostics);
  if (!out->compiled) raiseErrors(diagnostics, out->function.get());
  return out;
}

/// ASTSource.make_ir: text, operations, blocks and shapes (driver/operations.h), as compiler/operations.py takes them.
static nb::tuple operationsDescribed(PyKernel &kernel, nb::list types, nb::dict constants, nb::list aligned, nb::dict options,
                                     const std::string &target) {
  PyCompiled described;
  Diagnostics diagnostics;
  CompileRequest request = readRequest(kernel, types, constants, aligned, options, target, described);
  std::optional<TileOperations> found;
  {
    WithoutGil release;
    Compiling compiling;
    found = emittedOperations(request, diagnostics);
  }
  if (!found) raiseErrors(diagnostics, described.function.get());
  nb::list operations, blocks;
  for (const TileOperation &row : found->operations) {
    nb::dict attributes;
    for (const auto &[name, value] : row.attributes)
      attributes[name.c_str()] = std::visit([](const auto &known) { return nb::cast(known); }, value);
    operations.append(nb::make_tuple(row.name, row.operands, row.results, row.regions, row.block, attributes));
  }
  for (const TileBlock &block : found->blocks)
    blocks.append(nb::make_tuple(block.region, block.arguments));
  return nb::make_tuple(found->text, operations, blocks, found->shapes);
}

/// triton.compile("kernel.ttir"): an empty target is this CPU.
static std::shared_ptr<PyCompiled> compileText(const std::string &text, const std::string &file, nb::dict options,
                                               const std::string &target) {
  auto out = std::make_shared<PyCompiled>();
  readOptions(options, out->options);
  CompileRequest request;
  if (target.empty()) {
    request.target = hostCpu();
  } else {
    request.gpu = gpuOfArch(target);
    out->options.backend = "cuda";
  }
  Diagnostics diagnostics;
  {
    WithoutGil release;
    Compiling compiling;
    if ((out->text = readIrKernel(text, file, "", diagnostics))) {
      request.kernel = KernelSource(out->text);
      request.options = out->options;
      out->compiled = CompiledKernel::make(request, diagnostics);
    }
  }
  if (!out->compiled) raiseErrors(diagnostics, nullptr);
  out->function = out->text->face;
  out->specs = out->text->specs;
  return out;
}

static void dumpSteps(const PyCompiled &self, const std::string &folder) {
  Diagnostics diagnostics;
  Dump dump(folder, "", "txt");
  {
    WithoutGil release;
    Compiling compiling;
    CompileRequest request = self.request();
    request.onStep = [&](const StepDone &done) { dump.see(done); };
    if (request.gpu)
      compileForGpu(request, diagnostics);
    else
      compileForCpu(request, diagnostics);
  }
  if (diagnostics.hasErrors()) raiseErrors(diagnostics, self.function.get());
  if (!dump.problem().empty()) raise(PyExc_OSError, dump.problem());
}

/// The kernel's code for a program without Tilewright. Its launches have no guards, so the code has no assumptions.
/// `level`: a CPU level; empty: this CPU's.
static nb::dict standaloneOf(const PyCompiled &self, const std::string &level, const std::string &symbol) {
  CompileRequest request = self.request();
  request.symbol = symbol;
  request.failedGuards = {everyGuard};
  std::optional<CpuTarget> cpuLevel = level.empty() ? hostCpu() : cpuTarget(level);
  if (!cpuLevel) raise(PyExc_ValueError, "there is no CPU level '" + level + "': there are " + cpuLevelNames());
  if (!request.gpu) request.target = *cpuLevel;
  Diagnostics diagnostics;
  std::unique_ptr<CpuArtifact> cpu;
  std::unique_ptr<GpuArtifact> gpu;
  std::optional<std::string> assembly;
  {
    WithoutGil release;
    Compiling compiling;
    if (request.gpu)
      gpu = compileForGpu(request, diagnostics);
    else if ((cpu = compileForCpu(request, diagnostics)))
      assembly = emitStage(request, Stage::assembly, diagnostics);
  }
  if (!gpu && !assembly) raiseErrors(diagnostics, self.function.get());
  nb::dict out;
  out["entry"] = gpu ? gpu->entry : cpu->entry;
  if (gpu) {
    const std::string &code = gpu->cubin.empty() ? gpu->ptx : gpu->cubin;
    out["code"] = nb::bytes(code.data(), code.size());
    out["shared"] = gpu->sharedBytes;
    out["threads"] = 32 * gpu->warps;
    out["maps"] = gpu->maps.size();
  } else {
    out["code"] = *assembly;
    out["source"] = assemblyStatement(*assembly);
    out["arena_bytes"] = cpu->arenaBytes;
    out["head_bytes"] = sizeof(ArenaHead);
  }
  return out;
}

static nb::object gpuProperties(PyCompiled &self) {
  const gpu::GpuKernel *kernel = self.compiled ? self.compiled->gpu() : nullptr;
  if (!kernel) return nb::none();
  const GpuArtifact &artifact = kernel->artifact();
  std::optional<GpuTarget> target = gpuTarget(artifact.target);
  nb::dict properties;
  properties["target"] = artifact.target;
  properties["capability"] = target ? target->capability : int64_t(0);
  properties["num_warps"] = artifact.warps;
  properties["num_ctas"] = artifact.ctas;
  properties["shared"] = artifact.sharedBytes;
  properties["n_regs"] = std::max<int64_t>(kernel->registers(), 0);
  // Upstream counts 4-byte registers.
  properties["n_spills"] = std::max<int64_t>(kernel->spillBytes(), 0) / 4;
  properties["messages"] = artifact.messages;
  return properties;
}

static std::vector<std::string> writtenNames(PyCompiled &self) {
  std::vector<std::string> names;
  if (!self.compiled || !self.function) return names;
  for (auto [parameter, isWritten] : llvm::zip(self.function->parameters, writtenParameters(*self.compiled)))
    if (isWritten) names.push_back(parameter.name);
  return names;
}

void defineCompiled(nb::module_ &module) {
  nb::class_<PyCompiled>(module, "Compiled")
      .def("stage", &stageOf, "The kernel at one stage: source, ttir, loops, llir, asm as text, obj as bytes.", "name"_a)
      .def(
          "launch",
          [](PyCompiled &self, nb::handle grid, nb::handle stream, nb::args args) {
            self.launch(readGrid(grid), UnpackedArguments(args, nb::handle()), stream);
          },
          "grid"_a, "stream"_a.none(), "args"_a)
      .def(
          "runner", [](nb::handle self, nb::handle watched) { return nb::steal(runnerOf(self.ptr(), watched.ptr())); }, "watched"_a)
      .def_prop_ro("stages", &stageNames)
      .def("emitted_tiles", [](const PyCompiled &self) { return madeAgain(self, emittedTiles); })
      .def("standalone", &standaloneOf,
           "Code without assumptions about launches, for a program without Tilewright. `symbol`: of the function for a CPU.", "level"_a,
           "symbol"_a)
      .def_prop_ro("gpu", &gpuProperties)
      .def_prop_ro("name",
                   [](PyCompiled &self) { return self.function   ? self.function->name
                                                 : self.compiled ? self.compiled->entryName()
                                                                 : ""; })
      .def_prop_ro("signature", [](PyCompiled &self) { return self.function ? signatureText(*self.function, self.specs) : std::string(); })
      .def_prop_ro("key", [](PyCompiled &self) { return self.key(); })
      .def_prop_ro("written", &writtenNames, "The parameters whose tensors it may write to.")
      .def_prop_ro("interpreted", [](PyCompiled &self) { return !self.compiled; })
      .def_prop_ro("from_cache", [](PyCompiled &self) { return self.compiled && self.compiled->fromCache(); })
      .def_prop_ro("step_seconds",
                   [](PyCompiled &self) {
                     nb::list out;
                     if (!self.compiled) return out;
                     for (const auto &[step, seconds] : self.compiled->stepSeconds())
                       out.append(nb::make_tuple(step, seconds));
                     return out;
                   })
      .def("dump", &dumpSteps, "Compiles again, and writes what each step leaves to numbered files.", "folder"_a)
      .def_prop_ro("compile_seconds", [](PyCompiled &self) { return self.compiled ? self.compiled->compileSeconds() : 0.0; })
      .def_prop_ro("assemble_seconds", [](PyCompiled &self) { return self.compiled ? self.compiled->assembleSeconds() : 0.0; })
      .def_prop_ro("arena_bytes", [](PyCompiled &self) { return self.compiled ? self.compiled->artifact().arenaBytes : int64_t(0); })
      .def_prop_ro("options", &optionsOf)
      .def_prop_ro("description", &descriptionOf, "Types by parameter (None: a constant), constants and multiples of 16 by their paths.")
      .def("__reduce__",
           [](const PyCompiled &self) { return nb::make_tuple(packageObject("compiler.compiled", "restore"), savedState(self)); });
  module.def("restore_compiled", &restored);
  module.def("compile_described", &compileDescribed, "kernel"_a, "types"_a, "constants"_a, "aligned"_a, "options"_a, "target"_a = "");
  module.def("operations_described", &operationsDescribed, "kernel"_a, "types"_a, "constants"_a, "aligned"_a, "options"_a, "target"_a = "");
  module.def("compile_text", &compileText, "text"_a, "file"_a, "options"_a, "target"_a = "");
}

} // namespace tilewright::python
