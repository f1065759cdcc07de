// Loops: the bounds, and the scf operation around a body. emit_carried.cpp handles loop-carried values.

#include "frontend/emit.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

/// A parameter of tl.range that is a hint, and the attribute of the loop that holds it.
struct LoopHint {
  llvm::StringLiteral parameter, attribute;
  bool isNumber;
};
constexpr LoopHint loopHints[] = {
    {"num_stages", tt::numStagesName, true},
    {"loop_unroll_factor", tt::unrollFactorName, true},
    {"disallow_acc_multi_buffer", tt::singleBufferName, false},
    {"flatten", tt::flattenName, false},
    {"warp_specialize", tt::warpSpecializeName, false},
    {"disable_licm", tt::noHoistingName, false},
};

// ---- for

bool Emitter::forLoop(const ast::ForStmt &stmt) {
  if (!stmt.otherwise.empty()) return refuse(stmt.range, "'for ... else'", "");
  if (!isa<ast::NameExpr>(stmt.target)) return refuse(stmt.target->range, "a loop over several variables", "use one loop variable");
  auto *iterable = dyn_cast<ast::CallExpr>(stmt.iterable);
  if (!iterable) return refuse(stmt.iterable->range, "a loop over this object", "loop over range, tl.range or tl.static_range");
  Maybe callee = expression(*iterable->callee);
  std::optional<CallArguments> args = callee ? arguments(*iterable) : std::nullopt;
  if (!args) return false;
  ops.at(stmt.range);
  const Builtin *builtin = callee->isConstant() ? callee->constant.asBuiltin() : nullptr;
  std::shared_ptr<const Callable> python = callee->isConstant() ? callee->constant.asCallable() : nullptr;
  bool isPython = python && llvm::StringRef(python->name()) == "range";
  if (isPython && !args->keywords.empty()) { // in a kernel range is tl.range, with its arguments
    builtin = findBuiltin("range");
    isPython = false;
  }
  if (!isPython && !(builtin && (builtin->path == "range" || builtin->path == "static_range")))
    return refuse(stmt.iterable->range, "a loop over this object", "loop over range, tl.range or tl.static_range");

  std::vector<Operand> bounds;
  std::vector<std::pair<std::string, Value>> wishes;
  bool unrolled = builtin && builtin->path == "static_range";
  if (isPython) {
    if (args->positional.empty() || args->positional.size() > 3) {
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
  bool leaves = llvm::any_of(wishes, [](const auto &wish) { return wish.first == "early_exit"; });
  if (leaves) return leavingFor(stmt, bounds);
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
  const Int maxIterations = 65536; // limits the copies of a body
  Int count = values[2] > 0 ? (values[1] - values[0]) / values[2] : (values[0] - values[1]) / -values[2];
  if (count > maxIterations) {
    ops.failAt(stmt.iterable->range, Diag::unrollCount, {Value::integer(count).repr(), Value::integer(maxIterations).repr()});
    return false;
  }
  Maybe ignored;
  bool good = true;
  unrolled.push_back(stmt.range);
  loops.push_back(false);
  for (Int i = values[0]; good && (values[2] > 0 ? i < values[1] : i > values[1]); i += values[2]) {
    setLocal(cast<ast::NameExpr>(stmt.target)->name, Operand::of(Value::integer(i)));
    good = step(unrolled.front()) && sequence(stmt.body, nullptr, ignored) != Flow::failed;
  }
  loops.pop_back();
  unrolled.pop_back();
  return good;
}

std::optional<std::vector<Operand>> Emitter::commonBounds(llvm::ArrayRef<Operand> given) {
  std::vector<Operand> bounds = given;
  std::optional<Type> type;
  for (Operand &bound : bounds) {
    Maybe scalar = ops.toTensor(bound);
    if (!scalar) return std::nullopt;
    if (scalar->isBlock() && scalar->type.elements() == 1) scalar = ops.item(*scalar);
    if (scalar->type == Type(Scalar::int1)) scalar = ops.cast(*scalar, Type(Scalar::int32));
    if (!scalar->type.isScalar() || !isInteger(scalar->type.scalar())) {
      return ops.fail(Diag::rangeBound, {scalar->describe()});
    }
    bound = *scalar;
    if (!type)
      type = scalar->type;
    else if (bitWidth(scalar->type.scalar()) > bitWidth(type->scalar()) ||
             (bitWidth(scalar->type.scalar()) == bitWidth(type->scalar()) && !isSigned(scalar->type.scalar())))
      type = scalar->type;
  }
  // An unsigned bound keeps its value. A signed one is extended as the common type is, because the loop compares in that type.
  auto widen = [&](Operand &bound) {
    if (bitWidth(bound.type.scalar()) == bitWidth(type->scalar())) return bound.type = *type, void();
    mlir::Type ir = ops.irType(*type);
    mlir::Value wide = isSigned(type->scalar()) && isSigned(bound.type.scalar())
                           ? arith::ExtSIOp::create(ops.b, ir, bound.handle).getResult()
                           : arith::ExtUIOp::create(ops.b, ir, bound.handle).getResult();
    bound = Operand::of(wide, *type);
  };
  llvm::for_each(bounds, widen);
  return bounds;
}

/// True if a step is positive in every launch: computed from constants and the number of programs.
static bool isPositive(mlir::Value value) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return constant.isStrictlyPositive();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tt::GetNumProgramsOp>(op)) return true;
  if (isa_and_nonnull<arith::MulIOp, arith::AddIOp, arith::MinSIOp>(op))
    return isPositive(op->getOperand(0)) && isPositive(op->getOperand(1));
  if (isa_and_nonnull<arith::MaxSIOp>(op)) return isPositive(op->getOperand(0)) || isPositive(op->getOperand(1));
  return isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) && isPositive(op->getOperand(0));
}

void Emitter::checkStep(const Operand &step) {
  if (isPositive(step.handle)) return;
  Maybe holds = ops.compare(ast::CompareOp::gt, step, Operand::of(Value::integer(0)));
  if (holds) tt::AssertOp::create(ops.b, holds->handle, ops.b.getStringAttr("the step of a loop must be positive"));
}

/// True for a constant unsigned step of at least half the range: MLIR folds a loop as if its step were signed.
static bool hasNegativeBits(const Operand &step) {
  llvm::APInt constant;
  return !isSigned(step.type.scalar()) && matchPattern(step.handle, m_ConstantInt(&constant)) && constant.isNegative();
}

/// Makes the loop one of 64 signed bits, which hold all unsigned numbers of 32. False after an error.
static bool widenLoop(Semantics &ops, Operand &low, Operand &high, Operand &step) {
  if (bitWidth(low.type.scalar()) > 32) return ops.fail(Diag::rangeBound, {"a step of 2**63 or more"}), false;
  for (Operand *bound : {&low, &high, &step})
    *bound = Operand::of(arith::ExtUIOp::create(ops.b, ops.irType(Type(Scalar::int64)), bound->handle), Type(Scalar::int64));
  return true;
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
    if (*constant < 0) { // scf.for only counts up: negate the induction variable
      falling = true;
      step = Operand::of(Value::integer(-*constant));
      std::swap(low, high);
    }
  }
  ops.at(stmt.iterable->range);
  std::optional<std::vector<Operand>> bounds = commonBounds({low, high, step});
  if (!bounds) return false;
  low = (*bounds)[0], high = (*bounds)[1], step = (*bounds)[2];
  checkStep(step);
  Type type = low.type;
  if (hasNegativeBits(step) && !widenLoop(ops, low, high, step)) return false;
  ops.at(stmt.range);

  std::unique_ptr<Block> body;
  llvm::SmallVector<mlir::Value> ends;
  auto emit = [&](LoopState &state) {
    OpBuilder::InsertionGuard guard(ops.b);
    body = std::make_unique<Block>();
    mlir::Value index = body->addArgument(low.handle.getType(), NameLoc::get(ops.b.getStringAttr(target), ops.b.getLoc()));
    ops.b.setInsertionPointToStart(body.get());
    enterCarried(state, *body);
    if (falling) index = arith::AddIOp::create(ops.b, arith::SubIOp::create(ops.b, high.handle, index), low.handle);
    if (low.type != type) index = arith::TruncIOp::create(ops.b, ops.irType(type), index);
    setLocal(target, Operand::of(index, type));
    std::optional<llvm::SmallVector<mlir::Value>> atEnd = loopBody(stmt, stmt.body, false) ? endCarried(state, *body, 1) : std::nullopt;
    if (atEnd) ends = std::move(*atEnd);
    return atEnd.has_value();
  };
  auto close = [&](LoopState &state) -> ValueRange {
    auto loop = scf::ForOp::create(ops.b, low.handle, high.handle, step.handle, state.ofChanged(state.inits), nullptr,
                                   !isSigned(low.type.scalar()));
    terminate(*body, [&] { scf::YieldOp::create(ops.b, state.ofChanged(ends)); });
    state.moveInto(*body, 1, *loop.getBody());
    for (auto &[wish, value] : wishes) {
      const LoopHint &hint = *llvm::find_if(loopHints, [&](const LoopHint &each) { return each.parameter == wish; });
      if (hint.isNumber)
        loop->setAttr(hint.attribute, ops.b.getI32IntegerAttr(static_cast<int32_t>(value.toInt().value_or(0))));
      else
        loop->setAttr(hint.attribute, ops.b.getUnitAttr());
    }
    return loop.getResults();
  };
  return carryLoop(stmt, emit, close);
}

bool Emitter::loopBody(const ast::Stmt &loop, llvm::ArrayRef<ast::Stmt *> body, bool leaves) {
  ++loopDepth;
  loops.push_back(leaves);
  deepest = std::max(deepest, ++level);
  Maybe ignored;
  bool good = sequence(body, nullptr, ignored) != Flow::failed;
  loops.pop_back();
  --loopDepth;
  --level;
  ops.at(loop.range);
  return good;
}

void Emitter::terminate(Block &block, llvm::function_ref<void()> makeTerminator) {
  OpBuilder::InsertionGuard guard(ops.b);
  ops.b.setInsertionPointToEnd(&block);
  makeTerminator();
}

// ---- while

ValueRange Emitter::closeWhile(LoopState &state, Block &test, mlir::Value holds, llvm::ArrayRef<mlir::Value> passed, Block &body,
                               llvm::ArrayRef<mlir::Value> ends) {
  llvm::SmallVector<mlir::Value> inits = state.ofChanged(state.inits), results = state.ofChanged(passed);
  auto loop = scf::WhileOp::create(ops.b, TypeRange(ValueRange(results)), inits);
  terminate(test, [&] { scf::ConditionOp::create(ops.b, holds, results); });
  terminate(body, [&] { scf::YieldOp::create(ops.b, state.ofChanged(ends)); });
  auto fill = [&](Region &region, Block &block, ValueRange like) {
    OpBuilder::InsertionGuard guard(ops.b);
    llvm::SmallVector<mlir::Location> locations(like.size(), ops.b.getLoc());
    if (region.empty()) ops.b.createBlock(&region, region.end(), TypeRange(like), locations);
    state.moveInto(block, 0, region.front());
  };
  fill(loop.getBefore(), test, inits);
  fill(loop.getAfter(), body, results);
  return loop.getResults();
}

// The body gets the values of the condition, including those that the condition assigns.
bool Emitter::whileLoop(const ast::WhileStmt &stmt) {
  if (!stmt.otherwise.empty()) return refuse(stmt.range, "'while ... else'", "");
  if (asksForExit(stmt)) return leavingWhile(stmt);
  std::unique_ptr<Block> test, body;
  mlir::Value holds;
  llvm::SmallVector<mlir::Value> passed, ends;
  auto emit = [&](LoopState &state) {
    OpBuilder::InsertionGuard guard(ops.b);
    test = std::make_unique<Block>();
    body = std::make_unique<Block>();
    ops.b.setInsertionPointToStart(test.get());
    enterCarried(state, *test);
    Maybe value = condition(*stmt.condition);
    if (value) value = ops.truth(*value);
    ops.at(stmt.range);
    std::optional<llvm::SmallVector<mlir::Value>> seen = value ? endCarried(state, *test, 0) : std::nullopt;
    if (!seen || !state.decays.empty() || !state.lost.empty()) return seen.has_value();
    holds = value->handle;
    passed = std::move(*seen);
    for (auto &[name, fresh] : locals)
      if (!state.before.count(name)) state.fresh.insert({name, fresh});
    enterCarried(state, *body);
    for (auto &[name, fresh] : state.fresh) {
      llvm::SmallVector<mlir::Value> handles, inside;
      flatten(fresh, handles);
      passed.append(handles);
      for (mlir::Value handle : handles)
        inside.push_back(body->addArgument(handle.getType(), ops.b.getLoc()));
      llvm::ArrayRef<mlir::Value> rest = inside;
      locals[name] = rebuild(fresh, rest);
    }
    ops.b.setInsertionPointToStart(body.get());
    std::optional<llvm::SmallVector<mlir::Value>> atEnd = loopBody(stmt, stmt.body, false) ? endCarried(state, *body, 0) : std::nullopt;
    if (atEnd) ends = std::move(*atEnd);
    return atEnd.has_value();
  };
  auto close = [&](LoopState &state) { return closeWhile(state, *test, holds, passed, *body, ends); };
  return carryLoop(stmt, emit, close);
}

} // namespace tilewright
