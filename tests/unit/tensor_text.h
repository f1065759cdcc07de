// Kernels with one tcgen05.mma as text: four warps fill shared memory from an image, one thread multiplies, and all warps read D.
#pragma once

#include "gpu/machine/descriptors.h"
#include "simulate_text.h"

#include <functional>

namespace tilewright::gpu {

/// An MMA of one CTA, or of two. Offsets of matrices are relative to the start of shared memory.
struct MmaTest {
  InstructionDescriptor shape;
  MatrixDescriptor a, b;
  int64_t ctaGroup = 1;
  bool aInTensorMemory = false; // 8 words for each lane come from %words
  int64_t scaleBlock = 0;       // the scales of A are at byte scaleOffset of shared memory, those of B at 512 bytes after it
  int64_t scaleOffset = 0;
  int64_t sharedBytes = 32768; // of the image; then an mbarrier, the address of tensor memory and room for another mbarrier
  int64_t dLane = 0;
  int64_t steps = 1; // MMAs that add to one another, `stepBytes` along K
  int64_t stepBytes = 32;
  bool accumulate = false; // the first MMA adds to the first words of %words
  std::string attributes;  // of the MMA
  std::string disable;     // " disable(%m0, ...)"

  bool isSplit() const { return ctaGroup == 2 && shape.m == 128; } // layout B
  int64_t columnsOfD() const { return isSplit() ? shape.n / 2 : shape.n; }
};

/// "%v#0, %v#1, ..."
inline std::string names(const std::string &value, int64_t count, int64_t first = 0) {
  std::string text;
  for (int64_t i = first; i < first + count; ++i)
    text += (i > first ? ", " : "") + value + "#" + std::to_string(i);
  return text;
}
inline std::string types(const std::string &type, int64_t count) {
  std::string text = type;
  for (int64_t i = 1; i < count; ++i)
    text += ", " + type;
  return text;
}

inline std::string constant(const std::string &name, int64_t value, const std::string &type = "i32") {
  return "  %" + name + " = arith.constant " + std::to_string(value) + " : " + type + "\n";
}

/// The copy of the image to shared memory, the allocation, the mbarrier.
inline std::string prologue(const MmaTest &test) {
  std::string group = " {ctaGroup = " + std::to_string(test.ctaGroup) + " : i32}";
  return constant("c0", 0) + constant("window", 0x3ffff) + constant("c4", 4) + constant("c5", 5) + constant("c16", 16) +
         constant("c128", 128) + constant("bytes", test.sharedBytes) + constant("slotOffset", test.sharedBytes + 8) +
         constant("imageWords", test.sharedBytes / 4) + constant("true", 1, "i1") + constant("false", 0, "i1") +
         R"(  %base = ptx.shared_base
  %t = ptx.thread_id
  %w = ptx.warp_id
  %rank = ptx.cluster_rank
  %bar = arith.addi %base, %bytes : i32
  %slot = arith.addi %base, %slotOffset : i32
  %isFirst = arith.cmpi eq, %w, %c0 : i32
  %leader = ptx.elect
  %one = arith.andi %isFirst, %leader : i1
  %imageSize = arith.muli %rank, %bytes : i32
  scf.for %i = %c0 to %imageWords step %c128 : i32 {
    %word = arith.addi %i, %t : i32
    %offset = arith.muli %word, %c4 : i32
    %from = arith.addi %offset, %imageSize : i32
    %wide = arith.extui %from : i32 to i64
    %source = arith.addi %image, %wide : i64
    %to = arith.addi %base, %offset : i32
    %v = ptx.load_global %source -> i32
    ptx.store_shared %to, %v : i32
  }
  ptx.fence_async
  scf.if %isFirst {
    ptx.tcgen05_alloc %slot, 512)" +
         group + R"(
  }
  ptx.mbarrier_init %bar, 1 if %one
  ptx.mbarrier_init_fence
  ptx.cluster_arrive
  ptx.cluster_wait
  %d = ptx.load_shared %slot -> i32
  %warpLane = arith.muli %w, %c32lanes : i32
  %own = arith.addi %d, %warpLane : i32
)";
}

/// Each thread stores 8 words of %words to its lane, at `column`.
inline std::string storeWords(int64_t column, int64_t count) {
  std::string text = constant("wordsOf", 4 * count) + constant("columnOfWords", column) + R"(  %thread = arith.muli %rank, %c128 : i32
  %globalThread = arith.addi %thread, %t : i32
  %wordOffset = arith.muli %globalThread, %wordsOf : i32
  %wordOffset64 = arith.extui %wordOffset : i32 to i64
  %wordBase = arith.addi %words, %wordOffset64 : i64
  %wordPlace = arith.addi %own, %columnOfWords : i32
)";
  for (int64_t i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += constant("byte" + n, 4 * i, "i64") + "  %at" + n + " = arith.addi %wordBase, %byte" + n + " : i64\n  %in" + n +
            " = ptx.load_global %at" + n + " -> i32\n";
  }
  std::string values;
  for (int64_t i = 0; i < count; ++i)
    values += (i ? ", %in" : "%in") + std::to_string(i);
  return text + "  ptx.tcgen05_st m32x32b %wordPlace, " + values + " : " + types("i32", count) +
         "\n  ptx.tcgen05_wait st\n  ptx.tcgen05_fence before\n  ptx.cluster_arrive\n  ptx.cluster_wait\n  ptx.tcgen05_fence after\n";
}

/// A matrix descriptor of the matrix that starts `offset` bytes later, as an i64 named `name`.
inline std::string descriptorText(const std::string &name, MatrixDescriptor matrix, int64_t offset) {
  uint64_t start = matrix.start + uint64_t(offset);
  matrix.start = 0;
  return constant(name + "Bits", int64_t(encode(matrix)), "i64") + constant(name + "Offset", int64_t(start)) + "  %" + name +
         "Start = arith.addi %base, %" + name + "Offset : i32\n  %" + name + "Window = arith.andi %" + name + "Start, %window : i32\n  %" +
         name + "Unit = arith.shrui %" + name + "Window, %c4 : i32\n  %" + name + "Wide = arith.extui %" + name + "Unit : i32 to i64\n  %" +
         name + " = arith.ori %" + name + "Wide, %" + name + "Bits : i64\n";
}

inline std::string attributesOf(const MmaTest &test) {
  std::string text = "ctaGroup = " + std::to_string(test.ctaGroup) + " : i32";
  if (test.scaleBlock) text += ", scaleBlock = " + std::to_string(test.scaleBlock) + " : i32";
  return " {" + text + (test.attributes.empty() ? "" : ", ") + test.attributes + "}";
}

/// The thread that copies the scales and multiplies.
inline std::string multiplication(const MmaTest &test) {
  constexpr int64_t scaleColumnA = 300, scaleColumnB = 320, columnA = 260;
  std::string group = " {ctaGroup = " + std::to_string(test.ctaGroup) + " : i32}", text;
  if (test.scaleBlock) {
    MatrixDescriptor scales{.stride = 128};
    text += constant("scaleColumnA", scaleColumnA) + constant("scaleColumnB", scaleColumnB) + constant("scaleColumnB2", scaleColumnB + 4) +
            "  %sa = arith.addi %d, %scaleColumnA : i32\n  %sb = arith.addi %d, %scaleColumnB : i32\n  %sb2 = arith.addi %d, "
            "%scaleColumnB2 : i32\n" +
            descriptorText("scaleA", scales, test.scaleOffset) + descriptorText("scaleB", scales, test.scaleOffset + 512) +
            descriptorText("scaleB2", scales, test.scaleOffset + 1024) + "  ptx.tcgen05_cp m32x128b %sa, %scaleA if %e" + group +
            "\n  ptx.tcgen05_cp " + (test.isSplit() ? "m64x128b_01_23" : "m32x128b") + " %sb, %scaleB if %e" + group +
            "\n  ptx.tcgen05_cp m32x128b %sb2, %scaleB2 if %e" + group + "\n";
  }
  text += constant("columnA", columnA) + constant("instruction", int32_t(encode(test.shape))) + constant("dLane", test.dLane << 16) +
          "  %accumulator = arith.addi %d, %dLane : i32\n  %placeA = arith.addi %accumulator, %columnA : i32\n";
  for (int64_t step = 0; step < test.steps; ++step) {
    std::string n = std::to_string(step);
    text += descriptorText("a" + n, test.a, step * test.stepBytes) + descriptorText("b" + n, test.b, step * test.stepBytes);
    text += "  ptx.tcgen05_mma " + std::string(nameOf(test.shape.kind)) + " %accumulator, " +
            (test.aInTensorMemory ? "%placeA" : "%a" + n) + ", %b" + n + ", %instruction, " +
            (step || test.accumulate ? "%true" : "%false") + (test.scaleBlock ? " scales %sa, %sb" : "") + test.disable + " if %e" +
            attributesOf(test) + " : " + (test.aInTensorMemory ? "i32" : "i64") + " // MMA\n";
  }
  return text;
}

/// The whole kernel. %image: the bytes of shared memory of each CTA; %words: 8 words for each thread; %out: D, `columnsOfD` words for each
/// thread.
inline std::string mmaKernel(const MmaTest &test) {
  int64_t columns = test.columnsOfD();
  std::string group = " {ctaGroup = " + std::to_string(test.ctaGroup) + " : i32}";
  std::string text = constant("c32lanes", 32 << 16) + prologue(test);
  if (test.aInTensorMemory || test.accumulate) text += storeWords(test.aInTensorMemory ? 260 : 0, 8);
  std::string issuer = test.ctaGroup == 2 ? "  %even = arith.cmpi eq, %rank, %c0 : i32\n  %issues = arith.andi %even, %isFirst : i1\n"
                                          : "  %issues = arith.andi %true, %isFirst : i1\n";
  text += issuer + "  scf.if %issues {\n  %e = ptx.elect\n" + multiplication(test);
  text += test.ctaGroup == 2 ? "  %both = arith.constant 3 : i16\n  ptx.tcgen05_commit %bar to %both if %e" + group + "\n"
                             : "  ptx.tcgen05_commit %bar if %e\n";
  text += "  }\n  ptx.mbarrier_wait %bar, %c0\n  ptx.tcgen05_fence after\n";
  std::string outBytes = std::to_string(4 * columns);
  text += constant("rowBytes", 4 * columns) +
          "  %blockThread = arith.muli %rank, %c128 : i32\n  %outThread = arith.addi %blockThread, %t : "
          "i32\n  %outOffset = arith.muli %outThread, %rowBytes : i32\n  %outOffset64 = arith.extui "
          "%outOffset : i32 to i64\n  %outBase = arith.addi %out, %outOffset64 : i64\n";
  for (int64_t first = 0; first < columns; first += 8) {
    std::string n = std::to_string(first), v = "%v" + n;
    text += constant("column" + n, first) + "  %from" + n + " = arith.addi %own, %column" + n + " : i32\n  " + v +
            ":8 = ptx.tcgen05_ld m32x32b %from" + n + " -> " + types("i32", 8) + " // LD\n  ptx.tcgen05_wait ld\n" +
            constant("outByte" + n, 4 * first, "i64") + constant("outLater" + n, 4 * first + 16, "i64") + "  %outA" + n +
            " = arith.addi %outBase, %outByte" + n + " : i64\n  %outB" + n + " = arith.addi %outBase, %outLater" + n +
            " : i64\n  ptx.store_global %outA" + n + ", " + names(v, 4) + " : i32, i32, i32, i32\n  ptx.store_global %outB" + n + ", " +
            names(v, 4, 4) + " : i32, i32, i32, i32\n";
  }
  text += "  ptx.cluster_arrive\n  ptx.cluster_wait\n  scf.if %isFirst {\n    ptx.tcgen05_dealloc %d, 512" + group +
          "\n    ptx.tcgen05_relinquish" + group + "\n  }\n";
  std::string whole = kernel(128, test.sharedBytes + 32, "%image: i64, %words: i64, %out: i64", text);
  return test.ctaGroup == 1 ? whole : replaced(whole, "sharedBytes = ", "cluster = 2, sharedBytes = ");
}

/// D = A * B of 128 x 16 x 16 f16.
inline MmaTest smallTest() {
  MmaTest test;
  test.shape.n = 16;
  test.a = {.start = 0, .leading = 16, .stride = 256, .swizzle = Swizzle::b32};
  test.b = {.start = 8192, .leading = 16, .stride = 256, .swizzle = Swizzle::b32};
  return test;
}
inline std::string small() {
  return mmaKernel(smallTest());
}

/// Bits of a matrix's elements, `rows` (M or N) of `depth` (K).
struct TestMatrix {
  int64_t rows, depth;
  std::vector<uint32_t> codes;
  uint32_t &at(int64_t row, int64_t k) { return codes[size_t(row * depth + k)]; }
  uint32_t at(int64_t row, int64_t k) const { return codes[size_t(row * depth + k)]; }
};

/// Writes `bits` bits to an image at bit `first` of byte `byte`.
inline void writeBits(std::vector<uint8_t> &image, uint64_t byte, int64_t first, int64_t bits, uint32_t code) {
  for (int64_t i = 0; i < bits; ++i) {
    uint8_t &cell = image[byte + uint64_t((first + i) / 8)];
    cell = uint8_t((cell & ~(1 << ((first + i) % 8))) | (code >> i & 1) << ((first + i) % 8));
  }
}

/// Fills the image of shared memory (at address 0, a multiple of 1024) with a matrix. dense: two 4-bit elements in a byte.
inline void fillImage(std::vector<uint8_t> &image, size_t base, MatrixDescriptor matrix, const TestMatrix &values, TensorFormat format,
                      bool isMnMajor, bool dense = false) {
  int64_t bits = bitsOf(format), perUnit = dense ? 32 : 128 / std::max<int64_t>(8, bits);
  for (int64_t row = 0; row < values.rows; ++row)
    for (int64_t k = 0; k < values.depth; ++k) {
      uint64_t unit = isMnMajor ? matrix.addressMnMajor(row, k, bits / 8) : matrix.addressKMajor(row, k / perUnit * 16);
      writeBits(image, base + unit, isMnMajor ? 0 : k % perUnit * bits, bits, values.at(row, k));
    }
}

} // namespace tilewright::gpu
