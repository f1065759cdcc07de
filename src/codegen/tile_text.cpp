#include "codegen/tile_text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tilewright {

constexpr int64_t numbersPerLine = 8;
constexpr int64_t fraction = 5;    // ".1234"
constexpr int64_t widestFixed = 8; // if the integer parts of a tile of floats are wider, it is printed with exponents

int64_t PrintFormat::count() const {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

PrintFormat parsePrintFormat(llvm::StringRef text) {
  PrintFormat format{text[0], text[1] == 'x', 0, {}, {}};
  text = text.drop_front(2);
  text.consumeInteger(10, format.width);
  auto [list, prefix] = text.split(';');
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    int64_t extent = 1;
    part.getAsInteger(10, extent);
    format.extents.push_back(extent);
  }
  format.prefix = prefix;
  return format;
}

static std::string numberText(const PrintFormat &format, uint64_t bits, const char *floatFormat) {
  char number[400]; // the largest double has 309 digits before the point
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  if (format.width < 64 && format.kind != 'f') bits &= (uint64_t(1) << format.width) - 1;
  if (format.kind == 'p')
    std::snprintf(number, sizeof(number), "0x%llx", static_cast<unsigned long long>(bits));
  else if (format.hex)
    std::snprintf(number, sizeof(number), "0x%0*llx", static_cast<int>(format.width / 4), static_cast<unsigned long long>(bits));
  else if (format.kind == 'f')
    std::snprintf(number, sizeof(number), floatFormat, value);
  else if (format.kind == 'i')
    std::snprintf(number, sizeof(number), "%lld",
                  static_cast<long long>(static_cast<int64_t>(bits << (64 - format.width)) >> (64 - format.width)));
  else
    std::snprintf(number, sizeof(number), "%llu", static_cast<unsigned long long>(bits));
  return number;
}

/// Aligns numbers at their points, or at their last digits. There is a column for the sign if any number has one.
static void align(llvm::MutableArrayRef<std::string> texts, int64_t afterPoint) {
  int64_t digits = 0, sign = 0;
  for (const std::string &text : texts) {
    int64_t negative = text[0] == '-';
    sign = std::max(sign, negative);
    digits = std::max(digits, int64_t(text.size()) - negative - afterPoint);
  }
  for (std::string &text : texts)
    text.insert(0, std::max<int64_t>(digits + sign + afterPoint - int64_t(text.size()), 0), ' ');
}

/// True if the numbers are too wide, or too different, for fixed notation.
static bool wantExponents(llvm::ArrayRef<std::string> texts) {
  int64_t widest = 0, narrowest = INT64_MAX, sign = 0;
  for (const std::string &text : texts) {
    int64_t negative = text[0] == '-', digits = int64_t(text.size()) - negative - fraction;
    sign = std::max(sign, negative);
    if (digits <= 0) continue; // inf and nan
    widest = std::max(widest, digits);
    narrowest = std::min(narrowest, digits);
  }
  return widest + 2 + sign > widestFixed || widest - narrowest > 3;
}

static std::string nested(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<std::string> texts, int64_t indent) {
  bool isRow = extents.size() == 1;
  int64_t inner = int64_t(texts.size()) / extents[0];
  std::string text = "[", lineBreak = ",\n" + std::string(indent + 1, ' ');
  for (int64_t i = 0; i < extents[0]; ++i) {
    if (i) text += !isRow || i % numbersPerLine == 0 ? lineBreak : ", ";
    text += isRow ? texts[i] : nested(extents.drop_front(), texts.slice(i * inner, inner), indent + 1);
  }
  return text + "]";
}

std::string tileText(const PrintFormat &format, llvm::ArrayRef<uint64_t> elements, int64_t indent) {
  if (format.extents.empty()) return numberText(format, elements[0], "%f");
  auto textsAs = [&](const char *floatFormat) {
    llvm::SmallVector<std::string> texts;
    for (uint64_t bits : elements)
      texts.push_back(numberText(format, bits, floatFormat));
    return texts;
  };
  llvm::SmallVector<std::string> texts = textsAs("%.4f");
  bool isFloat = format.kind == 'f' && !format.hex, exponents = isFloat && wantExponents(texts);
  if (exponents) texts = textsAs("%.4e");
  align(texts, isFloat && !exponents ? fraction : 0);
  return nested(format.extents, texts, indent);
}

} // namespace tilewright
