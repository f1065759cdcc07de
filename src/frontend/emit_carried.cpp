// Loop-carried values: the names to which the body, or the condition of a `while`, assigns another value.
//
//   s = 0                                    %s = scf.for ... iter_args(%arg = %zero) {
//   for i in range(n):                         %next = arith.addi %arg, %i
//     s += i                                   scf.yield %next
//
// To find them, the emitter emits the body with a block argument for each bound name that has a value before the loop. Unchanged names get
// their old values back. The body is emitted again in two cases:
// - A name is a constexpr before the loop and a run-time value at its end: it becomes a run-time value before the loop.
// - A name is the variable of a loop and changes its type: the name then has no value in and after the loop.
// Names that first appear inside a loop are undefined after it, because the loop may not run. The condition of a `while` always runs, so
// its names stay defined.

#include "frontend/emit.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {

static int64_t lineOf(SourceRange range) {
  return range.file ? range.file->position(range.begin).line : 0;
}

llvm::SmallVector<mlir::Value> LoopState::ofChanged(llvm::ArrayRef<mlir::Value> all) const {
  llvm::SmallVector<mlir::Value> values;
  for (size_t i = 0; i < inits.size(); ++i)
    if (changed.test(i)) values.push_back(all[i]);
  values.append(all.begin() + inits.size(), all.end());
  return values;
}

void Emitter::enterCarried(const LoopState &state, Block &block) {
  for (const LoopState::Carried &entry : state.carried) {
    llvm::SmallVector<mlir::Value> inside;
    for (size_t i = entry.first; i < entry.first + entry.count; ++i)
      inside.push_back(block.addArgument(state.inits[i].getType(), NameLoc::get(ops.b.getStringAttr(entry.name), ops.b.getLoc())));
    llvm::ArrayRef<mlir::Value> rest = inside;
    locals[entry.name] = rebuild(entry.before, rest);
  }
}

// True if `name` is the variable of a `for` in the statement.
static bool isLoopVariable(const ast::Stmt &stmt, llvm::StringRef name) {
  if (auto *loop = dyn_cast<ast::ForStmt>(&stmt))
    if (auto *target = dyn_cast<ast::NameExpr>(loop->target); target && target->name == name) return true;
  bool found = false;
  ast::forEachPart(stmt, [](const ast::Expr &) {}, [&](const ast::Stmt &inner) { found = found || isLoopVariable(inner, name); });
  return found;
}

// Returns the last statement of a loop that binds `name`, for errors about its type.
static const ast::Stmt &lastBinding(const ast::Stmt &stmt, llvm::StringRef name) {
  const ast::Stmt *last = nullptr;
  auto look = [&](const ast::Stmt &inner) {
    if (ast::boundNames(inner).contains(name)) last = &inner;
  };
  ast::forEachPart(stmt, [](const ast::Expr &) {}, look);
  return last ? lastBinding(*last, name) : stmt;
}

bool Emitter::failCarried(const LoopState &state, llvm::StringRef name, const Operand &before, const Operand &after) {
  ops.failAt(lastBinding(state.stmt, name).range, Diag::loopCarriedType,
             {name.str(), before.describeWhole(), std::to_string(lineOf(state.stmt.range)), after.describeWhole()});
  return false;
}

// Handles a constexpr that has another value at the end of the body.
bool Emitter::endConstant(LoopState &state, llvm::StringRef name) {
  auto end = locals.find(name);
  if (end == locals.end()) return state.lost.push_back(name), true;
  const Operand &was = state.before.find(name)->second;
  if (sameType(was, end->second)) return true;
  bool number = was.isNumber() || (was.isTuple() && llvm::all_of(was.items, [](const Operand &item) { return item.isNumber(); }));
  if (number) return state.decays.push_back(name), true;
  if (isLoopVariable(state.stmt, name)) return state.lost.push_back(name), true;
  return failCarried(state, name, was, end->second);
}

std::optional<llvm::SmallVector<mlir::Value>> Emitter::endCarried(LoopState &state, Block &block, size_t keep) {
  llvm::SmallVector<mlir::Value> ends;
  for (llvm::StringRef name : state.constants)
    if (!endConstant(state, name)) return std::nullopt;
  for (const LoopState::Carried &entry : state.carried) {
    auto end = locals.find(entry.name);
    if (end != locals.end() && !sameType(entry.before, end->second) && end->second.isNumber()) {
      Maybe tensor = ops.toTensor(end->second); // `x = 4` under a constexpr annotation, or an argument: take its value
      if (!tensor) return std::nullopt;
      end->second = *tensor;
    }
    if (end == locals.end() || !sameType(entry.before, end->second)) {
      if (end != locals.end() && !isLoopVariable(state.stmt, entry.name)) {
        failCarried(state, entry.name, entry.before, end->second);
        return std::nullopt;
      }
      state.lost.push_back(entry.name);
      ends.append(entry.count, mlir::Value());
      continue;
    }
    flatten(end->second, ends);
    for (size_t i = entry.first; i < entry.first + entry.count; ++i)
      if (ends[i] != block.getArgument(keep + i)) state.changed.set(entry.first, entry.first + entry.count);
  }
  return ends;
}

// Replaces block arguments of unchanged names by the values before the loop. Those of changed names keep their order.
void LoopState::moveInto(Block &from, size_t keep, Block &into) const {
  for (size_t i = inits.size(); i-- > 0;) {
    if (changed.test(i)) continue;
    from.getArgument(keep + i).replaceAllUsesWith(inits[i]);
    from.eraseArgument(keep + i);
  }
  into.clear();
  for (auto [argument, replacement] : llvm::zip(from.getArguments(), into.getArguments())) {
    replacement.setLoc(argument.getLoc());
    argument.replaceAllUsesWith(replacement);
  }
  into.getOperations().splice(into.end(), from.getOperations());
}

void Emitter::leaveLoop(LoopState &state, ValueRange results) {
  std::string why = "inside the loop on line " + std::to_string(lineOf(state.stmt.range));
  for (auto &[name, value] : locals)
    if (!state.before.count(name)) forgotten[name] = why;
  locals = std::move(state.before);
  llvm::SmallVector<mlir::Value> handles(results);
  llvm::ArrayRef<mlir::Value> rest = handles;
  for (const LoopState::Carried &entry : state.carried)
    if (state.changed.test(entry.first)) setLocal(entry.name, rebuild(entry.before, rest));
  for (auto &[name, value] : state.fresh)
    setLocal(name, rebuild(value, rest));
}

bool Emitter::carryLoop(const ast::Stmt &stmt, llvm::function_ref<bool(LoopState &)> emit,
                        llvm::function_ref<ValueRange(LoopState &)> close) {
  ast::Names bound = ast::boundNames(stmt);
  while (true) {
    LoopState state{stmt, locals, {}, {}, {}, {}, {}, {}, {}};
    for (auto &[name, value] : locals) {
      bool isMark = name.starts_with("<"); // of a loop that is left early
      if (!bound.contains(name) && !isMark) continue;
      size_t first = state.inits.size();
      flatten(value, state.inits);
      if (state.inits.size() == first)
        state.constants.push_back(name);
      else
        state.carried.push_back({name, value, first, state.inits.size() - first});
    }
    state.changed.resize(state.inits.size());
    if (!emit(state)) return false;
    ops.at(stmt.range);
    if (state.decays.empty() && state.lost.empty()) {
      leaveLoop(state, close(state));
      return true;
    }
    locals = std::move(state.before);
    for (llvm::StringRef name : state.decays) {
      Maybe tensor = ops.decay(locals.find(name)->second);
      if (!tensor) return false;
      locals[name] = *tensor;
    }
    for (llvm::StringRef name : state.lost)
      forget(name, "as a loop variable of another type, on or below line " + std::to_string(lineOf(stmt.range)));
  }
}

} // namespace tilewright
