// Text from values: str(), format specs of f-strings, and the % operator of strings.
#include "evaluate/evaluate.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace tilewright {

namespace {

/// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FormatSpec {
  llvm::StringRef fill = " "; // one character
  char align = 0, sign = 0, grouping = 0, type = 0;
  bool alternate = false;
  int64_t width = 0, precision = -1;

  bool padsWithZeros() const { return fill == "0" && align == '='; }
};

constexpr int64_t widest = 10000;

std::optional<FormatSpec> parseSpec(llvm::StringRef text, bool isNumber) {
  constexpr llvm::StringLiteral aligns = "<>^=";
  FormatSpec spec;
  llvm::StringRef first = text.empty() ? text : characters(text).front();
  bool hasFill = text.size() > first.size() && aligns.contains(text[first.size()]);
  if (hasFill) {
    spec.fill = first;
    spec.align = text[first.size()];
    text = text.drop_front(first.size() + 1);
  } else if (!text.empty() && aligns.contains(text[0])) {
    spec.align = text[0];
    text = text.drop_front();
  }
  if (!text.empty() && llvm::StringRef("+- ").contains(text[0])) {
    spec.sign = text[0];
    text = text.drop_front();
  }
  spec.alternate = text.consume_front("#");
  if (!hasFill && text.consume_front("0")) {
    spec.fill = "0";
    if (!spec.align && isNumber) spec.align = '=';
  }
  text.consumeInteger(10, spec.width);
  if (!text.empty() && (text[0] == ',' || text[0] == '_')) {
    spec.grouping = text[0];
    text = text.drop_front();
  }
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

std::string printDouble(double value, int64_t precision, const char *flag, char type) {
  std::string pattern = std::string("%") + flag + "." + std::to_string(precision) + type;
  int size = std::snprintf(nullptr, 0, pattern.c_str(), value);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern.c_str(), value);
  text.pop_back();
  return text;
}

/// Separates groups of `size` digits. With fewer than `minimum` characters, zeros are added in front, in groups as well.
std::string group(llvm::StringRef digits, char separator, size_t size, int64_t minimum) {
  std::string reversed;
  size_t left = digits.size(), inGroup = 0;
  while (left > 0 || (!digits.empty() && static_cast<int64_t>(reversed.size()) < minimum)) {
    if (inGroup == size) reversed += separator;
    inGroup = inGroup == size ? 1 : inGroup + 1;
    reversed += left > 0 ? digits[--left] : '0';
  }
  return {reversed.rbegin(), reversed.rend()};
}

/// `front` is a sign and a prefix such as 0x.
std::string pad(const std::string &front, const std::string &body, const FormatSpec &spec, char naturalAlign) {
  int64_t missing = spec.width - static_cast<int64_t>(characters(front).size() + characters(body).size());
  if (missing <= 0) return front + body;
  char align = spec.align ? spec.align : naturalAlign;
  auto fill = [&](int64_t count) {
    std::string text;
    while (count-- > 0)
      text += spec.fill;
    return text;
  };
  if (align == '=') return front + fill(missing) + body;
  if (align == '<') return front + body + fill(missing);
  if (align == '^') return fill(missing / 2) + front + body + fill(missing - missing / 2);
  return fill(missing) + front + body;
}

/// `rest` follows the digits and is not grouped: a fraction, an exponent.
std::string padNumber(const std::string &front, llvm::StringRef digits, llvm::StringRef rest, const FormatSpec &spec) {
  if (!spec.grouping) return pad(front, (digits + rest).str(), spec, '>');
  size_t size = spec.type && llvm::StringRef("boxX").contains(spec.type) ? 4 : 3;
  int64_t minimum = spec.padsWithZeros() ? spec.width - static_cast<int64_t>(front.size() + rest.size()) : 0;
  return pad(front, group(digits, spec.grouping, size, minimum) + rest.str(), spec, '>');
}

std::string signOf(bool negative, const FormatSpec &spec) {
  return negative ? "-" : spec.sign == '-' || !spec.sign ? "" : std::string(1, spec.sign);
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
  if (spec.precision >= 0) return std::nullopt;
  if (spec.grouping && spec.type && !llvm::StringRef(spec.grouping == '_' ? "dboxX" : "d").contains(spec.type)) return std::nullopt;
  std::string prefix = signOf(value < 0, spec);
  if (spec.alternate && spec.type && llvm::StringRef("boxX").contains(spec.type)) prefix += {'0', spec.type};
  switch (spec.type) {
  case 0:
  case 'd':
  case 'n': return padNumber(prefix, inBase(value, 10, false), "", spec);
  case 'x':
  case 'X': return padNumber(prefix, inBase(value, 16, spec.type == 'X'), "", spec);
  case 'b': return padNumber(prefix, inBase(value, 2, false), "", spec);
  case 'o': return padNumber(prefix, inBase(value, 8, false), "", spec);
  case 'c':
    return spec.sign || spec.alternate || value < 0 || value > 0x10ffff ? std::nullopt : std::optional(pad("", utf8(value), spec, '>'));
  default: return std::nullopt;
  }
}

/// The shortest digits that read back as the number, or `precision` of them: like `g`, but "2.0" and not "2".
std::string plainDouble(double magnitude, int64_t precision, bool alternate) {
  bool isShortest = precision < 0;
  std::string text = floatToString(magnitude);
  if (!isShortest) {
    precision = std::max<int64_t>(precision, 1);
    text = printDouble(magnitude, precision - 1, "", 'e');
    int64_t exponent = std::atoi(text.c_str() + text.find('e') + 1);
    if (exponent >= -4 && exponent < precision - 1) text = printDouble(magnitude, precision - 1 - exponent, "#", 'f');
  }
  llvm::StringRef mantissa = llvm::StringRef(text).take_front(text.find('e')), exponent = llvm::StringRef(text).drop_front(mantissa.size());
  if (!isShortest && !alternate && mantissa.contains('.')) mantissa = mantissa.rtrim('0');
  bool endsInPoint = mantissa.ends_with(".");
  if (alternate || !endsInPoint) return (mantissa + (alternate && !mantissa.contains('.') ? "." : "") + exponent).str();
  return exponent.empty() ? (mantissa + "0").str() : (mantissa.drop_back() + exponent).str();
}

std::optional<std::string> formatDouble(double value, const FormatSpec &spec) {
  if (spec.type && !llvm::StringRef("eEfFgGn%").contains(spec.type)) return std::nullopt;
  if (spec.grouping && spec.type == 'n') return std::nullopt;
  double magnitude = std::fabs(value);
  int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  const char *flag = spec.alternate && std::isfinite(value) ? "#" : "";
  std::string body;
  if (spec.type == 0 && std::isfinite(value))
    body = plainDouble(magnitude, spec.precision, spec.alternate);
  else if (spec.type == '%')
    body = printDouble(magnitude * 100, precision, flag, 'f') + "%";
  else
    body = printDouble(magnitude, precision, flag, spec.type == 'n' || spec.type == 0 ? 'g' : spec.type);
  size_t digits = std::min(body.find_first_not_of("0123456789"), body.size());
  return padNumber(signOf(std::signbit(value) && !std::isnan(value), spec), llvm::StringRef(body).take_front(digits),
                   llvm::StringRef(body).drop_front(digits), spec);
}

std::optional<std::string> formatString(llvm::StringRef text, const FormatSpec &spec) {
  if ((spec.type && spec.type != 's') || spec.align == '=' || spec.sign || spec.alternate || spec.grouping) return std::nullopt;
  std::vector<llvm::StringRef> all = characters(text);
  if (spec.precision >= 0 && spec.precision < static_cast<int64_t>(all.size()))
    text = text.take_front(static_cast<size_t>(all[static_cast<size_t>(spec.precision)].data() - text.data()));
  return pad("", text.str(), spec, '<');
}

/// One conversion of the % operator, of `type`; `text` is the text between the % and the type: [flags][width][.precision].
std::optional<std::string> formatConversion(const Value &value, llvm::StringRef text, char type) {
  FormatSpec spec;
  bool isLeft = false, hasZeros = false;
  for (; !text.empty() && llvm::StringRef("#0- +").contains(text[0]); text = text.drop_front()) {
    spec.alternate |= text[0] == '#';
    isLeft |= text[0] == '-';
    hasZeros |= text[0] == '0';
    if (text[0] == '+' || (text[0] == ' ' && !spec.sign)) spec.sign = text[0];
  }
  text.consumeInteger(10, spec.width);
  if (text.consume_front(".") && text.consumeInteger(10, spec.precision)) spec.precision = 0;
  if (!text.empty() || spec.width > widest || spec.precision > widest) return std::nullopt;
  spec.align = isLeft ? '<' : '>';
  std::optional<Int> integer = value.toInt();
  if (type == 'r' || type == 's' || (type == 'c' && value.asString())) {
    if (type == 'c' && characters(*value.asString()).size() != 1) return std::nullopt;
    if (type == 'c') spec.precision = -1;
    spec.sign = 0;
    spec.alternate = false;
    return formatString(type == 'r' ? value.repr() : strOf(value), spec);
  }
  if (type == 'c') {
    spec = {.align = spec.align, .type = 'c', .width = spec.width};
    return integer ? formatInt(*integer, spec) : std::nullopt;
  }
  if (hasZeros && !isLeft) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.type = type;
  if (llvm::StringRef("eEfFgG").contains(type)) return value.toDouble() ? formatDouble(*value.toDouble(), spec) : std::nullopt;
  bool isDecimal = type == 'd' || type == 'i' || type == 'u';
  if (isDecimal) spec.type = 'd';
  constexpr double limit = 1e38; // of Int
  if (isDecimal && !integer && value.toDouble() && std::fabs(*value.toDouble()) < limit) integer = static_cast<Int>(*value.toDouble());
  if (!integer) return std::nullopt;
  // A precision asks for as many digits: zeros after the sign and the prefix.
  if (int64_t digits = std::exchange(spec.precision, -1); digits >= 0) {
    FormatSpec inner = spec;
    inner.fill = "0";
    inner.align = '=';
    bool hasSign = *integer < 0 || spec.sign, hasPrefix = spec.alternate && !isDecimal;
    inner.width = std::max(digits + hasSign + 2 * hasPrefix, spec.padsWithZeros() ? spec.width : 0);
    spec.align = isLeft ? '<' : '>';
    spec.fill = " ";
    return pad("", *formatInt(*integer, inner), spec, '>');
  }
  return formatInt(*integer, spec);
}

} // namespace

std::string strOf(const Value &value) {
  if (const std::string *text = value.asString()) return *text;
  if (const Type *type = value.asType()) return type->str();
  return value.repr();
}

std::optional<std::string> formatValue(const Value &value, llvm::StringRef text, SourceRange range, Diagnostics &diagnostics) {
  if (text.empty()) return strOf(value);
  std::optional<FormatSpec> spec = parseSpec(text, !value.asString());
  std::optional<std::string> result;
  if (spec && value.asString())
    result = formatString(*value.asString(), *spec);
  else if (spec && value.toInt() && !llvm::StringRef("eEfFgG%").contains(spec->type ? spec->type : ' '))
    result = formatInt(*value.toInt(), *spec);
  else if (spec && value.toDouble())
    result = formatDouble(*value.toDouble(), *spec);
  if (!result) fail(diagnostics, range, Diag::badValue, {"'" + text.str() + "' is not a format for " + value.describe()});
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
      std::string conversion = text.substr(i, end - i + 1);
      std::optional<std::string> piece = formatConversion(args[next], llvm::StringRef(conversion).drop_front().drop_back(), text[end]);
      if (!piece) fail(diagnostics, range, Diag::badValue, {"'" + conversion + "' is not a format for " + args[next].describe()});
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
