// Grid expressions become programs for the runtime's stack machine. Names of constants become numbers:
//     cdiv(M, BLOCK), 1     with BLOCK = 64     parameter M, constant 64, cdiv  |  constant 1
//     lambda META: (triton.cdiv(META['M'], META['BLOCK']),)     the same
//     cdiv(n, [64, 1024][CONFIG])     with CONFIG = 1     parameter n, constant 1024, cdiv
//     lambda args: args['K'] % args['BLOCK_K'] == 0     a heuristic: parameter K, constant 64, mod, constant 0, equal
// An expression of another kind becomes a number if it has one without the launch.

#include "aot/build.h"
#include "evaluate/evaluate.h"
#include "syntax/parser.h"

#include "llvm/Support/Casting.h"

namespace tilewright::aot {
namespace {

using Kind = GridStep::Kind;

class Translator {
public:
  Translator(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args, const std::function<int64_t(llvm::StringRef)> &indexOf,
             Diagnostics &diagnostics)
      : kernel(kernel), args(args), indexOf(indexOf), diagnostics(diagnostics), scope(kernel.globals) {}

  std::optional<std::array<GridProgram, 3>> axes(const ast::Expr &whole) {
    const ast::Expr *grid = &whole;
    if (const auto *lambda = llvm::dyn_cast<ast::LambdaExpr>(grid)) {
      if (lambda->parameters.size() != 1) return fail(*grid, "a lambda of one parameter, the dict of arguments"), std::nullopt;
      meta = lambda->parameters.front().name;
      grid = lambda->body;
    }
    std::vector<const ast::Expr *> extents{grid};
    if (const auto *tuple = llvm::dyn_cast<ast::TupleExpr>(grid)) extents.assign(tuple->elements.begin(), tuple->elements.end());
    if (extents.empty() || extents.size() > 3) return fail(*grid, "one to three extents"), std::nullopt;
    std::array<GridProgram, 3> result;
    for (size_t i = 0; i < 3; ++i) {
      program.clear();
      if (i >= extents.size()) program.push_back({Kind::constant, 1});
      if (i < extents.size() && !add(*extents[i])) return std::nullopt;
      result[i] = program;
    }
    return result;
  }

  /// Translates the only expression of a function of the dict of arguments.
  std::optional<GridProgram> heuristic(const PlainFunction &function) {
    isHeuristic = true;
    if (function.parameters().size() != 1) {
      diagnostics.error({}, Diag::badGrid, {takes("a function of one parameter, the dict of arguments")});
      return std::nullopt;
    }
    meta = function.parameters().front().name;
    scope = function.scope();
    const ast::Expr *body = function.lambda ? function.lambda->body : nullptr;
    if (function.decl && function.decl->body.size() == 1)
      if (const auto *statement = llvm::dyn_cast<ast::ReturnStmt>(function.decl->body.front())) body = statement->value;
    if (!body) {
      diagnostics.error(function.parameters().front().range, Diag::badGrid, {takes("a function of one return statement")});
      return std::nullopt;
    }
    return addTruth(*body) ? std::optional(program) : std::nullopt;
  }

private:
  std::string takes(const std::string &expected) const {
    return std::string(isHeuristic ? "a heuristic" : "a grid") + " that is computed without a compiler takes " + expected;
  }
  bool fail(const ast::Expr &expr, const std::string &expected) {
    diagnostics.error(expr.range, Diag::badGrid, {takes(expected)});
    return false;
  }

  /// Lists the parameters whose values a launch knows.
  std::string names() const {
    std::string list;
    for (const JitFunction::Parameter &parameter : kernel.parameters)
      if (indexOf(parameter.name) >= 0) list += (list.empty() ? "" : ", ") + parameter.name;
    return list.empty() ? "it has none" : "they are " + list;
  }

  bool addName(const ast::Expr &expr, llvm::StringRef name) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (kernel.parameters[i].name != name || !args[i].constant) continue;
      std::optional<Int> value = args[i].constant->toInt();
      if (!value || *value > INT64_MAX || *value < INT64_MIN) return fail(expr, "an integer, and '" + name.str() + "' is none");
      program.push_back({Kind::constant, static_cast<int64_t>(*value)});
      return true;
    }
    int64_t index = indexOf(name);
    if (index < 0)
      if (std::optional<int64_t> number = constantOf(expr)) return program.push_back({Kind::constant, *number}), true;
    if (index < 0) return fail(expr, "names of the kernel's integer parameters, and '" + name.str() + "' is none: " + names());
    program.push_back({Kind::parameter, index});
    return true;
  }

  bool addCall(const ast::CallExpr &call) {
    llvm::StringRef name;
    if (const auto *plain = llvm::dyn_cast<ast::NameExpr>(call.callee)) name = plain->name;
    if (const auto *member = llvm::dyn_cast<ast::AttributeExpr>(call.callee)) name = member->name;
    static const std::pair<const char *, Kind> functions[] = {
        {"cdiv", Kind::cdiv}, {"min", Kind::min}, {"max", Kind::max}, {"next_power_of_2", Kind::nextPowerOf2}};
    const char *calls = "calls of cdiv, min, max and next_power_of_2";
    for (const auto &[function, kind] : functions) {
      if (name != function || !call.keywords.empty()) continue;
      if (call.args.size() != (kind == Kind::nextPowerOf2 ? 1u : 2u)) return fail(call, calls);
      for (const ast::Expr *operand : call.args)
        if (!add(*operand)) return false;
      program.push_back({kind, 0});
      return true;
    }
    return fail(call, calls);
  }

  bool addBinary(const ast::BinaryExpr &binary) {
    static const std::pair<ast::BinaryOp, Kind> operators[] = {{ast::BinaryOp::add, Kind::add},
                                                               {ast::BinaryOp::sub, Kind::sub},
                                                               {ast::BinaryOp::mul, Kind::mul},
                                                               {ast::BinaryOp::floordiv, Kind::floordiv},
                                                               {ast::BinaryOp::mod, Kind::mod}};
    for (const auto &[op, kind] : operators) {
      if (binary.op != op) continue;
      if (!add(*binary.lhs) || !add(*binary.rhs)) return false;
      program.push_back({kind, 0});
      return true;
    }
    return fail(binary, "the operators + - * // %");
  }

  bool add(const ast::Expr &expr) {
    if (const auto *number = llvm::dyn_cast<ast::IntegerExpr>(&expr); number && number->value <= INT64_MAX && number->value >= INT64_MIN) {
      program.push_back({Kind::constant, static_cast<int64_t>(number->value)});
      return true;
    }
    if (isHeuristic)
      if (std::optional<int64_t> number = constantOf(expr)) return program.push_back({Kind::constant, *number}), true;
    if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr); name && !isHeuristic) return addName(expr, name->name);
    if (const std::string *name = nameOfArgument(expr)) return addName(expr, *name);
    if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) return addCall(*call);
    if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) return addBinary(*binary);
    if (std::optional<int64_t> number = constantOf(expr)) return program.push_back({Kind::constant, *number}), true;
    return fail(expr, "integers, parameters, + - * // %, cdiv, min, max, next_power_of_2, and what can be computed from constants");
  }

  /// Returns the argument that `META['name']` reads, or null.
  const std::string *nameOfArgument(const ast::Expr &expr) const {
    const auto *subscript = llvm::dyn_cast<ast::SubscriptExpr>(&expr);
    const auto *object = subscript ? llvm::dyn_cast<ast::NameExpr>(subscript->object) : nullptr;
    const auto *key = subscript ? llvm::dyn_cast<ast::StringExpr>(subscript->index) : nullptr;
    return object && key && !meta.empty() && object->name == meta ? &key->value : nullptr;
  }

  /// Adds steps with the result 1 or 0, for an expression whose value is True or False.
  bool addTruth(const ast::Expr &expr) {
    if (std::optional<Value> known = valueOf(expr); known && known->asBool())
      return program.push_back({Kind::constant, *known->asBool() ? 1 : 0}), true;
    if (const auto *list = llvm::dyn_cast<ast::BoolOpExpr>(&expr)) {
      for (size_t i = 0; i < list->operands.size(); ++i) {
        if (!addTruth(*list->operands[i])) return false;
        if (i > 0) program.push_back({list->isAnd ? Kind::both : Kind::either, 0});
      }
      return true;
    }
    if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(&expr); unary && unary->op == ast::UnaryOp::not_) {
      bool isTruth = llvm::isa<ast::BoolOpExpr, ast::CompareExpr, ast::UnaryExpr>(unary->operand);
      if (isTruth ? !addTruth(*unary->operand) : !add(*unary->operand)) return false;
      program.insert(program.end(), {{Kind::constant, 0}, {Kind::equal, 0}});
      return true;
    }
    if (const auto *compare = llvm::dyn_cast<ast::CompareExpr>(&expr)) {
      for (size_t i = 0; i < compare->ops.size(); ++i) {
        if (!addComparison(*compare, i)) return false;
        if (i > 0) program.push_back({Kind::both, 0});
      }
      return true;
    }
    return fail(expr, "expressions that are True or False: comparisons, and, or, not");
  }

  bool addComparison(const ast::CompareExpr &compare, size_t index) {
    const ast::Expr &left = *compare.operands[index], &right = *compare.operands[index + 1];
    ast::CompareOp op = compare.ops[index];
    if ((op == ast::CompareOp::is || op == ast::CompareOp::isNot) && llvm::isa<ast::NoneExpr>(&right)) {
      if (const std::string *name = nameOfArgument(left))
        for (size_t i = 0; i < args.size(); ++i) // an argument of a launch is not None
          if (kernel.parameters[i].name == *name && !args[i].constant)
            return program.push_back({Kind::constant, op == ast::CompareOp::isNot}), true;
    }
    static const std::pair<ast::CompareOp, Kind> operators[] = {
        {ast::CompareOp::eq, Kind::equal},     {ast::CompareOp::ne, Kind::notEqual}, {ast::CompareOp::lt, Kind::less},
        {ast::CompareOp::le, Kind::lessEqual}, {ast::CompareOp::gt, Kind::greater},  {ast::CompareOp::ge, Kind::greaterEqual}};
    for (const auto &[each, kind] : operators) {
      if (op != each) continue;
      if (!add(left) || !add(right)) return false;
      program.push_back({kind, 0});
      return true;
    }
    return fail(compare, "the comparisons == != < <= > >=, and `is None` of an argument");
  }

  /// Returns the value of an expression that does not depend on the launch.
  std::optional<Value> valueOf(const ast::Expr &expr) const {
    if (!scope) return std::nullopt;
    llvm::StringMap<Value> names;
    names[meta] = argumentsOfHeuristic(kernel, args);
    Diagnostics unused;
    std::optional<Value> value = evaluate(expr, *scope, &names, unused);
    return value && !value->asHost() ? value : std::nullopt;
  }

  /// Returns the value of an expression of the specialization's constants and of names of the kernel's file.
  std::optional<int64_t> constantOf(const ast::Expr &expr) const {
    if (isHeuristic) {
      std::optional<Value> value = valueOf(expr);
      std::optional<Int> number = value ? value->toInt() : std::nullopt;
      return number && *number <= INT64_MAX && *number >= INT64_MIN ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
    }
    if (!kernel.globals) return std::nullopt;
    llvm::StringMap<Value> names;
    std::vector<std::pair<Value, Value>> constants;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i].constant) continue;
      names[kernel.parameters[i].name] = *args[i].constant;
      constants.emplace_back(Value::string(kernel.parameters[i].name), *args[i].constant);
    }
    if (!meta.empty()) names[meta] = Value::dict(std::move(constants));
    Diagnostics unused; // the caller says what a grid takes
    std::optional<Value> value = evaluate(expr, *kernel.globals, &names, unused);
    std::optional<Int> number = value ? value->toInt() : std::nullopt;
    return number && *number <= INT64_MAX && *number >= INT64_MIN ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
  }

  const JitFunction &kernel;
  llvm::ArrayRef<ArgumentSpec> args;
  const std::function<int64_t(llvm::StringRef)> &indexOf;
  Diagnostics &diagnostics;
  std::shared_ptr<Namespace> scope; // of free names
  bool isHeuristic = false;         // a function of the arguments; a grid's names are those of parameters
  std::string meta;                 // the parameter of a lambda
  GridProgram program;
};

} // namespace

std::optional<std::array<GridProgram, 3>> gridProgram(const std::string &text, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                                      const std::function<int64_t(llvm::StringRef)> &indexOf, Diagnostics &diagnostics) {
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create("--grid", text + "\n", 1), diagnostics);
  if (!module) return std::nullopt;
  const auto *statement = module->body.size() == 1 ? llvm::dyn_cast<ast::ExprStmt>(module->body[0]) : nullptr;
  if (statement) return Translator(kernel, args, indexOf, diagnostics).axes(*statement->value);
  diagnostics.error({}, Diag::badGrid, {"a grid is one expression"});
  return std::nullopt;
}

std::optional<GridProgram> heuristicProgram(const Value &rule, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                            const std::function<int64_t(llvm::StringRef)> &indexOf, Diagnostics &diagnostics) {
  const auto *function = dynamic_cast<const PlainFunction *>(rule.asCallable().get());
  if (function) return Translator(kernel, args, indexOf, diagnostics).heuristic(*function);
  diagnostics.error({}, Diag::badGrid, {"a heuristic that is computed without a compiler takes Python's expressions"});
  return std::nullopt;
}

} // namespace tilewright::aot
