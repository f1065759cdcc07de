// The two descriptors of a tcgen05.mma, as plain C++: the instruction descriptor (32 bits: shape and formats) and the matrix descriptor
// (64 bits: a matrix in shared memory). Bits and rules are those of the PTX ISA 9.1, sections 9.7.16.2.1 (matrix shape), 9.7.16.4.1 (shared
// memory descriptor), 9.7.16.4.2 (instruction descriptor) and 9.7.16.10.1 to 9.7.16.10.7.
//
//   InstructionDescriptor d{.kind = MmaKind::f16, .m = 128, .n = 256, .a = TensorFormat::f16, .b = TensorFormat::f16};
//   uint32_t bits = encode(d);                                0x08400010
//   MatrixDescriptor a{.start = 1024, .leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
//   uint64_t bits = encode(a);                                0x4000404000010040
#pragma once

#include "gpu/machine/small_floats.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::gpu {

enum class MmaKind { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// Returns the name as PTX has it, without ".kind::".
std::string_view nameOf(MmaKind kind);
/// True for the kinds with a scale for each block of K.
bool hasBlockScales(MmaKind kind);
/// Returns the K of one dense instruction.
int64_t depthOf(MmaKind kind);
/// Returns the kind for operands of these formats, and scales of the format `scale`; null: without scales.
MmaKind kindOf(TensorFormat a, TensorFormat b, std::optional<TensorFormat> scale);

/// The shape, the formats and the options of one MMA. The defaults are those of an MMA of f16 with sums in f32.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::f16; // is not part of the bits; the instruction names it
  int64_t m = 128, n = 256;    // of both CTAs together
  TensorFormat a = TensorFormat::f16, b = TensorFormat::f16, d = TensorFormat::f32;
  TensorFormat scale = TensorFormat::ue8m0;    // of both scale matrices, if the kind has them
  bool saturate = false;                       // sums of integers end at the largest s32
  bool negateA = false, negateB = false;       // A or B changes its sign
  bool transposeA = false, transposeB = false; // M-major A, N-major B; otherwise K-major
  int64_t scaleIdA = 0, scaleIdB = 0;          // the first byte of each word of scales that the MMA uses

  bool operator==(const InstructionDescriptor &) const = default;
};

/// The parts of an MMA outside of its descriptor that the rules concern.
struct MmaForm {
  int64_t ctaGroup = 1; // CTAs: 1 or 2
  bool aInTensorMemory = false;
  int64_t scaleBlock = 0; // elements of K for each scale: 16, 32; 0 for kinds without scales
};

/// Returns the broken rule of the ISA, or an empty string.
std::string brokenRule(const InstructionDescriptor &descriptor, const MmaForm &form);
/// Returns the bits of a descriptor without a broken rule.
uint32_t encode(const InstructionDescriptor &descriptor);
/// Reads the bits of an instruction of this kind. The failure names a reserved or unsupported field (sparse matrices, K = 96).
Result<InstructionDescriptor> decodeInstruction(MmaKind kind, uint32_t bits);

/// Permutes the 16-byte units of a row of 32, 64 or 128 bytes by the number of the row, both taken from the address; 0: no swizzle.
uint64_t swizzled(uint64_t address, int64_t rowBytes);

/// The swizzle of a matrix in shared memory, by the bits of the descriptor. b128base32 swizzles units of 32 bytes, the others units of 16.
enum class Swizzle { none = 0, b128base32 = 1, b128 = 2, b64 = 4, b32 = 6 };

/// A matrix in shared memory. All numbers are bytes and multiples of 16 below 2^18.
struct MatrixDescriptor {
  uint64_t start = 0;
  uint64_t leading = 0; // K-major without swizzle: from 16 bytes of K to the next; MN-major: see addressMnMajor
  uint64_t stride = 0;  // K-major: from 8 rows to the next 8
  int64_t baseOffset = 0;
  bool absoluteLeading = false; // `leading` is an address (sm_103a)
  Swizzle swizzle = Swizzle::none;

  bool operator==(const MatrixDescriptor &) const = default;
  /// Returns the bytes of a swizzled row: 128, 64 or 32; 16 without a swizzle.
  int64_t rowBytes() const;
  /// Returns the address of byte `byte` of K of row `row`, for a K-major matrix.
  uint64_t addressKMajor(int64_t row, int64_t byte) const;
  /// Returns the address of element `mn` (M or N) at `k`, for an MN-major matrix with elements of `elementBytes` bytes.
  uint64_t addressMnMajor(int64_t mn, int64_t k, int64_t elementBytes) const;
};

uint64_t encode(const MatrixDescriptor &descriptor);
/// The failure names the field that the ISA forbids.
Result<MatrixDescriptor> decodeMatrix(uint64_t bits);

} // namespace tilewright::gpu
