// The command `tilewright`: everything the library does, without Python.

#include "cli/command.h"
#include "cli/opt.h"

#include <cstdio>
#include <string_view>

using namespace tilewright;

static constexpr struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"compile", "a kernel to any stage: syntax tree, tt IR, loops, LLVM IR, assembly, object code", compileMain},
    {"run", "run a kernel straight from its file on generated or .npy data; check it, time it, step through it", runMain},
    {"opt", "run passes on IR text", nullptr},
    {"explain", "what an error means, what a builtin does", explainMain},
    {"info", "version, processor, threads, caches", infoMain},
    {"cache", "the folder of compiled kernels: where, how much, clear it", cacheMain},
};

static int printHelp(std::FILE *file, int status) {
  std::fprintf(file, "usage: tilewright COMMAND [ARGUMENTS]\n\nThe Triton tile language, compiled.\n\ncommands:\n");
  for (const auto &command : commands)
    std::fprintf(file, "  %-10s %s\n", command.name, command.summary);
  std::fprintf(file, "\n'tilewright COMMAND --help' tells more. Exit status: 0, 1 for a mistake in the input, 2 for one of ours.\n");
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) return printHelp(stderr, userError);
  std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") return printHelp(stdout, success);
  if (name == "--version") name = "info";
  for (const auto &command : commands) {
    if (name != command.name) continue;
    // The pass driver takes a whole command line, with a program name in front.
    return command.run ? command.run(argc - 2, argv + 2) : optMain(argc - 1, argv + 1);
  }
  fail("there is no command '" + std::string(name) + "'");
  return printHelp(stderr, userError);
}
