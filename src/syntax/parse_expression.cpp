// Python's expressions, lowest precedence first. Each rule calls the rule of the next higher precedence. One function handles all binary
// operators.

#include "syntax/parser_impl.h"

#include "llvm/Support/Casting.h"

namespace tilewright {

using namespace ast;
using llvm::isa;

bool Parser::atExpressionStart() const {
  switch (kind()) {
  case Tok::name:
  case Tok::integer:
  case Tok::floating:
  case Tok::string:
  case Tok::fstringStart:
  case Tok::ellipsis:
  case Tok::leftParen:
  case Tok::leftSquare:
  case Tok::leftBrace:
  case Tok::plus:
  case Tok::minus:
  case Tok::tilde:
  case Tok::star:
  case Tok::kwNot:
  case Tok::kwLambda:
  case Tok::kwAwait:
  case Tok::kwNone:
  case Tok::kwTrue:
  case Tok::kwFalse:
  case Tok::kwYield: return true;
  default: return false;
  }
}

Expr *Parser::expression() {
  Level level(*this);
  if (at(Tok::kwLambda)) return lambda();
  uint32_t start = begin();
  Expr *value = disjunction();
  if (!accept(Tok::kwIf)) return value;
  Expr *condition = disjunction();
  if (!at(Tok::kwElse)) failExpected("'else' of the conditional expression", "a conditional expression is: a if condition else b");
  accept(Tok::kwElse);
  Expr *otherwise = expression();
  auto *node = make<ConditionalExpr>(rangeFrom(start));
  node->condition = condition;
  node->then = value;
  node->otherwise = otherwise;
  return node;
}

Expr *Parser::namedExpression() {
  if (at(Tok::name) && peekKind(1) == Tok::walrus) {
    uint32_t start = begin();
    std::string name(spelling(tokens[next]));
    advance();
    advance();
    Expr *value = expression();
    auto *node = make<NamedExpr>(rangeFrom(start));
    node->name = std::move(name);
    node->value = value;
    return node;
  }
  Expr *value = expression();
  if (at(Tok::walrus))
    fail(value->range, Diag::invalidTarget, {"assign with ':=' to", "this expression", "only a plain name can stand before ':='"});
  return value;
}

Expr *Parser::starExpression() {
  if (!at(Tok::star)) return namedExpression();
  uint32_t start = begin();
  advance();
  Expr *value = binary(0);
  auto *node = make<StarredExpr>(rangeFrom(start));
  node->value = value;
  return node;
}

Expr *Parser::expressionList() {
  uint32_t start = begin();
  Expr *first = starExpression();
  if (!at(Tok::comma)) {
    if (isa<StarredExpr>(first)) fail(first->range, Diag::unexpectedToken, {"'*'", "a tuple of one element needs a comma: *x,"});
    return first;
  }
  std::vector<Expr *> elements{first};
  while (accept(Tok::comma) && atExpressionStart())
    elements.push_back(starExpression());
  auto *node = make<TupleExpr>(rangeFrom(start));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::targetList() {
  uint32_t start = begin();
  auto element = [&]() -> Expr * { return at(Tok::star) ? starExpression() : binary(0); };
  Expr *first = element();
  if (!at(Tok::comma)) return first;
  std::vector<Expr *> elements{first};
  while (accept(Tok::comma) && atExpressionStart())
    elements.push_back(element());
  auto *node = make<TupleExpr>(rangeFrom(start));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::yieldOrExpressionList() {
  if (!at(Tok::kwYield)) return expressionList();
  uint32_t start = begin();
  advance();
  bool from = accept(Tok::kwFrom);
  Expr *value = from ? expression() : atExpressionStart() ? expressionList() : nullptr;
  auto *node = make<YieldExpr>(rangeFrom(start));
  node->from = from;
  node->value = value;
  return node;
}

Expr *Parser::lambda() {
  uint32_t start = begin();
  advance();
  std::vector<Parameter> list = parameters(Tok::colon, /*annotations=*/false);
  expect(Tok::colon, "a lambda is: lambda x, y: value");
  Expr *body = expression();
  auto *node = make<LambdaExpr>(rangeFrom(start));
  node->parameters = std::move(list);
  node->body = body;
  return node;
}

Expr *Parser::disjunction() {
  uint32_t start = begin();
  Expr *first = conjunction();
  if (!at(Tok::kwOr)) return first;
  std::vector<Expr *> operands{first};
  while (accept(Tok::kwOr))
    operands.push_back(conjunction());
  auto *node = make<BoolOpExpr>(rangeFrom(start));
  node->operands = std::move(operands);
  return node;
}

Expr *Parser::conjunction() {
  uint32_t start = begin();
  Expr *first = inversion();
  if (!at(Tok::kwAnd)) return first;
  std::vector<Expr *> operands{first};
  while (accept(Tok::kwAnd))
    operands.push_back(inversion());
  auto *node = make<BoolOpExpr>(rangeFrom(start));
  node->isAnd = true;
  node->operands = std::move(operands);
  return node;
}

Expr *Parser::inversion() {
  if (!at(Tok::kwNot)) return comparison();
  Level level(*this);
  uint32_t start = begin();
  accept(Tok::kwNot);
  Expr *operand = inversion();
  auto *node = make<UnaryExpr>(rangeFrom(start));
  node->op = UnaryOp::not_;
  node->operand = operand;
  return node;
}

std::optional<CompareOp> Parser::comparisonOperator() {
  std::optional<CompareOp> op;
  switch (kind()) {
  case Tok::equal: op = CompareOp::eq; break;
  case Tok::notEqual: op = CompareOp::ne; break;
  case Tok::less: op = CompareOp::lt; break;
  case Tok::lessEqual: op = CompareOp::le; break;
  case Tok::greater: op = CompareOp::gt; break;
  case Tok::greaterEqual: op = CompareOp::ge; break;
  case Tok::kwIn: op = CompareOp::in; break;
  case Tok::kwIs: advance(); return accept(Tok::kwNot) ? CompareOp::isNot : CompareOp::is;
  case Tok::kwNot:
    if (peekKind(1) != Tok::kwIn) return std::nullopt;
    advance();
    op = CompareOp::notIn;
    break;
  default: return std::nullopt;
  }
  advance();
  return op;
}

Expr *Parser::comparison() {
  uint32_t start = begin();
  Expr *first = binary(0);
  std::vector<CompareOp> ops;
  std::vector<Expr *> operands;
  while (std::optional<CompareOp> op = comparisonOperator()) {
    if (ops.empty()) operands.push_back(first);
    ops.push_back(*op);
    operands.push_back(binary(0));
  }
  if (ops.empty()) return first;
  auto *node = make<CompareExpr>(rangeFrom(start));
  node->operands = std::move(operands);
  node->ops = std::move(ops);
  return node;
}

namespace {
struct BinaryOperator {
  BinaryOp op;
  int64_t precedence; // -1: not a binary operator
};
BinaryOperator binaryOperator(Tok kind) {
  switch (kind) {
  case Tok::bar: return {BinaryOp::bitor_, 0};
  case Tok::caret: return {BinaryOp::bitxor, 1};
  case Tok::ampersand: return {BinaryOp::bitand_, 2};
  case Tok::lessLess: return {BinaryOp::lshift, 3};
  case Tok::greaterGreater: return {BinaryOp::rshift, 3};
  case Tok::plus: return {BinaryOp::add, 4};
  case Tok::minus: return {BinaryOp::sub, 4};
  case Tok::star: return {BinaryOp::mul, 5};
  case Tok::slash: return {BinaryOp::div, 5};
  case Tok::slashSlash: return {BinaryOp::floordiv, 5};
  case Tok::percent: return {BinaryOp::mod, 5};
  case Tok::at: return {BinaryOp::matmul, 5};
  default: return {BinaryOp::add, -1};
  }
}
} // namespace

// Parses operators with a precedence of at least `minimum`, all left-associative.
Expr *Parser::binary(int64_t minimum) {
  Chain links(*this);
  uint32_t start = begin();
  Expr *lhs = unary();
  while (true) {
    BinaryOperator op = binaryOperator(kind());
    if (op.precedence < minimum) return lhs;
    links.link();
    advance();
    Expr *rhs = binary(op.precedence + 1);
    auto *node = make<BinaryExpr>(rangeFrom(start));
    node->op = op.op;
    node->lhs = lhs;
    node->rhs = rhs;
    lhs = node;
  }
}

Expr *Parser::unary() {
  UnaryOp op;
  switch (kind()) {
  case Tok::plus: op = UnaryOp::plus; break;
  case Tok::minus: op = UnaryOp::minus; break;
  case Tok::tilde: op = UnaryOp::invert; break;
  default: return power();
  }
  Level level(*this);
  uint32_t start = begin();
  if (!failed) advance();
  Expr *operand = unary();
  auto *node = make<UnaryExpr>(rangeFrom(start));
  node->op = op;
  node->operand = operand;
  return node;
}

Expr *Parser::power() {
  uint32_t start = begin();
  Expr *base = nullptr;
  if (accept(Tok::kwAwait)) {
    Expr *value = primary();
    auto *node = make<AwaitExpr>(rangeFrom(start));
    node->value = value;
    base = node;
  } else {
    base = primary();
  }
  if (!at(Tok::starStar)) return base;
  Level level(*this);
  accept(Tok::starStar);
  Expr *exponent = unary();
  auto *node = make<BinaryExpr>(rangeFrom(start));
  node->op = BinaryOp::pow;
  node->lhs = base;
  node->rhs = exponent;
  return node;
}

// Parses an atom and its trailers: .name (arguments) [index].
Expr *Parser::primary() {
  Chain links(*this);
  uint32_t start = begin();
  Expr *value = atom();
  while (true) {
    if (at(Tok::dot)) {
      links.link();
      accept(Tok::dot);
      SourceRange nameRange = tokenRange();
      std::string name = identifier("an attribute name after '.'");
      auto *node = make<AttributeExpr>(rangeFrom(start));
      node->object = value;
      node->name = std::move(name);
      node->nameRange = nameRange;
      value = node;
    } else if (at(Tok::leftParen)) {
      links.link();
      std::vector<Expr *> args;
      std::vector<Keyword> keywords;
      arguments(args, keywords);
      auto *node = make<CallExpr>(rangeFrom(start));
      node->callee = value;
      node->args = std::move(args);
      node->keywords = std::move(keywords);
      value = node;
    } else if (at(Tok::leftSquare)) {
      links.link();
      accept(Tok::leftSquare);
      Expr *index = subscriptIndex();
      expect(Tok::rightSquare, "");
      auto *node = make<SubscriptExpr>(rangeFrom(start));
      node->object = value;
      node->index = index;
      value = node;
    } else {
      return value;
    }
  }
}

Expr *Parser::subscriptIndex() {
  uint32_t start = begin();
  if (at(Tok::rightSquare)) failExpected("an index between '[' and ']'", "");
  Expr *first = sliceOrIndex();
  if (!at(Tok::comma)) {
    if (!isa<StarredExpr>(first)) return first;
    auto *node = make<TupleExpr>(rangeFrom(start)); // x[*a] means x[(*a,)]
    node->elements = {first};
    return node;
  }
  std::vector<Expr *> elements{first};
  while (accept(Tok::comma) && (atExpressionStart() || at(Tok::colon)))
    elements.push_back(sliceOrIndex());
  auto *node = make<TupleExpr>(rangeFrom(start));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::sliceOrIndex() {
  uint32_t start = begin();
  Expr *parts[3] = {};
  if (!at(Tok::colon)) parts[0] = starExpression();
  if (!accept(Tok::colon)) return parts[0];
  if (atExpressionStart()) parts[1] = expression();
  if (accept(Tok::colon) && atExpressionStart()) parts[2] = expression();
  auto *node = make<SliceExpr>(rangeFrom(start));
  node->lower = parts[0];
  node->upper = parts[1];
  node->step = parts[2];
  return node;
}

void Parser::arguments(std::vector<Expr *> &args, std::vector<Keyword> &keywords) {
  Level level(*this);
  expect(Tok::leftParen, "");
  bool sawKeyword = false, sawUnpacking = false;
  while (!failed && !at(Tok::rightParen)) {
    SourceRange range = tokenRange();
    uint32_t start = begin();
    if (accept(Tok::starStar)) {
      Expr *value = expression();
      keywords.push_back({"", rangeFrom(start), value});
      sawUnpacking = true;
    } else if (at(Tok::name) && peekKind(1) == Tok::assign) {
      std::string name = identifier("a name");
      for (const Keyword &other : keywords)
        if (other.name == name)
          fail(range, Diag::invalidArgument, {"the keyword argument '" + name + "' is given twice", "remove one of them"});
      accept(Tok::assign);
      Expr *value = expression();
      keywords.push_back({std::move(name), range, value});
      sawKeyword = true;
    } else {
      bool star = at(Tok::star);
      Expr *value = nullptr;
      if (accept(Tok::star)) {
        Expr *inner = expression();
        auto *node = make<StarredExpr>(rangeFrom(start));
        node->value = inner;
        value = node;
      } else {
        value = namedExpression();
      }
      if (atComprehension()) {
        value = comprehension(ComprehensionKind::generator, start, value, nullptr);
        bool alone = args.empty() && keywords.empty() && (at(Tok::rightParen) || (at(Tok::comma) && peekKind(1) == Tok::rightParen));
        if (!alone)
          fail(value->range, Diag::invalidArgument, {"a generator expression with other arguments needs its own parentheses", ""});
      } else if (at(Tok::assign)) {
        fail(rangeFrom(start), Diag::invalidArgument, {"only a name can stand before '=' in a call", "write '==' to compare"});
      } else if (!star && sawUnpacking) {
        fail(value->range, Diag::invalidArgument, {"a positional argument follows '**' unpacking", "put positional arguments first"});
      } else if (!star && sawKeyword) {
        fail(value->range, Diag::invalidArgument, {"a positional argument follows a keyword argument", "put positional arguments first"});
      }
      args.push_back(value);
    }
    if (!at(Tok::comma)) break;
    accept(Tok::comma);
  }
  if (!at(Tok::rightParen)) failExpected("',' or ')' in the arguments", atExpressionStart() ? "is a comma missing?" : "");
  accept(Tok::rightParen);
}

Expr *Parser::unexpected() {
  if (!failed) {
    std::string what = found();
    bool nothing = at(Tok::newline) || at(Tok::endOfFile);
    fail(tokenRange(), nothing ? Diag::expectedToken : Diag::unexpectedToken,
         {nothing ? "an expression before " + what : what, adviceHere()});
  }
  return make<NoneExpr>(rangeFrom(begin()));
}

Expr *Parser::atom() {
  SourceRange range = tokenRange();
  switch (kind()) {
  case Tok::name: {
    auto *node = make<NameExpr>(range);
    node->name = std::string(spelling(tokens[next]));
    advance();
    return node;
  }
  case Tok::integer:
  case Tok::floating: return number();
  case Tok::string:
  case Tok::fstringStart: return strings();
  case Tok::kwNone: advance(); return make<NoneExpr>(range);
  case Tok::ellipsis: advance(); return make<EllipsisExpr>(range);
  case Tok::kwTrue:
  case Tok::kwFalse: {
    auto *node = make<BoolExpr>(range);
    node->value = at(Tok::kwTrue);
    advance();
    return node;
  }
  case Tok::leftParen: return parenthesised();
  case Tok::leftSquare: return listDisplay();
  case Tok::leftBrace: return braceDisplay();
  case Tok::star:
    fail(range, Diag::unexpectedToken, {"'*'", "unpacking is possible only in a list, a tuple, a set, an index or a call"});
    return unexpected();
  case Tok::kwYield: fail(range, Diag::unexpectedToken, {"'yield'", "put it in parentheses: (yield value)"}); return unexpected();
  default: return unexpected();
  }
}

Expr *Parser::number() {
  SourceRange range = tokenRange();
  std::string_view digits = spelling(tokens[next]);
  bool isInteger = at(Tok::integer);
  advance();
  if (!isInteger) {
    auto *node = make<FloatExpr>(range);
    node->value = decodeFloat(digits);
    return node;
  }
  auto *node = make<IntegerExpr>(range);
  if (!decodeInteger(digits, node->value))
    fail(range, Diag::invalidNumber, {std::string(digits), "it needs more than 128 bits", "compute it at run time from smaller numbers"});
  return node;
}

// Joins adjacent string literals. If one of them is an f-string, the result is an f-string.
Expr *Parser::strings() {
  size_t count = 0;
  while (peekKind(count) == Tok::string)
    ++count;
  if (peekKind(count) != Tok::fstringStart) return plainStrings(count);
  auto *node = make<FStringExpr>(tokenRange());
  uint32_t start = begin();
  auto addText = [&](Expr *expr) {
    if (!llvm::isa_and_nonnull<StringExpr>(expr)) return;
    auto *literal = llvm::cast<StringExpr>(expr);
    if (literal->isBytes) fail(literal->range, Diag::invalidFString, {"bytes and an f-string cannot be joined", "remove the prefix 'b'"});
    FStringExpr::Part part;
    part.text = literal->value;
    node->parts.push_back(std::move(part));
  };
  while (at(Tok::string) || at(Tok::fstringStart)) {
    if (at(Tok::string)) {
      addText(plainStrings(1));
      continue;
    }
    std::string_view quotes = spelling(tokens[next]);
    bool raw = (quotes[0] | 0x20) == 'r' || (quotes[1] | 0x20) == 'r';
    advance();
    fstring(node, Tok::fstringEnd, raw);
    if (!at(Tok::fstringEnd)) failExpected("the end of the f-string", "");
    accept(Tok::fstringEnd);
  }
  // Literal text between two values is one part.
  std::vector<FStringExpr::Part> parts;
  for (FStringExpr::Part &part : node->parts) {
    if (!part.value && !parts.empty() && !parts.back().value)
      parts.back().text += part.text;
    else if (part.value || !part.text.empty())
      parts.push_back(std::move(part));
  }
  node->parts = std::move(parts);
  node->range = rangeFrom(start);
  return node;
}

Expr *Parser::plainStrings(size_t count) {
  uint32_t start = begin();
  std::string value;
  bool isBytes = false;
  for (size_t i = 0; i < count && at(Tok::string); ++i) {
    const Token token = tokens[next];
    LiteralStyle style;
    uint32_t open = token.begin;
    for (; text[open] != '"' && text[open] != '\''; ++open) {
      style.raw |= (text[open] | 0x20) == 'r';
      style.bytes |= (text[open] | 0x20) == 'b';
    }
    uint32_t quotes = token.end - open >= 6 && text[open + 1] == text[open] && text[open + 2] == text[open] ? 3 : 1;
    int64_t errorsBefore = static_cast<int64_t>(diagnostics.all().size());
    value += decodeLiteral(*source, open + quotes, token.end - quotes, style, diagnostics);
    errors += static_cast<int64_t>(diagnostics.all().size()) - errorsBefore;
    if (i > 0 && isBytes != style.bytes)
      fail(tokenRange(), Diag::syntaxError, {"bytes and text literals cannot be joined", "give both the prefix 'b', or none"});
    isBytes = style.bytes;
    advance();
  }
  auto *node = make<StringExpr>(rangeFrom(start));
  node->value = std::move(value);
  node->isBytes = isBytes;
  return node;
}

// Parses text and fields up to `end`: the end of the f-string, or the '}' after a format.
void Parser::fstring(FStringExpr *out, Tok end, bool raw) {
  while (!failed && !at(end)) {
    if (at(Tok::fstringMiddle)) {
      const Token token = tokens[next];
      size_t errorsBefore = diagnostics.all().size();
      LiteralStyle style{raw, /*bytes=*/false, /*formatted=*/end == Tok::fstringEnd};
      FStringExpr::Part part;
      part.text = decodeLiteral(*source, token.begin, token.end, style, diagnostics);
      errors += static_cast<int64_t>(diagnostics.all().size() - errorsBefore);
      out->parts.push_back(std::move(part));
      advance();
    } else if (at(Tok::leftBrace)) {
      fstringField(out, raw);
    } else {
      return;
    }
  }
}

void Parser::fstringField(FStringExpr *out, bool raw) {
  Level level(*this);
  accept(Tok::leftBrace);
  if (at(Tok::rightBrace) || at(Tok::exclaim) || at(Tok::colon))
    fail(tokenRange(), Diag::invalidFString, {"an f-string field needs an expression", "write '{{' and '}}' for braces"});
  uint32_t start = begin();
  FStringExpr::Part part;
  part.value = yieldOrExpressionList();
  bool shows = at(Tok::assign); // f"{x=}" shows the expression's own text first
  if (accept(Tok::assign)) {
    FStringExpr::Part label;
    label.text = std::string(text.substr(start, begin() - start));
    out->parts.push_back(std::move(label));
    part.conversion = at(Tok::rightBrace) ? 'r' : 0;
  }
  if (accept(Tok::exclaim)) {
    std::string_view letter = at(Tok::name) ? spelling(tokens[next]) : std::string_view();
    if (letter != "r" && letter != "s" && letter != "a")
      fail(tokenRange(), Diag::invalidFString, {"expected r, s or a after '!'", "!r is repr(), !s is str(), !a is ascii()"});
    else
      part.conversion = letter[0];
    if (!failed) advance();
  }
  if (accept(Tok::colon)) {
    auto *format = make<FStringExpr>(tokenRange());
    uint32_t formatStart = begin();
    fstring(format, Tok::rightBrace, raw);
    format->range = rangeFrom(formatStart);
    part.format = format;
  }
  if (!at(Tok::rightBrace)) failExpected("'}' at the end of the f-string's field", shows ? "" : "write '{{' for a brace");
  accept(Tok::rightBrace);
  out->parts.push_back(std::move(part));
}

Expr *Parser::parenthesised() {
  Level level(*this);
  uint32_t start = begin();
  accept(Tok::leftParen);
  if (accept(Tok::rightParen)) return make<TupleExpr>(rangeFrom(start));
  if (at(Tok::kwYield)) {
    Expr *value = yieldOrExpressionList();
    expect(Tok::rightParen, "");
    return value;
  }
  Expr *first = starExpression();
  if (atComprehension()) {
    Expr *node = comprehension(ComprehensionKind::generator, start, first, nullptr);
    expect(Tok::rightParen, "");
    node->range = rangeFrom(start);
    return node;
  }
  if (!at(Tok::comma)) {
    if (auto *starred = llvm::dyn_cast<StarredExpr>(first))
      fail(starred->range, Diag::unexpectedToken, {"'*'", "a tuple of one element needs a comma: (*x,)"});
    if (!at(Tok::rightParen))
      failExpected("',' or ')'", at(Tok::assign)       ? "write '==' to compare, or ':=' to assign"
                                 : atExpressionStart() ? "is a comma missing?"
                                                       : "");
    accept(Tok::rightParen);
    return first;
  }
  std::vector<Expr *> elements{first};
  while (accept(Tok::comma) && atExpressionStart())
    elements.push_back(starExpression());
  if (!at(Tok::rightParen)) failExpected("',' or ')' in the tuple", atExpressionStart() ? "is a comma missing?" : "");
  accept(Tok::rightParen);
  auto *node = make<TupleExpr>(rangeFrom(start));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::listDisplay() {
  Level level(*this);
  uint32_t start = begin();
  accept(Tok::leftSquare);
  std::vector<Expr *> elements;
  if (!at(Tok::rightSquare)) {
    elements.push_back(starExpression());
    if (atComprehension()) {
      Expr *node = comprehension(ComprehensionKind::list, start, elements[0], nullptr);
      expect(Tok::rightSquare, "");
      node->range = rangeFrom(start);
      return node;
    }
    while (accept(Tok::comma) && atExpressionStart())
      elements.push_back(starExpression());
  }
  if (!at(Tok::rightSquare)) failExpected("',' or ']' in the list", atExpressionStart() ? "is a comma missing?" : "");
  accept(Tok::rightSquare);
  auto *node = make<ListExpr>(rangeFrom(start));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::braceDisplay() {
  Level level(*this);
  uint32_t start = begin();
  accept(Tok::leftBrace);
  auto finish = [&](Expr *node, std::string where) {
    if (!at(Tok::rightBrace)) failExpected("',' or '}' in the " + where, atExpressionStart() ? "is a comma missing?" : "");
    accept(Tok::rightBrace);
    node->range = rangeFrom(start);
    return node;
  };
  if (at(Tok::rightBrace)) return finish(make<DictExpr>(rangeFrom(start)), "dict");
  Expr *key = nullptr;
  if (!at(Tok::starStar)) {
    key = starExpression();
    if (!at(Tok::colon)) {
      if (atComprehension()) return finish(comprehension(ComprehensionKind::set, start, key, nullptr), "set");
      auto *node = make<SetExpr>(rangeFrom(start));
      node->elements.push_back(key);
      while (accept(Tok::comma) && atExpressionStart())
        node->elements.push_back(starExpression());
      return finish(node, "set");
    }
  }
  auto *node = make<DictExpr>(rangeFrom(start));
  while (true) {
    if (accept(Tok::starStar)) {
      node->items.emplace_back(nullptr, binary(0));
    } else {
      if (!key) key = expression();
      expect(Tok::colon, "every item of a dict is key: value");
      Expr *value = expression();
      if (node->items.empty() && atComprehension()) return finish(comprehension(ComprehensionKind::dict, start, key, value), "dict");
      node->items.emplace_back(key, value);
    }
    key = nullptr;
    if (!accept(Tok::comma) || at(Tok::rightBrace) || failed) return finish(node, "dict");
  }
}

// Parses from the first `for` on. The element before it is already parsed.
Expr *Parser::comprehension(ComprehensionKind what, uint32_t start, Expr *element, Expr *value) {
  if (isa<StarredExpr>(element)) fail(element->range, Diag::unexpectedToken, {"'*'", "unpacking is not possible in a comprehension"});
  std::vector<ComprehensionExpr::For> loops;
  while (atComprehension()) {
    accept(Tok::kwAsync);
    accept(Tok::kwFor);
    ComprehensionExpr::For loop;
    loop.target = targetList();
    if (!failed) checkTarget(loop.target, "assign to", /*single=*/false);
    expect(Tok::kwIn, "a comprehension is: value for name in iterable");
    loop.iterable = disjunction();
    while (accept(Tok::kwIf)) {
      // The condition ends before the next `if`, so a conditional expression would need parentheses.
      bool named = at(Tok::name) && peekKind(1) == Tok::walrus;
      loop.conditions.push_back(named ? namedExpression() : disjunction());
    }
    loops.push_back(std::move(loop));
  }
  auto *node = make<ComprehensionExpr>(rangeFrom(start));
  node->what = what;
  node->element = element;
  node->value = value;
  node->loops = std::move(loops);
  return node;
}

} // namespace tilewright
