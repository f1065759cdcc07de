// `tilewright man`: the manual page, made from the commands' CommandSpec and from the tables of settings and examples.

#include "cli/command.h"

#include <cstdio>
#include <string_view>

namespace tilewright {

const CommandSpec &manSpec() {
  static const CommandSpec spec{
      "man", "", "Prints the manual page of tilewright, for man(1).", "'cmake --install' puts it where man finds it.\n", {}};
  return spec;
}

/// Escapes text for roff: minus signs that can be copied, no line that looks like a request.
static std::string escaped(std::string_view text) {
  std::string result;
  bool isLineStart = true;
  for (char c : text) {
    if (isLineStart && (c == '.' || c == '\'')) result += "\\&";
    isLineStart = c == '\n';
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

static void print(const char *request, std::string_view text) {
  std::printf("%s%s\n", request, escaped(text).c_str());
}

static void printLines(std::string_view text) {
  std::printf(".PP\n.nf\n%s%s.fi\n", escaped(text).c_str(), text.ends_with('\n') ? "" : "\n");
}

static void printCommand(const Command &command) {
  print(".SS ", std::string("tilewright ") + command.name);
  if (!command.spec) {
    print("", std::string(command.summary) + "; 'tilewright " + command.name + " --help' lists them.");
    return;
  }
  const CommandSpec &spec = command.spec();
  printLines(std::string("tilewright ") + spec.name + " " + spec.usage);
  print(".PP\n", spec.summary);
  for (const OptionSpec &option : spec.options) {
    print(".TP\n.B ", std::string(option.name) + (*option.value ? " " : "") + option.value);
    print("", option.help);
  }
  if (*spec.details) printLines(spec.details);
  for (const Example &example : examplesOf(spec.name))
    printLines(std::string("# ") + example.meaning + "\n" + example.line);
}

int manMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(manSpec(), argc, argv, status);
  if (!line) return status;
  if (!line->words.empty()) return fail("man takes no words, but got '" + line->words.front() + "'");
  std::printf(".TH TILEWRIGHT 1 \"\" \"tilewright %s\"\n", TILEWRIGHT_VERSION);
  print(".SH NAME\n", "tilewright - compiles, runs and measures kernels of the Triton tile language");
  print(".SH SYNOPSIS\n.B tilewright\n", "COMMAND [ARGUMENTS]");
  print(".SH DESCRIPTION\n",
        "A kernel is a Python function marked @triton.jit; tilewright compiles it for CPUs and NVIDIA GPUs without Python.");
  std::printf(".SH COMMANDS\n");
  for (const Command &command : allCommands())
    printCommand(command);
  std::printf(".SH ENVIRONMENT\n");
  for (const auto &[name, values, meaning] : allSettings()) {
    print(".TP\n.B ", std::string(name) + "=" + values);
    print("", meaning);
  }
  print(".SH EXIT STATUS\n",
        "0 for success; 1 for an error in the input, and if verify or bench find a kernel wrong or slower; 2 for a bug in Tilewright. "
        "With --json, the standard output is one JSON value; after an error it is {\"error\": TEXT}.");
  return success;
}

} // namespace tilewright
