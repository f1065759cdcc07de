#include "cli/cpp_source.h"

#include "support/files.h"
#include "support/program.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace tilewright {

static std::nullopt_t refuse(Diagnostics &diagnostics, const std::string &problem, const std::string &advice) {
  diagnostics.error({}, Diag::invalidOption, {problem, advice});
  return std::nullopt;
}

/// Returns the compiler's path, and the options that are a part of $CXX ("ccache g++"). Null after an error.
static std::optional<std::vector<std::string>> compilerWords(Diagnostics &diagnostics) {
  std::vector<std::string> words;
  if (const char *named = std::getenv("CXX")) addWords(words, named);
  if (!words.empty()) {
    std::string program = findProgram(words.front());
    if (program.empty())
      return refuse(diagnostics, "there is no C++ compiler '" + words.front() + "'", "CXX names it: correct the variable, or unset it");
    words.front() = program;
    return words;
  }
  for (const char *name : {"c++", "clang++", "g++"})
    if (std::string program = findProgram(name); !program.empty()) return std::vector<std::string>{program};
  return refuse(diagnostics, "there is no C++ compiler on PATH: neither c++ nor clang++ nor g++",
                "install clang++ 16 or g++ 12 or later, or set CXX to the path of one");
}

/// Returns a path without links; empty if there is no such file.
static std::string wholePath(const std::string &path) {
  std::unique_ptr<char, decltype(&std::free)> whole(::realpath(path.c_str(), nullptr), std::free);
  return whole ? whole.get() : "";
}

/// Returns the path of the library that this code is a part of.
static std::string ownLibrary() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void *>(&ownLibrary), &info) ? wholePath(info.dli_fname) : "";
}

/// Returns the folder of the headers that belong to a library; empty if the compiler has to find them. A wheel has it next to the library,
/// an installation one or two folders above.
static std::string includeFolder(llvm::StringRef library) {
  std::string folder = library.substr(0, library.rfind('/')).str();
  for (const char *relative : {"/include", "/../include", "/../../include"})
    if (::access((folder + relative + "/tilewright/language.h").c_str(), R_OK) == 0) return wholePath(folder + relative);
  return "";
}

/// Returns the files of a rule of make: "out: a.cpp a\ b.h \".
static std::vector<std::string> filesOfRule(llvm::StringRef rule) {
  std::vector<std::string> files;
  std::string file;
  rule = rule.substr(rule.find(": ") + 1);
  for (size_t i = 0; i < rule.size(); ++i) {
    char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    bool isEscape = (c == '\\' && (next == ' ' || next == '#' || next == '\\')) || (c == '$' && next == '$');
    if (isEscape) {
      file += next, ++i;
    } else if (llvm::isSpace(c) || (c == '\\' && next == '\n')) {
      if (!file.empty()) files.push_back(file);
      file.clear();
    } else {
      file += c;
    }
  }
  if (!file.empty()) files.push_back(file);
  return files;
}

std::optional<CompiledSource> compileCppSource(const std::string &path, Diagnostics &diagnostics) {
  if (Result<std::string> text = readFile(path); !text) return refuse(diagnostics, "cannot read '" + path + "': " + text.error(), "");
  std::optional<std::vector<std::string>> words = compilerWords(diagnostics);
  if (!words) return std::nullopt;
  CompiledSource result{std::make_unique<TemporaryFolder>(), {}};
  const TemporaryFolder &folder = *result.folder;
  Result<void> made = folder.made() ? folder.write("log", "") : folder.made();
  if (!made) return refuse(diagnostics, made.error(), "");
  std::string library = ownLibrary(), include = includeFolder(library);
  // g++ sees numbers out of range only if it optimizes.
  words->insert(words->end(), {"-std=c++20", "-O1", "-fPIC", "-shared", "-MMD", "-MF", folder.file("rule")});
  if (!include.empty()) words->push_back("-I" + include);
  if (const char *flags = std::getenv("CXXFLAGS")) addWords(*words, flags);
  words->insert(words->end(), {path, "-o", result.library()});
  if (!library.empty()) words->push_back(library);
  Result<int> status = runProgram(*words, folder.file("log"));
  if (!status) return refuse(diagnostics, status.error(), "");
  if (Result<std::string> log = readFile(folder.file("log"))) std::fputs(log->c_str(), stderr);
  if (*status != 0) {
    if (Result<void> room = folder.hasRoom(size_t(1) << 20); !room) return refuse(diagnostics, room.error(), "");
    return refuse(diagnostics, "the C++ compiler cannot compile '" + path + "' (status " + std::to_string(*status) + ")",
                  "the command was: " + llvm::join(*words, " "));
  }
  if (Result<std::string> rule = readFile(folder.file("rule"))) result.files = filesOfRule(*rule);
  llvm::erase(result.files, path);
  return result;
}

} // namespace tilewright
