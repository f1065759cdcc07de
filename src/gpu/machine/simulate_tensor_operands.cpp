// The places of the operands of tcgen05.mma and tcgen05.cp.
#include "gpu/machine/simulate_tensor_core.h"

using namespace mlir;

namespace tilewright::gpu::sim {

std::pair<uint64_t, int64_t> SharedMatrix::unitOf(int64_t mn, int64_t k) const {
  int64_t count = perUnit();
  if (!isMnMajor) return {matrix.addressKMajor(mn, k / count * 16), k % count};
  return {matrix.addressMnMajor(mn / count * count, k, 16 / count), mn % count};
}

std::vector<uint64_t> SharedMatrix::units(int64_t rows) const {
  std::vector<uint64_t> addresses;
  int64_t count = perUnit();
  for (int64_t mn = 0; mn < rows; mn += isMnMajor ? count : 1)
    for (int64_t k = 0; k < depth; k += isMnMajor ? 1 : count)
      addresses.push_back(unitOf(mn, k).first);
  return addresses;
}

double elementOf(const SharedMatrix &matrix, const uint8_t *unit, int64_t index) {
  int64_t bits = bitsOf(matrix.format), first = index * bits;
  uint32_t code = 0;
  for (int64_t byte = first / 8; byte <= (first + bits - 1) / 8; ++byte)
    code |= uint32_t(unit[byte]) << (8 * (byte - first / 8));
  return decode(matrix.format, code >> (first % 8));
}

/// Returns the matrix descriptor of an operand, or nothing after an error.
static std::optional<MatrixDescriptor> matrixOf(const TensorOperation &operation, uint64_t bits, const char *which) {
  auto wrong = [&](const llvm::Twine &text) {
    operation.access.warp->fail(*operation.access.step, llvm::Twine(which) + ": " + text, operation.access.lane);
    return std::nullopt;
  };
  Result<MatrixDescriptor> matrix = decodeMatrix(bits);
  if (!matrix) return wrong(matrix.error() + " (PTX ISA 9.7.16.4.1)");
  if (matrix->baseOffset || matrix->absoluteLeading)
    return wrong("the simulator does not support a base offset or an absolute leading dimension of a matrix descriptor");
  return *matrix;
}

/// PTX ISA 9.7.16.10.3: table 54.
static bool checkSwizzle(const TensorOperation &operation, const SharedMatrix &matrix) {
  bool needsBase32 = matrix.isMnMajor && bitsOf(matrix.format) == 32, hasBase32 = matrix.matrix.swizzle == Swizzle::b128base32;
  if (needsBase32 == hasBase32) return true;
  return operation.access.warp->fail(
      *operation.access.step,
      needsBase32 ? "an MN-major matrix of 32-bit elements needs a 128-byte swizzle of 32-byte units (PTX ISA 9.7.16.10.3)"
                  : "the 128-byte swizzle of 32-byte units is for MN-major matrices of 32-bit elements (PTX ISA 9.7.16.10.3)",
      operation.access.lane);
}

std::optional<MmaOperands> operandsOf(const TensorOperation &operation) {
  auto op = cast<ptx::Tcgen05MmaOp>(operation.access.step->op);
  MmaOperands found;
  MmaPlaces &places = found.places;
  places.shape = *operation.access.shape;
  places.form = formOf(op);
  places.d = wordOf(operation.access.d);
  places.scaleA = wordOf(operation.scaleA);
  places.scaleB = wordOf(operation.scaleB);
  const InstructionDescriptor &shape = places.shape;
  bool isDense = shape.kind == MmaKind::mxf4 || shape.kind == MmaKind::mxf4nvf4;
  std::optional<MatrixDescriptor> b = matrixOf(operation, operation.b, "B");
  if (!b) return std::nullopt;
  found.b = {*b, shape.b, shape.transposeB, isDense, depthOf(shape.kind)};
  if (!checkSwizzle(operation, found.b)) return std::nullopt;
  if (places.form.aInTensorMemory) return found;
  std::optional<MatrixDescriptor> a = matrixOf(operation, operation.a, "A");
  if (!a) return std::nullopt;
  found.a = {*a, shape.a, shape.transposeA, isDense, depthOf(shape.kind)};
  if (!checkSwizzle(operation, *found.a)) return std::nullopt;
  return found;
}

std::optional<MatrixDescriptor> sourceOf(const TensorOperation &operation) {
  return matrixOf(operation, operation.a, "the source");
}

llvm::SmallVector<Cta *, 2> ctasOf(Warp &warp, const Step &step, int64_t ctaGroup) {
  if (ctaGroup == 1) return {&warp.cta};
  Cta *peer = peerOf(warp, step);
  if (!peer) return {};
  bool isEven = warp.cta.rank % 2 == 0;
  return {isEven ? &warp.cta : peer, isEven ? peer : &warp.cta};
}

} // namespace tilewright::gpu::sim
