#include "cpu_harness.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;

namespace tilewright::cpu {
namespace {

// A mask that changes at run time: lanes with an odd index below `count`.
Value oddLanes(ImplicitLocOpBuilder &b, Value flags, int64_t lanes) {
  Value bytes = load(b, vectorOf(b.getI8Type(), lanes), flags, 1);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bytes, constantInt(b, bytes.getType(), 0));
}

template <typename T> void checkMasked(const CpuTarget &target, Type (*element)(OpBuilder &), int64_t lanes) {
  Compiled kernel(target, 3, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    Type type = vectorOf(element(b), lanes);
    Value mask = lanes == 1 ? extractLane(b, oddLanes(b, args[2], 2), 1) : oddLanes(b, args[2], lanes);
    Value other = isa<FloatType>(element(b)) ? constantFloat(b, type, 7) : constantInt(b, type, 7);
    maskedStore(b, maskedLoad(b, type, args[0], mask, other, sizeof(T)), pointerAtConstant(b, args[1], lanes * sizeof(T)), mask, sizeof(T));
    store(b, maskedLoad(b, type, args[0], mask, other, sizeof(T)), args[1], sizeof(T), /*nonTemporal=*/false);
  });
  ASSERT_TRUE(kernel);
  std::vector<T> in(lanes), out(2 * lanes, T(3));
  std::vector<uint8_t> flags(std::max<int64_t>(lanes, 2));
  for (int64_t i = 0; i < lanes; ++i)
    in[i] = T(i + 20);
  for (size_t i = 0; i < flags.size(); ++i)
    flags[i] = i & 1;
  kernel(in.data(), out.data(), flags.data());
  for (int64_t i = 0; i < lanes; ++i) {
    bool on = lanes == 1 || (i & 1);
    EXPECT_EQ(out[i], on ? in[i] : T(7)) << target.name << " lane " << i;
    EXPECT_EQ(out[lanes + i], on ? in[i] : T(3)) << target.name << " lane " << i;
  }
}

TEST(CpuEmit, MaskedAccessesTouchOnlyTheirLanes) {
  for (const CpuTarget &target : runnableTargets())
    for (int64_t lanes : {1, 2, 8, 16}) {
      checkMasked<float>(target, [](OpBuilder &b) -> Type { return b.getF32Type(); }, lanes);
      checkMasked<double>(target, [](OpBuilder &b) -> Type { return b.getF64Type(); }, lanes);
      checkMasked<int8_t>(target, [](OpBuilder &b) -> Type { return b.getI8Type(); }, lanes);
      checkMasked<int16_t>(target, [](OpBuilder &b) -> Type { return b.getI16Type(); }, lanes);
    }
}

TEST(CpuEmit, GatherAndScatterReverse) {
  for (const CpuTarget &target : runnableTargets()) {
    constexpr int64_t lanes = 8;
    Compiled kernel(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      Type type = vectorOf(b.getF32Type(), lanes);
      Value up = arith::AddIOp::create(b, splat(b, args[0], lanes), iota(b, b.getI64Type(), lanes, 4));
      Value down =
          arith::SubIOp::create(b, splat(b, pointerAtConstant(b, args[1], 4 * (lanes - 1)), lanes), iota(b, b.getI64Type(), lanes, 4));
      scatter(b, gather(b, type, up, nullptr, nullptr, 4), down, nullptr, 4);
    });
    ASSERT_TRUE(kernel);
    std::vector<float> in(lanes), out(lanes);
    std::iota(in.begin(), in.end(), 1.0f);
    kernel(in.data(), out.data());
    for (int64_t i = 0; i < lanes; ++i)
      EXPECT_EQ(out[i], in[lanes - 1 - i]);
  }
}

TEST(CpuEmit, BooleansAndByteFloatsLieInBytes) {
  for (const CpuTarget &target : runnableTargets()) {
    Compiled kernel(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      store(b, load(b, vectorOf(b.getI1Type(), 8), args[0], 1), args[1], 1, /*nonTemporal=*/false);
      Type byteFloat = Float8E5M2Type::get(b.getContext());
      Value floats = load(b, vectorOf(byteFloat, 8), pointerAtConstant(b, args[0], 8), 1);
      floats = insertLane(b, floats, extractLane(b, floats, 7), 0);
      floats = shuffle(b, floats, splat(b, constantFloat(b, byteFloat, 1), 8), {0, 1, 2, 3, 4, 5, 6, 8});
      store(b, floats, pointerAtConstant(b, args[1], 8), 1, /*nonTemporal=*/false);
    });
    ASSERT_TRUE(kernel);
    std::vector<uint8_t> in = {1, 0, 1, 1, 0, 0, 1, 0, 10, 11, 12, 13, 14, 15, 16, 17}, out(16, 99);
    kernel(in.data(), out.data());
    EXPECT_EQ(out, (std::vector<uint8_t>{1, 0, 1, 1, 0, 0, 1, 0, 17, 11, 12, 13, 14, 15, 16, 0x3c}));
  }
}

TEST(CpuEmit, NonTemporalStoresAndLoops) {
  for (const CpuTarget &target : runnableTargets()) {
    Compiled kernel(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      auto loop = scf::ForOp::create(b, constantIndex(b, 0), constantIndex(b, 256), constantIndex(b, 8));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value value = load(b, vectorOf(b.getF32Type(), 8), pointerAt(b, args[0], loop.getInductionVar(), 4), 32);
      store(b, fma(b, value, value, value), pointerAt(b, args[1], loop.getInductionVar(), 4), 32, /*nonTemporal=*/true);
    });
    ASSERT_TRUE(kernel);
    Aligned<float> in(256), out(256);
    for (int64_t i = 0; i < 256; ++i)
      in[i] = i;
    kernel(in.data(), out.data());
    for (int64_t i = 0; i < 256; ++i)
      EXPECT_EQ(out[i], float(i) * i + i);
  }
}

TEST(Codegen, TextOfEachKind) {
  Body copy = [](ImplicitLocOpBuilder &b, ValueRange args) {
    store(b, load(b, vectorOf(b.getF32Type(), 8), args[0], 4), args[1], 32, /*nonTemporal=*/true);
  };
  std::optional<CpuTarget> target = cpuTarget("avx2");
  ASSERT_TRUE(target);
  for (CodeKind kind : {CodeKind::llvm, CodeKind::assembly, CodeKind::object}) {
    OwningOpRef<ModuleOp> module = buildModule(2, copy);
    ASSERT_TRUE(succeeded(lowerToLlvm(*module)));
    std::optional<std::string> code = generateCode(*module, *target, kind);
    ASSERT_TRUE(code);
    if (kind == CodeKind::llvm) EXPECT_NE(code->find("!nontemporal"), std::string::npos);
    if (kind == CodeKind::assembly) EXPECT_NE(code->find("vmovntps"), std::string::npos);
    if (kind == CodeKind::object)
      EXPECT_EQ(code->substr(0, 4), "\x7f"
                                    "ELF");
  }
}

TEST(Codegen, FusionOnlyWhereAllowed) {
  std::optional<CpuTarget> target = cpuTarget("avx2");
  ASSERT_TRUE(target);
  for (bool allowed : {false, true}) {
    OwningOpRef<ModuleOp> module = buildModule(1, [](ImplicitLocOpBuilder &b, ValueRange args) {
      Value x = load(b, vectorOf(b.getF32Type(), 8), args[0], 4);
      Value y = load(b, vectorOf(b.getF32Type(), 8), pointerAtConstant(b, args[0], 32), 4);
      Value product = arith::MulFOp::create(b, x, y);
      store(b, arith::AddFOp::create(b, product, x), args[0], 4, /*nonTemporal=*/false);
    });
    if (allowed) allowFpFusion(*module);
    ASSERT_TRUE(succeeded(lowerToLlvm(*module)));
    std::optional<std::string> code = generateCode(*module, *target, CodeKind::assembly);
    ASSERT_TRUE(code);
    EXPECT_EQ(code->find("vfmadd") != std::string::npos, allowed);
  }
}

} // namespace
} // namespace tilewright::cpu
