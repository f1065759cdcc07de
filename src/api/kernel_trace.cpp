#include "api/kernel_trace.h"

#include "evaluate/evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Casting.h"

namespace tilewright {

using namespace ast;
using llvm::cast;

KernelTrace::KernelTrace(std::string name, SourceRange place, std::shared_ptr<TracedModule> tree) : place(place), module(std::move(tree)) {
  for (auto [path, as] : {std::pair("triton", ""), std::pair("triton.language", "tl")}) {
    auto *import = make<ImportStmt>(place);
    import->names.push_back({path, as, place});
    module->body.push_back(import);
  }
  kernel = make<FunctionStmt>(place);
  kernel->name = std::move(name);
  kernel->nameRange = kernel->wholeRange = place;
  push(Block::function, kernel);
}

void KernelTrace::fail(SourceRange where, std::string text, std::string advice) {
  if (!diagnostics.hasErrors()) diagnostics.error(where.file ? where : place, Diag::invalidOption, {std::move(text), std::move(advice)});
}

// ---- values

KernelTrace::Id KernelTrace::addVariable(std::string name) {
  entries.push_back({nullptr, std::move(name), open.back().id});
  return entries.size();
}

KernelTrace::Id KernelTrace::parameter(const std::string &name, const std::string &annotation, SourceRange where) {
  bool isTaken = llvm::any_of(kernel->parameters, [&](const Parameter &other) { return other.name == name; });
  if (open.size() != 1 || !open.back().statements.empty()) return fail(where, "a parameter is added after a statement", ""), 0;
  if (isTaken) return fail(where, "two parameters of the kernel have the name '" + name + "'", "give each its own name"), 0;
  Parameter parameter;
  parameter.name = name;
  parameter.range = where;
  auto *text = make<StringExpr>(where);
  text->value = annotation;
  parameter.annotation = text;
  kernel->parameters.push_back(std::move(parameter));
  return addVariable(name);
}

KernelTrace::Id KernelTrace::constant(Expr *expr) {
  entries.push_back({expr, "", 0});
  return entries.size();
}

bool KernelTrace::isVisible(uint64_t block) const {
  return llvm::any_of(open, [&](const Open &each) { return each.id == block; });
}

size_t KernelTrace::functionDepth() const {
  size_t depth = open.size();
  while (depth > 1 && open[depth - 1].kind != Block::function)
    --depth;
  return depth - 1;
}

Expr *KernelTrace::use(Id id, SourceRange where) {
  if (diagnostics.hasErrors()) return nullptr;
  if (id == 0 || id > entries.size()) return fail(where, "this value does not belong to the kernel that is being built", ""), nullptr;
  const Entry &entry = entries[id - 1];
  if (entry.constant) return entry.constant;
  if (!isVisible(entry.block)) {
    fail(where, "this uses a value that was made in a loop, a branch or a function that has ended",
         "declare a variable before the loop or branch, and assign to it inside");
    return nullptr;
  }
  if (entry.block < open[functionDepth()].id) {
    fail(where, "a function that combines elements uses a variable of the kernel", "use its parameters and constants only");
    return nullptr;
  }
  auto *name = make<NameExpr>(where);
  name->name = entry.name;
  return name;
}

KernelTrace::Id KernelTrace::tuple(const std::vector<Id> &items) {
  auto *expr = make<TupleExpr>(place);
  for (Id item : items) {
    Expr *element = use(item, place);
    if (!element) return 0;
    expr->elements.push_back(element);
  }
  return constant(expr); // its elements are names and constants, so it can be repeated
}

// ---- statements

Stmt *KernelTrace::assignment(Expr *target, Expr *value, const std::string &type, SourceRange where) {
  if (type.empty()) {
    auto *stmt = make<AssignStmt>(where);
    stmt->targets.push_back(target);
    stmt->value = value;
    return stmt;
  }
  auto *annotation = make<StringExpr>(where);
  annotation->value = type;
  auto *stmt = make<AnnAssignStmt>(where);
  stmt->target = target;
  stmt->annotation = annotation;
  stmt->value = value;
  return stmt;
}

KernelTrace::Id KernelTrace::bind(Expr *value, const std::string &type, SourceRange where) {
  if (!value) return 0;
  Id id = addVariable("%" + std::to_string(++names));
  auto *target = make<NameExpr>(where);
  target->name = entries[id - 1].name;
  append(assignment(target, value, type, where));
  return id;
}

Expr *KernelTrace::dotted(const std::string &path, SourceRange where) {
  auto *root = make<NameExpr>(where);
  root->name = "tl";
  Expr *expr = root;
  for (llvm::StringRef part : llvm::split(path, '.')) {
    auto *attribute = make<AttributeExpr>(where);
    attribute->object = expr;
    attribute->name = part.str();
    attribute->nameRange = where;
    expr = attribute;
  }
  return expr;
}

CallExpr *KernelTrace::callOf(const std::string &path, const std::vector<Named> &arguments, SourceRange where) {
  auto *expr = make<CallExpr>(where);
  for (const Named &argument : arguments) {
    Expr *value = use(argument.value, where);
    if (!value) return nullptr;
    if (argument.name.empty())
      expr->args.push_back(value);
    else
      expr->keywords.push_back({argument.name, where, value});
  }
  auto [type, method] = llvm::StringRef(path).split('.');
  bool isMethod = (type == "tensor_descriptor" || type == "tensor") && !method.empty() && !expr->args.empty();
  if (!isMethod) return expr->callee = dotted(path, where), expr;
  auto *callee = make<AttributeExpr>(where);
  callee->object = expr->args.front();
  callee->name = method.str();
  callee->nameRange = where;
  expr->args.erase(expr->args.begin());
  expr->callee = callee;
  return expr;
}

KernelTrace::Id KernelTrace::call(const std::string &path, const std::vector<Named> &arguments, const std::string &type,
                                  SourceRange where) {
  // Questions about the target have constant results, so that only one side of a branch on them is compiled.
  bool isConstant = llvm::StringRef(path).starts_with("target_info.");
  return bind(callOf(path, arguments, where), isConstant ? "constexpr" : type, where);
}

void KernelTrace::run(const std::string &path, const std::vector<Named> &arguments, SourceRange where) {
  CallExpr *expr = callOf(path, arguments, where);
  if (!expr) return;
  auto *stmt = make<ExprStmt>(where);
  stmt->value = expr;
  append(stmt);
}

KernelTrace::Id KernelTrace::unary(UnaryOp op, Id operand, const std::string &type, SourceRange where) {
  auto *expr = make<UnaryExpr>(where);
  expr->op = op;
  expr->operand = use(operand, where);
  return expr->operand ? bind(expr, type, where) : 0;
}

KernelTrace::Id KernelTrace::binary(BinaryOp op, Id left, Id right, const std::string &type, SourceRange where) {
  auto *expr = make<BinaryExpr>(where);
  expr->op = op;
  expr->lhs = use(left, where);
  expr->rhs = use(right, where);
  return expr->lhs && expr->rhs ? bind(expr, type, where) : 0;
}

KernelTrace::Id KernelTrace::compare(CompareOp op, Id left, Id right, const std::string &type, SourceRange where) {
  auto *expr = make<CompareExpr>(where);
  expr->ops.push_back(op);
  expr->operands = {use(left, where), use(right, where)};
  return expr->operands[0] && expr->operands[1] ? bind(expr, type, where) : 0;
}

KernelTrace::Id KernelTrace::logical(bool isAnd, Id left, Id right, const std::string &type, SourceRange where) {
  auto *expr = make<BoolOpExpr>(where);
  expr->isAnd = isAnd;
  expr->operands = {use(left, where), use(right, where)};
  return expr->operands[0] && expr->operands[1] ? bind(expr, type, where) : 0;
}

KernelTrace::Id KernelTrace::item(Id tuple, size_t index, const std::string &type, SourceRange where) {
  auto *position = make<IntegerExpr>(where);
  position->value = static_cast<__int128>(index);
  auto *expr = make<SubscriptExpr>(where);
  expr->object = use(tuple, where);
  expr->index = position;
  return expr->object ? bind(expr, type, where) : 0;
}

KernelTrace::Id KernelTrace::variable(Id value, const std::string &type, SourceRange where) {
  if (value == 0) { // `i32 x;`: messages about a missing assignment show the name
    std::string_view text = where.file ? where.file->text().substr(where.begin, where.end - where.begin) : std::string_view();
    bool isName = !text.empty() && llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    return addVariable((isName ? std::string(text) : "the variable") + "%" + std::to_string(++names));
  }
  return bind(use(value, where), type, where);
}

void KernelTrace::assign(Id variable, Id value, const std::string &type, SourceRange where) {
  Expr *target = use(variable, where), *source = use(value, where);
  if (!target || !source) return;
  if (target->kind != ExprKind::name) return fail(where, "this assigns to a constant", "");
  if (open.back().kind == Block::condition)
    return fail(where, "the condition of a while loop assigns to a variable", "assign in the body of the loop");
  append(assignment(target, source, type, where));
}

// ---- control flow

void KernelTrace::push(Block kind, Stmt *stmt) {
  if (open.size() > maxDepth && !diagnostics.hasErrors()) diagnostics.error(stmt->range, Diag::nestedTooDeeply, {std::to_string(maxDepth)});
  open.push_back({kind, ++blocks, {}, stmt});
}

ast::Block KernelTrace::pop() {
  ast::Block statements = std::move(open.back().statements);
  open.pop_back();
  return statements;
}

KernelTrace::Id KernelTrace::beginFor(const std::vector<Named> &arguments, SourceRange where) {
  auto *stmt = make<ForStmt>(where);
  if (!diagnostics.hasErrors()) stmt->iterable = callOf("range", arguments, where);
  auto *target = make<NameExpr>(where);
  target->name = "%" + std::to_string(++names);
  stmt->target = target;
  append(stmt);
  push(Block::loop, stmt);
  return addVariable(target->name);
}

void KernelTrace::beginIf(Id condition, SourceRange where) {
  auto *stmt = make<IfStmt>(where);
  stmt->condition = use(condition, where);
  append(stmt);
  push(Block::then, stmt);
}

void KernelTrace::beginCase(Id parameter, Expr *value, SourceRange where) {
  auto *comparison = make<CompareExpr>(where); // not a variable, because it must stay a constant
  comparison->ops.push_back(CompareOp::eq);
  comparison->operands = {use(parameter, where), value};
  auto *stmt = make<IfStmt>(where);
  stmt->condition = comparison;
  append(stmt);
  push(Block::then, stmt);
}

void KernelTrace::beginElse(SourceRange where) {
  if (open.back().kind != Block::then) return fail(where, "an 'else' does not follow an 'if'", "");
  auto *stmt = cast<IfStmt>(open.back().stmt);
  stmt->then = pop();
  push(Block::otherwise, stmt);
}

void KernelTrace::beginWhile(SourceRange where) {
  auto *stmt = make<WhileStmt>(where);
  append(stmt);
  push(Block::condition, stmt);
}

/// Calls `visit` for each node below `expr` that reads a value. The nodes are those that this file makes.
static void forEachOperand(Expr *expr, llvm::function_ref<void(Expr *&)> visit) {
  auto each = [&](std::vector<Expr *> &operands) {
    for (Expr *&operand : operands)
      visit(operand);
  };
  switch (expr->kind) {
  case ExprKind::unary: return visit(cast<UnaryExpr>(expr)->operand);
  case ExprKind::binary: return visit(cast<BinaryExpr>(expr)->lhs), visit(cast<BinaryExpr>(expr)->rhs);
  case ExprKind::boolean_op: return each(cast<BoolOpExpr>(expr)->operands);
  case ExprKind::compare: return each(cast<CompareExpr>(expr)->operands);
  default: return;
  }
}

/// The condition of a while loop as one expression. Operators are nested, as in Python's `while i < n - 1`; anything else binds its
/// results on the way, as in `while (_2 := tl.load(p), _3 := _2 < n)[-1]`.
Expr *KernelTrace::conditionOf(ast::Block statements, Expr *last, SourceRange where) {
  llvm::StringMap<Expr *> values;
  bool isPlain = true;
  auto inlined = [&](Expr *&operand) {
    auto *name = llvm::dyn_cast<NameExpr>(operand);
    auto found = name ? values.find(name->name) : values.end();
    if (found == values.end()) return;
    operand = found->second;
    values.erase(found); // used twice: the name is not found, and the operators are not nested
  };
  std::vector<Expr *> sequence;
  for (Stmt *stmt : statements) {
    auto *untyped = llvm::dyn_cast<AssignStmt>(stmt);
    auto *typed = llvm::dyn_cast<AnnAssignStmt>(stmt);
    auto *run = llvm::dyn_cast<ExprStmt>(stmt);
    if (!untyped && !typed && !run)
      return fail(where, "the condition of a while loop contains a loop or a branch", "compute it in the body of the loop"), nullptr;
    Expr *value = run ? run->value : typed ? typed->value : untyped->value;
    bool isOperator = value->kind == ExprKind::unary || value->kind == ExprKind::binary || value->kind == ExprKind::boolean_op ||
                      value->kind == ExprKind::compare;
    isPlain &= isOperator;
    if (run) {
      sequence.push_back(value);
      continue;
    }
    auto *named = make<NamedExpr>(stmt->range);
    named->name = cast<NameExpr>(typed ? typed->target : untyped->targets[0])->name;
    named->value = value;
    sequence.push_back(named);
  }
  if (sequence.empty()) return last;
  llvm::StringMap<int> uses;
  auto count = [&](Expr *&operand) {
    if (auto *name = llvm::dyn_cast<NameExpr>(operand)) ++uses[name->name];
  };
  for (Expr *each : sequence)
    if (auto *named = llvm::dyn_cast<NamedExpr>(each)) forEachOperand(named->value, count);
  count(last);
  if (isPlain && llvm::all_of(sequence, [&](Expr *each) { return uses[cast<NamedExpr>(each)->name] == 1; })) {
    for (Expr *each : sequence) {
      auto *named = cast<NamedExpr>(each);
      forEachOperand(named->value, inlined);
      values[named->name] = named->value;
    }
    return inlined(last), last;
  }
  sequence.push_back(last);
  auto *all = make<TupleExpr>(where);
  all->elements = std::move(sequence);
  auto *index = make<IntegerExpr>(where);
  index->value = static_cast<__int128>(all->elements.size()) - 1;
  auto *expr = make<SubscriptExpr>(where);
  expr->object = all;
  expr->index = index;
  return expr;
}

void KernelTrace::beginBody(Id condition, SourceRange where) {
  if (open.back().kind != Block::condition) return fail(where, "the body of a while loop does not follow its condition", "");
  Expr *last = use(condition, where);
  auto *stmt = cast<WhileStmt>(open.back().stmt);
  ast::Block statements = pop();
  if (last) stmt->condition = conditionOf(std::move(statements), last, where);
  push(Block::body, stmt);
}

/// Marks the loop as one that may be left early.
void KernelTrace::allowExits(Stmt *loop) {
  auto *flag = make<BoolExpr>(loop->range);
  flag->value = true;
  auto *loopFor = llvm::dyn_cast<ForStmt>(loop);
  auto *call = llvm::dyn_cast_or_null<CallExpr>(loopFor ? loopFor->iterable : cast<WhileStmt>(loop)->condition);
  if (call && !call->keywords.empty() && call->keywords.back().name == "early_exit") return;
  if (!loopFor) {
    call = make<CallExpr>(loop->range);
    call->callee = dotted("condition", loop->range);
    call->args.push_back(cast<WhileStmt>(loop)->condition);
    cast<WhileStmt>(loop)->condition = call;
  }
  if (call) call->keywords.push_back({"early_exit", loop->range, flag});
}

void KernelTrace::exitLoop(bool isBreak, SourceRange where) {
  for (const Open &block : llvm::reverse(open)) {
    if (block.kind == Block::function || block.kind == Block::condition) break;
    if (block.kind != Block::loop && block.kind != Block::body) continue;
    if (diagnostics.hasErrors()) return;
    allowExits(block.stmt);
    return append(isBreak ? static_cast<Stmt *>(make<BreakStmt>(where)) : make<ContinueStmt>(where));
  }
  std::string name = isBreak ? "break_()" : "continue_()";
  fail(where, name + " is not inside of a loop", "call it in the body of for_range or while_");
}

void KernelTrace::returns(SourceRange where) {
  if (functionDepth() != 0) return fail(where, "return_() is inside of a function that combines elements", "return from the function");
  if (diagnostics.hasErrors()) return;
  for (const Open &block : open)
    if (block.kind == Block::loop || block.kind == Block::body) allowExits(block.stmt);
  append(make<ReturnStmt>(where));
}

void KernelTrace::end(SourceRange where) {
  if (open.size() < 2 || open.back().kind == Block::function || open.back().kind == Block::condition)
    return fail(where, "a block is ended that was not begun", "");
  Block kind = open.back().kind;
  Stmt *stmt = open.back().stmt;
  if (open.back().statements.empty()) append(make<PassStmt>(where));
  ast::Block statements = pop();
  if (kind == Block::then) cast<IfStmt>(stmt)->then = std::move(statements);
  if (kind == Block::otherwise) cast<IfStmt>(stmt)->otherwise = std::move(statements);
  if (kind == Block::loop) cast<ForStmt>(stmt)->body = std::move(statements);
  if (kind == Block::body) cast<WhileStmt>(stmt)->body = std::move(statements);
}

// ---- functions that combine elements

/// The expression triton.NAME.
static Expr *tritonName(TracedModule &module, const char *name, SourceRange place) {
  auto *root = module.make<NameExpr>(place);
  root->name = "triton";
  auto *attribute = module.make<AttributeExpr>(place);
  attribute->object = root;
  attribute->name = name;
  attribute->nameRange = place;
  return attribute;
}

std::vector<KernelTrace::Id> KernelTrace::beginFunction(size_t parameters, SourceRange where) {
  auto *stmt = make<FunctionStmt>(where);
  stmt->name = "_function" + std::to_string(++names);
  stmt->nameRange = stmt->wholeRange = where;
  stmt->decorators.push_back(tritonName(*module, "jit", where));
  push(Block::function, stmt);
  std::vector<Id> ids;
  for (size_t i = 0; i < parameters; ++i) {
    Parameter parameter;
    parameter.name = "%" + std::to_string(++names);
    parameter.range = where;
    stmt->parameters.push_back(parameter);
    ids.push_back(addVariable(parameter.name));
  }
  return ids;
}

KernelTrace::Id KernelTrace::endFunction(const std::vector<Id> &results, SourceRange where) {
  if (open.size() < 2 || open.back().kind != Block::function) return fail(where, "a function is ended that was not begun", ""), 0;
  auto *value = make<ReturnStmt>(where);
  Id all = results.size() == 1 ? results[0] : tuple(results);
  value->value = use(all, where);
  append(value);
  auto *stmt = cast<FunctionStmt>(open.back().stmt);
  stmt->body = pop();
  module->body.push_back(stmt);
  auto *name = make<NameExpr>(where);
  name->name = stmt->name;
  return constant(name);
}

// ---- the end

static Expr *listOfNames(TracedModule &module, const std::vector<std::string> &names, SourceRange place) {
  auto *list = module.make<ListExpr>(place);
  for (const std::string &name : names) {
    auto *text = module.make<StringExpr>(place);
    text->value = name;
    list->elements.push_back(text);
  }
  return list;
}

/// A misspelt name would change which launches share a configuration, or leave a tensor with the sums of all measurements.
void KernelTrace::checkTunedNames() {
  std::vector<std::string> known;
  for (const Parameter &parameter : kernel->parameters)
    known.push_back(parameter.name);
  for (auto [list, names] :
       {std::pair("the key of the tuner", &key), std::pair("reset_to_zero", &resetToZero), std::pair("restore_value", &restoreValue)})
    for (const std::string &name : *names) {
      if (llvm::is_contained(known, name)) continue;
      std::string near = nearestName(name, known);
      fail(place, std::string(list) + " has '" + name + "', which is not a parameter of kernel '" + kernel->name + "'",
           (near.empty() ? "" : "did you mean '" + near + "'? ") + "its parameters are: " + llvm::join(known, ", "));
    }
}

void KernelTrace::decorate() {
  if (!configs.empty()) {
    auto *list = make<ListExpr>(place);
    list->elements = configs;
    auto *call = make<CallExpr>(place);
    call->callee = tritonName(*module, "autotune", place);
    call->keywords = {{"configs", place, list}, {"key", place, listOfNames(*module, key, place)}};
    if (!resetToZero.empty()) call->keywords.push_back({"reset_to_zero", place, listOfNames(*module, resetToZero, place)});
    if (!restoreValue.empty()) call->keywords.push_back({"restore_value", place, listOfNames(*module, restoreValue, place)});
    kernel->decorators.push_back(call);
  }
  Expr *jit = tritonName(*module, "jit", place);
  if (!anySize) return kernel->decorators.push_back(jit);
  auto *flag = make<BoolExpr>(place);
  flag->value = true;
  auto *call = make<CallExpr>(place);
  call->callee = jit;
  call->keywords.push_back({"any_size", place, flag});
  kernel->decorators.push_back(call);
}

std::shared_ptr<const Module> KernelTrace::finish() {
  if (open.size() != 1) fail(place, "a loop, branch or function of the kernel has no end", "");
  if (!configs.empty()) checkTunedNames();
  if (diagnostics.hasErrors()) return nullptr;
  if (open.back().statements.empty()) append(make<PassStmt>(place));
  kernel->body = std::move(open.back().statements);
  decorate();
  module->body.push_back(kernel);
  return module;
}

} // namespace tilewright
