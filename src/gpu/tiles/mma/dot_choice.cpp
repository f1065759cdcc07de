// Chooses the instruction of a dot. Examples:
//   128x64xf16 * 64x256xf16, 8 warps, a target with wgmma: wgmma m64n256k16, two warp groups of 64 rows, both operands in shared memory
//   16x16xf16 * 16x16xf16: mma.sync m16n8k16
//   32x32xf32 * 32x32xf32 with full precision: multiply-add instructions
#include "gpu/tiles/mma/dot_choice.h"

#include "gpu/cost_model/thresholds.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/tile_equivalence.h"
#include "ir/slice.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if `tile` is computed element by element, with or without a mask, from the result of a source in the same block.
static bool isElementwiseOf(Value tile, Block *block, function_ref<bool(Operation *)> isSource) {
  return tt::dependsOn(tile, [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !block->findAncestorOpInBlock(*op) || !isa<RankedTensorType>(value.getType())) return tt::Search::skip;
    if (isSource(op)) return tt::Search::found;
    return isElementwiseOnTiles(op) || isa<scf::IfOp, ttg::ConvertLayoutOp>(op) ? tt::Search::follow : tt::Search::skip;
  });
}

/// True for the weights of attention: such an operand is already in registers, in an accumulator's layout.
static bool comesFromDot(Value tile, Block *block) {
  return isElementwiseOf(tile, block, [](Operation *op) { return isa<tt::DotOp, ttg::MmaAsyncWaitOp>(op); });
}

/// True for the scores of attention. If each warp has whole rows of both dots, operand A of the other one stays in registers, and warps
/// exchange nothing for reductions of a row.
static bool feedsOperandA(tt::DotOp dot) {
  Block *block = dot->getBlock();
  return llvm::any_of(block->getOps<tt::DotOp>(), [&](tt::DotOp other) {
    return other != dot && isElementwiseOf(other.getA(), block, [&](Operation *op) { return op == dot; });
  });
}

/// Returns the element bits of the operands; 0: no tensor core supports these types.
static int64_t operandBits(tt::DotOp op, const GpuTarget &target) {
  Type a = getElementTypeOrSelf(op.getA().getType()), b = getElementTypeOrSelf(op.getB().getType());
  Type d = getElementTypeOrSelf(op.getType());
  bool toFloat = d.isF32() || d.isF16();
  if (isa<Float8E4M3FNType, Float8E5M2Type>(a) && isa<Float8E4M3FNType, Float8E5M2Type>(b) && toFloat && target.fp8Mma) return 8;
  if (a != b) return 0;
  if (a.isF16() && toFloat) return 16;
  if (a.isBF16() && (toFloat || d.isBF16()) && target.bf16Mma) return 16;
  if (a.isF32() && d.isF32() && op.getInputPrecision() == tt::InputPrecision::TF32 && target.tf32Mma) return 32;
  if (a.isInteger(8) && d.isInteger(32)) return 8;
  return 0;
}

/// Returns why no tensor core supports these types; "" if one does.
static std::string notFormats(tt::DotOp op, const GpuTarget &target) {
  Type a = getElementTypeOrSelf(op.getA().getType()), b = getElementTypeOrSelf(op.getB().getType());
  Type d = getElementTypeOrSelf(op.getType());
  if (operandBits(op, target)) return "";
  if (a.isF32() && b == a && d == a && target.tf32Mma) return "f32 operands need full precision unless input_precision is 'tf32'";
  std::string text;
  llvm::raw_string_ostream(text) << "the tensor cores of " << target.name << " cannot multiply " << a << " by " << b << " into " << d;
  return text;
}

static std::string few(const char *what, int64_t have, int64_t minimum) {
  return std::string(what) + " is " + std::to_string(have) + ", less than " + std::to_string(minimum);
}

/// Returns why wgmma is impossible, or an empty text.
static std::string notWgmma(const Dims &a, const Dims &d, int64_t bits, int64_t warps) {
  if (d.size() != 2) return "wgmma does not support batches";
  if (warps % warpsOfGroup != 0) return "wgmma needs groups of 4 warps, but num_warps is " + std::to_string(warps);
  if (d[0] < wgmmaRows) return few("M", d[0], wgmmaRows);
  if (a[1] * bits < 8 * mmaDepthBytes) return few("K", a[1], 8 * mmaDepthBytes / bits);
  int64_t columns = Layout::wgmmaColumns(d, warps);
  return columns < wgmmaColumnStep ? few("N of a group of 4 warps", columns, wgmmaColumnStep) : "";
}

/// Returns why tcgen05.mma is impossible, or an empty text.
static std::string notTcgen05(tt::DotOp op, const Dims &a, const Dims &d, int64_t bits, int64_t warps, const GpuTarget &target) {
  if (d.size() != 2) return "tcgen05.mma does not support batches";
  if (warps % warpsOfGroup != 0) return "tensor memory needs groups of 4 warps, but num_warps is " + std::to_string(warps);
  if (getElementTypeOrSelf(op.getType()).isInteger() && !target.tcgen05Int8) return target.name + " has no tcgen05.mma of integers";
  if (d[0] < tcgen05MinRows) return few("M", d[0], tcgen05MinRows);
  if (a[1] * bits < 8 * mmaDepthBytes) return few("K", a[1], 8 * mmaDepthBytes / bits);
  if (d[1] < tcgen05ColumnStep * warps / warpsOfGroup) return few("N", d[1], tcgen05ColumnStep * warps / warpsOfGroup);
  int64_t columns = llvm::divideCeil(d[0], tensorMemoryLanes) * d[1];
  if (columns > target.tensorColumns) return "the result takes " + std::to_string(columns) + " columns of tensor memory";
  return "";
}

static std::string notMma(const Dims &a, const Dims &d, int64_t bits) {
  size_t m = d.size() - 2, n = d.size() - 1;
  if (d[m] < mmaRows) return few("M", d[m], mmaRows);
  if (d[n] < mmaColumns) return few("N", d[n], mmaColumns);
  return a.back() * bits < 8 * mmaDepthBytes ? few("K", a.back(), 8 * mmaDepthBytes / bits) : "";
}

/// Gives lanes 0 and 1 the same columns. With 16 bytes a lane, half a warp loads at once if adjacent pairs of lanes read the same address;
/// otherwise only a quarter does. So columns are the same for lanes 0 and 1, and for 2 and 3; rows for lanes 0 and 2, and for 1 and 3.
///   lanes along n n n m m, of which a half needs 8 times 16 bytes of B: four quarters; along m n n n m: two halves
static Layout adjacentLanesShareColumns(const Layout &layout) {
  std::array<std::vector<uint32_t>, 3> bases;
  for (Axis axis : allAxes)
    bases[static_cast<size_t>(axis)] = layout.basesOf(axis);
  std::vector<uint32_t> &lanes = bases[static_cast<size_t>(Axis::lane)];
  auto row = llvm::find_if(lanes, [&](uint32_t basis) { return coordinatesOf(layout.shape, basis)[layout.shape.size() - 2] != 0; });
  if (row != lanes.end()) std::rotate(lanes.begin(), row, std::next(row));
  return Layout::fromBases(layout.shape, std::move(bases));
}

/// Returns a layout with four columns and, if there are enough elements, four rows for each thread, so that operands are reused.
static Layout fmaResult(const Dims &shape, int64_t warps) {
  size_t rank = shape.size(), m = rank - 2, n = rank - 1;
  Dims each(rank, 1), lanes(rank, 1), grid(rank, 1);
  int64_t elements = std::max<int64_t>(1, elementCount(shape) / (warps * 32));
  each[n] = std::min({fmaTileExtent, elements, shape[n]});
  each[m] = std::min({fmaTileExtent, elements / each[n], shape[m]});
  lanes[n] = std::min(fmaLaneColumns, std::max<int64_t>(1, shape[n] / each[n]));
  lanes[m] = 32 / lanes[n];
  // A thread reads a row of A and a column of B for each of its rows and columns: minimize the sum of both.
  int64_t maxRows = std::min(warps, std::max<int64_t>(1, shape[m] / (each[m] * lanes[m]))), minRead = INT64_MAX;
  for (int64_t rows = 1; rows <= maxRows; rows *= 2) {
    int64_t columns = warps / rows, read = llvm::divideCeil(shape[m], lanes[m] * rows) + llvm::divideCeil(shape[n], lanes[n] * columns);
    if (read > minRead) continue;
    minRead = read;
    grid[m] = rows;
    grid[n] = columns;
  }
  return adjacentLanesShareColumns(Layout::blocked(shape, each, lanes, grid, rowMajorOrder(static_cast<int64_t>(rank))));
}

std::pair<int64_t, int64_t> warpGrid(int64_t rows, int64_t columns, int64_t warps, bool chained) {
  int64_t warpsM = 1, warpsN = 1;
  while (warpsM * warpsN < warps) {
    bool fitsM = warpsM * 32 <= rows, fitsN = warpsN * 16 <= columns;
    if (fitsM && (chained || !fitsN || rows / warpsM >= columns / warpsN))
      warpsM *= 2;
    else
      warpsN *= 2;
  }
  return {warpsM, warpsN};
}

/// Returns the instruction for operands of `bits`, and why a better one is impossible.
static std::pair<ttg::MmaKind, std::string> kindOf(tt::DotOp op, int64_t bits, int64_t warps, const GpuTarget &target) {
  Dims a = ttg::shapeOf(op.getA().getType()), d = ttg::shapeOf(op.getType());
  if (!bits) return {ttg::MmaKind::fma, notFormats(op, target)};
  std::string notAsync = target.name + " has no wgmma";
  if (target.wgmma) notAsync = notWgmma(a, d, bits, warps);
  if (target.tcgen05) notAsync = notTcgen05(op, a, d, bits, warps, target);
  if (notAsync.empty()) return {target.tcgen05 ? ttg::MmaKind::tcgen05 : ttg::MmaKind::wgmma, ""};
  std::string withoutMma = notMma(a, d, bits);
  if (withoutMma.empty()) return {ttg::MmaKind::mma, notAsync};
  return {ttg::MmaKind::fma, withoutMma};
}

bool isPromotedWithinIteration(tt::DotOp dot) {
  auto a = cast<RankedTensorType>(dot.getA().getType());
  return isa<FloatType>(a.getElementType()) && ttg::elementBits(a) == 8 && dot.getMaxNumImpreciseAcc() <= a.getDimSize(1);
}

ttg::MmaKind mmaKind(tt::DotOp op, int64_t warps, const GpuTarget &target) {
  return kindOf(op, operandBits(op, target), warps, target).first;
}

bool multipliesAsTf32(tt::DotOp op, int64_t warps, const GpuTarget &target) {
  constexpr int64_t bits = 32;
  return target.tf32Mma && kindOf(op, bits, warps, target).first != ttg::MmaKind::fma;
}

DotChoice chooseDot(tt::DotOp op, int64_t warps, const GpuTarget &target, bool secondAlongColumns) {
  Dims a = ttg::shapeOf(op.getA().getType()), b = ttg::shapeOf(op.getB().getType()), d = ttg::shapeOf(op.getType());
  int64_t bits = operandBits(op, target);
  bool chained = comesFromDot(op.getA(), op->getBlock());
  DotChoice choice;
  std::tie(choice.kind, choice.reason) = kindOf(op, bits, warps, target);
  if (choice.kind == ttg::MmaKind::wgmma) {
    choice.instructionN = Layout::wgmmaColumns(d, warps);
    choice.result = Layout::wgmmaAccumulator(d, warps, choice.instructionN);
    if (chained) choice.a = Layout::wgmmaOperandA(a, warps, bits);
  } else if (choice.kind == ttg::MmaKind::tcgen05) {
    choice.instructionN = std::min(d[1], tcgen05MaxColumns);
    choice.result = Layout::tensorMemory(d, warps);
    // A warp group writes whole words of its columns.
    if (chained && a[0] >= tensorMemoryLanes && a[1] * bits >= registerBits * (warps / warpsOfGroup))
      choice.a = Layout::tensorMemory(a, warps);
  } else if (choice.kind == ttg::MmaKind::mma) {
    auto [warpsM, warpsN] = warpGrid(d[d.size() - 2], d[d.size() - 1], warps, chained || feedsOperandA(op));
    int64_t kWidth = bits == 32 ? 1 : 32 / bits;
    choice.result = Layout::mmaAccumulator(d, warpsM, warpsN);
    choice.a = Layout::mmaOperand(a, 0, warpsM, warpsN, kWidth);
    choice.b = Layout::mmaOperand(b, 1, warpsM, warpsN, kWidth);
    // ldmatrix transposes only 16-bit elements. For wider ones a thread loads adjacent columns of several instructions at once.
    std::vector<int64_t> columns = Layout::adjacentColumns(d.back(), warpsN);
    if (secondAlongColumns && bits == 32 && d.size() == 2 && !columns.empty()) {
      choice.result = choice.result.withColumnBits(columns);
      choice.b = choice.b->withColumnBits(columns);
    }
  } else {
    choice.result = fmaResult(d, warps);
  }
  return choice;
}

std::array<int64_t, 3> instructionShape(tt::DotOp dot, ttg::DotChoiceAttr choice, const GpuTarget &target) {
  Type a = dot.getA().getType();
  int64_t bits = ttg::memoryBits(a), depth = 8 * mmaDepthBytes / bits;
  switch (choice.getKind()) {
  case ttg::MmaKind::wgmma: return {wgmmaRows, std::min(choice.getColumns(), coveringExtent(dot)[1]), depth};
  case ttg::MmaKind::tcgen05: return {std::min(ttg::shapeOf(a)[0], tensorMemoryLanes), choice.getColumns(), depth};
  case ttg::MmaKind::mma: break;
  case ttg::MmaKind::fma: return {0, 0, depth};
  }
  if (target.deepMma) return {mmaRows, mmaColumns, depth};
  return {bits == 8 ? mmaRows / 2 : mmaRows, mmaColumns, depth / 2};
}

bool feedsDot(Value tile) {
  return tt::reaches(tile, [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tt::DotOp, tt::DotScaledOp>(user)) return use.getOperandNumber() < 2 ? tt::Search::found : tt::Search::skip;
    return isa<tt::TransOp, tt::BitcastOp, ttg::ConvertLayoutOp>(user) ? tt::Search::follow : tt::Search::skip;
  });
}

} // namespace tilewright::gpu
