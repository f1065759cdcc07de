// Python's own functions on compile-time values, and the helpers by which functions written in C++ take their arguments.
#include "evaluate/evaluate.h"

#include "evaluate/builtins.h"
#include "evaluate/classes.h"
#include "evaluate/pointer_depth.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

std::nullopt_t fail(Diagnostics &diagnostics, SourceRange range, Diag id, std::initializer_list<std::string> args) {
  diagnostics.error(range, id, args);
  return std::nullopt;
}

std::string nearestName(llvm::StringRef name, const std::vector<std::string> &candidates) {
  std::string best;
  unsigned limit = name.size() < 2 ? 0 : static_cast<unsigned>(std::max<size_t>(1, (name.size() + 1) / 3)); // any letter is near another
  unsigned distance = limit + 1;
  for (const std::string &candidate : candidates) {
    if (llvm::StringRef(candidate).equals_insensitive(name) && candidate != name) return candidate;
    unsigned edits = name.edit_distance(candidate, true, limit);
    if (edits < distance && candidate != name && edits < candidate.size()) {
      distance = edits;
      best = candidate;
    }
  }
  return best;
}

std::nullopt_t failUnknown(Diagnostics &diagnostics, SourceRange range, Diag id, std::initializer_list<std::string> args,
                           llvm::StringRef name, const std::vector<std::string> &candidates) {
  Diagnostic &diagnostic = diagnostics.error(range, id, args);
  if (std::string near = nearestName(name, candidates); !near.empty()) diagnostic.hint = "did you mean '" + near + "'?";
  return std::nullopt;
}

std::string joinNames(const std::vector<std::string> &names, int64_t limit) {
  std::string text;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (static_cast<int64_t>(i) == limit) return text + ", ...";
    text += (i ? ", " : "") + name;
  }
  return text.empty() ? "(none)" : text;
}

int64_t errorCount(const Diagnostics &diagnostics) {
  return llvm::count_if(diagnostics.all(), [](const Diagnostic &diagnostic) { return diagnostic.severity == Severity::error; });
}

const Value *NativeCall::keyword(llvm::StringRef key) const {
  for (const auto &[name, value] : keywords)
    if (name == key) return &value;
  return nullptr;
}

const Value *NativeCall::argument(size_t i, llvm::StringRef key) const {
  return i < args.size() ? &args[i] : key.empty() ? nullptr : keyword(key);
}

std::nullopt_t NativeCall::badCall(std::string message) const {
  return fail(diagnostics, range, Diag::badCall, {std::move(message)});
}

std::nullopt_t NativeCall::badValue(std::string message) const {
  return fail(diagnostics, range, Diag::badValue, {std::move(message)});
}

namespace {

struct NativeFunction : Callable {
  std::string functionName;
  NativeBody body;
  bool seesHost = false;

  std::string name() const override { return functionName; }
  MaybeValue call(const Values &args, const Keywords &keywords, SourceRange range, Diagnostics &diagnostics) const override {
    if (!seesHost) {
      for (const Value &arg : args)
        if (arg.asHost()) return arg;
      for (const auto &entry : keywords)
        if (entry.second.asHost()) return entry.second;
    }
    return body(NativeCall{functionName, args, keywords, range, diagnostics});
  }
};

Value makeNative(std::string name, NativeBody body, bool seesHost) {
  auto function = std::make_shared<NativeFunction>();
  function->functionName = std::move(name);
  function->body = std::move(body);
  function->seesHost = seesHost;
  return Value::callable(std::move(function));
}

MaybeValue needs(const NativeCall &call, const std::string &what) {
  return call.badCall(call.name.str() + "() needs " + what);
}

MaybeValue length(const NativeCall &call) {
  const Value *object = call.argument(0, "");
  if (object && object->asString()) return Value::integer(static_cast<int64_t>(characters(*object->asString()).size()));
  if (object && object->asSequence()) return Value::integer(static_cast<int64_t>(object->asSequence()->items.size()));
  if (object && object->asDict()) return Value::integer(static_cast<int64_t>(object->asDict()->items.size()));
  return call.badValue(object ? object->describe() + " has no length" : "len() needs a value");
}

MaybeValue extreme(const NativeCall &call) {
  Values items = call.args;
  if (items.size() == 1) {
    std::optional<Values> only = iterate(items[0], call.range, call.diagnostics);
    if (!only) return std::nullopt;
    items = std::move(*only);
  }
  if (items.empty()) {
    const Value *otherwise = call.keyword("default");
    return otherwise ? MaybeValue(*otherwise) : call.badValue(call.name.str() + "() of an empty sequence");
  }
  const Value *key = call.keyword("key");
  Value best, bestKey;
  for (size_t i = 0; i < items.size(); ++i) {
    MaybeValue by = key && !key->isNone() ? callValue(*key, {items[i]}, {}, call.range, call.diagnostics) : items[i];
    if (!by || by->asHost()) return by;
    if (i) {
      MaybeValue better =
          evaluateCompare(call.name == "min" ? ast::CompareOp::lt : ast::CompareOp::gt, *by, bestKey, call.range, call.diagnostics);
      if (!better) return std::nullopt;
      if (!better->truth()) continue;
    }
    best = items[i];
    bestKey = *by;
  }
  return best;
}

MaybeValue absolute(const NativeCall &call) {
  const Value *x = call.argument(0, "");
  if (x && x->asFloat()) return Value::floating(std::fabs(*x->asFloat()));
  if (!x || !x->toInt()) return needs(call, "a number");
  return *x->toInt() < 0 ? evaluateUnary(ast::UnaryOp::minus, *x, call.range, call.diagnostics) : Value::integer(*x->toInt());
}

MaybeValue truncated(const NativeCall &call, double x) {
  if (!(std::fabs(x) < 1.7e38)) return call.badValue(floatToString(x) + " is not an integer of at most 128 bits");
  return Value::integer(static_cast<Int>(x));
}

// int(text, base): a sign, a prefix that the base allows, digits with single underscores between them.
std::optional<Int> integerOf(llvm::StringRef word, int base) {
  bool negative = word.consume_front("-");
  if (!negative) word.consume_front("+");
  for (auto [prefix, radix] : {std::pair("0x", 16), std::pair("0o", 8), std::pair("0b", 2)}) {
    if ((base != radix && base != 0) || !word.starts_with_insensitive(prefix)) continue;
    word = word.drop_front(2);
    word.consume_front("_");
    base = radix;
  }
  if (base == 0 && word.size() > 1 && word[0] == '0' && word.find_first_not_of("0_") != llvm::StringRef::npos) return std::nullopt;
  if (base == 0) base = 10;
  Int value = 0;
  bool digitBefore = false;
  for (char c : word) {
    if (c == '_' ? !digitBefore : llvm::hexDigitValue(c) >= 16 && !llvm::isAlpha(c)) return std::nullopt;
    digitBefore = c != '_';
    if (c == '_') continue;
    int digit = llvm::isDigit(c) ? c - '0' : llvm::toLower(c) - 'a' + 10;
    if (digit >= base || __builtin_mul_overflow(value, static_cast<Int>(base), &value) ||
        __builtin_add_overflow(value, static_cast<Int>(digit), &value))
      return std::nullopt;
  }
  if (!digitBefore) return std::nullopt;
  return negative ? -value : value;
}

MaybeValue toInteger(const NativeCall &call) {
  const Value *x = call.argument(0, "");
  if (!x) return Value::integer(0);
  if (x->toInt()) return Value::integer(*x->toInt());
  if (x->asFloat()) return truncated(call, *x->asFloat());
  const std::string *text = x->asString();
  if (!text) return call.badValue(x->describe() + " cannot become an int");
  const Value *base = call.argument(1, "base");
  Int radix = base && base->toInt() ? *base->toInt() : 10;
  if (radix != 0 && (radix < 2 || radix > 36)) return call.badValue("the base of int() is 0 or from 2 to 36");
  std::optional<Int> value = integerOf(llvm::StringRef(*text).trim(), static_cast<int>(radix));
  return value ? MaybeValue(Value::integer(*value)) : call.badValue(x->repr() + " is not the text of an integer of at most 128 bits");
}

MaybeValue toFloat(const NativeCall &call) {
  const Value *x = call.argument(0, "");
  if (!x) return Value::floating(0);
  if (x->toDouble()) return Value::floating(*x->toDouble());
  const std::string *text = x->asString();
  if (!text) return call.badValue(x->describe() + " cannot become a float");
  std::string word = llvm::StringRef(*text).trim().lower();
  char *end = nullptr;
  double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end) return call.badValue(x->repr() + " is not the text of a number");
  return Value::floating(value);
}

MaybeValue collect(const NativeCall &call) {
  std::optional<Values> items = Values{};
  if (!call.args.empty()) items = iterate(call.args[0], call.range, call.diagnostics);
  if (!items) return std::nullopt;
  if (call.name == "reversed") std::reverse(items->begin(), items->end());
  if (call.name == "set" || call.name == "frozenset") return Value::set(std::move(*items));
  return call.name == "tuple" ? Value::tuple(std::move(*items)) : Value::list(std::move(*items));
}

MaybeValue toDict(const NativeCall &call) {
  Value dict = Value::dict({});
  return callMethod(dict, "update", NativeCall{"update", call.args, call.keywords, call.range, call.diagnostics}) ? MaybeValue(dict)
                                                                                                                  : std::nullopt;
}

MaybeValue rangeOf(const NativeCall &call) {
  constexpr Int longest = 1 << 20; // lists are created as a whole; a longer one is not a list of configurations
  Int parts[3] = {0, 0, 1};
  if (call.args.empty() || call.args.size() > 3) return needs(call, "one to three ints");
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.args[i].toInt()) return call.badValue("range() takes ints, not " + call.args[i].describe());
    parts[call.args.size() == 1 ? 1 : i] = *call.args[i].toInt();
  }
  auto [start, stop, step] = std::tie(parts[0], parts[1], parts[2]);
  if (step == 0) return call.badValue("the step of range() cannot be zero");
  Values items;
  for (Int i = start; step > 0 ? i < stop : i > stop; i += step) {
    if (static_cast<Int>(items.size()) == longest)
      return call.badValue("a range of more than " + intToString(longest) + " numbers is too long at compile time");
    items.push_back(Value::integer(i));
  }
  return Value::list(std::move(items));
}

MaybeValue sum(const NativeCall &call) {
  std::optional<Values> items = call.args.empty() ? std::nullopt : iterate(call.args[0], call.range, call.diagnostics);
  if (!items) return call.args.empty() ? needs(call, "a list") : MaybeValue();
  const Value *start = call.argument(1, "start");
  MaybeValue total = start ? *start : Value::integer(0);
  for (const Value &item : *items) {
    if (item.asHost()) return item;
    total = evaluateBinary(ast::BinaryOp::add, *total, item, call.range, call.diagnostics);
    if (!total) return std::nullopt;
  }
  return total;
}

MaybeValue anyOrAll(const NativeCall &call) {
  std::optional<Values> items = call.args.empty() ? std::nullopt : iterate(call.args[0], call.range, call.diagnostics);
  if (!items) return call.args.empty() ? needs(call, "a list") : MaybeValue();
  bool isAny = call.name == "any";
  for (const Value &item : *items) {
    if (item.asHost()) return item;
    if (item.truth() == isAny) return Value::boolean(isAny);
  }
  return Value::boolean(!isAny);
}

MaybeValue zip(const NativeCall &call) {
  std::vector<Values> columns;
  size_t rows = call.args.empty() ? 0 : SIZE_MAX;
  for (const Value &arg : call.args) {
    std::optional<Values> column = iterate(arg, call.range, call.diagnostics);
    if (!column) return std::nullopt;
    rows = std::min(rows, column->size());
    columns.push_back(std::move(*column));
  }
  Values items;
  for (size_t row = 0; row < rows; ++row) {
    Values tuple;
    for (const Values &column : columns)
      tuple.push_back(column[row]);
    items.push_back(Value::tuple(std::move(tuple)));
  }
  return Value::list(std::move(items));
}

MaybeValue enumerateItems(const NativeCall &call) {
  const Value *object = call.argument(0, "iterable"), *start = call.argument(1, "start");
  std::optional<Values> items = object ? iterate(*object, call.range, call.diagnostics) : std::nullopt;
  if (!items) return object ? MaybeValue() : needs(call, "a list");
  Int next = start && start->toInt() ? *start->toInt() : 0;
  for (Value &item : *items)
    item = Value::tuple({Value::integer(next++), item});
  return Value::list(std::move(*items));
}

MaybeValue sorted(const NativeCall &call) {
  std::optional<Values> items = call.args.empty() ? std::nullopt : iterate(call.args[0], call.range, call.diagnostics);
  if (!items) return call.args.empty() ? needs(call, "a list") : MaybeValue();
  Value list = Value::list(std::move(*items));
  MaybeValue done = callMethod(list, "sort", NativeCall{"sort", {}, call.keywords, call.range, call.diagnostics});
  return done && !done->asHost() ? list : done;
}

MaybeValue mapOrFilter(const NativeCall &call) {
  std::optional<Values> items = call.args.size() != 2 ? std::nullopt : iterate(call.args[1], call.range, call.diagnostics);
  if (!items) return call.args.size() != 2 ? needs(call, "a function and one list") : MaybeValue();
  Values result;
  for (const Value &item : *items) {
    MaybeValue value = call.args[0].isNone() ? item : callValue(call.args[0], {item}, {}, call.range, call.diagnostics);
    if (!value || (value->asHost() && call.name == "filter")) return value;
    if (call.name == "map")
      result.push_back(std::move(*value));
    else if (value->truth())
      result.push_back(item);
  }
  return Value::list(std::move(result));
}

/// isinstance for one class; nothing if the class is host code.
std::optional<bool> isInstance(const Value &value, const Value &type) {
  std::string name;
  if (const Builtin *builtin = type.asBuiltin())
    name = "tl." + builtin->path.str();
  else if (std::shared_ptr<const Callable> callable = type.asCallable())
    name = callable->name();
  else if (type.isNone())
    return value.isNone();
  else
    return std::nullopt;
  if (value.asHost()) return std::nullopt;
  const Sequence *sequence = value.asSequence();
  if (name == "tl.constexpr") return true;
  if (name == "tl.tensor" || name == "tl.tensor_descriptor") return false;
  if (name == "tl.dtype") return value.asType() != nullptr;
  if (name == "tl.pointer_type" || name == "tl.block_type")
    return value.asType() && (name == "tl.pointer_type" ? value.asType()->isPointer() : value.asType()->isBlock());
  if (name == "int") return value.toInt().has_value();
  if (name == "bool") return value.asBool() != nullptr;
  if (name == "float") return value.asFloat() != nullptr;
  if (name == "str") return value.asString() != nullptr;
  if (name == "tuple" || name == "tl.tuple") return sequence && sequence->isTuple;
  if (name == "list") return sequence && !sequence->isTuple && !sequence->isSet;
  if (name == "set" || name == "frozenset") return sequence && sequence->isSet;
  if (name == "dict") return value.asDict() != nullptr;
  if (name == "Config") return dynamic_cast<ConfigObject *>(value.asNamespace().get()) != nullptr;
  return false;
}

MaybeValue isInstanceCall(const NativeCall &call) {
  if (call.args.size() != 2) return needs(call, "a value and a class");
  const Sequence *several = call.args[1].asSequence();
  bool known = true;
  for (const Value &type : several ? several->items : Values{call.args[1]}) {
    std::optional<bool> is = isInstance(call.args[0], type);
    if (is && *is) return Value::boolean(true);
    known = known && is;
  }
  return known ? Value::boolean(false) : Value::host("an isinstance() of host code");
}

// The multiple of 10**places nearest to a number, which is given by its whole part and the size of the rest; of two, the even one.
MaybeValue roundedToTens(const NativeCall &call, Int whole, double rest, Int places) {
  if (places > 37) return Value::integer(0);
  Int unit = 1;
  for (Int i = 0; i < places; ++i)
    unit *= 10;
  bool negative = whole < 0;
  Int size = negative ? -whole : whole, below = size / unit, over = size - below * unit;
  bool up = over > unit - over || (over == unit - over && (rest > 0 || below % 2 == 1));
  Int result = 0;
  if (__builtin_mul_overflow(below + (up ? 1 : 0), unit, &result))
    return fail(call.diagnostics, call.range, Diag::integerTooLarge, {"round"});
  return Value::integer(negative ? -result : result);
}

MaybeValue rounded(const NativeCall &call) {
  const Value *x = call.argument(0, "number"), *digits = call.argument(1, "ndigits");
  if (!x || !x->toDouble()) return needs(call, "a number");
  if (digits && !digits->isNone() && !digits->toInt()) return needs(call, "an int as its number of digits");
  bool tens = digits && digits->toInt() && *digits->toInt() < 0;
  if (x->toInt()) return tens ? roundedToTens(call, *x->toInt(), 0, -*digits->toInt()) : Value::integer(*x->toInt());
  if (!digits || digits->isNone()) return truncated(call, std::nearbyint(*x->asFloat()));
  if (tens) {
    double whole = std::trunc(*x->asFloat());
    if (!(std::fabs(whole) < 1e30)) return call.badValue("round() of " + x->repr() + " to tens is not supported");
    MaybeValue result = roundedToTens(call, static_cast<Int>(whole), std::fabs(*x->asFloat() - whole), -*digits->toInt());
    return result ? MaybeValue(Value::floating(std::copysign(*result->toDouble(), *x->asFloat()))) : std::nullopt;
  }
  int places = static_cast<int>(std::clamp<Int>(*digits->toInt(), 0, 300));
  char buffer[700];
  std::snprintf(buffer, sizeof buffer, "%.*f", places, *x->asFloat());
  return Value::floating(std::strtod(buffer, nullptr));
}

MaybeValue divideBoth(const NativeCall &call) {
  if (call.args.size() != 2) return needs(call, "two numbers");
  MaybeValue quotient = evaluateBinary(ast::BinaryOp::floordiv, call.args[0], call.args[1], call.range, call.diagnostics);
  MaybeValue rest = quotient ? evaluateBinary(ast::BinaryOp::mod, call.args[0], call.args[1], call.range, call.diagnostics) : std::nullopt;
  return rest ? MaybeValue(Value::tuple({*quotient, *rest})) : std::nullopt;
}

MaybeValue powerOf(const NativeCall &call) {
  if (call.args.size() < 2 || call.args.size() > 3) return needs(call, "two or three numbers");
  if (call.args.size() == 2) return evaluateBinary(ast::BinaryOp::pow, call.args[0], call.args[1], call.range, call.diagnostics);
  std::optional<Int> base = call.args[0].toInt(), exponent = call.args[1].toInt(), modulus = call.args[2].toInt();
  if (!base || !exponent || !modulus) return needs(call, "three ints, or two numbers");
  const Int limit = Int(1) << 62; // products of two residues fit
  if (*exponent < 0 || *modulus >= limit || *modulus <= -limit)
    return call.badValue("pow() of three ints takes an exponent that is not negative and a modulus of at most 62 bits");
  if (*modulus == 0) return fail(call.diagnostics, call.range, Diag::divisionByZero, {});
  auto reduced = [&](Int x) { return ((x % *modulus) + *modulus) % *modulus; }; // with the sign of the modulus
  Int result = reduced(1), power = reduced(*base);
  for (Int left = *exponent; left > 0; left >>= 1) {
    if (left & 1) result = reduced(result * power);
    power = reduced(power * power);
  }
  return Value::integer(result);
}

MaybeValue attributeOf(const NativeCall &call) {
  if (call.args.size() < 2 || !call.args[1].asString()) return needs(call, "a value and the name of an attribute");
  if (const HostValue *host = call.args[0].asHost()) return hostAttribute(*host, *call.args[1].asString());
  Diagnostics trial;
  MaybeValue member = evaluateAttribute(call.args[0], *call.args[1].asString(), call.range, trial);
  if (call.name == "hasattr") return Value::boolean(member.has_value());
  if (member || call.args.size() > 2) return member ? *member : call.args[2];
  return evaluateAttribute(call.args[0], *call.args[1].asString(), call.range, call.diagnostics);
}

MaybeValue textOf(const NativeCall &call) {
  const Value *x = call.argument(0, "");
  if (!x) return Value::string("");
  if (call.name == "str" || call.name == "repr") return Value::string(call.name == "str" ? strOf(*x) : x->repr());
  if (call.name == "chr" || call.name == "hex" || call.name == "bin") {
    if (!x->toInt()) return needs(call, "an int");
    if (call.name == "chr" && (*x->toInt() < 0 || *x->toInt() > 0x10ffff)) return call.badValue("chr() takes a number from 0 to 1114111");
    const char *spec = call.name == "chr" ? "c" : call.name == "hex" ? "#x" : "#b";
    std::optional<std::string> text = formatValue(*x, spec, call.range, call.diagnostics);
    return text ? MaybeValue(Value::string(*text)) : std::nullopt;
  }
  if (!x->asString() || characters(*x->asString()).size() != 1) return needs(call, "one character");
  llvm::StringRef text = *x->asString();
  Int code = static_cast<unsigned char>(text[0]);
  if (text.size() > 1) code &= 0xff >> (text.size() + 1); // the first byte of several has the highest bits
  for (char c : text.drop_front())
    code = code << 6 | (c & 0x3f);
  return Value::integer(code);
}

MaybeValue firstOf(const NativeCall &call) {
  std::optional<Values> items = call.args.empty() ? std::nullopt : iterate(call.args[0], call.range, call.diagnostics);
  if (!items) return std::nullopt;
  if (items->empty()) return call.args.size() > 1 ? MaybeValue(call.args[1]) : call.badValue("next() of an empty iterator");
  return items->front();
}

MaybeValue ceilingDivision(const NativeCall &call) {
  const Value *x = call.argument(0, "x"), *y = call.argument(1, "y");
  if (!x || !y) return needs(call, "two numbers");
  MaybeValue sum = evaluateBinary(ast::BinaryOp::add, *x, *y, call.range, call.diagnostics);
  sum = sum ? evaluateBinary(ast::BinaryOp::sub, *sum, Value::integer(1), call.range, call.diagnostics) : std::nullopt;
  return sum ? evaluateBinary(ast::BinaryOp::floordiv, *sum, *y, call.range, call.diagnostics) : std::nullopt;
}

MaybeValue nextPowerOf2(const NativeCall &call) {
  const Value *n = call.argument(0, "n");
  if (!n || !n->toInt()) return needs(call, "an int");
  Int wanted = *n->toInt(), power = wanted > 0 ? 1 : 0;
  while (power && power < wanted)
    if (__builtin_add_overflow(power, power, &power)) return fail(call.diagnostics, call.range, Diag::integerTooLarge, {"next_power_of_2"});
  return Value::integer(power);
}

using Body = MaybeValue (*)(const NativeCall &);
struct Row {
  llvm::StringLiteral name;
  Body body;
  bool seesHost;
};

constexpr Row rows[] = {
    {"len", length, false},
    {"min", extreme, false},
    {"max", extreme, false},
    {"abs", absolute, false},
    {"int", toInteger, false},
    {"float", toFloat, false},
    {"bool", [](const NativeCall &call) -> MaybeValue { return Value::boolean(!call.args.empty() && call.args[0].truth()); }, false},
    {"str", textOf, false},
    {"repr", textOf, false},
    {"chr", textOf, false},
    {"ord", textOf, false},
    {"hex", textOf, false},
    {"bin", textOf, false},
    {"tuple", collect, false},
    {"list", collect, false},
    {"set", collect, false},
    {"frozenset", collect, false},
    {"reversed", collect, false},
    {"dict", toDict, false},
    {"range", rangeOf, false},
    {"sum", sum, false},
    {"all", anyOrAll, false},
    {"any", anyOrAll, false},
    {"zip", zip, false},
    {"enumerate", enumerateItems, false},
    {"sorted", sorted, false},
    {"map", mapOrFilter, false},
    {"filter", mapOrFilter, false},
    {"next", firstOf, false},
    {"isinstance", isInstanceCall, true},
    {"round", rounded, false},
    {"divmod", divideBoth, false},
    {"pow", powerOf, false},
    {"getattr", attributeOf, true},
    {"hasattr", attributeOf, true},
    {"callable",
     [](const NativeCall &call) -> MaybeValue {
       return Value::boolean(!call.args.empty() && (call.args[0].asCallable() || call.args[0].asFunction()));
     },
     false},
    {"print", [](const NativeCall &) -> MaybeValue { return Value::none(); }, true},
    {"breakpoint", [](const NativeCall &) -> MaybeValue { return Value::none(); }, true}, // host code continues
    {"triton.cdiv", ceilingDivision, false},
    {"triton.next_power_of_2", nextPowerOf2, false},
};

} // namespace

Value nativeFunction(std::string name, NativeBody body) {
  return makeNative(std::move(name), std::move(body), false);
}

Value nativeFunctionOfHost(std::string name, NativeBody body) {
  return makeNative(std::move(name), std::move(body), true);
}

std::optional<Value> pythonFunction(llvm::StringRef name) {
  static const llvm::StringMap<Value> functions = [] {
    llvm::StringMap<Value> all;
    for (const Row &row : rows)
      all[row.name] =
          makeNative(row.name.rsplit('.').second.empty() ? row.name.str() : row.name.rsplit('.').second.str(), row.body, row.seesHost);
    return all;
  }();
  auto found = functions.find(name);
  return found == functions.end() ? std::nullopt : std::optional<Value>(found->second);
}

std::optional<Values> iterate(const Value &value, SourceRange range, Diagnostics &diagnostics) {
  Values items;
  auto charge = [](size_t count) { return spend(static_cast<int64_t>(count)) && spendBytes(static_cast<int64_t>(count * sizeof(Value))); };
  if (const Sequence *sequence = value.asSequence()) {
    if (charge(sequence->items.size())) items = sequence->items;
    return items;
  }
  if (const Dict *dict = value.asDict()) {
    if (!charge(dict->items.size())) return items;
    for (const auto &entry : dict->items)
      items.push_back(entry.first);
    return items;
  }
  if (const std::string *text = value.asString()) {
    if (!charge(text->size())) return items;
    for (llvm::StringRef character : characters(*text))
      items.push_back(Value::string(character.str()));
    return items;
  }
  fail(diagnostics, range, value.asHost() ? Diag::hostValueUsed : Diag::notIterable, {value.describe()});
  return std::nullopt;
}

/// The functions of the language that module-level code may call: those that make types and constants. All others run only in kernels.
static MaybeValue callBuiltin(const Builtin &builtin, const NativeCall &call) {
  const Value *first = call.argument(0, "value");
  if (builtin.path == "constexpr") return first ? MaybeValue(*first) : call.badCall("constexpr() needs a value");
  if (builtin.path == "tuple") return first ? collect(call) : Value::tuple({});
  if (builtin.path == "dtype" && first && first->asString()) {
    std::optional<Type> type = parseTypeName(*first->asString());
    return type ? MaybeValue(Value::type(*type)) : call.badValue(first->repr() + " is not the name of a type");
  }
  const Value *element = call.argument(0, "element_ty");
  if (builtin.path == "pointer_type" && element && element->asType()) {
    const Value *space = call.argument(1, "address_space"), *isConst = call.argument(2, "const");
    if (pointerDepth(*element->asType()) >= maxPointerDepth)
      return call.badValue("a type has at most " + std::to_string(maxPointerDepth) + " levels of pointers");
    return Value::type(Type::pointer(*element->asType(), isConst && isConst->truth(),
                                     space && space->toInt() ? static_cast<int64_t>(*space->toInt()) : 1));
  }
  const Value *shape = call.argument(1, "shape");
  if (builtin.path == "block_type" && element && element->asType() && shape && shape->asSequence()) {
    std::vector<int64_t> dims;
    for (const Value &dim : shape->asSequence()->items) {
      if (!dim.toInt()) return call.badValue("the shape of a block is made of ints, not of " + dim.describe());
      dims.push_back(static_cast<int64_t>(*dim.toInt()));
    }
    return Value::type(Type::block(*element->asType(), dims));
  }
  return Value::host("a call of " + Value::builtin(&builtin).describe() + " outside of a kernel");
}

/// torch.iinfo(torch.int32), torch.finfo(torch.float16): the limits of an element type, by its name.
static MaybeValue typeLimits(const HostValue &callee, const Values &args) {
  bool isInt = callee.description == "torch.iinfo", isFloating = callee.description == "torch.finfo";
  const HostValue *dtype = args.size() == 1 ? args[0].asHost() : nullptr;
  if ((!isInt && !isFloating) || !dtype || !llvm::StringRef(dtype->description).starts_with("torch.")) return std::nullopt;
  std::optional<Type> type = parseTypeName(llvm::StringRef(dtype->description).drop_front(6));
  if (!type || !type->isScalar() || (isInt ? !isInteger(type->scalar()) : !isFloat(type->scalar()))) return std::nullopt;
  Scalar scalar = type->scalar();
  auto limits = std::make_shared<TableNamespace>(callee.description + "(" + dtype->description + ")", true);
  limits->add("bits", Value::integer(bitWidth(scalar))).add("dtype", args[0]);
  if (isInt) {
    Int power = static_cast<Int>(1) << (bitWidth(scalar) - (isSigned(scalar) ? 1 : 0));
    limits->add("max", Value::integer(power - 1)).add("min", Value::integer(isSigned(scalar) ? -power : 0));
    return Value::nameSpace(limits);
  }
  if (isFp8(scalar)) return std::nullopt; // each of them has its own infinities and NaNs
  int mantissa = static_cast<int>(mantissaBits(scalar)), bias = static_cast<int>(exponentBias(scalar));
  double largest = std::ldexp(2 - std::ldexp(1.0, -mantissa), bias), smallest = std::ldexp(1.0, 1 - bias);
  limits->add("max", Value::floating(largest))
      .add("min", Value::floating(-largest))
      .add("eps", Value::floating(std::ldexp(1.0, -mantissa)));
  limits->add("tiny", Value::floating(smallest)).add("smallest_normal", Value::floating(smallest));
  return Value::nameSpace(limits);
}

MaybeValue callValue(const Value &callee, const Values &args, const Keywords &keywords, SourceRange range, Diagnostics &diagnostics) {
  if (std::shared_ptr<const Callable> callable = callee.asCallable()) return callable->call(args, keywords, range, diagnostics);
  if (const HostValue *host = callee.asHost()) {
    MaybeValue limits = typeLimits(*host, args);
    return limits ? *limits : hostCall(*host);
  }
  if (std::shared_ptr<Namespace> type = callee.asNamespace(); type && type->classInfo())
    return makeInstance(type, NativeCall{type->classInfo()->name, args, keywords, range, diagnostics});
  if (const Builtin *builtin = callee.asBuiltin()) {
    for (const Value &arg : args)
      if (arg.asHost()) return arg;
    return callBuiltin(*builtin, NativeCall{builtin->path, args, keywords, range, diagnostics});
  }
  if (std::shared_ptr<const JitFunction> function = callee.asFunction()) {
    bool ints = args.size() == 2 && args[0].toInt() && args[1].toInt();
    if (ints && function->name == "cdiv" && keywords.empty()) // tl.cdiv is a kernel's function, but launch code calls it too
      return ceilingDivision(NativeCall{"cdiv", args, keywords, range, diagnostics});
    return Value::host("a call of " + callee.describe() + " outside of a kernel");
  }
  return fail(diagnostics, range, Diag::notCallable, {callee.describe()});
}

namespace {

/// Copies lists and dicts, each one once: shared objects are shared in the copy, too.
struct Copier {
  llvm::DenseMap<const void *, Value> copies;

  Value copy(const Value &value) {
    const Sequence *sequence = value.asSequence();
    const Dict *dict = value.asDict();
    if ((!sequence && !dict) || (sequence && sequence->isTuple) || !mayRecurse()) return value;
    const void *original = sequence ? static_cast<const void *>(sequence) : dict;
    if (auto known = copies.find(original); known != copies.end()) return known->second;
    Value result = dict ? Value::dict({}) : sequence->isSet ? Value::set({}) : Value::list({});
    copies[original] = result; // before its items, which may contain it
    for (size_t i = 0; sequence && i < sequence->items.size() && (i % 16 || spend(1)); ++i) {
      Value item = copy(sequence->items[i]);
      auto &into = const_cast<Sequence &>(*result.asSequence());
      sequence->isSet ? addItem(into, std::move(item)) : into.items.push_back(std::move(item));
    }
    for (size_t i = 0; dict && i < dict->items.size() && spend(1); ++i)
      put(const_cast<Dict &>(*result.asDict()), dict->items[i].first, copy(dict->items[i].second));
    return result;
  }
};

} // namespace

Value copyValue(const Value &value) {
  return Copier().copy(value);
}

bool isAscii(llvm::StringRef text) {
  return llvm::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::vector<llvm::StringRef> characters(llvm::StringRef text) {
  std::vector<llvm::StringRef> all;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
      ++end;
    all.push_back(text.slice(at, end));
    at = end;
  }
  return all;
}

} // namespace tilewright
