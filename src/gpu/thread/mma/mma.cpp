// Dots by mma.sync. The layouts give each thread the registers that its instructions take:
//   tt.dot %a, %b, %c : 16x16 * 16x8 in f16    ->    ptx.mma (4 words of a), (2 words of b), (4 accumulators)
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/mma/matrix_registers.h"
#include "gpu/ttg/mma_extent.h"
#include "ir/refusal.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// An operand of mma.sync, as 32-bit words of contiguous elements along K. Each word is packed once, even if many instructions read it.
class MmaOperand {
public:
  MmaOperand(ThreadContext &t, Value tile, size_t kDim)
      : t(t), tile(tile), kDim(kDim), registers(ttg::layoutOf(tile.getType())), format(formatOf(getElementTypeOrSelf(tile.getType()))) {}

  int64_t elementsOfWord() const {
    return format == ptx::Format::tf32 ? 1 : 32 / getElementTypeOrSelf(tile.getType()).getIntOrFloatBitWidth();
  }
  std::optional<ptx::Format> getFormat() const { return format; }

  /// The word that starts at an element. Null if this thread does not hold it.
  Value word(Dims at) {
    Value &known = words[at];
    if (known) return known;
    const ThreadValues &held = t.get(tile);
    SmallVector<Value> values;
    for (int64_t i = 0; i < elementsOfWord(); ++i) {
      std::optional<size_t> reg = registers.at(at);
      if (!reg) return {};
      values.push_back(held[*reg]);
      ++at[kDim];
    }
    return known = packed(t, values); // f32: the instruction takes the upper bits, as wgmma does
  }

private:
  ThreadContext &t;
  Value tile;
  size_t kDim;
  Registers registers;
  std::optional<ptx::Format> format;
  std::map<std::vector<int64_t>, Value> words;
};
} // namespace

/// The columns of the tile that the bits of an instruction's column number stand for. Nothing if operand and result do not match.
static std::optional<std::array<int64_t, 3>> columnsOfMma(const Layout &second, const Layout &result) {
  std::array<int64_t, 3> columns;
  for (size_t bit = 0; bit < columns.size(); ++bit)
    columns[bit] = coordinatesOf(second.shape, second.basesOf(Axis::lane)[bit + 2]).back();
  for (size_t bit : {0, 1})
    if (coordinatesOf(result.shape, result.basesOf(Axis::lane)[bit]).back() != columns[bit + 1]) return std::nullopt;
  return columns;
}

/// The registers of the 16 x 8 tile of results whose first element is at `at`: two columns, `next` apart, of each of two rows.
static std::optional<std::array<size_t, 4>> resultRegisters(const Registers &d, const Dims &at, size_t m, size_t n, int64_t next) {
  std::array<size_t, 4> found;
  for (size_t i = 0; i < 4; ++i) {
    Dims element = at;
    element[m] += i / 2 ? 8 : 0;
    element[n] += i % 2 ? next : 0;
    std::optional<size_t> reg = d.at(element);
    if (!reg) return std::nullopt;
    found[i] = *reg;
  }
  return found;
}

/// Multiplies a 16 x 8 tile. `a`, `b` and `c` are the registers of an MMA of 32 bytes along K. Register i of A has the second 8 rows if i
/// is odd, and the second half of K from 2 on. So the smaller MMAs of older GPUs take some of these registers: two for each half of K, or
/// one for each 8 rows of integers.
static ThreadValues multiplyTile(ThreadContext &t, ArrayRef<Value> a, ArrayRef<Value> b, ThreadValues c, ptx::Format aFormat,
                                 ptx::Format bFormat, ptx::Format cFormat) {
  auto mma = [&](ArrayRef<Value> a, ArrayRef<Value> b, const ThreadValues &c) -> ThreadValues {
    return ThreadValues(ptx::MmaOp::create(t.b, ValueRange(c).getTypes(), a, b, c, aFormat, bFormat, cFormat).getD());
  };
  if (t.kernel.target.deepMma) return mma(a, b, c);
  for (size_t half : {0, 1}) {
    if (aFormat != ptx::Format::s8) {
      c = mma(a.slice(2 * half, 2), b[half], c);
      continue;
    }
    ThreadValues upper = mma(a[2 * half], b[half], {c[0], c[1]}), lower = mma(a[2 * half + 1], b[half], {c[2], c[3]});
    c = {upper[0], upper[1], lower[0], lower[1]};
  }
  return c;
}

static LogicalResult lowerDot(ThreadContext &t, tt::DotOp op) {
  auto dType = cast<RankedTensorType>(op.getType());
  Layout layout = ttg::layoutOf(dType);
  size_t m = layout.shape.size() - 2, n = m + 1;
  Registers d(layout);
  MmaOperand a(t, op.getA(), n), second(t, op.getB(), m);
  int64_t step = 8 * a.elementsOfWord(), depth = cast<RankedTensorType>(op.getA().getType()).getShape().back();
  Type element = dType.getElementType();
  auto misfit = [&] { return bug(op, "these layouts are not those of mma.sync"); };
  std::optional<ptx::Format> sumFormat = accumulatorOf(element);
  if (!a.getFormat() || !second.getFormat() || !sumFormat) return bug(op, "mma.sync does not multiply these elements");
  ThreadValues sums = t.get(op.getC());
  std::optional<std::array<int64_t, 3>> columns = columnsOfMma(ttg::layoutOf(op.getB().getType()), layout);
  if (!columns) return misfit();
  for (Dims at : d.elements()) {
    if (at[m] % 16 || at[n] & (*columns)[0]) continue; // the first element of a 16 x 8 tile
    std::optional<std::array<size_t, 4>> registers = resultRegisters(d, at, m, n, (*columns)[0]);
    if (!registers) return misfit();
    for (int64_t k = 0; k < depth; k += step) {
      SmallVector<Value> as, bs, cs;
      for (int64_t half : {int64_t(0), step / 2})
        for (int64_t row : {at[m], at[m] + 8}) {
          Dims element = at;
          element[m] = row;
          element[n] = k + half;
          as.push_back(a.word(element));
        }
      for (int64_t half : {int64_t(0), step / 2}) {
        Dims element = at;
        element[m] = k + half;
        bs.push_back(second.word(element));
      }
      if (llvm::is_contained(as, Value()) || llvm::is_contained(bs, Value())) return misfit();
      for (size_t reg : *registers)
        cs.push_back(sums[reg]);
      ThreadValues c = asRegisters(t, cs, accumulatorsOfRegister(element));
      c = multiplyTile(t, as, bs, c, *a.getFormat(), *second.getFormat(), *sumFormat);
      for (auto [reg, value] : llvm::zip(*registers, asElements(t, c, accumulatorsOfRegister(element), element)))
        sums[reg] = value;
    }
  }
  t.set(op.getResult(), std::move(sums));
  return success();
}

void addMmaLowerings(LoweringTable &table) {
  addLowerings<lowerDot>(table);
}

} // namespace tilewright::gpu
