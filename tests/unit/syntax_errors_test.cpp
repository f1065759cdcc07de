// What is said about wrong Python, and that no text whatever brings the parser down.

#include "syntax/parser.h"

#include <gtest/gtest.h>

#include <random>

using namespace tilewright;

/// "line:column: message" of every error.
static std::string errors(std::string text) {
  Diagnostics diagnostics;
  bool ok = parse(SourceFile::create("k.py", std::move(text), 1), diagnostics) != nullptr;
  EXPECT_EQ(ok, !diagnostics.hasErrors());
  std::string out;
  for (const Diagnostic &diagnostic : diagnostics.all())
    out += std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) + ": " + diagnostic.message + "\n";
  return out;
}

static std::string hint(std::string text) {
  Diagnostics diagnostics;
  parse(SourceFile::create("k.py", std::move(text), 1), diagnostics);
  return diagnostics.all().empty() ? "" : diagnostics.all()[0].hint;
}

TEST(SyntaxErrors, Rendered) {
  Diagnostics diagnostics;
  parse(SourceFile::create("k.py", "def f(n):\n    for i in range(n)   # all\n        pass\n", 40), diagnostics);
  EXPECT_EQ(diagnostics.render(), "k.py:41:22: error: expected ':' after the for header\n"
                                  "    for i in range(n)   # all\n"
                                  "                     ^\n");
}

TEST(SyntaxErrors, SeveralStatements) {
  EXPECT_EQ(errors("def f(a b):\n  pass\nx = 1\nif x = 3:\n  y\nelse:\n  z\nf(x) = 3\n"), "1:9: expected ',' or ')' in the parameters\n"
                                                                                          "4:6: '=' is not expected here\n"
                                                                                          "8:1: cannot assign to the result of a call\n");
  EXPECT_EQ(errors("match x:\n  case :\n    a\n  case 1:\n    b\n  foo\nz z\n"),
            "2:8: expected a pattern after 'case'\n6:3: expected 'case' in the block of a match\n"
            "7:3: 'z' is not expected here\n");
}

TEST(SyntaxErrors, Blocks) {
  EXPECT_EQ(errors("def g():\nh = 1\n"), "2:1: expected an indented block after the def on line 1\n");
  EXPECT_EQ(errors("a\n  b\n"), "2:3: this line is indented more than the one before\n");
  EXPECT_EQ(errors("if a:\n    b\n  c\n"), "3:1: this indentation does not match any block above\n");
  EXPECT_EQ(errors("if a:\n        b\n\tc\n"), "3:1: tabs and spaces are mixed so that the indentation depends on the tab width\n");
  EXPECT_EQ(errors("  a\nb\n"), "2:1: this line is indented less than the first statement of the source\n");
  EXPECT_EQ(errors("try:\n  x\ny\n"), "1:1: expected 'except' or 'finally' after the block of this try\n");
  EXPECT_EQ(errors("else:\n  x\n"), "1:1: 'else' is not expected here\n");
}

TEST(SyntaxErrors, Brackets) {
  EXPECT_EQ(errors("a = (1,\nb = 2\n"), "1:5: '(' was never closed\n");
  EXPECT_EQ(errors("a = 1)\n"), "1:6: ')' has no opening bracket\n");
  EXPECT_EQ(errors("a = [(1, 2]\n"), "1:11: ']' does not close '(' of line 1\n");
}

TEST(SyntaxErrors, Literals) {
  EXPECT_EQ(errors("a = 'b\nc\n"), "1:5: this string has no closing '\n");
  EXPECT_EQ(errors("a = '''b\nc\n"), "1:5: this triple-quoted string has no closing '''\n");
  EXPECT_EQ(errors("a = f'b\nc\n"), "1:5: this f-string has no closing '\n");
  EXPECT_EQ(errors("f'a}'"), "1:4: a single '}' in an f-string\n");
  EXPECT_EQ(errors("f'{}'"), "1:4: an f-string field needs an expression\n");
  EXPECT_EQ(errors("f'{a!x}'"), "1:6: expected r, s or a after '!'\n");
  EXPECT_EQ(errors("'\\x1'"), "1:2: '\\x1' is not a valid escape in a string\n");
  EXPECT_EQ(errors("b'ä'"), "1:3: a bytes literal can hold ASCII characters only\n");
  EXPECT_EQ(errors("012"), "1:1: '012' is not a number: a decimal number cannot begin with 0\n");
  EXPECT_EQ(errors("1__0"), "1:1: '1__0' is not a number: an underscore must stand between two digits\n");
  EXPECT_EQ(errors("0b12"), "1:1: '0b12' is not a number: the largest digit after '0b' is 1\n");
  EXPECT_EQ(errors("2j"), "1:1: '2j' is not a number: complex numbers are not supported\n");
  EXPECT_EQ(errors("0x1" + std::string(32, '0')).substr(0, 5), "1:1: ");
}

TEST(SyntaxErrors, Characters) {
  EXPECT_EQ(errors("a = 5 $ 3"), "1:7: character '$' is not part of Python\n");
  EXPECT_EQ(hint("a = “b”"), "use the plain quotes ' or \"");
  EXPECT_EQ(errors(std::string("a\0b", 3)), "1:2: character NUL (U+0000) is not part of Python\n");
  EXPECT_EQ(hint("a = !b"), "write 'not' to negate");
}

TEST(SyntaxErrors, InvalidEncoding) {
  EXPECT_EQ(errors("a = '\xff'"), "1:6: the source is not UTF-8 text\n");
}

TEST(SyntaxErrors, Hints) {
  EXPECT_EQ(hint("print 'x'"), "write print(...)");
  EXPECT_EQ(hint("if a && b: pass"), "write 'and' for a logical and");
  EXPECT_EQ(hint("if a:\n  b\nelse if c:\n  d\n"), "write 'elif' if this was meant as 'else if'");
  EXPECT_EQ(hint("f(a=1, 2)"), "put positional arguments first");
  EXPECT_EQ(hint("x = [1 2]"), "is a comma missing?");
  EXPECT_EQ(hint("def lambda(): pass"), "'lambda' is a keyword and cannot be a name");
  EXPECT_EQ(hint("a := 1"), "write '=', or put parentheses around it");
  EXPECT_EQ(hint("a + 1 = b"), "write '==' to compare");
}

TEST(SyntaxErrors, Targets) {
  for (const char *text : {"None = 1", "f() += 1", "for 1 in x: pass", "del f()", "a, b += 1", "(a, b): int", "[a, 1] = x", "x = yield = 1",
                           "(a := 1) = 2", "*a = b", "a < b = c", "with a as 1: pass", "[x for f() in y]", "(a.b := 1)"})
    EXPECT_NE(errors(text), "") << text;
}

TEST(SyntaxErrors, Parameters) {
  for (const char *text :
       {"def f(a, a): pass", "def f(a=1, b): pass", "def f(*, **k): pass", "def f(*): pass", "def f(**k, a): pass", "def f(/, a): pass",
        "def f(*a, *b): pass", "def f((a, b)): pass", "def f(*a=1): pass", "lambda a, a: 1", "lambda *: 1"})
    EXPECT_NE(errors(text), "") << text;
}

TEST(Torture, DeepNesting) {
  auto repeat = [](const std::string &text, int64_t count) {
    std::string out;
    for (int64_t i = 0; i < count; ++i)
      out += text;
    return out;
  };
  std::string indented;
  for (int64_t i = 0; i < 3000; ++i)
    indented += std::string(static_cast<size_t>(i), ' ') + "if a:\n";
  constexpr int64_t many = 100000;
  std::string unclosed[] = {repeat("(", many),  repeat("[", many),     repeat("{", many), repeat("f'{", many),
                            repeat("f(", many), repeat("f'{a:", many), repeat("a[", many)};
  for (const std::string &text : unclosed)
    EXPECT_NE(errors(text), "");
  std::string deep[] = {repeat("(", 300) + "a" + repeat(")", 300),
                        repeat("-", many) + "a",
                        repeat("not ", many) + "a",
                        repeat("lambda: ", many) + "a",
                        "a" + repeat("**a", many),
                        "a" + repeat(".a", many),
                        "a" + repeat("+a", many),
                        "a" + repeat("()", many),
                        "a" + repeat("[a]", many),
                        "a" + repeat(" if a else a", many),
                        indented,
                        repeat("if a:\n b\nel", many) + "se:\n b",
                        "a" + repeat("(b" + repeat(".c", 1000), 150) + repeat(")", 150)};
  for (const std::string &text : deep)
    EXPECT_NE(errors(text).find("nested"), std::string::npos) << text.substr(0, 20);
}

TEST(Torture, LongButFlat) {
  auto list = [](const std::string &text) {
    std::string out;
    for (int64_t i = 0; i < 100000; ++i)
      out += text;
    return out;
  };
  for (const std::string &text : {"x = [" + list("a.b, -1, ") + "]", list("x = 1\n"), "x = (" + list("'a' ") + ")", "a" + list(" and a"),
                                  "a" + list(" < a"), list("a = ") + "b"})
    EXPECT_EQ(errors(text), "") << text.substr(0, 20);
}

// Pieces of Python in any order, cut anywhere: whatever comes out, the parser ends, and it says something if it has no tree.
TEST(Torture, RandomText) {
  static const std::string pieces[] = {
      "def f(",  "a",        "b",       ":",        "\n",       "\n  ",   "\n    ",  "\n\t",    "(",      ")",      "[",      "]",
      "{",       "}",        "f'",      "f\"{",     "'",        "\"\"\"", "\\",      "\\\n",    "=",      ":=",     "->",     "*",
      "**",      "/",        ",",       ".",        "...",      "if ",    "else",    "elif ",   "for ",   " in ",   "while ", "with ",
      "as ",     "try:",     "except",  "finally:", "match x:", "case ",  "class C", "lambda ", "yield ", "await ", "async ", "@",
      "import ", "from ",    "return ", "not ",     "is ",      "1",      "0x",      "1e5",     "1_",     "0",      "ä",      "“",
      "\xff",    "\r",       "\r\n",    "\f",       "#",        "!",      "!r",      ";",       "+=",     "==",     "<",      "-",
      "~",       "global x", "del ",    "type X",   "pass",     "u'",     "rb'",     "\\N{",    "None"};
  std::mt19937 random(1);
  for (int64_t round = 0; round < 20000; ++round) {
    std::string text;
    for (uint32_t i = random() % 30; i > 0; --i)
      text += pieces[random() % std::size(pieces)];
    Diagnostics diagnostics;
    bool ok = parse(SourceFile::create("k.py", text, 1), diagnostics) != nullptr;
    ASSERT_EQ(ok, !diagnostics.hasErrors()) << text;
    ASSERT_LE(diagnostics.all().size(), 40u) << text;
    diagnostics.render();
  }
}
