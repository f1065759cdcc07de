// `tilewright verify`, `bench` and `profile`. Only Python can run the Python functions of a kernel file: these commands check
// their options as all commands do, and then replace their process by `python -m tilewright.verify`. That module calls the C++ library.

#include "cli/command.h"
#include "cli/json_output.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace tilewright {

static constexpr const char *fileDetails =
    "FILE is a Python file that defines\n"
    "  kernel_fn(*inputs)     the function to verify: it launches kernels, and returns tensors or writes to its inputs\n"
    "  reference_fn(*inputs)  the function that computes the expected results\n"
    "  get_inputs()           new inputs: a list, or a dict by parameter name\n";

static std::vector<OptionSpec> verifierOptions() {
  return {{"--rtol", "R", "relative tolerance; default by type: fp16 1e-3, bf16 1e-2, fp32 1e-5"},
          {"--atol", "A", "absolute tolerance; the same defaults"},
          {"--device", "cpu|cuda[:N]", "move PyTorch tensors to this device, whatever FILE uses"},
          {"--seed", "N", "the seed of random inputs; default 0"},
          {"--json", "", "one JSON object on the standard output"}};
}

const CommandSpec &verifySpec() {
  static const CommandSpec spec = [] {
    CommandSpec result{
        "verify", "FILE [options]",
        "Compares a kernel with its reference for several variants of its inputs: as given, strided, empty, of one element, of odd sizes.",
        fileDetails, verifierOptions()};
    result.options.push_back({"--variants", "A,B", "given, strided, empty, one, odd; default all"});
    return result;
  }();
  return spec;
}

const CommandSpec &benchSpec() {
  static const CommandSpec spec = [] {
    CommandSpec result{"bench", "FILE [options] | --compare OLD.json NEW.json",
                       "Verifies a kernel, then measures it and its reference, and compares both with the measured peaks of this machine.",
                       fileDetails, verifierOptions()};
    for (const OptionSpec &option :
         {OptionSpec{"--warmup", "N", "calls before the measured ones; default 10"},
          OptionSpec{"--repeat", "N", "measured calls; default 40"},
          OptionSpec{"--roofline", "FILE.svg", "draw the kernel on the machine's roofline"},
          OptionSpec{"--output", "FILE.json", "write the results, for --compare"},
          OptionSpec{"--compare", "", "compare two results; exit status 1 if the second is slower by more than the noise"},
          OptionSpec{"--measure-peaks", "", "measure the peaks of the machine again, and store them"}})
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

const CommandSpec &profileSpec() {
  static const CommandSpec spec{
      "profile",
      "[options] SCRIPT [ARGUMENTS ...]",
      "Runs a Python script, in which `import triton` means Tilewright, and lists its kernels: time, calls, GB/s, TFLOP/s,\n"
      "and the fraction of this machine's measured roofline.",
      "Options after the script's name are the script's own.\n"
      "  tilewright profile --trace trace.json script.py --its-own-option\n",
      {{"--json", "", "one JSON object on the standard output"},
       {"--trace", "FILE", "write launches and compilation steps in the format of Chrome's tracing viewer"},
       {"--no-peaks", "", "do not measure the peaks of the machine"}}};
  return spec;
}

/// The Python that TILEWRIGHT_PYTHON names, or the one that the package next to the command was built for, or the first on PATH.
static std::string pythonProgram() {
  if (const char *named = std::getenv("TILEWRIGHT_PYTHON"); named && *named) return named;
  return ::access(TILEWRIGHT_PYTHON_EXECUTABLE, X_OK) == 0 ? TILEWRIGHT_PYTHON_EXECUTABLE : "python3";
}

/// In a build folder the package is next to the command's folder.
static void showPackage() {
  std::string own = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<256> package(llvm::sys::path::parent_path(llvm::sys::path::parent_path(own)));
  llvm::sys::path::append(package, "python");
  if (!llvm::sys::fs::is_directory(package + "/tilewright")) return;
  const char *inherited = std::getenv("PYTHONPATH");
  std::string paths = package.str().str() + (inherited && *inherited ? ":" + std::string(inherited) : "");
  ::setenv("PYTHONPATH", paths.c_str(), 1);
}

static int startModule(const CommandSpec &spec, int argc, char **argv) {
  std::string program = pythonProgram(), module = std::string("tilewright.") + spec.name, option = "-m";
  showPackage();
  std::vector<char *> words = {program.data(), option.data(), module.data()};
  words.insert(words.end(), argv, argv + argc);
  words.push_back(nullptr);
  releaseOutput();
  ::execvp(program.c_str(), words.data());
  return fail(std::string(spec.name) + " runs Python, and '" + program + "' cannot be started: " + std::strerror(errno) +
              "; TILEWRIGHT_PYTHON names another");
}

static int runModule(const CommandSpec &spec, int argc, char **argv) {
  int status = 0;
  return readCommandLine(spec, argc, argv, status) ? startModule(spec, argc, argv) : status;
}

int verifyMain(int argc, char **argv) {
  return runModule(verifySpec(), argc, argv);
}

int benchMain(int argc, char **argv) {
  return runModule(benchSpec(), argc, argv);
}

/// Words after the script are its own arguments.
int profileMain(int argc, char **argv) {
  int own = 0, status = 0;
  while (own < argc && argv[own][0] == '-')
    own += std::strcmp(argv[own], "--trace") == 0 ? 2 : 1;
  if (!readCommandLine(profileSpec(), std::min(own + 1, argc), argv, status)) return status;
  if (own >= argc) return fail("profile expects a SCRIPT");
  return startModule(profileSpec(), argc, argv);
}

} // namespace tilewright
