// The functions around one program.
//
//   NAME(args, grid, first, last, arena)     unpacks the arguments, then for each program of its range
//     NAME.program(arguments..., x, y, z, gx, gy, gz, arena)
//
// A program is a function of its own, so an early return is a return.

#include "cpu/evaluate.h"
#include "cpu/lower.h"
#include "cpu/operations.h"
#include "ir/refusal.h"
#include "ir/slots.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static LogicalResult createFunctions(Context &ctx, FuncOp source, LoopsInfo &info) {
  ImplicitLocOpBuilder &b = ctx.b;
  MLIRContext *context = b.getContext();
  Type address = pointerType(context), word = b.getI32Type(), index = b.getI64Type(), none = LLVM::LLVMVoidType::get(context);
  llvm::SmallVector<Type> parameters;
  for (Type type : source.getArgumentTypes()) {
    std::optional<SlotKind> slot = slotKindOf(type);
    if (!slot) return tilewright::refuse(source, Diag::argumentSlot, {spelled(type)});
    info.slots.push_back(*slot);
    parameters.push_back(lowered(ctx, type));
  }
  size_t count = parameters.size();
  for (int i = 0; i < 6; ++i)
    parameters.push_back(word);
  parameters.push_back(address);

  info.entry = source.getName().str();
  std::string programName = info.entry + ".program";
  b.setInsertionPointToEnd(ctx.module.getBody());
  auto program = LLVM::LLVMFuncOp::create(b, programName, LLVM::LLVMFunctionType::get(none, parameters), LLVM::Linkage::Internal);
  Block *body = program.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  for (auto [argument, value] : llvm::zip(source.getArguments(), body->getArguments()))
    ctx.scalars[argument] = value;
  for (int i = 0; i < 3; ++i) {
    ctx.programId.push_back(body->getArgument(count + i));
    ctx.numPrograms.push_back(body->getArgument(count + 3 + i));
  }
  ctx.arena = body->getArgument(count + 6);
  ctx.zeroIndex = ctx.indexConstants[0] = constantIndex(b, 0);

  // The blocks in order; almost always one.
  llvm::DenseMap<Block *, Block *> blocks;
  for (Block &block : source.getBody()) {
    if (&block == &source.getBody().front()) {
      blocks[&block] = body;
      continue;
    }
    Block *copy = b.createBlock(&program.getBody(), program.getBody().end());
    for (BlockArgument argument : block.getArguments()) {
      if (isTile(argument)) return source.emitError() << "a tile that a branch carries is not supported by the cpu back end";
      ctx.scalars[argument] = copy->addArgument(lowered(ctx, argument.getType()), argument.getLoc());
    }
    blocks[&block] = copy;
  }
  for (Block &block : source.getBody()) {
    b.setInsertionPointToEnd(blocks[&block]);
    Operation *terminator = block.getTerminator();
    for (Operation &op : block.without_terminator())
      if (failed(lowerOp(ctx, &op)) || ctx.failedAny) return failure();
    b.setLoc(terminator->getLoc());
    auto values = [&](OperandRange range) {
      llvm::SmallVector<Value> result;
      for (Value value : range)
        result.push_back(scalar(ctx, value));
      return result;
    };
    if (auto branch = dyn_cast<cf::BranchOp>(terminator)) {
      cf::BranchOp::create(b, blocks[branch.getDest()], values(branch.getDestOperands()));
    } else if (auto choice = dyn_cast<cf::CondBranchOp>(terminator)) {
      cf::CondBranchOp::create(b, scalar(ctx, choice.getCondition()), blocks[choice.getTrueDest()], values(choice.getTrueDestOperands()),
                               blocks[choice.getFalseDest()], values(choice.getFalseDestOperands()));
    } else if (isa<ReturnOp>(terminator)) {
      LLVM::ReturnOp::create(b, ValueRange());
    } else {
      return terminator->emitError() << "'" << terminator->getName() << "' is not supported by the cpu back end";
    }
  }

  b.setLoc(source.getLoc());
  b.setInsertionPointToEnd(ctx.module.getBody());
  auto entry =
      LLVM::LLVMFuncOp::create(b, info.entry + ".entry", LLVM::LLVMFunctionType::get(none, {address, address, index, index, address}));
  Block *start = entry.addEntryBlock(b);
  b.setInsertionPointToStart(start);
  llvm::SmallVector<Value> arguments;
  for (size_t i = 0; i < count; ++i) {
    Value slot = pointerAtConstant(b, start->getArgument(0), 8 * i);
    Type type = parameters[i];
    if (isa<LLVM::LLVMPointerType>(type))
      arguments.push_back(LLVM::LoadOp::create(b, type, slot, 8));
    else
      arguments.push_back(load(b, type, slot, 8));
  }
  llvm::SmallVector<Value> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back(load(b, word, pointerAtConstant(b, start->getArgument(1), 4 * i), 4));
  Value across = arith::ExtSIOp::create(b, index, sizes[0]), down = arith::ExtSIOp::create(b, index, sizes[1]);
  auto loop = scf::ForOp::create(b, start->getArgument(2), start->getArgument(3), constantIndex(b, 1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value linear = loop.getInductionVar();
    auto narrow = [&](Value value) -> Value { return arith::TruncIOp::create(b, word, value); };
    Value rest = arith::DivUIOp::create(b, linear, across);
    llvm::SmallVector<Value> call(arguments);
    call.push_back(narrow(arith::RemUIOp::create(b, linear, across)));
    call.push_back(narrow(arith::RemUIOp::create(b, rest, down)));
    call.push_back(narrow(arith::DivUIOp::create(b, rest, down)));
    call.append(sizes);
    call.push_back(start->getArgument(4));
    LLVM::CallOp::create(b, program, call);
  }
  if (ctx.streams) memoryFence(b);
  LLVM::ReturnOp::create(b, ValueRange());
  info.entry += ".entry";
  info.arenaBytes = ctx.arenaPeak;
  return success();
}

static LogicalResult lowerKernel(Context &ctx, LoopsInfo &info) {
  ImplicitLocOpBuilder &b = ctx.b;
  FuncOp found;
  for (auto function : ctx.module.getOps<FuncOp>()) {
    if (!function.isPublic()) return function.emitError() << "a call that was not inlined reached the cpu back end";
    if (found) return function.emitError() << "the cpu back end takes one kernel a module";
    found = function;
  }
  if (!found) return ctx.module.emitError() << "the module has no kernel";
  ctx.kernel = found;
  ctx.analysis = std::make_unique<TileAnalysis>(ctx.kernel);
  b.setLoc(ctx.kernel.getLoc());
  if (failed(createFunctions(ctx, ctx.kernel, info)) || ctx.failedAny) return failure();
  ctx.kernel.erase();
  return success();
}

} // namespace tilewright::cpu

namespace tilewright {
LogicalResult lowerToLoops(ModuleOp module, const CpuTarget &target, bool fpFusion, LoopsInfo &info) {
  cpu::Context ctx(module, target, fpFusion);
  return cpu::lowerKernel(ctx, info);
}
} // namespace tilewright
