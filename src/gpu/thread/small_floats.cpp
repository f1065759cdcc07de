// Conversion of e2m1 numbers (a sign, two exponent bits, one fraction bit), two per byte, to bf16 or f16. A register of four bytes holds
// eight numbers, and adjacent ones are converted together. The bits of bf16 are in the same order, except for a gap after the sign. They
// mean the number times a power of two; the small ones (0 and 0.5) are denormals:
//   byte 0 of %w:  %low = and %w, 0x0f0f0f0f    %high = and (shr %w, 4), 0x0f0f0f0f    %n = byte 0 of %low, 0, byte 0 of %high, 0
//                  mul %n, 2^12 + 2^6: the sign is in bit 15, the rest in bits 8 to 6
//                  and .., 0x81c081c0: two numbers of bf16, times 2^-126
// In f16 those copies would overlap, but one byte of two distinguishes the numbers. A table of eight bytes is looked up by one
// instruction, four times:
//   bytes 0 and 1: %m = permute 0x3e3c3800, 0x46444240 by (and %w, 0x77777777): the upper bytes of four magnitudes
//                  %s = signs of the bytes of (shl %w, 4) and %w alternately    %b = or %m, (and %s, 0x80808080)
//                  0, byte 0 of %b, 0, byte 1 of %b: two numbers
// A thread may store every second number contiguously, and want numbers times 2^-6. Then all high halves are bytes of e4m3 except for the
// position of their bits. So are all low halves of (shl %w, 4):
//                  %b = or (and %w, 0x80808080), (and (shr %w, 2), 0x1c1c1c1c)    two conversions of two bytes each
#include "gpu/thread/lowering_table.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace tilewright::gpu {

static Value permute(ThreadContext &t, Value first, Value second, int64_t selector) {
  return ptx::PermuteOp::create(t.b, t.b.getI32Type(), first, second, t.i32(selector));
}

/// Four words of two adjacent bf16 numbers.
static ThreadValues pairsOfBf16(ThreadContext &t, Value word) {
  Value ones = t.i32(0x0f0f0f0f), low = arith::AndIOp::create(t.b, word, ones);
  Value high = arith::AndIOp::create(t.b, arith::ShRUIOp::create(t.b, word, t.i32(4)), ones);
  ThreadValues pairs;
  for (int64_t byte = 0; byte < 4; ++byte) {
    // The replicated sign of a byte below 128 is 0: the selector is 8 plus the byte's number.
    Value pair = permute(t, low, high, 0xc480 + 0x1111 * byte);
    pairs.push_back(arith::AndIOp::create(t.b, arith::MulIOp::create(t.b, pair, t.i32(1 << 12 | 1 << 6)), t.i32(int64_t(0x81c081c0))));
  }
  return pairs;
}

/// The same for f16; `small`: times 2^-6.
static ThreadValues pairsOfF16(ThreadContext &t, Value word, bool small) {
  int64_t first = small ? 0x26242000 : 0x3e3c3800, last = small ? 0x2e2c2a28 : 0x46444240;
  Value magnitudes = arith::AndIOp::create(t.b, word, t.i32(0x77777777)), up = arith::ShLIOp::create(t.b, word, t.i32(4));
  ThreadValues pairs;
  for (int64_t half = 0; half < 2; ++half) {
    Value selectors = half ? Value(arith::ShRUIOp::create(t.b, magnitudes, t.i32(16))) : magnitudes;
    Value bytes = ptx::PermuteOp::create(t.b, t.b.getI32Type(), t.i32(first), t.i32(last), selectors);
    Value signs = arith::AndIOp::create(t.b, permute(t, up, word, 0xd9c8 + 0x2222 * half), t.i32(int64_t(0x80808080)));
    bytes = arith::OrIOp::create(t.b, bytes, signs);
    for (int64_t selector : {0x1404, 0x3424})
      pairs.push_back(permute(t, bytes, t.i32(0), selector));
  }
  return pairs;
}

/// Eight small f16 numbers, from pairs of every second one.
static ThreadValues smallF16(ThreadContext &t, Value word) {
  Type i16 = t.b.getI16Type(), half = t.b.getF16Type();
  ThreadValues numbers(8);
  for (size_t isHigh : {0U, 1U}) {
    Value up = isHigh ? word : Value(arith::ShLIOp::create(t.b, word, t.i32(4)));
    Value rest = isHigh ? Value(arith::ShRUIOp::create(t.b, word, t.i32(2))) : Value(arith::ShLIOp::create(t.b, word, t.i32(2)));
    Value sign = arith::AndIOp::create(t.b, up, t.i32(int64_t(0x80808080)));
    Value bytes = arith::OrIOp::create(t.b, sign, arith::AndIOp::create(t.b, rest, t.i32(0x1c1c1c1c)));
    auto pairs = ptx::UnpackOp::create(t.b, TypeRange{i16, i16}, bytes);
    for (auto [index, pair] : llvm::enumerate(pairs.getResults())) {
      Value both = ptx::ConvertOp::create(t.b, t.b.getI32Type(), pair, ptx::Format::e4m3, ptx::Format::f16);
      auto halves = ptx::UnpackOp::create(t.b, TypeRange{half, half}, both);
      for (size_t i : {0U, 1U})
        numbers[4 * index + 2 * i + isHigh] = halves.getResult(static_cast<unsigned>(i));
    }
  }
  return numbers;
}

/// The numbers of some bytes, alternating low and high halves.
static ThreadValues unpackE2m1(ThreadContext &t, const ThreadValues &bytes, Type number, bool small, bool evenOddInterleave) {
  Value factor = number.isF16() ? Value() : t.constant(number, t.b.getFloatAttr(number, std::ldexp(1.0, 126)));
  ThreadValues numbers;
  for (size_t first = 0; first < bytes.size(); first += 4) {
    ThreadValues four;
    for (size_t i = 0; i < 4; ++i)
      four.push_back(bytes[std::min(first + i, bytes.size() - 1)]);
    Value word = packed(t, four);
    if (small && evenOddInterleave) {
      llvm::append_range(numbers, smallF16(t, word));
      continue;
    }
    for (Value pair : number.isF16() ? pairsOfF16(t, word, small) : pairsOfBf16(t, word))
      for (Value each : unpacked(t, pair, number))
        numbers.push_back(factor ? Value(arith::MulFOp::create(t.b, each, factor)) : each);
  }
  numbers.truncate(2 * bytes.size());
  return numbers;
}

/// The registers of bytes, with those contiguous along `dim` in sequence: they are packed and unpacked in words.
static SmallVector<size_t> contiguousFirst(const Layout &bytes, size_t dim) {
  auto sortKey = [&](size_t reg) {
    Dims at = bytes.coordinates(bytes.apply(static_cast<int64_t>(reg), 0, 0));
    int64_t along = at[dim];
    at.erase(at.begin() + static_cast<ptrdiff_t>(dim));
    at.push_back(along);
    return at;
  };
  auto order = llvm::to_vector(llvm::seq<size_t>(0, static_cast<size_t>(bytes.registersPerThread())));
  llvm::sort(order, [&](size_t one, size_t other) { return std::pair(sortKey(one), one) < std::pair(sortKey(other), other); });
  return order;
}

static LogicalResult lowerUnpackE2m1(ThreadContext &t, ttg::UnpackE2m1Op op) {
  Layout from = ttg::layoutOf(op.getBytes().getType()), to = ttg::layoutOf(op.getType());
  auto dim = static_cast<size_t>(op.getDim());
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t basis : to.basesOf(axis))
      if (to.coordinates(basis)[dim] & 1) return bug(op, "a thread does not hold both numbers of a byte");
  bool evenOddInterleave =
      t.kernel.target.fp8Convert && !to.basesOf(Axis::reg).empty() && to.coordinates(to.basesOf(Axis::reg).front())[dim] == 2;
  SmallVector<size_t> order = contiguousFirst(from, dim);
  ThreadValues bytes, results;
  SmallVector<size_t> positions(order.size()); // of the registers in `order`
  for (auto [index, reg] : llvm::enumerate(order)) {
    bytes.push_back(t.get(op.getBytes())[reg]);
    positions[reg] = index;
  }
  ThreadValues numbers = unpackE2m1(t, bytes, getElementTypeOrSelf(op.getType()), op.getSmall(), evenOddInterleave);
  auto byteOf = [&](uint32_t flat) {
    Dims at = coordinatesOf(to.shape, flat);
    at[dim] /= 2;
    return flatOf(from.shape, at);
  };
  for (auto [reg, byte] : llvm::enumerate(sourceRegisters(to, from, byteOf))) {
    if (!byte) return bug(op, "its layout does not match that of its bytes");
    int64_t isSecond = to.coordinates(to.apply(static_cast<int64_t>(reg), 0, 0))[dim] & 1;
    results.push_back(numbers[2 * positions[static_cast<size_t>(*byte)] + static_cast<size_t>(isSecond)]);
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

void addSmallFloatLowerings(LoweringTable &table) {
  addLowerings<lowerUnpackE2m1>(table);
}

} // namespace tilewright::gpu
