// The descriptors of tcgen05.mma: bits worked out from the ISA's tables, the rules that brokenRule names, and the addresses of a matrix's
// elements compared with the ISA's canonical layouts.
#include "gpu/machine/descriptors.h"

#include <gtest/gtest.h>

#include <set>

using namespace tilewright;
using namespace tilewright::gpu;
using F = TensorFormat;

namespace {

InstructionDescriptor shape(MmaKind kind, int64_t m, int64_t n, F a, F b, F d = F::f32) {
  InstructionDescriptor descriptor;
  descriptor.kind = kind;
  descriptor.m = m;
  descriptor.n = n;
  descriptor.a = a;
  descriptor.b = b;
  descriptor.d = d;
  return descriptor;
}

TEST(InstructionDescriptor, BitsOfEveryKind) {
  EXPECT_EQ(encode(shape(MmaKind::f16, 128, 256, F::f16, F::f16)), 0x08400010u);
  EXPECT_EQ(encode(shape(MmaKind::f16, 64, 8, F::f16, F::f16, F::f16)), 0x04020000u);
  EXPECT_EQ(encode(shape(MmaKind::f16, 256, 16, F::bf16, F::bf16)), 0x10040490u);
  EXPECT_EQ(encode(shape(MmaKind::tf32, 128, 64, F::tf32, F::tf32)), 0x08100910u);
  EXPECT_EQ(encode(shape(MmaKind::f8f6f4, 128, 32, F::e2m1, F::e3m2)), 0x08081290u);
  EXPECT_EQ(encode(shape(MmaKind::i8, 128, 32, F::s8, F::u8, F::s32)), 0x080800a0u);
  InstructionDescriptor scaled = shape(MmaKind::mxf8f6f4, 128, 128, F::e5m2, F::e4m3);
  scaled.scaleIdA = 3;
  scaled.scaleIdB = 1;
  EXPECT_EQ(encode(scaled), 0x68a00090u);
  scaled = shape(MmaKind::mxf4nvf4, 256, 256, F::e2m1, F::e2m1);
  scaled.scale = F::ue4m3;
  scaled.negateB = true;
  EXPECT_EQ(encode(scaled), 0x10404480u);
}

TEST(InstructionDescriptor, IsReadBack) {
  for (MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8, MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4})
    for (F a : {F::f16, F::bf16, F::tf32, F::e4m3, F::e5m2, F::e2m3, F::e3m2, F::e2m1, F::s8, F::u8})
      for (F d : {F::f16, F::f32, F::s32})
        for (int64_t m : {64, 128, 256})
          for (bool flag : {false, true}) {
            InstructionDescriptor descriptor = shape(kind, m, 96, a, a, d);
            descriptor.transposeA = flag;
            descriptor.negateB = flag && kind != MmaKind::i8;
            descriptor.saturate = flag && kind == MmaKind::i8;
            if (!brokenRule(descriptor, {m == 256 ? 2 : 1, false, hasBlockScales(kind) ? 32 : 0}).empty()) continue;
            Result<InstructionDescriptor> read = decodeInstruction(kind, encode(descriptor));
            ASSERT_TRUE(read) << read.error();
            EXPECT_EQ(*read, descriptor);
          }
}

TEST(InstructionDescriptor, BrokenBitsAreNamed) {
  auto says = [](MmaKind kind, uint32_t bits) {
    Result<InstructionDescriptor> read = decodeInstruction(kind, bits);
    return read ? std::string() : read.error();
  };
  uint32_t good = encode(shape(MmaKind::f16, 128, 256, F::f16, F::f16));
  EXPECT_EQ(says(MmaKind::f16, good), "");
  EXPECT_NE(says(MmaKind::f16, good | 4).find("sparse"), std::string::npos);
  for (int bit : {0, 1, 6, 23, 29, 30, 31})
    EXPECT_NE(says(MmaKind::f16, good | 1u << bit).find("reserved field"), std::string::npos) << bit;
  EXPECT_NE(says(MmaKind::f16, good | 2 << 7).find("operand format (2)"), std::string::npos);
  EXPECT_NE(says(MmaKind::f16, good | 3 << 4).find("no format of D"), std::string::npos);
  uint32_t scaled = encode(shape(MmaKind::mxf4, 128, 256, F::e2m1, F::e2m1));
  EXPECT_NE(says(MmaKind::mxf4, scaled | 1u << 31).find("K = 96"), std::string::npos);
  for (int bit : {0, 1, 3, 6, 24, 25, 26})
    EXPECT_NE(says(MmaKind::mxf4, scaled | 1u << bit).find("reserved field"), std::string::npos) << bit;
}

TEST(InstructionDescriptor, RulesOfShapes) {
  auto valid = [](MmaKind kind, F format, int64_t ctas, int64_t m, int64_t n) {
    F d = kind == MmaKind::i8 ? F::s32 : F::f32;
    return brokenRule(shape(kind, m, n, format, format, d), {ctas, false, hasBlockScales(kind) ? 32 : 0}).empty();
  };
  std::set<int64_t> shapesOfM, stepsOfInt, stepsOfPairs;
  for (int64_t m = 16; m <= 256; m += 16)
    if (valid(MmaKind::f16, F::f16, 1, m, 64)) shapesOfM.insert(m);
  EXPECT_EQ(shapesOfM, (std::set<int64_t>{64, 128}));
  for (int64_t n = 8; n <= 264; n += 8) {
    EXPECT_EQ(valid(MmaKind::f16, F::f16, 1, 128, n), n <= 256) << n;
    EXPECT_EQ(valid(MmaKind::f8f6f4, F::e4m3, 2, 256, n), n % 16 == 0 && n <= 256) << n;
    EXPECT_EQ(valid(MmaKind::i8, F::s8, 1, 128, n), (n <= 32 || n % 16 == 0) && n <= 256) << n;
    EXPECT_EQ(valid(MmaKind::i8, F::s8, 2, 256, n), n % 32 == 0 && n <= 256) << n;
  }
  EXPECT_FALSE(valid(MmaKind::mxf4, F::e2m1, 1, 64, 64)); // block scales need all lanes
  EXPECT_TRUE(valid(MmaKind::mxf4, F::e2m1, 2, 128, 64));
  EXPECT_FALSE(valid(MmaKind::f16, F::f16, 2, 64, 64));
  EXPECT_TRUE(valid(MmaKind::f16, F::f16, 2, 128, 64));
  EXPECT_EQ(brokenRule(shape(MmaKind::f16, 128, 64, F::f16, F::f16), {3, false, 0}), "cta_group is 1 or 2");
}

TEST(InstructionDescriptor, RulesOfFormats) {
  auto says = [](InstructionDescriptor descriptor, MmaForm form = {}) { return brokenRule(descriptor, form); };
  InstructionDescriptor mixed = shape(MmaKind::f16, 128, 64, F::f16, F::bf16);
  EXPECT_NE(says(mixed).find("one format"), std::string::npos);
  EXPECT_EQ(says(shape(MmaKind::f8f6f4, 128, 64, F::e2m1, F::e5m2)), "");
  EXPECT_NE(says(shape(MmaKind::f16, 128, 64, F::bf16, F::bf16, F::f16)).find("D of f16 needs operands of f16"), std::string::npos);
  EXPECT_NE(says(shape(MmaKind::tf32, 128, 64, F::tf32, F::tf32, F::f16)).find("no D of f16"), std::string::npos);
  EXPECT_NE(says(shape(MmaKind::i8, 128, 64, F::s8, F::f16, F::s32)).find("no operand of f16"), std::string::npos);
  InstructionDescriptor negated = shape(MmaKind::i8, 128, 64, F::s8, F::s8, F::s32);
  negated.negateA = true;
  EXPECT_NE(says(negated).find("cannot negate"), std::string::npos);
  InstructionDescriptor transposed = shape(MmaKind::f8f6f4, 128, 64, F::e2m1, F::e4m3);
  transposed.transposeA = true;
  EXPECT_NE(says(transposed).find("an operand of e2m1 must be K-major"), std::string::npos);
  transposed = shape(MmaKind::f8f6f4, 128, 24, F::e4m3, F::e4m3);
  EXPECT_EQ(says(transposed), "");
  transposed.transposeB = true; // table 52: N in steps of 16
  EXPECT_NE(says(transposed).find("multiple of 16"), std::string::npos);
  transposed = shape(MmaKind::f16, 128, 64, F::f16, F::f16);
  transposed.transposeA = true;
  EXPECT_EQ(says(transposed), "");
  EXPECT_NE(says(transposed, {1, true, 0}).find("A in tensor memory is K-major"), std::string::npos);
}

TEST(InstructionDescriptor, RulesOfScales) {
  auto says = [](MmaKind kind, F scale, int64_t block, int64_t id) {
    InstructionDescriptor descriptor =
        shape(kind, 128, 64, kind == MmaKind::mxf8f6f4 ? F::e4m3 : F::e2m1, kind == MmaKind::mxf8f6f4 ? F::e4m3 : F::e2m1);
    descriptor.scale = scale;
    descriptor.scaleIdA = id;
    return brokenRule(descriptor, {1, false, block});
  };
  for (int64_t id = 0; id < 4; ++id) {
    EXPECT_EQ(says(MmaKind::mxf8f6f4, F::ue8m0, 32, id), "");
    EXPECT_EQ(says(MmaKind::mxf4, F::ue8m0, 32, id).empty(), id % 2 == 0) << id;
    EXPECT_EQ(says(MmaKind::mxf4nvf4, F::ue4m3, 16, id).empty(), id == 0) << id;
  }
  EXPECT_EQ(says(MmaKind::mxf4nvf4, F::ue8m0, 16, 0), "");
  EXPECT_EQ(says(MmaKind::mxf4nvf4, F::ue8m0, 32, 2), "");
  EXPECT_EQ(says(MmaKind::mxf4nvf4, F::ue4m3, 32, 0), "kind mxf4nvf4 has no scales of ue4m3 for blocks of 32");
  EXPECT_NE(says(MmaKind::mxf4, F::ue4m3, 32, 0), "");
  EXPECT_EQ(says(MmaKind::mxf4, F::ue8m0, 16, 0), "kind mxf4 has no scales for blocks of 16");
  EXPECT_EQ(says(MmaKind::mxf4, F::ue8m0, 32, 1), "the scale factor id 1 is not a multiple of the 2 scales of a row, below 4");
  EXPECT_NE(says(MmaKind::mxf8f6f4, F::ue8m0, 0, 0), "");
}

TEST(MatrixDescriptor, BitsAndReading) {
  MatrixDescriptor matrix{.start = 1024, .leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
  EXPECT_EQ(encode(matrix), 0x4000404000010040u);
  for (Swizzle swizzle : {Swizzle::none, Swizzle::b128base32, Swizzle::b128, Swizzle::b64, Swizzle::b32}) {
    matrix = {.start = 0x3fff0, .leading = 0x12340, .stride = 0x20010, .baseOffset = 5, .absoluteLeading = true, .swizzle = swizzle};
    Result<MatrixDescriptor> read = decodeMatrix(encode(matrix));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, matrix);
  }
  auto says = [](uint64_t bits) {
    Result<MatrixDescriptor> read = decodeMatrix(bits);
    return read ? std::string() : read.error();
  };
  EXPECT_NE(says(0x4000004000010040u).find("0b001"), std::string::npos); // Hopper's descriptors lack the constant
  for (uint64_t mode : {3, 5, 7})
    EXPECT_EQ(says(uint64_t(1) << 46 | mode << 61), "the swizzle mode " + std::to_string(mode) + " of a matrix descriptor is invalid");
  for (int bit : {14, 15, 30, 31, 53, 60})
    EXPECT_NE(says(uint64_t(1) << 46 | uint64_t(1) << bit).find("reserved field"), std::string::npos) << bit;
}

// The canonical layouts of PTX ISA 9.7.16.3.3 for 2-byte elements, T = 8 elements in 16 bytes, as offsets in elements before the swizzle.
TEST(MatrixDescriptor, CanonicalLayouts) {
  constexpr uint64_t start = 4096, leading = 2048, stride = 8192;
  for (auto [swizzle, units] : {std::pair(Swizzle::none, 1), {Swizzle::b32, 2}, {Swizzle::b64, 4}, {Swizzle::b128, 8}}) {
    MatrixDescriptor matrix{.start = start, .leading = leading, .stride = stride, .swizzle = swizzle};
    auto swizzled = [&](uint64_t address) { return address ^ (address >> 3 & uint64_t(16 * (units - 1))); };
    for (int64_t outer = 0; outer < 64; ++outer)
      for (int64_t k = 0; k < 16; ++k) {
        uint64_t kMajor = start + uint64_t(outer % 8 * 8 * units * 2) + uint64_t(outer / 8) * stride; // ((8, m), (T, 2k))
        kMajor += swizzle == Swizzle::none ? uint64_t(k % 8 * 2) + uint64_t(k / 8) * leading : uint64_t(k * 2);
        EXPECT_EQ(matrix.addressKMajor(outer, k * 2), swizzled(kMajor));
        uint64_t mnMajor = start + uint64_t(outer % 8 * 2 + outer / 8 % units * 16 + k % 8 * 16 * units); // ((T, units, m), (8, k))
        mnMajor += uint64_t(outer / (8 * units)) * (units == 1 ? stride : leading) + uint64_t(k / 8) * (units == 1 ? leading : stride);
        EXPECT_EQ(matrix.addressMnMajor(outer, k, 2), swizzled(mnMajor));
      }
  }
}

TEST(MatrixDescriptor, SwizzleOf32ByteUnits) {
  // Swizzle<2, 5, 2> on rows of 128 bytes of M or N: the unit of 32 bytes is XORed with K mod 4; 4 steps of K to the next stride.
  MatrixDescriptor matrix{.start = 1024, .leading = 4096, .stride = 512, .swizzle = Swizzle::b128base32};
  for (int64_t mn = 0; mn < 64; ++mn)
    for (int64_t k = 0; k < 8; ++k) {
      uint64_t unit = uint64_t(mn % 32 / 8 ^ (k % 4));
      EXPECT_EQ(matrix.addressMnMajor(mn, k, 4), 1024 + uint64_t(mn / 32 * 4096 + k / 4 * 512 + k % 4 * 128 + mn % 8 * 4) + unit * 32);
    }
}

} // namespace
