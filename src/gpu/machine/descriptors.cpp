// The fields of the descriptors, and the ISA's tables of valid combinations.
#include "gpu/machine/descriptors.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tilewright::gpu {

using F = TensorFormat;

// ---- the table of kinds: PTX ISA tables 39, 42 to 44, 51 and 56

namespace {
struct KindRow {
  MmaKind kind;
  std::string_view name;
  int64_t depth;
  std::vector<F> operands, results;
  std::vector<uint32_t> operandCodes; // of `operands`, in the descriptor
  bool transposes, negates, scales;
  bool mixes; // A and B may have different formats
};
} // namespace

static const KindRow &rowOf(MmaKind kind) {
  const std::vector<F> small = {F::e4m3, F::e5m2, F::e2m3, F::e3m2, F::e2m1};
  const std::vector<uint32_t> smallCodes = {0, 1, 3, 4, 5};
  static const std::array<KindRow, 7> rows = {{
      {MmaKind::f16, "f16", 16, {F::f16, F::bf16}, {F::f16, F::f32}, {0, 1}, true, true, false, false},
      {MmaKind::tf32, "tf32", 8, {F::tf32}, {F::f32}, {2}, true, true, false, false},
      {MmaKind::f8f6f4, "f8f6f4", 32, small, {F::f16, F::f32}, smallCodes, true, true, false, true},
      {MmaKind::i8, "i8", 32, {F::u8, F::s8}, {F::s32}, {0, 1}, true, false, false, true},
      {MmaKind::mxf8f6f4, "mxf8f6f4", 32, small, {F::f32}, smallCodes, true, true, true, true},
      {MmaKind::mxf4, "mxf4", 64, {F::e2m1}, {F::f32}, {1}, false, true, true, false},
      {MmaKind::mxf4nvf4, "mxf4nvf4", 64, {F::e2m1}, {F::f32}, {1}, false, true, true, false},
  }};
  return rows[static_cast<size_t>(kind)];
}

std::string_view nameOf(MmaKind kind) {
  return rowOf(kind).name;
}
bool hasBlockScales(MmaKind kind) {
  return rowOf(kind).scales;
}
int64_t depthOf(MmaKind kind) {
  return rowOf(kind).depth;
}

MmaKind kindOf(F a, F b, std::optional<F> scale) {
  if (scale && a == F::e2m1 && b == F::e2m1) return scale == F::ue8m0 ? MmaKind::mxf4 : MmaKind::mxf4nvf4;
  if (scale) return MmaKind::mxf8f6f4;
  if (a == F::tf32) return MmaKind::tf32;
  if (a == F::s8 || a == F::u8) return MmaKind::i8;
  return bitsOf(a) == 16 ? MmaKind::f16 : MmaKind::f8f6f4;
}

static bool contains(const std::vector<F> &formats, F format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

// ---- rules

static std::string formatRule(const InstructionDescriptor &d, const KindRow &row) {
  std::string kind = "kind " + std::string(row.name);
  for (F operand : {d.a, d.b})
    if (!contains(row.operands, operand)) return kind + " has no operand of " + std::string(nameOf(operand));
  if (!row.mixes && d.a != d.b) return kind + " needs A and B of one format";
  if (!contains(row.results, d.d)) return kind + " has no D of " + std::string(nameOf(d.d));
  if (d.d == F::f16 && d.a == F::bf16) return "D of f16 needs operands of f16";
  if (d.saturate && d.kind != MmaKind::i8) return "only integers saturate";
  if ((d.negateA || d.negateB) && !row.negates) return kind + " cannot negate an operand";
  for (auto [transposed, format] : {std::pair(d.transposeA, d.a), std::pair(d.transposeB, d.b)}) {
    if (transposed && !row.transposes) return kind + " has K-major operands only";
    if (transposed && bitsOf(format) < 8) return "an operand of " + std::string(nameOf(format)) + " must be K-major";
  }
  return "";
}

static std::string shapeRule(const InstructionDescriptor &d, const KindRow &row, int64_t ctaGroup) {
  std::string shape = "M = " + std::to_string(d.m) + ", N = " + std::to_string(d.n);
  std::string who = " of kind " + std::string(row.name) + " and cta_group " + std::to_string(ctaGroup);
  bool small = d.m == 64 * ctaGroup, large = d.m == 128 * ctaGroup;
  if (row.scales && ctaGroup == 1 ? !large : !small && !large) return shape + " is not a shape" + who + ": M";
  int64_t step = 8 * ctaGroup;
  if (d.kind == MmaKind::i8 && (ctaGroup == 2 || d.n > 32)) step = 16 * ctaGroup;
  if (d.transposeB && bitsOf(d.b) == 8) step = 16 * ctaGroup;
  if (d.n < step || d.n > 256 || d.n % step)
    return shape + " is not a shape" + who + ": N is a multiple of " + std::to_string(step) + " up to 256";
  return "";
}

static std::string scaleRule(const InstructionDescriptor &d, const KindRow &row, int64_t block) {
  if (!row.scales) return block ? "kind " + std::string(row.name) + " has no block scales" : "";
  bool pairs = d.kind == MmaKind::mxf4nvf4;
  if (block != 32 && !(block == 16 && pairs))
    return "kind " + std::string(row.name) + " has no scales for blocks of " + std::to_string(block);
  if (d.scale != F::ue8m0 && !(d.scale == F::ue4m3 && pairs && block == 16))
    return "kind " + std::string(row.name) + " has no scales of " + std::string(nameOf(d.scale)) + " for blocks of " +
           std::to_string(block);
  int64_t scales = row.depth / block; // of one row
  for (int64_t id : {d.scaleIdA, d.scaleIdB})
    if (id < 0 || id % scales || id + scales > 4)
      return "the scale factor id " + std::to_string(id) + " is not a multiple of the " + std::to_string(scales) +
             " scales of a row, below 4";
  return "";
}

std::string brokenRule(const InstructionDescriptor &descriptor, const MmaForm &form) {
  const KindRow &row = rowOf(descriptor.kind);
  if (form.ctaGroup != 1 && form.ctaGroup != 2) return "cta_group is 1 or 2";
  if (form.aInTensorMemory && descriptor.transposeA) return "A in tensor memory is K-major";
  std::string broken = formatRule(descriptor, row);
  if (broken.empty()) broken = shapeRule(descriptor, row, form.ctaGroup);
  if (broken.empty()) broken = scaleRule(descriptor, row, form.scaleBlock);
  return broken;
}

// ---- bits of the instruction descriptor

static uint32_t operandCode(const KindRow &row, F format) {
  auto at = std::find(row.operands.begin(), row.operands.end(), format);
  return row.operandCodes[static_cast<size_t>(at - row.operands.begin())];
}

uint32_t encode(const InstructionDescriptor &d) {
  const KindRow &row = rowOf(d.kind);
  auto field = [](int64_t value, int shift) { return static_cast<uint32_t>(value) << shift; };
  uint32_t bits = operandCode(row, d.a) << 7 | operandCode(row, d.b) << 10 | field(d.negateA, 13) | field(d.negateB, 14) |
                  field(d.transposeA, 15) | field(d.transposeB, 16) | field(d.n >> 3, 17) | field(d.m >> 4, 24);
  if (row.scales) return bits | field(d.scaleIdB, 4) | field(d.scale == F::ue8m0, 23) | field(d.scaleIdA, 29);
  return bits | field(d.saturate, 3) | field(d.d == F::f16 ? 0 : d.d == F::f32 ? 1 : 2, 4);
}

static Result<F> operandOf(const KindRow &row, uint32_t code) {
  for (size_t i = 0; i < row.operands.size(); ++i)
    if (row.operandCodes[i] == code) return row.operands[i];
  return Failure{"the instruction descriptor has an operand format (" + std::to_string(code) + ") that kind " + std::string(row.name) +
                 " does not have"};
}

Result<InstructionDescriptor> decodeInstruction(MmaKind kind, uint32_t bits) {
  const KindRow &row = rowOf(kind);
  auto field = [&](int shift, int width) { return bits >> shift & ((1u << width) - 1); };
  if (field(2, 1)) return Failure{"sparse matrices are not supported"};
  if (row.scales && field(31, 1)) return Failure{"K = 96 is not supported"};
  uint32_t reserved = row.scales ? 0x0700004b : 0xe0800043; // and the sparsity selector, the shift of .ws
  if (bits & reserved) return Failure{"a reserved field of the instruction descriptor is not 0"};
  Result<F> a = operandOf(row, field(7, 3)), b = operandOf(row, field(10, 3));
  if (!a) return Failure{a.error()};
  if (!b) return Failure{b.error()};
  InstructionDescriptor d;
  d.kind = kind;
  d.a = *a;
  d.b = *b;
  d.negateA = field(13, 1);
  d.negateB = field(14, 1);
  d.transposeA = field(15, 1);
  d.transposeB = field(16, 1);
  d.n = field(17, 6) * 8;
  d.m = field(24, 5) * 16;
  if (row.scales) {
    d.scaleIdB = field(4, 2);
    d.scale = field(23, 1) ? F::ue8m0 : F::ue4m3;
    d.scaleIdA = field(29, 2);
    return d;
  }
  constexpr std::array<F, 3> results = {F::f16, F::f32, F::s32};
  if (field(4, 2) > 2) return Failure{"the instruction descriptor has no format of D"};
  d.d = results[field(4, 2)];
  d.saturate = field(3, 1);
  return d;
}

// ---- the matrix descriptor

int64_t MatrixDescriptor::rowBytes() const {
  switch (swizzle) {
  case Swizzle::none: return 16;
  case Swizzle::b32: return 32;
  case Swizzle::b64: return 64;
  default: return 128;
  }
}

uint64_t swizzled(uint64_t address, int64_t rowBytes) {
  switch (rowBytes) {
  case 128: return address ^ (address >> 3 & 0x70);
  case 64: return address ^ (address >> 3 & 0x30);
  case 32: return address ^ (address >> 3 & 0x10);
  default: return address;
  }
}

static uint64_t swizzledBy(uint64_t address, const MatrixDescriptor &matrix) {
  if (matrix.swizzle == Swizzle::b128base32) return address ^ (address >> 2 & 0x60); // units of 32 bytes
  return swizzled(address, matrix.swizzle == Swizzle::none ? 0 : matrix.rowBytes());
}

uint64_t MatrixDescriptor::addressKMajor(int64_t row, int64_t byte) const {
  auto group = static_cast<uint64_t>(row / 8) * stride, inside = static_cast<uint64_t>(row % 8 * rowBytes());
  if (swizzle == Swizzle::none)
    return start + group + inside + static_cast<uint64_t>(byte / 16) * leading + static_cast<uint64_t>(byte % 16);
  return swizzledBy(start + group + inside + static_cast<uint64_t>(byte), *this);
}

// Without a swizzle, `stride` is the distance of 16 bytes along M or N, and `leading` that of 8 steps of K. With one, `leading` is the
// distance of whole rows along M or N, and `stride` that of 8 steps of K (4 for b128base32).
uint64_t MatrixDescriptor::addressMnMajor(int64_t mn, int64_t k, int64_t elementBytes) const {
  int64_t perRow = rowBytes() / elementBytes, depth = swizzle == Swizzle::b128base32 ? 4 : 8;
  uint64_t along = swizzle == Swizzle::none ? stride : leading, across = swizzle == Swizzle::none ? leading : stride;
  uint64_t address = start + static_cast<uint64_t>(mn / perRow) * along + static_cast<uint64_t>(k / depth) * across +
                     static_cast<uint64_t>(k % depth * rowBytes() + mn % perRow * elementBytes);
  return swizzledBy(address, *this);
}

constexpr uint64_t version = 1; // of the descriptor, in bits 46 to 48

static uint64_t unitsOf(uint64_t bytes) {
  return (bytes & 0x3ffff) >> 4;
}

uint64_t encode(const MatrixDescriptor &d) {
  return unitsOf(d.start) | unitsOf(d.leading) << 16 | unitsOf(d.stride) << 32 | version << 46 | static_cast<uint64_t>(d.baseOffset) << 49 |
         static_cast<uint64_t>(d.absoluteLeading) << 52 | static_cast<uint64_t>(d.swizzle) << 61;
}

Result<MatrixDescriptor> decodeMatrix(uint64_t bits) {
  uint64_t mode = bits >> 61;
  if ((bits >> 46 & 7) != version) return Failure{"bits 46 to 48 of a matrix descriptor are 0b001"};
  if (bits & 0x1fe00000c000c000) return Failure{"a reserved field of the matrix descriptor is not 0"};
  if (mode == 3 || mode == 5 || mode == 7)
    return Failure{"the swizzle mode " + std::to_string(mode) + " of a matrix descriptor is invalid"};
  MatrixDescriptor d;
  d.start = (bits & 0x3fff) << 4;
  d.leading = (bits >> 16 & 0x3fff) << 4;
  d.stride = (bits >> 32 & 0x3fff) << 4;
  d.baseOffset = static_cast<int64_t>(bits >> 49 & 7);
  d.absoluteLeading = bits >> 52 & 1;
  d.swizzle = static_cast<Swizzle>(mode);
  return d;
}

} // namespace tilewright::gpu
