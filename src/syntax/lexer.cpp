// The state of Python's lexical grammar consists of three stacks:
//   - the indentation of the open blocks, for indent and dedent tokens
//   - the open brackets, inside which line breaks have no meaning
//   - the open f-strings, whose text and {fields} are read differently
// A field of an f-string is a bracket too: f"{a[1]:>{w}}" opens '{', '[', closes ']', returns to text at ':', and so on. The lexer is one
// loop over these stacks, so no input can overflow the native stack.

#include "syntax/lexer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <algorithm>

namespace tilewright {

std::string describe(Tok kind) {
  switch (kind) {
#define TOKEN(name, description)                                                                                                           \
  case Tok::name: return description;
#define KEYWORD(name, spelling)                                                                                                            \
  case Tok::name: return "'" spelling "'";
#define PUNCTUATION(name, spelling)                                                                                                        \
  case Tok::name: return "'" spelling "'";
#include "syntax/token.def"
  }
  return "a token";
}

namespace {

// Character classes, for one table lookup for each byte.
enum CharClass : uint8_t { isLetter = 1, isDigit = 2, isHexDigit = 4, isBlank = 8 };
struct CharTable {
  uint8_t bits[256] = {};
  constexpr CharTable() {
    for (int c = 'a'; c <= 'z'; ++c)
      bits[c] = bits[c - 32] = isLetter;
    bits[static_cast<int>('_')] = isLetter;
    for (int c = 0x80; c < 0x100; ++c)
      bits[c] = isLetter; // checked when the name is complete
    for (int c = '0'; c <= '9'; ++c)
      bits[c] = isDigit | isHexDigit;
    for (int c = 'a'; c <= 'f'; ++c)
      bits[c] |= isHexDigit, bits[c - 32] |= isHexDigit;
    bits[static_cast<int>(' ')] = bits[static_cast<int>('\t')] = bits[static_cast<int>('\f')] = isBlank;
  }
};
constexpr CharTable charTable;
bool is(char c, int classes) {
  return (charTable.bits[static_cast<unsigned char>(c)] & classes) != 0;
}

struct Keyword {
  std::string_view spelling;
  Tok kind;
};
constexpr Keyword keywords[] = {
#define KEYWORD(name, spelling) {spelling, Tok::name},
#include "syntax/token.def"
};
struct KeywordStarts {
  size_t at[10] = {}; // by length: the index of the first keyword that is at least as long
  constexpr KeywordStarts() {
    for (size_t length = 0; length < 10; ++length)
      for (const Keyword &keyword : keywords)
        at[length] += keyword.spelling.size() < length;
  }
};
constexpr KeywordStarts keywordStarts;

Tok keywordOrName(std::string_view text) {
  if (text.size() < 2 || text.size() > 8) return Tok::name;
  // Keywords are sorted by length, so a name is compared only with the keywords of its length.
  for (size_t i = keywordStarts.at[text.size()]; i < keywordStarts.at[text.size() + 1]; ++i)
    if (keywords[i].spelling[0] == text[0] && keywords[i].spelling == text) return keywords[i].kind;
  return Tok::name;
}

struct Bracket {
  char open; // '(' '[' '{'
  uint32_t begin;
  bool isField;  // the '{' of an f-string
  bool inFormat; // after the field's ':'
};

struct FString {
  uint32_t begin;
  char quote;
  bool triple;
  bool raw;
  size_t brackets; // the number of brackets open before it
};

struct Indentation {
  int64_t column;      // tabs go to the next multiple of 8
  int64_t columnTabs1; // tabs are one column wide; if the two columns order lines differently, the meaning depends on the tab width
};

class Lexer {
public:
  Lexer(const SourceFile &source, Diagnostics &diagnostics) : source(source), text(source.text()), diagnostics(diagnostics) {
    size = static_cast<uint32_t>(text.size());
    tokens.reserve(text.size() / 4 + 16);
  }

  std::vector<Token> run();

private:
  char peek(uint32_t ahead) const { return at + ahead < size ? text[at + ahead] : '\0'; }
  bool inFStringText() const { return !fstrings.empty() && (brackets.size() == fstrings.back().brackets || brackets.back().inFormat); }
  void push(Tok kind, uint32_t begin) { tokens.push_back({kind, begin, at}); }
  void fail(uint32_t begin, uint32_t end, Diag id, std::initializer_list<std::string> args) {
    if (++errors <= maxErrors) diagnostics.error({&source, begin, end}, id, args);
  }
  std::string_view slice(uint32_t begin, uint32_t end) const { return text.substr(begin, end - begin); }
  int64_t lineOf(uint32_t offset) const { return source.position(offset).line; }

  bool checkEncoding();
  void startLine();
  void changeIndentation(Indentation now);
  void lineBreak();
  void token();
  void word();
  void string(uint32_t begin, std::string_view prefix);
  void fstringText();
  void skipEscape(bool raw);
  void openField();
  void closeString(uint32_t quotes);
  void number();
  void badNumber(uint32_t begin, std::string why, std::string advice);
  void digits(int classes, char last);
  void punctuation();
  void open(char c);
  void close(char c);
  void strangeCharacter();
  bool checkName(uint32_t begin);
  void finish();

  static constexpr int64_t maxErrors = 10;
  static constexpr size_t maxDepth = 400; // bounds the stacks; the parser's limit is lower

  const SourceFile &source;
  std::string_view text;
  Diagnostics &diagnostics;
  uint32_t at = 0, size = 0;
  int64_t errors = 0;
  bool atLineStart = true, sawStatement = false;
  std::vector<Token> tokens;
  std::vector<Bracket> brackets;
  std::vector<FString> fstrings;
  std::vector<Indentation> indents{{0, 0}};
};

std::vector<Token> Lexer::run() {
  if (!checkEncoding()) return {{Tok::endOfFile, 0, 0}};
  if (text.substr(0, 3) == "\xef\xbb\xbf") at = 3;
  while (at < size && errors <= maxErrors) {
    if (inFStringText())
      fstringText();
    else if (atLineStart)
      startLine();
    else
      token();
  }
  finish();
  return std::move(tokens);
}

bool Lexer::checkEncoding() {
  if (text.size() > 0x7fffffff) {
    fail(0, 0, Diag::syntaxError, {"the source is larger than 2 GiB"});
    return false;
  }
  if (size_t nul = text.find('\0'); nul != std::string_view::npos) {
    uint32_t begin = static_cast<uint32_t>(nul);
    fail(begin, begin + 1, Diag::invalidCharacter, {"NUL (U+0000)", "remove it; the file may be binary"});
    return false;
  }
  const llvm::UTF8 *cursor = reinterpret_cast<const llvm::UTF8 *>(text.data());
  if (llvm::isLegalUTF8String(&cursor, cursor + text.size())) return true;
  uint32_t begin = static_cast<uint32_t>(reinterpret_cast<const char *>(cursor) - text.data());
  fail(begin, begin + 1, Diag::invalidEncoding, {});
  return false;
}

// Measures the indentation of a line, and skips the line if it holds no statement.
void Lexer::startLine() {
  Indentation now{0, 0};
  for (; at < size && is(text[at], isBlank); ++at) {
    if (text[at] == '\f') {
      now = {0, 0};
    } else {
      now.column = text[at] == '\t' ? (now.column / 8 + 1) * 8 : now.column + 1;
      ++now.columnTabs1;
    }
  }
  if (at >= size) return;
  if (text[at] == '#') {
    at = static_cast<uint32_t>(std::min<size_t>(text.find_first_of("\r\n", at), size));
    return;
  }
  if (text[at] == '\n' || text[at] == '\r') {
    ++at;
    return;
  }
  // A backslash at the start of a line joins it with the next line, whose own indentation then does not count.
  if (text[at] == '\\' && (peek(1) == '\n' || peek(1) == '\r')) {
    at += peek(1) == '\r' && peek(2) == '\n' ? 3 : 2;
    while (at < size && is(text[at], isBlank))
      ++at;
    if (at >= size || text[at] == '\n' || text[at] == '\r' || text[at] == '#' || text[at] == '\\') return;
  }
  atLineStart = false;
  if (!sawStatement) {
    sawStatement = true;
    indents.back() = now;
    return;
  }
  changeIndentation(now);
}

void Lexer::changeIndentation(Indentation now) {
  const Indentation &top = indents.back();
  uint32_t lineBegin = at - static_cast<uint32_t>(source.position(at).column - 1);
  auto tabs = [&] {
    fail(lineBegin, at, Diag::badIndentation,
         {"tabs and spaces are mixed so that the indentation depends on the tab width", "use spaces only"});
  };
  if (now.column == top.column) {
    if (now.columnTabs1 != top.columnTabs1) tabs();
    return;
  }
  if (now.column > top.column) {
    if (now.columnTabs1 <= top.columnTabs1) return tabs();
    indents.push_back(now);
    push(Tok::indent, at);
    return;
  }
  while (indents.size() > 1 && now.column < indents.back().column) {
    indents.pop_back();
    push(Tok::dedent, at);
  }
  if (now.column == indents.back().column) {
    if (now.columnTabs1 != indents.back().columnTabs1) tabs();
    return;
  }
  if (indents.size() == 1 && now.column < indents.back().column)
    return fail(lineBegin, at + 1, Diag::badIndentation,
                {"this line is indented less than the first statement of the source", "indent both equally"});
  fail(lineBegin, at, Diag::badIndentation,
       {"this indentation does not match any block above", "align the line with the block that it belongs to"});
}

void Lexer::lineBreak() {
  uint32_t begin = at;
  at += text[at] == '\r' && peek(1) == '\n' ? 2 : 1;
  if (!brackets.empty()) return;
  tokens.push_back({Tok::newline, begin, begin});
  atLineStart = true;
}

void Lexer::token() {
  char c = text[at];
  if (is(c, isBlank)) {
    ++at;
  } else if (is(c, isLetter)) {
    word();
  } else if (is(c, isDigit) || (c == '.' && is(peek(1), isDigit))) {
    number();
  } else if (c == '\n' || c == '\r') {
    lineBreak();
  } else if (c == '#') {
    at = static_cast<uint32_t>(std::min<size_t>(text.find_first_of("\r\n", at), size));
  } else if (c == '"' || c == '\'') {
    string(at, "");
  } else if (c == '\\') {
    uint32_t begin = at++;
    if (at < size && (text[at] == '\n' || text[at] == '\r')) {
      at += text[at] == '\r' && peek(1) == '\n' ? 2 : 1;
    } else if (at < size) {
      fail(begin, begin + 1, Diag::invalidCharacter, {"'\\'", "a backslash joins two lines and must be the last character of the first"});
    }
  } else {
    punctuation();
  }
}

void Lexer::word() {
  uint32_t begin = at;
  bool ascii = true;
  for (; at < size && is(text[at], isLetter | isDigit); ++at)
    ascii &= static_cast<unsigned char>(text[at]) < 0x80;
  std::string_view spelling = slice(begin, at);
  if (at < size && (text[at] == '"' || text[at] == '\'') && spelling.size() <= 2) {
    char low[2] = {static_cast<char>(spelling[0] | 0x20), spelling.size() > 1 ? static_cast<char>(spelling[1] | 0x20) : '\0'};
    std::string_view prefix(low, spelling.size());
    if (prefix == "r" || prefix == "b" || prefix == "u" || prefix == "f" || prefix == "br" || prefix == "rb" || prefix == "fr" ||
        prefix == "rf")
      return string(begin, prefix);
  }
  if (!ascii && !checkName(begin)) return;
  push(keywordOrName(spelling), begin);
}

void Lexer::string(uint32_t begin, std::string_view prefix) {
  char quote = text[at];
  bool triple = peek(1) == quote && peek(2) == quote;
  bool raw = prefix.find('r') != std::string_view::npos;
  bool bytes = prefix.find('b') != std::string_view::npos;
  at += triple ? 3 : 1;
  if (prefix.find('f') != std::string_view::npos) {
    if (fstrings.size() >= maxDepth) {
      fail(begin, at, Diag::nestedTooDeeply, {std::to_string(maxDepth)});
      at = size;
      return;
    }
    fstrings.push_back({begin, quote, triple, raw, brackets.size()});
    push(Tok::fstringStart, begin);
    return;
  }
  const char stops[] = {quote, '\\', '\n', '\r', '\0'};
  while (true) {
    size_t next = text.find_first_of(triple ? std::string_view(stops, 2) : std::string_view(stops, 4), at);
    if (next == std::string_view::npos) {
      at = size;
      break;
    }
    at = static_cast<uint32_t>(next);
    char c = text[at];
    if (c == '\\') {
      at = std::min(size, at + (peek(1) == '\r' && peek(2) == '\n' ? 3 : 2));
      continue;
    }
    if (c != quote) break; // the line ends
    if (!triple || (peek(1) == quote && peek(2) == quote)) {
      at += triple ? 3 : 1;
      if (bytes) {
        for (uint32_t i = begin; i < at; ++i) {
          if (static_cast<unsigned char>(text[i]) < 0x80) continue;
          fail(i, i + 1, Diag::syntaxError, {"a bytes literal can hold ASCII characters only", "write other bytes as \\x.."});
          break;
        }
      }
      push(Tok::string, begin);
      return;
    }
    ++at;
  }
  std::string mark(triple ? 3 : 1, quote);
  fail(begin, triple ? begin + 3 : at, Diag::unterminatedString, {triple ? "triple-quoted string" : "string", mark});
  push(Tok::string, begin);
}

/// Skips an escape in the text of an f-string, or of a field's format. The character after a backslash is neither the brace of a field nor
/// the end of the string.
void Lexer::skipEscape(bool raw) {
  char next = peek(1);
  if (next == '{' || next == '}') {
    ++at;
  } else if (next == 'N' && peek(2) == '{' && !raw) {
    size_t end = text.find_first_of("}\n\"'", at);
    at = static_cast<uint32_t>(end == std::string_view::npos ? size : text[end] == '}' ? end + 1 : end);
  } else {
    at = std::min(size, at + (next == '\r' && peek(2) == '\n' ? 3 : 2));
  }
}

void Lexer::openField() {
  if (brackets.size() >= maxDepth) {
    fail(at, at + 1, Diag::nestedTooDeeply, {std::to_string(maxDepth)});
    at = size;
    return;
  }
  brackets.push_back({'{', at, /*isField=*/true, /*inFormat=*/false});
  uint32_t begin = at++;
  push(Tok::leftBrace, begin);
}

/// Closes the string at its quotes or, if they are missing, at the end of the line or the text.
void Lexer::closeString(uint32_t quotes) {
  brackets.resize(fstrings.back().brackets);
  fstrings.pop_back();
  uint32_t begin = at;
  at += quotes;
  push(Tok::fstringEnd, begin);
}

void Lexer::fstringText() {
  FString string = fstrings.back();
  bool inFormat = brackets.size() > string.brackets;
  uint32_t begin = at;
  auto middle = [&] {
    if (at > begin) push(Tok::fstringMiddle, begin);
  };
  while (at < size) {
    char c = text[at];
    if (c == '\\') {
      skipEscape(string.raw);
    } else if (c == '{' && !inFormat && peek(1) == '{') {
      at += 2;
    } else if (c == '{') {
      middle();
      return openField();
    } else if (c == '}' && inFormat) {
      middle();
      brackets.pop_back();
      begin = at++;
      return push(Tok::rightBrace, begin);
    } else if (c == '}') {
      if (peek(1) != '}') fail(at, at + 1, Diag::invalidFString, {"a single '}' in an f-string", "write '}}' for a brace"});
      at += peek(1) == '}' ? 2 : 1;
    } else if (c == string.quote && (!string.triple || (peek(1) == c && peek(2) == c))) {
      middle();
      if (inFormat) fail(brackets.back().begin, brackets.back().begin + 1, Diag::unclosedBracket, {"{", "}"});
      return closeString(string.triple ? 3 : 1);
    } else if ((c == '\n' || c == '\r') && !string.triple) {
      break;
    } else {
      ++at;
    }
  }
  fail(string.begin, string.triple ? string.begin + 4 : at, Diag::unterminatedString,
       {"f-string", std::string(string.triple ? 3 : 1, string.quote)});
  middle();
  closeString(0);
}

// Skips digits with single underscores between them. `last` is the previous character.
void Lexer::digits(int classes, char last) {
  for (; at < size; ++at) {
    char c = text[at];
    if (!is(c, classes) && !(c == '_' && last != '_' && is(peek(1), classes))) break;
    last = c;
  }
}

void Lexer::badNumber(uint32_t begin, std::string why, std::string advice) {
  while (at < size && (is(text[at], isLetter | isDigit) || text[at] == '.'))
    ++at;
  fail(begin, at, Diag::invalidNumber, {std::string(slice(begin, at)), std::move(why), std::move(advice)});
  push(Tok::integer, begin);
}

void Lexer::number() {
  uint32_t begin = at;
  char second = static_cast<char>(peek(1) | 0x20);
  bool isFloat = false;
  if (text[at] == '0' && (second == 'x' || second == 'o' || second == 'b')) {
    at += 2;
    uint32_t first = at;
    digits(second == 'x' ? isHexDigit : isDigit, '0');
    if (at == first) return badNumber(begin, "digits must follow '0" + std::string(1, second) + "'", "");
    char largest = second == 'b' ? '1' : second == 'o' ? '7' : 'f';
    for (uint32_t i = first; second != 'x' && i < at; ++i)
      if (text[i] != '_' && text[i] > largest)
        return badNumber(begin, std::string("the largest digit after '0") + second + "' is " + largest, "");
  } else {
    if (text[at] != '.') digits(isDigit, '_');
    uint32_t wholeEnd = at;
    if (at < size && text[at] == '.') {
      isFloat = true;
      ++at;
      if (is(peek(0), isDigit)) digits(isDigit, '_');
    }
    if (at < size && (text[at] | 0x20) == 'e') {
      uint32_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is(peek(1 + sign), isDigit)) {
        isFloat = true;
        at += 1 + sign;
        digits(isDigit, '_');
      }
    }
    if (at < size && (text[at] | 0x20) == 'j') return badNumber(begin, "complex numbers are not supported", "");
    bool leadingZero = !isFloat && text[begin] == '0' && slice(begin, wholeEnd).find_first_not_of("0_") != std::string_view::npos;
    if (leadingZero) {
      std::string octal(slice(begin, wholeEnd));
      octal.erase(0, octal.find_first_not_of("0_"));
      return badNumber(begin, "a decimal number cannot begin with 0", "write " + octal + ", or 0o" + octal + " for an octal number");
    }
  }
  // "1if x else 2" is valid Python, "1abc" is not.
  if (at < size && is(text[at], isLetter)) {
    uint32_t end = at;
    while (end < size && is(text[end], isLetter | isDigit))
      ++end;
    Tok next = keywordOrName(slice(at, end));
    bool allowed = next == Tok::kwAnd || next == Tok::kwElse || next == Tok::kwFor || next == Tok::kwIf || next == Tok::kwIn ||
                   next == Tok::kwIs || next == Tok::kwNot || next == Tok::kwOr;
    if (!allowed) {
      bool underscore = text[at] == '_';
      return badNumber(begin, underscore ? "an underscore must stand between two digits" : "a letter follows the digits",
                       underscore ? "" : "a name cannot begin with a digit");
    }
  }
  push(isFloat ? Tok::floating : Tok::integer, begin);
}

void Lexer::open(char c) {
  if (brackets.size() >= maxDepth) {
    fail(at, at + 1, Diag::nestedTooDeeply, {std::to_string(maxDepth)});
    at = size;
    brackets.clear();
    fstrings.clear();
    return;
  }
  brackets.push_back({c, at, false, false});
  uint32_t begin = at++;
  push(c == '(' ? Tok::leftParen : c == '[' ? Tok::leftSquare : Tok::leftBrace, begin);
}

void Lexer::close(char c) {
  char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
  uint32_t begin = at++;
  size_t floor = fstrings.empty() ? 0 : fstrings.back().brackets;
  if (brackets.size() <= floor) {
    fail(begin, at, Diag::unmatchedBracket, {std::string(1, c), std::string(1, wanted)});
    return;
  }
  if (brackets.back().open != wanted) {
    char open = brackets.back().open;
    std::string right(1, open == '(' ? ')' : open == '[' ? ']' : '}');
    fail(begin, at, Diag::mismatchedBracket,
         {std::string(1, c), std::string(1, open), std::to_string(lineOf(brackets.back().begin)), right});
    errors = maxErrors + 1; // stops here: more errors would repeat this one
    at = size;
    return;
  }
  brackets.pop_back();
  push(c == ')' ? Tok::rightParen : c == ']' ? Tok::rightSquare : Tok::rightBrace, begin);
}

void Lexer::punctuation() {
  uint32_t begin = at;
  char c = text[at], n = peek(1), nn = peek(2);
  auto take = [&](uint32_t length, Tok kind) {
    at += length;
    push(kind, begin);
  };
  bool atField = !brackets.empty() && brackets.back().isField;
  switch (c) {
  case '(':
  case '[':
  case '{': return open(c);
  case ')':
  case ']':
  case '}': return close(c);
  case ',': return take(1, Tok::comma);
  case ';': return take(1, Tok::semicolon);
  case '~': return take(1, Tok::tilde);
  case ':':
    if (atField) {
      brackets.back().inFormat = true;
      return take(1, Tok::colon);
    }
    return n == '=' ? take(2, Tok::walrus) : take(1, Tok::colon);
  case '.': return n == '.' && nn == '.' ? take(3, Tok::ellipsis) : take(1, Tok::dot);
  case '@': return n == '=' ? take(2, Tok::atAssign) : take(1, Tok::at);
  case '=': return n == '=' ? take(2, Tok::equal) : take(1, Tok::assign);
  case '!':
    if (n == '=') return take(2, Tok::notEqual);
    if (atField) return take(1, Tok::exclaim);
    ++at;
    return fail(begin, at, Diag::invalidCharacter, {"'!'", "write 'not' to negate"});
  case '+': return n == '=' ? take(2, Tok::plusAssign) : take(1, Tok::plus);
  case '-': return n == '=' ? take(2, Tok::minusAssign) : n == '>' ? take(2, Tok::arrow) : take(1, Tok::minus);
  case '*':
    if (n == '*') return nn == '=' ? take(3, Tok::starStarAssign) : take(2, Tok::starStar);
    return n == '=' ? take(2, Tok::starAssign) : take(1, Tok::star);
  case '/':
    if (n == '/') return nn == '=' ? take(3, Tok::slashSlashAssign) : take(2, Tok::slashSlash);
    return n == '=' ? take(2, Tok::slashAssign) : take(1, Tok::slash);
  case '%': return n == '=' ? take(2, Tok::percentAssign) : take(1, Tok::percent);
  case '&': return n == '=' ? take(2, Tok::ampersandAssign) : take(1, Tok::ampersand);
  case '|': return n == '=' ? take(2, Tok::barAssign) : take(1, Tok::bar);
  case '^': return n == '=' ? take(2, Tok::caretAssign) : take(1, Tok::caret);
  case '<':
    if (n == '<') return nn == '=' ? take(3, Tok::lessLessAssign) : take(2, Tok::lessLess);
    return n == '=' ? take(2, Tok::lessEqual) : take(1, Tok::less);
  case '>':
    if (n == '>') return nn == '=' ? take(3, Tok::greaterGreaterAssign) : take(2, Tok::greaterGreater);
    return n == '=' ? take(2, Tok::greaterEqual) : take(1, Tok::greater);
  default: return strangeCharacter();
  }
}

void Lexer::strangeCharacter() {
  uint32_t begin = at++;
  unsigned char c = static_cast<unsigned char>(text[begin]);
  std::string name =
      c < 0x20 || c == 0x7f ? "U+00" + llvm::utohexstr(c, /*LowerCase=*/false, /*Width=*/2) : "'" + std::string(1, text[begin]) + "'";
  fail(begin, at, Diag::invalidCharacter, {name, c == '$' || c == '?' || c == '`' ? "" : "remove it"});
}

// True if a character beyond ASCII may be part of a name. A short list of ranges excludes signs, punctuation, spaces and emoji, instead of
// Unicode's full tables. It accepts every letter.
bool isNameCharacter(uint32_t c) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range refused[] = {{0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb6},     {0xb8, 0xb9},      {0xbb, 0xbf},
                                      {0xd7, 0xd7},     {0xf7, 0xf7},     {0x2000, 0x203e}, {0x2041, 0x2053},  {0x2055, 0x2070},
                                      {0x20a0, 0x20cf}, {0x2190, 0x2bff}, {0x3000, 0x3004}, {0x3008, 0x3020},  {0xe000, 0xf8ff},
                                      {0xfeff, 0xfeff}, {0xff01, 0xff0f}, {0xff1a, 0xff20}, {0x1f000, 0x1faff}};
  for (const Range &range : refused)
    if (c >= range.first && c <= range.last) return false;
  return true;
}

bool Lexer::checkName(uint32_t begin) {
  for (uint32_t i = begin; i < at;) {
    unsigned char lead = static_cast<unsigned char>(text[i]);
    uint32_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t c = lead < 0x80 ? lead : lead & (0x7fu >> length);
    for (uint32_t k = 1; k < length; ++k)
      c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    if (c >= 0x80 && !isNameCharacter(c)) {
      std::string advice;
      if (c == 0x2018 || c == 0x2019 || c == 0x201c || c == 0x201d) advice = "use the plain quotes ' or \"";
      if (c == 0xa0 || (c >= 0x2000 && c <= 0x200d) || c == 0x3000 || c == 0xfeff)
        advice = "it is invisible or looks like a space; replace it";
      if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212) advice = "use the plain minus '-'";
      if (c == 0xd7) advice = "use '*' to multiply";
      std::string code = llvm::utohexstr(c);
      code.insert(0, code.size() < 4 ? 4 - code.size() : 0, '0');
      fail(i, i + length, Diag::invalidCharacter, {"'" + std::string(slice(i, i + length)) + "' (U+" + code + ")", advice});
      at = i + length;
      return false;
    }
    i += length;
  }
  return true;
}

void Lexer::finish() {
  if (errors == 0 && !fstrings.empty()) {
    FString &string = fstrings.back();
    fail(string.begin, string.begin + 2, Diag::unterminatedString, {"f-string", std::string(string.triple ? 3 : 1, string.quote)});
  }
  if (errors == 0 && !brackets.empty()) {
    Bracket &bracket = brackets.back();
    fail(bracket.begin, bracket.begin + 1, Diag::unclosedBracket,
         {std::string(1, bracket.open), std::string(1, bracket.open == '('   ? ')'
                                                       : bracket.open == '[' ? ']'
                                                                             : '}')});
  }
  at = size;
  if (!tokens.empty() && tokens.back().kind != Tok::newline && tokens.back().kind != Tok::dedent) push(Tok::newline, at);
  for (size_t i = 1; i < indents.size(); ++i)
    push(Tok::dedent, at);
  push(Tok::endOfFile, at);
}

} // namespace

std::vector<Token> lex(const SourceFile &source, Diagnostics &diagnostics) {
  return Lexer(source, diagnostics).run();
}

} // namespace tilewright
