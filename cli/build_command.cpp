// `tilewright build`: kernels ahead of time, to a library and a header for programs without the compiler.

#include "aot/build.h"
#include "aot/tuned.h"
#include "cli/command.h"
#include "cli/native_kernels.h"
#include "cli/options.h"
#include "evaluate/imports.h"
#include "runtime/cache.h"
#include "support/c_names.h"
#include "support/files.h"

#include "llvm/ADT/STLExtras.h"

#include <unistd.h>

namespace tilewright {

const CommandSpec &buildSpec() {
  static const std::string targets = "cpu: with one of " + cpuLevelNames() + "; cpu:native, for CPUs like this one; or GPUs, as " +
                                     defaultGpuText() + "; several are separated by commas";
  static const CommandSpec spec = [] {
    CommandSpec result{
        "build",
        "FILE[:KERNEL] --signature TEXT ... --target TARGETS [--grid EXPR] -o OUT [--header FILE]",
        "Compiles a kernel ahead of time to a static or shared library with code for several targets and specializations. Programs link it "
        "together with libtilewright_rt, and need no compiler. FILE is a Python file with @triton.jit functions, tt IR (.ttir, .mlir), a "
        "file in C++ (.cpp) whose kernels TILEWRIGHT_EXPORT lists, or the shared library (.so) of such files. A file in C++ is compiled "
        "with "
        "$CXX, c++, clang++ or g++, and with $CXXFLAGS.",
        "A signature gives the type or the constant of each parameter, by name or in order:\n"
        "  --signature 'x_ptr=*fp32:16, n=i32, BLOCK_SIZE=1024'      a pointer aligned to 16 bytes, an int, a constexpr\n"
        "Several signatures make several specializations. A launch takes the first that its arguments fit. A constant that differs "
        "between\n"
        "signatures is an argument of the launcher. Signatures with other types make launchers of their own, named after the types.\n"
        "Kernels in C++ have types: their signatures give only what is known of the values, x=*fp32:16, and may be left out.\n"
        "The grid is one to three expressions over parameters and constants, computed at each launch:\n"
        "  --grid 'cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)'               or a lambda of a dict, as Triton's hosts write it\n"
        "Without it, the caller passes three extents.\n",
        {{"--kernel", "NAME", "the kernel; optional if the file has only one"},
         {"--signature", "TEXT", "the types and constants of the parameters; give the option once per specialization"},
         {"--target", "TARGETS", targets.c_str()},
         {"--grid", "EXPR", "the number of programs along each axis; see below"},
         {"-o", "OUT", "the library: NAME.a or NAME.so"},
         {"--header", "FILE", "write the header with the launchers in C and C++"},
         {"--name", "NAME", "the launcher's name in C; default: the kernel's name"},
         {"--tuned", "", "use the measured configurations of @triton.autotune; a launch takes that of the nearest measured problem"},
         {"--tuned-file", "FILE", "the same, with measurements that `tilewright tune --export` wrote"},
         {"--tuned-device", "TEXT", "with --tuned: take the measurements of the device whose name contains TEXT; may be given for several"},
         {"--ffi", "", "add an entry for TVM-FFI, which takes DLPack tensors"},
         {"--depfile", "FILE", "write the files that the result depends on, as rules for make and ninja"}}};
    for (const OptionSpec &option : codeOptions())
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

namespace {
/// The command line, read.
struct Order {
  aot::BuildRequest request;
  std::shared_ptr<const IrKernel> text;
  FileKernel kernel;
  std::string path, output, header, depfile;
  std::vector<std::string> measurements; // the files that --tuned reads
};
} // namespace

static int readOutputs(const CommandLine &line, Order &order) {
  order.output = line.get("-o", "");
  order.header = line.get("--header", "");
  order.depfile = line.get("--depfile", "");
  llvm::StringRef output = order.output;
  order.request.isShared = output.ends_with(".so");
  if (!order.request.isShared && !output.ends_with(".a")) return fail("build writes a library: -o NAME.a or -o NAME.so");
  Result<std::vector<aot::Target>> targets = aot::readTargets(line.get("--target", ""));
  if (!targets) return fail("--target: " + targets.error());
  order.request.targets = std::move(*targets);
  order.request.grid = line.get("--grid", "");
  order.request.ffi = line.has("--ffi");
  return success;
}

static bool isTuned(const CommandLine &line) {
  return line.has("--tuned") || line.has("--tuned-file");
}

/// Without measurements, a signature takes the constants that it does not give from the first configuration: returns whether it did, with a
/// warning.
static bool noteFirstConfig(const JitFunction &kernel, const std::string &signature, Diagnostics &diagnostics) {
  std::vector<std::string> open = aot::openParameters(kernel, signature);
  if (open.empty() || kernel.autotune->configs.size() < 2) return false;
  std::string values;
  for (const auto &[name, value] : kernel.autotune->configs.front().kwargs)
    if (llvm::is_contained(open, name)) values += (values.empty() ? "" : ", ") + name + "=" + value.repr();
  diagnostics.warning({}, Diag::invalidOption,
                      {"kernel '" + kernel.name + "' has " + std::to_string(kernel.autotune->configs.size()) +
                           " configurations, and the code is for the constants of the first: " + values,
                       "take measured configurations with --tuned, or give the constants in --signature"});
  return true;
}

/// Reads the measurements of --tuned, and notes their files in `order`. Null after an error.
static std::optional<std::vector<TunedEntry>> tunedEntries(const CommandLine &line, Order &order, Diagnostics &diagnostics) {
  if (!line.has("--tuned-file")) {
    std::vector<TunedEntry> entries = allTuned(diagnostics);
    for (const TunedEntry &entry : entries)
      if (entry.problem.kernel == order.kernel.function->name)
        if (std::string file = cachedFile(tunedKey(entry.problem, entry.configs), CacheKind::tuned); ::access(file.c_str(), R_OK) == 0)
          order.measurements.push_back(std::move(file));
    return entries;
  }
  std::string path = line.get("--tuned-file", "");
  order.measurements.push_back(path);
  Result<std::vector<TunedEntry>> entries = readTunedFile(path);
  if (entries) return std::move(*entries);
  fail("--tuned-file: " + entries.error());
  return std::nullopt;
}

/// Reads the specializations of a Python file. Returns 0, or the exit status.
static int readSignatures(const CommandLine &line, const KernelOptions &options, Order &order, Diagnostics &diagnostics) {
  std::optional<FileKernel> kernel = loadKernel(order.path, line.get("--kernel", ""), diagnostics);
  if (!kernel) return report(diagnostics, ourError);
  order.kernel = *kernel;
  order.request.kernel = KernelSource(kernel->function);
  std::vector<std::string> signatures = line.all("--signature");
  if (signatures.empty() && kernel->isNative) signatures.push_back(""); // C++ gives all types
  if (signatures.empty()) return fail("build needs --signature, once for each specialization");
  if (isTuned(line)) {
    std::optional<std::vector<TunedEntry>> entries = tunedEntries(line, order, diagnostics);
    if (!entries) return userError;
    auto tuned = aot::tunedSpecializations(*kernel->function, signatures, options, *entries, order.request.targets,
                                           line.all("--tuned-device"), diagnostics);
    if (!tuned) return report(diagnostics, ourError);
    for (aot::Specialization &specialization : *tuned)
      if (!takeNativeTypes(*kernel, specialization.args, diagnostics)) return report(diagnostics, ourError);
    order.request.specializations = std::move(*tuned);
    order.request.key = kernel->function->autotune->key;
    return success;
  }
  bool isNoted = false;
  for (const std::string &signature : signatures) {
    std::optional<std::vector<aot::Specialization>> read = aot::readSpecializations(*kernel->function, signature, options, diagnostics);
    if (!read) return report(diagnostics, ourError);
    for (aot::Specialization &specialization : *read) {
      if (!takeNativeTypes(*kernel, specialization.args, diagnostics)) return report(diagnostics, ourError);
      order.request.specializations.push_back(std::move(specialization));
    }
    isNoted = isNoted || noteFirstConfig(*kernel->function, signature, diagnostics);
  }
  return success;
}

/// Reads the kernel of IR text, which has its types. Returns 0, or the exit status.
static int readText(const CommandLine &line, const KernelOptions &options, Order &order, Diagnostics &diagnostics) {
  if (line.has("--signature")) return fail("IR text is compiled for the types it has: --signature is for Python files");
  if (isTuned(line)) return fail("IR text has no configurations: --tuned is for Python files");
  Result<std::string> text = readFile(order.path);
  if (!text) return fail("cannot read '" + order.path + "': " + text.error());
  order.text = readIrKernel(*text, order.path, line.get("--kernel", ""), diagnostics);
  if (!order.text) return report(diagnostics, ourError);
  order.request.kernel = KernelSource(order.text);
  order.request.specializations.push_back({order.text->specs, options, {}, {}, {}});
  return success;
}

/// Escapes a path for a rule of make.
static std::string escaped(const std::string &path) {
  std::string text;
  for (char c : path)
    text += c == ' ' || c == '#' ? std::string("\\") + c : c == '$' ? "$$" : std::string(1, c);
  return text;
}

static std::string dependencyRule(const Order &order) {
  std::string rule = escaped(order.output) + ":";
  std::vector<std::string> files;
  if (order.kernel.module) files = importedFiles(*order.kernel.module);
  files.insert(files.end(), order.kernel.files.begin(), order.kernel.files.end());
  files.insert(files.end(), order.measurements.begin(), order.measurements.end());
  files.insert(files.begin(), order.path);
  for (const std::string &file : files)
    rule += " \\\n  " + escaped(file);
  return rule + "\n";
}

static int writeOutputs(const Order &order, const aot::BuiltArtifact &artifact) {
  std::string fileName = order.output.substr(order.output.rfind('/') + 1);
  Result<std::string> library = order.request.isShared ? aot::sharedLibraryOf(artifact, fileName) : aot::archiveOf(artifact.objects);
  if (!library) return fail("cannot link '" + order.output + "': " + library.error());
  std::vector<std::pair<std::string, std::string>> files;
  if (!order.header.empty())
    files.emplace_back(order.header, aot::headerText(artifact, order.header.substr(order.header.rfind('/') + 1), order.request.ffi));
  if (!order.depfile.empty()) files.emplace_back(order.depfile, dependencyRule(order));
  files.emplace_back(order.output, std::move(*library)); // last, so that it is newer than the others
  for (const auto &[path, bytes] : files)
    if (Result<void> done = writeOutputFile(path, bytes); !done) return fail("cannot write '" + path + "': " + done.error());
  return success;
}

int buildMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(buildSpec(), argc, argv, status);
  if (!line) return status;
  if (line->words.size() != 1) return fail("build expects one FILE");
  if (line->has("--tuned-device") && !isTuned(*line)) return fail("--tuned-device is for --tuned and --tuned-file");
  Order order;
  order.path = line->words.front();
  if (int failed = readOutputs(*line, order)) return failed;
  std::optional<KernelOptions> options = readCodeOptions(*line);
  if (!options) return userError;
  Diagnostics diagnostics;
  bool isText = isIrFile(order.path);
  if (int failed = isText ? readText(*line, *options, order, diagnostics) : readSignatures(*line, *options, order, diagnostics))
    return failed;
  order.request.name = line->get("--name", order.request.kernel.name());
  if (std::string problem = problemOfFunctionName(order.request.name); !problem.empty())
    return fail("'" + order.request.name + "' " + problem + ": give another with --name");
  std::optional<aot::BuiltArtifact> artifact = aot::build(order.request, diagnostics);
  if (!artifact) return report(diagnostics, ourError);
  report(diagnostics, success);
  return writeOutputs(order, *artifact);
}

} // namespace tilewright
