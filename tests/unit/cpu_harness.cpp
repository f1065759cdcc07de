#include "cpu_harness.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace tilewright::cpu {

MLIRContext &testContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerCodegenDialects(registry);
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

std::vector<CpuTarget> runnableTargets() {
  std::vector<CpuTarget> targets;
  for (const char *level : {"sse2", "avx2", "avx512", "avx512-dot"}) {
    std::optional<CpuTarget> target = cpuTarget(level);
    bool runs =
        target->vectorBytes <= hostCpu().vectorBytes && target->byteDot <= hostCpu().byteDot && target->bf16Dot <= hostCpu().bf16Dot;
    if (runs) targets.push_back(*target);
  }
  return targets;
}

OwningOpRef<ModuleOp> buildModule(int64_t pointers, const Body &body) {
  MLIRContext &context = testContext();
  ImplicitLocOpBuilder b(UnknownLoc::get(&context), &context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> arguments(pointers, pointerType(&context));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&context), arguments);
  auto function = LLVM::LLVMFuncOp::create(b, "kernel", type);
  b.setInsertionPointToEnd(function.addEntryBlock(b));
  body(b, function.getArguments());
  LLVM::ReturnOp::create(b, ValueRange{});
  return module;
}

Compiled::Compiled(const CpuTarget &target, int64_t pointers, const Body &body) {
  OwningOpRef<ModuleOp> module = buildModule(pointers, body);
  bool valid = succeeded(verify(*module)) && succeeded(lowerToLlvm(*module));
  EXPECT_TRUE(valid);
  if (!valid) return;
  std::optional<std::string> code = generateCode(*module, target, CodeKind::object);
  EXPECT_TRUE(code.has_value());
  if (!code) return;
  std::string error;
  object = LoadedObject::load(*code, error);
  EXPECT_TRUE(object) << error;
  if (object) entry = object->lookup("kernel");
  EXPECT_TRUE(entry);
}

} // namespace tilewright::cpu
