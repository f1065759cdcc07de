// The commands of `tilewright`, which give access to the library without Python.

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/opt.h"
#include "runtime/signals.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

using namespace tilewright;

static constexpr Command commands[] = {
    {"compile", "a kernel to any stage: syntax tree, tt IR, loops, LLVM IR, assembly, object code", compileSpec, compileMain},
    {"build", "a kernel ahead of time: a library for several targets and specializations, and its header in C and C++", buildSpec,
     buildMain},
    {"run", "run a kernel straight from its file on generated or .npy data; check it, time it, step through it", runSpec, runMain},
    {"tune", "measure a kernel's configurations and store the best; list, export and import stored results", tuneSpec, tuneMain},
    {"verify", "compare a kernel with its reference, for inputs of many shapes", verifySpec, verifyMain},
    {"bench", "measure a kernel, and compare it with its reference and the machine's peaks", benchSpec, benchMain},
    {"profile", "list the kernels of a script by their time, compared with the machine's peaks", profileSpec, profileMain},
    {"opt", "run passes on IR text", nullptr, nullptr},
    {"explain", "explain an error, a builtin, or how a kernel was compiled", explainSpec, explainMain},
    {"info", "show the version, CPU, threads, caches and settings", infoSpec, infoMain},
    {"cache", "show, list or clear the folder of compiled kernels", cacheSpec, cacheMain},
    {"completion", "print a script that makes a shell complete commands and options", completionSpec, completionMain},
    {"man", "print all of this as a manual page", manSpec, manMain},
};

llvm::ArrayRef<Command> tilewright::allCommands() {
  return commands;
}

static int printHelp(std::FILE *file, int status) {
  std::fprintf(file,
               "usage: tilewright COMMAND [ARGUMENTS]\n\nCompiles, runs and measures kernels of the Triton tile language.\n\ncommands:\n");
  for (const auto &command : commands)
    std::fprintf(file, "  %-10s %s\n", command.name, command.summary);
  std::fprintf(file, "\n'tilewright COMMAND --help' shows its options. Exit status: 0 for success, 1 for an error in the input, 2 for a "
                     "bug in Tilewright.\n"
                     "With --json, the standard output is one JSON value; after an error it is {\"error\": TEXT}.\n");
  return status;
}

// A failed write of the output (a full disk) is an error.
static int finish(int status) {
  if (endJson(status) && std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  return fail("cannot write the standard output: " + std::string(std::strerror(errno)));
}

/// Exported, because the self-contained release has one library, which the command calls.
extern "C" __attribute__((visibility("default"))) int twCommand(int argc, char **argv) {
  if (argc < 2) return printHelp(stderr, userError);
  tilewright::reportBadAddresses();
  std::string_view name = argv[1];
  bool asksForHelp = name == "--help" || name == "-h" || name == "help";
  if (asksForHelp && argc == 2) return finish(printHelp(stdout, success));
  char help[] = "--help", *helpOfCommand[] = {argv[0], argv[argc - 1], help};
  if (asksForHelp) return twCommand(3, helpOfCommand); // help COMMAND
  if (name == "--version" || name == "-V") return finish(printVersion());
  for (const auto &command : commands) {
    if (name != command.name) continue;
    // The pass driver takes a whole command line, with the program's name as its first word.
    if (!command.run) return finish(optMain(argc - 1, argv + 1));
    return finish(command.run(argc - 2, argv + 2));
  }
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.name);
  return failUnknown("there is no command '" + std::string(name) + "'; 'tilewright --help' lists the commands", std::string(name), names);
}
