// The C interface that builds kernels (include/tilewright/builder.h): checks what C code passes, and finds the caller's source lines.

#include "api/handles.h" // before the public headers: it makes their functions visible

#include "api/kernel_trace.h"
#include "api/sized.h"
#include "evaluate/evaluate.h"
#include "evaluate/module.h"
#include "support/files.h"

#include "tilewright/builder.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace tilewright;
using namespace tilewright::api;

/// The files of the caller's source. A file that cannot be read still has names and numbers of lines.
class PlaceReader {
public:
  explicit PlaceReader(TracedModule &module) : module(module) {}

  SourceRange rangeOf(const TwPlace *place) {
    if (!place || place->size < sizeof(TwPlace) || !place->file || !*place->file) return {};
    Lines &lines = known.try_emplace(place->file).first->second;
    if (lines.isNew) read(place->file, lines);
    if (!lines.file) return alone(*place);
    uint32_t line = std::max(place->line, 1u) - 1, column = std::max(place->column, 1u) - 1;
    if (line >= lines.starts.size()) return alone(*place); // the file has changed
    std::string_view text = lines.file->text();
    uint32_t begin = lines.starts[line];
    uint32_t end = begin + static_cast<uint32_t>(lines.file->lineText(begin).size());
    begin = std::min(begin + column, end);
    uint32_t last = begin;
    while (last < end && (llvm::isAlnum(text[last]) || text[last] == '_'))
      ++last;
    return {lines.file.get(), begin, std::max(last, begin + 1)};
  }

private:
  struct Lines {
    bool isNew = true;
    std::shared_ptr<const SourceFile> file; // null: not readable
    std::vector<uint32_t> starts;
  };

  void read(const char *path, Lines &lines) {
    constexpr size_t maxBytes = 1 << 26;
    lines.isNew = false;
    Result<std::string> text = readFile(path);
    if (!text || text->size() > maxBytes) return;
    lines.file = SourceFile::create(path, *text, 1);
    module.files.push_back(lines.file);
    std::string_view contents = lines.file->text();
    lines.starts.push_back(0);
    for (size_t i = 0; i < contents.size(); ++i)
      if (contents[i] == '\n') lines.starts.push_back(static_cast<uint32_t>(i + 1));
  }

  /// A file of one line of spaces, with the place's number and column.
  SourceRange alone(const TwPlace &place) {
    uint32_t column = std::min(std::max(place.column, 1u), 4096u);
    auto [found, isNew] = blanks.try_emplace({place.file, place.line});
    if (isNew) {
      found->second = SourceFile::create(place.file, std::string(4096, ' '), place.line);
      module.files.push_back(found->second);
    }
    return {found->second.get(), column - 1, column};
  }

  TracedModule &module;
  std::map<std::string, Lines> known;
  std::map<std::pair<std::string, uint32_t>, std::shared_ptr<const SourceFile>> blanks;
};

struct TwBuilder {
  std::shared_ptr<TracedModule> module = std::make_shared<TracedModule>();
  PlaceReader places{*module};
  std::optional<KernelTrace> trace;
  SourceRange last; // the place of the last call that has one
  Heuristics rules;
  bool isFinished = false;
  bool lacksMemory = false; // nothing is recorded after a failed allocation; twBuilderFinish reports it
};

/// Runs the body of a function that records. An exception ends the recording, and does not cross the C interface.
template <typename F> static auto recorded(TwBuilder *builder, F body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    if (builder) builder->lacksMemory = true;
  }
  return decltype(body())();
}

static bool isIdentifier(llvm::StringRef name) {
  if (name.empty() || llvm::isDigit(name[0])) return false;
  if (name == "tl" || name == "triton") return false; // the modules that the trace imports
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A call of the interface: its builder, unless that cannot be used, and its place.
namespace {
struct BuilderCall {
  KernelTrace *trace = nullptr;
  SourceRange place;

  BuilderCall(TwBuilder *builder, const TwPlace *given) {
    if (!builder || builder->isFinished || builder->lacksMemory) return;
    trace = &*builder->trace;
    place = builder->places.rangeOf(given);
    if (place.file)
      builder->last = place;
    else
      place = builder->last;
  }
  bool ok() const { return trace && !trace->diagnostics.hasErrors(); }

  bool fail(std::string text, std::string advice = "") {
    trace->fail(place, std::move(text), std::move(advice));
    return false;
  }

  /// Reads the type that the caller expects, as messages write it. "" for null.
  std::optional<std::string> type(const TwTileType *given) {
    if (!given) return "";
    TwTileType copy;
    std::string problem;
    given = viewSized(given, copy, "TwTileType", problem);
    if (!given) return fail(problem), std::nullopt;
    if (given->element && given->rank == 0 && llvm::StringRef(given->element) == "constexpr") return "constexpr";
    std::optional<Type> element = given->element ? parseTypeName(given->element) : std::nullopt;
    if (!element || (given->rank > 0 && !given->shape))
      return fail("a type has the element '" + std::string(given->element ? given->element : "") + "', which is not one"), std::nullopt;
    constexpr size_t maxRank = 8;
    if (given->rank > maxRank || std::any_of(given->shape, given->shape + given->rank, [](int64_t extent) { return extent < 1; }))
      return fail("a type has the rank " + std::to_string(given->rank) + (given->rank > maxRank ? "" : " and an extent below 1")),
             std::nullopt;
    if (given->rank == 0) return element->str();
    return Type::block(*element, {given->shape, given->rank}).str();
  }

  std::optional<std::vector<KernelTrace::Named>> arguments(const TwCallArgument *given, size_t count) {
    std::vector<KernelTrace::Named> result;
    if (count > 0 && !given) return fail("the arguments of a call are null"), std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      TwCallArgument copy;
      std::string problem;
      const TwCallArgument *each = viewSized(elementOf(given, i), copy, "TwCallArgument", problem);
      if (!each) return fail(problem), std::nullopt;
      result.push_back({each->name ? each->name : "", each->value});
    }
    return result;
  }
};

template <typename T> T *nodeOf(TwBuilder *builder) {
  return builder->module->make<T>(builder->trace->place);
}
} // namespace

extern "C" {

static std::unique_ptr<TwBuilder> newBuilder(const char *name, const TwPlace *place) {
  auto builder = std::make_unique<TwBuilder>();
  SourceRange range = builder->places.rangeOf(place);
  if (!range.file) {
    builder->module->files.push_back(SourceFile::create("<kernel>", " ", 1));
    range = {builder->module->files.back().get(), 0, 1};
  }
  for (const std::shared_ptr<const SourceFile> &file : builder->module->files)
    if (file.get() == range.file) builder->module->source = file;
  builder->last = range;
  builder->trace.emplace(name ? name : "", range, builder->module);
  if (!name || !isIdentifier(name))
    builder->trace->fail(range, "the kernel's name is '" + std::string(name ? name : "") + "', which is not an identifier",
                         "use letters, digits and underscores");
  return builder;
}

TwBuilder *twBuilderNew(const char *name, const TwPlace *place) {
  return guarded(nullptr, static_cast<TwBuilder *>(nullptr), [&] { return newBuilder(name, place).release(); });
}

void twBuilderFree(TwBuilder *builder) {
  delete builder;
}

static TwValue addParameter(TwBuilder *builder, const char *name, const std::string &annotation, const TwPlace *place) {
  BuilderCall call(builder, place);
  if (!call.ok()) return 0;
  if (!name || !isIdentifier(name))
    return call.fail("a parameter's name is '" + std::string(name ? name : "") + "', which is not an identifier"), 0;
  return call.trace->parameter(name, annotation, call.place);
}

TwValue twBuilderParameter(TwBuilder *builder, const char *name, const char *type, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    if (type && parseTypeName(type)) return addParameter(builder, name, type, place);
    twBuilderError(builder, "a parameter has a type that does not exist", "types are written as in signatures: i32, fp32, *fp16", place);
    return 0;
  });
}

TwValue twBuilderConstexpr(TwBuilder *builder, const char *name, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue { return addParameter(builder, name, "constexpr", place); });
}

static TwValue addConstant(TwBuilder *builder, ast::Expr *node) {
  return builder->trace->constant(node);
}
static bool isOpen(const TwBuilder *builder) {
  return builder && !builder->isFinished && !builder->lacksMemory;
}

static TwValue addInteger(TwBuilder *builder, __int128 value) {
  if (!isOpen(builder)) return 0;
  auto *node = nodeOf<ast::IntegerExpr>(builder);
  node->value = value;
  return addConstant(builder, node);
}
TwValue twBuilderInteger(TwBuilder *builder, int64_t value) {
  return recorded(builder, [&]() -> TwValue { return addInteger(builder, value); });
}
TwValue twBuilderUnsigned(TwBuilder *builder, uint64_t value) {
  return recorded(builder, [&]() -> TwValue { return addInteger(builder, value); });
}

TwValue twBuilderFloat(TwBuilder *builder, double value) {
  return recorded(builder, [&]() -> TwValue {
    if (!isOpen(builder)) return 0;
    auto *node = nodeOf<ast::FloatExpr>(builder);
    node->value = value;
    return addConstant(builder, node);
  });
}

TwValue twBuilderBool(TwBuilder *builder, int value) {
  return recorded(builder, [&]() -> TwValue {
    if (!isOpen(builder)) return 0;
    auto *node = nodeOf<ast::BoolExpr>(builder);
    node->value = value != 0;
    return addConstant(builder, node);
  });
}

TwValue twBuilderString(TwBuilder *builder, const char *value) {
  return recorded(builder, [&]() -> TwValue {
    if (!isOpen(builder)) return 0;
    if (!value) return addConstant(builder, nodeOf<ast::NoneExpr>(builder));
    auto *node = nodeOf<ast::StringExpr>(builder);
    node->value = value;
    return addConstant(builder, node);
  });
}

TwValue twBuilderTuple(TwBuilder *builder, const TwValue *values, size_t count) {
  return recorded(builder, [&]() -> TwValue {
    BuilderCall call(builder, nullptr);
    if (!call.ok()) return 0;
    if (count > 0 && !values) return call.fail("the values of a tuple are null"), 0;
    return call.trace->tuple(std::vector<TwValue>(values, values + count));
  });
}

TwValue twBuilderCall(TwBuilder *builder, const char *path, const TwCallArgument *arguments, size_t count, const TwTileType *result,
                      const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    BuilderCall call(builder, place);
    if (!call.ok()) return 0;
    if (!path) return call.fail("the name of a builtin is null"), 0;
    std::optional<std::string> type = call.type(result);
    std::optional<std::vector<KernelTrace::Named>> given = type ? call.arguments(arguments, count) : std::nullopt;
    return given ? call.trace->call(path, *given, *type, call.place) : 0;
  });
}

void twBuilderRun(TwBuilder *builder, const char *path, const TwCallArgument *arguments, size_t count, const TwPlace *place) {
  recorded(builder, [&] {
    BuilderCall call(builder, place);
    if (!call.ok()) return;
    if (!path) return call.fail("the name of a builtin is null"), void();
    if (std::optional<std::vector<KernelTrace::Named>> given = call.arguments(arguments, count)) call.trace->run(path, *given, call.place);
  });
}

TwValue twBuilderOperator(TwBuilder *builder, TwOperator op, TwValue left, TwValue right, const TwTileType *result, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    static constexpr ast::BinaryOp binaries[] = {ast::BinaryOp::add,    ast::BinaryOp::sub,      ast::BinaryOp::mul,
                                                 ast::BinaryOp::div,    ast::BinaryOp::floordiv, ast::BinaryOp::mod,
                                                 ast::BinaryOp::lshift, ast::BinaryOp::rshift,   ast::BinaryOp::bitand_,
                                                 ast::BinaryOp::bitor_, ast::BinaryOp::bitxor};
    static constexpr ast::CompareOp compares[] = {ast::CompareOp::eq, ast::CompareOp::ne, ast::CompareOp::lt,
                                                  ast::CompareOp::le, ast::CompareOp::gt, ast::CompareOp::ge};
    BuilderCall call(builder, place);
    if (!call.ok()) return 0;
    std::optional<std::string> type = call.type(result);
    if (!type) return 0;
    KernelTrace &trace = *call.trace;
    if (op >= TW_ADD && op <= TW_BIT_XOR) return trace.binary(binaries[op - TW_ADD], left, right, *type, call.place);
    if (op >= TW_EQUAL && op <= TW_GREATER_EQUAL) return trace.compare(compares[op - TW_EQUAL], left, right, *type, call.place);
    switch (op) {
    case TW_LOGICAL_AND:
    case TW_LOGICAL_OR: return trace.logical(op == TW_LOGICAL_AND, left, right, *type, call.place);
    case TW_NEGATE: return trace.unary(ast::UnaryOp::minus, left, *type, call.place);
    case TW_INVERT: return trace.unary(ast::UnaryOp::invert, left, *type, call.place);
    case TW_LOGICAL_NOT: return trace.unary(ast::UnaryOp::not_, left, *type, call.place);
    default: return call.fail("there is no operator " + std::to_string(static_cast<int>(op))), 0;
    }
  });
}

TwValue twBuilderItem(TwBuilder *builder, TwValue tuple, size_t index, const TwTileType *result, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    BuilderCall call(builder, place);
    std::optional<std::string> type = call.ok() ? call.type(result) : std::nullopt;
    return type ? call.trace->item(tuple, index, *type, call.place) : 0;
  });
}

TwValue twBuilderVariable(TwBuilder *builder, TwValue value, const TwTileType *given, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    BuilderCall call(builder, place);
    std::optional<std::string> type = call.ok() ? call.type(given) : std::nullopt;
    return type ? call.trace->variable(value, *type, call.place) : 0;
  });
}

void twBuilderAssign(TwBuilder *builder, TwValue variable, TwValue value, const TwTileType *given, const TwPlace *place) {
  recorded(builder, [&] {
    BuilderCall call(builder, place);
    if (std::optional<std::string> type = call.ok() ? call.type(given) : std::nullopt)
      call.trace->assign(variable, value, *type, call.place);
  });
}

// ---- control flow

TwValue twBuilderFor(TwBuilder *builder, const TwCallArgument *arguments, size_t count, const TwTileType *, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    BuilderCall call(builder, place);
    std::optional<std::vector<KernelTrace::Named>> given = call.ok() ? call.arguments(arguments, count) : std::nullopt;
    return given ? call.trace->beginFor(*given, call.place) : 0;
  });
}
void twBuilderIf(TwBuilder *builder, TwValue condition, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->beginIf(condition, call.place);
  });
}
void twBuilderElse(TwBuilder *builder, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->beginElse(call.place);
  });
}
void twBuilderWhile(TwBuilder *builder, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->beginWhile(call.place);
  });
}
void twBuilderDo(TwBuilder *builder, TwValue condition, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->beginBody(condition, call.place);
  });
}
void twBuilderBreak(TwBuilder *builder, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->exitLoop(true, call.place);
  });
}
void twBuilderContinue(TwBuilder *builder, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->exitLoop(false, call.place);
  });
}
void twBuilderReturn(TwBuilder *builder, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->returns(call.place);
  });
}
void twBuilderEnd(TwBuilder *builder) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, nullptr); call.ok()) call.trace->end(call.place);
  });
}

void twBuilderFunction(TwBuilder *builder, TwValue *parameters, size_t count, const TwPlace *place) {
  recorded(builder, [&] {
    BuilderCall call(builder, place);
    if (!call.ok()) return std::fill_n(parameters, parameters ? count : 0, 0), void();
    if (!parameters || count == 0) return call.fail("a function has no parameters"), void();
    llvm::copy(call.trace->beginFunction(count, call.place), parameters);
  });
}

TwValue twBuilderEndFunction(TwBuilder *builder, const TwValue *results, size_t count, const TwPlace *place) {
  return recorded(builder, [&]() -> TwValue {
    BuilderCall call(builder, place);
    if (!call.ok()) return 0;
    if (!results || count == 0) return call.fail("a function has no results"), 0;
    return call.trace->endFunction(std::vector<TwValue>(results, results + count), call.place);
  });
}

// ---- tuning

static std::optional<std::vector<std::string>> namesOf(BuilderCall &call, const char *const *names, size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) {
    if (!names || !names[i]) return call.fail("the name of a parameter is null"), std::nullopt;
    result.push_back(names[i]);
  }
  return result;
}

static ast::Expr *integerNode(TwBuilder *builder, int64_t value) {
  auto *node = nodeOf<ast::IntegerExpr>(builder);
  node->value = value;
  return node;
}

void twBuilderConfig(TwBuilder *builder, const TwConfig *config) {
  recorded(builder, [&] {
    BuilderCall call(builder, nullptr);
    if (!call.ok()) return;
    if (!config) return call.fail("a configuration is null"), void();
    TwConfig copy;
    std::string problem;
    config = viewSized(config, copy, "TwConfig", problem);
    if (!config) return call.fail(problem), void();
    if (config->count > 0 && !config->values) return call.fail("the values of a configuration are null"), void();
    std::optional<std::vector<std::string>> names = namesOf(call, config->names, config->count);
    if (!names) return;
    auto *values = nodeOf<ast::DictExpr>(builder);
    for (size_t i = 0; i < names->size(); ++i) {
      auto *name = nodeOf<ast::StringExpr>(builder);
      name->value = (*names)[i];
      values->items.push_back({name, integerNode(builder, config->values[i])});
    }
    auto *triton = nodeOf<ast::NameExpr>(builder);
    triton->name = "triton";
    auto *callee = nodeOf<ast::AttributeExpr>(builder);
    callee->object = triton;
    callee->name = "Config";
    auto *made = nodeOf<ast::CallExpr>(builder);
    made->callee = callee;
    made->args.push_back(values);
    for (auto [name, value] : {std::pair("num_warps", config->numWarps), std::pair("num_stages", config->numStages),
                               std::pair("num_ctas", config->numCtas), std::pair("maxnreg", config->maxRegisters)})
      if (value != 0) made->keywords.push_back({name, call.place, integerNode(builder, value)});
    call.trace->addConfig(made);
  });
}

static void setNames(TwBuilder *builder, const char *const *names, size_t count, std::vector<std::string> KernelTrace::*list) {
  BuilderCall call(builder, nullptr);
  if (!call.ok()) return;
  if (std::optional<std::vector<std::string>> found = namesOf(call, names, count)) call.trace->*list = std::move(*found);
}
void twBuilderKey(TwBuilder *builder, const char *const *names, size_t count) {
  recorded(builder, [&] { setNames(builder, names, count, &KernelTrace::key); });
}
void twBuilderResetToZero(TwBuilder *builder, const char *const *names, size_t count) {
  recorded(builder, [&] { setNames(builder, names, count, &KernelTrace::resetToZero); });
}
void twBuilderRestoreValue(TwBuilder *builder, const char *const *names, size_t count) {
  recorded(builder, [&] { setNames(builder, names, count, &KernelTrace::restoreValue); });
}

void twBuilderCase(TwBuilder *builder, TwValue parameter, int64_t value, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.trace->beginCase(parameter, integerNode(builder, value), call.place);
  });
}

void twBuilderAnySize(TwBuilder *builder) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, nullptr); call.ok()) call.trace->anySize = true;
  });
}

void twBuilderHeuristic(TwBuilder *builder, const char *parameter, TwRule rule, void *context) {
  recorded(builder, [&] {
    BuilderCall call(builder, nullptr);
    if (!call.ok()) return;
    if (!parameter || !rule) return call.fail("a rule, or the name of its parameter, is null"), void();
    Value function = nativeFunctionOfHost(parameter, [rule, context, name = std::string(parameter)](const NativeCall &given) -> MaybeValue {
      const Dict *values = given.args.empty() ? nullptr : given.args[0].asDict();
      if (!values) return given.badCall("the rule of '" + name + "' gets no arguments");
      TwMeta meta{nullptr, {}, "", values};
      std::string thrown;
      int64_t value = callCaller([&] { return rule(context, &meta); }, int64_t{0}, thrown);
      if (!thrown.empty()) return given.badCall("the rule of '" + name + "' fails: " + thrown);
      if (!meta.missing.empty())
        return given.badCall("the rule of '" + name + "' reads '" + meta.missing + "', which is not an integer argument");
      return Value::integer(value);
    });
    builder->rules.emplace_back(parameter, std::move(function));
  });
}

// ---- the end

void twBuilderError(TwBuilder *builder, const char *text, const char *advice, const TwPlace *place) {
  recorded(builder, [&] {
    if (BuilderCall call(builder, place); call.ok()) call.fail(text ? text : "", advice ? advice : "");
  });
}

TwModule *twBuilderFinish(TwBuilder *builder, TwError **error) {
  return guarded(error, static_cast<TwModule *>(nullptr), [&]() -> TwModule * {
    if (builder && builder->lacksMemory) throw std::bad_alloc();
    if (!isOpen(builder)) return setError(error, TW_ERROR_INVALID_ARGUMENT, "the builder is null, or its kernel is finished\n"), nullptr;
    std::shared_ptr<const ast::Module> tree = builder->trace->finish();
    builder->isFinished = true;
    Diagnostics &diagnostics = builder->trace->diagnostics;
    if (!tree) return setError(error, diagnostics), nullptr;
    TwModule *module = makeModule(moduleScope(std::move(tree)), diagnostics, error);
    if (module) module->rules = std::move(builder->rules);
    return module;
  });
}

} // extern "C"
