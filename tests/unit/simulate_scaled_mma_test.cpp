// mma.sync of formats with 4 to 8 bits. The formulas of the PTX manual place every element of the fragments. Every number is decoded here
// from its fields, and the sums are compared exactly.
#include "simulate_text.h"

#include <array>
#include <bit>
#include <cmath>
#include <random>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

struct SmallFormat {
  int number; // in ptx::Format
  int exponentBits, fractionBits;
  int bits() const { return 1 + exponentBits + fractionBits; }
  double decode(int code) const {
    int fraction = code & ((1 << fractionBits) - 1), exponent = code >> fractionBits & ((1 << exponentBits) - 1);
    int bias = (1 << (exponentBits - 1)) - 1;
    double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fractionBits)
                                     : std::ldexp((1 << fractionBits) + fraction, exponent - bias - fractionBits);
    return code >> (exponentBits + fractionBits) & 1 ? -magnitude : magnitude;
  }
};
constexpr SmallFormat e4m3{3, 4, 3}, e5m2{4, 5, 2}, e2m3{10, 2, 3}, e3m2{11, 3, 2}, e2m1{12, 2, 1};

struct Form {
  SmallFormat a, b;
  int k, vector, scaleFormat, aByte, bByte, aThread, bThread;
};
constexpr int ue8m0 = 13, ue4m3 = 14;

constexpr int wordsOfLane = 16; // a 4, b 2, 2 unused, c 4, scales 2, 2 unused

std::string kernelOf(const Form &form) {
  std::string body = R"(
  %lane = ptx.lane_id
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %o = arith.muli %lane, %c64 : i32
  %w = arith.extui %o : i32 to i64
  %at = arith.addi %in, %w : i64
  %x:4 = ptx.load_global %at -> i32, i32, i32, i32
  %c16 = arith.constant 16 : i64
  %at1 = arith.addi %at, %c16 : i64
  %y:2 = ptx.load_global %at1 -> i32, i32
  %at2 = arith.addi %at1, %c16 : i64
  %s:4 = ptx.load_global %at2 -> f32, f32, f32, f32
  %at3 = arith.addi %at2, %c16 : i64
  %z:2 = ptx.load_global %at3 -> i32, i32
)";
  auto attribute = [](const std::string &name, int value) { return name + " = " + std::to_string(value) + " : i32, "; };
  std::string scales = form.vector ? ", %z#0, %z#1" : "", types = form.vector ? ", i32, i32" : "";
  body += "  %d:4 = \"ptx.scaled_mma\"(%x#0, %x#1, %x#2, %x#3, %y#0, %y#1, %s#0, %s#1, %s#2, %s#3" + scales + ") <{" +
          attribute("aFormat", form.a.number) + attribute("bFormat", form.b.number) + attribute("scaleFormat", form.scaleFormat) +
          attribute("k", form.k) + attribute("vector", form.vector) + attribute("aByte", form.aByte) + attribute("bByte", form.bByte) +
          attribute("aThread", form.aThread) + attribute("bThread", form.bThread) + "operandSegmentSizes = array<i32: 4, 2, 4, " +
          (form.vector ? "2" : "0") + ">}> : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32" + types + ") -> (f32, f32, f32, f32)";
  return kernel(32, 0, "%in: i64, %out: i64", body + R"( // HERE
  %p = arith.muli %lane, %c4 : i32
  %q = arith.muli %p, %c4 : i32
  %r = arith.extui %q : i32 to i64
  %to = arith.addi %out, %r : i64
  ptx.store_global %to, %d#0, %d#1, %d#2, %d#3 : f32, f32, f32, f32)");
}

/// Random numbers and scales of a dot, in the registers of a warp.
class Operands {
public:
  explicit Operands(const Form &form) : form(form), words(32 * wordsOfLane, 0xa5a5a5a5) {
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < 8; ++reg)
        word(lane, reg) = 0;
    fill(form.a, 16, 0, a);
    fill(form.b, 8, 4, b);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i)
        word(lane, 8 + i) = std::bit_cast<uint32_t>(float(lane - 4 * i));
    if (form.vector) scales();
  }

  std::vector<float> expected() const {
    std::vector<float> d(128);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
        double sum = float(lane - 4 * i);
        for (int k = 0; k < form.k; ++k)
          sum += a[size_t(row * form.k + k)] * b[size_t(column * form.k + k)];
        d[size_t(lane * 4 + i)] = float(sum);
      }
    return d;
  }

  std::vector<uint32_t> &registers() { return words; }
  uint32_t &word(int lane, int reg) { return words[size_t(lane * wordsOfLane + reg)]; }

private:
  /// Element i of the fragment of A (or B) in a lane; the manual's groupID is lane / 4.
  void fill(const SmallFormat &format, int outer, int first, std::vector<double> &numbers) {
    numbers.assign(size_t(outer * form.k), 0);
    int ofLane = outer * form.k / 32, inRegister = form.k / 8, bits = 32 / inRegister;
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < ofLane; ++i) {
        bool isLower = outer == 16 && i / inRegister % 2 == 1;
        int row = lane / 4 + (isLower ? 8 : 0);
        int column = lane % 4 * inRegister + i % inRegister + (i >= ofLane / 2 ? form.k / 2 : 0);
        int code;
        do
          code = int(random() % (1U << format.bits()));
        while (format.bits() == 8 && (code & 0x7f) >= (format.exponentBits == 4 ? 0x7f : 0x7c)); // NaN, infinity
        numbers[size_t(row * form.k + column)] = format.decode(code);
        uint32_t shifted = uint32_t(code) << (form.k == 32 && format.bits() == 4 ? 2 : 0);
        word(lane, first + i / inRegister) |= shifted << (i % inRegister * bits);
      }
  }

  double scaleOf(uint32_t byte) const { return form.scaleFormat == ue8m0 ? std::ldexp(1, int(byte) - 127) : e4m3.decode(int(byte)); }

  void scales() {
    auto set = [&](int outer, int lane, int reg, int firstByte, std::vector<double> &numbers) {
      for (int i = 0; i < form.vector; ++i) {
        uint32_t byte = form.scaleFormat == ue8m0 ? 120 + random() % 16 : random() % 0x7f;
        uint32_t shift = uint32_t(8 * (firstByte + i));
        word(lane, reg) = (word(lane, reg) & ~(0xffU << shift)) | byte << shift;
        for (int k = i * form.k / form.vector; k < (i + 1) * form.k / form.vector; ++k)
          numbers[size_t(outer * form.k + k)] *= scaleOf(byte);
      }
    };
    for (int row = 0; row < 16; ++row)
      set(row, row % 8 * 4 + 2 * form.aThread + row / 8, 12, form.aByte, a);
    for (int column = 0; column < 8; ++column)
      set(column, column * 4 + form.bThread, 13, form.bByte, b);
  }

  Form form;
  std::vector<uint32_t> words;
  std::vector<double> a, b;
  std::mt19937 random{7};
};

TEST(SimulateScaledMma, EveryFormAndSelector) {
  const Form forms[] = {
      {e4m3, e4m3, 32, 0, ue8m0, 0, 0, 0, 0}, {e5m2, e2m1, 32, 0, ue8m0, 0, 0, 0, 0}, {e2m1, e2m1, 32, 0, ue8m0, 0, 0, 0, 0},
      {e3m2, e2m3, 32, 0, ue8m0, 0, 0, 0, 0}, {e4m3, e5m2, 32, 1, ue8m0, 0, 0, 0, 0}, {e2m1, e4m3, 32, 1, ue8m0, 3, 1, 1, 3},
      {e2m3, e3m2, 32, 1, ue8m0, 2, 0, 0, 2}, {e2m1, e2m1, 64, 2, ue8m0, 0, 2, 0, 1}, {e2m1, e2m1, 64, 2, ue8m0, 2, 0, 1, 0},
      {e2m1, e2m1, 64, 4, ue4m3, 0, 0, 0, 0}, {e2m1, e2m1, 64, 4, ue4m3, 0, 0, 1, 3},
  };
  for (const Form &form : forms) {
    Operands operands(form);
    std::vector<float> out(128, -1);
    Launch run;
    run.pointer(operands.registers()).pointer(out);
    ASSERT_EQ(simulateText(kernelOf(form), run), "");
    EXPECT_EQ(out, operands.expected()) << form.a.number << " * " << form.b.number << ", k " << form.k << ", scales " << form.vector;
  }
}

TEST(SimulateScaledMma, ScalesOfZeroAndNan) {
  Form form{e4m3, e4m3, 32, 1, ue8m0, 0, 0, 0, 0};
  Operands operands(form);
  operands.word(0, 12) = 0xff; // row 0
  operands.word(4, 12) = 0;    // row 1: 2^-127
  std::vector<float> out(128, -1);
  Launch run;
  run.pointer(operands.registers()).pointer(out);
  ASSERT_EQ(simulateText(kernelOf(form), run), "");
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_EQ(out[16], 4); // row 1 keeps its sum, lane 4's: the products are too small
  EXPECT_FALSE(std::isnan(out[2]));
}

TEST(SimulateScaledMma, FormsThatDoNotExist) {
  auto problem = [](Form form) {
    Operands operands(form);
    std::vector<float> out(128, -1);
    Launch run;
    run.pointer(operands.registers()).pointer(out);
    return simulateText(kernelOf(form), run);
  };
  auto says = [&](const Form &form, const std::string &text) { EXPECT_NE(problem(form).find(text), std::string::npos) << problem(form); };
  says({e4m3, e2m1, 64, 2, ue8m0, 0, 0, 0, 0}, "takes K = 32, or K = 64 and e2m1 alone");
  says({e2m1, e2m1, 64, 4, ue8m0, 0, 0, 0, 0}, "takes 2 scales of ue8m0, or 4 of ue4m3");
  says({e2m1, e2m1, 64, 2, ue8m0, 1, 0, 0, 0}, "takes scales from a byte that is a multiple of their number");
  says({e4m3, e4m3, 32, 1, ue4m3, 0, 0, 0, 0}, "takes scales of ue8m0 for K = 32");
  constexpr int e4m3Format = 3; // of numbers, not of scales
  says({e2m1, e2m1, 64, 4, e4m3Format, 0, 0, 0, 0}, "takes scales of ue8m0 or ue4m3");
  Form good{e4m3, e4m3, 32, 1, ue8m0, 0, 0, 0, 0};
  Operands any(good);
  std::vector<float> unused(128);
  Launch launch;
  launch.pointer(any.registers()).pointer(unused);
  EXPECT_EQ(simulateText(kernelOf(good), launch), "");
  expectError(replaced(kernelOf(good), "aThread = 0", "aThread = 2"), launch, "selects scales by bytes 0 to 3, threads 0 to 1 for A");
  expectError(replaced(kernelOf(good), "array<i32: 4, 2, 4", "array<i32: 5, 1, 4"), launch, "takes 4, 2 and 4 registers");
  Form negative{e2m1, e2m1, 64, 4, ue4m3, 0, 0, 0, 0};
  Operands operands(negative);
  operands.word(8, 12) |= 0x80;
  std::vector<float> out(128, -1);
  Launch run;
  run.pointer(operands.registers()).pointer(out);
  EXPECT_NE(simulateText(kernelOf(negative), run).find("a scale of ue4m3 has a sign"), std::string::npos);
}

} // namespace
