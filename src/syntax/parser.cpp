// Python's statements, access to tokens, and error recovery. Expressions are in parse_expression.cpp.

#include "syntax/parser.h"
#include "syntax/parser_impl.h"

#include "llvm/Support/Casting.h"

namespace tilewright {

using namespace ast;
using llvm::dyn_cast;
using llvm::isa;

std::shared_ptr<const Module> parse(std::shared_ptr<const SourceFile> source, Diagnostics &diagnostics) {
  size_t before = diagnostics.all().size();
  std::vector<Token> tokens = lex(*source, diagnostics);
  if (diagnostics.all().size() != before) return nullptr; // parser errors about invalid tokens would be misleading
  return Parser(std::move(source), std::move(tokens), diagnostics).run();
}

Parser::Parser(std::shared_ptr<const SourceFile> source, std::vector<Token> tokens, Diagnostics &diagnostics)
    : source(source), text(source->text()), tokens(std::move(tokens)), diagnostics(diagnostics), module(std::make_shared<Module>()) {
  module->source = std::move(source);
}

std::shared_ptr<const Module> Parser::run() {
  while (tokens[next].kind != Tok::endOfFile) {
    Block statements = statementsUntilDedent();
    module->body.insert(module->body.end(), statements.begin(), statements.end());
    if (tokens[next].kind != Tok::endOfFile) ++next; // the end of a block whose start was skipped after an error
  }
  if (errors != 0) return nullptr;
  return module;
}

// ---- tokens

Tok Parser::peekKind(size_t ahead) const {
  if (failed) return Tok::error;
  return next + ahead < tokens.size() ? tokens[next + ahead].kind : Tok::endOfFile;
}

SourceRange Parser::tokenRange() const {
  return {source.get(), tokens[next].begin, tokens[next].end};
}

void Parser::advance() {
  if (failed || tokens[next].kind == Tok::endOfFile) return;
  const Token &token = tokens[next++];
  if (token.kind != Tok::newline && token.kind != Tok::indent && token.kind != Tok::dedent) previousEnd = token.end;
}

bool Parser::accept(Tok wanted) {
  if (kind() != wanted) return false;
  advance();
  return true;
}

std::string Parser::identifier(std::string what) {
  if (!at(Tok::name)) {
    bool keyword = kind() >= Tok::kwAs && kind() <= Tok::kwNonlocal;
    failExpected(std::move(what), keyword ? describe(kind()) + " is a keyword and cannot be a name" : "");
    return "";
  }
  std::string name(spelling(tokens[next]));
  advance();
  return name;
}

// ---- errors

void Parser::fail(SourceRange range, Diag id, std::initializer_list<std::string> args) {
  if (failed) return;
  failed = true;
  ++errors;
  diagnostics.error(range, id, args);
}

// Reports an error after which parsing continues at the current token.
void Parser::report(SourceRange range, Diag id, std::initializer_list<std::string> args) {
  ++errors;
  diagnostics.error(range, id, args);
  if (errors >= maxErrors) next = tokens.size() - 1;
}

// Reports something missing: after the last token if the line ends here, otherwise at the current token.
void Parser::failExpected(std::string what, std::string advice) {
  bool lineEnds = at(Tok::newline) || at(Tok::endOfFile) || at(Tok::indent) || at(Tok::dedent);
  SourceRange range = lineEnds ? SourceRange{source.get(), previousEnd, previousEnd} : tokenRange();
  fail(range, Diag::expectedToken, {std::move(what), std::move(advice)});
}

void Parser::expect(Tok wanted, std::string advice) {
  if (!at(wanted)) failExpected(describe(wanted), std::move(advice));
  accept(wanted);
}

std::string Parser::found() const {
  Tok now = kind();
  if (now == Tok::name || now == Tok::integer || now == Tok::floating) return "'" + std::string(spelling(tokens[next])) + "'";
  return describe(now);
}

// Hints for habits from other languages.
std::string Parser::adviceHere() const {
  switch (kind()) {
  case Tok::assign: return "write '==' to compare";
  case Tok::ampersand: return "write 'and' for a logical and";
  case Tok::bar: return "write 'or' for a logical or";
  case Tok::kwIf: return "write 'elif' if this was meant as 'else if'";
  default: return "";
  }
}

void Parser::expectEndOfHeader(std::string header, SourceRange start) {
  if (at(Tok::assign)) fail(tokenRange(), Diag::unexpectedToken, {"'='", "write '==' to compare, or ':=' to assign"});
  if (!at(Tok::colon)) failExpected("':' after the " + header + " header", header == "else" ? adviceHere() : "");
  accept(Tok::colon);
}

// Skips the rest of the statement with the error: its line, its block, and the blocks that continue it.
void Parser::recover() {
  failed = false;
  if (errors >= maxErrors) {
    next = tokens.size() - 1;
    return;
  }
  auto isOneOf = [&](auto... kinds) { return ((tokens[next].kind == kinds) || ...); };
  auto skipLine = [&] {
    while (!isOneOf(Tok::newline, Tok::endOfFile, Tok::indent, Tok::dedent))
      ++next;
    if (isOneOf(Tok::newline)) ++next;
    if (!isOneOf(Tok::indent)) return;
    int64_t level = 0;
    do {
      level += isOneOf(Tok::indent) - isOneOf(Tok::dedent);
      ++next;
    } while (level > 0 && !isOneOf(Tok::endOfFile));
  };
  skipLine();
  while (isOneOf(Tok::kwElse, Tok::kwElif, Tok::kwExcept, Tok::kwFinally))
    skipLine();
}

// ---- blocks

Block Parser::statementsUntilDedent() {
  Block out;
  while (!at(Tok::dedent) && !at(Tok::endOfFile)) {
    chain = 0;
    statement(out);
    if (failed) recover();
  }
  return out;
}

// Parses the statements after a ':'.
Block Parser::block(std::string header, uint32_t headerBegin) {
  Block out;
  if (failed) return out;
  Level level(*this);
  if (!accept(Tok::newline)) {
    simpleStatements(out);
    return out;
  }
  if (!accept(Tok::indent)) {
    report(tokenRange(), Diag::expectedBlock, {std::move(header), std::to_string(source->position(headerBegin).line)});
    return out;
  }
  int64_t outerChain = chain;
  out = statementsUntilDedent();
  chain = outerChain;
  accept(Tok::dedent);
  return out;
}

void Parser::statement(Block &out) {
  uint32_t start = begin();
  Stmt *result = nullptr;
  switch (kind()) {
  case Tok::kwIf: result = ifStatement(); break;
  case Tok::kwFor: result = forStatement(/*isAsync=*/false, start); break;
  case Tok::kwWhile: result = whileStatement(); break;
  case Tok::kwWith: result = withStatement(/*isAsync=*/false, start); break;
  case Tok::kwTry: result = tryStatement(); break;
  case Tok::kwDef: result = functionStatement({}, /*isAsync=*/false, start, start); break;
  case Tok::kwClass: result = classStatement({}); break;
  case Tok::at: result = decorated(); break;
  case Tok::kwAsync:
    advance();
    if (at(Tok::kwDef))
      result = functionStatement({}, /*isAsync=*/true, start, start);
    else if (at(Tok::kwFor))
      result = forStatement(/*isAsync=*/true, start);
    else if (at(Tok::kwWith))
      result = withStatement(/*isAsync=*/true, start);
    else
      failExpected("'def', 'for' or 'with' after 'async'", "");
    break;
  case Tok::indent:
    fail({source.get(), begin(), begin()}, Diag::badIndentation,
         {"this line is indented more than the one before", "align it with the line before"});
    break;
  case Tok::kwElse:
  case Tok::kwElif:
    fail(tokenRange(), Diag::unexpectedToken, {found(), "it must follow the block that it belongs to, at the same indentation"});
    break;
  case Tok::kwExcept:
  case Tok::kwFinally:
    fail(tokenRange(), Diag::unexpectedToken, {found(), "it must follow the block of a 'try', at the same indentation"});
    break;
  default:
    if (atMatchStatement()) {
      result = matchStatement();
      break;
    }
    return simpleStatements(out);
  }
  if (result) out.push_back(result);
}

void Parser::simpleStatements(Block &out) {
  do {
    Stmt *result = simpleStatement();
    if (failed) return;
    out.push_back(result);
  } while (accept(Tok::semicolon) && !at(Tok::newline));
  if (accept(Tok::newline)) return;
  std::string advice = adviceHere();
  if (auto *expr = dyn_cast<ExprStmt>(out.back())) {
    auto *name = dyn_cast<NameExpr>(expr->value);
    if (name && (name->name == "print" || name->name == "exec")) advice = "write " + name->name + "(...)";
  }
  fail(tokenRange(), Diag::unexpectedToken, {found(), std::move(advice)});
}

// ---- simple statements

static std::string describeTarget(Expr *expr) {
  switch (expr->kind) {
  case ExprKind::integer:
  case ExprKind::floating:
  case ExprKind::string:
  case ExprKind::fstring:
  case ExprKind::boolean:
  case ExprKind::none:
  case ExprKind::ellipsis: return "a constant";
  case ExprKind::call: return "the result of a call";
  case ExprKind::compare: return "a comparison";
  case ExprKind::conditional: return "a conditional expression";
  case ExprKind::lambda: return "a lambda";
  case ExprKind::comprehension: return "a comprehension";
  case ExprKind::dict:
  case ExprKind::set: return "a dict or set display";
  case ExprKind::named: return "a ':=' expression";
  case ExprKind::starred: return "'*' outside of a list or tuple";
  case ExprKind::tuple:
  case ExprKind::list: return "several targets";
  default: return "an expression";
  }
}

// Reports an error and returns false if `target` cannot be assigned. `single`: a tuple or list is not allowed either.
bool Parser::checkTarget(Expr *target, std::string action, bool single) {
  auto checkAll = [&](const std::vector<Expr *> &elements) {
    for (Expr *element : elements) {
      auto *starred = dyn_cast<StarredExpr>(element);
      if (!checkTarget(starred ? starred->value : element, action, false)) return false;
    }
    return true;
  };
  if (isa<NameExpr, AttributeExpr, SubscriptExpr>(target)) return true;
  if (auto *tuple = dyn_cast<TupleExpr>(target); tuple && !single) return checkAll(tuple->elements);
  if (auto *list = dyn_cast<ListExpr>(target); list && !single) return checkAll(list->elements);
  fail(target->range, Diag::invalidTarget, {std::move(action), describeTarget(target), at(Tok::assign) ? "write '==' to compare" : ""});
  return false;
}

static std::optional<BinaryOp> augmentedOperator(Tok kind) {
  switch (kind) {
  case Tok::plusAssign: return BinaryOp::add;
  case Tok::minusAssign: return BinaryOp::sub;
  case Tok::starAssign: return BinaryOp::mul;
  case Tok::atAssign: return BinaryOp::matmul;
  case Tok::slashAssign: return BinaryOp::div;
  case Tok::slashSlashAssign: return BinaryOp::floordiv;
  case Tok::percentAssign: return BinaryOp::mod;
  case Tok::starStarAssign: return BinaryOp::pow;
  case Tok::lessLessAssign: return BinaryOp::lshift;
  case Tok::greaterGreaterAssign: return BinaryOp::rshift;
  case Tok::ampersandAssign: return BinaryOp::bitand_;
  case Tok::barAssign: return BinaryOp::bitor_;
  case Tok::caretAssign: return BinaryOp::bitxor;
  default: return std::nullopt;
  }
}

Stmt *Parser::simpleStatement() {
  uint32_t start = begin();
  switch (kind()) {
  case Tok::kwPass: advance(); return make<PassStmt>(rangeFrom(start));
  case Tok::kwBreak: advance(); return make<BreakStmt>(rangeFrom(start));
  case Tok::kwContinue: advance(); return make<ContinueStmt>(rangeFrom(start));
  case Tok::kwImport: return importStatement();
  case Tok::kwFrom: return importFromStatement();
  case Tok::kwGlobal: return globalStatement(/*nonlocal=*/false);
  case Tok::kwNonlocal: return globalStatement(/*nonlocal=*/true);
  case Tok::kwReturn: {
    advance();
    Expr *value = at(Tok::newline) || at(Tok::semicolon) ? nullptr : yieldOrExpressionList();
    auto *node = make<ReturnStmt>(rangeFrom(start));
    node->value = value;
    return node;
  }
  case Tok::kwRaise: {
    advance();
    Expr *exception = at(Tok::newline) || at(Tok::semicolon) ? nullptr : expression();
    Expr *cause = exception && accept(Tok::kwFrom) ? expression() : nullptr;
    auto *node = make<RaiseStmt>(rangeFrom(start));
    node->exception = exception;
    node->cause = cause;
    return node;
  }
  case Tok::kwAssert: {
    advance();
    Expr *condition = expression();
    Expr *message = accept(Tok::comma) ? expression() : nullptr;
    auto *node = make<AssertStmt>(rangeFrom(start));
    node->condition = condition;
    node->message = message;
    return node;
  }
  case Tok::kwDel: {
    advance();
    std::vector<Expr *> targets;
    do {
      targets.push_back(binary(0));
      if (!failed) checkTarget(targets.back(), "delete", /*single=*/false);
    } while (accept(Tok::comma) && atExpressionStart());
    auto *node = make<DeleteStmt>(rangeFrom(start));
    node->targets = std::move(targets);
    return node;
  }
  default: return expressionStatement();
  }
}

Stmt *Parser::expressionStatement() {
  uint32_t start = begin();
  // type Name[T] = value: the compiler treats it as an assignment.
  if (atName("type") && peekKind(1) == Tok::name && (peekKind(2) == Tok::assign || peekKind(2) == Tok::leftSquare)) {
    advance();
    auto *name = make<NameExpr>(tokenRange());
    name->name = identifier("a name");
    typeParameters();
    expect(Tok::assign, "");
    Expr *value = expression();
    auto *node = make<AssignStmt>(rangeFrom(start));
    node->targets = {name};
    node->value = value;
    return node;
  }
  if (at(Tok::name) && peekKind(1) == Tok::walrus)
    fail({source.get(), tokens[next + 1].begin, tokens[next + 1].end}, Diag::unexpectedToken,
         {"':='", "write '=', or put parentheses around it"});
  Expr *first = yieldOrExpressionList();
  if (std::optional<BinaryOp> op = augmentedOperator(kind())) {
    checkTarget(first, "assign to", /*single=*/true);
    advance();
    Expr *value = yieldOrExpressionList();
    auto *node = make<AugAssignStmt>(rangeFrom(start));
    node->target = first;
    node->op = *op;
    node->value = value;
    return node;
  }
  if (at(Tok::colon)) {
    if (isa<NameExpr, AttributeExpr, SubscriptExpr>(first)) {
      advance();
      Expr *annotation = expression();
      Expr *value = accept(Tok::assign) ? yieldOrExpressionList() : nullptr;
      auto *node = make<AnnAssignStmt>(rangeFrom(start));
      node->target = first;
      node->annotation = annotation;
      node->value = value;
      return node;
    }
    fail(tokenRange(), Diag::unexpectedToken, {"':'", "only a single name, attribute or element can be annotated"});
  }
  if (!at(Tok::assign)) {
    auto *node = make<ExprStmt>(rangeFrom(start));
    node->value = first;
    return node;
  }
  std::vector<Expr *> targets;
  Expr *value = first;
  while (at(Tok::assign)) {
    checkTarget(value, "assign to", /*single=*/false);
    targets.push_back(value);
    accept(Tok::assign);
    value = yieldOrExpressionList();
  }
  auto *node = make<AssignStmt>(rangeFrom(start));
  node->targets = std::move(targets);
  node->value = value;
  return node;
}

std::string Parser::dottedName() {
  std::string path = identifier("the name of a module");
  while (accept(Tok::dot))
    path += "." + identifier("a name after '.'");
  return path;
}

Stmt *Parser::importStatement() {
  uint32_t start = begin();
  advance();
  std::vector<ImportAlias> names;
  do {
    uint32_t aliasStart = begin();
    ImportAlias alias;
    alias.path = dottedName();
    if (accept(Tok::kwAs)) alias.as = identifier("a name after 'as'");
    alias.range = rangeFrom(aliasStart);
    names.push_back(std::move(alias));
  } while (accept(Tok::comma));
  auto *node = make<ImportStmt>(rangeFrom(start));
  node->names = std::move(names);
  return node;
}

Stmt *Parser::importFromStatement() {
  uint32_t start = begin();
  advance();
  int64_t level = 0;
  std::string path;
  std::vector<ImportAlias> names;
  while (at(Tok::dot) || at(Tok::ellipsis)) {
    level += at(Tok::dot) ? 1 : 3;
    advance();
  }
  if (level == 0 || !at(Tok::kwImport)) path = dottedName();
  expect(Tok::kwImport, "write: from module import name");
  if (at(Tok::star)) {
    names.push_back({"*", "", tokenRange()});
    advance();
  } else {
    bool bracket = accept(Tok::leftParen);
    do {
      if (bracket && at(Tok::rightParen) && !names.empty()) break;
      uint32_t aliasStart = begin();
      ImportAlias alias;
      alias.path = identifier("a name to import");
      if (accept(Tok::kwAs)) alias.as = identifier("a name after 'as'");
      alias.range = rangeFrom(aliasStart);
      names.push_back(std::move(alias));
    } while (accept(Tok::comma));
    if (bracket) expect(Tok::rightParen, "");
  }
  auto *node = make<ImportFromStmt>(rangeFrom(start));
  node->module = std::move(path);
  node->level = level;
  node->names = std::move(names);
  return node;
}

Stmt *Parser::globalStatement(bool nonlocal) {
  uint32_t start = begin();
  advance();
  std::vector<std::string> names;
  do
    names.push_back(identifier("a name"));
  while (accept(Tok::comma));
  auto *node = make<GlobalStmt>(rangeFrom(start));
  node->nonlocal = nonlocal;
  node->names = std::move(names);
  return node;
}

} // namespace tilewright
