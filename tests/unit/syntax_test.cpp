// What the tree of right Python looks like. Messages about wrong Python are in syntax_errors_test.cpp.

#include "syntax/lexer.h"
#include "syntax/parser.h"

#include "llvm/Support/Casting.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::ast;
using llvm::cast;

static std::shared_ptr<const Module> parsed(std::string text) {
  Diagnostics diagnostics;
  std::shared_ptr<const Module> module = parse(SourceFile::create("k.py", std::move(text), 1), diagnostics);
  EXPECT_TRUE(module) << diagnostics.render();
  return module ? module : std::make_shared<Module>();
}

static std::string tree(std::string text) {
  return printAst(*parsed(std::move(text)));
}

/// The tree of one expression without the statement around it.
static std::string expr(std::string text) {
  std::string out, all = tree(std::move(text));
  for (size_t at = all.find('\n') + 1; at < all.size();) {
    size_t end = all.find('\n', at);
    out += all.substr(at + 2, end - at - 1);
    at = end + 1;
  }
  return out;
}

static std::string kinds(std::string text) {
  auto source = SourceFile::create("k.py", std::move(text), 1);
  Diagnostics diagnostics;
  std::string out;
  for (const Token &token : lex(*source, diagnostics)) {
    if (!out.empty()) out += ' ';
    if (token.kind == Tok::newline)
      out += "NL";
    else if (token.kind == Tok::indent)
      out += "IN";
    else if (token.kind == Tok::dedent)
      out += "DE";
    else if (token.kind == Tok::endOfFile)
      out += "EOF";
    else
      out += source->text().substr(token.begin, token.end - token.begin);
  }
  return diagnostics.hasErrors() ? diagnostics.render() : out;
}

TEST(Lexer, IndentationAndJoining) {
  EXPECT_EQ(kinds("if a:\n  b\n\n  # c\n  if d:\n\t\t\te\nf"), "if a : NL IN b NL if d : NL IN e NL DE DE f NL EOF");
  EXPECT_EQ(kinds("a = (1,\n\n  # note\n2)\nb"), "a = ( 1 , 2 ) NL b NL EOF");
  EXPECT_EQ(kinds("a = 1 + \\\n   2\r\nb\r\n"), "a = 1 + 2 NL b NL EOF");
  EXPECT_EQ(kinds("if a:\n  b"), "if a : NL IN b NL DE EOF");
}

TEST(Lexer, EmptyTexts) {
  for (const char *text : {"", "\n", "   ", "# only this", "\t# c\n\n", "\xef\xbb\xbf", "\\\n"})
    EXPECT_EQ(kinds(text), "EOF") << text;
}

TEST(Lexer, OperatorsAreTheLongestThatFit) {
  EXPECT_EQ(kinds("a**=b//c>>=d<=e->f:=g...h!=i"), "a **= b // c >>= d <= e -> f := g ... h != i NL EOF");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(kinds("0x_fF 0b1_0 0o17 1_000 00 1. .5 1e5 1.5E-3 1if x"), "0x_fF 0b1_0 0o17 1_000 00 1. .5 1e5 1.5E-3 1 if x NL EOF");
}

TEST(Lexer, FStringsNest) {
  EXPECT_EQ(kinds("f'a{b[1:2]:>{w}}c'"), "f' a { b [ 1 : 2 ] : > { w } } c ' NL EOF");
  EXPECT_EQ(kinds("f\"{f\"{1}\"}\""), "f\" { f\" { 1 } \" } \" NL EOF");
}

TEST(Literals, Numbers) {
  EXPECT_EQ(expr("0xFF_ff"), "integer 65535\n");
  EXPECT_EQ(expr("0b101"), "integer 5\n");
  EXPECT_EQ(expr("0o17"), "integer 15\n");
  EXPECT_EQ(expr("170141183460469231731687303715884105727"), "integer 170141183460469231731687303715884105727\n");
  EXPECT_EQ(expr("1_0.5e-1"), "float 1.05\n");
  EXPECT_EQ(expr("1e400"), "float inf\n");
  EXPECT_EQ(expr("1e-400"), "float 0.0\n");
  EXPECT_EQ(expr(".5"), "float 0.5\n");
}

TEST(Literals, Strings) {
  EXPECT_EQ(expr(R"("a\n\x41\u00e4\U0001F600\101\q")"), "string 'a\\nA\xc3\xa4\xf0\x9f\x98\x80"
                                                        "A\\\\q'\n");
  EXPECT_EQ(expr(R"('\N{LATIN SMALL LETTER A}' r'\n' "it's")"), "string 'a\\\\nit\\'s'\n");
  EXPECT_EQ(expr("'''a\r\nb'''"), "string 'a\\nb'\n");
  EXPECT_EQ(expr("b'\\xff'"), "bytes '\xff'\n");
  EXPECT_EQ(expr("'a\\\nb'"), "string 'ab'\n");
  EXPECT_EQ(expr("\"\"\"q\"q\"\"\""), "string 'q\"q'\n");
}

TEST(Literals, FStrings) {
  EXPECT_EQ(expr("f'a{{{x!r:>{w}}}}b' 'c'"),
            "fstring\n  text 'a{'\n  value !r: name x\n  format: fstring\n    text '>'\n    value: name w\n  text '}bc'\n");
  EXPECT_EQ(expr("f'{x = }'"), "fstring\n  text 'x = '\n  value !r: name x\n");
  EXPECT_EQ(expr("rf'\\{x}'"), "fstring\n  text '\\\\'\n  value: name x\n");
  EXPECT_EQ(expr("f''"), "fstring\n");
  EXPECT_EQ(expr("f'{a != b}{(lambda: 1)}{c:%H:%M}'").substr(0, 27), "fstring\n  value: compare !=");
}

TEST(Expressions, Precedence) {
  EXPECT_EQ(expr("-a ** -b * c"), "binary *\n  unary -\n    binary **\n      name a\n      unary -\n        name b\n  name c\n");
  EXPECT_EQ(expr("a - b - c"), "binary -\n  binary -\n    name a\n    name b\n  name c\n");
  EXPECT_EQ(expr("a ** b ** c"), "binary **\n  name a\n  binary **\n    name b\n    name c\n");
  EXPECT_EQ(expr("a | b ^ c & d << e"),
            "binary |\n  name a\n  binary ^\n    name b\n    binary &\n      name c\n      binary <<\n        name d\n        name e\n");
  EXPECT_EQ(expr("not a == b or c and d"), "or\n  unary not\n    compare ==\n      name a\n      name b\n  and\n    name c\n    name d\n");
  EXPECT_EQ(expr("0 <= a < b is not c not in d"), "compare <= < is not not in\n  integer 0\n  name a\n  name b\n  name c\n  name d\n");
  EXPECT_EQ(
      expr("a if b else c if d else e"),
      "conditional\n  condition: name b\n  then: name a\n  else: conditional\n    condition: name d\n    then: name c\n    else: name e\n");
}

TEST(Expressions, Trailers) {
  EXPECT_EQ(expr("a.b(c, *d, e=1, **f)[:, None]"),
            "subscript\n"
            "  object: call\n    callee: attribute b\n      name a\n    argument: name c\n    argument: starred\n      name d\n"
            "    keyword e: integer 1\n    **: name f\n"
            "  index: tuple\n    slice\n    None\n");
  EXPECT_EQ(expr("a[1:2:3]"),
            "subscript\n  object: name a\n  index: slice\n    lower: integer 1\n    upper: integer 2\n    step: integer 3\n");
  EXPECT_EQ(expr("kernel[grid](x)"), "call\n  callee: subscript\n    object: name kernel\n    index: name grid\n  argument: name x\n");
}

TEST(Expressions, Displays) {
  EXPECT_EQ(expr("(), (a,), [b, *c], {d}, {e: f, **g}, {}"),
            "tuple\n  tuple\n  tuple\n    name a\n  list\n    name b\n    starred\n      name c\n  set\n    name d\n  dict\n    key: name "
            "e\n    value: name f\n    **: name g\n  dict\n");
  EXPECT_EQ(expr("[a for a, b in c if d if e for f in g]"),
            "comprehension list\n  element: name a\n  for: tuple\n    name a\n    name b\n  in: name c\n  if: name d\n"
            "  if: name e\n  for: name f\n  in: name g\n");
  EXPECT_EQ(expr("sum(x for x in y)"),
            "call\n  callee: name sum\n  argument: comprehension generator\n    element: name x\n    for: name x\n    in: name y\n");
  EXPECT_EQ(expr("{a: b for a in c}"), "comprehension dict\n  element: name a\n  value: name b\n  for: name a\n  in: name c\n");
  EXPECT_EQ(expr("lambda a, /, b=1, *c, d, **e: (f := a)"),
            "lambda\n  parameter a (positional only)\n  parameter b\n    default: integer 1\n  parameter *c\n"
            "  parameter d (keyword only)\n  parameter **e\n  body: named f\n    name a\n");
}

TEST(Expressions, Ranges) {
  auto module = parsed("x = (a + b).c * d\n");
  auto *assign = cast<AssignStmt>(module->body[0]);
  auto textOf = [&](SourceRange range) { return std::string(module->source->text().substr(range.begin, range.end - range.begin)); };
  EXPECT_EQ(textOf(assign->range), "x = (a + b).c * d");
  auto *product = cast<BinaryExpr>(assign->value);
  EXPECT_EQ(textOf(product->range), "(a + b).c * d");
  EXPECT_EQ(textOf(product->lhs->range), "(a + b).c");
  EXPECT_EQ(textOf(cast<AttributeExpr>(product->lhs)->nameRange), "c");
  EXPECT_EQ(textOf(cast<AttributeExpr>(product->lhs)->object->range), "a + b");
}

TEST(Statements, Simple) {
  EXPECT_EQ(tree("a = b, *c = d; e += 1; f: g = h"),
            "assign\n  target: name a\n  target: tuple\n    name b\n    starred\n      name c\n  value: name d\n"
            "assign +=\n  target: name e\n  value: integer 1\n"
            "declare\n  target: name f\n  type: name g\n  value: name h\n");
  EXPECT_EQ(tree("import a.b as c, d\nfrom ...e import (f as g, h,)\nfrom . import *"),
            "import\n  name a.b as c\n  name d\nfrom ...e\n  name f as g\n  name h\nfrom .\n  name *\n");
  EXPECT_EQ(tree("del a, b[0]\nassert a, 'm'\nraise A from b\nglobal g, h\nnonlocal n\nreturn"),
            "del\n  name a\n  subscript\n    object: name b\n    index: integer 0\nassert\n  condition: name a\n  message: string 'm'\n"
            "raise\n  name A\n  cause: name b\nglobal g h\nnonlocal n\nreturn\n");
  EXPECT_EQ(tree("type X[T: int] = list"), "assign\n  target: name X\n  value: name list\n");
}

TEST(Statements, Control) {
  EXPECT_EQ(tree("if a: b\nelif c: d\nelse:\n  e"),
            "if\n  condition: name a\n  then:\n    expression\n      name b\n  else:\n    if\n      condition: name c\n      then:\n"
            "        expression\n          name d\n      else:\n        expression\n          name e\n");
  EXPECT_EQ(tree("for i, j in 1, 2:\n  break\nelse:\n  pass"),
            "for\n  target: tuple\n    name i\n    name j\n  in: tuple\n    integer 1\n    integer 2\n"
            "  body:\n    break\n  else:\n    pass\n");
  EXPECT_EQ(tree("try: a\nexcept (B, C) as d: e\nexcept: f\nelse: g\nfinally: h").substr(0, 4), "try\n");
  EXPECT_EQ(tree("try: a\nexcept* B: c").substr(0, 4), "try\n");
}

TEST(Statements, With) {
  std::string two = "with\n  context: call\n    callee: name a\n  as: name b\n  context: name c\n  body:\n    pass\n";
  EXPECT_EQ(tree("with a() as b, c: pass"), two);
  EXPECT_EQ(tree("with (a() as b, c,): pass"), two);
  EXPECT_EQ(tree("with (a, b) as c: pass"), "with\n  context: tuple\n    name a\n    name b\n  as: name c\n  body:\n    pass\n");
  EXPECT_EQ(tree("with (a): pass"), "with\n  context: name a\n  body:\n    pass\n");
}

TEST(Statements, Match) {
  EXPECT_EQ(
      tree("match x, y:\n  case [1, *_] | {'a': b} if b: c\n  case _:\n    d\nmatch = match(x)[0]\n"),
      "match\n  subject: tuple\n    name x\n    name y\n  case:\n    expression\n      name c\n  case:\n    expression\n      name d\n"
      "assign\n  target: name match\n  value: subscript\n    object: call\n      callee: name match\n      argument: name x\n    index: "
      "integer 0\n");
}

TEST(Statements, Functions) {
  auto module = parsed("x\n@triton.jit\n@b(1)\ndef f[T](a: int, *args: *Ts, c: tl.constexpr = 4) -> None:\n    pass  # end\n\nclass C(B, "
                       "metaclass=M):\n  async def g(self): await h\n");
  auto *function = cast<FunctionStmt>(module->body[1]);
  auto textOf = [&](SourceRange range) { return std::string(module->source->text().substr(range.begin, range.end - range.begin)); };
  EXPECT_EQ(function->decorators.size(), 2u);
  EXPECT_EQ(function->parameters[2].kind, ParameterKind::keywordOnly);
  EXPECT_EQ(textOf(function->nameRange), "f");
  EXPECT_EQ(textOf(function->range).substr(0, 5), "def f");
  EXPECT_EQ(textOf(function->range).back(), ':');
  EXPECT_EQ(textOf(function->wholeRange).substr(0, 7), "@triton");
  EXPECT_EQ(textOf(function->wholeRange).substr(textOf(function->wholeRange).size() - 4), "pass");
  auto *cls = cast<ClassStmt>(module->body[2]);
  EXPECT_EQ(cls->keywords[0].name, "metaclass");
  EXPECT_TRUE(cast<FunctionStmt>(cls->body[0])->isAsync);
}

TEST(Parser, IndentedTextIsTakenAsAWhole) {
  auto module = parsed("    @jit\n    def f():\n        '''doc\n  s'''\n# out\n        return 1\n\n    x = 1\n");
  ASSERT_EQ(module->body.size(), 2u);
  EXPECT_EQ(module->source->position(module->body[0]->range.begin).line, 2);
  EXPECT_EQ(module->source->position(module->body[0]->range.begin).column, 5);
}

TEST(Parser, UnusualBytes) {
  EXPECT_EQ(tree("\xef\xbb\xbf"
                 "größe = '€'\r\n"),
            "assign\n  target: name größe\n  value: string '€'\n");
  EXPECT_EQ(tree("a\r\fb\r\n\x0c\nc"), "expression\n  name a\nexpression\n  name b\nexpression\n  name c\n");
}
