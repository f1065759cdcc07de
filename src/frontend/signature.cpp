// Signatures such as "x_ptr=*fp32:16, n=i32, BLOCK=1024": the types and constants for which a kernel is compiled.
//
// A word is a type (with `:16` if the value or address is a multiple of 16) or a literal, which makes a constant. A missing parameter takes
// its default, the value of the first autotune configuration, of the heuristics, or its annotation, in this order.
#include "evaluate/evaluate.h"
#include "evaluate/parameters.h"
#include "frontend/frontend.h"
#include "syntax/parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Casting.h"

namespace tilewright {

namespace {

struct Entry {
  llvm::StringRef name, text;
  SourceRange range;
};

ArgumentSpec constantSpec(Value value) {
  ArgumentSpec spec;
  spec.constant = std::move(value);
  return spec;
}

class SignatureReader {
public:
  SignatureReader(llvm::StringRef text, const JitFunction &kernel, Diagnostics &diagnostics)
      : source(SourceFile::create("<signature>", text.str(), 1)), kernel(kernel), diagnostics(diagnostics) {}

  std::optional<std::vector<ArgumentSpec>> read() {
    std::optional<std::vector<Entry>> entries = split(source->text());
    if (!entries) return std::nullopt;
    std::vector<std::optional<ArgumentSpec>> specs(kernel.parameters.size());
    size_t next = 0;
    bool sawName = false;
    for (const Entry &entry : *entries) {
      std::optional<size_t> at = entry.name.empty() ? position(entry, next++, sawName) : find(entry);
      sawName = sawName || !entry.name.empty();
      if (!at) return std::nullopt;
      if (specs[*at]) return error(entry.range, "'" + kernel.parameters[*at].name + "' is given twice", "");
      specs[*at] = spec(entry, kernel.parameters[*at]);
      if (!specs[*at]) return std::nullopt;
    }
    return complete(std::move(specs));
  }

private:
  std::nullopt_t error(SourceRange range, std::string message, std::string hint) {
    return fail(diagnostics, range, Diag::badSignature, {std::move(message), std::move(hint)});
  }

  std::string listed() const {
    std::vector<std::string> names;
    for (const JitFunction::Parameter &parameter : kernel.parameters)
      names.push_back(parameter.isConstexpr ? parameter.name + ": constexpr" : parameter.name);
    return kernel.name + " takes (" + (names.empty() ? "" : joinNames(names, 64)) + ")";
  }

  SourceRange rangeOf(llvm::StringRef part) const {
    size_t begin = static_cast<size_t>(part.data() - source->text().data());
    return {source.get(), static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + part.size())};
  }

  /// Splits at commas outside of brackets and quotes. Each part has the name before its '='. `text` is a part of the source.
  std::optional<std::vector<Entry>> split(llvm::StringRef text) {
    std::vector<Entry> entries;
    int64_t depth = 0;
    char quote = 0;
    size_t start = 0, equals = llvm::StringRef::npos;
    for (size_t i = 0; i <= text.size(); ++i) {
      char c = i < text.size() ? text[i] : ',';
      if (quote && i < text.size()) {
        if (c == '\\')
          ++i;
        else if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '\'' || c == '"')
        quote = c;
      else if (llvm::StringRef("([{<").contains(c))
        ++depth;
      else if (llvm::StringRef(")]}>").contains(c))
        --depth;
      else if (c == '=' && depth == 0 && equals == llvm::StringRef::npos)
        equals = i;
      if (c != ',' || (depth != 0 && i < text.size())) continue;
      if (quote || depth != 0)
        return error(rangeOf(text.substr(start).trim()), quote ? "a string is not closed" : "a bracket is not closed", "");
      llvm::StringRef part = text.substr(start, i - start);
      Entry entry{"", part.trim(), {}};
      if (equals != llvm::StringRef::npos) {
        entry.name = text.substr(start, equals - start).trim();
        entry.text = text.substr(equals + 1, i - equals - 1).trim();
      }
      bool lastAndEmpty = i == text.size() && part.trim().empty(); // empty text, or a comma at the end
      if (!lastAndEmpty) {
        entry.range = rangeOf(part.trim().empty() ? text.substr(start, 1) : part.trim());
        if (entry.text.empty())
          return error(entry.range,
                       entry.name.empty() ? "there is nothing between two commas" : "'" + entry.name.str() + "' has no type or value",
                       listed());
        entries.push_back(entry);
      }
      start = i + 1;
      equals = llvm::StringRef::npos;
    }
    return entries;
  }

  std::optional<size_t> position(const Entry &entry, size_t index, bool sawName) {
    if (sawName) return error(entry.range, "an unnamed argument follows a named one", listed());
    if (index >= kernel.parameters.size())
      return error(entry.range, "there are more arguments than the " + std::to_string(kernel.parameters.size()) + " parameters", listed());
    return index;
  }

  std::optional<size_t> find(const Entry &entry) {
    std::vector<std::string> names;
    for (auto [i, parameter] : llvm::enumerate(kernel.parameters)) {
      if (parameter.name == entry.name) return i;
      names.push_back(parameter.name);
    }
    std::string near = nearestName(entry.name, names);
    return error(rangeOf(entry.name), "'" + kernel.name + "' has no parameter '" + entry.name.str() + "'",
                 near.empty() ? listed() : "did you mean '" + near + "'? " + listed());
  }

  std::optional<ArgumentSpec> spec(const Entry &entry, const JitFunction::Parameter &parameter) {
    ArgumentSpec result;
    llvm::StringRef inside = entry.text;
    if (!parameter.isConstexpr && inside.consume_front("(") && inside.consume_back(")")) return tuple(inside, parameter);
    auto [word, suffix] = entry.text.rsplit(':');
    bool hasSuffix = word.size() != entry.text.size() && parseTypeName(word);
    std::optional<Type> type = parseTypeName(hasSuffix ? word : entry.text);
    if (type && !parameter.isConstexpr) {
      int64_t divisibility = 1;
      if (hasSuffix && (suffix.trim().getAsInteger(10, divisibility) || divisibility < 1 || (divisibility & (divisibility - 1))))
        return error(rangeOf(suffix), "':" + suffix.str() + "' is not a divisibility",
                     "write ':16' where the value or address is a multiple of 16");
      bool isInt = type->isScalar() && isInteger(type->scalar());
      if (hasSuffix && !isInt && !type->isPointer()) return error(rangeOf(suffix), "only integers and pointers have a divisibility", "");
      if (hasSuffix && divisibility == 1 && isInt) { // upstream's notation for a value that is always 1
        result.constant = Value::integer(1);
        return result;
      }
      if (parameter.isConst && type->isPointer()) type = Type::pointer(type->element(), true, type->addressSpace());
      result.type = *type;
      result.divisibility = type->isDescriptor() ? 16 : divisibility; // host descriptors are always aligned
      return result;
    }
    if (type && !hasSuffix) {
      result.constant = Value::type(*type);
      return result;
    }
    result.constant = literal(entry, parameter);
    if (!result.constant) return std::nullopt;
    return result;
  }

  /// Reads a tuple argument: a constant if all members are constants, else its members one by one.
  std::optional<ArgumentSpec> tuple(llvm::StringRef inside, const JitFunction::Parameter &parameter) {
    std::optional<std::vector<Entry>> entries = split(inside);
    if (!entries) return std::nullopt;
    ArgumentSpec result;
    Values constants;
    for (const Entry &entry : *entries) {
      if (!entry.name.empty()) return error(entry.range, "members of a tuple cannot be named", "");
      std::optional<ArgumentSpec> member = spec(entry, parameter);
      if (!member) return std::nullopt;
      if (member->constant) constants.push_back(*member->constant);
      result.members.push_back(std::move(*member));
    }
    if (constants.size() == result.members.size()) {
      result.members.clear();
      result.constant = Value::tuple(std::move(constants));
    }
    return result;
  }

  /// Parses a Python literal. Inside tuples, words may be types too.
  MaybeValue literal(const Entry &entry, const JitFunction::Parameter &parameter) {
    Diagnostics parsing;
    std::shared_ptr<const ast::Module> module = parse(SourceFile::create("<signature>", entry.text.str() + "\n", 1), parsing);
    const auto *statement = module && module->body.size() == 1 ? llvm::dyn_cast<ast::ExprStmt>(module->body[0]) : nullptr;
    if (statement) {
      Diagnostics evaluating;
      TypeNames names;
      MaybeValue value = evaluate(*statement->value, names, nullptr, evaluating);
      if (value && !value->asCallable() && !value->asHost() && !value->asNamespace()) return value;
    }
    return error(rangeOf(entry.text), "'" + entry.text.str() + "' is neither a type nor a constant",
                 parameter.isConstexpr ? "give '" + parameter.name + "' a literal such as 128, 'relu', True or fp16"
                                       : "types are *fp32, *fp16, i32, i64, fp32, ...; strings need quotes");
  }

  struct TypeNames : Namespace {
    std::string path() const override { return "the signature"; }
    MaybeValue lookup(llvm::StringRef name, Diagnostics &) override {
      std::optional<Type> type = parseTypeName(name);
      return type ? MaybeValue(Value::type(*type)) : std::nullopt;
    }
  };

  std::optional<std::vector<ArgumentSpec>> complete(std::vector<std::optional<ArgumentSpec>> specs) {
    const Config *config = kernel.autotune && !kernel.autotune->configs.empty() ? &kernel.autotune->configs.front() : nullptr;
    std::vector<std::string> missing;
    std::vector<std::string> ruled; // of those, the ones that a heuristic gives
    for (auto [i, parameter] : llvm::enumerate(kernel.parameters)) {
      if (specs[i]) continue;
      if (config)
        for (const auto &[name, value] : config->kwargs)
          if (name == parameter.name) specs[i] = constantSpec(value);
      if (!specs[i] && parameter.defaultValue) specs[i] = constantSpec(*parameter.defaultValue);
      if (!specs[i] && parameter.isVariadic) specs[i] = constantSpec(Value::tuple({}));
    }
    for (const auto &[name, function] : kernel.heuristics) {
      std::optional<size_t> index = indexOfParameter(kernel, name);
      if (!index || specs[*index]) continue;
      Diagnostics trial; // a heuristic that needs a run-time value fails; the parameter is then missing
      MaybeValue value = callValue(function, {knownConstants(specs)}, {}, kernel.parameters[*index].range, trial);
      if (value && !value->asHost()) specs[*index] = constantSpec(*value);
    }
    std::vector<ArgumentSpec> result;
    for (auto [i, parameter] : llvm::enumerate(kernel.parameters)) {
      if (!specs[i] && parameter.annotation) {
        specs[i].emplace();
        specs[i]->type = *parameter.annotation;
      }
      if (specs[i]) {
        result.push_back(std::move(*specs[i]));
        continue;
      }
      missing.push_back("'" + parameter.name + "'");
      if (isRuled(parameter.name)) ruled.push_back(missing.back());
    }
    if (!missing.empty())
      return error(rangeOf(source->text()),
                   joinNames(missing, 64) + (missing.size() == 1 ? " is" : " are") + " not given" +
                       (ruled.empty() ? "" : "; the heuristic of " + joinNames(ruled, 64) + " depends on arguments of the launch"),
                   listed());
    return result;
  }

  bool isRuled(llvm::StringRef name) const {
    return llvm::any_of(kernel.heuristics, [&](const auto &rule) { return rule.first == name; });
  }

  Value knownConstants(const std::vector<std::optional<ArgumentSpec>> &specs) const {
    std::vector<std::pair<Value, Value>> items;
    for (auto [i, parameter] : llvm::enumerate(kernel.parameters))
      if (specs[i] && specs[i]->constant) items.emplace_back(Value::string(parameter.name), *specs[i]->constant);
    return Value::dict(std::move(items));
  }

  std::shared_ptr<const SourceFile> source;
  const JitFunction &kernel;
  Diagnostics &diagnostics;
};

} // namespace

std::optional<std::vector<ArgumentSpec>> parseSignature(llvm::StringRef text, const JitFunction &kernel, Diagnostics &diagnostics) {
  return SignatureReader(text, kernel, diagnostics).read();
}

static void appendSlotNames(const std::string &name, const ArgumentSpec &spec, std::vector<std::string> &names) {
  if (spec.constant) return;
  for (size_t i = 0; i < spec.members.size(); ++i)
    appendSlotNames(name + "[" + std::to_string(i) + "]", spec.members[i], names);
  if (!spec.members.empty()) return;
  names.push_back(name + "=" + spec.type.str());
  if (!spec.type.isDescriptor()) return;
  for (const char *part : {".shape", ".strides"})
    for (size_t i = 0; i < spec.type.shape().size(); ++i)
      names.push_back(name + part + "[" + std::to_string(i) + "]=");
}

std::vector<std::string> slotNames(const std::string &parameter, const ArgumentSpec &spec) {
  std::vector<std::string> names;
  appendSlotNames(parameter, spec, names);
  return names;
}

} // namespace tilewright
