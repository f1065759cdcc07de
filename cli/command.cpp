// A parser for options of one shape: --name value, --name=value, --flag. LLVM's own would bring its hundred options into --help.

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/native_kernels.h"

#include "evaluate/evaluate.h"
#include "support/target.h"
#include "syntax/parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Casting.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace tilewright {

std::string CommandLine::get(const std::string &name, const std::string &otherwise) const {
  auto found = values.find(name);
  return found == values.end() ? otherwise : found->second.back();
}

std::vector<std::string> CommandLine::all(const std::string &name) const {
  auto found = values.find(name);
  return found == values.end() ? std::vector<std::string>() : found->second;
}

std::optional<int64_t> CommandLine::integer(const std::string &name, int64_t otherwise) const {
  if (!has(name)) return otherwise;
  std::string text = get(name, "");
  char *end = nullptr;
  errno = 0;
  int64_t value = std::strtoll(text.c_str(), &end, 10);
  bool outOfRange = errno == ERANGE;
  if (!text.empty() && *end == 0 && !outOfRange) return value;
  fail(name + " expects " + (outOfRange ? "a 64-bit integer" : "an integer") + ", got '" + text + "'");
  return std::nullopt;
}

std::optional<int64_t> CommandLine::integer(const std::string &name, int64_t otherwise, int64_t min, int64_t max) const {
  std::optional<int64_t> value = integer(name, otherwise);
  if (!value || !has(name) || (*value >= min && *value <= max)) return value;
  fail(name + " expects an integer from " + std::to_string(min) + " to " + std::to_string(max) + ", got " + std::to_string(*value));
  return std::nullopt;
}

std::optional<double> CommandLine::number(const std::string &name, double otherwise) const {
  if (!has(name)) return otherwise;
  std::string text = get(name, "");
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == 0) return value;
  fail(name + " expects a number, got '" + text + "'");
  return std::nullopt;
}

static void printHelp(const CommandSpec &spec) {
  std::printf("usage: tilewright %s%s%s\n\n%s\n", spec.name, *spec.usage ? " " : "", spec.usage, spec.summary);
  if (!spec.options.empty()) std::printf("\noptions:\n");
  for (const OptionSpec &option : spec.options) {
    std::string left = std::string(option.name) + (*option.value ? std::string(" ") + option.value : "");
    std::printf("  %-28s %s\n", left.c_str(), option.help);
  }
  if (*spec.details) std::printf("\n%s", spec.details);
  std::vector<Example> examples = examplesOf(spec.name);
  if (!examples.empty()) std::printf("\nexamples:\n");
  for (const Example &example : examples)
    std::printf("  # %s\n  %s\n", example.meaning, example.line);
}

std::vector<Example> examplesOf(const std::string &command) {
  static constexpr struct {
    std::string_view command;
    Example example;
  } rows[] = {
#define EXAMPLE(command, line, meaning) {command, {line, meaning}},
#include "cli/examples.def"
#undef EXAMPLE
  };
  std::vector<Example> found;
  for (const auto &row : rows)
    if (row.command == command) found.push_back(row.example);
  return found;
}

// A mistake in a setting would otherwise have the same effect as no setting. False after an error.
static bool checkSettings() {
  if (std::string problem = cpuSettingProblem(); !problem.empty()) {
    fail(problem);
    return false;
  }
  if (const char *threads = std::getenv("TILEWRIGHT_NUM_THREADS"); threads && *threads) {
    char *end = nullptr;
    int64_t count = std::strtoll(threads, &end, 10);
    if (*end || count < 1) {
      fail("TILEWRIGHT_NUM_THREADS is '" + std::string(threads) + "'; it may be 1 or more");
      return false;
    }
  }
  return true;
}

/// Runs before the options are read, because mistakes in them are reported as JSON, too.
static bool wantsJson(const CommandSpec &spec, llvm::ArrayRef<char *> words) {
  auto has = [&](llvm::StringRef name) { return llvm::is_contained(words, name); };
  bool isKnown = llvm::any_of(spec.options, [](const OptionSpec &option) { return option.name == std::string_view("--json"); });
  return isKnown && has("--json") && !has("--help") && !has("-h");
}

static void splitFileWord(CommandLine &line) {
  if (line.words.empty()) return;
  llvm::StringRef word = line.words.front();
  size_t colon = word.rfind(':');
  if (colon == llvm::StringRef::npos) return;
  llvm::StringRef file = word.take_front(colon);
  if (!file.ends_with(".py") && !isNativeFile(file.str())) return;
  line.values["--kernel"].push_back(word.drop_front(colon + 1).str());
  line.words.front() = word.take_front(colon).str();
}

std::optional<CommandLine> readCommandLine(const CommandSpec &spec, int argc, char **argv, int &status) {
  CommandLine line;
  status = userError;
  if (wantsJson(spec, llvm::ArrayRef(argv, argc))) beginJson();
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      printHelp(spec);
      status = success;
      return std::nullopt;
    }
    // A lone minus is a file name by tradition.
    if (word.size() < 2 || word[0] != '-') {
      line.words.push_back(word);
      continue;
    }
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    const OptionSpec *found = nullptr;
    for (const OptionSpec &option : spec.options)
      if (name == option.name) found = &option;
    if (!found) {
      std::vector<std::string> names;
      for (const OptionSpec &option : spec.options)
        names.push_back(option.name);
      failUnknown("unknown option '" + name + "'; 'tilewright " + spec.name + " --help' lists the options", name, names);
      return std::nullopt;
    }
    std::string value;
    if (equals != std::string::npos) {
      if (!*found->value) {
        fail("option '" + name + "' takes no value");
        return std::nullopt;
      }
      value = word.substr(equals + 1);
    } else if (*found->value && found->value[0] != '[') {
      if (i + 1 >= argc) {
        fail("option '" + name + "' needs " + found->value + " after it");
        return std::nullopt;
      }
      value = argv[++i];
    }
    line.values[name].push_back(value);
  }
  if (!checkSettings()) return std::nullopt;
  if (llvm::any_of(spec.options, [](const OptionSpec &option) { return option.name == std::string_view("--kernel"); })) splitFileWord(line);
  status = success;
  return line;
}

/// True if standard error is a terminal and the environment allows colors (no-color.org).
static bool showsColors() {
  const char *off = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(off && *off) && !(terminal && std::string_view(terminal) == "dumb");
}

static std::string painted(const std::string &text, const char *color) {
  return showsColors() ? "\033[" + std::string(color) + "m" + text + "\033[0m" : text;
}

/// Colors the first word, or the caret, of a line of Diagnostics::render().
static std::string paintedLine(llvm::StringRef line) {
  constexpr std::pair<llvm::StringLiteral, const char *> words[] = {
      {"error: ", "1;31"}, {"warning: ", "1;35"}, {"note: ", "1;36"}, {"  help: ", "32"}};
  for (const auto &[word, color] : words) {
    size_t at = line.find(word);
    bool isFirst = at == 0 || (at != llvm::StringRef::npos && line.take_front(at).ends_with(": "));
    if (isFirst) return line.take_front(at).str() + painted(word.drop_back().str(), color) + line.drop_front(at + word.size() - 1).str();
  }
  size_t caret = line.find_first_not_of(' ');
  bool isCaret = caret != llvm::StringRef::npos && line[caret] == '^' && line.find_first_not_of("^~", caret) == llvm::StringRef::npos;
  return isCaret ? line.take_front(caret).str() + painted(line.drop_front(caret).str(), "32") : line.str();
}

int fail(const std::string &text) {
  noteError(text);
  std::fprintf(stderr, "tilewright: %s %s\n", painted("error:", "1;31").c_str(), text.c_str());
  return userError;
}

int failUnknown(const std::string &text, const std::string &given, const std::vector<std::string> &names) {
  std::string near = nearestName(given, names);
  return fail(text + (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

int report(const Diagnostics &diagnostics, int otherwise) {
  noteDiagnostics(diagnostics);
  for (const Diagnostic &record : diagnostics.all())
    if (record.id == Diag::staticPrint) std::fprintf(stderr, "%s", record.message.c_str()); // the standard output may be a kernel's code
  std::string text = diagnostics.render();
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_back())
    std::fprintf(stderr, "%s\n", paintedLine(line).c_str());
  return diagnostics.hasErrors() ? static_cast<int>(userError) : otherwise;
}

bool isIrFile(const std::string &path) {
  llvm::StringRef name = path;
  return name.ends_with(".ttir") || name.ends_with(".ttgir") || name.ends_with(".mlir");
}

std::optional<FileKernel> loadKernel(const std::string &path, const std::string &name, Diagnostics &diagnostics) {
  if (isNativeFile(path)) return loadNativeKernel(path, name, diagnostics);
  FileKernel result;
  result.module = loadModule(path, diagnostics);
  if (!result.module) return std::nullopt;
  std::string wanted = name;
  if (wanted.empty()) {
    std::vector<std::string> names = kernelNames(*result.module);
    if (names.size() == 1) wanted = names.front();
    if (wanted.empty()) {
      std::string list;
      for (const std::string &one : names)
        list += (list.empty() ? "" : ", ") + one;
      diagnostics.error({}, Diag::invalidOption,
                        {names.empty() ? "'" + path + "' has no kernel" : "'" + path + "' has several kernels: " + list,
                         names.empty() ? "mark a function @triton.jit" : "choose one with --kernel NAME"});
      return std::nullopt;
    }
  }
  result.function = findKernel(*result.module, wanted, diagnostics);
  if (!result.function) return std::nullopt;
  return result;
}

std::optional<Value> evaluateText(const std::string &text, const std::string &what, Namespace &module, const llvm::StringMap<Value> &names,
                                  Diagnostics &diagnostics) {
  // A lambda refers to its syntax tree as long as it lives, so trees are stored. One grid is evaluated for many configurations.
  static std::map<std::pair<std::string, std::string>, std::shared_ptr<const ast::Module>> trees;
  std::shared_ptr<const ast::Module> &tree = trees[{what, text}];
  if (!tree) tree = parse(SourceFile::create("<" + what + ">", text, 1), diagnostics);
  if (!tree) return std::nullopt;
  const auto *statement = tree->body.size() == 1 ? llvm::dyn_cast<ast::ExprStmt>(tree->body.front()) : nullptr;
  if (!statement) {
    diagnostics.error({}, Diag::invalidOption, {what + " expects an expression, got '" + text + "'", ""});
    return std::nullopt;
  }
  std::optional<Value> value = evaluate(*statement->value, module, &names, diagnostics);
  constexpr size_t longest = 65536; // a launch takes far less
  if (const Sequence *sequence = value ? value->asSequence() : nullptr; sequence && sequence->items.size() > longest) {
    diagnostics.error({}, Diag::invalidOption, {what + " is a list of more than " + std::to_string(longest) + " items", ""});
    return std::nullopt;
  }
  return value;
}

std::vector<OptionSpec> codeOptions() {
  return {{"--num-warps", "N", "warps per program; no effect on CPUs"},
          {"--num-ctas", "N", "CTAs of the cluster that runs a program; no effect on CPUs"},
          {"--num-stages", "N", "stages of software pipelining; no effect on CPUs"},
          {"--debug", "", "compile device_assert and overflow checks"},
          {"--no-fp-fusion", "", "do not fuse a*b+c into one operation (FMA)"},
          {"--numerics", "3.9|3.10|strict", "how strictly floating-point arithmetic follows the source"}};
}

} // namespace tilewright
