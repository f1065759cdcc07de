// Compound statements. Each node is created after its header, because the range of a compound statement is its header.

#include "syntax/parser_impl.h"

#include "llvm/Support/Casting.h"

namespace tilewright {

using namespace ast;

Stmt *Parser::ifStatement() {
  Level level(*this); // a chain of elifs nests
  uint32_t start = begin();
  std::string header(spelling(tokens[next]));
  advance();
  Expr *condition = namedExpression();
  expectEndOfHeader(header, rangeFrom(start));
  auto *node = make<IfStmt>(rangeFrom(start));
  node->condition = condition;
  node->then = block("the " + header, start);
  if (at(Tok::kwElif))
    node->otherwise.push_back(ifStatement());
  else
    node->otherwise = orElse();
  return node;
}

Block Parser::orElse() {
  uint32_t start = begin();
  if (!accept(Tok::kwElse)) return {};
  expectEndOfHeader("else", rangeFrom(start));
  return block("the else", start);
}

Stmt *Parser::whileStatement() {
  uint32_t start = begin();
  advance();
  Expr *condition = namedExpression();
  expectEndOfHeader("while", rangeFrom(start));
  auto *node = make<WhileStmt>(rangeFrom(start));
  node->condition = condition;
  node->body = block("the while", start);
  node->otherwise = orElse();
  return node;
}

Stmt *Parser::forStatement(bool isAsync, uint32_t start) {
  advance();
  Expr *target = targetList();
  if (!failed) checkTarget(target, "assign to", /*single=*/false);
  expect(Tok::kwIn, "a loop is: for name in iterable:");
  Expr *iterable = expressionList();
  expectEndOfHeader("for", rangeFrom(start));
  auto *node = make<ForStmt>(rangeFrom(start));
  node->isAsync = isAsync;
  node->target = target;
  node->iterable = iterable;
  node->body = block("the for", start);
  node->otherwise = orElse();
  return node;
}

// `with (a as b, c):` has parentheses around its items; `with (a, b) as c:` and `with (yield):` begin with an expression in parentheses.
bool Parser::withItemsAreParenthesised() const {
  if (!at(Tok::leftParen) || peekKind(1) == Tok::kwYield) return false;
  int64_t open = 0;
  bool separated = false, generator = false;
  for (size_t i = next; i < tokens.size(); ++i) {
    switch (tokens[i].kind) {
    case Tok::leftParen:
    case Tok::leftSquare:
    case Tok::leftBrace: ++open; break;
    case Tok::rightParen:
    case Tok::rightSquare:
    case Tok::rightBrace:
      if (--open == 0) return separated && !generator && i + 1 < tokens.size() && tokens[i + 1].kind == Tok::colon;
      break;
    case Tok::comma:
    case Tok::kwAs: separated |= open == 1; break;
    case Tok::kwFor: generator |= open == 1; break;
    case Tok::endOfFile: return false;
    default: break;
    }
  }
  return false;
}

Stmt *Parser::withStatement(bool isAsync, uint32_t start) {
  advance();
  bool bracket = withItemsAreParenthesised();
  if (bracket) accept(Tok::leftParen);
  std::vector<WithStmt::Item> items;
  do {
    if (bracket && at(Tok::rightParen)) break;
    WithStmt::Item item;
    item.context = expression();
    if (accept(Tok::kwAs)) {
      item.target = at(Tok::star) ? starExpression() : binary(0);
      if (!failed) checkTarget(item.target, "assign to", /*single=*/false);
    }
    items.push_back(item);
  } while (accept(Tok::comma));
  if (bracket) expect(Tok::rightParen, "");
  expectEndOfHeader("with", rangeFrom(start));
  auto *node = make<WithStmt>(rangeFrom(start));
  node->isAsync = isAsync;
  node->items = std::move(items);
  node->body = block("the with", start);
  return node;
}

Stmt *Parser::tryStatement() {
  uint32_t start = begin();
  advance();
  expectEndOfHeader("try", rangeFrom(start));
  auto *node = make<TryStmt>(rangeFrom(start));
  node->body = block("the try", start);
  while (at(Tok::kwExcept)) {
    uint32_t handlerStart = begin();
    advance();
    accept(Tok::star);
    TryStmt::Handler handler;
    if (!at(Tok::colon)) {
      handler.type = expression();
      if (at(Tok::comma)) fail(tokenRange(), Diag::unexpectedToken, {"','", "put several exception types in parentheses: except (A, B):"});
      if (accept(Tok::kwAs)) handler.name = identifier("a name after 'as'");
    }
    expectEndOfHeader("except", rangeFrom(handlerStart));
    handler.body = block("the except", handlerStart);
    node->handlers.push_back(std::move(handler));
  }
  if (!node->handlers.empty()) node->otherwise = orElse();
  uint32_t finallyStart = begin();
  if (accept(Tok::kwFinally)) {
    expectEndOfHeader("finally", rangeFrom(finallyStart));
    node->finally = block("the finally", finallyStart);
  } else if (node->handlers.empty() && !failed) {
    report(node->range, Diag::expectedToken, {"'except' or 'finally' after the block of this try", ""});
  }
  return node;
}

Stmt *Parser::decorated() {
  uint32_t wholeStart = begin();
  std::vector<Expr *> decorators;
  while (accept(Tok::at)) {
    decorators.push_back(namedExpression());
    if (!at(Tok::newline)) fail(tokenRange(), Diag::unexpectedToken, {found(), "a decorator is alone on its line"});
    accept(Tok::newline);
  }
  uint32_t start = begin();
  if (at(Tok::kwClass)) return classStatement(std::move(decorators));
  bool isAsync = at(Tok::kwAsync) && peekKind(1) == Tok::kwDef;
  if (isAsync) advance();
  if (at(Tok::kwDef)) return functionStatement(std::move(decorators), isAsync, start, wholeStart);
  if (!failed) fail(tokenRange(), Diag::expectedToken, {"'def' or 'class' after the decorator", ""});
  return nullptr;
}

// Skips [T: int, *Ts, **P = ...], which the compiler ignores. The lexer has checked that the brackets match.
void Parser::typeParameters() {
  if (!at(Tok::leftSquare)) return;
  int64_t open = 0;
  do {
    Tok now = kind();
    open += now == Tok::leftParen || now == Tok::leftSquare || now == Tok::leftBrace;
    open -= now == Tok::rightParen || now == Tok::rightSquare || now == Tok::rightBrace;
    advance();
  } while (open > 0 && !failed && !at(Tok::endOfFile));
}

Stmt *Parser::functionStatement(std::vector<Expr *> decorators, bool isAsync, uint32_t start, uint32_t wholeStart) {
  advance();
  SourceRange nameRange = tokenRange();
  std::string name = identifier("the name of the function after 'def'");
  typeParameters();
  expect(Tok::leftParen, "a function without parameters is written: def name():");
  std::vector<Parameter> list = parameters(Tok::rightParen, /*annotations=*/true);
  if (!at(Tok::rightParen)) failExpected("',' or ')' in the parameters", at(Tok::name) ? "is a comma missing?" : "");
  accept(Tok::rightParen);
  Expr *returns = accept(Tok::arrow) ? expression() : nullptr;
  expectEndOfHeader("def", rangeFrom(start));
  auto *node = make<FunctionStmt>(rangeFrom(start));
  node->isAsync = isAsync;
  node->name = std::move(name);
  node->nameRange = nameRange;
  node->decorators = std::move(decorators);
  node->parameters = std::move(list);
  node->returns = returns;
  node->body = block("the def", start);
  node->wholeRange = rangeFrom(wholeStart);
  return node;
}

std::string Parser::parameterName(llvm::StringSet<> &before) {
  SourceRange range = tokenRange();
  if (at(Tok::leftParen)) fail(range, Diag::invalidParameter, {"a parameter is a plain name", "unpack the tuple in the body"});
  std::string name = identifier("the name of a parameter");
  if (!before.insert(name).second)
    fail(range, Diag::invalidParameter, {"the parameter '" + name + "' is given twice", "rename one of them"});
  return name;
}

std::vector<Parameter> Parser::parameters(Tok end, bool annotations) {
  std::vector<Parameter> list;
  llvm::StringSet<> names;
  bool keywordOnly = false, sawStar = false, sawDefault = false, sawSlash = false, sawKeywords = false;
  SourceRange bareStar;
  while (!failed && !at(end)) {
    SourceRange range = tokenRange();
    if (sawKeywords) {
      fail(range, Diag::invalidParameter, {"nothing can follow the '**' parameter", "put it last"});
      break;
    }
    if (accept(Tok::slash)) {
      if (list.empty()) fail(range, Diag::invalidParameter, {"'/' needs a parameter before it", ""});
      if (sawSlash || sawStar) fail(range, Diag::invalidParameter, {sawSlash ? "'/' is given twice" : "'/' must stand before '*'", ""});
      sawSlash = true;
      for (Parameter &parameter : list)
        parameter.kind = ParameterKind::positionalOnly;
      if (!accept(Tok::comma)) break;
      continue;
    }
    Parameter parameter;
    if (at(Tok::star)) {
      if (sawStar)
        fail(range, Diag::invalidParameter, {"'*' is given twice", "only one parameter can take the remaining positional arguments"});
      accept(Tok::star);
      sawStar = keywordOnly = true;
      if (at(Tok::comma)) {
        bareStar = range;
        accept(Tok::comma);
        continue;
      }
      parameter.kind = ParameterKind::variadic;
      if (at(end)) fail(range, Diag::invalidParameter, {"a name must follow '*'", "'*' alone needs keyword-only parameters after it"});
    } else if (accept(Tok::starStar)) {
      parameter.kind = ParameterKind::keywordVariadic;
      sawKeywords = true;
    } else {
      parameter.kind = keywordOnly ? ParameterKind::keywordOnly : ParameterKind::positional;
    }
    bareStar.file = parameter.kind == ParameterKind::keywordOnly ? nullptr : bareStar.file;
    parameter.range = tokenRange();
    parameter.name = parameterName(names);
    if (annotations && accept(Tok::colon))
      parameter.annotation = parameter.kind == ParameterKind::variadic && at(Tok::star) ? starExpression() : expression();
    bool variadic = parameter.kind == ParameterKind::variadic || parameter.kind == ParameterKind::keywordVariadic;
    if (at(Tok::assign) && variadic) fail(tokenRange(), Diag::invalidParameter, {"a '*' or '**' parameter has no default", ""});
    if (accept(Tok::assign)) parameter.defaultValue = expression();
    if (parameter.kind == ParameterKind::positional) {
      if (sawDefault && !parameter.defaultValue)
        fail(parameter.range, Diag::invalidParameter,
             {"parameter '" + parameter.name + "' without a default follows one with a default", "give it a default, or put it first"});
      sawDefault = sawDefault || parameter.defaultValue;
    }
    list.push_back(std::move(parameter));
    if (!accept(Tok::comma)) break;
  }
  if (bareStar.file) fail(bareStar, Diag::invalidParameter, {"a keyword-only parameter must follow '*'", ""});
  return list;
}

Stmt *Parser::classStatement(std::vector<Expr *> decorators) {
  uint32_t start = begin();
  advance();
  std::string name = identifier("the name of the class after 'class'");
  typeParameters();
  std::vector<Expr *> bases;
  std::vector<Keyword> keywords;
  if (at(Tok::leftParen)) arguments(bases, keywords);
  expectEndOfHeader("class", rangeFrom(start));
  auto *node = make<ClassStmt>(rangeFrom(start));
  node->name = std::move(name);
  node->decorators = std::move(decorators);
  node->bases = std::move(bases);
  node->keywords = std::move(keywords);
  node->body = block("the class", start);
  return node;
}

// True if `match` begins a match statement. It is an ordinary name unless a block of cases follows its line.
bool Parser::atMatchStatement() const {
  if (!atName("match") || peekKind(1) == Tok::newline) return false;
  size_t i = next;
  while (tokens[i].kind != Tok::newline && tokens[i].kind != Tok::endOfFile)
    ++i;
  if (i + 2 >= tokens.size()) return false;
  return tokens[i - 1].kind == Tok::colon && tokens[i + 1].kind == Tok::indent && tokens[i + 2].kind == Tok::name &&
         spelling(tokens[i + 2]) == "case";
}

Stmt *Parser::matchStatement() {
  Level level(*this);
  uint32_t start = begin();
  advance();
  Expr *subject = expressionList();
  expectEndOfHeader("match", rangeFrom(start));
  auto *node = make<MatchStmt>(rangeFrom(start));
  node->subject = subject;
  if (!accept(Tok::newline) || !accept(Tok::indent)) return node;
  while (!at(Tok::dedent) && !at(Tok::endOfFile)) {
    uint32_t caseStart = begin();
    if (!atName("case")) failExpected("'case' in the block of a match", "");
    advance();
    casePattern();
    if (accept(Tok::kwIf)) namedExpression();
    expectEndOfHeader("case", rangeFrom(caseStart));
    node->bodies.push_back(block("the case", caseStart));
    if (failed) recover(); // here, because the indentation around the cases was opened here
  }
  accept(Tok::dedent);
  return node;
}

void Parser::casePattern() {
  if (at(Tok::colon)) failExpected("a pattern after 'case'", "");
  int64_t open = 0;
  while (!failed && !at(Tok::newline) && !at(Tok::endOfFile)) {
    Tok now = kind();
    if (open == 0 && (now == Tok::colon || now == Tok::kwIf)) return;
    open += now == Tok::leftParen || now == Tok::leftSquare || now == Tok::leftBrace;
    open -= now == Tok::rightParen || now == Tok::rightSquare || now == Tok::rightBrace;
    advance();
  }
}

} // namespace tilewright
