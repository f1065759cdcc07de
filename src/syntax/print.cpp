// Prints the tree as text: one node a line, indented by two spaces more than its parent. Each child has the name of its role:
//   function scale
//     parameter x
//     assign
//       target: name y
//       value: binary *

#include "syntax/parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Casting.h"

#include <charconv>

namespace tilewright {

using namespace ast;
using llvm::cast;

namespace {

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '\'')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      out += "\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2);
    else
      out += c;
  }
  return out + "'";
}

std::string textOf(__int128 value) {
  if (value == 0) return "0";
  std::string digits;
  for (unsigned __int128 rest = static_cast<unsigned __int128>(value); rest != 0; rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + rest % 10));
  return digits;
}

std::string textOf(double value) {
  char buffer[40];
  std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end.ptr);
  return text.find_first_not_of("0123456789") == std::string::npos ? text + ".0" : text;
}

const char *textOf(BinaryOp op) {
  static constexpr const char *names[] = {"+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"};
  return names[static_cast<size_t>(op)];
}
const char *textOf(CompareOp op) {
  static constexpr const char *names[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};
  return names[static_cast<size_t>(op)];
}

class Printer {
public:
  void line(std::string_view text) {
    out.append(static_cast<size_t>(2 * depth), ' ');
    out += text;
    out += '\n';
  }
  void block(const char *role, const Block &statements) {
    if (statements.empty()) return;
    line(std::string(role) + ":");
    inside([&] {
      for (const Stmt *statement : statements)
        print(*statement);
    });
  }
  void print(const Stmt &statement);
  std::string out;

private:
  template <typename F> void inside(F &&body) {
    ++depth;
    body();
    --depth;
  }
  void leaf(const char *role, std::string text) { line(*role ? std::string(role) + ": " + text : std::move(text)); }
  void print(const char *role, const Expr *expr);
  void printAll(const char *role, const std::vector<Expr *> &exprs) {
    for (const Expr *expr : exprs)
      print(role, expr);
  }
  void print(const std::vector<Keyword> &keywords) {
    for (const Keyword &keyword : keywords)
      print(keyword.name.empty() ? "**" : ("keyword " + keyword.name).c_str(), keyword.value);
  }
  void print(const std::vector<Parameter> &parameters);
  void print(const std::vector<ImportAlias> &names) {
    for (const ImportAlias &alias : names)
      line("name " + alias.path + (alias.as.empty() ? "" : " as " + alias.as));
  }
  void children(const Expr &expr);
  static std::string head(const Expr &expr);
  static std::string head(const Stmt &statement);

  int64_t depth = 0;
};

std::string Printer::head(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::name: return "name " + cast<NameExpr>(expr).name;
  case ExprKind::integer: return "integer " + textOf(cast<IntegerExpr>(expr).value);
  case ExprKind::floating: return "float " + textOf(cast<FloatExpr>(expr).value);
  case ExprKind::string: return (cast<StringExpr>(expr).isBytes ? "bytes " : "string ") + quoted(cast<StringExpr>(expr).value);
  case ExprKind::boolean: return cast<BoolExpr>(expr).value ? "True" : "False";
  case ExprKind::none: return "None";
  case ExprKind::ellipsis: return "...";
  case ExprKind::fstring: return "fstring";
  case ExprKind::tuple: return "tuple";
  case ExprKind::list: return "list";
  case ExprKind::dict: return "dict";
  case ExprKind::set: return "set";
  case ExprKind::attribute: return "attribute " + cast<AttributeExpr>(expr).name;
  case ExprKind::subscript: return "subscript";
  case ExprKind::slice: return "slice";
  case ExprKind::call: return "call";
  case ExprKind::starred: return "starred";
  case ExprKind::unary: return std::string("unary ") + operatorText(cast<UnaryExpr>(expr).op);
  case ExprKind::binary: return std::string("binary ") + textOf(cast<BinaryExpr>(expr).op);
  case ExprKind::boolean_op: return cast<BoolOpExpr>(expr).isAnd ? "and" : "or";
  case ExprKind::compare: {
    std::string text = "compare";
    for (CompareOp op : cast<CompareExpr>(expr).ops)
      text += std::string(" ") + textOf(op);
    return text;
  }
  case ExprKind::conditional: return "conditional";
  case ExprKind::lambda: return "lambda";
  case ExprKind::comprehension: {
    static constexpr const char *names[] = {"list", "generator", "set", "dict"};
    return std::string("comprehension ") + names[static_cast<size_t>(cast<ComprehensionExpr>(expr).what)];
  }
  case ExprKind::named: return "named " + cast<NamedExpr>(expr).name;
  case ExprKind::await: return "await";
  case ExprKind::yield: return cast<YieldExpr>(expr).from ? "yield from" : "yield";
  }
  return "";
}

void Printer::print(const char *role, const Expr *expr) {
  if (!expr) return;
  leaf(role, head(*expr));
  inside([&] { children(*expr); });
}

// Long: one case for each kind of expression, to be read as a table.
void Printer::children(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::name:
  case ExprKind::integer:
  case ExprKind::floating:
  case ExprKind::string:
  case ExprKind::boolean:
  case ExprKind::none:
  case ExprKind::ellipsis: return;
  case ExprKind::fstring:
    for (const FStringExpr::Part &part : cast<FStringExpr>(expr).parts) {
      if (!part.value) {
        line("text " + quoted(part.text));
        continue;
      }
      print(part.conversion ? (std::string("value !") + part.conversion).c_str() : "value", part.value);
      print("format", part.format);
    }
    return;
  case ExprKind::tuple: return printAll("", cast<TupleExpr>(expr).elements);
  case ExprKind::list: return printAll("", cast<ListExpr>(expr).elements);
  case ExprKind::set: return printAll("", cast<SetExpr>(expr).elements);
  case ExprKind::dict:
    for (const auto &[key, value] : cast<DictExpr>(expr).items) {
      print("key", key);
      print(key ? "value" : "**", value);
    }
    return;
  case ExprKind::attribute: return print("", cast<AttributeExpr>(expr).object);
  case ExprKind::subscript: print("object", cast<SubscriptExpr>(expr).object); return print("index", cast<SubscriptExpr>(expr).index);
  case ExprKind::slice:
    print("lower", cast<SliceExpr>(expr).lower);
    print("upper", cast<SliceExpr>(expr).upper);
    return print("step", cast<SliceExpr>(expr).step);
  case ExprKind::call:
    print("callee", cast<CallExpr>(expr).callee);
    printAll("argument", cast<CallExpr>(expr).args);
    return print(cast<CallExpr>(expr).keywords);
  case ExprKind::starred: return print("", cast<StarredExpr>(expr).value);
  case ExprKind::unary: return print("", cast<UnaryExpr>(expr).operand);
  case ExprKind::binary: print("", cast<BinaryExpr>(expr).lhs); return print("", cast<BinaryExpr>(expr).rhs);
  case ExprKind::boolean_op: return printAll("", cast<BoolOpExpr>(expr).operands);
  case ExprKind::compare: return printAll("", cast<CompareExpr>(expr).operands);
  case ExprKind::conditional:
    print("condition", cast<ConditionalExpr>(expr).condition);
    print("then", cast<ConditionalExpr>(expr).then);
    return print("else", cast<ConditionalExpr>(expr).otherwise);
  case ExprKind::lambda: print(cast<LambdaExpr>(expr).parameters); return print("body", cast<LambdaExpr>(expr).body);
  case ExprKind::comprehension:
    print("element", cast<ComprehensionExpr>(expr).element);
    print("value", cast<ComprehensionExpr>(expr).value);
    for (const ComprehensionExpr::For &loop : cast<ComprehensionExpr>(expr).loops) {
      print("for", loop.target);
      print("in", loop.iterable);
      printAll("if", loop.conditions);
    }
    return;
  case ExprKind::named: return print("", cast<NamedExpr>(expr).value);
  case ExprKind::await: return print("", cast<AwaitExpr>(expr).value);
  case ExprKind::yield: return print("", cast<YieldExpr>(expr).value);
  }
}

void Printer::print(const std::vector<Parameter> &parameters) {
  for (const Parameter &parameter : parameters) {
    static constexpr const char *kinds[] = {"", "*", "", "**", ""};
    static constexpr const char *notes[] = {"", "", " (keyword only)", "", " (positional only)"};
    size_t kind = static_cast<size_t>(parameter.kind);
    line(std::string("parameter ") + kinds[kind] + parameter.name + notes[kind]);
    inside([&] {
      print("type", parameter.annotation);
      print("default", parameter.defaultValue);
    });
  }
}

std::string Printer::head(const Stmt &statement) {
  switch (statement.kind) {
  case StmtKind::expression: return "expression";
  case StmtKind::assign: return "assign";
  case StmtKind::augAssign: return std::string("assign ") + textOf(cast<AugAssignStmt>(statement).op) + "=";
  case StmtKind::annAssign: return "declare";
  case StmtKind::return_: return "return";
  case StmtKind::pass: return "pass";
  case StmtKind::break_: return "break";
  case StmtKind::continue_: return "continue";
  case StmtKind::delete_: return "del";
  case StmtKind::assert_: return "assert";
  case StmtKind::raise: return "raise";
  case StmtKind::global: {
    std::string text = cast<GlobalStmt>(statement).nonlocal ? "nonlocal" : "global";
    for (const std::string &name : cast<GlobalStmt>(statement).names)
      text += " " + name;
    return text;
  }
  case StmtKind::import: return "import";
  case StmtKind::importFrom:
    return "from " + std::string(static_cast<size_t>(cast<ImportFromStmt>(statement).level), '.') + cast<ImportFromStmt>(statement).module;
  case StmtKind::if_: return "if";
  case StmtKind::for_: return cast<ForStmt>(statement).isAsync ? "async for" : "for";
  case StmtKind::while_: return "while";
  case StmtKind::with: return cast<WithStmt>(statement).isAsync ? "async with" : "with";
  case StmtKind::try_: return "try";
  case StmtKind::function:
    return (cast<FunctionStmt>(statement).isAsync ? "async function " : "function ") + cast<FunctionStmt>(statement).name;
  case StmtKind::class_: return "class " + cast<ClassStmt>(statement).name;
  case StmtKind::match: return "match";
  }
  return "";
}

// Long: one case for each kind of statement, to be read as a table.
void Printer::print(const Stmt &statement) {
  line(head(statement));
  ++depth;
  switch (statement.kind) {
  case StmtKind::pass:
  case StmtKind::break_:
  case StmtKind::continue_:
  case StmtKind::global: break;
  case StmtKind::expression: print("", cast<ExprStmt>(statement).value); break;
  case StmtKind::assign:
    printAll("target", cast<AssignStmt>(statement).targets);
    print("value", cast<AssignStmt>(statement).value);
    break;
  case StmtKind::augAssign:
    print("target", cast<AugAssignStmt>(statement).target);
    print("value", cast<AugAssignStmt>(statement).value);
    break;
  case StmtKind::annAssign:
    print("target", cast<AnnAssignStmt>(statement).target);
    print("type", cast<AnnAssignStmt>(statement).annotation);
    print("value", cast<AnnAssignStmt>(statement).value);
    break;
  case StmtKind::return_: print("", cast<ReturnStmt>(statement).value); break;
  case StmtKind::delete_: printAll("", cast<DeleteStmt>(statement).targets); break;
  case StmtKind::assert_:
    print("condition", cast<AssertStmt>(statement).condition);
    print("message", cast<AssertStmt>(statement).message);
    break;
  case StmtKind::raise:
    print("", cast<RaiseStmt>(statement).exception);
    print("cause", cast<RaiseStmt>(statement).cause);
    break;
  case StmtKind::import: print(cast<ImportStmt>(statement).names); break;
  case StmtKind::importFrom: print(cast<ImportFromStmt>(statement).names); break;
  case StmtKind::if_:
    print("condition", cast<IfStmt>(statement).condition);
    block("then", cast<IfStmt>(statement).then);
    block("else", cast<IfStmt>(statement).otherwise);
    break;
  case StmtKind::for_:
    print("target", cast<ForStmt>(statement).target);
    print("in", cast<ForStmt>(statement).iterable);
    block("body", cast<ForStmt>(statement).body);
    block("else", cast<ForStmt>(statement).otherwise);
    break;
  case StmtKind::while_:
    print("condition", cast<WhileStmt>(statement).condition);
    block("body", cast<WhileStmt>(statement).body);
    block("else", cast<WhileStmt>(statement).otherwise);
    break;
  case StmtKind::with:
    for (const WithStmt::Item &item : cast<WithStmt>(statement).items) {
      print("context", item.context);
      print("as", item.target);
    }
    block("body", cast<WithStmt>(statement).body);
    break;
  case StmtKind::try_: {
    const TryStmt &node = cast<TryStmt>(statement);
    block("body", node.body);
    for (const TryStmt::Handler &handler : node.handlers) {
      line(handler.name.empty() ? "except" : "except as " + handler.name);
      inside([&] {
        print("type", handler.type);
        block("body", handler.body);
      });
    }
    block("else", node.otherwise);
    block("finally", node.finally);
    break;
  }
  case StmtKind::function:
    printAll("decorator", cast<FunctionStmt>(statement).decorators);
    print(cast<FunctionStmt>(statement).parameters);
    print("returns", cast<FunctionStmt>(statement).returns);
    block("body", cast<FunctionStmt>(statement).body);
    break;
  case StmtKind::class_:
    printAll("decorator", cast<ClassStmt>(statement).decorators);
    printAll("base", cast<ClassStmt>(statement).bases);
    print(cast<ClassStmt>(statement).keywords);
    block("body", cast<ClassStmt>(statement).body);
    break;
  case StmtKind::match:
    print("subject", cast<MatchStmt>(statement).subject);
    for (const Block &body : cast<MatchStmt>(statement).bodies)
      block("case", body);
    break;
  }
  --depth;
}

} // namespace

const char *operatorText(UnaryOp op) {
  static constexpr const char *names[] = {"+", "-", "~", "not"};
  return names[static_cast<size_t>(op)];
}

std::string printAst(const Module &module) {
  Printer printer;
  for (const Stmt *statement : module.body)
    printer.print(*statement);
  return std::move(printer.out);
}

} // namespace tilewright
