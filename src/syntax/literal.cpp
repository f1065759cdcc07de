// Decodes literals: escapes in strings, numbers with underscores in any base.

#include "syntax/lexer.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Unicode.h"

#include <algorithm>
#include <charconv>

namespace tilewright {

// Lone surrogates are valid in Python strings; they are encoded like any other character.
static void appendUtf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      out += static_cast<char>(0xe0 | (c >> 12));
    } else {
      out += static_cast<char>(0xf0 | (c >> 18));
      out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    }
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
  }
  out += static_cast<char>(0x80 | (c & 0x3f));
}

static int64_t digitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

namespace {
class LiteralDecoder {
public:
  LiteralDecoder(const SourceFile &source, uint32_t begin, uint32_t end, LiteralStyle style, Diagnostics &diagnostics)
      : source(source), text(source.text()), at(begin), end(end), style(style), diagnostics(diagnostics) {}

  std::string run() {
    out.reserve(end - at);
    while (at < end) {
      char c = text[at];
      if (c == '\r') { // line breaks in a string are always "\n"
        out += '\n';
        at += at + 1 < end && text[at + 1] == '\n' ? 2 : 1;
      } else if (style.formatted && (c == '{' || c == '}')) {
        out += c;
        at += 2;
      } else if (c == '\\' && !style.raw) {
        escape();
      } else {
        out += c;
        ++at;
      }
    }
    return std::move(out);
  }

private:
  void bad(uint32_t from, uint32_t to, std::string advice) {
    to = std::min(to, end);
    diagnostics.error({&source, from, to}, Diag::invalidEscape, {std::string(text.substr(from, to - from)), std::move(advice)});
    at = std::max(at, to);
  }

  void escape() {
    uint32_t start = at++;
    if (at >= end) {
      out += '\\';
      return;
    }
    char c = text[at++];
    switch (c) {
    case '\n': return;
    case '\r':
      if (at < end && text[at] == '\n') ++at;
      return;
    case '\\': out += '\\'; return;
    case '\'': out += '\''; return;
    case '"': out += '"'; return;
    case 'a': out += '\a'; return;
    case 'b': out += '\b'; return;
    case 'f': out += '\f'; return;
    case 'n': out += '\n'; return;
    case 'r': out += '\r'; return;
    case 't': out += '\t'; return;
    case 'v': out += '\v'; return;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7': {
      uint32_t value = static_cast<uint32_t>(c - '0');
      for (int64_t i = 0; i < 2 && at < end && text[at] >= '0' && text[at] <= '7'; ++i)
        value = value * 8 + static_cast<uint32_t>(text[at++] - '0');
      append(value);
      return;
    }
    case 'x': return hex(start, 2);
    case 'u':
      if (!style.bytes) return hex(start, 4);
      break;
    case 'U':
      if (!style.bytes) return hex(start, 8);
      break;
    case 'N':
      if (!style.bytes) return named(start);
      break;
    default: break;
    }
    // Python keeps the backslash of an unknown escape. An f-string's "\{" is a backslash before a brace.
    out += '\\';
    --at;
    if (style.formatted && (c == '{' || c == '}')) return;
    out += c;
    ++at;
  }

  void append(uint32_t value) {
    if (style.bytes)
      out += static_cast<char>(value);
    else
      appendUtf8(out, value);
  }

  void hex(uint32_t start, uint32_t digits) {
    uint32_t value = 0, count = 0;
    for (; count < digits && at < end && digitValue(text[at]) < 16; ++count)
      value = value * 16 + static_cast<uint32_t>(digitValue(text[at++]));
    if (count < digits) return bad(start, at, "it takes exactly " + std::to_string(digits) + " hex digits");
    if (value > 0x10ffff) return bad(start, at, "the largest character is \\U0010ffff");
    append(value);
  }

  void named(uint32_t start) {
    size_t close = at < end && text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (close == std::string_view::npos || close >= end) return bad(start, at, "write \\N{NAME OF THE CHARACTER}");
    llvm::StringRef name(text.data() + at + 1, close - at - 1);
    if (std::optional<llvm::sys::unicode::LooseMatchingResult> found = llvm::sys::unicode::nameToCodepointLooseMatching(name))
      appendUtf8(out, static_cast<uint32_t>(found->CodePoint));
    else
      return bad(start, static_cast<uint32_t>(close + 1), "Unicode has no character of that name");
    at = static_cast<uint32_t>(close + 1);
  }

  const SourceFile &source;
  std::string_view text;
  uint32_t at, end;
  LiteralStyle style;
  Diagnostics &diagnostics;
  std::string out;
};
} // namespace

std::string decodeLiteral(const SourceFile &source, uint32_t begin, uint32_t end, LiteralStyle style, Diagnostics &diagnostics) {
  return LiteralDecoder(source, begin, end, style, diagnostics).run();
}

bool decodeInteger(std::string_view spelling, __int128 &value) {
  unsigned __int128 result = 0;
  unsigned __int128 limit = ~static_cast<unsigned __int128>(0) >> 1, base = 10;
  if (spelling.size() > 2 && spelling[0] == '0') {
    char kind = static_cast<char>(spelling[1] | 0x20);
    if (kind == 'x' || kind == 'o' || kind == 'b') {
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : 2;
      spelling.remove_prefix(2);
    }
  }
  for (char c : spelling) {
    if (c == '_') continue;
    unsigned __int128 digit = static_cast<unsigned __int128>(digitValue(c));
    if (result > (limit - digit) / base) return false;
    result = result * base + digit;
  }
  value = static_cast<__int128>(result);
  return true;
}

double decodeFloat(std::string_view spelling) {
  std::string digits;
  for (char c : spelling)
    if (c != '_') digits += c;
  double value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc()) return value;
  // Outside the range of doubles, the result is infinity or zero.
  llvm::APFloat wide(llvm::APFloat::IEEEdouble());
  if (llvm::Expected<llvm::APFloat::opStatus> status = wide.convertFromString(digits, llvm::APFloat::rmNearestTiesToEven); !status)
    llvm::consumeError(status.takeError());
  return wide.convertToDouble();
}

} // namespace tilewright
