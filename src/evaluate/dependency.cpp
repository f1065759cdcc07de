// Computes a hash of all that a kernel's code depends on: the key for reusing compiled code.
//
// The syntax tree is written out without locations (so comments, blank lines and moved functions change nothing), together with what each
// global name in it means: a constant's value, another function's own text, a builtin's name. Decorators are left out: configurations and
// heuristics reach the code as constants, which are part of the key anyway.
#include "evaluate/builtins.h"
#include "evaluate/evaluate.h"
#include "support/hash.h"
#include "syntax/walk.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Casting.h"

#include <deque>

namespace tilewright {

namespace {

class DependencyWriter {
public:
  /// With the places of all code, if `withPlaces`.
  explicit DependencyWriter(bool withPlaces) : withPlaces(withPlaces) {}

  std::string hash(const JitFunction &kernel) {
    function(kernel);
    return finished();
  }

  std::string hash(const Value &given) {
    value(given);
    return finished();
  }

private:
  std::string finished() {
    while (!waiting.empty()) {
      std::function<void()> next = std::move(waiting.front());
      waiting.pop_front();
      next();
    }
    return hasher.hex();
  }

  bool withPlaces;
  Hasher hasher;
  llvm::DenseSet<std::pair<const void *, const void *>> seen; // functions that are written, by their syntax and scope
  Namespace *globals = nullptr;                               // of the function that is being written
  const ast::Names *localNames = nullptr;                     // its variables
  std::deque<std::function<void()>> waiting;                  // functions that have been met and are still to be written
  llvm::DenseMap<const void *, int64_t> containers;           // lists and dicts that are written, by their number
  std::deque<Value> alive;                                    // the values that `seen` and `containers` point to

  void put(std::string_view text) { hasher.add(text); }
  void tag(char kind, int64_t what) {
    hasher.add(std::string_view(&kind, 1));
    hasher.addInteger(what);
  }

  void placed(SourceRange range) {
    if (withPlaces && range.file) put(range.file->name());
    at(range);
  }

  void at(SourceRange range) {
    if (!withPlaces || !range.file) return;
    SourceFile::Position place = range.file->position(range.begin);
    tag('@', place.line);
    hasher.addInteger(place.column);
  }

  // A function's own text is written when its turn comes, so that a long chain of calls does not become a recursion here.
  void function(const JitFunction &kernel) {
    if (kernel.decl) placed(kernel.decl->range);
    put("function " + kernel.name + (kernel.noinline_ ? " noinline" : "") + (kernel.anySize ? " any size" : ""));
    if (!kernel.decl || !seen.insert({kernel.decl, kernel.globals.get()}).second) return;
    waiting.push_back([this, kernel] {
      put("function " + kernel.name);
      for (const JitFunction::Parameter &parameter : kernel.parameters) {
        put(parameter.name);
        put(parameter.isConstexpr ? "constexpr" : parameter.isConst ? "const" : parameter.isVariadic ? "variadic" : "");
        put(parameter.annotation ? signatureName(*parameter.annotation) : "");
        value(parameter.defaultValue.value_or(Value::none()));
      }
      body(kernel.decl->parameters, ast::boundNames(kernel.decl->body), *kernel.globals, [&] { block(kernel.decl->body); });
    });
  }

  void plain(const PlainFunction &callable) {
    const void *syntax = callable.decl ? static_cast<const void *>(callable.decl) : callable.lambda;
    placed(callable.decl ? callable.decl->range : callable.lambda->range);
    put("plain " + callable.functionName);
    if (!seen.insert({syntax, nullptr}).second) return;
    waiting.push_back([this, callable] {
      put("plain " + callable.functionName);
      for (const ast::Parameter &parameter : callable.parameters()) {
        put(parameter.name);
        auto found = callable.defaults.find(parameter.name);
        value(found == callable.defaults.end() ? Value::none() : found->second);
      }
      std::shared_ptr<Namespace> scope = callable.scope();
      ast::Names bound = callable.decl ? ast::boundNames(callable.decl->body) : ast::boundNames(*callable.lambda->body);
      body(callable.parameters(), std::move(bound), *scope,
           [&] { callable.decl ? block(callable.decl->body) : expr(callable.lambda->body); });
    });
  }

  template <typename Write> void body(const std::vector<ast::Parameter> &parameters, ast::Names names, Namespace &scope, Write write) {
    for (const ast::Parameter &parameter : parameters)
      names.insert(parameter.name);
    globals = &scope;
    localNames = &names;
    write();
  }

  // Lists may be nested deeply, be shared, or contain themselves, so each is written once, without recursion.
  void value(const Value &given) {
    std::vector<Value> rest{given};
    while (!rest.empty()) {
      Value v = std::move(rest.back());
      rest.pop_back();
      const Sequence *sequence = v.asSequence();
      const Dict *dict = v.asDict();
      if (!sequence && !dict) {
        single(v);
        continue;
      }
      const void *identity = sequence ? static_cast<const void *>(sequence) : dict;
      auto [known, isNew] = containers.try_emplace(identity, static_cast<int64_t>(containers.size()));
      if (!isNew) {
        tag('=', known->second);
        continue;
      }
      alive.push_back(v);
      tag(dict                ? 'd'
          : sequence->isSet   ? 'S'
          : sequence->isTuple ? 's'
                              : 'L',
          static_cast<int64_t>(sequence ? sequence->items.size() : dict->items.size()));
      if (sequence) {
        for (const std::string &field : sequence->fieldNames)
          put(field);
        rest.insert(rest.end(), sequence->items.rbegin(), sequence->items.rend());
      } else {
        for (const auto &[key, item] : llvm::reverse(dict->items)) {
          rest.push_back(item);
          rest.push_back(key);
        }
      }
    }
  }

  void single(const Value &v) {
    if (std::shared_ptr<const JitFunction> called = v.asFunction()) return function(*called);
    if (auto called = std::dynamic_pointer_cast<const PlainFunction>(v.asCallable())) return plain(*called);
    if (std::shared_ptr<Namespace> type = v.asNamespace();
        type && type->classInfo() && seen.insert({type->classInfo()->lineage[0], nullptr}).second) {
      alive.push_back(v);
      return aggregate(*type);
    }
    put(v.describe() + " " + v.repr());
  }

  void aggregate(Namespace &type) {
    const ClassInfo &info = *type.classInfo();
    put("class " + info.name);
    for (const ClassInfo::Field &field : info.fields) {
      put(field.name);
      tag('F', field.isConstexpr);
      value(field.defaultValue.value_or(Value::none()));
    }
    for (const std::string &name : info.members) {
      Diagnostics ignored;
      put(name);
      if (MaybeValue method = type.lookup(name, ignored)) value(*method);
    }
  }

  void global(const std::string &name) {
    if (localNames->contains(name)) return;
    Diagnostics ignored;
    if (MaybeValue found = globals->lookup(name, ignored)) value(*found);
  }

  /// helper.BLOCK or tl.math.exp: the hash covers the member, not the whole module.
  bool member(const ast::AttributeExpr &attribute) {
    std::vector<const ast::AttributeExpr *> chain{&attribute};
    while (const auto *inner = llvm::dyn_cast<ast::AttributeExpr>(chain.back()->object))
      chain.push_back(inner);
    const auto *root = llvm::dyn_cast<ast::NameExpr>(chain.back()->object);
    if (!root || localNames->contains(root->name)) return false;
    Diagnostics ignored;
    MaybeValue current = globals->lookup(root->name, ignored);
    if (!current || !current->asNamespace()) return false;
    put(root->name);
    while (!chain.empty() && current && current->asNamespace()) {
      put(chain.back()->name);
      current = current->asNamespace()->lookup(chain.back()->name, ignored);
      chain.pop_back();
    }
    if (current) value(*current);
    while (!chain.empty()) {
      put(chain.back()->name);
      chain.pop_back();
    }
    return true;
  }

  // A node is written as its kind, its own content, the number of its parts (so that no two trees read alike), and its parts.
  void expr(const ast::Expr *e) {
    using namespace ast;
    tag('e', static_cast<int64_t>(e->kind));
    at(e->range);
    int64_t parts = 0;
    forEachPart(*e, [&](const Expr &) { ++parts; });
    tag('n', parts);
    if (const auto *attribute = llvm::dyn_cast<AttributeExpr>(e); attribute && member(*attribute)) return;
    ownData(*e);
    forEachPart(*e, [&](const Expr &part) { expr(&part); });
  }

  void ownData(const ast::Expr &e) {
    using namespace ast;
    switch (e.kind) {
    case ExprKind::name: put(llvm::cast<NameExpr>(e).name); return global(llvm::cast<NameExpr>(e).name);
    case ExprKind::integer: return put(intToString(llvm::cast<IntegerExpr>(e).value));
    case ExprKind::floating: return put(floatToString(llvm::cast<FloatExpr>(e).value));
    case ExprKind::string: return put(llvm::cast<StringExpr>(e).value);
    case ExprKind::boolean: return put(llvm::cast<BoolExpr>(e).value ? "1" : "0");
    case ExprKind::fstring:
      for (const FStringExpr::Part &part : llvm::cast<FStringExpr>(e).parts) {
        put(part.text);
        tag(part.value ? part.format ? 'f' : 'v' : 't', part.conversion);
      }
      return;
    case ExprKind::dict:
      for (const auto &item : llvm::cast<DictExpr>(e).items)
        tag('k', item.first != nullptr);
      return;
    case ExprKind::attribute: return put(llvm::cast<AttributeExpr>(e).name);
    case ExprKind::slice: {
      const auto &slice = llvm::cast<SliceExpr>(e);
      return tag(':', (slice.lower ? 1 : 0) + (slice.upper ? 2 : 0) + (slice.step ? 4 : 0));
    }
    case ExprKind::call:
      for (const Keyword &keyword : llvm::cast<CallExpr>(e).keywords)
        put(keyword.name);
      return;
    case ExprKind::unary: return tag('u', static_cast<int64_t>(llvm::cast<UnaryExpr>(e).op));
    case ExprKind::binary: return tag('b', static_cast<int64_t>(llvm::cast<BinaryExpr>(e).op));
    case ExprKind::boolean_op: return tag('a', llvm::cast<BoolOpExpr>(e).isAnd);
    case ExprKind::compare:
      for (CompareOp op : llvm::cast<CompareExpr>(e).ops)
        tag('o', static_cast<int64_t>(op));
      return;
    case ExprKind::lambda: return parameters(llvm::cast<LambdaExpr>(e).parameters);
    case ExprKind::comprehension:
      tag('k', static_cast<int64_t>(llvm::cast<ComprehensionExpr>(e).what));
      for (const ComprehensionExpr::For &loop : llvm::cast<ComprehensionExpr>(e).loops)
        tag('c', static_cast<int64_t>(loop.conditions.size()));
      return tag('v', llvm::cast<ComprehensionExpr>(e).value != nullptr);
    case ExprKind::named: return put(llvm::cast<NamedExpr>(e).name);
    case ExprKind::yield: return tag('y', llvm::cast<YieldExpr>(e).from);
    default: return;
    }
  }

  void parameters(const std::vector<ast::Parameter> &all) {
    for (const ast::Parameter &parameter : all) {
      put(parameter.name);
      tag('p', (parameter.defaultValue ? 1 : 0) + (parameter.annotation ? 2 : 0) + 4 * static_cast<int64_t>(parameter.kind));
    }
  }

  void block(const ast::Block &statements) {
    tag('B', static_cast<int64_t>(statements.size()));
    for (const ast::Stmt *s : statements)
      statement(*s);
  }

  void statement(const ast::Stmt &s) {
    using namespace ast;
    tag('S', static_cast<int64_t>(s.kind));
    at(s.range);
    if (s.kind == StmtKind::expression && llvm::isa<StringExpr>(llvm::cast<ExprStmt>(s).value))
      return put("text"); // a docstring is a comment
    int64_t parts = 0;
    forEachPart(s, [&](const Expr &) { ++parts; }, [](const Stmt &) {});
    tag('n', parts);
    ownData(s);
    forEachPart(s, [&](const Expr &part) { expr(&part); }, [&](const Stmt &inner) { statement(inner); });
  }

  void sizes(std::initializer_list<const ast::Block *> blocks) {
    for (const ast::Block *inner : blocks)
      tag('B', static_cast<int64_t>(inner->size()));
  }

  void imported(const std::vector<ast::ImportAlias> &names) {
    for (const ast::ImportAlias &alias : names)
      put(alias.path + " as " + alias.as);
  }

  void ownData(const ast::Stmt &s) {
    using namespace ast;
    switch (s.kind) {
    case StmtKind::augAssign: return tag('b', static_cast<int64_t>(llvm::cast<AugAssignStmt>(s).op));
    case StmtKind::annAssign: return tag('v', llvm::cast<AnnAssignStmt>(s).value != nullptr);
    case StmtKind::global:
      for (const std::string &name : llvm::cast<GlobalStmt>(s).names)
        put(name);
      return;
    case StmtKind::import: return imported(llvm::cast<ImportStmt>(s).names);
    case StmtKind::importFrom: put(llvm::cast<ImportFromStmt>(s).module); return imported(llvm::cast<ImportFromStmt>(s).names);
    case StmtKind::if_: return sizes({&llvm::cast<IfStmt>(s).then, &llvm::cast<IfStmt>(s).otherwise});
    case StmtKind::for_: return sizes({&llvm::cast<ForStmt>(s).body, &llvm::cast<ForStmt>(s).otherwise});
    case StmtKind::while_: return sizes({&llvm::cast<WhileStmt>(s).body, &llvm::cast<WhileStmt>(s).otherwise});
    case StmtKind::with:
      for (const WithStmt::Item &item : llvm::cast<WithStmt>(s).items)
        tag('w', item.target != nullptr);
      return sizes({&llvm::cast<WithStmt>(s).body});
    case StmtKind::try_:
      for (const TryStmt::Handler &handler : llvm::cast<TryStmt>(s).handlers) {
        tag('h', handler.type != nullptr);
        sizes({&handler.body});
      }
      return sizes({&llvm::cast<TryStmt>(s).body, &llvm::cast<TryStmt>(s).otherwise, &llvm::cast<TryStmt>(s).finally});
    case StmtKind::function:
      put(llvm::cast<FunctionStmt>(s).name);
      parameters(llvm::cast<FunctionStmt>(s).parameters);
      return sizes({&llvm::cast<FunctionStmt>(s).body});
    case StmtKind::class_: put(llvm::cast<ClassStmt>(s).name); return sizes({&llvm::cast<ClassStmt>(s).body});
    case StmtKind::match:
      for (const Block &inner : llvm::cast<MatchStmt>(s).bodies)
        sizes({&inner});
      return;
    default: return;
    }
  }
};

} // namespace

std::string dependencyHash(const JitFunction &kernel) {
  return DependencyWriter(false).hash(kernel);
}

std::string dependencyHash(const Value &value) {
  return DependencyWriter(false).hash(value);
}

std::string locationsHash(const JitFunction &kernel) {
  return DependencyWriter(true).hash(kernel);
}

} // namespace tilewright
