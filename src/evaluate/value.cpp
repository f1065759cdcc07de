// Compile-time values with Python's notion of equality, truth and repr. Text made here enters messages and cache keys, so it is exact:
// two numbers, strings, types or containers of them with one repr are one value.
#include "evaluate/value.h"

#include "evaluate/budget.h"
#include "evaluate/builtins.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tilewright {

namespace {

// Lists may contain one another through append; no real value's text is nested more deeply than this.
constexpr int64_t deepest = 64;

std::string reprString(const std::string &text) {
  char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == quote)
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (byte < 0x20 || byte == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      ((out += "\\x") += digits[byte >> 4]) += digits[byte & 15];
    } else
      out += c;
  }
  return out += quote;
}

bool equal(const Value &a, const Value &b);
std::string repr(const Value &value, int64_t depth);

bool equalSequences(const Sequence &a, const Sequence &b) {
  if (a.isTuple != b.isTuple || a.isSet != b.isSet || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (a.isSet ? !findItem(b, a.items[i]) : !equal(a.items[i], b.items[i])) return false;
  return true;
}

bool equalDicts(const Dict &a, const Dict &b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto &[key, value] : a.items) {
    std::optional<size_t> at = findKey(b, key);
    if (!at || !equal(value, b.items[*at].second)) return false;
  }
  return true;
}

bool equal(const Value &a, const Value &b) {
  if (!spend(1) || !mayRecurse()) return false;
  if (std::optional<Int> x = a.toInt())
    if (std::optional<Int> y = b.toInt()) return *x == *y;
  if (std::optional<double> x = a.toDouble()) {
    std::optional<double> y = b.toDouble();
    return y && *x == *y;
  }
  if (const std::string *x = a.asString()) {
    const std::string *y = b.asString();
    return y && *x == *y;
  }
  if (const Sequence *x = a.asSequence()) {
    const Sequence *y = b.asSequence();
    return y && (x == y || equalSequences(*x, *y));
  }
  if (const Dict *x = a.asDict()) {
    const Dict *y = b.asDict();
    return y && (x == y || equalDicts(*x, *y));
  }
  if (const Type *x = a.asType()) {
    const Type *y = b.asType();
    return y && *x == *y;
  }
  if (std::shared_ptr<const JitFunction> x = a.asFunction()) {
    std::shared_ptr<const JitFunction> y = b.asFunction();
    return y && (x == y || (x->decl && x->decl == y->decl && x->globals == y->globals));
  }
  if (a.asBuiltin()) return a.asBuiltin() == b.asBuiltin();
  if (std::shared_ptr<Namespace> x = a.asNamespace()) return x == b.asNamespace();
  if (std::shared_ptr<const Callable> x = a.asCallable()) return x == b.asCallable();
  if (a.asHost()) return a.asHost() == b.asHost();
  return (a.isNone() && b.isNone()) || (a.isEllipsis() && b.isEllipsis());
}

std::string reprItems(const std::vector<Value> &items, int64_t depth) {
  std::string text;
  for (const Value &item : items) {
    std::string piece = repr(item, depth + 1);
    if (!spendBytes(static_cast<int64_t>(piece.size()))) break;
    text += (text.empty() ? "" : ", ") + piece;
  }
  return text;
}

std::string reprSequence(const Sequence &sequence, int64_t depth) {
  if (sequence.isSet) return sequence.items.empty() ? "set()" : "{" + reprItems(sequence.items, depth) + "}";
  if (!sequence.isTuple) return "[" + reprItems(sequence.items, depth) + "]";
  if (sequence.fieldNames.empty()) return "(" + reprItems(sequence.items, depth) + (sequence.items.size() == 1 ? ",)" : ")");
  std::string text;
  for (size_t i = 0; i < sequence.items.size(); ++i)
    text += (i ? ", " : "") + sequence.fieldNames[i] + "=" + repr(sequence.items[i], depth + 1);
  return "(" + text + ")";
}

std::string repr(const Value &value, int64_t depth) {
  if (!spend(1)) return {};
  if (depth > deepest) {
    spendStack();
    return "...";
  }
  if (value.isNone()) return "None";
  if (value.isEllipsis()) return "Ellipsis";
  if (const bool *v = value.asBool()) return *v ? "True" : "False";
  if (const Int *v = value.asInt()) return intToString(*v);
  if (const double *v = value.asFloat()) return floatToString(*v);
  if (const std::string *v = value.asString()) return reprString(*v);
  if (const Sequence *v = value.asSequence()) return reprSequence(*v, depth);
  if (const Dict *v = value.asDict()) {
    std::string text;
    for (const auto &[key, item] : v->items) {
      std::string piece = repr(key, depth + 1) + ": " + repr(item, depth + 1);
      if (!spendBytes(static_cast<int64_t>(piece.size()))) break;
      text += (text.empty() ? "" : ", ") + piece;
    }
    return "{" + text + "}";
  }
  if (const Type *v = value.asType()) return signatureName(*v);
  if (std::shared_ptr<const JitFunction> v = value.asFunction()) return "<jit function " + v->name + ">";
  if (const Builtin *v = value.asBuiltin()) return "<builtin " + v->path.str() + ">";
  if (std::shared_ptr<Namespace> v = value.asNamespace()) return "<" + v->path() + ">";
  if (std::shared_ptr<const Callable> v = value.asCallable()) return "<function " + v->name() + ">";
  if (const HostValue *v = value.asHost()) return "<host " + v->description + ">";
  return {};
}

} // namespace

std::string intToString(Int value) {
  if (value == 0) return "0";
  unsigned __int128 magnitude = value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string digits;
  for (; magnitude; magnitude /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
  return value < 0 ? "-" + digits : digits;
}

std::string floatToString(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  std::to_chars_result result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string text(buffer, result.ptr);
  size_t e = text.find('e');
  int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 16) return text; // "1.5e-07", "1e+16": Python's own form
  result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  text.assign(buffer, result.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

// ---- life

namespace {

/// Destroying a list destroys its items, and theirs: deep items wait here until those before them are destroyed.
struct Deferred {
  int64_t depth = 0;
  std::vector<Value::Storage> waiting;
};
thread_local Deferred deferred;

// By get_if: without much optimization, libstdc++'s holds_alternative looks for the type in its list each time, a third of a tuned launch.
bool ownsOthers(const Value::Storage &data) {
  return std::get_if<std::shared_ptr<const Sequence>>(&data) || std::get_if<std::shared_ptr<const Dict>>(&data) ||
         std::get_if<std::shared_ptr<const Callable>>(&data);
}

void release(Value::Storage &data) {
  constexpr int64_t maxDepth = 32; // levels that are destroyed by recursion
  if (deferred.depth >= maxDepth) {
    deferred.waiting.push_back(std::move(data));
    return;
  }
  ++deferred.depth;
  data = NoneType{};
  --deferred.depth;
  if (deferred.depth > 0) return;
  while (!deferred.waiting.empty()) {
    ++deferred.depth;
    {
      Value::Storage next = std::move(deferred.waiting.back());
      deferred.waiting.pop_back();
    }
    --deferred.depth;
  }
}

} // namespace

Value::~Value() {
  if (ownsOthers(data)) release(data);
}

Value &Value::operator=(const Value &other) {
  Value copy(other);
  std::swap(data, copy.data);
  return *this;
}

Value &Value::operator=(Value &&other) {
  std::swap(data, other.data);
  return *this;
}

Value Value::boolean(bool v) {
  Value value;
  value.data = v;
  return value;
}

Value Value::integer(Int v) {
  Value value;
  value.data = v;
  return value;
}

Value Value::floating(double v) {
  Value value;
  value.data = v;
  return value;
}

Value Value::string(std::string v) {
  spendBytes(static_cast<int64_t>(sizeof(std::string) + v.size()));
  Value value;
  value.data = std::shared_ptr<const std::string>(std::make_shared<std::string>(std::move(v)));
  return value;
}

// Sequences and dicts are created as non-const objects: functions that run at compile time append to their lists.
static void makeSequence(Sequence sequence, Value::Storage &data) {
  spendBytes(static_cast<int64_t>(sizeof(Sequence) + sequence.items.size() * sizeof(Value)));
  data = std::shared_ptr<const Sequence>(std::make_shared<Sequence>(std::move(sequence)));
}

Value Value::tuple(std::vector<Value> items) {
  Value value;
  makeSequence(Sequence{true, std::move(items), {}, false, {}, nullptr}, value.data);
  return value;
}

Value Value::instance(std::shared_ptr<Namespace> type, std::vector<Value> items) {
  std::vector<std::string> names = type->classInfo()->fieldNames();
  Value value;
  makeSequence(Sequence{true, std::move(items), std::move(names), false, {}, std::move(type)}, value.data);
  return value;
}

Value Value::namedTuple(std::vector<std::string> fieldNames, std::vector<Value> items) {
  Value value;
  makeSequence(Sequence{true, std::move(items), std::move(fieldNames), false, {}, nullptr}, value.data);
  return value;
}

Value Value::list(std::vector<Value> items) {
  Value value;
  makeSequence(Sequence{false, std::move(items), {}, false, {}, nullptr}, value.data);
  return value;
}

Value Value::set(std::vector<Value> items) {
  Sequence set{false, {}, {}, true, {}, nullptr};
  for (Value &item : items)
    addItem(set, std::move(item));
  Value value;
  makeSequence(std::move(set), value.data);
  return value;
}

Value Value::dict(std::vector<std::pair<Value, Value>> items) {
  Dict dict;
  dict.items.reserve(items.size());
  dict.places.reserve(items.size());
  for (auto &[key, item] : items)
    put(dict, std::move(key), std::move(item));
  Value value;
  value.data = std::shared_ptr<const Dict>(std::make_shared<Dict>(std::move(dict)));
  return value;
}

Value Value::type(Type t) {
  Value value;
  value.data = std::move(t);
  return value;
}

Value Value::function(std::shared_ptr<const JitFunction> f) {
  Value value;
  value.data = std::move(f);
  return value;
}

Value Value::builtin(const Builtin *b) {
  Value value;
  value.data = b;
  return value;
}

Value Value::nameSpace(std::shared_ptr<Namespace> n) {
  Value value;
  value.data = std::move(n);
  return value;
}

Value Value::callable(std::shared_ptr<const Callable> c) {
  Value value;
  value.data = std::move(c);
  return value;
}

Value Value::host(std::string description, std::shared_ptr<const llvm::StringMap<Value>> members) {
  Value value;
  value.data = std::shared_ptr<const HostValue>(std::make_shared<HostValue>(HostValue{std::move(description), std::move(members)}));
  return value;
}

Value Value::ellipsis() {
  Value value;
  value.data = EllipsisType{};
  return value;
}

template <typename T> static const T *pointee(const Value::Storage &data) {
  const auto *held = std::get_if<std::shared_ptr<const T>>(&data);
  return held ? held->get() : nullptr;
}

template <typename T> static T copyOrNull(const Value::Storage &data) {
  const T *held = std::get_if<T>(&data);
  return held ? *held : T{};
}

const std::string *Value::asString() const {
  return pointee<std::string>(data);
}
const Sequence *Value::asSequence() const {
  return pointee<Sequence>(data);
}
const Dict *Value::asDict() const {
  return pointee<Dict>(data);
}
const HostValue *Value::asHost() const {
  return pointee<HostValue>(data);
}
std::shared_ptr<const JitFunction> Value::asFunction() const {
  return copyOrNull<std::shared_ptr<const JitFunction>>(data);
}
const Builtin *Value::asBuiltin() const {
  return copyOrNull<const Builtin *>(data);
}
std::shared_ptr<Namespace> Value::asNamespace() const {
  return copyOrNull<std::shared_ptr<Namespace>>(data);
}
std::shared_ptr<const Callable> Value::asCallable() const {
  return copyOrNull<std::shared_ptr<const Callable>>(data);
}

std::optional<Int> Value::toInt() const {
  if (const bool *v = asBool()) return *v ? 1 : 0;
  if (const Int *v = asInt()) return *v;
  return std::nullopt;
}

std::optional<double> Value::toDouble() const {
  if (const double *v = asFloat()) return *v;
  if (std::optional<Int> v = toInt()) return static_cast<double>(*v);
  return std::nullopt;
}

bool Value::truth() const {
  if (isNone()) return false;
  if (std::optional<double> v = toDouble()) return *v != 0;
  if (const std::string *v = asString()) return !v->empty();
  if (const Sequence *v = asSequence()) return !v->items.empty();
  if (const Dict *v = asDict()) return !v->items.empty();
  return true;
}

bool Value::operator==(const Value &other) const {
  return equal(*this, other);
}

uint64_t Value::hash() const {
  if (!spend(1) || !mayRecurse()) return 0;
  auto mix = [](uint64_t seed, uint64_t next) { return (seed ^ next) * 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2); };
  if (std::optional<double> number = toDouble()) return std::hash<double>()(*number); // 1 == 1.0 == True
  if (const std::string *text = asString()) return std::hash<std::string>()(*text);
  uint64_t result = data.index();
  if (const Sequence *sequence = asSequence(); sequence && sequence->isTuple)
    for (const Value &item : sequence->items)
      result = mix(result, item.hash());
  return result; // values of other kinds are few
}

// ---- sets and dicts

namespace {

constexpr size_t fewKeys = 8; // so few keys are compared one by one

template <typename Items, typename KeyOf>
std::optional<size_t> findAmong(const Items &items, const KeyIndices &places, const Value &key, KeyOf keyOf) {
  if (items.size() <= fewKeys) {
    for (size_t i = 0; i < items.size(); ++i)
      if (equal(keyOf(items[i]), key)) return i;
    return std::nullopt;
  }
  auto [from, to] = places.equal_range(key.hash());
  for (; from != to; ++from)
    if (equal(keyOf(items[from->second]), key)) return from->second;
  return std::nullopt;
}

// `places` holds all keys once there are more than a few.
template <typename Items, typename KeyOf> void added(const Items &items, KeyIndices &places, KeyOf keyOf) {
  spendBytes(static_cast<int64_t>(sizeof(items[0]) + 16 * sizeof(void *)));
  if (items.size() <= fewKeys) return;
  for (size_t i = places.empty() ? 0 : items.size() - 1; i < items.size(); ++i)
    places.emplace(keyOf(items[i]).hash(), i);
}

template <typename Items, typename KeyOf> void erased(Items &items, KeyIndices &places, size_t at, KeyOf keyOf) {
  spend(static_cast<int64_t>(items.size()));
  items.erase(items.begin() + static_cast<int64_t>(at));
  places.clear();
  if (items.size() > fewKeys)
    for (size_t i = 0; i < items.size(); ++i)
      places.emplace(keyOf(items[i]).hash(), i);
}

constexpr auto itself = [](const Value &item) -> const Value & { return item; };
constexpr auto keyOfEntry = [](const std::pair<Value, Value> &entry) -> const Value & { return entry.first; };

} // namespace

std::optional<size_t> findItem(const Sequence &set, const Value &item) {
  return findAmong(set.items, set.places, item, itself);
}

std::optional<size_t> findKey(const Dict &dict, const Value &key) {
  return findAmong(dict.items, dict.places, key, keyOfEntry);
}

void addItem(Sequence &set, Value item) {
  if (!spend(1) || findItem(set, item)) return;
  set.items.push_back(std::move(item));
  added(set.items, set.places, itself);
}

void put(Dict &dict, Value key, Value value) {
  if (!spend(1)) return;
  if (std::optional<size_t> at = findKey(dict, key)) {
    dict.items[*at].second = std::move(value);
    return;
  }
  dict.items.emplace_back(std::move(key), std::move(value));
  added(dict.items, dict.places, keyOfEntry);
}

void eraseItem(Sequence &set, size_t at) {
  erased(set.items, set.places, at, itself);
}

void eraseKey(Dict &dict, size_t at) {
  erased(dict.items, dict.places, at, keyOfEntry);
}

std::shared_ptr<const JitFunction> Callable::asHelper(Diagnostics &) const {
  return nullptr;
}

bool ClassInfo::isA(const ClassInfo &base) const {
  return std::find(lineage.begin(), lineage.end(), base.lineage[0]) != lineage.end();
}

bool ClassInfo::isStatic(llvm::StringRef member) const {
  return std::find(staticMembers.begin(), staticMembers.end(), member.str()) != staticMembers.end();
}

std::vector<std::string> ClassInfo::fieldNames() const {
  std::vector<std::string> names;
  for (const Field &field : fields)
    names.push_back(field.name);
  return names;
}

std::string Value::repr() const {
  return tilewright::repr(*this, 0);
}

std::string Value::describe() const {
  if (isNone()) return "None";
  if (isEllipsis()) return "an ellipsis";
  if (asBool()) return "a bool";
  if (asInt()) return "an int";
  if (asFloat()) return "a float";
  if (asString()) return "a string";
  if (const Sequence *v = asSequence()) return v->isSet ? "a set" : v->isTuple ? "a tuple" : "a list";
  if (asDict()) return "a dict";
  if (const Type *v = asType()) return "the type " + v->str();
  if (std::shared_ptr<const JitFunction> v = asFunction()) return "the jit function '" + v->name + "'";
  if (const Builtin *v = asBuiltin()) return "the builtin '" + v->path.str() + "'";
  if (std::shared_ptr<Namespace> v = asNamespace())
    return (v->classInfo() || llvm::StringRef(v->path()).starts_with("the ") ? "" : "the module ") + v->path();
  if (std::shared_ptr<const Callable> v = asCallable()) return "the function '" + v->name() + "'";
  if (const HostValue *v = asHost()) return v->description;
  return "a value";
}

} // namespace tilewright
