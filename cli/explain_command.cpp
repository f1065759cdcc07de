// `tilewright explain`: documentation of builtins and diagnostics, and remarks on a compiled kernel (explain_kernel.h).

#include "cli/command.h"
#include "cli/explain_kernel.h"
#include "cli/json_output.h"
#include "cli/launch.h"
#include "cli/native_kernels.h"
#include "cli/recorded.h"
#include "evaluate/builtins.h"
#include "evaluate/reference.h"
#include "support/target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cstdio>
#include <set>

namespace tilewright {

static constexpr struct {
  std::string_view name, text, hint;
} rows[] = {
#define DIAG(name, text, hint) {#name, text, hint},
#include "support/diagnostics.def"
#undef DIAG
};

static constexpr struct {
  std::string_view path, signature, summary;
} libraryRows[] = {
#define LIBRARY(path, signature, summary) {path, signature, summary},
#include "evaluate/library.def"
#undef LIBRARY
};

/// Lists all names.
static void printNames() {
  std::printf("builtins:\n");
  for (const Builtin *builtin : allBuiltins())
    std::printf("  %-28s %s\n", builtin->path.str().c_str(), builtin->summary.str().c_str());
  std::printf("\nfunctions written in the language:\n");
  for (const auto &row : libraryRows)
    std::printf("  %-28s %s\n", std::string(row.path).c_str(), std::string(row.summary).c_str());
  std::printf("\ndiagnostics:\n");
  for (const auto &row : rows)
    std::printf("  %-28s %s\n", std::string(row.name).c_str(), std::string(row.text).c_str());
}

/// The names of a builtin in kernels: with or without its module.
static llvm::StringRef pathOf(llvm::StringRef word) {
  for (llvm::StringRef prefix : {"triton.language.", "tilewright.language.", "tl."})
    if (word.consume_front(prefix)) break;
  return word;
}

static int failUnknownName(const std::string &word) {
  std::vector<std::string> names;
  for (const Builtin *builtin : allBuiltins())
    names.push_back(builtin->path.str());
  for (const auto &row : libraryRows)
    names.emplace_back(row.path);
  for (const auto &row : rows)
    names.emplace_back(row.name);
  return failUnknown("there is neither a builtin nor a diagnostic named '" + word + "'", pathOf(word).str(), names);
}

/// The documentation of all names, or of these words, as JSON.
static int printAsJson(const std::vector<std::string> &words) {
  std::set<std::string> unknown(words.begin(), words.end());
  auto isWanted = [&](std::string_view name) {
    bool isNamed = false;
    for (const std::string &word : words)
      if (word == name || pathOf(word) == llvm::StringRef(name)) isNamed = true, unknown.erase(word);
    return words.empty() || isNamed;
  };
  llvm::json::Array found;
  auto add = [&](std::string_view name, const char *kind, std::string_view text, const char *more, std::string_view moreText) {
    if (!isWanted(name)) return;
    llvm::json::Object row{
        {"name", llvm::StringRef(name)}, {"kind", kind}, {"text", llvm::StringRef(text)}, {more, llvm::StringRef(moreText)}};
    if (llvm::StringRef reference = referenceText(name); !reference.empty()) row["reference"] = reference;
    found.push_back(std::move(row));
  };
  for (const Builtin *builtin : allBuiltins())
    add(builtin->path, "builtin", builtin->summary, "signature", builtin->signature);
  for (const auto &row : libraryRows)
    add(row.path, "function", row.summary, "signature", row.signature);
  for (const auto &row : rows)
    add(row.name, "diagnostic", row.text, "help", row.hint);
  for (const std::string &word : unknown)
    failUnknownName(word);
  if (!unknown.empty()) return userError;
  printJson(std::move(found));
  return success;
}

static void printFunction(llvm::StringRef path, llvm::StringRef signature, llvm::StringRef summary) {
  llvm::StringRef text = referenceText(path);
  std::printf("%s\n  %s\n%s%s%s", signature.str().c_str(), summary.str().c_str(), text.empty() ? "" : "\n", text.str().c_str(),
              text.empty() ? "" : "\n");
}

static int explainName(const std::string &word) {
  llvm::StringRef path = pathOf(word);
  bool found = false;
  if (const Builtin *builtin = findBuiltin(path)) {
    printFunction(builtin->path, builtin->signature, builtin->summary);
    found = true;
  }
  for (const auto &row : libraryRows) {
    if (row.path != std::string_view(path)) continue;
    printFunction(row.path, row.signature, row.summary);
    found = true;
  }
  for (const auto &row : rows) {
    if (row.name != word) continue;
    std::printf("%s: %s\n", word.c_str(), std::string(row.text).c_str());
    if (!row.hint.empty()) std::printf("  help: %s\n", std::string(row.hint).c_str());
    found = true;
  }
  return found ? int(success) : failUnknownName(word);
}

const CommandSpec &explainSpec() {
  static const std::string targetHelp = "default " + defaultGpuText();
  static const CommandSpec spec = [] {
    CommandSpec result{
        "explain",
        "[NAME ... | FILE[:KERNEL] --signature TEXT | --arg NAME=VALUE ... [--target TARGET] [--html OUT] | --recorded ROWS.jsonl]",
        "Explains a builtin (tl.dot, math.exp), a diagnostic (dotShapes), or how a kernel was compiled. Without an argument, it "
        "lists all names.",
        "For a kernel in a Python file, the report shows line by line how memory is accessed, how each dot is lowered, and which tiles\n"
        "are fused or stored. For GPUs, it adds prefetched loads, buffers, bank conflicts, and the layout of each tile: which thread "
        "holds\n"
        "which element. A signature is written as for 'tilewright compile'. --html writes a page that needs only a browser. It links the\n"
        "lines of the source with the remarks and the text of every stage.\n"
        "With --arg and --grid, as in 'tilewright run', the report also has a lower bound and an estimate of the launch's time, for this\n"
        "machine or for a GPU of the target. --time measures it.\n",
        {{"--signature", "TEXT", "the types and constants of the parameters"},
         {"--target", "cpu[:LEVEL]|cuda:SM", targetHelp.c_str()},
         {"--json", "", "the same as JSON"},
         {"--html", "OUT", "write the report on a kernel as a web page"},
         {"--layout", "L3|LINE", "draw only this layout, or those of a source line, in full"},
         {"--time", "", "measure the launch"},
         {"--recorded", "ROWS.jsonl", "predict the recorded launches of a file, and compare with their measured times"}}};
    for (const OptionSpec &option : launchOptions())
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

int explainMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(explainSpec(), argc, argv, status);
  if (!line) return status;
  if (line->has("--recorded"))
    return line->words.empty() ? predictRecorded(line->get("--recorded", "")) : fail("--recorded takes no other argument");
  auto isFile = [](llvm::StringRef word) { return word.ends_with(".py") || isNativeFile(word.str()); };
  if (line->words.size() == 1 && isFile(line->words.front())) return explainKernel(*line);
  if (line->has("--json") && llvm::none_of(line->words, isFile)) return printAsJson(line->words);
  if (line->words.empty()) printNames();
  for (const std::string &word : line->words) {
    if (isFile(word)) return fail("explain expects one FILE and no other argument");
    if (explainName(word) != success) status = userError;
  }
  return status;
}

} // namespace tilewright
