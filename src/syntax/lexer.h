// Converts text to tokens: all of Python's lexical grammar, in one pass and without recursion.
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

/// Returns the name of the kind in messages: "':'", "'for'", "a name".
std::string describe(Tok kind);

/// A token is a range of the source. newline, indent and dedent have empty ranges.
struct Token {
  Tok kind;
  uint32_t begin;
  uint32_t end;
};

/// Returns all tokens, ending with endOfFile. Reports lexical errors to `diagnostics`; the tokens are then invalid. The indentation of the
/// first statement is the margin of the whole text.
std::vector<Token> lex(const SourceFile &source, Diagnostics &diagnostics);

/// Decodes the characters of a string literal. `body` is the part between the quotes (or a piece of an f-string's text).
struct LiteralStyle {
  bool raw = false;
  bool bytes = false;
  bool formatted = false; // "{{" stands for "{"
};
std::string decodeLiteral(const SourceFile &source, uint32_t begin, uint32_t end, LiteralStyle style, Diagnostics &diagnostics);

/// Decodes an integer token. Returns false if it needs more than 128 bits (including the sign).
bool decodeInteger(std::string_view spelling, __int128 &value);
double decodeFloat(std::string_view spelling);

} // namespace tilewright
