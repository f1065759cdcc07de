// Code for 64-bit ARM: what a level generates, and that this machine refuses to run the code of another.
#include "cpu_harness.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace tilewright::cpu {

static std::optional<std::string> objectFor(llvm::StringRef level) {
  OwningOpRef<ModuleOp> module = buildModule(1, [](ImplicitLocOpBuilder &b, ValueRange pointers) {
    Type type = vectorOf(b.getF32Type(), 8);
    Value x = load(b, type, pointers[0], 4);
    store(b, fma(b, x, x, x), pointers[0], 4, false);
  });
  EXPECT_TRUE(succeeded(lowerToLlvm(*module)));
  return generateCode(*module, *cpuTarget(level), CodeKind::object);
}

TEST(ArmTarget, AnObjectOfAnotherMachineIsNotLoaded) {
  std::optional<std::string> foreign = objectFor(hostIsa == Isa::x86_64 ? "neon" : "avx2");
  ASSERT_TRUE(foreign);
  std::string error;
  EXPECT_FALSE(LoadedObject::load(*foreign, error));
  std::string wanted = hostIsa == Isa::x86_64 ? "its code is for AArch64, and this process runs on x86-64"
                                              : "its code is for x86-64, and this process runs on AArch64";
  EXPECT_EQ(error, wanted);
  std::optional<std::string> own = objectFor(hostIsa == Isa::x86_64 ? "sse2" : "armv8");
  ASSERT_TRUE(own);
  EXPECT_TRUE(LoadedObject::load(*own, error)) << error;
}

TEST(ArmTarget, EachLevelContainsTheOneBefore) {
  const char *levels[] = {"armv8", "neon", "neon-dot", "sve", "sve256"};
  for (size_t i = 1; i < std::size(levels); ++i) {
    CpuTarget lower = *cpuTarget(levels[i - 1]), higher = *cpuTarget(levels[i]);
    for (bool CpuTarget::*field : {&CpuTarget::fma, &CpuTarget::f16c, &CpuTarget::rounding, &CpuTarget::fp16Arithmetic,
                                   &CpuTarget::laneOperand, &CpuTarget::bf16Dot, &CpuTarget::byteDot, &CpuTarget::matrixDot})
      EXPECT_LE(lower.*field, higher.*field) << levels[i];
    EXPECT_LE(lower.vectorBytes, higher.vectorBytes);
    EXPECT_LE(lower.scalableBytes, higher.scalableBytes);
  }
}

// One level is vectors of 16 bytes in two registers, the other one in one register of 32 bytes.
TEST(ArmTarget, VectorsOf32BytesNeedOneRegisterOfSve256) {
  for (const char *level : {"neon", "sve256"}) {
    OwningOpRef<ModuleOp> module = buildModule(1, [](ImplicitLocOpBuilder &b, ValueRange pointers) {
      Type type = vectorOf(b.getF32Type(), 8);
      Value x = load(b, type, pointers[0], 4);
      store(b, fma(b, x, x, x), pointers[0], 4, false);
    });
    ASSERT_TRUE(succeeded(lowerToLlvm(*module)));
    std::optional<std::string> text = generateCode(*module, *cpuTarget(level), CodeKind::assembly);
    ASSERT_TRUE(text);
    bool isScalable = text->find("z0.s") != std::string::npos;
    EXPECT_EQ(isScalable, llvm::StringRef(level) == "sve256") << *text;
  }
}

} // namespace tilewright::cpu
