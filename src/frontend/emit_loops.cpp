// Loops. A loop carries the names that its body gives another value. Which ones these are is seen by emitting the body once, with all
// candidates (names that the body assigns) as block arguments; those that come out as they went in are put back.
//
// A name that is a constexpr before the loop and a run-time value at the end of the body becomes a run-time value before the loop, and the
// body is emitted again. Names that first appear inside a loop are not known after it: it may not have run.

#include "frontend/emit.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- what a body assigns

static void namesOfTarget(const ast::Expr *target, llvm::SmallVectorImpl<llvm::StringRef> &names) {
  if (auto *name = dyn_cast<ast::NameExpr>(target)) names.push_back(name->name);
  if (auto *tuple = dyn_cast<ast::TupleExpr>(target))
    for (const ast::Expr *element : tuple->elements)
      namesOfTarget(element, names);
  if (auto *list = dyn_cast<ast::ListExpr>(target))
    for (const ast::Expr *element : list->elements)
      namesOfTarget(element, names);
}

// `name := value` inside the operators and calls that a condition is made of.
static void namesOfExpression(const ast::Expr *expr, llvm::SmallVectorImpl<llvm::StringRef> &names) {
  if (!expr) return;
  if (auto *named = dyn_cast<ast::NamedExpr>(expr)) {
    names.push_back(named->name);
    namesOfExpression(named->value, names);
  } else if (auto *compare = dyn_cast<ast::CompareExpr>(expr)) {
    for (const ast::Expr *operand : compare->operands)
      namesOfExpression(operand, names);
  } else if (auto *boolean = dyn_cast<ast::BoolOpExpr>(expr)) {
    for (const ast::Expr *operand : boolean->operands)
      namesOfExpression(operand, names);
  } else if (auto *binary = dyn_cast<ast::BinaryExpr>(expr)) {
    namesOfExpression(binary->lhs, names);
    namesOfExpression(binary->rhs, names);
  } else if (auto *unary = dyn_cast<ast::UnaryExpr>(expr)) {
    namesOfExpression(unary->operand, names);
  } else if (auto *call = dyn_cast<ast::CallExpr>(expr)) {
    for (const ast::Expr *argument : call->args)
      namesOfExpression(argument, names);
    for (const ast::Keyword &keyword : call->keywords)
      namesOfExpression(keyword.value, names);
  }
}

void assignedNames(llvm::ArrayRef<ast::Stmt *> statements, llvm::SmallVectorImpl<llvm::StringRef> &names) {
  for (const ast::Stmt *stmt : statements) {
    if (auto *assignment = dyn_cast<ast::AssignStmt>(stmt)) {
      for (const ast::Expr *target : assignment->targets)
        namesOfTarget(target, names);
      namesOfExpression(assignment->value, names);
    } else if (auto *augmented = dyn_cast<ast::AugAssignStmt>(stmt)) {
      namesOfTarget(augmented->target, names);
      namesOfExpression(augmented->value, names);
    } else if (auto *annotated = dyn_cast<ast::AnnAssignStmt>(stmt)) {
      if (annotated->value) namesOfTarget(annotated->target, names);
    } else if (auto *expression = dyn_cast<ast::ExprStmt>(stmt)) {
      namesOfExpression(expression->value, names);
    } else if (auto *branch = dyn_cast<ast::IfStmt>(stmt)) {
      namesOfExpression(branch->condition, names);
      assignedNames(branch->then, names);
      assignedNames(branch->otherwise, names);
    } else if (auto *loop = dyn_cast<ast::ForStmt>(stmt)) {
      assignedNames(loop->body, names);
    } else if (auto *loop = dyn_cast<ast::WhileStmt>(stmt)) {
      namesOfExpression(loop->condition, names);
      assignedNames(loop->body, names);
    }
  }
}

bool containsReturn(const ast::Stmt &stmt) {
  auto any = [](llvm::ArrayRef<ast::Stmt *> body) {
    return llvm::any_of(body, [](const ast::Stmt *inner) { return containsReturn(*inner); });
  };
  if (isa<ast::ReturnStmt>(stmt)) return true;
  if (auto *branch = dyn_cast<ast::IfStmt>(&stmt)) return any(branch->then) || any(branch->otherwise);
  if (auto *loop = dyn_cast<ast::ForStmt>(&stmt)) return any(loop->body);
  if (auto *loop = dyn_cast<ast::WhileStmt>(&stmt)) return any(loop->body);
  return false;
}

std::vector<llvm::StringRef> Emitter::candidates(llvm::ArrayRef<ast::Stmt *> body, llvm::StringRef except) {
  llvm::SmallVector<llvm::StringRef> assigned;
  assignedNames(body, assigned);
  std::vector<llvm::StringRef> names;
  for (auto &[name, value] : locals)
    if (name != except && llvm::is_contained(assigned, name)) names.push_back(name);
  return names;
}

// ---- carried values

std::vector<Emitter::Carried> Emitter::enterCarried(Block &block, llvm::ArrayRef<llvm::StringRef> names) {
  std::vector<Carried> carried;
  for (llvm::StringRef name : names) {
    Operand before = locals.find(name)->second;
    llvm::SmallVector<mlir::Value> handles;
    flatten(before, handles);
    if (handles.empty()) continue;
    size_t first = block.getNumArguments();
    llvm::SmallVector<mlir::Value> inside;
    for (mlir::Value handle : handles)
      inside.push_back(block.addArgument(handle.getType(), NameLoc::get(ops.b.getStringAttr(name), ops.b.getLoc())));
    llvm::ArrayRef<mlir::Value> rest = inside;
    locals[name] = rebuild(before, rest);
    carried.push_back({name, std::move(before), first, handles.size()});
  }
  return carried;
}

static int64_t lineOf(SourceRange range) {
  return range.file ? range.file->position(range.begin).line : 0;
}

// The last statement of a body that assigns `name`: the place to point at where its type is wrong.
static std::optional<SourceRange> lastAssignment(llvm::ArrayRef<ast::Stmt *> body, llvm::StringRef name) {
  for (const ast::Stmt *stmt : llvm::reverse(body)) {
    llvm::SmallVector<llvm::StringRef> names;
    assignedNames({const_cast<ast::Stmt *>(stmt)}, names);
    if (!llvm::is_contained(names, name)) continue;
    std::optional<SourceRange> inner;
    if (auto *branch = dyn_cast<ast::IfStmt>(stmt)) {
      inner = lastAssignment(branch->otherwise, name);
      if (!inner) inner = lastAssignment(branch->then, name);
    } else if (auto *loop = dyn_cast<ast::ForStmt>(stmt)) {
      inner = lastAssignment(loop->body, name);
    } else if (auto *loop = dyn_cast<ast::WhileStmt>(stmt)) {
      inner = lastAssignment(loop->body, name);
    }
    return inner ? inner : stmt->range;
  }
  return std::nullopt;
}

bool Emitter::failCarried(const ast::Stmt &loop, llvm::StringRef name, const Operand &before, const Operand &after) {
  llvm::ArrayRef<ast::Stmt *> body = isa<ast::ForStmt>(loop) ? cast<ast::ForStmt>(loop).body : cast<ast::WhileStmt>(loop).body;
  SourceRange place = lastAssignment(body, name).value_or(loop.range);
  ops.failAt(place, Diag::loopCarriedType, {name.str(), before.describe(), std::to_string(lineOf(loop.range)), after.describe()});
  return false;
}

bool Emitter::compareCarried(const ast::Stmt &loop, llvm::ArrayRef<llvm::StringRef> names, const Locals &before,
                             llvm::ArrayRef<Carried> carried, std::vector<Carried> &changed, std::vector<llvm::StringRef> &decays) {
  for (llvm::StringRef name : names) {
    auto end = locals.find(name);
    if (end == locals.end()) continue; // the variable of an inner loop, gone after it
    const Operand &was = before.find(name)->second;
    const Carried *entry = llvm::find_if(carried, [&](const Carried &c) { return c.name == name; });
    if (entry == carried.end()) { // a constexpr, or a tuple of them
      if (sameType(was, end->second)) continue;
      bool number = was.isNumber() || (was.isTuple() && llvm::all_of(was.items, [](const Operand &item) { return item.isNumber(); }));
      if (!number) return failCarried(loop, name, was, end->second);
      decays.push_back(name);
      continue;
    }
    llvm::SmallVector<mlir::Value> handles;
    flatten(end->second, handles);
    bool same = handles.size() == entry->count;
    for (size_t i = 0; same && i < handles.size(); ++i) {
      auto argument = dyn_cast<BlockArgument>(handles[i]);
      same = argument && argument.getOwner() == ops.b.getInsertionBlock() && argument.getArgNumber() == entry->firstArgument + i;
    }
    if (!sameType(was, end->second)) {
      if (end->second.isNumber()) { // `x = 4` under a constexpr annotation, or an argument: take its value
        Maybe tensor = ops.toTensor(end->second);
        if (!tensor) return false;
        end->second = *tensor;
      }
      if (!sameType(was, end->second)) return failCarried(loop, name, was, end->second);
      same = false;
    }
    if (!same) changed.push_back(*entry);
  }
  return true;
}

bool Emitter::decayLocals(llvm::ArrayRef<llvm::StringRef> names) {
  for (llvm::StringRef name : names) {
    Maybe tensor = ops.decay(locals.find(name)->second);
    if (!tensor) return false;
    locals[name] = *tensor;
  }
  return true;
}

// Block arguments of unchanged names become what they were before the loop; those of changed names keep their order.
static void dropUnchanged(Block &block, size_t keep, llvm::ArrayRef<mlir::Value> inits, const llvm::SmallBitVector &changed) {
  for (size_t i = inits.size(); i-- > 0;) {
    if (changed.test(i)) continue;
    block.getArgument(keep + i).replaceAllUsesWith(inits[i]);
    block.eraseArgument(keep + i);
  }
}

void Emitter::leaveLoop(Locals before, llvm::ArrayRef<Carried> changed, ValueRange results, llvm::ArrayRef<llvm::StringRef> inner,
                        const ast::Stmt &loop) {
  std::vector<llvm::StringRef> fresh;
  for (auto &[name, value] : locals)
    if (!before.count(name)) fresh.push_back(name);
  locals = std::move(before);
  std::string why = "inside the loop on line " + std::to_string(lineOf(loop.range));
  for (llvm::StringRef name : fresh)
    forgotten[name] = why;
  for (llvm::StringRef name : inner)
    forget(name, why);
  llvm::SmallVector<mlir::Value> handles(results);
  llvm::ArrayRef<mlir::Value> rest = handles;
  for (const Carried &entry : changed)
    setLocal(entry.name, rebuild(entry.before, rest));
}

// ---- for

bool Emitter::forLoop(const ast::ForStmt &stmt) {
  if (!stmt.otherwise.empty()) return refuse(stmt.range, "'for ... else'", "");
  if (!isa<ast::NameExpr>(stmt.target)) return refuse(stmt.target->range, "a loop over several variables", "use one loop variable");
  auto *iterable = dyn_cast<ast::CallExpr>(stmt.iterable);
  if (!iterable) return refuse(stmt.iterable->range, "a loop over this", "loop over range, tl.range or tl.static_range");
  Maybe callee = expression(*iterable->callee);
  std::optional<CallArguments> args = callee ? arguments(*iterable) : std::nullopt;
  if (!args) return false;
  ops.at(stmt.range);
  const Builtin *builtin = callee->isConstant() ? callee->constant.asBuiltin() : nullptr;
  std::shared_ptr<const Callable> python = callee->isConstant() ? callee->constant.asCallable() : nullptr;
  bool isPython = python && llvm::StringRef(python->name()) == "range";
  if (!isPython && !(builtin && (builtin->path == "range" || builtin->path == "static_range")))
    return refuse(stmt.iterable->range, "a loop over this", "loop over range, tl.range or tl.static_range");

  std::vector<Operand> bounds;
  std::vector<std::pair<std::string, Value>> wishes;
  bool unrolled = builtin && builtin->path == "static_range";
  if (isPython) {
    if (args->positional.empty() || args->positional.size() > 3 || !args->keywords.empty()) {
      ops.failAt(args->range, Diag::rangeArguments, {});
      return false;
    }
    bounds = args->positional;
  } else {
    SourceRange range = args->range;
    std::optional<Arguments> bound = bind(*builtin, std::move(*args));
    if (!bound) return false;
    for (size_t i = 0; i < 3; ++i)
      if (i == 0 || !bound->isNone(i)) {
        if (i == 2 && bounds.size() == 1) bounds.insert(bounds.begin(), Operand::of(Value::integer(0)));
        bounds.push_back((*bound)[i]);
      }
    for (size_t i = 3; i < bound->values.size(); ++i) {
      std::optional<Value> value = bound->constant(i);
      if (!value) return false;
      if (!value->isNone() && value->truth())
        wishes.push_back({bound->names[i], *value});
      else if (bound->names[i] == "num_stages" && value->toInt())
        wishes.push_back({bound->names[i], *value});
    }
    ops.where = range;
  }
  if (bounds.size() == 1) bounds.insert(bounds.begin(), Operand::of(Value::integer(0)));
  if (bounds.size() == 2) bounds.push_back(Operand::of(Value::integer(1)));
  return unrolled ? unrolledLoop(stmt, bounds) : runtimeLoop(stmt, bounds, wishes);
}

bool Emitter::unrolledLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> bounds) {
  Int values[3];
  for (int i = 0; i < 3; ++i) {
    std::optional<Int> value = bounds[i].isConstant() ? bounds[i].constant.toInt() : std::nullopt;
    if (!value) {
      ops.failAt(stmt.iterable->range, Diag::constexprExpected, {"a bound of tl.static_range", bounds[i].describe()});
      return false;
    }
    values[i] = *value;
  }
  if (values[2] == 0) {
    ops.failAt(stmt.iterable->range, Diag::rangeStep, {});
    return false;
  }
  const Int most = 65536; // more copies of a body than any kernel wants
  Int count = values[2] > 0 ? (values[1] - values[0]) / values[2] : (values[0] - values[1]) / -values[2];
  if (count > most) {
    ops.failAt(stmt.iterable->range, Diag::unrollCount, {Value::integer(count).repr(), Value::integer(most).repr()});
    return false;
  }
  Maybe ignored;
  bool good = true;
  ++unrollDepth;
  for (Int i = values[0]; good && (values[2] > 0 ? i < values[1] : i > values[1]); i += values[2]) {
    setLocal(cast<ast::NameExpr>(stmt.target)->name, Operand::of(Value::integer(i)));
    good = sequence(stmt.body, nullptr, ignored) != Flow::failed;
  }
  --unrollDepth;
  return good;
}

bool Emitter::runtimeLoop(const ast::ForStmt &stmt, llvm::ArrayRef<Operand> given, llvm::ArrayRef<std::pair<std::string, Value>> wishes) {
  llvm::StringRef target = cast<ast::NameExpr>(stmt.target)->name;
  Operand low = given[0], high = given[1], step = given[2];
  bool falling = false;
  if (std::optional<Int> constant = step.isConstant() ? step.constant.toInt() : std::nullopt) {
    if (*constant == 0) {
      ops.failAt(stmt.iterable->range, Diag::rangeStep, {});
      return false;
    }
    if (*constant < 0) { // scf.for only rises: run the mirror image
      falling = true;
      step = Operand::of(Value::integer(-*constant));
      std::swap(low, high);
    }
  }
  ops.at(stmt.iterable->range);
  std::optional<Type> type;
  for (Operand *bound : {&low, &high, &step}) {
    Maybe scalar = ops.toTensor(*bound);
    if (!scalar) return false;
    if (scalar->isBlock() && scalar->type.elements() == 1) scalar = ops.item(*scalar);
    if (scalar->type == Type(Scalar::int1)) scalar = ops.cast(*scalar, Type(Scalar::int32));
    if (!scalar->type.isScalar() || !isInteger(scalar->type.scalar())) {
      ops.fail(Diag::rangeBound, {scalar->describe()});
      return false;
    }
    *bound = *scalar;
    if (!type)
      type = scalar->type;
    else if (bitWidth(scalar->type.scalar()) > bitWidth(type->scalar()) ||
             (bitWidth(scalar->type.scalar()) == bitWidth(type->scalar()) && !isSigned(scalar->type.scalar())))
      type = scalar->type;
  }
  // Widened by the common type's signedness, as the loop compares in it.
  auto widen = [&](Operand &bound) {
    if (bitWidth(bound.type.scalar()) == bitWidth(type->scalar())) return bound.type = *type, void();
    mlir::Type ir = ops.irType(*type);
    mlir::Value wide = isSigned(type->scalar()) ? arith::ExtSIOp::create(ops.b, ir, bound.handle).getResult()
                                                : arith::ExtUIOp::create(ops.b, ir, bound.handle).getResult();
    bound = Operand::of(wide, *type);
  };
  for (Operand *bound : {&low, &high, &step})
    widen(*bound);
  ops.at(stmt.range);

  std::vector<llvm::StringRef> decayed;
  while (true) {
    if (!decayLocals(decayed)) return false;
    Locals before = locals;
    std::vector<llvm::StringRef> names = candidates(stmt.body, target);
    auto body = std::make_unique<Block>();
    mlir::Value induction = body->addArgument(low.handle.getType(), NameLoc::get(ops.b.getStringAttr(target), ops.b.getLoc()));
    std::vector<Carried> carried = enterCarried(*body, names), changed;
    std::vector<llvm::StringRef> decays;
    llvm::SmallVector<mlir::Value> yields;
    {
      OpBuilder::InsertionGuard guard(ops.b);
      ops.b.setInsertionPointToStart(body.get());
      mlir::Value index = induction;
      if (falling) index = arith::AddIOp::create(ops.b, arith::SubIOp::create(ops.b, high.handle, index), low.handle);
      setLocal(target, Operand::of(index, *type));
      ++loopDepth;
      Maybe ignored;
      bool good = sequence(stmt.body, nullptr, ignored) != Flow::failed;
      --loopDepth;
      ops.at(stmt.range);
      good = good && compareCarried(stmt, names, before, carried, changed, decays);
      if (!good) return false;
      for (const Carried &entry : changed)
        flatten(locals.find(entry.name)->second, yields);
    }
    if (!decays.empty()) {
      decayed = decays;
      locals = before;
      continue;
    }
    llvm::SmallVector<mlir::Value> inits, changedInits;
    for (const Carried &entry : carried)
      flatten(entry.before, inits);
    llvm::SmallBitVector isChanged(inits.size());
    for (const Carried &entry : changed)
      isChanged.set(entry.firstArgument - 1, entry.firstArgument - 1 + entry.count);
    for (size_t i = 0; i < inits.size(); ++i)
      if (isChanged.test(i)) changedInits.push_back(inits[i]);

    bool isUnsigned = !isSigned(type->scalar());
    auto loop = scf::ForOp::create(ops.b, low.handle, high.handle, step.handle, changedInits, nullptr, isUnsigned);
    loop.getBody()->clear();
    // The yield goes in before unchanged arguments are replaced, so that it is updated too.
    {
      OpBuilder::InsertionGuard guard(ops.b);
      ops.b.setInsertionPointToEnd(body.get());
      scf::YieldOp::create(ops.b, yields);
    }
    dropUnchanged(*body, 1, inits, isChanged);
    for (auto [argument, replacement] : llvm::zip(body->getArguments(), loop.getBody()->getArguments())) {
      replacement.setLoc(argument.getLoc());
      argument.replaceAllUsesWith(replacement);
    }
    loop.getBody()->getOperations().splice(loop.getBody()->end(), body->getOperations());
    for (auto &[wish, value] : wishes) {
      std::string attribute = "tt." + wish;
      if (wish == "num_stages" || wish == "loop_unroll_factor")
        loop->setAttr(attribute, ops.b.getI32IntegerAttr(static_cast<int32_t>(value.toInt().value_or(0))));
      else
        loop->setAttr(attribute, ops.b.getUnitAttr());
    }
    leaveLoop(std::move(before), changed, loop.getResults(), {target}, stmt);
    return true;
  }
}

// ---- while

bool Emitter::whileLoop(const ast::WhileStmt &stmt) {
  if (!stmt.otherwise.empty()) return refuse(stmt.range, "'while ... else'", "");
  llvm::SmallVector<llvm::StringRef> inCondition;
  namesOfExpression(stmt.condition, inCondition);
  if (!inCondition.empty())
    return refuse(stmt.condition->range, "':=' in the condition of a 'while'", "assign before the loop and at its end");
  std::vector<llvm::StringRef> decayed;
  while (true) {
    if (!decayLocals(decayed)) return false;
    Locals before = locals;
    std::vector<llvm::StringRef> names = candidates(stmt.body, "");
    auto test = std::make_unique<Block>(), body = std::make_unique<Block>();
    std::vector<Carried> carried = enterCarried(*test, names), changed;
    std::vector<llvm::StringRef> decays;
    mlir::Value condition_;
    llvm::SmallVector<mlir::Value> yields;
    {
      OpBuilder::InsertionGuard guard(ops.b);
      ops.b.setInsertionPointToStart(test.get());
      Maybe value = condition(*stmt.condition);
      if (value) value = ops.truth(*value);
      if (!value) return false;
      condition_ = value->handle;
      // Into the body go the values that the condition has seen.
      locals = before;
      enterCarried(*body, names);
      ops.b.setInsertionPointToStart(body.get());
      ++loopDepth;
      Maybe ignored;
      bool good = sequence(stmt.body, nullptr, ignored) != Flow::failed;
      --loopDepth;
      ops.at(stmt.range);
      good = good && compareCarried(stmt, names, before, carried, changed, decays);
      if (!good) return false;
      for (const Carried &entry : changed)
        flatten(locals.find(entry.name)->second, yields);
    }
    if (!decays.empty()) {
      decayed = decays;
      locals = before;
      continue;
    }
    llvm::SmallVector<mlir::Value> inits, changedInits;
    for (const Carried &entry : carried)
      flatten(entry.before, inits);
    llvm::SmallBitVector isChanged(inits.size());
    for (const Carried &entry : changed)
      isChanged.set(entry.firstArgument, entry.firstArgument + entry.count);
    for (size_t i = 0; i < inits.size(); ++i)
      if (isChanged.test(i)) changedInits.push_back(inits[i]);

    llvm::SmallVector<mlir::Type> types;
    llvm::SmallVector<mlir::Location> locations;
    for (mlir::Value init : changedInits) {
      types.push_back(init.getType());
      locations.push_back(ops.b.getLoc());
    }
    auto loop = scf::WhileOp::create(ops.b, types, changedInits);
    for (Block *block : {test.get(), body.get()}) {
      OpBuilder::InsertionGuard guard(ops.b);
      ops.b.setInsertionPointToEnd(block);
      if (block == body.get()) {
        scf::YieldOp::create(ops.b, yields);
      } else {
        llvm::SmallVector<mlir::Value> passed;
        for (size_t i = 0; i < inits.size(); ++i)
          if (isChanged.test(i)) passed.push_back(block->getArgument(i));
        scf::ConditionOp::create(ops.b, condition_, passed);
      }
      dropUnchanged(*block, 0, inits, isChanged);
      Region &region = block == test.get() ? loop.getBefore() : loop.getAfter();
      if (region.empty()) ops.b.createBlock(&region, region.end(), types, locations);
      Block &into = region.front();
      into.clear();
      for (auto [argument, replacement] : llvm::zip(block->getArguments(), into.getArguments())) {
        replacement.setLoc(argument.getLoc());
        argument.replaceAllUsesWith(replacement);
      }
      into.getOperations().splice(into.end(), block->getOperations());
    }
    leaveLoop(std::move(before), changed, loop.getResults(), {}, stmt);
    return true;
  }
}

} // namespace tilewright
