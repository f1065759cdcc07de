// Grid expressions become programs for the runtime's stack machine. Names of constants become numbers:
//     cdiv(M, BLOCK), 1     with BLOCK = 64     parameter M, constant 64, cdiv  |  constant 1
//     lambda META: (triton.cdiv(META['M'], META['BLOCK']),)     the same
//     cdiv(n, [64, 1024][CONFIG])     with CONFIG = 1     parameter n, constant 1024, cdiv
// An expression of another kind becomes a number if it has one without the launch.

#include "aot/build.h"
#include "evaluate/module.h"
#include "syntax/parser.h"

#include "llvm/Support/Casting.h"

namespace tilewright::aot {
namespace {

using Kind = GridStep::Kind;

class Translator {
public:
  Translator(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args, const std::function<int64_t(llvm::StringRef)> &indexOf,
             Diagnostics &diagnostics)
      : kernel(kernel), args(args), indexOf(indexOf), diagnostics(diagnostics) {}

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

private:
  bool fail(const ast::Expr &expr, const std::string &expected) {
    diagnostics.error(expr.range, Diag::badGrid, {"a grid that is computed without a compiler takes " + expected});
    return false;
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
    if (index < 0) return fail(expr, "names of the kernel's integer parameters, and '" + name.str() + "' is none");
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
    if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr)) return addName(expr, name->name);
    if (const auto *subscript = llvm::dyn_cast<ast::SubscriptExpr>(&expr)) {
      const auto *object = llvm::dyn_cast<ast::NameExpr>(subscript->object);
      const auto *key = llvm::dyn_cast<ast::StringExpr>(subscript->index);
      if (object && key && !meta.empty() && object->name == meta) return addName(expr, key->value);
    }
    if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) return addCall(*call);
    if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) return addBinary(*binary);
    if (std::optional<int64_t> number = constantOf(expr)) return program.push_back({Kind::constant, *number}), true;
    return fail(expr, "integers, parameters, + - * // %, cdiv, min, max, next_power_of_2, and what can be computed from constants");
  }

  /// Returns the value of an expression of the specialization's constants and of names of the kernel's file.
  std::optional<int64_t> constantOf(const ast::Expr &expr) const {
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
  std::string meta; // the parameter of a lambda
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

} // namespace tilewright::aot
