// The extension module tilewright._core: what the .py files of the package stand on.

#include "compiled.h"
#include "core.h"

#include "evaluate/builtins.h"
#include "evaluate/module.h"
#include "pipeline/build_id.h"
#include "runtime/cache.h"
#include "runtime/cuda/kernel.h"
#include "runtime/pool.h"
#include "support/artifact.h"
#include "support/files.h"
#include "support/target.h"

#include "llvm/ADT/STLExtras.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

using namespace nb::literals;

namespace tilewright::python {

static std::optional<Stage> stageNamed(const std::string &name) {
  if (name == "source") return Stage::ast;
  if (name == "ttir") return Stage::tt;
  if (name == "loops") return Stage::loops;
  if (name == "llir") return Stage::llvm;
  if (name == "asm") return Stage::assembly;
  if (name == "obj") return Stage::object;
  return std::nullopt;
}

// Of a GPU kernel: what the compiler kept, and what can be made again from the source.
static nb::object gpuStageOf(const PyCompiled &self, const GpuArtifact &artifact, const std::string &name) {
  if (name == "ptx" && !artifact.ptx.empty()) return nb::str(artifact.ptx.c_str(), artifact.ptx.size());
  if (name == "cubin" && !artifact.cubin.empty()) return nb::bytes(artifact.cubin.data(), artifact.cubin.size());
  for (const auto &[stage, text] : artifact.stages)
    if (stage == name) return nb::str(text.c_str(), text.size());
  std::optional<Stage> known = name == "source"  ? std::optional(Stage::ast)
                               : name == "ttir"  ? std::optional(Stage::tt)
                               : name == "ttgir" ? std::optional(Stage::ttg)
                               : name == "llir"  ? std::optional(Stage::llvm)
                                                 : std::nullopt;
  if (!known || !self.function) raise(PyExc_KeyError, name);
  Diagnostics diagnostics;
  std::optional<std::string> text;
  {
    WithoutGil release;
    Compiling compiling;
    text = emitStage(self.request(), *known, diagnostics);
  }
  if (!text) raiseErrors(diagnostics, self.function.get());
  return nb::str(text->c_str(), text->size());
}

static std::vector<std::string> stageNames(const PyCompiled &self) {
  if (!self.compiled || !self.compiled->gpu()) return {"source", "ttir", "loops", "llir", "asm", "obj"};
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
  std::optional<Stage> stage = stageNamed(name);
  if (!stage) raise(PyExc_KeyError, name);
  if (*stage == Stage::object && self.compiled) {
    const std::string &object = self.compiled->artifact().object;
    return nb::bytes(object.data(), object.size());
  }
  if (self.text && *stage == Stage::ast) {
    std::string_view source = self.text->file->text();
    return nb::str(source.data(), source.size());
  }
  Diagnostics diagnostics;
  std::optional<std::string> text;
  {
    WithoutGil release;
    Compiling compiling;
    text = emitStage(self.request(), *stage, diagnostics);
  }
  if (!text) raiseErrors(diagnostics, self.function.get());
  if (*stage == Stage::object) return nb::bytes(text->data(), text->size());
  return nb::str(text->c_str(), text->size());
}

void defineCompiled(nb::module_ &module) {
  nb::class_<PyCompiled>(module, "Compiled")
      .def("stage", &stageOf, "The kernel at one stage: source, ttir, loops, llir, asm as text, obj as bytes.", "name"_a)
      .def(
          "launch", [](PyCompiled &self, nb::handle grid, nb::handle stream, nb::args args) { self.launch(grid, args, stream); }, "grid"_a,
          "stream"_a.none(), "args"_a)
      .def_prop_ro("stages", &stageNames)
      .def_prop_ro("gpu",
                   [](PyCompiled &self) -> nb::object {
                     const gpu::GpuKernel *kernel = self.compiled ? self.compiled->gpu() : nullptr;
                     if (!kernel) return nb::none();
                     const GpuArtifact &artifact = kernel->artifact();
                     std::optional<GpuTarget> target = gpuTarget(artifact.target);
                     nb::dict facts;
                     facts["target"] = artifact.target;
                     facts["capability"] = target ? target->capability : int64_t(0);
                     facts["num_warps"] = artifact.warps;
                     facts["num_ctas"] = artifact.ctas;
                     facts["shared"] = artifact.sharedBytes;
                     facts["n_regs"] = std::max<int64_t>(kernel->registers(), 0);
                     // Upstream counts 4-byte registers.
                     facts["n_spills"] = std::max<int64_t>(kernel->spillBytes(), 0) / 4;
                     facts["messages"] = artifact.messages;
                     return facts;
                   })
      .def_prop_ro("name",
                   [](PyCompiled &self) { return self.function   ? self.function->name
                                                 : self.compiled ? self.compiled->entryName()
                                                                 : ""; })
      .def_prop_ro("signature", [](PyCompiled &self) { return self.function ? signatureText(*self.function, self.specs) : std::string(); })
      .def_prop_ro("key", [](PyCompiled &self) { return self.function ? kernelCacheKey(self.request()) : std::string(); })
      .def_prop_ro("interpreted", [](PyCompiled &self) { return !self.compiled; })
      .def_prop_ro("from_cache", [](PyCompiled &self) { return self.compiled && self.compiled->fromCache(); })
      .def_prop_ro("compile_seconds", [](PyCompiled &self) { return self.compiled ? self.compiled->compileSeconds() : 0.0; })
      .def_prop_ro("assemble_seconds", [](PyCompiled &self) { return self.compiled ? self.compiled->assembleSeconds() : 0.0; })
      .def_prop_ro("arena_bytes", [](PyCompiled &self) { return self.compiled ? self.compiled->artifact().arenaBytes : int64_t(0); })
      .def_prop_ro("options", [](PyCompiled &self) {
        nb::dict out;
        out["num_warps"] = self.options.numWarps;
        out["num_stages"] = self.options.numStages;
        out["num_ctas"] = self.options.numCtas;
        out["maxnreg"] = self.options.maxnreg ? nb::object(nb::int_(*self.options.maxnreg)) : nb::none();
        out["debug"] = self.options.debug;
        out["enable_fp_fusion"] = self.options.fpFusion;
        out["backend_name"] = self.options.backend;
        return out;
      });
}

static void readOptions(nb::dict options, KernelOptions &out) {
  auto given = [&](const char *name) { return options.contains(name) && !nb::object(options[name]).is_none(); };
  auto number = [&](const char *name, int64_t &field) {
    if (given(name)) field = nb::cast<int64_t>(options[name]);
  };
  number("num_warps", out.numWarps);
  number("num_stages", out.numStages);
  number("num_ctas", out.numCtas);
  if (options.contains("debug")) out.debug = nb::cast<bool>(nb::bool_(options["debug"]));
  if (options.contains("enable_fp_fusion")) out.fpFusion = nb::cast<bool>(nb::bool_(options["enable_fp_fusion"]));
  if (given("maxnreg")) out.maxnreg = nb::cast<int64_t>(options["maxnreg"]);
}

/// Compiles for the request's machine and loads the code. Without the GIL.
static std::shared_ptr<CompiledKernel> compileNow(const CompileRequest &request, Diagnostics &diagnostics) {
  std::shared_ptr<CompiledKernel> loaded;
  if (request.gpu) {
    if (std::unique_ptr<GpuArtifact> artifact = compileForGpu(request, diagnostics)) {
      loaded = CompiledKernel::load(std::move(*artifact));
      loaded->allowOtherVersions(request);
    }
  } else if (std::unique_ptr<CpuArtifact> artifact = compileForCpu(request, diagnostics)) {
    loaded = CompiledKernel::load(std::move(*artifact), diagnostics);
  }
  if (loaded) loaded->setSpecs(*request.kernel.face(), request.kernel.irKernel() ? request.kernel.irKernel()->specs : request.args);
  return loaded;
}

/// triton.compile(ASTSource(...)): specialised by a description instead of arguments. `types`: for each parameter its type's name, or None
/// where `constants` has its value; `aligned`: the parameters that are multiples of 16.
static std::shared_ptr<PyCompiled> compileDescribed(PyKernel &kernel, nb::list types, nb::dict constants, std::vector<int64_t> aligned,
                                                    nb::dict options, const std::string &target) {
  auto out = std::make_shared<PyCompiled>();
  out->function = kernel.jit();
  size_t index = 0;
  for (nb::handle type : types) {
    ArgumentSpec &spec = out->specs.emplace_back();
    if (type.is_none()) {
      spec.constant = toValue(constants[nb::int_(index)]);
    } else {
      std::string name = nb::cast<std::string>(type);
      std::optional<Type> parsed = parseTypeName(name);
      if (!parsed)
        raise(PyExc_ValueError,
              "'" + name + "' is not the name of a type, for the parameter '" + out->function->parameters[index].name + "'");
      spec.type = *parsed;
    }
    ++index;
  }
  for (int64_t position : aligned)
    if (position >= 0 && position < static_cast<int64_t>(out->specs.size())) out->specs[static_cast<size_t>(position)].divisibility = 16;
  readOptions(options, out->options);
  Diagnostics diagnostics;
  CompileRequest request = out->request();
  if (!target.empty()) {
    std::optional<GpuTarget> gpu = gpuTarget(target);
    if (!gpu) raise(PyExc_ValueError, "there is no GPU target '" + target + "': there are " + gpuTargetNames());
    out->options.backend = "cuda";
    out->options.capability = gpu->capability;
    request.gpu = *gpu;
  }
  {
    WithoutGil release;
    Compiling compiling;
    out->compiled = compileNow(request, diagnostics);
  }
  showWarnings(diagnostics);
  if (!out->compiled) raiseErrors(diagnostics, out->function.get());
  return out;
}

/// triton.compile("kernel.ttir"): an empty target is this processor.
static std::shared_ptr<PyCompiled> compileText(const std::string &text, const std::string &file, nb::dict options,
                                               const std::string &target) {
  auto out = std::make_shared<PyCompiled>();
  readOptions(options, out->options);
  CompileRequest request;
  if (target.empty()) {
    request.target = hostCpu();
  } else {
    request.gpu = gpuTarget(target);
    if (!request.gpu) raise(PyExc_ValueError, "there is no GPU target '" + target + "': there are " + gpuTargetNames());
    out->options.backend = "cuda";
  }
  Diagnostics diagnostics;
  {
    WithoutGil release;
    Compiling compiling;
    if ((out->text = readIrKernel(text, file, "", diagnostics))) {
      request.kernel = KernelSource(out->text);
      request.options = out->options;
      out->compiled = compileNow(request, diagnostics);
    }
  }
  if (!out->compiled) raiseErrors(diagnostics, nullptr);
  out->function = out->text->face;
  out->specs = out->text->specs;
  return out;
}

static std::vector<std::tuple<std::string, std::string, std::string>> builtinRows() {
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  for (const Builtin *builtin : allBuiltins())
    rows.emplace_back(builtin->path.str(), builtin->signature.str(), builtin->summary.str());
  return rows;
}

/// The names below a module of the language and what each is: "builtin", "function", "type", "module", "other".
static std::vector<std::pair<std::string, std::string>> languageMembers(const std::string &path) {
  std::vector<std::pair<std::string, std::string>> members;
  std::shared_ptr<Namespace> module = languageModule(path);
  if (!module) return members;
  for (const std::string &name : module->names()) {
    Diagnostics ignored;
    std::optional<Value> value = module->lookup(name, ignored);
    if (!value) continue;
    const char *kind = value->asBuiltin()     ? "builtin"
                       : value->asFunction()  ? "function"
                       : value->asType()      ? "type"
                       : value->asNamespace() ? "module"
                                              : "other";
    members.emplace_back(name, kind);
  }
  return members;
}

static nb::dict targetFacts() {
  const CpuTarget &target = hostCpu();
  nb::dict facts;
  facts["level"] = target.name;
  facts["cpu"] = target.cpu;
  facts["vector_bytes"] = target.vectorBytes;
  facts["registers"] = target.registers;
  facts["l2_bytes"] = target.l2Bytes;
  facts["llc_bytes"] = target.llcBytes;
  facts["threads"] = defaultThreads();
  return facts;
}

static nb::dict cudaDevice(int64_t ordinal) {
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = gpu::CudaDevice::get(ordinal, diagnostics);
  if (!device) raiseErrors(diagnostics, nullptr);
  nb::dict facts;
  facts["name"] = device->name;
  facts["major"] = device->major;
  facts["minor"] = device->minor;
  facts["target"] = device->target.name;
  facts["max_shared_mem"] = device->sharedPerBlock;
  facts["max_num_regs"] = device->registersPerBlock;
  facts["multiprocessor_count"] = device->multiprocessors;
  facts["warpSize"] = device->warpSize;
  facts["sm_clock_rate"] = device->clockKhz;
  facts["mem_clock_rate"] = device->memoryClockKhz;
  facts["mem_bus_width"] = device->memoryBusBits;
  facts["l2_bytes"] = device->l2Bytes;
  facts["total_memory"] = device->memoryBytes;
  return facts;
}

static void cudaSynchronize(int64_t ordinal) {
  Diagnostics diagnostics;
  {
    WithoutGil release;
    if (const gpu::CudaDevice *device = gpu::CudaDevice::get(ordinal, diagnostics)) device->synchronize(diagnostics);
  }
  if (diagnostics.hasErrors()) raiseErrors(diagnostics, nullptr);
}

static nb::tuple setEngine(const std::string &name, bool checkBounds, std::optional<std::string> wanted) {
  EngineState &state = engineState();
  std::string target = wanted.value_or(defaultGpuText());
  if (!gpuTargetOfText(target))
    raise(PyExc_ValueError, "there is no target '" + target + "' to simulate: cuda:NAME, with NAME one of " + gpuTargetNames());
  nb::tuple before = nb::make_tuple(engineName(state.engine), state.checkBounds, state.target);
  if (name == "interpret")
    state.engine = Engine::interpret;
  else if (name == "cpu")
    state.engine = Engine::cpu;
  else if (name == "simulate")
    state.engine = Engine::simulate;
  else
    raise(PyExc_ValueError, "there is no engine '" + name + "': there are 'cpu', 'interpret' and 'simulate'");
  state.target = target;
  state.checkBounds = checkBounds;
  return before;
}

} // namespace tilewright::python

NB_MODULE(_core, module) {
  using namespace tilewright;
  using namespace tilewright::python;
  nb::set_leak_warnings(false); // kernels live in module globals, which outlive the extension's own end
  module.doc() = "Tilewright's compiler and runtime.";
  module.attr("__version__") = TILEWRIGHT_VERSION;
  defineKernel(module);
  defineCompiled(module);
  defineCompiling(module);
  module.def("builtins", &builtinRows, "Path, signature and summary of every builtin of the language.");
  module.def("language_members", &languageMembers, "path"_a);
  module.def("target", &targetFacts);
  module.def("build_id", [] { return buildId(); });
  module.def("set_engine", &setEngine, "name"_a, "check_bounds"_a = false, "target"_a = nb::none());
  module.def("engine", [] { return engineName(engineState().engine); });
  module.def("set_default_threads", [](int64_t threads) { setDefaultThreads(threads); }, "threads"_a);
  module.def("compile_described", &compileDescribed, "kernel"_a, "types"_a, "constants"_a, "aligned"_a, "options"_a, "target"_a = "");
  module.def("cuda_device_count", [] { return gpu::cudaDeviceCount(); }, "How many GPUs the NVIDIA driver knows; 0 without a driver.");
  module.def("cuda_device", &cudaDevice, "What a GPU is. RuntimeError if there is none, or none that code is made for.", "ordinal"_a = 0);
  module.def("cuda_synchronize", &cudaSynchronize, "Waits for a GPU's work; errors of earlier launches come here.", "ordinal"_a = 0);
  module.def(
      "set_default_device", [](int64_t device) { return defaultDevice().exchange(device); },
      "Where launches without tensors run: a CUDA device, or -1 for the CPU. Returns what it was.", "device"_a);
  module.def("default_device", [] { return defaultDevice().load(); });
  module.def("compile_text", &compileText, "text"_a, "file"_a, "options"_a, "target"_a = "");
  module.def("cache_directory", [] { return cacheDirectory(); });
  module.def("cache_enabled", [] { return cacheEnabled(); });
  module.def("cache_load", [](const std::string &key) -> nb::object {
    Diagnostics diagnostics;
    std::optional<std::string> bytes = loadCached(key, diagnostics);
    showWarnings(diagnostics);
    return bytes ? nb::object(nb::bytes(bytes->data(), bytes->size())) : nb::none();
  });
  module.def("cache_store", [](const std::string &key, nb::bytes bytes) {
    Diagnostics diagnostics;
    storeCached(key, std::string_view(bytes.c_str(), bytes.size()), diagnostics);
    showWarnings(diagnostics);
  });
  module.def(
      "element_type",
      [](nb::handle dtype) -> nb::object {
        std::optional<Scalar> scalar = scalarNamed(nb::cast<std::string>(nb::str(nb::getattr(dtype, "name", dtype))));
        return scalar ? nb::object(nb::str(scalarName(*scalar).str().c_str())) : nb::none();
      },
      "The language's name for an element type of NumPy, PyTorch, ml_dtypes.", "dtype"_a);
}
