#include "support/settings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

namespace tilewright {

std::optional<bool> switchOf(std::string_view text) {
  llvm::StringRef word = llvm::StringRef(text).trim();
  auto isOneOf = [&](std::initializer_list<llvm::StringRef> words) {
    return llvm::any_of(words, [&](llvm::StringRef each) { return word.equals_insensitive(each); });
  };
  if (isOneOf({"true", "yes", "on", "y"})) return true;
  if (isOneOf({"false", "no", "off", "n"})) return false;
  if (word.empty() || !llvm::all_of(word, llvm::isDigit)) return std::nullopt;
  return word.find_first_not_of('0') != llvm::StringRef::npos;
}

bool isSwitchedOn(const char *variable, bool byDefault) {
  const char *word = std::getenv(variable);
  return word ? switchOf(word).value_or(byDefault) : byDefault;
}

} // namespace tilewright
