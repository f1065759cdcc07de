#include "ir/integer_value.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace tilewright {

static Integer withBits(Operation *op, int64_t value) {
  unsigned bits = op->getResult(0).getType().isInteger() ? op->getResult(0).getType().getIntOrFloatBitWidth() : 64;
  return bits >= 64 ? value : llvm::APInt(bits, static_cast<uint64_t>(value), false, true).getSExtValue();
}

static Integer computeBinary(Operation *op, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  unsigned bits = op->getOperand(0).getType().isInteger() ? op->getOperand(0).getType().getIntOrFloatBitWidth() : 64;
  if (bits < 64) ua &= (uint64_t(1) << bits) - 1, ub &= (uint64_t(1) << bits) - 1;
  bool divides = b != 0 && !(b == -1 && a == INT64_MIN);
  return llvm::TypeSwitch<Operation *, Integer>(op)
      .Case<arith::AddIOp>([&](auto) { return int64_t(ua + ub); })
      .Case<arith::SubIOp>([&](auto) { return int64_t(ua - ub); })
      .Case<arith::MulIOp>([&](auto) { return int64_t(ua * ub); })
      .Case<arith::AndIOp>([&](auto) { return a & b; })
      .Case<arith::OrIOp>([&](auto) { return a | b; })
      .Case<arith::XOrIOp>([&](auto) { return a ^ b; })
      .Case<arith::ShLIOp>([&](auto) { return ub < 64 ? int64_t(ua << ub) : 0; })
      .Case<arith::ShRUIOp>([&](auto) { return ub < 64 ? int64_t(ua >> ub) : 0; })
      .Case<arith::ShRSIOp>([&](auto) { return ub < 64 ? a >> ub : (a < 0 ? -1 : 0); })
      .Case<arith::MinSIOp>([&](auto) { return std::min(a, b); })
      .Case<arith::MaxSIOp>([&](auto) { return std::max(a, b); })
      .Case<arith::MinUIOp>([&](auto) { return int64_t(std::min(ua, ub)); })
      .Case<arith::MaxUIOp>([&](auto) { return int64_t(std::max(ua, ub)); })
      .Case<arith::DivSIOp>([&](auto) { return divides ? Integer(a / b) : std::nullopt; })
      .Case<arith::RemSIOp>([&](auto) { return divides ? Integer(a % b) : std::nullopt; })
      .Case<arith::DivUIOp>([&](auto) { return ub ? Integer(int64_t(ua / ub)) : std::nullopt; })
      .Case<arith::RemUIOp>([&](auto) { return ub ? Integer(int64_t(ua % ub)) : std::nullopt; })
      .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
        return arith::applyCmpPredicate(compare.getPredicate(), llvm::APInt(64, static_cast<uint64_t>(a), true),
                                        llvm::APInt(64, static_cast<uint64_t>(b), true));
      })
      .Default([](Operation *) { return std::nullopt; });
}

Integer computeInteger(Operation *op, ArrayRef<Integer> operands) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex()) return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    return number ? Integer(number.getValue().getSExtValue()) : std::nullopt;
  }
  if (isa<arith::ExtUIOp>(op) && operands[0]) {
    unsigned bits = op->getOperand(0).getType().getIntOrFloatBitWidth();
    return static_cast<int64_t>(static_cast<uint64_t>(*operands[0]) & ((uint64_t(1) << bits) - 1));
  }
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op)) return operands[0];
  if (isa<arith::TruncIOp>(op)) return operands[0] ? withBits(op, *operands[0]) : std::nullopt;
  if (isa<arith::SelectOp>(op)) return operands[0] ? operands[*operands[0] & 1 ? 1 : 2] : std::nullopt;
  if (operands.size() != 2) return std::nullopt;
  // A false operand decides, whatever the other one is.
  if (isa<arith::AndIOp>(op) && ((operands[0] && *operands[0] == 0) || (operands[1] && *operands[1] == 0))) return 0;
  if (!operands[0] || !operands[1]) return std::nullopt;
  Integer result = computeBinary(op, *operands[0], *operands[1]);
  return result ? withBits(op, *result) : result;
}

} // namespace tilewright
