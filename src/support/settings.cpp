#include "support/settings.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace tilewright {

std::optional<bool> switchOf(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  std::string word;
  for (char c : text.substr(std::min(text.find_first_not_of(blanks), text.size())))
    word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  word.erase(word.find_last_not_of(blanks) + 1);
  auto isOneOf = [&](std::initializer_list<std::string_view> words) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (isOneOf({"true", "yes", "on", "y"})) return true;
  if (isOneOf({"false", "no", "off", "n"})) return false;
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return word.find_first_not_of('0') != std::string::npos;
}

bool isSwitchedOn(const char *variable, bool byDefault) {
  const char *word = std::getenv(variable);
  return word ? switchOf(word).value_or(byDefault) : byDefault;
}

} // namespace tilewright
