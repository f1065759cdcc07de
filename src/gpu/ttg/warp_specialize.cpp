// ttg.warp_specialize: its text form, the rules of the machine for partitions, and how registers are distributed among them.
//   ttg.warp_specialize(%tile) attributes {requestedRegisters = array<i32: 24>}
//   default { ... ttg.warp_yield }
//   partition0(%arg: i32) num_warps(1) { ... ttg.warp_return } : (i32) -> ()
#include "gpu/cost_model/registers.h"
#include "gpu/ttg/kernel_target.h"
#include "gpu/ttg/ttg.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright {

using namespace ttg;

static int64_t groupsOf(int64_t warps) {
  return llvm::divideCeil(warps, gpu::warpsOfGroup);
}

bool WarpSpecializeOp::sharesWarpGroup(size_t partition) {
  return partition < getPartitionNumWarps().size() && firstWarp(0, partition) % gpu::warpsOfGroup != 0;
}

int64_t WarpSpecializeOp::firstWarp(int64_t defaultWarps, size_t partition) {
  llvm::ArrayRef<int32_t> warps = getPartitionNumWarps();
  int64_t next = 0, first = 0;
  for (size_t i = 0; i <= partition; ++i) {
    int64_t nextGroup = groupsOf(next) * gpu::warpsOfGroup;
    bool sameRegisters =
        i > 0 && i < warps.size() && getRequestedRegisters() && (*getRequestedRegisters())[i] == (*getRequestedRegisters())[i - 1];
    first = sameRegisters && warps[i] <= nextGroup - next ? next : nextGroup;
    if (i < partition) next = first + warps[i];
  }
  return defaultWarps + first;
}

SmallVector<int64_t> WarpSpecializeOp::registersOfGroups() {
  SmallVector<int64_t> all;
  if (getRequestedRegisters())
    for (auto [i, registers] : llvm::enumerate(*getRequestedRegisters()))
      if (!sharesWarpGroup(i)) all.append(static_cast<size_t>(groupsOf(getPartitionNumWarps()[i])), registers);
  return all;
}

void WarpSpecializeOp::captureImplicitly() {
  for (Region &partition : getPartitions()) {
    for (auto [argument, captured] : llvm::zip(partition.getArguments(), getCaptures()))
      argument.replaceAllUsesWith(captured);
    partition.front().eraseArguments(0, partition.getNumArguments());
  }
  getCapturesMutable().clear();
}

//===------------------------------------------------------------------------------------------------------------ text

ParseResult WarpSpecializeOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> captures;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(captures, AsmParser::Delimiter::Paren) || parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseKeyword("default") || parser.parseRegion(*result.addRegion()))
    return failure();
  SmallVector<int32_t> warps;
  while (succeeded(parser.parseOptionalKeyword("partition" + std::to_string(warps.size())))) {
    SmallVector<OpAsmParser::Argument> arguments;
    if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren, /*allowType=*/true) || parser.parseKeyword("num_warps") ||
        parser.parseLParen() || parser.parseInteger(warps.emplace_back()) || parser.parseRParen() ||
        parser.parseRegion(*result.addRegion(), arguments))
      return failure();
  }
  FunctionType type;
  if (parser.parseColonType(type) || parser.resolveOperands(captures, type.getInputs(), loc, result.operands)) return failure();
  result.addTypes(type.getResults());
  result.addAttribute(getPartitionNumWarpsAttrName(result.name), parser.getBuilder().getDenseI32ArrayAttr(warps));
  return success();
}

void WarpSpecializeOp::print(OpAsmPrinter &printer) {
  printer << "(" << getCaptures() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getPartitionNumWarpsAttrName()});
  printer.printNewline();
  printer << "default ";
  printer.printRegion(getDefaultRegion());
  for (auto [i, warps] : llvm::enumerate(getPartitionNumWarps())) {
    Region &partition = getPartitions()[i];
    printer.printNewline();
    printer << "partition" << i << "(";
    llvm::interleaveComma(partition.getArguments(), printer, [&](BlockArgument argument) { printer.printRegionArgument(argument); });
    printer << ") num_warps(" << warps << ") ";
    printer.printRegion(partition, /*printEntryBlockArgs=*/false);
  }
  printer << " : ";
  printer.printFunctionalType(getCaptures().getTypes(), getResultTypes());
}

//===-------------------------------------------------------------------------------------------------------- verifier

static LogicalResult verifyRegionsOf(WarpSpecializeOp op) {
  auto yield = dyn_cast<WarpYieldOp>(op.getDefaultRegion().front().getTerminator());
  if (!yield) return op.emitOpError("must end its default region with a ttg.warp_yield");
  if (yield.getOperandTypes() != op.getResultTypes()) return op.emitOpError("yields values of other types than its results have");
  if (op.getPartitions().empty()) return op.emitOpError("needs a partition");
  if (op.getPartitions().size() != op.getPartitionNumWarps().size()) return op.emitOpError("needs a number of warps for each partition");
  for (auto [i, partition] : llvm::enumerate(op.getPartitions())) {
    if (!isa<WarpReturnOp>(partition.front().getTerminator()))
      return op.emitOpError("must end partition ") << i << " with a ttg.warp_return";
    if (partition.getArgumentTypes() != op.getCaptures().getTypes())
      return op.emitOpError("needs an argument of partition ") << i << " for each capture, of its type";
  }
  return success();
}

static LogicalResult verifyRegisters(WarpSpecializeOp op) {
  if (!op.getRequestedRegisters()) return success();
  if (op.getRequestedRegisters()->size() != op.getPartitionNumWarps().size())
    return op.emitOpError("needs a number of registers for each partition");
  llvm::ArrayRef<int32_t> requested = *op.getRequestedRegisters();
  for (int64_t registers : requested)
    if (registers < gpu::minMaxnreg || registers > gpu::maxMaxnreg || registers % gpu::registerStep != 0)
      return op.emitOpError("requests ") << registers << " registers; setmaxnreg takes multiples of 8 from 24 to 256";
  return success();
}

/// Verifies what depends on the kernel's config.
static LogicalResult verifyMachine(WarpSpecializeOp op, ConfigAttr config, const GpuTarget &target) {
  if (config.getWarps() % gpu::warpsOfGroup != 0) return op.emitOpError("needs whole warp groups: num_warps must be a multiple of 4");
  int64_t warps = op.firstWarp(config.getWarps(), op.getPartitions().size());
  if (warps << gpu::laneBits > target.threadsPerBlock)
    return op.emitOpError("needs ") << warps << " warps; a CTA has " << (target.threadsPerBlock >> gpu::laneBits) << " at most";
  if (!op.getRequestedRegisters()) return success();
  if (!target.setmaxnreg) return op.emitOpError("requests registers, but warps of ") << target.name << " cannot exchange them";
  if (gpu::partitionRegisters(config.getWarps(), target, op.registersOfGroups()).consumer < gpu::minMaxnreg)
    return op.emitOpError("leaves the default region less than 24 registers");
  return success();
}

LogicalResult WarpSpecializeOp::verifyRegions() {
  if ((*this)->getParentOfType<WarpSpecializeOp>()) return emitOpError("cannot be nested in another ttg.warp_specialize");
  if (failed(verifyRegionsOf(*this))) return failure();
  for (auto [i, warps] : llvm::enumerate(getPartitionNumWarps()))
    if (!llvm::isPowerOf2_32(static_cast<uint32_t>(warps)) || warps < 0)
      return emitOpError("partition ") << i << " has " << warps << " warps; it must be a power of two";
  if (failed(verifyRegisters(*this))) return failure();
  std::optional<GpuTarget> target = targetOf(*this);
  return target ? verifyMachine(*this, configOf((*this)->getParentOfType<tt::FuncOp>()), *target) : success();
}

} // namespace tilewright
