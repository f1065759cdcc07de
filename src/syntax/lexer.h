// Text to tokens: all of Python's lexical grammar, in one pass over the text and without recursion.
#pragma once

#include "support/diagnostics.h"

#include <memory>
#include <vector>

namespace tilewright {

enum class Tok : uint8_t {
#define TOKEN(name, description) name,
#define KEYWORD(name, spelling) name,
#define PUNCTUATION(name, spelling) name,
#include "syntax/token.def"
};

/// What a message calls the kind: "':'", "'for'", "a name".
std::string describe(Tok kind);

/// A token only says where its text is in the source. newline, indent and dedent are empty ranges.
struct Token {
  Tok kind;
  uint32_t begin;
  uint32_t end;
};

/// All tokens, ending with endOfFile. Lexical errors go to `diagnostics`; the tokens are useless then.
/// The indentation of the first statement counts as the margin of the whole text.
std::vector<Token> lex(const SourceFile &source, Diagnostics &diagnostics);

/// What a string literal's characters stand for. `body` is the part between the quotes (or a piece of an f-string's text).
struct LiteralStyle {
  bool raw = false;
  bool bytes = false;
  bool formatted = false; // "{{" stands for "{"
};
std::string decodeLiteral(const SourceFile &source, uint32_t begin, uint32_t end, LiteralStyle style, Diagnostics &diagnostics);

/// The value of an integer token, or nothing if it needs more than 128 bits (sign included).
bool decodeInteger(std::string_view spelling, __int128 &value);
double decodeFloat(std::string_view spelling);

} // namespace tilewright
