// The interpreter against values worked out by hand, on small kernels in text.
#include "ir/interpret/interpret.h"
#include "ir/tt.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

using namespace tilewright;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan32 = std::numeric_limits<float>::quiet_NaN();

/// A module parsed from text.
class Kernel {
public:
  explicit Kernel(const std::string &text) {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
    EXPECT_TRUE(bool(module)) << text;
  }
  /// The message of the error, or nothing.
  std::string run(std::vector<InterpretArg> args, std::array<int64_t, 3> grid = {1, 1, 1}, InterpretOptions options = {}) {
    if (!module) return "not parsed";
    return llvm::toString(interpret(*module, "kernel", args, grid, 0, grid[0] * grid[1] * grid[2], options));
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

InterpretArg pointer(auto &memory) {
  return InterpretArg::ofPointer(memory.data());
}

/// A kernel of one tile: loads x and y from %in and %in2, computes %r by `body` (which may use @T@ for the tile's type and @N@ for its
/// size), stores it to %out. Types are names of elements.
std::string tileKernel(const std::string &from, const std::string &to, int64_t size, std::string body) {
  std::string n = std::to_string(size);
  std::string text = R"(
tt.func public @kernel(%in: !tt.ptr<@F@>, %in2: !tt.ptr<@F@>, %out: !tt.ptr<@R@>) {
  %i = tt.make_range {start = 0 : i32, end = @N@ : i32} : tensor<@N@xi32>
  %ins = tt.splat %in : !tt.ptr<@F@> -> tensor<@N@x!tt.ptr<@F@>>
  %in2s = tt.splat %in2 : !tt.ptr<@F@> -> tensor<@N@x!tt.ptr<@F@>>
  %outs = tt.splat %out : !tt.ptr<@R@> -> tensor<@N@x!tt.ptr<@R@>>
  %xp = tt.addptr %ins, %i : tensor<@N@x!tt.ptr<@F@>>, tensor<@N@xi32>
  %yp = tt.addptr %in2s, %i : tensor<@N@x!tt.ptr<@F@>>, tensor<@N@xi32>
  %rp = tt.addptr %outs, %i : tensor<@N@x!tt.ptr<@R@>>, tensor<@N@xi32>
  %x = tt.load %xp : tensor<@N@x!tt.ptr<@F@>>
  %y = tt.load %yp : tensor<@N@x!tt.ptr<@F@>>
  )" + body + R"(
  tt.store %rp, %r : tensor<@N@x!tt.ptr<@R@>>
  tt.return
})";
  for (auto [key, value] : {std::pair<std::string, std::string>{"@T@", "tensor<" + n + "x" + from + ">"},
                            {"@U@", "tensor<" + n + "x" + to + ">"},
                            {"@F@", from},
                            {"@R@", to},
                            {"@N@", n}})
    for (size_t at; (at = text.find(key)) != std::string::npos;)
      text.replace(at, key.size(), value);
  return text;
}

/// Runs a tileKernel on x and y.
template <typename R, typename F>
std::vector<R> compute(const std::string &from, const std::string &to, std::vector<F> x, std::vector<F> y, const std::string &body) {
  std::vector<R> out(x.size());
  y.resize(x.size());
  EXPECT_EQ(Kernel(tileKernel(from, to, x.size(), body)).run({pointer(x), pointer(y), pointer(out)}), "");
  return out;
}

// ---- numbers

TEST(Interpret, IntegersWrapAndKeepTheirSign) {
  using B = std::vector<int8_t>;
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {127, -128, 100, 5}, {1, -1, 100, 3}, "%r = arith.addi %x, %y : @T@")),
            (B{-128, 127, -56, 8}));
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {-128, 7, -7, 6}, {-1, 2, 2, -4}, "%r = arith.divsi %x, %y : @T@")), (B{-128, 3, -3, -1}));
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {-128, 7, -7, 6}, {-1, 2, 2, -4}, "%r = arith.remsi %x, %y : @T@")), (B{0, 1, -1, 2}));
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {-7, 7, -8, 0}, {2, 2, 2, 5}, "%r = arith.floordivsi %x, %y : @T@")), (B{-4, 3, -4, 0}));
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {-1, -1, 1, 64}, {1, 9, 7, 1}, "%r = arith.shrsi %x, %y : @T@")), (B{-1, -1, 0, 32}));
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {-1, -1, 1, 64}, {1, 9, 7, 1}, "%r = arith.shli %x, %y : @T@")), (B{-2, 0, -128, -128}));
  EXPECT_EQ((compute<uint8_t, uint8_t>("i8", "i8", {200, 1}, {3, 2}, "%r = arith.divui %x, %y : @T@")), (std::vector<uint8_t>{66, 0}));
  EXPECT_EQ((compute<int8_t, int8_t>("i8", "i8", {-1, 1}, {1, 2}, "%r = arith.minui %x, %y : @T@")), (B{1, 1}));
  EXPECT_EQ((compute<uint32_t, uint32_t>("i32", "i32", {0xffffffffu, 1u << 31}, {0xffffffffu, 6}, "%r = tt.mulhiui %x, %y : @T@")),
            (std::vector<uint32_t>{0xfffffffeu, 3}));
  EXPECT_EQ((compute<int64_t, int64_t>("i64", "i64", {INT64_MIN, 3}, {-1, 4}, "%r = arith.muli %x, %y : @T@")),
            (std::vector<int64_t>{INT64_MIN, 12}));
}

TEST(Interpret, IntegerConversions) {
  EXPECT_EQ((compute<int32_t, int8_t>("i8", "i32", {-1, 5}, {}, "%r = arith.extsi %x : @T@ to @U@")), (std::vector<int32_t>{-1, 5}));
  EXPECT_EQ((compute<int32_t, int8_t>("i8", "i32", {-1, 5}, {}, "%r = arith.extui %x : @T@ to @U@")), (std::vector<int32_t>{255, 5}));
  EXPECT_EQ((compute<int8_t, int32_t>("i32", "i8", {257, -1}, {}, "%r = arith.trunci %x : @T@ to @U@")), (std::vector<int8_t>{1, -1}));
  // 2^24 + 1 is a tie that goes to even; 2^60 + 2^36 + 1 is just above one, though a double cannot tell.
  EXPECT_EQ((compute<float, int64_t>("i64", "f32", {16777217, (1ll << 60) + (1ll << 36) + 1}, {}, "%r = arith.sitofp %x : @T@ to @U@")),
            (std::vector<float>{16777216.f, 0x1.000002p60f}));
  EXPECT_EQ((compute<float, uint64_t>("i64", "f32", {~0ull, 3}, {}, "%r = arith.uitofp %x : @T@ to @U@")),
            (std::vector<float>{0x1p64f, 3.f}));
  EXPECT_EQ((compute<int32_t, float>("f32", "i32", {-2.9f, 1e20f, -inf, nan32}, {}, "%r = arith.fptosi %x : @T@ to @U@")),
            (std::vector<int32_t>{-2, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ((compute<uint8_t, float>("f32", "i8", {-2.9f, 300.f, 7.5f, nan32}, {}, "%r = arith.fptoui %x : @T@ to @U@")),
            (std::vector<uint8_t>{0, 255, 7, 0}));
}

TEST(Interpret, FloatsRoundToTheirOwnFormat) {
  // f16: 2048 + 1 is a tie (to even); 60000 + 60000 overflows; the smallest subnormal halved is a tie to zero.
  EXPECT_EQ((compute<uint16_t, uint16_t>("f16", "f16", {0x6800, 0x7b53, 0x3c00, 0x7e01}, {0x3c00, 0x7b53, 0xbc00, 0x3c00},
                                         "%r = arith.addf %x, %y : @T@")),
            (std::vector<uint16_t>{0x6800, 0x7c00, 0x0000, 0x7e00}));
  EXPECT_EQ((compute<uint16_t, uint16_t>("f16", "f16", {0x0001, 0x0003, 0x0400, 0x8001}, {0x3800, 0x3800, 0x3800, 0x3800},
                                         "%r = arith.mulf %x, %y : @T@")),
            (std::vector<uint16_t>{0x0000, 0x0002, 0x0200, 0x8000}));
  // bf16: 1 + 2^-8 is a tie to even; 256 + 1 too.
  EXPECT_EQ((compute<uint16_t, float>("f32", "bf16", {1.00390625f, 257.f, 3.4e38f, inf}, {}, "%r = arith.truncf %x : @T@ to @U@")),
            (std::vector<uint16_t>{0x3f80, 0x4380, 0x7f80, 0x7f80}));
  EXPECT_EQ((compute<float, float>("f32", "f32", {1.f, 16777216.f}, {3.f, 1.f}, "%r = arith.divf %x, %y : @T@")),
            (std::vector<float>{1.f / 3.f, 16777216.f}));
  EXPECT_EQ((compute<double, double>("f64", "f64", {1.0, 2.0}, {3.0, 1e-20}, "%r = arith.divf %x, %y : @T@")),
            (std::vector<double>{1.0 / 3.0, 2e20}));
  EXPECT_EQ((compute<float, float>("f32", "f32", {2.f, -1.f}, {}, "%r = math.exp %x : @T@")),
            (std::vector<float>{float(std::exp(2.0)), float(std::exp(-1.0))}));
  EXPECT_EQ((compute<float, float>("f32", "f32", {2.5f, -0.5f, 3.5f, 1.2f}, {}, "%r = math.roundeven %x : @T@")),
            (std::vector<float>{2, -0.f, 4, 1}));
}

// Every pattern of each small format goes to f32 and comes back as it was.
TEST(Interpret, SmallFloatsRoundTrip) {
  for (const char *type : {"f16", "bf16"}) {
    std::vector<uint16_t> x(65536), y(65536), back(65536);
    for (int64_t i = 0; i < 65536; ++i)
      x[i] = i;
    std::string body = "%w = arith.extf %x : @T@ to tensor<@N@xf32>\n %r = arith.truncf %w : tensor<@N@xf32> to @U@";
    ASSERT_EQ(Kernel(tileKernel(type, type, 65536, body)).run({pointer(x), pointer(y), pointer(back)}), "");
    uint16_t infinity = std::string(type) == "f16" ? 0x7c00 : 0x7f80;
    for (int64_t i = 0; i < 65536; ++i)
      if ((i & 0x7fff) <= infinity)
        ASSERT_EQ(back[i], x[i]) << type << " " << i;
      else
        ASSERT_GT(back[i] & 0x7fff, infinity) << type << " " << i;
  }
  for (const char *type : {"f8E5M2", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"}) {
    std::vector<uint8_t> x(256), y(256), back(256);
    std::vector<float> wide(256);
    for (int64_t i = 0; i < 256; ++i)
      x[i] = i;
    ASSERT_EQ(Kernel(tileKernel(type, "f32", 256, "%r = tt.fp_to_fp %x : @T@ -> @U@")).run({pointer(x), pointer(y), pointer(wide)}), "");
    std::vector<float> wide2(256);
    ASSERT_EQ(Kernel(tileKernel("f32", type, 256, "%r = tt.fp_to_fp %x, rounding = rtne : @T@ -> @U@"))
                  .run({pointer(wide), pointer(wide2), pointer(back)}),
              "");
    for (int64_t i = 0; i < 256; ++i)
      if (std::isfinite(wide[i])) ASSERT_EQ(back[i], x[i]) << type << " " << i;
  }
}

TEST(Interpret, EightBitFloats) {
  // 448 is the largest of E4M3FN; larger ones stay there. 1.0625 is a tie between 1 and 1.125.
  EXPECT_EQ(
      (compute<uint8_t, float>("f32", "f8E4M3FN", {448.f, 1e9f, -inf, 1.0625f}, {}, "%r = tt.fp_to_fp %x, rounding = rtne : @T@ -> @U@")),
      (std::vector<uint8_t>{0x7e, 0x7e, 0xfe, 0x38}));
  EXPECT_EQ((compute<uint8_t, float>("f32", "f8E5M2", {57344.f, 1e9f, -1.9f, 0.f}, {}, "%r = tt.fp_to_fp %x, rounding = rtz : @T@ -> @U@")),
            (std::vector<uint8_t>{0x7b, 0x7b, 0xbf, 0x00}));
}

TEST(Interpret, MinimaComparisonsAndNan) {
  std::vector<float> x{1, nan32, 3, -0.f}, y{2, 5, nan32, 0.f};
  auto dropped = compute<float, float>("f32", "f32", x, y, "%r = arith.minnumf %x, %y : @T@");
  EXPECT_EQ(dropped, (std::vector<float>{1, 5, 3, 0}));
  EXPECT_TRUE(std::signbit(dropped[3]));
  auto kept = compute<float, float>("f32", "f32", x, y, "%r = arith.maximumf %x, %y : @T@");
  EXPECT_TRUE(kept[0] == 2 && std::isnan(kept[1]) && std::isnan(kept[2]) && !std::signbit(kept[3]));
  using M = std::vector<uint8_t>;
  EXPECT_EQ((compute<uint8_t, float>("f32", "i1", x, y, "%r = arith.cmpf olt, %x, %y : @T@")), (M{1, 0, 0, 0}));
  EXPECT_EQ((compute<uint8_t, float>("f32", "i1", x, y, "%r = arith.cmpf une, %x, %y : @T@")), (M{1, 1, 1, 0}));
  EXPECT_EQ((compute<uint8_t, float>("f32", "i1", x, y, "%r = arith.cmpf ueq, %x, %y : @T@")), (M{0, 1, 1, 1}));
  EXPECT_EQ((compute<uint8_t, int32_t>("i32", "i1", {-1, 2}, {1, 2}, "%r = arith.cmpi slt, %x, %y : @T@")), (M{1, 0}));
  EXPECT_EQ((compute<uint8_t, int32_t>("i32", "i1", {-1, 2}, {1, 2}, "%r = arith.cmpi ult, %x, %y : @T@")), (M{0, 0}));
  auto clamped = compute<float, float>("f32", "f32", {-5, nan32, 0.5f, 9}, {1, 1, 1, 1},
                                       "%lo = arith.negf %y : @T@\n %r = tt.clampf %x, %lo, %y, propagateNan = all : @T@");
  EXPECT_TRUE(clamped[0] == -1 && std::isnan(clamped[1]) && clamped[2] == 0.5f && clamped[3] == 1);
}

TEST(Interpret, BitcastsKeepSignallingNans) {
  EXPECT_EQ((compute<uint32_t, uint32_t>("f32", "i32", {0x7f800001u, 0x3f800000u}, {}, "%r = tt.bitcast %x : @T@ -> @U@")),
            (std::vector<uint32_t>{0x7f800001u, 0x3f800000u}));
}

// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last bit is lost if the product is rounded before 1 is taken away.
TEST(Interpret, FusedMultiplyAddRoundsOnce) {
  std::vector<float> x(2, 1 + 0x1p-12f), y(2, -1);
  EXPECT_EQ((compute<float, float>("f32", "f32", x, y, "%r = math.fma %x, %x, %y : @T@"))[0], 0x1p-11f + 0x1p-24f);
  EXPECT_EQ((compute<float, float>("f32", "f32", x, y, "%p = arith.mulf %x, %x : @T@\n %r = arith.addf %p, %y : @T@"))[0], 0x1p-11f);
  // f16: (1 + 3 * 2^-10)^2 - 1 = 6 * 2^-10 + 9 * 2^-20, whose second part is two units of the last place.
  EXPECT_EQ((compute<uint16_t, uint16_t>("f16", "f16", {0x3c03, 0x3c03}, {0xbc00, 0xbc00}, "%r = math.fma %x, %x, %y : @T@"))[0], 0x1e02);
}

TEST(Interpret, LibraryFunctions) {
  EXPECT_EQ((compute<float, float>(
                "f32", "f32", {0.5f, 1.f}, {},
                R"(%r = tt.extern_elementwise %x {libname = "", libpath = "", symbol = "__nv_asinf", pure = true} : (@T@) -> @U@)")),
            (std::vector<float>{float(std::asin(0.5)), float(std::asin(1.0))}));
  std::vector<float> x(2), out(2);
  EXPECT_NE(
      Kernel(
          tileKernel("f32", "f32", 2,
                     R"(%r = tt.extern_elementwise %x {libname = "", libpath = "", symbol = "__nv_nosuchf", pure = true} : (@T@) -> @U@)"))
          .run({pointer(x), pointer(x), pointer(out)})
          .find("does not support the library function '__nv_nosuchf'"),
      std::string::npos);
}

// ---- memory

TEST(Interpret, MaskedLoadsAndStores) {
  std::vector<float> x{1, 2, 3, 4}, y(4), out{-1, -1, -1, -1};
  std::string body = R"(
    %two = arith.constant dense<2> : tensor<@N@xi32>
    %mask = arith.cmpi slt, %i, %two : tensor<@N@xi32>
    %seven = arith.constant dense<7.0> : @T@
    %a = tt.load %xp, %mask, %seven : tensor<@N@x!tt.ptr<f32>>
    %b = tt.load %xp, %mask : tensor<@N@x!tt.ptr<f32>>
    %r = arith.addf %a, %b : @T@
    %three = arith.constant dense<3> : tensor<@N@xi32>
    %upto3 = arith.cmpi slt, %i, %three : tensor<@N@xi32>
    tt.store %yp, %r, %upto3 : tensor<@N@x!tt.ptr<f32>>
  )";
  ASSERT_EQ(Kernel(tileKernel("f32", "f32", 4, body)).run({pointer(x), pointer(y), pointer(out)}), "");
  EXPECT_EQ(out, (std::vector<float>{2, 4, 7, 7}));
  EXPECT_EQ(y, (std::vector<float>{2, 4, 7, 0}));
}

TEST(Interpret, ProgramsOfTheGrid) {
  Kernel kernel(R"(
tt.func public @kernel(%out: !tt.ptr<i32>, %width: i32) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %n = tt.get_num_programs y : i32
  %row = arith.muli %y, %width : i32
  %at = arith.addi %row, %x : i32
  %p = tt.addptr %out, %at : !tt.ptr<i32>, i32
  %v = arith.addi %at, %n : i32
  tt.store %p, %v : !tt.ptr<i32>
  tt.return
})");
  std::vector<int32_t> out(6);
  ASSERT_EQ(kernel.run({pointer(out), InterpretArg::ofInteger(3)}, {3, 2, 1}), "");
  EXPECT_EQ(out, (std::vector<int32_t>{2, 3, 4, 5, 6, 7}));
}

TEST(Interpret, BlockPointersCheckTheirBounds) {
  // A 3x3 tensor, read by 2x2 blocks from (1, 1) and, after an advance by (1, 1), from (2, 2); what lies outside is zero or NaN.
  Kernel kernel(R"(
tt.func public @kernel(%in: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %c3 = arith.constant 3 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %o1 = arith.constant 1 : i32
  %o0 = arith.constant 0 : i32
  %o2 = arith.constant 2 : i32
  %block = tt.make_tensor_ptr %in, [%c3, %c3], [%c3, %c1], [%o1, %o1] {order = array<i32: 1, 0>} : <tensor<2x2xf32>>
  %a = tt.load %block {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<2x2xf32>>
  %next = tt.advance %block, [%o1, %o1] : <tensor<2x2xf32>>
  %b = tt.load %next {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32} : !tt.ptr<tensor<2x2xf32>>
  %to = tt.make_tensor_ptr %out, [%c2, %c2], [%c2, %c1], [%o0, %o0] {order = array<i32: 1, 0>} : <tensor<2x2xf32>>
  tt.store %to, %a {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<2x2xf32>>
  %second = tt.addptr %out, %o2 : !tt.ptr<f32>, i32
  %third = tt.addptr %second, %o2 : !tt.ptr<f32>, i32
  %to2 = tt.make_tensor_ptr %third, [%c1, %c2], [%c2, %c1], [%o0, %o0] {order = array<i32: 1, 0>} : <tensor<2x2xf32>>
  tt.store %to2, %b {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<2x2xf32>>
  tt.return
})");
  std::vector<float> in{0, 1, 2, 3, 4, 5, 6, 7, 8}, out(8, -1);
  ASSERT_EQ(kernel.run({pointer(in), pointer(out)}), "");
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 5), (std::vector<float>{4, 5, 7, 8, 8}));
  EXPECT_TRUE(std::isnan(out[5]));
  EXPECT_EQ(out[6], -1);
}

TEST(Interpret, Descriptors) {
  Kernel kernel(R"(
tt.func public @kernel(%in: !tt.tensordesc<tensor<2x4xi32>>, %out: !tt.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %s4 = arith.constant 4 : i64
  %s1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : i32
  %x = tt.descriptor_load %in[%c1, %c2] : !tt.tensordesc<tensor<2x4xi32>> -> tensor<2x4xi32>
  %to = tt.make_tensor_descriptor %out, [%c2, %c4], [%s4, %s1] : <i32>, <tensor<2x4xi32>>
  tt.descriptor_store %to[%c0, %c1], %x : !tt.tensordesc<tensor<2x4xi32>>, tensor<2x4xi32>
  tt.return
})");
  std::vector<int32_t> in(2 * 5), out(8, -1);
  for (int64_t i = 0; i < 10; ++i)
    in[i] = i;
  ASSERT_EQ(kernel.run({InterpretArg::ofDescriptor(in.data(), {2, 5}, {5, 1}), pointer(out)}), "");
  EXPECT_EQ(out, (std::vector<int32_t>{-1, 7, 8, 9, -1, 0, 0, 0}));
}

TEST(Interpret, DescriptorsOfRows) {
  Kernel kernel(R"(
tt.func public @kernel(%in: !tt.tensordesc<tensor<1x2xi32>>, %out: !tt.tensordesc<tensor<1x2xi32>>, %sum: !tt.tensordesc<tensor<2x2xi32>>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %rows = arith.constant dense<[2, 7]> : tensor<2xi32>
  %x = tt.descriptor_gather %in[%rows, %c1] : (!tt.tensordesc<tensor<1x2xi32>>, tensor<2xi32>, i32) -> tensor<2x2xi32>
  %to = arith.constant dense<[1, 0]> : tensor<2xi32>
  tt.descriptor_scatter %out[%to, %c0], %x : !tt.tensordesc<tensor<1x2xi32>>, tensor<2xi32>, i32, tensor<2x2xi32>
  tt.descriptor_reduce add, %sum[%c0, %c1], %x : !tt.tensordesc<tensor<2x2xi32>>, tensor<2x2xi32>
  tt.return
})");
  std::vector<int32_t> in{0, 1, 2, 3, 4, 5, 6, 7, 8}, out(4, -1), sum{10, 20, 30, 40};
  ASSERT_EQ(kernel.run({InterpretArg::ofDescriptor(in.data(), {3, 3}, {3, 1}), InterpretArg::ofDescriptor(out.data(), {2, 2}, {2, 1}),
                        InterpretArg::ofDescriptor(sum.data(), {2, 2}, {2, 1})}),
            "");
  EXPECT_EQ(out, (std::vector<int32_t>{0, 0, 7, 8}));
  EXPECT_EQ(sum, (std::vector<int32_t>{10, 27, 30, 40}));
}

TEST(Interpret, Atomics) {
  Kernel kernel(R"(
tt.func public @kernel(%count: !tt.ptr<i32>, %sum: !tt.ptr<f16>, %top: !tt.ptr<i32>, %old: !tt.ptr<i32>) {
  %x = tt.get_program_id x : i32
  %one = arith.constant 1 : i32
  %before = tt.atomic_rmw add, acq_rel, gpu, %count, %one : (!tt.ptr<i32>, i32) -> i32
  %half = arith.constant 0.5 : f16
  %f = tt.atomic_rmw fadd, relaxed, gpu, %sum, %half : (!tt.ptr<f16>, f16) -> f16
  %three = arith.constant 3 : i32
  %left = arith.subi %x, %three : i32
  %m = tt.atomic_rmw max, relaxed, gpu, %top, %left : (!tt.ptr<i32>, i32) -> i32
  %slot = tt.addptr %old, %before : !tt.ptr<i32>, i32
  %zero = arith.constant 0 : i32
  %c = tt.atomic_cas acq_rel, gpu, %slot, %zero, %x : (!tt.ptr<i32>, i32, i32) -> i32
  tt.return
})");
  std::vector<int32_t> count{0}, top{-100}, old{0, 7, 0, 0};
  std::vector<uint16_t> sum{0x3c00};
  ASSERT_EQ(kernel.run({pointer(count), pointer(sum), pointer(top), pointer(old)}, {4, 1, 1}), "");
  EXPECT_EQ(count[0], 4);
  EXPECT_EQ(sum[0], 0x4200); // 1 + 4 * 0.5
  EXPECT_EQ(top[0], 0);
  EXPECT_EQ(old, (std::vector<int32_t>{0, 7, 2, 3}));
}

// Two halves of a grid at once on two threads.
TEST(Interpret, RunsOnSeveralThreads) {
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(R"(
tt.func public @kernel(%count: !tt.ptr<f32>) {
  %one = arith.constant 1.0 : f32
  %before = tt.atomic_rmw fadd, acq_rel, gpu, %count, %one : (!tt.ptr<f32>, f32) -> f32
  tt.return
})",
                                                                                     &context);
  ASSERT_TRUE(bool(module));
  std::vector<float> count{0};
  std::string errors[2];
  auto half = [&](int64_t which) {
    errors[which] = llvm::toString(interpret(*module, "kernel", {pointer(count)}, {2000, 1, 1}, which * 1000, (which + 1) * 1000, {}));
  };
  std::thread other(half, 1);
  half(0);
  other.join();
  EXPECT_EQ(errors[0] + errors[1], "");
  EXPECT_EQ(count[0], 2000);
}

// ---- tiles

/// Loads %x: @in@ elements of a row-major tile of shape `shape` from %in; `body` gives %r, stored to %out as it lies in memory.
std::string shapedKernel(const std::string &element, const std::string &shape, const std::string &resultElement,
                         const std::string &resultShape, const std::string &body) {
  auto tile = [](const std::string &shape, const std::string &element) { return "tensor<" + shape + "x" + element + ">"; };
  auto count = [](std::string shape) {
    int64_t product = 1;
    for (size_t at = 0; at < shape.size(); at = shape.find('x', at) == std::string::npos ? shape.size() : shape.find('x', at) + 1)
      product *= std::stoll(shape.substr(at));
    return std::to_string(product);
  };
  auto pointers = [&](const std::string &name, const std::string &base, const std::string &element, const std::string &shape) {
    std::string n = count(shape), p = "!tt.ptr<" + element + ">";
    return "  %" + name + "i = tt.make_range {start = 0 : i32, end = " + n + " : i32} : " + tile(n, "i32") + "\n  %" + name +
           "s = tt.splat %" + base + " : " + p + " -> " + tile(n, p) + "\n  %" + name + "f = tt.addptr %" + name + "s, %" + name +
           "i : " + tile(n, p) + ", " + tile(n, "i32") + "\n  %" + name + " = tt.reshape %" + name + "f : " + tile(n, p) + " -> " +
           tile(shape, p) + "\n";
  };
  return "tt.func public @kernel(%in: !tt.ptr<" + element + ">, %out: !tt.ptr<" + resultElement + ">) {\n" +
         pointers("px", "in", element, shape) + pointers("pr", "out", resultElement, resultShape) +
         "  %x = tt.load %px : " + tile(shape, "!tt.ptr<" + element + ">") + "\n" + body +
         "\n  tt.store %pr, %r : " + tile(resultShape, "!tt.ptr<" + resultElement + ">") + "\n  tt.return\n}";
}

template <typename R, typename F> std::vector<R> computeShaped(const std::string &text, std::vector<F> in, int64_t count) {
  std::vector<R> out(count);
  EXPECT_EQ(Kernel(text).run({pointer(in), pointer(out)}), "") << text;
  return out;
}

TEST(Interpret, Shapes) {
  std::vector<int32_t> six{0, 1, 2, 3, 4, 5, 6, 7};
  using V = std::vector<int32_t>;
  auto run = [&](const std::string &shape, const std::string &body) {
    return computeShaped<int32_t, int32_t>(shapedKernel("i32", "2x4", "i32", shape, body), six, 8);
  };
  EXPECT_EQ(run("4x2", "%r = tt.trans %x {order = array<i32: 1, 0>} : tensor<2x4xi32> -> tensor<4x2xi32>"), (V{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(run("8", "%r = tt.reshape %x : tensor<2x4xi32> -> tensor<8xi32>"), six);
  EXPECT_EQ(run("2x4", R"(
    %s = tt.reshape %x : tensor<2x4xi32> -> tensor<2x2x2xi32>
    %a, %b = tt.split %s : tensor<2x2x2xi32> -> tensor<2x2xi32>
    %j = tt.join %b, %a : tensor<2x2xi32> -> tensor<2x2x2xi32>
    %r = tt.reshape %j : tensor<2x2x2xi32> -> tensor<2x4xi32>)"),
            (V{1, 0, 3, 2, 5, 4, 7, 6}));
  EXPECT_EQ(run("4x2", R"(
    %q = tt.make_range {start = 5 : i32, end = 9 : i32} : tensor<4xi32>
    %e = tt.expand_dims %q {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %r = tt.broadcast %e : tensor<4x1xi32> -> tensor<4x2xi32>)"),
            (V{5, 5, 6, 6, 7, 7, 8, 8}));
  EXPECT_EQ(run("2x4", R"(
    %k = arith.constant dense<[[3, 0, 1, 1], [2, 2, 2, 0]]> : tensor<2x4xi32>
    %r = tt.gather %x[%k] {axis = 1 : i32} : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>)"),
            (V{3, 0, 1, 1, 6, 6, 6, 4}));
}

TEST(Interpret, Reductions) {
  std::vector<float> in{1, 2, 3, 4, 10, 20, 30, 40};
  auto sum = [](int64_t axis, const std::string &to) {
    return "%r = \"tt.reduce\"(%x) <{axis = " + std::to_string(axis) +
           " : i32}> ({\n ^bb0(%a: f32, %b: f32):\n %s = arith.addf %a, %b : f32\n" +
           " tt.reduce.return %s : f32\n }) : (tensor<2x4xf32>) -> tensor<" + to + "xf32>";
  };
  EXPECT_EQ((computeShaped<float, float>(shapedKernel("f32", "2x4", "f32", "2", sum(1, "2")), in, 2)), (std::vector<float>{10, 100}));
  EXPECT_EQ((computeShaped<float, float>(shapedKernel("f32", "2x4", "f32", "4", sum(0, "4")), in, 4)),
            (std::vector<float>{11, 22, 33, 44}));
}

// The index of the largest, the first of equals, by a region with a branch: it cannot run on several lanes at once.
TEST(Interpret, ArgMax) {
  std::string body = R"(
    %q = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
    %e = tt.expand_dims %q {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
    %k = tt.broadcast %e : tensor<1x4xi32> -> tensor<2x4xi32>
    %m:2 = "tt.reduce"(%x, %k) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
      %less = arith.cmpf olt, %a, %b : f32
      %c:2 = scf.if %less -> (f32, i32) {
        scf.yield %b, %bi : f32, i32
      } else {
        scf.yield %a, %ai : f32, i32
      }
      tt.reduce.return %c#0, %c#1 : f32, i32
    }) : (tensor<2x4xf32>, tensor<2x4xi32>) -> (tensor<2xf32>, tensor<2xi32>)
    %r = arith.addi %m#1, %m#1 : tensor<2xi32>)";
  EXPECT_EQ((computeShaped<int32_t, float>(shapedKernel("f32", "2x4", "i32", "2", body), {1, 7, 7, 2, 5, 1, 3, 9}, 2)),
            (std::vector<int32_t>{2, 6}));
}

TEST(Interpret, Scans) {
  auto scan = [](const char *reverse) {
    return std::string("%r = \"tt.scan\"(%x) <{axis = 1 : i32, reverse = ") + reverse +
           "}> ({\n ^bb0(%a: i32, %b: i32):\n %s = arith.addi %a, %b : i32\n tt.scan.return %s : i32\n }) : (tensor<2x4xi32>) -> "
           "tensor<2x4xi32>";
  };
  std::vector<int32_t> in{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ((computeShaped<int32_t, int32_t>(shapedKernel("i32", "2x4", "i32", "2x4", scan("false")), in, 8)),
            (std::vector<int32_t>{1, 3, 6, 10, 5, 11, 18, 26}));
  EXPECT_EQ((computeShaped<int32_t, int32_t>(shapedKernel("i32", "2x4", "i32", "2x4", scan("true")), in, 8)),
            (std::vector<int32_t>{10, 9, 7, 4, 26, 21, 15, 8}));
}

TEST(Interpret, Histogram) {
  EXPECT_EQ((computeShaped<int32_t, int32_t>(shapedKernel("i32", "8", "i32", "4", "%r = tt.histogram %x : tensor<8xi32> -> tensor<4xi32>"),
                                             {0, 1, 1, 3, 3, 3, 9, -1}, 4)),
            (std::vector<int32_t>{1, 2, 0, 3}));
}

TEST(Interpret, MapElementwise) {
  std::string body = R"(%r = "tt.map_elementwise"(%x) <{pack = 2 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %d = arith.subi %a, %b : i32
      tt.map_elementwise.return %b, %d : i32, i32
    }) : (tensor<4xi32>) -> tensor<4xi32>)";
  EXPECT_EQ((computeShaped<int32_t, int32_t>(shapedKernel("i32", "4", "i32", "4", body), {1, 2, 30, 40}, 4)),
            (std::vector<int32_t>{2, -1, 40, -10}));
}

TEST(Interpret, Dots) {
  std::string square = R"(
    %c = arith.constant dense<[[100.0, 0.0], [0.0, 100.0]]> : tensor<2x2xf32>
    %r = tt.dot %x, %x, %c : tensor<2x2x@E@> * tensor<2x2x@E@> -> tensor<2x2xf32>)";
  auto of = [&](const std::string &element) {
    std::string text = shapedKernel(element, "2x2", "f32", "2x2", square);
    for (size_t at; (at = text.find("@E@")) != std::string::npos;)
      text.replace(at, 3, element);
    return text;
  };
  EXPECT_EQ((computeShaped<float, float>(of("f32"), {1, 2, 3, 4}, 4)), (std::vector<float>{107, 10, 15, 122}));
  EXPECT_EQ((computeShaped<float, uint16_t>(of("f16"), {0x3c00, 0x4000, 0x4200, 0x4400}, 4)), (std::vector<float>{107, 10, 15, 122}));
  std::string bytes = R"(
    %c = arith.constant dense<1> : tensor<2x2xi32>
    %r = tt.dot %x, %x, %c : tensor<2x2xi8> * tensor<2x2xi8> -> tensor<2x2xi32>)";
  EXPECT_EQ((computeShaped<int32_t, int8_t>(shapedKernel("i8", "2x2", "i32", "2x2", bytes), {-128, 2, 3, 4}, 4)),
            (std::vector<int32_t>{16391, -247, -371, 23}));
  std::string batches = R"(
    %c = arith.constant dense<0.0> : tensor<2x1x1xf32>
    %a = tt.reshape %x : tensor<2x2xf32> -> tensor<2x1x2xf32>
    %b = tt.reshape %x : tensor<2x2xf32> -> tensor<2x2x1xf32>
    %d = tt.dot %a, %b, %c : tensor<2x1x2xf32> * tensor<2x2x1xf32> -> tensor<2x1x1xf32>
    %r = tt.reshape %d : tensor<2x1x1xf32> -> tensor<2xf32>)";
  EXPECT_EQ((computeShaped<float, float>(shapedKernel("f32", "2x2", "f32", "2", batches), {1, 2, 3, 4}, 2)), (std::vector<float>{5, 25}));
}

TEST(Interpret, ScaledDot) {
  // a is 2x32 of fp8 ones times 2^1 in each row, b is 32x2 packed E2M1 of 1.5 times 2^-1: 32 * 2 * 0.75 = 48.
  Kernel kernel(R"(
tt.func public @kernel(%out: !tt.ptr<f32>) {
  %a = arith.constant dense<56> : tensor<2x32xi8>
  %as = arith.constant dense<128> : tensor<2x1xi8>
  %b = arith.constant dense<51> : tensor<16x2xi8>
  %bs = arith.constant dense<126> : tensor<2x1xi8>
  %c = arith.constant dense<0.0> : tensor<2x2xf32>
  %d = tt.dot_scaled %a scale %as, %b scale %bs, %c lhs = e4m3 rhs = e2m1 {fastMath = false}
    : tensor<2x32xi8>, tensor<2x1xi8> * tensor<16x2xi8>, tensor<2x1xi8> -> tensor<2x2xf32>
  %f = tt.reshape %d : tensor<2x2xf32> -> tensor<4xf32>
  %i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %s = tt.splat %out : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %p = tt.addptr %s, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  tt.store %p, %f : tensor<4x!tt.ptr<f32>>
  tt.return
})");
  std::vector<float> out(4);
  ASSERT_EQ(kernel.run({pointer(out)}), "");
  EXPECT_EQ(out, (std::vector<float>{48, 48, 48, 48}));
}

// ---- control flow

TEST(Interpret, LoopsAndBranches) {
  Kernel kernel(R"(
tt.func private @twice(%v: i32) -> i32 {
  %r = arith.addi %v, %v : i32
  tt.return %r : i32
}
tt.func public @kernel(%out: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %sum = scf.for %i = %c0 to %n step %c2 iter_args(%s = %c0) -> (i32) : i32 {
    %t = tt.call @twice(%i) : (i32) -> i32
    %s2 = arith.addi %s, %t : i32
    scf.yield %s2 : i32
  }
  tt.store %out, %sum : !tt.ptr<i32>
  // Collatz steps of n.
  %end:2 = scf.while (%v = %n, %steps = %c0) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %v, %c1 : i32
    scf.condition(%more) %v, %steps : i32, i32
  } do {
  ^bb0(%v: i32, %steps: i32):
    %bit = arith.remui %v, %c2 : i32
    %odd = arith.cmpi eq, %bit, %c1 : i32
    %next = scf.if %odd -> (i32) {
      %c3 = arith.constant 3 : i32
      %t = arith.muli %v, %c3 : i32
      %u = arith.addi %t, %c1 : i32
      scf.yield %u : i32
    } else {
      %h = arith.divui %v, %c2 : i32
      scf.yield %h : i32
    }
    %steps2 = arith.addi %steps, %c1 : i32
    scf.yield %next, %steps2 : i32, i32
  }
  %p1 = tt.addptr %out, %c1 : !tt.ptr<i32>, i32
  tt.store %p1, %end#1 : !tt.ptr<i32>
  %big = arith.cmpi sgt, %n, %c2 : i32
  cf.cond_br %big, ^large(%n : i32), ^done
^large(%w: i32):
  %p2 = tt.addptr %out, %c2 : !tt.ptr<i32>, i32
  tt.store %p2, %w : !tt.ptr<i32>
  cf.br ^done
^done:
  tt.return
})");
  std::vector<int32_t> out(3);
  ASSERT_EQ(kernel.run({pointer(out), InterpretArg::ofInteger(7)}), "");
  EXPECT_EQ(out, (std::vector<int32_t>{24, 16, 7})); // 2 * (0 + 2 + 4 + 6)
  out = {0, 0, -1};
  ASSERT_EQ(kernel.run({pointer(out), InterpretArg::ofInteger(1)}), "");
  EXPECT_EQ(out, (std::vector<int32_t>{0, 0, -1}));
}

TEST(Interpret, Switches) {
  Kernel kernel(R"(
tt.func public @kernel(%out: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c9 = arith.constant 9 : i32
  cf.switch %n : i32, [
    default: ^end(%c0 : i32),
    -1: ^end(%c9 : i32),
    5: ^end(%n : i32)
  ]
^end(%v: i32):
  tt.store %out, %v : !tt.ptr<i32>
  tt.return
})");
  std::vector<int32_t> out(1);
  for (auto [n, expected] : {std::pair{-1, 9}, {5, 5}, {6, 0}}) {
    ASSERT_EQ(kernel.run({pointer(out), InterpretArg::ofInteger(n)}), "");
    EXPECT_EQ(out[0], expected);
  }
}

// ---- what the outside sees

TEST(Interpret, PrintsAsUpstreamDoes) {
  Kernel kernel(R"(
tt.func public @kernel(%n: i32) {
  %i = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %b = arith.constant dense<1.5> : tensor<16xf32>
  tt.print " x: " {hex = false, isSigned = array<i32: 1>} : %n : i32
  tt.print " y: " {hex = false, isSigned = array<i32: 1, 0>} : %i, %b : tensor<16xi32>, tensor<16xf32>
  tt.print " h: " {hex = true, isSigned = array<i32: 1>} : %n : i32
  tt.print " none" {hex = false, isSigned = array<i32>}
  tt.return
})");
  std::vector<std::string> lines;
  InterpretOptions options;
  options.print = [&](llvm::StringRef line) { lines.push_back(line.str()); };
  ASSERT_EQ(kernel.run({InterpretArg::ofInteger(-3)}, {1, 1, 1}, options), "");
  ASSERT_EQ(lines.size(), 35u);
  EXPECT_EQ(lines[0], "pid (0, 0, 0) idx () x: -3\n");
  EXPECT_EQ(lines[1], "pid (0, 0, 0) idx ( 0) y: (operand 0) 0\n");
  EXPECT_EQ(lines[32], "pid (0, 0, 0) idx (15) y: (operand 1) 1.500000\n");
  EXPECT_EQ(lines[33], "pid (0, 0, 0) idx () h: 0xfffffffd\n");
  EXPECT_EQ(lines[34], "pid (0, 0, 0) none\n");
}

TEST(Interpret, ErrorsNameTheirPlace) {
  Kernel divides(R"(
tt.func public @kernel(%n: i32) {
  %r = arith.divsi %n, %n : i32
  tt.return
})");
  EXPECT_EQ(divides.run({InterpretArg::ofInteger(3)}), "");
  EXPECT_EQ(divides.run({InterpretArg::ofInteger(0)}), "test.mlir:3:8: program (0, 0, 0): integer division by zero");
  EXPECT_EQ(divides.run({}), "program (0, 0, 0): kernel 'kernel' takes 1 arguments, not 0");
  EXPECT_EQ(divides.run({InterpretArg::ofFloat(1)}), "program (0, 0, 0): argument 0 must be an integer");

  Kernel asserts(R"(
tt.func public @kernel(%n: i32) {
  %x = tt.get_program_id x : i32
  %i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %s = tt.splat %n : i32 -> tensor<4xi32>
  %ok = arith.cmpi slt, %i, %s : tensor<4xi32>
  tt.assert %ok, "too many" : tensor<4xi1>
  tt.return
})");
  EXPECT_EQ(asserts.run({InterpretArg::ofInteger(4)}), "");
  EXPECT_EQ(asserts.run({InterpretArg::ofInteger(2)}),
            "test.mlir:7:3: program (0, 0, 0): device-side assertion failed at element (2): too many");
  InterpretOptions skip;
  skip.skipAsserts = true;
  EXPECT_EQ(asserts.run({InterpretArg::ofInteger(2)}, {1, 1, 1}, skip), "");

  Kernel waits(R"(
tt.func public @kernel(%lock: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^again
^again:
  %old = tt.atomic_cas acq_rel, gpu, %lock, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
  %busy = arith.cmpi ne, %old, %c0 : i32
  cf.cond_br %busy, ^again, ^done
^done:
  tt.return
})");
  std::vector<int32_t> lock{1};
  InterpretOptions limit;
  limit.maxSteps = 1000;
  EXPECT_NE(waits.run({pointer(lock)}, {1, 1, 1}, limit).find("no end after 1000 operations"), std::string::npos);
}

TEST(Interpret, DivisionInTilesIsNoErrorUnlessAsked) {
  EXPECT_EQ((compute<int32_t, int32_t>("i32", "i32", {7, 7}, {2, 0}, "%r = arith.divsi %x, %y : @T@")), (std::vector<int32_t>{3, -1}));
  std::vector<int32_t> x{7, 7}, y{2, 0}, out(2);
  InterpretOptions options;
  options.checkTileDivision = true;
  EXPECT_NE(Kernel(tileKernel("i32", "i32", 2, "%r = arith.divsi %x, %y : @T@"))
                .run({pointer(x), pointer(y), pointer(out)}, {1, 1, 1}, options)
                .find("division by zero"),
            std::string::npos);
}

TEST(Interpret, AccessOutsideTheGivenMemory) {
  std::vector<float> x(4), y(8), out(8);
  InterpretOptions options;
  options.checkBounds = true;
  auto range = [](auto &memory, const char *name) {
    uint64_t begin = reinterpret_cast<uint64_t>(memory.data());
    return MemoryRange{begin, begin + memory.size() * sizeof(memory[0]), name};
  };
  options.memory = {range(y, "y"), range(out, "out"), range(x, "x")};
  Kernel kernel(tileKernel("f32", "f32", 8, "%r = arith.addf %x, %y : @T@"));
  std::string message = kernel.run({pointer(x), pointer(y), pointer(out)}, {1, 1, 1}, options);
  // Which range is nearest depends on where they lie; that the element is named does not.
  EXPECT_NE(message.find("test.mlir:10:8: program (0, 0, 0): tt.load of 4 bytes at 0x"), std::string::npos) << message;
  EXPECT_NE(message.find("by element (4) is out of bounds: 0 bytes after the end of 'x'"), std::string::npos) << message;
  std::vector<float> wide(8);
  options.memory.push_back(range(wide, "x"));
  EXPECT_EQ(kernel.run({pointer(wide), pointer(y), pointer(out)}, {1, 1, 1}, options), "");
  InterpretArg null = InterpretArg::ofPointer(nullptr);
  EXPECT_NE(kernel.run({null, pointer(y), pointer(out)}).find("at 0x0 by element (0): a null pointer"), std::string::npos);
}

TEST(Interpret, Stepping) {
  Kernel kernel(R"(
tt.func public @kernel(%n: i32) {
  %two = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %sum = arith.addi %n, %n : i32
  tt.return
})");
  std::vector<std::string> seen;
  InterpretOptions options;
  options.onStep = [&](const InterpretStep &step) {
    std::string line = step.op->getName().getStringRef().str();
    if (step.op->getNumResults()) line += " " + step.text(step.op->getResult(0));
    if (line.starts_with("tt.return")) {
      mlir::Block &block = *step.op->getBlock();
      line += " " + step.text(block.front().getResult(0)) + " " + step.text(std::next(block.begin())->getResult(0));
    }
    seen.push_back(line);
    return true;
  };
  ASSERT_EQ(kernel.run({InterpretArg::ofInteger(21)}, {1, 1, 1}, options), "");
  EXPECT_EQ(seen, (std::vector<std::string>{"arith.constant not computed", "arith.addi not computed", "tt.return [[1, 2], [3, 4]] 42"}));
  seen.clear();
  options.onStep = [&](const InterpretStep &) { return seen.emplace_back("once"), false; };
  ASSERT_EQ(kernel.run({InterpretArg::ofInteger(21)}, {1, 1, 1}, options), "");
  EXPECT_EQ(seen.size(), 1u);
}

// No time is asserted; the printed one is for people.
TEST(Interpret, LargeDot) {
  std::vector<float> a(128 * 32), out(128 * 128);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float &x : a)
    x = normal(random);
  std::string text = shapedKernel("f32", "128x32", "f32", "128x128", R"(
    %c = arith.constant dense<0.0> : tensor<128x128xf32>
    %t = tt.trans %x {order = array<i32: 1, 0>} : tensor<128x32xf32> -> tensor<32x128xf32>
    %r = tt.dot %x, %t, %c : tensor<128x32xf32> * tensor<32x128xf32> -> tensor<128x128xf32>)");
  Kernel kernel(text);
  auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(kernel.run({pointer(a), pointer(out)}), "");
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", std::to_string(time.count()));
  for (int64_t row : {0, 77, 127}) {
    float expected = 0;
    for (int64_t k = 0; k < 32; ++k) {
      float product = a[row * 32 + k] * a[5 * 32 + k]; // a statement of its own, so that the two are not fused
      expected += product;
    }
    EXPECT_EQ(out[row * 128 + 5], expected);
  }
}

} // namespace
