// The syntax tree of a Python module. It represents all statements and expressions of Python, because a kernel file also contains host
// code. The front end compiles the part that kernels use. The Module owns the nodes, which never change after parsing.
#pragma once

#include "support/source.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilewright::ast {

enum class ExprKind {
  name,
  integer,
  floating,
  string,
  boolean,
  none,
  ellipsis, // atoms
  fstring,
  tuple,
  list,
  dict,
  set, // displays
  attribute,
  subscript,
  slice,
  call,
  starred, // trailers
  unary,
  binary,
  boolean_op,
  compare,
  conditional,
  lambda, // operators
  comprehension,
  named,
  await,
  yield,
};

enum class UnaryOp { plus, minus, invert, not_ };
enum class BinaryOp { add, sub, mul, matmul, div, floordiv, mod, pow, lshift, rshift, bitand_, bitor_, bitxor };
enum class CompareOp { eq, ne, lt, le, gt, ge, is, isNot, in, notIn };

struct Expr {
  ExprKind kind;
  SourceRange range;
  virtual ~Expr() = default;

protected:
  Expr(ExprKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// Gives each node its kind, a constructor and `classof` (so llvm::cast, isa and dyn_cast work).
template <ExprKind K> struct ExprOf : Expr {
  explicit ExprOf(SourceRange range) : Expr(K, range) {}
  static bool classof(const Expr *e) { return e->kind == K; }
};

struct NameExpr : ExprOf<ExprKind::name> {
  using ExprOf::ExprOf;
  std::string name;
};
/// A value of 128 bits. A longer literal is an error, unlike in Python.
struct IntegerExpr : ExprOf<ExprKind::integer> {
  using ExprOf::ExprOf;
  __int128 value = 0;
};
struct FloatExpr : ExprOf<ExprKind::floating> {
  using ExprOf::ExprOf;
  double value = 0;
};
struct StringExpr : ExprOf<ExprKind::string> {
  using ExprOf::ExprOf;
  std::string value;
  bool isBytes = false;
}; // adjacent literals joined
struct BoolExpr : ExprOf<ExprKind::boolean> {
  using ExprOf::ExprOf;
  bool value = false;
};
struct NoneExpr : ExprOf<ExprKind::none> {
  using ExprOf::ExprOf;
};
struct EllipsisExpr : ExprOf<ExprKind::ellipsis> {
  using ExprOf::ExprOf;
};
/// f"a{x!r:>3}b": `parts` alternate between StringExpr (literal text) and formatted values.
struct FStringExpr : ExprOf<ExprKind::fstring> {
  using ExprOf::ExprOf;
  struct Part {
    Expr *value = nullptr;
    std::string text;
    char conversion = 0;
    Expr *format = nullptr;
  }; // value null: literal text
  std::vector<Part> parts;
};
struct TupleExpr : ExprOf<ExprKind::tuple> {
  using ExprOf::ExprOf;
  std::vector<Expr *> elements;
};
struct ListExpr : ExprOf<ExprKind::list> {
  using ExprOf::ExprOf;
  std::vector<Expr *> elements;
};
struct DictExpr : ExprOf<ExprKind::dict> {
  using ExprOf::ExprOf;
  std::vector<std::pair<Expr *, Expr *>> items;
}; // key null: **value
struct SetExpr : ExprOf<ExprKind::set> {
  using ExprOf::ExprOf;
  std::vector<Expr *> elements;
};
struct AttributeExpr : ExprOf<ExprKind::attribute> {
  using ExprOf::ExprOf;
  Expr *object = nullptr;
  std::string name;
  SourceRange nameRange;
};
struct SubscriptExpr : ExprOf<ExprKind::subscript> {
  using ExprOf::ExprOf;
  Expr *object = nullptr;
  Expr *index = nullptr;
}; // several indices: a TupleExpr
struct SliceExpr : ExprOf<ExprKind::slice> {
  using ExprOf::ExprOf;
  Expr *lower = nullptr, *upper = nullptr, *step = nullptr;
};
struct Keyword {
  std::string name;
  SourceRange range;
  Expr *value = nullptr;
}; // name empty: **value
struct CallExpr : ExprOf<ExprKind::call> {
  using ExprOf::ExprOf;
  Expr *callee = nullptr;
  std::vector<Expr *> args;
  std::vector<Keyword> keywords;
};
struct StarredExpr : ExprOf<ExprKind::starred> {
  using ExprOf::ExprOf;
  Expr *value = nullptr;
};
struct UnaryExpr : ExprOf<ExprKind::unary> {
  using ExprOf::ExprOf;
  UnaryOp op{};
  Expr *operand = nullptr;
};
struct BinaryExpr : ExprOf<ExprKind::binary> {
  using ExprOf::ExprOf;
  BinaryOp op{};
  Expr *lhs = nullptr, *rhs = nullptr;
};
/// a and b and c, left to right.
struct BoolOpExpr : ExprOf<ExprKind::boolean_op> {
  using ExprOf::ExprOf;
  bool isAnd = false;
  std::vector<Expr *> operands;
};
/// a < b <= c: operands = {a, b, c}, ops = {lt, le}.
struct CompareExpr : ExprOf<ExprKind::compare> {
  using ExprOf::ExprOf;
  std::vector<Expr *> operands;
  std::vector<CompareOp> ops;
};
struct ConditionalExpr : ExprOf<ExprKind::conditional> {
  using ExprOf::ExprOf;
  Expr *condition = nullptr, *then = nullptr, *otherwise = nullptr;
};

enum class ParameterKind { positional, variadic, keywordOnly, keywordVariadic, positionalOnly };
struct Parameter {
  ParameterKind kind = ParameterKind::positional;
  std::string name;
  SourceRange range; // of the name
  Expr *annotation = nullptr;
  Expr *defaultValue = nullptr;
};
struct LambdaExpr : ExprOf<ExprKind::lambda> {
  using ExprOf::ExprOf;
  std::vector<Parameter> parameters;
  Expr *body = nullptr;
};

enum class ComprehensionKind { list, generator, set, dict };
struct ComprehensionExpr : ExprOf<ExprKind::comprehension> {
  using ExprOf::ExprOf;
  struct For {
    Expr *target = nullptr, *iterable = nullptr;
    std::vector<Expr *> conditions;
  };
  ComprehensionKind what{};
  Expr *element = nullptr; // the key of a dict comprehension
  Expr *value = nullptr;   // dict only
  std::vector<For> loops;
};
struct NamedExpr : ExprOf<ExprKind::named> {
  using ExprOf::ExprOf;
  std::string name;
  Expr *value = nullptr;
}; // name := value
struct AwaitExpr : ExprOf<ExprKind::await> {
  using ExprOf::ExprOf;
  Expr *value = nullptr;
};
struct YieldExpr : ExprOf<ExprKind::yield> {
  using ExprOf::ExprOf;
  Expr *value = nullptr;
  bool from = false;
};

enum class StmtKind {
  expression,
  assign,
  augAssign,
  annAssign,
  return_,
  pass,
  break_,
  continue_,
  delete_,
  assert_,
  raise,
  global,
  import,
  importFrom,
  if_,
  for_,
  while_,
  with,
  try_,
  function,
  class_,
  match,
};

struct Stmt {
  StmtKind kind;
  SourceRange range; // a compound statement's range covers its header line only
  virtual ~Stmt() = default;

protected:
  Stmt(StmtKind kind, SourceRange range) : kind(kind), range(range) {}
};

template <StmtKind K> struct StmtOf : Stmt {
  explicit StmtOf(SourceRange range) : Stmt(K, range) {}
  static bool classof(const Stmt *s) { return s->kind == K; }
};

using Block = std::vector<Stmt *>;

struct ExprStmt : StmtOf<StmtKind::expression> {
  using StmtOf::StmtOf;
  Expr *value = nullptr;
};
struct AssignStmt : StmtOf<StmtKind::assign> {
  using StmtOf::StmtOf;
  std::vector<Expr *> targets;
  Expr *value = nullptr;
}; // a = b = value: two targets
struct AugAssignStmt : StmtOf<StmtKind::augAssign> {
  using StmtOf::StmtOf;
  Expr *target = nullptr;
  BinaryOp op{};
  Expr *value = nullptr;
};
struct AnnAssignStmt : StmtOf<StmtKind::annAssign> {
  using StmtOf::StmtOf;
  Expr *target = nullptr, *annotation = nullptr, *value = nullptr;
}; // value may be null
struct ReturnStmt : StmtOf<StmtKind::return_> {
  using StmtOf::StmtOf;
  Expr *value = nullptr;
}; // may be null
struct PassStmt : StmtOf<StmtKind::pass> {
  using StmtOf::StmtOf;
};
struct BreakStmt : StmtOf<StmtKind::break_> {
  using StmtOf::StmtOf;
};
struct ContinueStmt : StmtOf<StmtKind::continue_> {
  using StmtOf::StmtOf;
};
struct DeleteStmt : StmtOf<StmtKind::delete_> {
  using StmtOf::StmtOf;
  std::vector<Expr *> targets;
};
struct AssertStmt : StmtOf<StmtKind::assert_> {
  using StmtOf::StmtOf;
  Expr *condition = nullptr, *message = nullptr;
};
struct RaiseStmt : StmtOf<StmtKind::raise> {
  using StmtOf::StmtOf;
  Expr *exception = nullptr, *cause = nullptr;
};
struct GlobalStmt : StmtOf<StmtKind::global> {
  using StmtOf::StmtOf;
  bool nonlocal = false;
  std::vector<std::string> names;
};
struct ImportAlias {
  std::string path, as;
  SourceRange range;
}; // "a.b.c", "" where there is no `as`
struct ImportStmt : StmtOf<StmtKind::import> {
  using StmtOf::StmtOf;
  std::vector<ImportAlias> names;
};
struct ImportFromStmt : StmtOf<StmtKind::importFrom> {
  using StmtOf::StmtOf;
  std::string module;
  int64_t level = 0;
  std::vector<ImportAlias> names;
}; // path "*": all
struct IfStmt : StmtOf<StmtKind::if_> {
  using StmtOf::StmtOf;
  Expr *condition = nullptr;
  Block then, otherwise;
}; // elif: an IfStmt alone in `otherwise`
struct ForStmt : StmtOf<StmtKind::for_> {
  using StmtOf::StmtOf;
  bool isAsync = false;
  Expr *target = nullptr, *iterable = nullptr;
  Block body, otherwise;
};
struct WhileStmt : StmtOf<StmtKind::while_> {
  using StmtOf::StmtOf;
  Expr *condition = nullptr;
  Block body, otherwise;
};
struct WithStmt : StmtOf<StmtKind::with> {
  using StmtOf::StmtOf;
  struct Item {
    Expr *context = nullptr, *target = nullptr;
  };
  bool isAsync = false;
  std::vector<Item> items;
  Block body;
};
struct TryStmt : StmtOf<StmtKind::try_> {
  using StmtOf::StmtOf;
  struct Handler {
    Expr *type = nullptr;
    std::string name;
    Block body;
  };
  Block body;
  std::vector<Handler> handlers;
  Block otherwise, finally;
};
struct FunctionStmt : StmtOf<StmtKind::function> {
  using StmtOf::StmtOf;
  bool isAsync = false;
  std::string name;
  SourceRange nameRange;
  std::vector<Expr *> decorators; // outermost first
  std::vector<Parameter> parameters;
  Expr *returns = nullptr;
  Block body;
  SourceRange wholeRange; // from the first decorator to the last line of the body
};
struct ClassStmt : StmtOf<StmtKind::class_> {
  using StmtOf::StmtOf;
  std::string name;
  std::vector<Expr *> decorators, bases;
  std::vector<Keyword> keywords;
  Block body;
};
/// Host code only: the parser drops the patterns, and keeps `subject` and the bodies.
struct MatchStmt : StmtOf<StmtKind::match> {
  using StmtOf::StmtOf;
  Expr *subject = nullptr;
  std::vector<Block> bodies;
};

/// A parsed module; owns its nodes and keeps its source alive.
struct Module {
  std::shared_ptr<const SourceFile> source;
  Block body;

  template <typename T> T *make(SourceRange range) {
    auto node = std::make_unique<T>(range);
    T *raw = node.get();
    if constexpr (std::is_base_of_v<Expr, T>)
      exprs.push_back(std::move(node));
    else
      stmts.push_back(std::move(node));
    return raw;
  }

private:
  std::vector<std::unique_ptr<Expr>> exprs;
  std::vector<std::unique_ptr<Stmt>> stmts;
};

} // namespace tilewright::ast
