// Methods of Python's own values, as far as code that builds configurations uses them.
#include "evaluate/evaluate.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright {

namespace {

using Names = llvm::ArrayRef<llvm::StringLiteral>;

constexpr llvm::StringLiteral stringMethods[] = {
    "format", "join",  "split",   "upper", "lower",      "startswith", "endswith",     "replace",      "strip",  "lstrip", "rstrip",
    "find",   "count", "isdigit", "title", "capitalize", "splitlines", "removeprefix", "removesuffix", "encode", "zfill"};
constexpr llvm::StringLiteral listMethods[] = {"append", "extend", "insert",  "pop",  "remove", "index",
                                               "count",  "sort",   "reverse", "copy", "clear"};
constexpr llvm::StringLiteral tupleMethods[] = {"index", "count", "_replace", "_asdict"};
constexpr llvm::StringLiteral setMethods[] = {"add",          "update",     "discard",  "remove",     "union",
                                              "intersection", "difference", "issubset", "issuperset", "copy"};
constexpr llvm::StringLiteral dictMethods[] = {"get", "items", "keys", "values", "update", "pop", "setdefault", "copy", "clear"};
constexpr llvm::StringLiteral intMethods[] = {"bit_length", "bit_count", "is_integer"};
constexpr llvm::StringLiteral floatMethods[] = {"is_integer"};

Names methodsOf(const Value &object) {
  if (object.asString()) return stringMethods;
  if (const Sequence *sequence = object.asSequence())
    return sequence->isSet ? Names(setMethods) : sequence->isTuple ? Names(tupleMethods) : Names(listMethods);
  if (object.asDict()) return dictMethods;
  if (object.toInt()) return intMethods;
  if (object.asFloat()) return floatMethods;
  return {};
}

MaybeValue needs(const NativeCall &call, const std::string &what) {
  return call.badCall(call.name.str() + "() needs " + what);
}

MaybeValue formatFields(const std::string &text, const NativeCall &call) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    if (c != '{') {
      out += c;
      continue;
    }
    size_t end = text.find('}', i);
    if (end == std::string::npos) return call.badValue("'{' in this text has no '}'");
    auto [field, spec] = llvm::StringRef(text).substr(i + 1, end - i - 1).split(':');
    auto [name, conversion] = field.split('!');
    size_t index = 0;
    bool numbered = !name.empty() && !name.getAsInteger(10, index);
    const Value *value = name.empty() || numbered ? call.argument(name.empty() ? next++ : index, "") : call.keyword(name);
    if (!value) return call.badValue("there is no value for '{" + field.str() + "}'");
    std::optional<std::string> piece =
        formatValue(conversion == "r" ? Value::string(value->repr()) : *value, spec, call.range, call.diagnostics);
    if (!piece || !spendBytes(static_cast<int64_t>(piece->size()))) return std::nullopt;
    out += *piece;
    i = end;
  }
  return Value::string(std::move(out));
}

MaybeValue split(llvm::StringRef text, const NativeCall &call) {
  const Value *separator = call.argument(0, "sep");
  const Value *maxSplit = call.argument(1, "maxsplit");
  int64_t limit = maxSplit && maxSplit->toInt() ? static_cast<int64_t>(std::clamp<Int>(*maxSplit->toInt(), -1, INT32_MAX)) : -1;
  if (separator && separator->asString() && separator->asString()->empty())
    return call.badValue("split() needs a separator that is not empty");
  if (limit >= 0 && !(separator && separator->asString())) return call.badValue("split() with a count needs a separator");
  llvm::SmallVector<llvm::StringRef> words;
  if (separator && separator->asString() && !separator->asString()->empty())
    text.split(words, *separator->asString(), static_cast<int>(limit), true);
  else
    llvm::SplitString(text, words);
  Values items;
  for (llvm::StringRef word : words)
    items.push_back(Value::string(word.str()));
  return Value::list(std::move(items));
}

/// The end of the last line starts no other line.
static MaybeValue lines(llvm::StringRef text) {
  Values all;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    all.push_back(Value::string(line.str()));
    text = rest;
  }
  return Value::list(std::move(all));
}

/// title and capitalize.
static MaybeValue withCapitals(llvm::StringRef text, bool ofEachWord) {
  std::string result = text.lower();
  bool start = true;
  for (char &c : result) {
    c = start ? llvm::toUpper(c) : c;
    start = ofEachWord && !llvm::isAlpha(c);
  }
  return Value::string(std::move(result));
}

static MaybeValue join(const std::string &between, const Value &strings, const NativeCall &call) {
  std::optional<Values> items = iterate(strings, call.range, call.diagnostics);
  if (!items) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < items->size(); ++i) {
    if (!(*items)[i].asString()) return call.badValue("join() takes strings; item " + std::to_string(i) + " is " + (*items)[i].describe());
    if (!spendBytes(static_cast<int64_t>(between.size() + (*items)[i].asString()->size()))) return std::nullopt;
    out += (i ? between : "") + *(*items)[i].asString();
  }
  return Value::string(std::move(out));
}

static MaybeValue replace(const std::string &text, const std::string &word, const NativeCall &call) {
  const Value *second = call.argument(1, ""), *limit = call.argument(2, "count");
  if (!second || !second->asString() || word.empty()) return needs(call, "the text to replace and its replacement");
  Int left = limit && limit->toInt() ? *limit->toInt() : -1; // negative: no limit
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    size_t found = left-- == 0 ? std::string::npos : text.find(word, at);
    out += text.substr(at, found == std::string::npos ? found : found - at);
    if (found == std::string::npos || !spendBytes(static_cast<int64_t>(second->asString()->size()))) break;
    out += *second->asString();
    at = found + word.size();
  }
  return Value::string(std::move(out));
}

MaybeValue filledWithZeros(const std::string &text, const NativeCall &call) {
  constexpr Int maxWidth = 10000;
  const Value *given = call.argument(0, "");
  std::optional<Int> width = given ? given->toInt() : std::nullopt;
  if (!width) return needs(call, "a width");
  if (*width > maxWidth) return call.badValue("zfill() to more than 10000 characters is not supported at compile time");
  size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  std::string zeros(static_cast<size_t>(std::max<Int>(*width - static_cast<Int>(text.size()), 0)), '0');
  return Value::string(text.substr(0, sign) + zeros + text.substr(sign));
}

MaybeValue callString(const std::string &text, const NativeCall &call) {
  llvm::StringRef name = call.name, whole = text;
  const Value *first = call.argument(0, "");
  const std::string *word = first ? first->asString() : nullptr;
  if (name == "format") return formatFields(text, call);
  constexpr llvm::StringLiteral anyText[] = {"join",     "replace",      "split",        "splitlines", "startswith",
                                             "endswith", "removeprefix", "removesuffix", "encode"};
  if (!isAscii(text) && !llvm::is_contained(anyText, name)) // the bytes of such text are not its characters
    return call.badValue(name.str() + "() of text that is not ASCII is not supported at compile time");
  if (!spend(static_cast<int64_t>(text.size() / 16))) return std::nullopt;
  if (name == "upper") return Value::string(whole.upper());
  if (name == "lower") return Value::string(whole.lower());
  if (name == "split") return split(whole, call);
  if (name == "splitlines") return lines(whole);
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    llvm::StringRef blanks = word ? llvm::StringRef(*word) : " \t\n\v\f\r";
    return Value::string((name == "strip" ? whole.trim(blanks) : name == "lstrip" ? whole.ltrim(blanks) : whole.rtrim(blanks)).str());
  }
  if (name == "isdigit") return Value::boolean(!text.empty() && llvm::all_of(text, [](char c) { return llvm::isDigit(c); }));
  if (name == "title" || name == "capitalize") return withCapitals(whole, name == "title");
  if (name == "encode") return Value::host("a bytes object");
  if (name == "zfill") return filledWithZeros(text, call);
  if (name == "join") return first ? join(text, *first, call) : needs(call, "the strings to join");
  size_t start = 0;
  if (call.args.size() > 1 && (name == "startswith" || name == "endswith" || name == "find" || name == "count")) {
    if (!isAscii(text)) return call.badValue(name.str() + "() with positions in text that is not ASCII is not supported at compile time");
    auto length = static_cast<Int>(text.size());
    auto position = [&](size_t i, Int otherwise) {
      Int at = i < call.args.size() && call.args[i].toInt() ? *call.args[i].toInt() : otherwise;
      return static_cast<size_t>(std::clamp<Int>(at < 0 ? at + length : at, 0, length));
    };
    start = position(1, 0);
    whole = whole.slice(start, std::max(start, position(2, length)));
  }
  if (const Sequence *options = first ? first->asSequence() : nullptr; options && (name == "startswith" || name == "endswith")) {
    for (const Value &option : options->items)
      if (const std::string *part = option.asString())
        if (name == "startswith" ? whole.starts_with(*part) : whole.ends_with(*part)) return Value::boolean(true);
    return Value::boolean(false);
  }
  if (!word) return needs(call, "a string");
  if (name == "startswith") return Value::boolean(whole.starts_with(*word));
  if (name == "endswith") return Value::boolean(whole.ends_with(*word));
  if (name == "removeprefix" || name == "removesuffix") {
    name == "removeprefix" ? whole.consume_front(*word) : whole.consume_back(*word);
    return Value::string(whole.str());
  }
  if (name == "find") {
    size_t found = whole.find(*word);
    return Value::integer(found == llvm::StringRef::npos ? -1 : static_cast<int64_t>(start + found));
  }
  if (name == "count")
    return Value::integer(word->empty() ? static_cast<int64_t>(whole.size()) + 1 : static_cast<int64_t>(whole.count(*word)));
  return replace(text, *word, call);
}

/// Returns the stable sorted order of `count` items. A bottom-up merge sort terminates and stays within bounds even if `before` is not a
/// strict weak order, as for NaN.
std::vector<size_t> sortedPlaces(size_t count, llvm::function_ref<bool(size_t, size_t)> before) {
  std::vector<size_t> from(count), into(count);
  std::iota(from.begin(), from.end(), 0);
  for (size_t run = 1; run < count; run *= 2, from.swap(into))
    for (size_t begin = 0; begin < count; begin += 2 * run) {
      auto first = from.begin() + begin, middle = from.begin() + std::min(begin + run, count),
           end = from.begin() + std::min(begin + 2 * run, count);
      std::merge(first, middle, middle, end, into.begin() + begin, before);
    }
  return from;
}

// The list is empty while it is sorted, as in CPython: a key function may change it, which is an error afterwards.
MaybeValue sortInPlace(Values &list, const NativeCall &call) {
  const Value *key = call.keyword("key"), *reverse = call.keyword("reverse");
  Values items = std::move(list);
  list.clear();
  Values keys;
  for (const Value &item : items) {
    MaybeValue by = key && !key->isNone() ? callValue(*key, {item}, {}, call.range, call.diagnostics) : item;
    if (!by || by->asHost()) {
      list = std::move(items);
      return by;
    }
    keys.push_back(*by);
  }
  if (!list.empty()) return call.badValue("the list is changed while it is sorted");
  // A key that cannot be compared is reported once; the sort then ends early.
  bool failed = false, descending = reverse && reverse->truth();
  auto before = [&](size_t a, size_t b) {
    if (failed) return false;
    MaybeValue less = evaluateCompare(ast::CompareOp::lt, keys[descending ? b : a], keys[descending ? a : b], call.range, call.diagnostics);
    failed = !less;
    return less && less->truth();
  };
  std::vector<size_t> places = sortedPlaces(keys.size(), before);
  if (failed) return std::nullopt;
  for (size_t place : places)
    list.push_back(std::move(items[place]));
  return Value::none();
}

MaybeValue indexOf(const Values &items, const NativeCall &call) {
  const Value *item = call.argument(0, "");
  if (!item) return needs(call, "a value");
  auto found = std::find(items.begin(), items.end(), *item);
  if (call.name == "count") return Value::integer(std::count(items.begin(), items.end(), *item));
  if (found == items.end()) return call.badValue(item->repr() + " is not in the list");
  return Value::integer(found - items.begin());
}

MaybeValue callTuple(const Sequence &tuple, const NativeCall &call) {
  if (call.name == "index" || call.name == "count") return indexOf(tuple.items, call);
  std::vector<std::pair<Value, Value>> items;
  Values replaced = tuple.items;
  for (size_t i = 0; i < tuple.fieldNames.size(); ++i) {
    items.emplace_back(Value::string(tuple.fieldNames[i]), tuple.items[i]);
    if (const Value *value = call.keyword(tuple.fieldNames[i])) replaced[i] = *value;
  }
  if (call.name == "_asdict") return Value::dict(std::move(items));
  return tuple.type ? Value::instance(tuple.type, std::move(replaced)) : Value::namedTuple(tuple.fieldNames, std::move(replaced));
}

MaybeValue popItem(Values &items, const NativeCall &call) {
  const Value *position = call.argument(0, "");
  Int length = static_cast<Int>(items.size()), at = position && position->toInt() ? *position->toInt() : -1;
  at = at < 0 ? at + length : at;
  if (at < 0 || at >= length)
    return fail(call.diagnostics, call.range, Diag::indexOutOfRange, {position ? position->repr() : "-1", "a list", intToString(length)});
  Value item = items[static_cast<size_t>(at)];
  spend((length - at) / 8);
  items.erase(items.begin() + static_cast<int64_t>(at));
  return item;
}

MaybeValue callList(const Value &object, const NativeCall &call) {
  // The object of a list is not const; Value only returns it as const.
  Values &items = const_cast<Sequence *>(object.asSequence())->items;
  llvm::StringRef name = call.name;
  const Value *first = call.argument(0, "");
  if (name == "index" || name == "count") return indexOf(items, call);
  if (name == "sort") return sortInPlace(items, call);
  if (name == "pop") return popItem(items, call);
  if (name == "copy") return Value::list(items);
  if (name == "reverse" || name == "clear") {
    name == "reverse" ? std::reverse(items.begin(), items.end()) : items.clear();
    return Value::none();
  }
  if (!first) return needs(call, "a value");
  if (name == "append") {
    if (first->asSequence() == object.asSequence()) return call.badValue("a list cannot be its own item");
    spendBytes(sizeof(Value));
    items.push_back(*first);
    return Value::none();
  }
  if (name == "extend") {
    if (first->asHost()) return *first;
    std::optional<Values> more = iterate(*first, call.range, call.diagnostics);
    if (!more) return std::nullopt;
    spendBytes(static_cast<int64_t>(more->size() * sizeof(Value)));
    items.insert(items.end(), more->begin(), more->end());
    return Value::none();
  }
  if (name == "remove") {
    auto found = std::find(items.begin(), items.end(), *first);
    if (found == items.end()) return call.badValue(first->repr() + " is not in the list");
    items.erase(found);
    return Value::none();
  }
  const Value *item = call.argument(1, "");
  if (!first->toInt() || !item) return needs(call, "a position and a value");
  spend(static_cast<int64_t>(items.size() / 8));
  spendBytes(sizeof(Value));
  Int length = static_cast<Int>(items.size()), at = *first->toInt();
  items.insert(items.begin() + static_cast<int64_t>(std::clamp<Int>(at < 0 ? at + length : at, 0, length)), *item);
  return Value::none();
}

MaybeValue callSet(const Value &object, const NativeCall &call) {
  auto &set = *const_cast<Sequence *>(object.asSequence());
  const Values &items = set.items;
  const Value *first = call.argument(0, "");
  llvm::StringRef name = call.name;
  if (name == "copy") return Value::set(items);
  if (!first) return needs(call, "a value");
  if (name == "add") {
    addItem(set, *first);
    return Value::none();
  }
  if (name == "discard" || name == "remove") {
    if (std::optional<size_t> found = findItem(set, *first))
      eraseItem(set, *found);
    else if (name == "remove")
      return call.badValue(first->repr() + " is not in the set");
    return Value::none();
  }
  std::optional<Values> others = iterate(*first, call.range, call.diagnostics);
  if (!others) return std::nullopt;
  Value other = Value::set(std::move(*others));
  if (name == "update") {
    for (const Value &item : other.asSequence()->items)
      addItem(set, item);
    return Value::none();
  }
  if (name == "issubset" || name == "issuperset") {
    const Sequence &part = name == "issubset" ? set : *other.asSequence(), &whole = name == "issubset" ? *other.asSequence() : set;
    return Value::boolean(llvm::all_of(part.items, [&](const Value &item) { return findItem(whole, item).has_value(); }));
  }
  ast::BinaryOp op = name == "union" ? ast::BinaryOp::bitor_ : name == "intersection" ? ast::BinaryOp::bitand_ : ast::BinaryOp::sub;
  return evaluateBinary(op, object, other, call.range, call.diagnostics);
}

MaybeValue updateDict(Dict &dict, const NativeCall &call) {
  if (const Value *other = call.argument(0, "")) {
    if (const Dict *entries = other->asDict()) {
      std::vector<std::pair<Value, Value>> copy = entries->items;
      for (const auto &[key, value] : copy)
        put(dict, key, value);
    } else {
      std::optional<Values> pairs = iterate(*other, call.range, call.diagnostics);
      if (!pairs) return std::nullopt;
      for (const Value &pair : *pairs) {
        const Sequence *two = pair.asSequence();
        if (!two || two->items.size() != 2) return call.badValue("a dict is made of pairs, not of " + pair.describe());
        put(dict, two->items[0], two->items[1]);
      }
    }
  }
  for (const auto &[key, value] : call.keywords)
    put(dict, Value::string(key), value);
  return Value::none();
}

MaybeValue callDict(const Value &object, const NativeCall &call) {
  auto &dict = *const_cast<Dict *>(object.asDict());
  llvm::StringRef name = call.name;
  if (name == "copy") return Value::dict(dict.items);
  if (name == "update") return updateDict(dict, call);
  if (name == "clear") {
    dict = Dict();
    return Value::none();
  }
  if (name == "items" || name == "keys" || name == "values") {
    Values items;
    for (const auto &[key, value] : dict.items)
      items.push_back(name == "items" ? Value::tuple({key, value}) : name == "keys" ? key : value);
    return Value::list(std::move(items));
  }
  const Value *key = call.argument(0, "");
  const Value *otherwise = call.argument(1, "default");
  if (!key) return needs(call, "a key");
  if (std::optional<size_t> at = findKey(dict, *key)) {
    Value value = dict.items[*at].second;
    if (name == "pop") eraseKey(dict, *at);
    return value;
  }
  if (name == "setdefault") put(dict, *key, otherwise ? *otherwise : Value::none());
  if (name == "pop" && !otherwise) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < std::min<size_t>(dict.items.size(), 13); ++i)
      keys.push_back(dict.items[i].first.repr());
    return fail(call.diagnostics, call.range, Diag::missingKey, {key->repr(), joinNames(keys, 12)});
  }
  return otherwise ? *otherwise : Value::none();
}

MaybeValue callNumber(const Value &object, const NativeCall &call) {
  if (call.name == "is_integer") return Value::boolean(object.toInt() || *object.asFloat() == std::floor(*object.asFloat()));
  Int value = *object.toInt();
  unsigned __int128 magnitude = value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  int64_t length = 0, ones = 0;
  for (; magnitude; magnitude >>= 1, ++length)
    ones += static_cast<int64_t>(magnitude & 1);
  return Value::integer(call.name == "bit_length" ? length : ones);
}

} // namespace

bool hasMethod(const Value &object, llvm::StringRef name) {
  if (name.starts_with("_"))
    if (const Sequence *sequence = object.asSequence(); !sequence || sequence->fieldNames.empty()) return false;
  return llvm::is_contained(methodsOf(object), name);
}

std::vector<std::string> methodNames(const Value &object) {
  std::vector<std::string> names;
  for (llvm::StringRef name : methodsOf(object))
    names.push_back(name.str());
  return names;
}

MaybeValue callMethod(const Value &object, llvm::StringRef, const NativeCall &call) {
  if (const std::string *text = object.asString()) return callString(*text, call);
  if (const Sequence *sequence = object.asSequence())
    return sequence->isSet ? callSet(object, call) : sequence->isTuple ? callTuple(*sequence, call) : callList(object, call);
  if (object.asDict()) return callDict(object, call);
  return callNumber(object, call);
}

} // namespace tilewright
