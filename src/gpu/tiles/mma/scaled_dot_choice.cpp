#include "gpu/tiles/mma/scaled_dot_choice.h"

#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/tiles/mma/reshaped_source.h"
#include "ir/refusal.h"
#include "ir/scaled_dot.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

using Format = tt::ScaleDotElemType;

static bool isE2m1(const tt::ScaledOperand &x) {
  return x.format == Format::E2M1;
}

/// True if the tiles have the sizes of whole instructions, once bytes hold pairs along K (packScaledOperands). `outer`: the rows or columns
/// of a CTA.
static bool hasFormAndSize(const tt::ScaledOperand &x, int64_t outer, int64_t minOuter) {
  bool isSmall = x.format != Format::BF16 && x.format != Format::FP16;
  bool isPowerOfTwo = llvm::isPowerOf2_64(static_cast<uint64_t>(x.depth())) && llvm::isPowerOf2_64(static_cast<uint64_t>(outer));
  return isSmall && x.rank() == 2 && isPowerOfTwo && outer >= minOuter;
}

/// The element type of an operand's scales; null if there are none.
static Type scaleType(const tt::ScaledOperand &x) {
  return x.scale ? getElementTypeOrSelf(x.scale.getType()) : Type();
}

static TensorFormat formatOf(Format format) {
  switch (format) {
  case Format::E2M1: return TensorFormat::e2m1;
  case Format::E2M3: return TensorFormat::e2m3;
  case Format::E3M2: return TensorFormat::e3m2;
  case Format::E4M3: return TensorFormat::e4m3;
  default: return TensorFormat::e5m2;
  }
}

static std::optional<ScaledMma> instructionOf(const tt::ScaledOperand &left, const tt::ScaledOperand &right, bool tcgen05) {
  Type first = scaleType(left), second = scaleType(right), scale = first ? first : second;
  if (!scale && tcgen05) scale = IntegerType::get(left.tile.getContext(), 8); // ones: an operand without scales gets them
  if (!scale) return ScaledMma{kindOf(formatOf(left.format), formatOf(right.format), std::nullopt), TensorFormat::ue8m0, 0, false};
  if (first && second && first != second) return std::nullopt;
  bool isPair = isE2m1(left) && isE2m1(right), isExponent = scale.isInteger(8);
  int64_t group = tt::scaleGroup(left, right);
  for (const tt::ScaledOperand &x : {left, right})
    if (x.scale && x.group() != group) return std::nullopt; // a single scale for the whole operand
  // The PTX manual lists e8m0 for 16 numbers, too, but ptxas 13.0 does not assemble it.
  bool isKnown = isExponent ? group == 32 : isPair && group == 16 && isa<Float8E4M3FNType>(scale);
  if (!isKnown) return std::nullopt;
  TensorFormat format = isExponent ? TensorFormat::ue8m0 : TensorFormat::ue4m3;
  MmaKind kind = kindOf(formatOf(left.format), formatOf(right.format), format);
  if (!tcgen05 && kind == MmaKind::mxf4) kind = MmaKind::mxf4nvf4; // mma.sync has one name for both
  return ScaledMma{kind, format, depthOf(kind) / group, tcgen05};
}

/// True if tcgen05.mma can compute a result of the shape `d`, which may take a half of tensor memory: its scales need columns, too.
static bool suitsTcgen05(tt::DotScaledOp op, const Dims &d, const GpuTarget &target, int64_t warps) {
  int64_t columns = llvm::divideCeil(d[0], tensorMemoryLanes) * d[1];
  bool hasWarps = warps % warpsOfGroup == 0 && d[1] >= tcgen05ColumnStep * warps / warpsOfGroup;
  bool hasRows = d[0] >= tcgen05MinRows;
  return hasWarps && hasRows && getElementTypeOrSelf(op.getType()).isF32() && columns <= target.tensorColumns / 2;
}

/// The instruction for a CTA that computes a result of the shape `d`, which is a part of the dot's.
static std::optional<ScaledMma> scaledMma(tt::DotScaledOp op, const Dims &d, const GpuTarget &target, int64_t warps) {
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  if (!(target.scaledMma || target.tcgen05BlockScales) || !tt::problemOf(left, right, op.getC().getType()).empty()) return std::nullopt;
  if (d.size() != 2 || !hasFormAndSize(left, d[0], mmaRows) || !hasFormAndSize(right, d[1], mmaColumns)) return std::nullopt;
  std::optional<ScaledMma> mma = instructionOf(left, right, target.tcgen05BlockScales);
  if (!mma || left.depth() < mma->k()) return std::nullopt;
  return !mma->tcgen05 || suitsTcgen05(op, d, target, warps) ? mma : std::nullopt;
}

std::optional<ScaledMma> scaledMma(tt::DotScaledOp op, const GpuTarget &target, int64_t warps) {
  return scaledMma(op, ttg::shapeOf(op.getType()), target, warps);
}

std::array<int64_t, 3> instructionShape(tt::DotScaledOp op, const ScaledMma &mma) {
  if (!mma.tcgen05) return {mmaRows, mmaColumns, mma.k()};
  return {tensorMemoryLanes, std::min(rightOf(op).outer(), tcgen05MaxColumns), mma.k()};
}

LogicalResult checkScaledDots(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  auto walk = function.walk([&](tt::DotScaledOp dot) -> WalkResult {
    if (scaledMma(dot, target, config.getWarps())) return WalkResult::advance();
    return bug(dot, target.name + " has no instruction for it in a kernel of " + std::to_string(config.getWarps()) + " warps");
  });
  return failure(walk.wasInterrupted());
}

std::optional<CtaSplit> scaledDotSplit(tt::DotScaledOp op, const GpuTarget &target, int64_t warps, int64_t ctas) {
  Dims d = ttg::shapeOf(op.getType());
  auto hasInstruction = [&](int64_t rows, int64_t columns) { return scaledMma(op, {rows, columns}, target, warps).has_value(); };
  if (d.size() != 2) return std::nullopt;
  if (ctas == 1) return hasInstruction(d[0], d[1]) ? std::optional(replicated) : std::nullopt;
  // TMA cannot copy 64 rows to the rows that an MMA of 128 rows needs.
  int64_t rows = d[0] / ctas, columns = d[1] / ctas, wholeRows = target.tcgen05BlockScales ? tensorMemoryLanes : mmaRows;
  if (rows >= wholeRows && hasInstruction(rows, d[1])) return shardedAlong(0);
  if (hasInstruction(d[0], columns)) return shardedAlong(1);
  return hasInstruction(rows, d[1]) ? std::optional(shardedAlong(0)) : std::nullopt;
}

bool readsWithPadding(tt::DotScaledOp op, Value tile) {
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  return isE2m1(left) != isE2m1(right) && tile == (isE2m1(left) ? left : right).tile;
}

ScaleBuffer scaleBuffer(Value scale, bool isLeft) {
  Dims shape = ttg::shapeOf(scale.getType()), whole{std::max(shape[0], tensorMemoryLanes), std::max(shape[1], scalesOfWord)};
  SharedLayout read = SharedLayout::scales(whole), stored = read;
  if (isLeft && shape[0] < tensorMemoryLanes) stored = stored.padded(0, halfTileRowBit);
  for (size_t dim : {0, 1})
    while (stored.shape[dim] > shape[dim])
      stored = stored.padded(static_cast<int64_t>(dim), log2Of(stored.shape[dim]) - 1);
  ReshapedSource source = reshapedSourceOf(scale);
  return {source.tile, source.layout(stored), read};
}

ScaledDotLayouts scaledDotLayouts(tt::DotScaledOp op, int64_t warps, const GpuTarget &target) {
  ScaledMma mma = *scaledMma(op, target, warps);
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  Dims d = ttg::shapeOf(op.getType());
  if (mma.tcgen05) return {Layout::tensorMemory(d, warps), {}, {}, {}, {}};
  auto [warpsM, warpsN] = warpGrid(d[0], d[1], warps, /*chained=*/false);
  // A register holds four bytes of an operand, or two whose four numbers get a byte each.
  auto operand = [&, rows = warpsM, columns = warpsN](const tt::ScaledOperand &x) {
    return Layout::mmaOperand(ttg::shapeOf(x.tile.getType()), x.isLeft ? 0 : 1, rows, columns, mma.k() == 32 && isE2m1(x) ? 2 : 4);
  };
  auto scale = [&, rows = warpsM, columns = warpsN](const tt::ScaledOperand &x) {
    return x.scale ? Layout::mmaScale(ttg::shapeOf(x.scale.getType()), x.isLeft ? 0 : 1, rows, columns) : Layout();
  };
  return {Layout::mmaAccumulator(d, warpsM, warpsN), operand(left), operand(right), scale(left), scale(right)};
}

} // namespace tilewright::gpu
