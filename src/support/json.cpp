#include "support/json.h"

namespace tilewright {

static bool isTooDeep(llvm::StringRef text, int64_t most) {
  int64_t depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size() && depth <= most; ++i) {
    char c = text[i];
    if (isString && c == '\\')
      ++i;
    else if (c == '"')
      isString = !isString;
    else if (!isString && (c == '[' || c == '{'))
      ++depth;
    else if (!isString && (c == ']' || c == '}'))
      --depth;
  }
  return depth > most;
}

Result<llvm::json::Value> parseJson(llvm::StringRef text) {
  constexpr int64_t maxLevels = 100;
  if (isTooDeep(text, maxLevels)) return Failure{"it is nested more than " + std::to_string(maxLevels) + " levels deep"};
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) return Failure{"it is no JSON: " + llvm::toString(value.takeError())};
  return std::move(*value);
}

} // namespace tilewright
