// Dots of operands in formats of 4 and 8 bits with scales, by mma.sync. The layouts give each thread the registers of its instruction
// (tiles/scaled_dot_choice):
//   tt.dot_scaled %a scale %s, %b scale %t, %c lhs = e2m1 rhs = e2m1 : 16x32 bytes, 16x2 scales * 32x8 bytes, 8x2 scales
//   -> ptx.scaled_mma (4 registers of A), (2 of B), (4 sums), (a register of scales of A, one of B) {vector = 2}
// An instruction takes 32 bytes of a row. Only a dot of e2m1 with e2m1 leaves two numbers in a byte; next to a format of 8 bits, each
// number of e2m1 gets a byte of its own, in bits 2 to 5. Numbers of 6 bits are the low bits of a byte.
#include "ir/scaled_dot.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/mma/matrix_registers.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "ir/refusal.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

static ptx::Format formatOf(tt::ScaleDotElemType format) {
  return *ptx::symbolizeFormat(tt::stringifyScaleDotElemType(format));
}

/// Returns eight numbers of e2m1 as the bytes of two words, in bits 2 to 5 of each.
static std::pair<Value, Value> spread(ThreadContext &t, Value numbers) {
  Value middle = t.i32(0x3c3c3c3c), two = t.i32(2);
  Value even = arith::AndIOp::create(t.b, arith::ShLIOp::create(t.b, numbers, two), middle);
  Value odd = arith::AndIOp::create(t.b, arith::ShRUIOp::create(t.b, numbers, two), middle);
  auto bytes = [&](int32_t order) -> Value { return ptx::PermuteOp::create(t.b, t.b.getI32Type(), even, odd, t.i32(order)); };
  return {bytes(0x5140), bytes(0x7362)};
}

namespace {
/// The registers of one operand, by row of A or column of B, and byte along K. Each is packed once, even if many instructions read it.
class ScaledRegisters {
public:
  ScaledRegisters(ThreadContext &t, const tt::ScaledOperand &x, bool isSpread)
      : t(t), x(x), isSpread(isSpread), registers(ttg::layoutOf(x.tile.getType())), format(formatOf(x.format)) {}

  ptx::Format getFormat() const { return format; }
  /// Bytes of the tile in one register: two if each holds two numbers that get a byte each.
  int64_t bytesOfRegister() const { return isSpread ? 2 : 4; }

  /// The register whose first byte is at (outer, byte); null if this thread does not hold it.
  Value at(int64_t outer, int64_t byte) {
    Value &known = words[{outer, byte}];
    if (known) return known;
    if (isSpread) return spreadAt(outer, byte);
    known = packedAt(outer, {byte, byte + 1, byte + 2, byte + 3});
    if (known && tt::isSixBits(x.format)) known = arith::AndIOp::create(t.b, known, t.i32(0x3f3f3f3f)); // padding has zeros
    return known;
  }

private:
  /// Four bytes of a row or column as a word; null if this thread does not hold them.
  Value packedAt(int64_t outer, ArrayRef<int64_t> positions) {
    SmallVector<Value> bytes;
    for (int64_t byte : positions) {
      std::optional<size_t> reg = registers.at(x.isLeft ? Dims{outer, byte} : Dims{byte, outer});
      if (!reg) return {};
      bytes.push_back(t.get(x.tile)[*reg]);
    }
    return packed(t, bytes);
  }

  /// Both registers of an instruction, which takes 16 bytes of a row or column, are made together.
  Value spreadAt(int64_t outer, int64_t byte) {
    int64_t first = byte / 16 * 16, second = first + 8;
    Value numbers = packedAt(outer, {first, first + 1, second, second + 1});
    if (!numbers) return {};
    std::tie(words[{outer, first}], words[{outer, second}]) = spread(t, numbers);
    return words[{outer, byte}];
  }

  ThreadContext &t;
  tt::ScaledOperand x;
  bool isSpread;
  Registers registers;
  ptx::Format format;
  std::map<std::pair<int64_t, int64_t>, Value> words;
};

/// The scales of one operand, four of a row (or column) in a register.
class ScaleRegisters {
public:
  ScaleRegisters(ThreadContext &t, const tt::ScaledOperand &x, bool isUnsignedE4m3)
      : t(t), x(x), isUnsignedE4m3(isUnsignedE4m3), layout(x.scale ? ttg::layoutOf(x.scale.getType()) : Layout()), registers(layout) {}

  /// The register with the scale of `group`, in byte group % 4. An operand without scales has ones.
  Value at(int64_t outer, int64_t group) {
    if (!x.scale) return t.i32(isUnsignedE4m3 ? 0x38383838 : 0x7f7f7f7f);
    Value &known = words[{outer, group / 4}];
    if (known) return known;
    SmallVector<Value> bytes;
    for (int64_t i = group / 4 * 4; bytes.size() < 4; ++i) {
      std::optional<size_t> reg = registers.at({outer, std::min(i, layout.shape.back() - 1)});
      if (!reg) return {};
      bytes.push_back(t.get(x.scale)[*reg]);
    }
    return known = packed(t, bytes);
  }

private:
  ThreadContext &t;
  tt::ScaledOperand x;
  bool isUnsignedE4m3;
  Layout layout;
  Registers registers;
  std::map<std::pair<int64_t, int64_t>, Value> words;
};

/// One dot: what its instructions have in common, and the operands of each.
class ScaledDot {
public:
  ScaledDot(ThreadContext &t, tt::DotScaledOp op, const ScaledMma &mma)
      : t(t), op(op), mma(mma), result(ttg::layoutOf(op.getType())), sums(t.get(op.getC())),
        a(t, leftOf(op), mma.k() == 32 && leftOf(op).format == tt::ScaleDotElemType::E2M1),
        b(t, rightOf(op), mma.k() == 32 && rightOf(op).format == tt::ScaleDotElemType::E2M1),
        aScales(t, leftOf(op), mma.scale == TensorFormat::ue4m3), bScales(t, rightOf(op), mma.scale == TensorFormat::ue4m3) {}

  LogicalResult run() {
    for (const Dims &at : result.elements())
      if (at[0] % mmaRows == 0 && at[1] % mmaColumns == 0 && failed(tile(at[0], at[1])))
        return bug(op, "these layouts are not those of mma.sync with scales");
    t.set(op.getResult(), std::move(sums));
    return success();
  }

private:
  /// Multiplies along K into the 16 x 8 sums from (m, n) on.
  LogicalResult tile(int64_t m, int64_t n) {
    std::array<size_t, 4> registers;
    for (int64_t i = 0; i < 4; ++i) {
      std::optional<size_t> reg = result.at({m + i / 2 * 8, n + i % 2});
      if (!reg) return failure();
      registers[static_cast<size_t>(i)] = *reg;
    }
    for (int64_t step = 0, steps = leftOf(op).depth() / mma.k(); step < steps; ++step) {
      SmallVector<Value> c = llvm::map_to_vector(registers, [&](size_t reg) { return sums[reg]; });
      FailureOr<SmallVector<Value>> d = multiply(m, n, step, c);
      if (failed(d)) return failure();
      for (auto [reg, value] : llvm::zip(registers, *d))
        sums[reg] = value;
    }
    return success();
  }

  FailureOr<SmallVector<Value>> multiply(int64_t m, int64_t n, int64_t step, ValueRange c) {
    SmallVector<Value> left, right, scales;
    for (int64_t half : {2 * step, 2 * step + 1}) {
      for (int64_t row : {m, m + 8})
        left.push_back(a.at(row, half * 4 * a.bytesOfRegister()));
      right.push_back(b.at(n, half * 4 * b.bytesOfRegister()));
    }
    int64_t group = step * mma.vector;
    if (mma.vector) scales = {aScales.at(m, group), bScales.at(n, group)};
    for (ValueRange values : {ValueRange(left), ValueRange(right), ValueRange(scales)})
      if (llvm::is_contained(values, Value())) return failure();
    auto byte = static_cast<uint32_t>(group % 4);
    auto made = ptx::ScaledMmaOp::create(t.b, c.getTypes(), left, right, c, scales, a.getFormat(), b.getFormat(),
                                         mma.scale == TensorFormat::ue4m3 ? ptx::Format::ue4m3 : ptx::Format::ue8m0,
                                         static_cast<uint32_t>(mma.k()), static_cast<uint32_t>(mma.vector), byte, byte, 0, 0);
    return SmallVector<Value>(made.getD());
  }

  ThreadContext &t;
  tt::DotScaledOp op;
  ScaledMma mma;
  Registers result;
  ThreadValues sums;
  ScaledRegisters a, b;
  ScaleRegisters aScales, bScales;
};
} // namespace

static LogicalResult lowerScaledDot(ThreadContext &t, tt::DotScaledOp op) {
  std::optional<ScaledMma> mma = scaledMma(op, t.kernel.target, t.kernel.config.getWarps());
  if (!mma) return bug(op, "no instruction computes this dot");
  return ScaledDot(t, op, *mma).run();
}

void addScaledDotLowerings(LoweringTable &table) {
  addLowerings<lowerScaledDot>(table);
}

} // namespace tilewright::gpu
