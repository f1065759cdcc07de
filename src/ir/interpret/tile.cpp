// The meaning of operations on whole tiles: creation and shape, contractions, reductions, scans. Tiles are row-major.
#include "ir/interpret/program.h"
#include "ir/scaled_dot.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <numeric>

#pragma STDC FP_CONTRACT OFF // a dot rounds its products before the addition

using namespace mlir;

namespace tilewright::interp {
namespace {

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// ---- creation and shape

LogicalResult programId(Program &program, Operation *op) {
  program.set(op->getResult(0), Tile(uint64_t(program.id[int64_t(cast<tt::GetProgramIdOp>(op).getAxis())])));
  return success();
}
LogicalResult numPrograms(Program &program, Operation *op) {
  program.set(op->getResult(0), Tile(uint64_t(program.grid[int64_t(cast<tt::GetNumProgramsOp>(op).getAxis())])));
  return success();
}
LogicalResult makeRange(Program &program, Operation *op) {
  auto range = cast<tt::MakeRangeOp>(op);
  Tile tile(tileType(range.getResult()).getNumElements(), 0);
  for (int64_t i = 0; i < tile.size(); ++i)
    tile.elements[i] = uint32_t(range.getStart() + i);
  program.set(op->getResult(0), std::move(tile));
  return success();
}
LogicalResult splat(Program &program, Operation *op) {
  program.set(op->getResult(0), Tile(tileType(op->getResult(0)).getNumElements(), program.get(op->getOperand(0)).scalar()));
  return success();
}
/// Runs operations that keep the elements and their order: expand_dims, reshape, unsplat.
LogicalResult keep(Program &program, Operation *op) {
  program.set(op->getResult(0), Tile(program.get(op->getOperand(0))));
  return success();
}
LogicalResult poison(Program &program, Operation *op) {
  Type type = op->getResult(0).getType();
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (tt::isBlockPointer(type) || isa<tt::TensorDescType>(type)) return program.fail(op, "a block pointer without a value");
  program.set(op->getResult(0), Tile(shaped ? shaped.getNumElements() : 1, 0));
  return success();
}

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

/// Returns a tile of `shape` whose element at each index is the source's element at the sum of index times `sourceStrides`.
Tile pick(const Tile &source, ArrayRef<int64_t> shape, ArrayRef<int64_t> sourceStrides) {
  Tile result(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()), 0);
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t from = 0;
  for (uint64_t &element : result.elements) {
    element = source.elements[from];
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
      from += sourceStrides[dim];
      if (++index[dim] < shape[dim]) break;
      from -= sourceStrides[dim] * shape[dim];
      index[dim] = 0;
    }
  }
  return result;
}

LogicalResult broadcast(Program &program, Operation *op) {
  ArrayRef<int64_t> from = tileType(op->getOperand(0)).getShape();
  SmallVector<int64_t> strides = stridesOf(from);
  for (auto [stride, size] : llvm::zip_equal(strides, from))
    if (size == 1) stride = 0;
  program.set(op->getResult(0), pick(program.get(op->getOperand(0)), tileType(op->getResult(0)).getShape(), strides));
  return success();
}
LogicalResult transpose(Program &program, Operation *op) {
  SmallVector<int64_t> strides = stridesOf(tileType(op->getOperand(0)).getShape()), ordered;
  for (int32_t dim : cast<tt::TransOp>(op).getOrder())
    ordered.push_back(strides[dim]);
  program.set(op->getResult(0), pick(program.get(op->getOperand(0)), tileType(op->getResult(0)).getShape(), ordered));
  return success();
}
LogicalResult concatenate(Program &program, Operation *op) {
  Tile result = program.get(op->getOperand(0));
  result.elements.append(program.get(op->getOperand(1)).elements);
  program.set(op->getResult(0), std::move(result));
  return success();
}
LogicalResult join(Program &program, Operation *op) {
  const Tile &a = program.get(op->getOperand(0)), &b = program.get(op->getOperand(1));
  Tile result(2 * a.size(), 0);
  for (int64_t i = 0; i < a.size(); ++i) {
    result.elements[2 * i] = a.elements[i];
    result.elements[2 * i + 1] = b.elements[i];
  }
  program.set(op->getResult(0), std::move(result));
  return success();
}
LogicalResult split(Program &program, Operation *op) {
  const Tile &source = program.get(op->getOperand(0));
  Tile a(source.size() / 2, 0), b(source.size() / 2, 0);
  for (int64_t i = 0; i < a.size(); ++i) {
    a.elements[i] = source.elements[2 * i];
    b.elements[i] = source.elements[2 * i + 1];
  }
  program.set(op->getResult(0), std::move(a));
  program.set(op->getResult(1), std::move(b));
  return success();
}

// ---- contractions

struct DotSizes {
  int64_t batches, rows, columns, depth;
};

template <typename Number, typename F> std::vector<Number> numbersOf(const Tile &tile, F decode) {
  std::vector<Number> numbers(tile.size());
  for (int64_t i = 0; i < tile.size(); ++i)
    numbers[i] = decode(tile.elements[i]);
  return numbers;
}

// For each element, k ascends. The inner loop runs along a row, so that the compiler can vectorize it.
template <typename Number, typename Round>
void multiplyAdd(DotSizes size, const std::vector<Number> &a, const std::vector<Number> &b, std::vector<Number> &sum, Round round) {
  for (int64_t row = 0; row < size.batches * size.rows; ++row) {
    Number *sums = &sum[row * size.columns];
    const Number *batchOfB = &b[row / size.rows * size.depth * size.columns];
    for (int64_t k = 0; k < size.depth; ++k) {
      Number left = a[row * size.depth + k];
      const Number *right = batchOfB + k * size.columns;
      for (int64_t column = 0; column < size.columns; ++column)
        sums[column] = round(sums[column] + round(left * right[column]));
    }
  }
}

/// Returns a * b + c, with the elements of a and b already decoded.
Tile floatDot(DotSizes size, const Format &format, const std::vector<double> &a, const std::vector<double> &b, const Tile &c) {
  Tile result(c.size(), 0);
  if (format.kind == Format::f32) {
    std::vector<float> sum = numbersOf<float>(c, [&](uint64_t bits) { return decodeFloat(format, bits); });
    multiplyAdd<float>(size, std::vector<float>(a.begin(), a.end()), std::vector<float>(b.begin(), b.end()), sum,
                       [](float x) { return x; });
    for (int64_t i = 0; i < c.size(); ++i)
      result.elements[i] = encodeFloat(format, sum[i]);
    return result;
  }
  std::vector<double> sum = numbersOf<double>(c, [&](uint64_t bits) { return decodeFloat(format, bits); });
  if (format.kind == Format::f64)
    multiplyAdd<double>(size, a, b, sum, [](double x) { return x; });
  else
    multiplyAdd<double>(size, a, b, sum, [&](double x) { return decodeFloat(format, encodeFloat(format, x)); });
  for (int64_t i = 0; i < c.size(); ++i)
    result.elements[i] = encodeFloat(format, sum[i]);
  return result;
}

LogicalResult dot(Program &program, Operation *op) {
  auto dotOp = cast<tt::DotOp>(op);
  ArrayRef<int64_t> shapeA = tileType(dotOp.getA()).getShape(), shapeC = tileType(dotOp.getC()).getShape();
  DotSizes size{shapeC.size() == 3 ? shapeC[0] : 1, shapeC[shapeC.size() - 2], shapeC.back(), shapeA.back()};
  const Tile &a = program.get(dotOp.getA()), &b = program.get(dotOp.getB()), &c = program.get(dotOp.getC());
  Format formatA = formatOf(dotOp.getA().getType()), formatB = formatOf(dotOp.getB().getType()), format = formatOf(dotOp.getC().getType());
  if (format.kind == Format::integer) { // one truncation at the end is the same as one at each step
    auto decoder = [](const Format &from) { return [&from](uint64_t bits) { return uint64_t(signExtend(bits, from.bits)); }; };
    std::vector<uint64_t> sum(c.elements.begin(), c.elements.end());
    multiplyAdd<uint64_t>(size, numbersOf<uint64_t>(a, decoder(formatA)), numbersOf<uint64_t>(b, decoder(formatB)), sum,
                          [](uint64_t x) { return x; });
    Tile result(c.size(), 0);
    for (int64_t i = 0; i < c.size(); ++i)
      result.elements[i] = sum[i] & format.mask();
    program.set(op->getResult(0), std::move(result));
    return success();
  }
  auto decoder = [](const Format &from) { return [&from](uint64_t bits) { return decodeFloat(from, bits); }; };
  program.set(op->getResult(0), floatDot(size, format, numbersOf<double>(a, decoder(formatA)), numbersOf<double>(b, decoder(formatB)), c));
  return success();
}

Type elementOf(MLIRContext *context, tt::ScaleDotElemType kind) {
  switch (kind) {
  case tt::ScaleDotElemType::E4M3: return Float8E4M3FNType::get(context);
  case tt::ScaleDotElemType::E5M2: return Float8E5M2Type::get(context);
  case tt::ScaleDotElemType::E2M1: return Float4E2M1FNType::get(context);
  case tt::ScaleDotElemType::E2M3: return Float6E2M3FNType::get(context);
  case tt::ScaleDotElemType::E3M2: return Float6E3M2FNType::get(context);
  case tt::ScaleDotElemType::BF16: return BFloat16Type::get(context);
  default: return Float16Type::get(context);
  }
}

/// Returns a scale as a number of `format`. The scale is a float, or an exponent with f32's bias: 0 is 2^-127; 255 is NaN, or infinity with
/// fastMath.
double scaleNumber(const Format &from, const Format &format, uint64_t bits, bool fastMath) {
  if (from.kind != Format::integer) return decodeFloat(format, encodeFloat(format, decodeFloat(from, bits)));
  if (bits == 255) return fastMath ? INFINITY : NAN;
  return decodeFloat(format, encodeFloat(format, std::ldexp(1.0, int64_t(bits) - 127)));
}

/// Returns one dequantized operand of dot_scaled: batches of [outer, depth] for the left one and of [depth, outer] for the right one.
std::vector<double> scaledNumbers(Program &program, const tt::ScaledOperand &operand, int64_t group, const Format &format, bool fastMath) {
  ArrayRef<int64_t> shape = tileType(operand.tile).getShape();
  Format element = formatOf(elementOf(operand.tile.getContext(), operand.format));
  const Tile &tile = program.get(operand.tile);
  int64_t each = operand.format == tt::ScaleDotElemType::E2M1 ? 2 : 1; // elements in a byte, the first one in the low half
  bool packsColumns = operand.packedAlongK == operand.isLeft;
  int64_t columns = shape.back() * (packsColumns ? each : 1), perRow = packsColumns ? each : 1, perColumn = packsColumns ? 1 : each;
  int64_t rows = shape[shape.size() - 2] * perColumn, batches = shape.size() == 3 ? shape[0] : 1;
  auto rounded = [&](double x) { return decodeFloat(format, encodeFloat(format, x)); };
  std::vector<double> numbers;
  for (int64_t position = 0; position < batches * rows * columns; ++position) {
    int64_t row = position / columns % rows, column = position % columns, batch = position / columns / rows;
    int64_t stored = (batch * rows + row) / perColumn * shape.back() + column / perRow;
    int64_t half = each == 1 ? 0 : packsColumns ? column % 2 : row % 2;
    uint64_t bits = tile.elements[stored] >> (4 * half) & element.mask();
    double number = rounded(decodeFloat(element, bits));
    if (operand.scale) {
      int64_t outer = operand.isLeft ? row : column, depth = operand.isLeft ? column : row, outers = operand.isLeft ? rows : columns;
      int64_t at = (batch * outers + outer) * tileType(operand.scale).getShape().back() + depth / group;
      number = rounded(number * scaleNumber(formatOf(operand.scale.getType()), format, program.get(operand.scale).elements[at], fastMath));
    }
    numbers.push_back(number);
  }
  return numbers;
}

LogicalResult dotScaled(Program &program, Operation *op) {
  auto dotOp = cast<tt::DotScaledOp>(op);
  bool isHalf = dotOp.getAElemType() == tt::ScaleDotElemType::FP16 || dotOp.getBElemType() == tt::ScaleDotElemType::FP16;
  Format format = formatOf(elementOf(op->getContext(), isHalf ? tt::ScaleDotElemType::FP16 : tt::ScaleDotElemType::BF16));
  tt::ScaledOperand left = leftOf(dotOp), right = rightOf(dotOp);
  if (std::string problem = problemOf(left, right, dotOp.getC().getType()); !problem.empty()) return program.fail(op, problem);
  int64_t group = scaleGroup(left, right);
  std::vector<double> a = scaledNumbers(program, left, group, format, dotOp.getFastMath());
  std::vector<double> b = scaledNumbers(program, right, group, format, dotOp.getFastMath());
  ArrayRef<int64_t> shape = tileType(dotOp.getC()).getShape();
  DotSizes size{shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape.back(), 0};
  size.depth = static_cast<int64_t>(a.size()) / (size.batches * size.rows);
  program.set(op->getResult(0), floatDot(size, formatOf(dotOp.getC().getType()), a, b, program.get(dotOp.getC())));
  return success();
}

// ---- reductions and scans

/// The lanes of a tile along an axis. The elements of a lane are combined with each other.
struct Lanes {
  int64_t length, inner, count;
  Lanes(RankedTensorType tile, int64_t axis) : length(tile.getDimSize(axis)), inner(1) {
    for (int64_t dim = axis + 1; dim < tile.getRank(); ++dim)
      inner *= tile.getDimSize(dim);
    count = tile.getNumElements() / length;
  }
  int64_t element(int64_t lane, int64_t index) const { return (lane / inner * length + index) * inner + lane % inner; }
};

/// True if a region may run on the elements of many lanes at once: it must be pure and element-wise. With an observer, the result is false,
/// because it sees one element at a time.
bool runsOnManyLanes(Program &program, Region &region) {
  if (program.options.onStep || !llvm::hasSingleElement(region)) return false;
  return llvm::all_of(region.front().without_terminator(),
                      [](Operation &op) { return findElementwise(op.getName().getStringRef()) != nullptr; });
}

/// For each lane, combines the result so far with the next element, in order. Calls visit(source number, element, value) with the result
/// after each element.
template <typename F> LogicalResult combineAlong(Program &program, Operation *op, int64_t axis, bool reverse, Region &region, F visit) {
  Lanes lanes(tileType(op->getOperand(0)), axis);
  int64_t atOnce = runsOnManyLanes(program, region) ? lanes.count : 1;
  int64_t sources = op->getNumOperands();
  for (int64_t firstLane = 0; firstLane < lanes.count; firstLane += atOnce) {
    SmallVector<Tile> soFar;
    for (int64_t step = 0; step < lanes.length; ++step) {
      int64_t index = reverse ? lanes.length - 1 - step : step;
      SmallVector<Tile> next;
      for (int64_t source = 0; source < sources; ++source) {
        const Tile &tile = program.get(op->getOperand(source));
        next.emplace_back(atOnce, 0);
        for (int64_t lane = 0; lane < atOnce; ++lane)
          next.back().elements[lane] = tile.elements[lanes.element(firstLane + lane, index)];
      }
      if (step == 0) {
        soFar = std::move(next);
      } else {
        SmallVector<Tile> args = std::move(soFar);
        args.append(std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
        FailureOr<SmallVector<Tile>> combined = program.run(region, std::move(args));
        if (failed(combined)) return failure();
        soFar = std::move(*combined);
        for (Tile &tile : soFar)
          if (tile.size() < atOnce) tile = Tile(atOnce, tile.scalar()); // the region has returned a constant
      }
      for (int64_t source = 0; source < sources; ++source)
        for (int64_t lane = 0; lane < atOnce; ++lane)
          visit(source, lanes.element(firstLane + lane, index), soFar[source].elements[lane]);
    }
  }
  return success();
}

/// Returns the two operands of one level of a reduction: the elements at even positions, then those at odd positions.
SmallVector<Tile> pairsOf(ArrayRef<Tile> level, int64_t first, int64_t count) {
  SmallVector<Tile> args;
  for (int64_t side = 0; side < 2; ++side)
    for (const Tile &tile : level) {
      Tile &arg = args.emplace_back(count, 0);
      for (int64_t i = 0; i < count; ++i)
        arg.elements[i] = tile.elements[2 * (first + i) + side];
    }
  return args;
}

/// Removes the last element of each lane of `length` from the level, and returns these elements.
SmallVector<Tile> takeLast(SmallVector<Tile> &level, int64_t lanes, int64_t length) {
  SmallVector<Tile> taken;
  for (Tile &tile : level) {
    Tile &last = taken.emplace_back(lanes, 0);
    Tile rest(lanes * (length - 1), 0);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      last.elements[lane] = tile.elements[lane * length + length - 1];
      for (int64_t i = 0; i < length - 1; ++i)
        rest.elements[lane * (length - 1) + i] = tile.elements[lane * length + i];
    }
    tile = std::move(rest);
  }
  return taken;
}

/// Appends one element to each lane of `length`.
void append(SmallVector<Tile> &level, ArrayRef<Tile> last, int64_t lanes, int64_t length) {
  for (auto [tile, end] : llvm::zip_equal(level, last)) {
    Tile longer(lanes * (length + 1), 0);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (int64_t i = 0; i < length; ++i)
        longer.elements[lane * (length + 1) + i] = tile.elements[lane * length + i];
      longer.elements[lane * (length + 1) + length] = end.elements[lane];
    }
    tile = std::move(longer);
  }
}

/// Combines adjacent elements, then adjacent results, until each lane has one result. The last element of an odd number waits.
LogicalResult reduce(Program &program, Operation *op) {
  auto reduceOp = cast<tt::ReduceOp>(op);
  Lanes lanes(tileType(op->getOperand(0)), reduceOp.getAxis());
  bool allAtOnce = runsOnManyLanes(program, reduceOp.getCombineOp());
  SmallVector<Tile> level; // for each source, lane after lane
  for (Value source : op->getOperands()) {
    const Tile &tile = program.get(source);
    Tile &sorted = level.emplace_back(tile.size(), 0);
    for (int64_t lane = 0; lane < lanes.count; ++lane)
      for (int64_t index = 0; index < lanes.length; ++index)
        sorted.elements[lane * lanes.length + index] = tile.elements[lanes.element(lane, index)];
  }
  for (int64_t length = lanes.length; length > 1; length = (length + 1) / 2) {
    SmallVector<Tile> waiting = length % 2 ? takeLast(level, lanes.count, length) : SmallVector<Tile>();
    int64_t pairs = lanes.count * (length / 2), atOnce = allAtOnce ? pairs : 1;
    SmallVector<Tile> next(level.size(), Tile(pairs, 0));
    for (int64_t first = 0; first < pairs; first += atOnce) {
      FailureOr<SmallVector<Tile>> combined = program.run(reduceOp.getCombineOp(), pairsOf(level, first, atOnce));
      if (failed(combined)) return failure();
      for (auto [tile, values] : llvm::zip_equal(next, *combined))
        for (int64_t i = 0; i < atOnce; ++i)
          tile.elements[first + i] = values.elements[values.size() == 1 ? 0 : i]; // one: the region returned a constant
    }
    level = std::move(next);
    if (!waiting.empty()) append(level, waiting, lanes.count, length / 2);
  }
  for (auto [result, tile] : llvm::zip_equal(op->getResults(), level))
    program.set(result, std::move(tile));
  return success();
}

LogicalResult scan(Program &program, Operation *op) {
  auto scanOp = cast<tt::ScanOp>(op);
  SmallVector<Tile> results(op->getNumResults(), Tile(tileType(op->getOperand(0)).getNumElements(), 0));
  LogicalResult combined =
      combineAlong(program, op, scanOp.getAxis(), scanOp.getReverse(), scanOp.getCombineOp(),
                   [&](int64_t source, int64_t element, uint64_t value) { results[source].elements[element] = value; });
  if (failed(combined)) return failure();
  for (auto [result, tile] : llvm::zip_equal(op->getResults(), results))
    program.set(result, std::move(tile));
  return success();
}

/// Runs a mapped region. Its arguments are `pack` elements of the first tile, then of the second, and so on; likewise its results.
LogicalResult mapElementwise(Program &program, Operation *op) {
  auto map = cast<tt::MapElementwiseOp>(op);
  int64_t pack = map.getPack(), count = tileType(op->getOperand(0)).getNumElements();
  SmallVector<Tile> results(op->getNumResults(), Tile(count, 0));
  for (int64_t first = 0; first < count; first += pack) {
    SmallVector<Tile> args;
    for (Value source : op->getOperands())
      for (int64_t i = 0; i < pack; ++i)
        args.emplace_back(program.get(source).elements[first + i]);
    FailureOr<SmallVector<Tile>> values = program.run(map.getScalarOp(), std::move(args));
    if (failed(values)) return failure();
    for (int64_t i = 0, end = values->size(); i < end; ++i)
      results[i / pack].elements[first + i % pack] = (*values)[i].scalar();
  }
  for (auto [result, tile] : llvm::zip_equal(op->getResults(), results))
    program.set(result, std::move(tile));
  return success();
}

LogicalResult assembly(Program &program, Operation *op) {
  return program.giveUp(op, "the interpreter cannot run assembly: compile the kernel, or write this in the language");
}

LogicalResult histogram(Program &program, Operation *op) {
  auto histogramOp = cast<tt::HistogramOp>(op);
  const Tile &source = program.get(histogramOp.getSrc());
  const Tile *mask = histogramOp.getMask() ? &program.get(histogramOp.getMask()) : nullptr;
  Tile bins(tileType(op->getResult(0)).getNumElements(), 0);
  for (int64_t i = 0; i < source.size(); ++i)
    if ((!mask || mask->elements[i]) && source.elements[i] < uint64_t(bins.size())) ++bins.elements[source.elements[i]];
  program.set(op->getResult(0), std::move(bins));
  return success();
}

LogicalResult gather(Program &program, Operation *op) {
  auto gatherOp = cast<tt::GatherOp>(op);
  RankedTensorType from = tileType(gatherOp.getSrc()), to = tileType(gatherOp.getIndices());
  const Tile &source = program.get(gatherOp.getSrc()), &indices = program.get(gatherOp.getIndices());
  int64_t axis = gatherOp.getAxis(), size = from.getDimSize(axis), indexBits = formatOf(to).bits;
  SmallVector<int64_t> fromStrides = stridesOf(from.getShape()), toStrides = stridesOf(to.getShape());
  Tile result(indices.size(), 0);
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t index = signExtend(indices.elements[i], indexBits), element = 0;
    if (index < 0 || index >= size)
      return program.fail(op, "tt.gather with index " + Twine(index) + " along an axis of size " + Twine(size));
    for (int64_t dim = 0; dim < to.getRank(); ++dim)
      element += (dim == axis ? index : i / toStrides[dim] % to.getDimSize(dim)) * fromStrides[dim];
    result.elements[i] = source.elements[element];
  }
  program.set(op->getResult(0), std::move(result));
  return success();
}

/// The bitonic network of tl.sort on one line, in place.
class Network {
public:
  Network(tt::SortOp op, MutableArrayRef<uint64_t> line)
      : format(formatOf(op.getType())), isUnsigned(op.getIsUnsigned()), falling(op.getDescending()), line(line) {}

  void sort(int64_t kept) {
    for (int64_t run = 2; run <= kept; run *= 2)
      merge(run);
    while (int64_t(line.size()) > kept) {
      for (size_t i = 0; i < line.size() / 2; ++i) {
        size_t first = i / kept * 2 * kept + i % kept;
        line[i] = better(line[first], line[first + kept]);
      }
      line = line.take_front(line.size() / 2);
      merge(kept);
    }
  }

private:
  bool greater(uint64_t a, uint64_t b) const { return isUnsigned ? a > b : signExtend(a, format.bits) > signExtend(b, format.bits); }
  /// Returns the element that stays if only the first elements of a line are needed.
  uint64_t better(uint64_t a, uint64_t b) const { return greater(a, b) == falling ? a : b; }
  /// Merges bitonic runs. Sorts all runs in one direction if there is one run, else in alternating directions.
  void merge(int64_t run) {
    for (int64_t distance = run / 2; distance > 0; distance /= 2)
      for (int64_t i = 0; i < int64_t(line.size()); ++i) {
        if (i & distance) continue;
        bool falls = run == int64_t(line.size()) ? falling : (i & run) != 0;
        if (greater(line[i], line[i + distance]) != falls) std::swap(line[i], line[i + distance]);
      }
  }

  Format format;
  bool isUnsigned, falling;
  MutableArrayRef<uint64_t> line;
};

LogicalResult sort(Program &program, Operation *op) {
  auto sortOp = cast<tt::SortOp>(op);
  int64_t length = tileType(sortOp.getSrc()).getShape().back(), kept = tileType(sortOp.getResult()).getShape().back();
  SmallVector<uint64_t, 1> elements = program.get(sortOp.getSrc()).elements;
  Tile result(tileType(sortOp.getResult()).getNumElements(), 0);
  for (int64_t line = 0; line < int64_t(elements.size()) / length; ++line) {
    MutableArrayRef<uint64_t> whole = MutableArrayRef<uint64_t>(elements).slice(line * length, length);
    Network(sortOp, whole).sort(kept);
    llvm::copy(whole.take_front(kept), result.elements.begin() + line * kept);
  }
  program.set(op->getResult(0), std::move(result));
  return success();
}

} // namespace

Meaning findTile(StringRef name) {
  static const llvm::StringMap<Meaning> table = {
      {"tt.get_program_id", programId},
      {"tt.get_num_programs", numPrograms},
      {"tt.make_range", makeRange},
      {"tt.splat", splat},
      {"tt.unsplat", keep},
      {"tt.expand_dims", keep},
      {"tt.reshape", keep},
      {"tt.broadcast", broadcast},
      {"tt.trans", transpose},
      {"tt.cat", concatenate},
      {"tt.join", join},
      {"tt.split", split},
      {"tt.dot", dot},
      {"tt.dot_scaled", dotScaled},
      {"tt.reduce", reduce},
      {"tt.scan", scan},
      {"tt.map_elementwise", mapElementwise},
      {"tt.elementwise_inline_asm", assembly},
      {"tt.histogram", histogram},
      {"tt.gather", gather},
      {"tt.sort", sort},
      {"ub.poison", poison},
  };
  return table.lookup(name);
}

} // namespace tilewright::interp
