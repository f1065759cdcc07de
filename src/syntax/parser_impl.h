// The recursive-descent parser, for the files of this folder: parser.cpp, parse_compound.cpp and parse_expression.cpp.
//
// Errors work without exceptions. The parser reports the first error in a statement, and then `kind()` returns Tok::error. No rule accepts
// this token, so every rule returns (with some node, never null if one is required), and the parser unwinds to the loop over statements.
// That loop restores the tokens, skips to the next statement and continues. So one run reports the errors of several statements.
//
// The depth is limited. `depth` counts nesting, and a small stack ends it earlier, so the parser cannot overflow the native stack. Chains
// such as a.b.c or a + b + c nest to the left without recursion in the parser, but every tree walk recurses. `chain` counts them, so that
// no tree is too deep for a walk.
#pragma once

#include "support/stack.h"
#include "syntax/ast.h"
#include "syntax/lexer.h"

#include "llvm/ADT/StringSet.h"

namespace tilewright {

class Parser {
public:
  Parser(std::shared_ptr<const SourceFile> source, std::vector<Token> tokens, Diagnostics &diagnostics);
  std::shared_ptr<const ast::Module> run();

private:
  // ---- tokens
  Tok kind() const { return failed ? Tok::error : tokens[next].kind; }
  Tok peekKind(size_t ahead) const;
  bool at(Tok wanted) const { return kind() == wanted; }
  std::string_view spelling(const Token &token) const { return text.substr(token.begin, token.end - token.begin); }
  bool atName(std::string_view name) const { return at(Tok::name) && spelling(tokens[next]) == name; }
  uint32_t begin() const { return tokens[next].begin; }
  SourceRange tokenRange() const;
  SourceRange rangeFrom(uint32_t begin) const { return {source.get(), begin, previousEnd > begin ? previousEnd : begin}; }
  void advance();
  bool accept(Tok wanted);
  std::string identifier(std::string what);

  // ---- errors
  void fail(SourceRange range, Diag id, std::initializer_list<std::string> args);
  void report(SourceRange range, Diag id, std::initializer_list<std::string> args);
  void failExpected(std::string what, std::string advice);
  void expect(Tok wanted, std::string advice);
  std::string found() const;
  std::string adviceHere() const;
  void expectEndOfHeader(std::string header, SourceRange start);
  void recover();

  // ---- statements (parser.cpp)
  void statement(ast::Block &out);
  void simpleStatements(ast::Block &out);
  ast::Stmt *simpleStatement();
  ast::Stmt *expressionStatement();
  ast::Block block(std::string header, uint32_t headerBegin);
  ast::Block statementsUntilDedent();
  ast::Stmt *ifStatement();
  ast::Stmt *whileStatement();
  ast::Stmt *forStatement(bool isAsync, uint32_t start);
  ast::Stmt *withStatement(bool isAsync, uint32_t start);
  bool withItemsAreParenthesised() const;
  ast::Stmt *tryStatement();
  ast::Stmt *decorated();
  ast::Stmt *functionStatement(std::vector<ast::Expr *> decorators, bool isAsync, uint32_t start, uint32_t wholeStart);
  ast::Stmt *classStatement(std::vector<ast::Expr *> decorators);
  void typeParameters();
  bool atMatchStatement() const;
  ast::Stmt *matchStatement();
  void casePattern();
  ast::Stmt *importStatement();
  ast::Stmt *importFromStatement();
  std::string dottedName();
  ast::Stmt *globalStatement(bool nonlocal);
  ast::Block orElse();
  bool checkTarget(ast::Expr *target, std::string action, bool single);
  std::vector<ast::Parameter> parameters(Tok end, bool annotations);
  std::string parameterName(llvm::StringSet<> &before);

  // ---- expressions (parse_expression.cpp)
  ast::Expr *expression();      // conditional, lambda and below
  ast::Expr *namedExpression(); // also name := value
  ast::Expr *starExpression();  // also *value
  ast::Expr *expressionList();  // a, *b: a tuple if there is a comma
  ast::Expr *targetList();      // the left side of `in`
  ast::Expr *yieldOrExpressionList();
  ast::Expr *lambda();
  ast::Expr *disjunction();
  ast::Expr *conjunction();
  ast::Expr *inversion();
  ast::Expr *comparison();
  std::optional<ast::CompareOp> comparisonOperator();
  ast::Expr *binary(int64_t minimum);
  ast::Expr *unary();
  ast::Expr *power();
  ast::Expr *primary();
  ast::Expr *atom();
  ast::Expr *unexpected();
  ast::Expr *number();
  ast::Expr *strings();
  ast::Expr *plainStrings(size_t count);
  void fstring(ast::FStringExpr *out, Tok end, bool raw);
  void fstringField(ast::FStringExpr *out, bool raw);
  ast::Expr *parenthesised();
  ast::Expr *listDisplay();
  ast::Expr *braceDisplay();
  ast::Expr *comprehension(ast::ComprehensionKind what, uint32_t start, ast::Expr *element, ast::Expr *value);
  bool atComprehension() const { return at(Tok::kwFor) || (at(Tok::kwAsync) && peekKind(1) == Tok::kwFor); }
  ast::Expr *subscriptIndex();
  ast::Expr *sliceOrIndex();
  void arguments(std::vector<ast::Expr *> &args, std::vector<ast::Keyword> &keywords);
  bool atExpressionStart() const;

  template <typename T> T *make(SourceRange range) { return module->make<T>(range); }

  /// Adds a level of nesting during its lifetime. Reports an error if the nesting is too deep.
  class Level;
  /// The chain length of one operand or trailer sequence. Its destructor merges it into the parent's.
  class Chain;

  static constexpr int64_t maxDepth = 200;
  static constexpr int64_t maxChain = 2000;
  static constexpr int64_t maxErrors = 10;

  std::shared_ptr<const SourceFile> source;
  std::string_view text;
  std::vector<Token> tokens;
  Diagnostics &diagnostics;
  std::shared_ptr<ast::Module> module;
  size_t next = 0;
  uint32_t previousEnd = 0; // of the last token that is text
  bool failed = false;
  int64_t errors = 0;
  int64_t depth = 0;
  int64_t chain = 0;
};

class Parser::Level {
public:
  explicit Level(Parser &parser) : parser(parser) {
    if (++parser.depth > maxDepth) parser.fail(parser.tokenRange(), Diag::nestedTooDeeply, {std::to_string(maxDepth)});
    if (stackIsLow()) parser.fail(parser.tokenRange(), Diag::stackExhausted, {});
  }
  ~Level() { --parser.depth; }

private:
  Parser &parser;
};

class Parser::Chain {
public:
  explicit Chain(Parser &parser) : parser(parser), saved(parser.chain) { parser.chain = 0; }
  ~Chain() { parser.chain = parser.chain > saved ? parser.chain : saved; }
  void link() {
    if (++parser.chain > maxChain) parser.fail(parser.tokenRange(), Diag::nestedTooDeeply, {std::to_string(maxChain)});
  }

private:
  Parser &parser;
  int64_t saved;
};

} // namespace tilewright
