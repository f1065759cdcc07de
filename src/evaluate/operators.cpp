// Python's operators on compile-time values: exact integers (128 bits, an error beyond), floor division, chained types as Python has them.
#include "evaluate/evaluate.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

llvm::StringRef symbol(ast::BinaryOp op) {
  constexpr const char *symbols[] = {"+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"};
  return symbols[static_cast<size_t>(op)];
}

llvm::StringRef symbol(ast::CompareOp op) {
  constexpr const char *symbols[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};
  return symbols[static_cast<size_t>(op)];
}

/// A binary operation and its place: all that the cases need to report an error.
struct Operation {
  llvm::StringRef symbol;
  const Value &lhs, &rhs;
  SourceRange range;
  Diagnostics &diagnostics;

  std::nullopt_t fail(Diag id, std::initializer_list<std::string> args) const { return tilewright::fail(diagnostics, range, id, args); }
  std::nullopt_t wrongTypes() const { return fail(Diag::operatorTypes, {symbol.str(), lhs.describe() + " and " + rhs.describe()}); }
  MaybeValue checked(bool overflow, Int result) const {
    if (overflow) return fail(Diag::integerTooLarge, {symbol.str()});
    return Value::integer(result);
  }
};

Int floorDiv(Int a, Int b) {
  Int quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

double floorMod(double a, double b) {
  double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double floorDiv(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

constexpr Int intMin = static_cast<Int>(static_cast<unsigned __int128>(1) << 127);

MaybeValue power(const Operation &op, Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) return op.fail(Diag::divisionByZero, {});
    return Value::floating(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 ? -1 : 1);
  Int result = 1;
  for (Int i = 0; i < exponent; ++i) // ends after 127 steps at the latest: |base| >= 2
    if (__builtin_mul_overflow(result, base, &result)) return op.fail(Diag::integerTooLarge, {op.symbol.str()});
  return Value::integer(result);
}

MaybeValue shift(const Operation &op, Int value, Int count, bool left) {
  if (count < 0) return op.fail(Diag::negativeShift, {intToString(count)});
  if (!left) return Value::integer(count > 126 ? (value < 0 ? -1 : 0) : value >> static_cast<int>(count));
  if (value == 0) return Value::integer(0);
  if (count > 126) return op.fail(Diag::integerTooLarge, {op.symbol.str()});
  Int result = static_cast<Int>(static_cast<unsigned __int128>(value) << static_cast<int>(count));
  return op.checked((result >> static_cast<int>(count)) != value, result);
}

MaybeValue integers(const Operation &op, ast::BinaryOp kind, Int a, Int b) {
  Int result = 0;
  bool overflow = false;
  switch (kind) {
  case ast::BinaryOp::add: overflow = __builtin_add_overflow(a, b, &result); return op.checked(overflow, result);
  case ast::BinaryOp::sub: overflow = __builtin_sub_overflow(a, b, &result); return op.checked(overflow, result);
  case ast::BinaryOp::mul: overflow = __builtin_mul_overflow(a, b, &result); return op.checked(overflow, result);
  case ast::BinaryOp::div:
  case ast::BinaryOp::floordiv:
  case ast::BinaryOp::mod:
    if (b == 0) return op.fail(Diag::divisionByZero, {});
    if (kind == ast::BinaryOp::div) // through the wider format, so that quotients of integers above 2**53 are rounded once
      return Value::floating(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    if (b == -1) // the one divisor whose quotient may not fit
      return kind == ast::BinaryOp::mod ? Value::integer(0) : op.checked(a == intMin, a == intMin ? 0 : -a);
    return Value::integer(kind == ast::BinaryOp::mod ? a - floorDiv(a, b) * b : floorDiv(a, b));
  case ast::BinaryOp::pow: return power(op, a, b);
  case ast::BinaryOp::lshift: return shift(op, a, b, true);
  case ast::BinaryOp::rshift: return shift(op, a, b, false);
  case ast::BinaryOp::bitand_: return Value::integer(a & b);
  case ast::BinaryOp::bitor_: return Value::integer(a | b);
  case ast::BinaryOp::bitxor: return Value::integer(a ^ b);
  case ast::BinaryOp::matmul: break;
  }
  return op.wrongTypes();
}

MaybeValue floats(const Operation &op, ast::BinaryOp kind, double a, double b) {
  switch (kind) {
  case ast::BinaryOp::add: return Value::floating(a + b);
  case ast::BinaryOp::sub: return Value::floating(a - b);
  case ast::BinaryOp::mul: return Value::floating(a * b);
  case ast::BinaryOp::div:
  case ast::BinaryOp::floordiv:
  case ast::BinaryOp::mod:
    if (b == 0) return op.fail(Diag::divisionByZero, {});
    return Value::floating(kind == ast::BinaryOp::div ? a / b : kind == ast::BinaryOp::mod ? floorMod(a, b) : floorDiv(a, b));
  case ast::BinaryOp::pow:
    if (a == 0 && b < 0) return op.fail(Diag::divisionByZero, {});
    if (a < 0 && b != std::floor(b))
      return op.fail(Diag::badValue, {"a negative number to a fractional power is complex, which kernels have no type for"});
    return Value::floating(std::pow(a, b));
  default: return op.wrongTypes();
  }
}

// Repeated texts and lists of constants are short; a long one is a mistake, and would take all memory.
constexpr int64_t longestRepeat = int64_t(1) << 22;

MaybeValue repeat(const Operation &op, const Value &sequence, Int count) {
  int64_t times = count < 0 ? 0 : static_cast<int64_t>(std::min<Int>(count, longestRepeat + 1));
  const std::string *text = sequence.asString();
  const Sequence *items = sequence.asSequence();
  int64_t length = text ? static_cast<int64_t>(text->size()) : static_cast<int64_t>(items->items.size());
  if (length > 0 && times > longestRepeat / length)
    return op.fail(Diag::badValue, {"a repeated sequence of more than " + std::to_string(longestRepeat) + " items is too long"});
  if (!spendBytes(times * length * static_cast<int64_t>(text ? 1 : sizeof(Value)))) return std::nullopt;
  if (text) {
    std::string result;
    for (int64_t i = 0; i < times; ++i)
      result += *text;
    return Value::string(std::move(result));
  }
  Values result;
  for (int64_t i = 0; i < times; ++i)
    result.insert(result.end(), items->items.begin(), items->items.end());
  return items->isTuple ? Value::tuple(std::move(result)) : Value::list(std::move(result));
}

bool contains(const Sequence &sequence, const Value &item) {
  if (sequence.isSet) return findItem(sequence, item).has_value();
  return std::find(sequence.items.begin(), sequence.items.end(), item) != sequence.items.end();
}

MaybeValue sets(const Operation &op, ast::BinaryOp kind, const Sequence &a, const Sequence &b) {
  Values result;
  for (const Value &item : a.items) {
    bool shared = contains(b, item);
    if (kind == ast::BinaryOp::bitor_ || shared == (kind == ast::BinaryOp::bitand_)) result.push_back(item);
  }
  if (kind == ast::BinaryOp::bitor_ || kind == ast::BinaryOp::bitxor)
    for (const Value &item : b.items)
      if (!contains(a, item)) result.push_back(item);
  return Value::set(std::move(result));
}

MaybeValue sequences(const Operation &op, ast::BinaryOp kind, const Sequence &a, const Sequence &b) {
  if (a.isSet && b.isSet) {
    bool known =
        kind == ast::BinaryOp::bitor_ || kind == ast::BinaryOp::bitand_ || kind == ast::BinaryOp::sub || kind == ast::BinaryOp::bitxor;
    return known ? sets(op, kind, a, b) : MaybeValue(op.wrongTypes());
  }
  if (kind != ast::BinaryOp::add || a.isSet || b.isSet || a.isTuple != b.isTuple) return op.wrongTypes();
  Values items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return a.isTuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

/// -1, 0, 1, 2 (unordered: NaN); nothing after an error.
std::optional<int> order(const Operation &op, const Value &a, const Value &b) {
  if (!spend(1) || !mayRecurse()) return std::nullopt;
  if (std::optional<Int> x = a.toInt())
    if (std::optional<Int> y = b.toInt()) return *x < *y ? -1 : *x > *y;
  if (std::optional<double> x = a.toDouble())
    if (std::optional<double> y = b.toDouble()) return *x < *y ? -1 : *x > *y ? 1 : *x == *y ? 0 : 2;
  if (const std::string *x = a.asString())
    if (const std::string *y = b.asString()) return *x < *y ? -1 : *x > *y;
  const Sequence *x = a.asSequence(), *y = b.asSequence();
  if (x && y && x->isTuple == y->isTuple && !x->isSet && !y->isSet) {
    for (size_t i = 0; i < std::min(x->items.size(), y->items.size()); ++i)
      if (!(x->items[i] == y->items[i])) return order(op, x->items[i], y->items[i]);
    return x->items.size() < y->items.size() ? -1 : x->items.size() > y->items.size();
  }
  op.wrongTypes();
  return std::nullopt;
}

bool identical(const Value &a, const Value &b) {
  // In CPython small integers and strings are one object only by chance. Constexprs are compared by value, so `is` means equality here.
  bool sameKind = a.isNone() == b.isNone() && !a.asBool() == !b.asBool() && !a.asInt() == !b.asInt() && !a.asFloat() == !b.asFloat();
  if (a.asSequence() || b.asSequence()) return a.asSequence() == b.asSequence();
  if (a.asDict() || b.asDict()) return a.asDict() == b.asDict();
  return sameKind && a == b;
}

std::optional<bool> isIn(const Operation &op, const Value &item, const Value &container) {
  if (const std::string *text = container.asString()) {
    const std::string *part = item.asString();
    if (part) return spend(static_cast<int64_t>(text->size())) && text->find(*part) != std::string::npos;
  } else if (const Sequence *sequence = container.asSequence()) {
    return contains(*sequence, item);
  } else if (const Dict *dict = container.asDict()) {
    return findKey(*dict, item).has_value();
  }
  op.wrongTypes();
  return std::nullopt;
}

bool reportHost(const Value &value, SourceRange range, Diagnostics &diagnostics) {
  const HostValue *host = value.asHost();
  if (host) fail(diagnostics, range, Diag::hostValueUsed, {host->description});
  return host != nullptr;
}

} // namespace

std::optional<Value> evaluateUnary(ast::UnaryOp op, const Value &operand, SourceRange range, Diagnostics &diagnostics) {
  if (reportHost(operand, range, diagnostics)) return std::nullopt;
  if (op == ast::UnaryOp::not_) return Value::boolean(!operand.truth());
  if (std::optional<Int> value = operand.toInt()) {
    if (op == ast::UnaryOp::invert) return Value::integer(~*value);
    if (op == ast::UnaryOp::minus && *value == intMin) return fail(diagnostics, range, Diag::integerTooLarge, {"-"});
    return Value::integer(op == ast::UnaryOp::minus ? -*value : *value);
  }
  if (const double *value = operand.asFloat(); value && op != ast::UnaryOp::invert)
    return Value::floating(op == ast::UnaryOp::minus ? -*value : *value);
  return fail(diagnostics, range, Diag::operatorTypes,
              {op == ast::UnaryOp::plus    ? "+"
               : op == ast::UnaryOp::minus ? "-"
                                           : "~",
               operand.describe()});
}

std::optional<Value> evaluateBinary(ast::BinaryOp op, const Value &lhs, const Value &rhs, SourceRange range, Diagnostics &diagnostics) {
  if (reportHost(lhs, range, diagnostics) || reportHost(rhs, range, diagnostics)) return std::nullopt;
  Operation operation{symbol(op), lhs, rhs, range, diagnostics};
  std::optional<Int> a = lhs.toInt(), b = rhs.toInt();
  if (a && b) {
    bool logical = op == ast::BinaryOp::bitand_ || op == ast::BinaryOp::bitor_ || op == ast::BinaryOp::bitxor;
    MaybeValue result = integers(operation, op, *a, *b);
    return logical && lhs.asBool() && rhs.asBool() ? Value::boolean(result->truth()) : result;
  }
  if (lhs.toDouble() && rhs.toDouble()) return floats(operation, op, *lhs.toDouble(), *rhs.toDouble());
  const std::string *text = lhs.asString();
  if (text && op == ast::BinaryOp::mod) return percentFormat(*text, rhs, range, diagnostics);
  if (text && rhs.asString() && op == ast::BinaryOp::add) return Value::string(*text + *rhs.asString());
  auto repeatable = [](const Value &value) { return value.asString() || (value.asSequence() && !value.asSequence()->isSet); };
  if (op == ast::BinaryOp::mul && b && repeatable(lhs)) return repeat(operation, lhs, *b);
  if (op == ast::BinaryOp::mul && a && repeatable(rhs)) return repeat(operation, rhs, *a);
  if (lhs.asSequence() && rhs.asSequence()) return sequences(operation, op, *lhs.asSequence(), *rhs.asSequence());
  if (lhs.asDict() && rhs.asDict() && op == ast::BinaryOp::bitor_) {
    Value merged = Value::dict(lhs.asDict()->items);
    Values args{rhs};
    return callMethod(merged, "update", NativeCall{"update", args, {}, range, diagnostics}) ? MaybeValue(merged) : std::nullopt;
  }
  return operation.wrongTypes();
}

std::optional<Value> evaluateCompare(ast::CompareOp op, const Value &lhs, const Value &rhs, SourceRange range, Diagnostics &diagnostics) {
  if (reportHost(lhs, range, diagnostics) || reportHost(rhs, range, diagnostics)) return std::nullopt;
  Operation operation{symbol(op), lhs, rhs, range, diagnostics};
  switch (op) {
  case ast::CompareOp::eq: return Value::boolean(lhs == rhs);
  case ast::CompareOp::ne: return Value::boolean(!(lhs == rhs));
  case ast::CompareOp::is: return Value::boolean(identical(lhs, rhs));
  case ast::CompareOp::isNot: return Value::boolean(!identical(lhs, rhs));
  case ast::CompareOp::in:
  case ast::CompareOp::notIn: {
    std::optional<bool> found = isIn(operation, lhs, rhs);
    if (!found) return std::nullopt;
    return Value::boolean(*found == (op == ast::CompareOp::in));
  }
  default: break;
  }
  std::optional<int> result = order(operation, lhs, rhs);
  if (!result) return std::nullopt;
  switch (op) {
  case ast::CompareOp::lt: return Value::boolean(*result == -1);
  case ast::CompareOp::le: return Value::boolean(*result == -1 || *result == 0);
  case ast::CompareOp::gt: return Value::boolean(*result == 1);
  default: return Value::boolean(*result == 1 || *result == 0);
  }
}

Value makeSlice(Value lower, Value upper, Value step) {
  return Value::namedTuple({"start", "stop", "step"}, {std::move(lower), std::move(upper), std::move(step)});
}

bool isSlice(const Value &value) {
  const Sequence *sequence = value.asSequence();
  return sequence && sequence->fieldNames.size() == 3 && sequence->fieldNames[0] == "start" && sequence->fieldNames[1] == "stop" &&
         sequence->fieldNames[2] == "step";
}

std::optional<std::vector<int64_t>> slicePositions(const Value &slice, int64_t length, SourceRange range, Diagnostics &diagnostics) {
  const Values &parts = slice.asSequence()->items;
  Int limits[3] = {0, 0, 1};
  for (int i = 0; i < 3; ++i) {
    if (!parts[i].isNone() && !parts[i].toInt()) {
      fail(diagnostics, range, Diag::badIndex, {"a sequence", "a slice of " + parts[i].describe()});
      return std::nullopt;
    }
    limits[i] = parts[i].isNone() ? limits[i] : *parts[i].toInt();
  }
  Int step = limits[2];
  if (step == 0) {
    fail(diagnostics, range, Diag::badValue, {"the step of a slice cannot be zero"});
    return std::nullopt;
  }
  auto clip = [&](const Value &part, Int value, Int missing) {
    if (part.isNone()) return missing;
    if (value < 0) value += length;
    return std::clamp<Int>(value, step > 0 ? 0 : -1, step > 0 ? length : length - 1);
  };
  Int start = clip(parts[0], limits[0], step > 0 ? 0 : length - 1), stop = clip(parts[1], limits[1], step > 0 ? length : -1);
  std::vector<int64_t> positions;
  for (Int i = start; step > 0 ? i < stop : i > stop; i += step)
    positions.push_back(static_cast<int64_t>(i));
  return positions;
}

std::optional<Value> evaluateSubscript(const Value &object, const Value &index, SourceRange range, Diagnostics &diagnostics) {
  if (reportHost(object, range, diagnostics) || reportHost(index, range, diagnostics)) return std::nullopt;
  if (const Dict *dict = object.asDict()) {
    std::vector<std::string> keys;
    if (std::optional<size_t> at = findKey(*dict, index)) return dict->items[*at].second;
    for (size_t i = 0; i < std::min<size_t>(dict->items.size(), 13); ++i)
      keys.push_back(dict->items[i].first.repr());
    return fail(diagnostics, range, Diag::missingKey, {index.repr(), joinNames(keys, 12)});
  }
  const std::string *text = object.asString();
  const Sequence *sequence = object.asSequence();
  if ((!text && !sequence) || (sequence && sequence->isSet))
    return fail(diagnostics, range, Diag::badIndex, {object.describe(), index.describe()});
  std::vector<llvm::StringRef> letters;
  if (text) letters = characters(*text);
  if (text && !spend(static_cast<int64_t>(text->size() / 16))) return std::nullopt;
  int64_t length = static_cast<int64_t>(text ? letters.size() : sequence->items.size());
  if (isSlice(index)) {
    std::optional<std::vector<int64_t>> positions = slicePositions(index, length, range, diagnostics);
    if (!positions) return std::nullopt;
    std::string part;
    Values items;
    for (int64_t i : *positions)
      text ? void(part += letters[static_cast<size_t>(i)]) : items.push_back(sequence->items[static_cast<size_t>(i)]);
    return text ? Value::string(part) : sequence->isTuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }
  std::optional<Int> position = index.toInt();
  if (!position) return fail(diagnostics, range, Diag::badIndex, {object.describe(), index.describe()});
  Int at = *position < 0 ? *position + length : *position;
  if (at < 0 || at >= length)
    return fail(diagnostics, range, Diag::indexOutOfRange, {intToString(*position), object.describe(), std::to_string(length)});
  return text ? Value::string(letters[static_cast<size_t>(at)].str()) : sequence->items[static_cast<size_t>(at)];
}

} // namespace tilewright
