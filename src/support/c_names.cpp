#include "support/c_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <dlfcn.h>

namespace tilewright {

/// The keywords of C23 and C++20, alternative spellings of operators and those of GNU's dialects included.
static constexpr llvm::StringLiteral keywordText =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await "
    "co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw "
    "true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor "
    "xor_eq";

static bool isKeyword(llvm::StringRef name) {
  static const llvm::StringSet<> set = [] {
    llvm::SmallVector<llvm::StringRef> words;
    keywordText.split(words, ' ');
    llvm::StringSet<> made;
    made.insert_range(words);
    return made;
  }();
  return set.contains(name);
}

/// Names of lower-case letters that the standard headers of tilewright/runtime.h define as types, macros or namespaces.
static bool isOfStandardHeaders(llvm::StringRef name) {
  static const llvm::StringSet<> set{"NULL",      "alloca",         "errno",     "linux",  "main",      "max_align_t",
                                     "nullptr_t", "offsetof",       "ptrdiff_t", "size_t", "stderr",    "stdin",
                                     "stdout",    "sched_priority", "std",       "unix",   "tilewright"};
  if (set.contains(name)) return true;
  llvm::StringRef integer = name;
  bool isInteger = (integer.consume_front("uint") || integer.consume_front("int")) && integer.consume_back("_t");
  if (isInteger && (integer == "max" || integer == "ptr")) return true;
  if (isInteger && (integer.consume_front("_least") || integer.consume_front("_fast") || true) &&
      llvm::is_contained({"8", "16", "32", "64"}, integer))
    return true;
  llvm::StringRef swap = name; // be16toh, htole64
  if (swap.consume_front("hto") ? swap.consume_front("be") || swap.consume_front("le")
                                : (swap.consume_front("be") || swap.consume_front("le")) && swap.consume_back("toh"))
    return llvm::is_contained({"16", "32", "64"}, swap);
  return false;
}

/// True for names that C reserves for compilers, and for those of tilewright's headers.
static bool isReserved(llvm::StringRef name) {
  if (name.starts_with("__") || (name.size() > 1 && name[0] == '_' && llvm::isUpper(name[1]))) return true;
  bool isOurs = name.starts_with("Tw") || name.starts_with("TW_") || name.starts_with("TILEWRIGHT_");
  return isOurs || (name.starts_with("tw") && name.size() > 2 && llvm::isUpper(name[2]));
}

/// True for names such as macros have: capitals of three letters and more, and the prefixes of the C library.
static bool looksLikeMacro(llvm::StringRef name) {
  if (name.starts_with("SYS_") || name.starts_with("L_") || name.starts_with("P_") || name.starts_with("pthread_")) return true;
  return name.size() > 2 && llvm::none_of(name, [](char c) { return llvm::isLower(c); });
}

/// True if the C library exports such a function: a kernel of this name would replace it in programs that link the kernel.
static bool isOfCLibrary(const std::string &name) {
  for (const char *library : {"libc.so.6", "libm.so.6"})
    if (void *handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      bool isFound = ::dlsym(handle, name.c_str()) != nullptr;
      ::dlclose(handle);
      if (isFound) return true;
    }
  return false;
}

bool isCName(std::string_view name) {
  auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  return !name.empty() && !llvm::isDigit(name.front()) && llvm::all_of(name, isLetter);
}

std::string problemOfFunctionName(std::string_view name) {
  if (!isCName(name)) return "is not a name in C";
  if (isKeyword(name)) return "is a keyword of C or C++";
  if (isReserved(name)) return "is reserved for compilers and for tilewright's headers";
  if (isOfStandardHeaders(name)) return "is a name of the standard headers";
  if (isOfCLibrary(std::string(name))) return "is a name of the C library";
  return "";
}

std::vector<std::string> parameterNames(const std::vector<std::string> &names, const std::vector<std::string> &taken) {
  std::vector<std::string> result;
  llvm::StringSet<> used;
  for (const std::string &name : taken)
    used.insert(name);
  for (const std::string &name : names) // names that stay come first, so that a changed one does not take theirs
    if (isCName(name) && !isKeyword(name) && !isReserved(name) && !isOfStandardHeaders(name) && !looksLikeMacro(name)) {
      bool isNew = used.insert(name).second;
      result.push_back(isNew ? name : "");
    } else {
      result.push_back("");
    }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!result[i].empty()) continue;
    bool startsWell = isCName(names[i]) && !isReserved(names[i]);
    std::string name = startsWell ? names[i] : "parameter" + std::to_string(i);
    do
      name += "_";
    while (!used.insert(name).second);
    result[i] = name;
  }
  return result;
}

std::string commentText(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool isControl = static_cast<unsigned char>(c) < 32 || c == 127;
    bool joins = !result.empty() && ((result.back() == '*' && c == '/') || (result.back() == '/' && c == '*'));
    if (joins) result += ' ';
    result += isControl ? ' ' : c;
  }
  return result;
}

std::string assemblyStatement(std::string_view assembly) {
  // Compilers reorder statements, so all code is one statement. -Wpedantic of clang would warn of its length.
  std::string text = "#ifdef __clang__\n#pragma clang diagnostic ignored \"-Woverlength-strings\"\n#endif\n"
                     "__asm__(\n    \"\\t.pushsection .text\\n\"\n";
  while (!assembly.empty()) {
    std::string_view line = assembly.substr(0, assembly.find('\n'));
    assembly.remove_prefix(std::min(line.size() + 1, assembly.size()));
    if (line.empty()) continue;
    text += "    \"";
    for (char c : line)
      text += c == '\\' || c == '"' ? std::string("\\") + c : c == '\t' ? "\\t" : std::string(1, c);
    text += "\\n\"\n";
  }
  return text + "    \"\\t.popsection\\n\");\n";
}

} // namespace tilewright
