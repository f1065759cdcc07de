// See divisibility.h.
#include "ir/address/divisibility.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tilewright::address {

static constexpr int64_t maxDivisor = int64_t(1) << 30;

/// Returns the largest power of two that divides `number`, up to the maximum, which is that of 0.
static int64_t powerOfTwoIn(int64_t number) {
  return std::min(maxDivisor, int64_t(1) << std::min(llvm::countr_zero(static_cast<uint64_t>(number)), 62));
}

static int64_t times(int64_t a, int64_t b) {
  return std::min(maxDivisor, a * b);
}

int64_t divisibilityOf(BlockArgument argument) {
  auto kernel = cast<tt::FuncOp>(argument.getOwner()->getParentOp());
  auto known = kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tt::divisibilityName);
  return known ? known.getInt() : 1;
}

int64_t divisorOfTerm(tt::FuncOp kernel, int64_t coefficient, ArrayRef<int64_t> arguments) {
  int64_t divisor = powerOfTwoIn(coefficient);
  for (int64_t argument : arguments)
    divisor = times(divisor, powerOfTwoIn(divisibilityOf(kernel.getArgument(static_cast<unsigned>(argument)))));
  return divisor;
}

/// `known`: of values that occur several times.
static int64_t divisorOf(Value integer, llvm::DenseMap<Value, int64_t> &known) {
  APInt constant;
  if (matchPattern(integer, m_ConstantInt(&constant))) return powerOfTwoIn(constant.getSExtValue());
  auto argument = dyn_cast<BlockArgument>(integer);
  if (argument && isa<tt::FuncOp>(argument.getOwner()->getParentOp())) return powerOfTwoIn(divisibilityOf(argument));
  Operation *op = integer.getDefiningOp();
  if (!isa_and_nonnull<arith::MulIOp, arith::AddIOp, arith::SubIOp>(op)) return 1;
  if (auto found = known.find(integer); found != known.end()) return found->second;
  int64_t left = divisorOf(op->getOperand(0), known), right = divisorOf(op->getOperand(1), known);
  return known[integer] = isa<arith::MulIOp>(op) ? times(left, right) : std::min(left, right);
}

int64_t divisorOf(Value integer) {
  llvm::DenseMap<Value, int64_t> known;
  return divisorOf(integer, known);
}

} // namespace tilewright::address
