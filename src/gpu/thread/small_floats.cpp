// Numbers of e2m1 (a sign, two bits of exponent, one of fraction), two in a byte, as bf16 or f16. The bits of a wider float lie in the same
// order, apart from a gap behind the sign, and mean the number times a power of two, the small ones (0 and 0.5) as denormals. A register of
// four bytes holds eight numbers; neighbours are made together:
//   byte 0 of %w:  %low = and %w, 0x0f0f0f0f    %high = and (shr %w, 4), 0x0f0f0f0f    %n = byte 0 of %low, 0, byte 0 of %high, 0
//                  mul %n, 2^12 + 2^6: the sign is in bit 15, the rest in bits 8 to 6
//                  and .., 0x81c081c0: two numbers of bf16, times 2^-126
#include "gpu/thread/lowerings.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace tilewright::gpu {

/// The low four bits of both halves of `pair`, which has no others, moved to the places of two floats.
static Value spreadE2m1(ThreadContext &t, Value pair, bool isHalf) {
  if (!isHalf) return arith::AndIOp::create(t.b, arith::MulIOp::create(t.b, pair, t.i32(1 << 12 | 1 << 6)), t.i32(int64_t(0x81c081c0)));
  // In f16 the copies would overlap.
  Value sign = arith::AndIOp::create(t.b, arith::ShLIOp::create(t.b, pair, t.i32(12)), t.i32(int64_t(0x80008000)));
  return arith::OrIOp::create(t.b, sign, arith::AndIOp::create(t.b, arith::ShLIOp::create(t.b, pair, t.i32(9)), t.i32(0x0e000e00)));
}

/// The numbers of some bytes, low halves and high halves in turn.
static Parts unpackE2m1(ThreadContext &t, const Parts &bytes, Type number) {
  bool isHalf = number.isF16();
  Value factor = t.constant(number, t.b.getFloatAttr(number, std::ldexp(1.0, isHalf ? 14 : 126)));
  Parts numbers(2 * bytes.size());
  for (size_t first = 0; first < bytes.size(); first += 4) {
    Parts four;
    for (size_t i = 0; i < 4; ++i)
      four.push_back(bytes[std::min(first + i, bytes.size() - 1)]);
    Value word = packed(t, four), ones = t.i32(0x0f0f0f0f);
    Value low = arith::AndIOp::create(t.b, word, ones);
    Value high = arith::AndIOp::create(t.b, arith::ShRUIOp::create(t.b, word, t.i32(4)), ones);
    for (size_t byte = 0; byte < std::min<size_t>(4, bytes.size() - first); ++byte) {
      // The sign of a byte below 128, spread, is 0: 8 and the byte's number in a selector.
      Value selector = t.i32(static_cast<int64_t>(0xc480 + 0x1111 * byte));
      Value pair = ptx::PermuteOp::create(t.b, t.b.getI32Type(), low, high, selector);
      for (auto [second, scaled] : llvm::enumerate(unpacked(t, spreadE2m1(t, pair, isHalf), number)))
        numbers[2 * (first + byte) + second] = arith::MulFOp::create(t.b, scaled, factor);
    }
  }
  return numbers;
}

LogicalResult lowerUnpackE2m1(ThreadContext &t, ttg::UnpackE2m1Op op) {
  Layout from = ttg::layoutOf(op.getBytes().getType()), to = ttg::layoutOf(op.getType());
  auto dim = static_cast<size_t>(op.getDim());
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t basis : to.basesOf(axis))
      if (to.coordinates(basis)[dim] & 1) return bug(op, "a thread does not hold both numbers of a byte");
  Parts numbers = unpackE2m1(t, t.get(op.getBytes()), getElementTypeOrSelf(op.getType())), results;
  auto byteOf = [&](uint32_t flat) {
    Dims at = coordinatesOf(to.shape, flat);
    at[dim] /= 2;
    return flatOf(from.shape, at);
  };
  for (auto [reg, byte] : llvm::enumerate(sourceRegisters(to, from, byteOf))) {
    if (!byte) return bug(op, "its layout and that of its bytes do not fit");
    int64_t isSecond = to.coordinates(to.apply(static_cast<int64_t>(reg), 0, 0, 0))[dim] & 1;
    results.push_back(numbers[static_cast<size_t>(2 * *byte + isSecond)]);
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

} // namespace tilewright::gpu
