// Text from values: str(), format specs of f-strings, and the % operator of strings.
#include "evaluate/evaluate.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace tilewright {

namespace {

/// [[fill]align][sign][#][0][width][,][.precision][type]
struct FormatSpec {
  char fill = ' ', align = 0, sign = '-', type = 0;
  bool alternate = false, grouped = false;
  int64_t width = 0, precision = -1;
};

std::optional<FormatSpec> parseSpec(llvm::StringRef text) {
  constexpr llvm::StringLiteral aligns = "<>^=";
  FormatSpec spec;
  if (text.size() > 1 && aligns.contains(text[1])) {
    spec.fill = text[0];
    spec.align = text[1];
    text = text.drop_front(2);
  } else if (!text.empty() && aligns.contains(text[0])) {
    spec.align = text[0];
    text = text.drop_front();
  }
  if (!text.empty() && llvm::StringRef("+- ").contains(text[0])) {
    spec.sign = text[0];
    text = text.drop_front();
  }
  spec.alternate = text.consume_front("#");
  if (text.consume_front("0") && !spec.align) {
    spec.fill = '0';
    spec.align = '=';
  }
  constexpr int64_t widest = 10000;
  text.consumeInteger(10, spec.width);
  spec.grouped = text.consume_front(",") || text.consume_front("_");
  if (text.consume_front(".") && text.consumeInteger(10, spec.precision)) return std::nullopt;
  if (!text.empty()) {
    spec.type = text[0];
    text = text.drop_front();
  }
  if (!text.empty() || spec.width > widest || spec.precision > widest) return std::nullopt;
  return spec;
}

std::string inBase(Int value, int base, bool upper) {
  unsigned __int128 magnitude = value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string text;
  do
    text.insert(text.begin(), digits[static_cast<int>(magnitude % static_cast<unsigned>(base))]);
  while (magnitude /= static_cast<unsigned>(base));
  return text;
}

std::string printDouble(double value, int64_t precision, char type) {
  std::string pattern = "%." + std::to_string(precision) + type;
  int size = std::snprintf(nullptr, 0, pattern.c_str(), value);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern.c_str(), value);
  text.pop_back();
  return text;
}

void group(std::string &digits) {
  size_t end = digits.find_first_not_of("0123456789");
  for (int64_t at = static_cast<int64_t>(std::min(end, digits.size())) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
}

std::string pad(std::string sign, std::string body, const FormatSpec &spec, char naturalAlign) {
  int64_t missing = spec.width - static_cast<int64_t>(sign.size() + characters(body).size());
  if (missing <= 0) return sign + body;
  char align = spec.align ? spec.align : naturalAlign;
  auto fill = [&](int64_t count) { return std::string(static_cast<size_t>(count), spec.fill); };
  if (align == '=') return sign + fill(missing) + body;
  if (align == '<') return sign + body + fill(missing);
  if (align == '^') return fill(missing / 2) + sign + body + fill(missing - missing / 2);
  return fill(missing) + sign + body;
}

std::string signOf(bool negative, const FormatSpec &spec) {
  return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string utf8(Int code) {
  auto byte = [](Int bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  auto rest = [&](int shift) { return byte(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), rest(0)};
  if (code < 0x10000) return {byte(0xe0 | code >> 12), rest(6), rest(0)};
  return {byte(0xf0 | code >> 18), rest(12), rest(6), rest(0)};
}

std::optional<std::string> formatInt(Int value, const FormatSpec &spec) {
  std::string body;
  switch (spec.type) {
  case 0:
  case 'd':
  case 'n': body = inBase(value, 10, false); break;
  case 'x':
  case 'X': body = (spec.alternate ? "0x" : "") + inBase(value, 16, spec.type == 'X'); break;
  case 'b': body = (spec.alternate ? "0b" : "") + inBase(value, 2, false); break;
  case 'o': body = (spec.alternate ? "0o" : "") + inBase(value, 8, false); break;
  case 'c': body = utf8(value); break;
  default: return std::nullopt;
  }
  if (spec.grouped) group(body);
  return pad(signOf(value < 0, spec), body, spec, '>');
}

std::optional<std::string> formatDouble(double value, FormatSpec spec) {
  bool negative = std::signbit(value) && !std::isnan(value);
  double magnitude = std::fabs(value);
  std::string body;
  if (spec.type == 0 && spec.precision < 0) {
    body = floatToString(magnitude);
  } else if (spec.type == '%') {
    body = printDouble(magnitude * 100, spec.precision < 0 ? 6 : spec.precision, 'f') + "%";
  } else if (spec.type == 0 || llvm::StringRef("eEfFgG").contains(spec.type)) {
    body = printDouble(magnitude, spec.precision < 0 ? 6 : spec.precision, spec.type ? spec.type : 'g');
  } else {
    return std::nullopt;
  }
  if (spec.grouped) group(body);
  return pad(signOf(negative, spec), body, spec, '>');
}

} // namespace

std::string strOf(const Value &value) {
  if (const std::string *text = value.asString()) return *text;
  if (const Type *type = value.asType()) return type->str();
  return value.repr();
}

std::optional<std::string> formatValue(const Value &value, llvm::StringRef text, SourceRange range, Diagnostics &diagnostics) {
  if (text.empty()) return strOf(value);
  std::optional<FormatSpec> spec = parseSpec(text);
  std::optional<std::string> result;
  if (spec && value.toInt() && !llvm::StringRef("eEfFgG%").contains(spec->type ? spec->type : ' '))
    result = formatInt(*value.toInt(), *spec);
  else if (spec && value.toDouble())
    result = formatDouble(*value.toDouble(), *spec);
  else if (spec && (spec->type == 0 || spec->type == 's'))
    result = pad("", spec->precision >= 0 ? strOf(value).substr(0, static_cast<size_t>(spec->precision)) : strOf(value), *spec, '<');
  if (!result) fail(diagnostics, range, Diag::badValue, {"'" + text.str() + "' is no format for " + value.describe()});
  return result;
}

MaybeValue percentFormat(const std::string &text, const Value &values, SourceRange range, Diagnostics &diagnostics) {
  const Sequence *sequence = values.asSequence();
  Values args = sequence && sequence->isTuple ? sequence->items : Values{values};
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    size_t end = text.find_first_of("diouxXeEfFgGcrs%", i + 1);
    if (end == std::string::npos) return fail(diagnostics, range, Diag::badValue, {"'%' in this text is not followed by a format"});
    if (text[end] == '%') {
      out += '%';
    } else {
      if (next >= args.size()) return fail(diagnostics, range, Diag::badValue, {"the text has more formats than there are values"});
      char type = text[end];
      std::string spec = text.substr(i + 1, end - i - 1);
      Value value = type == 'r' ? Value::string(args[next].repr()) : type == 's' ? Value::string(strOf(args[next])) : args[next];
      if (type != 'r' && type != 's') spec += type == 'i' || type == 'u' ? 'd' : type;
      std::optional<std::string> piece = formatValue(value, spec, range, diagnostics);
      if (!piece || !spendBytes(static_cast<int64_t>(piece->size()))) return std::nullopt;
      out += *piece;
      ++next;
    }
    i = end;
  }
  if (next != args.size()) return fail(diagnostics, range, Diag::badValue, {"the text has fewer formats than there are values"});
  return Value::string(std::move(out));
}

} // namespace tilewright
