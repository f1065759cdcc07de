// The functions around one program.
//
//   NAME(args, grid, first, last, arena)     unpacks the arguments, then for each program of its range
//     NAME.program(x, y, z, gx, gy, gz, arguments..., scratch)
//
// A program is a function of its own, so an early return is a return. The six numbers come first and take all registers that a call uses
// for integers. So the kernel's arguments lie in memory, where debuggers find them wherever a program stops.

#include "cpu/amx_tiles.h"
#include "cpu/debug_variables.h"
#include "cpu/evaluate.h"
#include "cpu/explain.h"
#include "cpu/loop_nests.h"
#include "cpu/lower.h"
#include "cpu/operations.h"
#include "cpu/panel_cache.h"
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/slots.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

namespace {
/// Types that both functions use.
struct Types {
  explicit Types(ImplicitLocOpBuilder &b)
      : address(pointerType(b.getContext())), word(b.getI32Type()), index(b.getI64Type()), none(LLVM::LLVMVoidType::get(b.getContext())) {}
  Type address, word, index, none;
};

/// The function of one program. Its parameters: the program id and the grid, the kernel's arguments, and scratch.
struct Program {
  LLVM::LLVMFuncOp function;
  llvm::SmallVector<std::pair<int64_t, Type>> arguments; // the kernel's, by their slots
};
} // namespace

constexpr int64_t gridNumbers = 6; // x, y, z of the program and of the grid

static FailureOr<Program> createProgram(Context &ctx, FuncOp source, LoopsInfo &info) {
  ImplicitLocOpBuilder &b = ctx.b;
  Types types(b);
  Program program;
  for (Type type : source.getArgumentTypes()) {
    std::optional<SlotKind> slot = slotKindOf(type);
    if (!slot) return tilewright::refuse(source, Diag::argumentSlot, {mlirText(type)});
    info.slots.push_back(*slot);
    program.arguments.push_back({program.arguments.size(), lowered(ctx, type)});
  }
  llvm::SmallVector<Type> parameters(gridNumbers, types.word);
  llvm::append_range(parameters, llvm::make_second_range(program.arguments));
  parameters.push_back(types.address);

  b.setInsertionPointToEnd(ctx.module.getBody());
  program.function =
      LLVM::LLVMFuncOp::create(b, info.entry + ".program", LLVM::LLVMFunctionType::get(types.none, parameters), LLVM::Linkage::Internal);
  Block *body = program.function.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  for (int i = 0; i < 3; ++i) {
    ctx.programId.push_back(body->getArgument(i));
    ctx.numPrograms.push_back(body->getArgument(3 + i));
  }
  for (auto [argument, value] : llvm::zip(source.getArguments(), body->getArguments().drop_front(gridNumbers)))
    ctx.scalars[argument] = value;
  ctx.arena = body->getArguments().back();
  ctx.zeroIndex = ctx.indexConstants[0] = constantIndex(b, 0);
  if (info.namesVariables) declareVariables(ctx, program.function, source);
  return program;
}

/// Lowers the kernel's block: the step inline-calls has turned branches between blocks into structured control flow.
static LogicalResult lowerBody(Context &ctx, FuncOp source, LLVM::LLVMFuncOp program) {
  if (!source.getBody().hasOneBlock()) return tilewright::bug(source, "a kernel has branches between blocks");
  Block &block = source.getBody().front();
  ctx.b.setInsertionPointToEnd(&program.getBody().front());
  noteArguments(ctx, block);
  for (Operation &op : block.without_terminator()) {
    ++ctx.currentNest;
    if (failed(lowerOp(ctx, &op)) || ctx.failedAny) return failure();
    noteVariables(ctx, &op);
  }
  ctx.b.setLoc(block.getTerminator()->getLoc());
  LLVM::ReturnOp::create(ctx.b, ValueRange());
  return success();
}

/// Removes unused arguments. A tuple may have thousands of elements that the kernel does not use. Debuggers show "optimized out" for them.
static void dropUnused(ImplicitLocOpBuilder &b, Program &program) {
  Block &body = program.function.getBody().front();
  llvm::BitVector unused(body.getNumArguments());
  llvm::SmallVector<std::pair<int64_t, Type>> used;
  b.setInsertionPointToStart(&body);
  for (auto [slot, type] : program.arguments) {
    auto position = static_cast<unsigned>(gridNumbers + slot);
    BlockArgument argument = body.getArgument(position);
    if (!llvm::all_of(argument.getUsers(), [](Operation *user) { return isa<LLVM::DbgValueOp>(user); })) {
      used.push_back({slot, type});
      continue;
    }
    if (!argument.use_empty()) argument.replaceAllUsesWith(LLVM::PoisonOp::create(b, type));
    unused.set(position);
  }
  body.eraseArguments(unused);
  program.function.setFunctionType(
      LLVM::LLVMFunctionType::get(program.function.getFunctionType().getReturnType(), llvm::to_vector(body.getArgumentTypes())));
  program.arguments = std::move(used);
}

/// Calls one program, by its number in launch order.
static void callProgram(ImplicitLocOpBuilder &b, const Program &program, Value linear, ValueRange arguments, ValueRange grid,
                        Value scratch) {
  Types types(b);
  Value across = arith::ExtSIOp::create(b, types.index, grid[0]), down = arith::ExtSIOp::create(b, types.index, grid[1]);
  auto narrow = [&](Value value) -> Value { return arith::TruncIOp::create(b, types.word, value); };
  Value rest = arith::DivUIOp::create(b, linear, across);
  llvm::SmallVector<Value> call;
  call.push_back(narrow(arith::RemUIOp::create(b, linear, across)));
  call.push_back(narrow(arith::RemUIOp::create(b, rest, down)));
  call.push_back(narrow(arith::DivUIOp::create(b, rest, down)));
  llvm::append_range(call, grid);
  llvm::append_range(call, arguments);
  call.push_back(scratch);
  LLVM::CallOp::create(b, program.function, call);
}

static void createEntry(Context &ctx, const Program &program, const std::string &name) {
  ImplicitLocOpBuilder &b = ctx.b;
  Types types(b);
  b.setInsertionPointToEnd(ctx.module.getBody());
  auto signature = LLVM::LLVMFunctionType::get(types.none, {types.address, types.address, types.index, types.index, types.address});
  Block *start = LLVM::LLVMFuncOp::create(b, name, signature).addEntryBlock(b);
  b.setInsertionPointToStart(start);
  llvm::SmallVector<Value> arguments, grid;
  for (auto [i, type] : program.arguments) {
    Value slot = pointerAtConstant(b, start->getArgument(0), 8 * i);
    if (isa<LLVM::LLVMPointerType>(type))
      arguments.push_back(LLVM::LoadOp::create(b, type, slot, 8));
    else
      arguments.push_back(load(b, type, slot, 8));
  }
  for (int i = 0; i < 3; ++i)
    grid.push_back(load(b, types.word, pointerAtConstant(b, start->getArgument(1), 4 * i), 4));
  Value arena = start->getArgument(4), scratch = pointerAtConstant(b, arena, int64_t(sizeof(ArenaHead)) + ctx.panelCacheBytes);
  if (!ctx.panelCacheHeaders.empty()) forgetPanels(ctx, arena, scratch);
  if (ctx.atomics == Atomics::plain) recordIsAlone(b, arena, scratch);
  if (ctx.usesAmx) configureTiles(b);
  auto loop = scf::ForOp::create(b, start->getArgument(2), start->getArgument(3), constantIndex(b, 1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    callProgram(b, program, loop.getInductionVar(), arguments, grid, scratch);
  }
  if (ctx.usesAmx) releaseTiles(b);
  if (ctx.needsFence) memoryFence(b);
  LLVM::ReturnOp::create(b, ValueRange());
}

static LogicalResult lowerKernel(Context &ctx, const address::FailedGuards &failedGuards, LoopsInfo &info) {
  ImplicitLocOpBuilder &b = ctx.b;
  FuncOp found;
  for (auto function : ctx.module.getOps<FuncOp>()) {
    if (!function.isPublic()) return tilewright::bug(function, "a function was not inlined");
    if (found) return tilewright::bug(function, "the module has a second kernel");
    found = function;
  }
  if (!found) return tilewright::bug(ctx.module, "the module has no kernel");
  ctx.kernel = found;
  std::vector<LaunchGuard> guards = moduloToMask(found, failedGuards, gridLimits, [](Operation *, int64_t) { return false; });
  ctx.analysis = std::make_unique<TileAnalysis>(ctx.kernel, failedGuards);
  ctx.atomics = atomicsOf(ctx.kernel);
  b.setLoc(ctx.kernel.getLoc());
  info.entry = ctx.kernel.getName().str();
  FailureOr<Program> program = createProgram(ctx, ctx.kernel, info);
  if (failed(program) || failed(lowerBody(ctx, ctx.kernel, program->function)) || ctx.failedAny) return failure();
  dropUnused(b, *program);
  b.setLoc(ctx.kernel.getLoc());
  info.entry += ".entry";
  createEntry(ctx, *program, info.entry);
  info.arenaBytes = arenaBytes(ctx);
  info.atomics = ctx.atomics;
  for (const LaunchGuard &guard : ctx.analysis->guards())
    if (!llvm::is_contained(guards, guard)) guards.push_back(guard);
  llvm::append_range(guards, ctx.analysis->versioningRequests());
  info.guards = std::move(guards);
  if (info.onExplained) info.onExplained(explain(ctx));
  ctx.kernel.erase();
  return success();
}

} // namespace tilewright::cpu

namespace tilewright {
LogicalResult lowerToLoops(ModuleOp module, const CpuTarget &target, bool fpFusion, llvm::ArrayRef<std::string> failedGuardNames,
                           LoopsInfo &info) {
  cpu::Context ctx(module, target, fpFusion);
  address::FailedGuards failedGuards;
  failedGuards.insert(failedGuardNames.begin(), failedGuardNames.end());
  return cpu::lowerKernel(ctx, failedGuards, info);
}
} // namespace tilewright
