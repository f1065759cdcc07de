#include "gpu/sm_model/costs.h"

#include "gpu/machine/ptx.h"
#include "gpu/machine/tcgen05.h"
#include "gpu/ttg/element_sizes.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu::model {

int64_t bytesOf(TypeRange types) {
  int64_t bits = 0;
  for (Type type : types)
    bits += ttg::memoryBits(type);
  return bits / 8;
}

static void setUnit(Node &node, Unit unit, double lanes, double instructions = 1, double latency = arithmeticLatency) {
  node.unit = unit, node.issue = instructions, node.occupancy = 32 * instructions / lanes, node.latency = latency;
}

/// An access to shared memory by a warp, without bank conflicts.
static void setShared(Node &node, double bytesOfThread) {
  node.unit = Unit::shared, node.latency = sharedLatency;
  node.occupancy = std::max(1.0, 32 * bytesOfThread / sharedBytesPerCycle);
}

/// Loads from tensor memory and stores to it.
static void setTensorMemory(Node &node, size_t registers, const SmRates &rates) {
  node.unit = Unit::tensorMemory, node.latency = tensorLatency, node.isAsync = true;
  node.occupancy = 32.0 * 4 * double(registers) / std::max(rates.tensorBytesPerCycle, 1.0);
}

static bool is64Bits(Operation *op) {
  return op->getNumResults() == 1 && ttg::elementBits(op->getResult(0).getType()) == 64;
}

//===----------------------------------------------------------------------------------------------------- merged instructions

/// True for a multiplication whose users all add to the result: they become multiply-adds.
static bool isFusedMultiplication(Operation *op) {
  return isa<arith::MulFOp>(op) && op->getResult(0).getType().isF32() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return isa<arith::AddFOp, arith::SubFOp>(user); });
}

static bool isMaximum(Operation *op) {
  return isa_and_nonnull<arith::MaxNumFOp, arith::MaximumFOp>(op) && op->getResult(0).getType().isF32();
}
static bool isMinimum(Operation *op) {
  return isa_and_nonnull<arith::MinNumFOp, arith::MinimumFOp>(op) && op->getResult(0).getType().isF32();
}

/// The operand of a maximum or minimum that one instruction with three operands computes, too. Null if it takes two.
static Operation *mergedOperand(Operation *op) {
  if (!isMaximum(op) && !isMinimum(op)) return nullptr;
  for (Value operand : op->getOperands()) {
    Operation *from = operand.getDefiningOp();
    bool isSame = isMaximum(op) ? isMaximum(from) : isMinimum(from);
    if (isSame && from->hasOneUse() && from->getBlock() == op->getBlock() && !mergedOperand(from)) return from;
  }
  return nullptr;
}

static bool isMergedIntoUser(Operation *op, const SmRates &rates, bool fusesMultiplyAdd) {
  if (fusesMultiplyAdd && isFusedMultiplication(op)) return true;
  if (!rates.threeOperandMaximum || !(isMaximum(op) || isMinimum(op)) || !op->hasOneUse()) return false;
  return mergedOperand(*op->getUsers().begin()) == op;
}

/// True for an f32 that is converted to 16 bits. Two of them are one instruction, whose result needs no packing.
static bool isHalfOfConversion(Operation *op) {
  auto convert = dyn_cast_or_null<arith::TruncFOp>(op);
  return convert && convert.getIn().getType().isF32() && isa<Float16Type, BFloat16Type>(convert.getType());
}

//===---------------------------------------------------------------------------------------------------------- the ptx dialect

namespace costs {

void free(Node &node, const SmRates &) {
  node.unit = Unit::none, node.issue = 0, node.latency = 0;
}

void instruction(Node &, const SmRates &) {}

void integer(Node &node, const SmRates &) {
  setUnit(node, Unit::alu, lanesOfAlu, is64Bits(node.op) ? 2 : 1);
}

void floatArithmetic(Node &node, const SmRates &) {
  setUnit(node, Unit::fp32, is64Bits(node.op) ? lanesOfFp32 / 2 : lanesOfFp32);
}

void special(Node &node, const SmRates &rates) {
  setUnit(node, Unit::special, rates.specialPerCycle, 1, specialLatency);
}

void fastDivision(Node &node, const SmRates &rates) {
  special(node, rates);
  node.issue = fastDivisionInstructions;
}

void pack(Node &node, const SmRates &rates) {
  bool packsConversions = llvm::all_of(node.op->getOperands(), [](Value value) { return isHalfOfConversion(value.getDefiningOp()); });
  packsConversions ? free(node, rates) : integer(node, rates);
}

void exchange(Node &node, const SmRates &) {
  node.unit = Unit::shared, node.occupancy = 1, node.latency = shuffleLatency;
}

/// The assembler assumes that the data are in the L2 cache.
void loadGlobal(Node &node, const SmRates &rates) {
  node.latency = rates.l2Latency;
}

void loadShared(Node &node, const SmRates &) {
  setShared(node, static_cast<double>(bytesOf(node.op->getResultTypes())));
}
void storeShared(Node &node, const SmRates &) {
  setShared(node, static_cast<double>(bytesOf(cast<ptx::StoreSharedOp>(node.op).getValues().getTypes())));
}
void loadMatrices(Node &node, const SmRates &) {
  setShared(node, 4.0 * node.op->getNumResults());
}
void storeMatrices(Node &node, const SmRates &) {
  setShared(node, 4.0 * cast<ptx::StmatrixOp>(node.op).getValues().size());
}
void loadResponse(Node &node, const SmRates &) {
  setShared(node, clcResponseBytes);
}

void mma(Node &node, const SmRates &rates) {
  constexpr double multiplied = mmaRows * mmaColumns * mmaDepthBytes;
  node.unit = Unit::tensor, node.queue = tensorQueue, node.latency = mmaLatency;
  node.occupancy = multiplied / (rates.mmaBytesPerCycle / schedulers * rates.warpMmaFraction);
}

void wgmma(Node &node, const SmRates &rates) {
  constexpr double rowsOfWarp = wgmmaRows / warpsOfGroup;
  node.unit = Unit::tensor, node.isAsync = true;
  node.occupancy = rowsOfWarp * cast<ptx::WgmmaOp>(node.op).getN() * mmaDepthBytes / (rates.mmaBytesPerCycle / schedulers);
  node.latency = 0; // accumulators are waited for by wgmma_wait
}

/// The tensor cores of an SM execute it together. Its operands come from shared memory, and half of the rows take as long as all.
void tcgen05Mma(Node &node, const SmRates &rates) {
  auto mma = cast<ptx::Tcgen05MmaOp>(node.op);
  APInt bits;
  if (!matchPattern(mma.getInstruction(), m_ConstantInt(&bits))) return;
  auto instruction = decodeInstruction(kindOf(mma.getKind()), uint32_t(bits.getZExtValue()));
  if (!instruction) return;
  auto m = double(instruction->m / mma.getCtaGroup()), n = double(instruction->n);
  node.unit = Unit::allTensorCores, node.isAsync = true;
  node.occupancy = std::max(m, double(tensorMemoryLanes)) * n * mmaDepthBytes / rates.mmaBytesPerCycle;
  double rowsOfA = mma.getA().getType().isInteger(64) ? m : 0;
  node.sharedCycles = (rowsOfA + n / double(mma.getCtaGroup())) * mmaDepthBytes / sharedBytesPerCycle;
  node.latency = 0; // tcgen05.commit says when it is complete
}

void copyToTensorMemory(Node &node, const SmRates &) {
  CopyShape shape = shapeOf(cast<ptx::Tcgen05CpOp>(node.op).getShape());
  node.sharedCycles = double(shape.rows * shape.bytes) / sharedBytesPerCycle;
}

void loadTensorMemory(Node &node, const SmRates &rates) {
  setTensorMemory(node, node.op->getNumResults(), rates);
}
void storeTensorMemory(Node &node, const SmRates &rates) {
  setTensorMemory(node, cast<ptx::Tcgen05StOp>(node.op).getValues().size(), rates);
}

} // namespace costs

//===---------------------------------------------------------------------------------------------------------- other dialects

static bool isFree(Operation *op) {
  return isa<arith::ConstantOp, arith::IndexCastOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::BitcastOp>(op);
}

void setCosts(Node &node, const SmRates &rates, bool fusesMultiplyAdd) {
  Operation *op = node.op;
  if (node.modeled) {
    node.modeled->costs(node, rates);
  } else if (isMergedIntoUser(op, rates, fusesMultiplyAdd) || isFree(op)) {
    costs::free(node, rates);
  } else if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, math::FmaOp>(op)) {
    costs::floatArithmetic(node, rates);
  } else if (isa<arith::DivFOp, math::SqrtOp>(op)) {
    setUnit(node, Unit::fp32, lanesOfFp32, floatDivisionInstructions, floatDivisionLatency);
  } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    setUnit(node, Unit::alu, lanesOfAlu, integerDivisionInstructions, integerDivisionLatency);
  } else if (isa<math::MathDialect>(op->getDialect())) {
    setUnit(node, Unit::alu, lanesOfAlu, functionInstructions);
  } else if (isHalfOfConversion(op)) {
    setUnit(node, Unit::alu, lanesOfAlu, 0.5);
  } else if (isa<arith::ArithDialect>(op->getDialect())) {
    costs::integer(node, rates);
  }
}

} // namespace tilewright::gpu::model
