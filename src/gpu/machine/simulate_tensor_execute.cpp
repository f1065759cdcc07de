// Executes tcgen05.mma and cp, and the arrivals of commit. Numbers: products and their sum are computed in f64 and rounded once to D's
// format, so the error of an MMA of floats is at most half a unit of the last place of its result, plus the f64 sum's.
#include "gpu/machine/simulate_tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace tilewright::gpu::sim {

static TensorCell &cellOf(Cta &cta, TensorWord word) {
  return cta.tensor.cells[word.column * tensorLanes + word.lane];
}

/// Returns `rows` rows of K numbers of a matrix in a CTA's shared memory.
static std::vector<double> readMatrix(Cta &cta, const SharedMatrix &matrix, int64_t rows) {
  std::vector<double> numbers(size_t(rows * matrix.depth));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < matrix.depth; ++k) {
      auto [address, index] = matrix.unitOf(row, k);
      numbers[row * matrix.depth + k] = elementOf(matrix, cta.at(address), index);
    }
  return numbers;
}

/// Returns a number of A in tensor memory. 4 and 6 bits have a byte each, in its bits 2 to 5 or 0 to 5; kinds mxf4 and mxf4nvf4 have two
/// numbers in a byte.
static double numberOfA(Cta &cta, const MmaPlaces &places, TensorWord start, int64_t k) {
  TensorFormat format = places.shape.a;
  bool isDense = places.shape.kind == MmaKind::mxf4 || places.shape.kind == MmaKind::mxf4nvf4;
  int64_t bits = isDense ? 4 : std::max<int64_t>(8, bitsOf(format)), first = k * bits;
  uint32_t code = cellOf(cta, {start.lane, start.column + first / 32}).value >> (first % 32);
  return decode(format, !isDense && bitsOf(format) == 4 ? code >> 2 : code);
}

/// One row of A, for the data path of a lane of D.
static void readRowOfA(Cta &cta, const MmaPlaces &places, uint64_t address, int64_t lane, double *row) {
  for (int64_t k = 0; k < depthOf(places.shape.kind); ++k)
    row[k] = numberOfA(cta, places, {lane, wordOf(address).column}, k);
}

namespace {
/// An MMA on one CTA.
struct MmaRun {
  const TensorOperation &operation;
  const MmaOperands &operands;
  Cta &cta;
  int64_t index;                // of the CTA in its group
  const std::vector<double> &b; // N rows of K
  int64_t depth = depthOf(operands.places.shape.kind);

  bool isDisabled(int64_t lane) const { return operation.disabled[4 * index + lane / 32] >> (lane % 32) & 1; }
  /// NaN for a scale of ue4m3 with a sign, which is invalid. It is no error: rows and columns past the end of a tile, whose sums are not
  /// stored, may have scales of any bits.
  double scale(TensorWord word, int64_t byte) const {
    uint32_t bits = cellOf(cta, word).value >> (8 * byte) & 0xff;
    bool isInvalid = operands.places.shape.scale == TensorFormat::ue4m3 && bits >> 7;
    return isInvalid ? std::numeric_limits<double>::quiet_NaN() : decode(operands.places.shape.scale, bits);
  }
  double dot(const double *a, int64_t row, int64_t n, int64_t lane) const;
  void write(TensorWord word, double sum) const;
  void run() const;
};
} // namespace

double MmaRun::dot(const double *a, int64_t row, int64_t n, int64_t lane) const {
  const MmaPlaces &places = operands.places;
  const double *other = &b[n * depth];
  int64_t block = places.form.scaleBlock ? places.form.scaleBlock : depth;
  double total = 0;
  for (int64_t first = 0; first < depth; first += block) {
    double sum = 0;
    for (int64_t k = first; k < first + block; ++k)
      sum += a[k] * other[k];
    if (places.form.scaleBlock)
      sum *= scale(places.wordOfScaleA(row, lane), places.shape.scaleIdA + first / block) *
             scale(places.wordOfScaleB(n, lane), places.shape.scaleIdB + first / block);
    total += sum;
  }
  return places.shape.negateA != places.shape.negateB ? -total : total;
}

void MmaRun::write(TensorWord word, double sum) const {
  const InstructionDescriptor &shape = operands.places.shape;
  TensorCell &cell = cellOf(cta, word);
  std::optional<uint32_t> exponent = cast<ptx::Tcgen05MmaOp>(operation.access.step->op).getScaleInputD();
  if (operation.accumulate) {
    double old = decode(shape.d, cell.value);
    sum += exponent ? std::ldexp(old, -int(*exponent)) : old;
  }
  if (shape.d == TensorFormat::s32 && shape.saturate)
    sum = std::clamp<double>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  cell.value = encode(shape.d, sum);
}

void MmaRun::run() const {
  const MmaPlaces &places = operands.places;
  std::vector<double> a = operands.a ? readMatrix(cta, *operands.a, places.rows()) : std::vector<double>(size_t(depth));
  for (int64_t row = 0; row < places.rows(); ++row)
    for (int64_t n = 0; n < places.shape.n; ++n) {
      TensorWord word = places.wordOfD(row, n);
      if (!operands.a && n % places.columns() == 0) readRowOfA(cta, places, operation.a, word.lane, a.data());
      if (isDisabled(word.lane)) continue;
      write(word, dot(operands.a ? &a[row * depth] : a.data(), row, n, word.lane));
    }
}

static bool executeMma(const TensorOperation &operation) {
  Warp &warp = *operation.access.warp;
  std::optional<MmaOperands> operands = operandsOf(operation);
  llvm::SmallVector<Cta *, 2> ctas = ctasOf(warp, *operation.access.step, operands ? operands->places.form.ctaGroup : 1);
  if (!operands || ctas.empty()) return false;
  std::vector<double> b;
  for (Cta *cta : ctas) {
    std::vector<double> part = readMatrix(*cta, operands->b, operands->places.shape.n / int64_t(ctas.size()));
    b.insert(b.end(), part.begin(), part.end());
  }
  for (auto [index, cta] : llvm::enumerate(ctas))
    MmaRun{operation, *operands, *cta, int64_t(index), b}.run();
  return true;
}

/// Expands 16 elements of 4 or 6 bits to bytes: 4 bits to bits 2 to 5, 6 bits to bits 0 to 5.
static std::array<uint8_t, 16> expand(const uint8_t *unit, ptx::TensorSource source) {
  int64_t bits = source == ptx::TensorSource::b4x16_p64 ? 4 : 6;
  std::array<uint8_t, 16> bytes{};
  for (int64_t i = 0; i < 16; ++i) {
    int64_t first = i * bits;
    uint32_t code = (uint32_t(unit[first / 8]) | uint32_t(unit[first / 8 + 1]) << 8) >> (first % 8) & ((1u << bits) - 1);
    bytes[i] = uint8_t(bits == 4 ? code << 2 : code);
  }
  return bytes;
}

static bool executeCopy(const TensorOperation &operation) {
  Warp &warp = *operation.access.warp;
  auto op = cast<ptx::Tcgen05CpOp>(operation.access.step->op);
  std::optional<MatrixDescriptor> source = sourceOf(operation);
  if (!source) return false;
  CopyShape shape = shapeOf(op.getShape());
  TensorWord to = wordOf(operation.access.d);
  for (Cta *cta : ctasOf(warp, *operation.access.step, op.getCtaGroup()))
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t byte = 0; byte < shape.bytes; byte += 16) {
        std::array<uint8_t, 16> unit{};
        const uint8_t *from = cta->at(source->addressKMajor(row, byte));
        if (op.getSource())
          unit = expand(from, *op.getSource());
        else
          std::memcpy(unit.data(), from, unit.size());
        for (int64_t lane : shape.lanesOf(op.getShape(), row))
          for (int64_t column = 0; column < 4; ++column)
            std::memcpy(&cellOf(*cta, {to.lane + lane, to.column + byte / 4 + column}).value, &unit[4 * column], 4);
      }
  return true;
}

/// Each of the first 31 rows gets the next one, and the last row stays: "downwards across all the rows, except the last, by one row" of the
/// ISA's text, with the direction of its shfl.down. So a cp.4x256b to lane 31, which is pipelined after it, fills the last rows.
static bool executeShift(const TensorOperation &operation) {
  auto op = cast<ptx::Tcgen05ShiftOp>(operation.access.step->op);
  llvm::SmallVector<Cta *, 2> ctas = ctasOf(*operation.access.warp, *operation.access.step, op.getCtaGroup());
  TensorWord start = wordOf(operation.access.d);
  for (Cta *cta : ctas)
    for (int64_t column = start.column; column < start.column + shiftedColumns; ++column)
      for (int64_t row = 0; row + 1 < lanesOfWarp; ++row)
        cellOf(*cta, {start.lane + row, column}).value = cellOf(*cta, {start.lane + row + 1, column}).value;
  return !ctas.empty();
}

static bool executeCommit(const TensorOperation &operation) {
  Warp &warp = *operation.access.warp;
  const Step &step = *operation.access.step;
  for (const auto &cta : warp.cta.cluster.ctas) {
    if (!(operation.ctas >> cta->rank & 1)) continue;
    if (cta.get() != &warp.cta && cta->isDone())
      return warp.fail(step, "CTA " + llvm::Twine(cta->rank) + " of the cluster has ended before this arrival at its mbarrier",
                       operation.access.lane);
    Mbarrier &barrier = cta->mbarriers.at(operation.barrier);
    if (!arriveWith(warp, step, operation.access.lane, *cta, barrier, operation.known, 1)) return false;
  }
  return true;
}

bool executeTensor(TensorOperation &operation) {
  switch (operation.access.kind) {
  case TensorKind::mma: return executeMma(operation);
  case TensorKind::copy: return executeCopy(operation);
  case TensorKind::shift: return executeShift(operation);
  default: return executeCommit(operation);
  }
}

} // namespace tilewright::gpu::sim
