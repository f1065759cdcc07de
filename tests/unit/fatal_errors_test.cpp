// LLVM's fatal errors become values, and LLVM can be used afterwards.
#include "codegen/fatal_errors.h"

#include "cpu_harness.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

#include <gtest/gtest.h>

#include <thread>

using namespace mlir;

namespace tilewright::cpu {

TEST(FatalErrors, AreReturned) {
  bool after = false;
  std::optional<std::string> error = fatalErrorOf([&] {
    llvm::report_fatal_error("no instruction");
    after = true;
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(*error, "no instruction");
  EXPECT_FALSE(after);
  EXPECT_FALSE(fatalErrorOf([&] { after = true; }));
  EXPECT_TRUE(after);
}

TEST(FatalErrors, StopTheInnermostCallOfTheirThread) {
  std::optional<std::string> inner;
  std::optional<std::string> outer = fatalErrorOf([&] {
    inner = fatalErrorOf([] { llvm::report_fatal_error("inner"); });
    std::thread([] { EXPECT_TRUE(fatalErrorOf([] { llvm::report_fatal_error("of a thread"); })); }).join();
    llvm::report_fatal_error("outer");
  });
  EXPECT_EQ(inner, "inner");
  EXPECT_EQ(outer, "outer");
}

/// Returns the error of compiling a function; "" if there is none.
static std::string errorOf(const Body &body) {
  OwningOpRef<ModuleOp> module = buildModule(1, body);
  std::string text;
  ScopedDiagnosticHandler handler(&testContext(), [&](Diagnostic &diagnostic) { text = diagnostic.str(); });
  EXPECT_EQ(bool(generateCode(*module, *cpuTarget("sse2"), CodeKind::object)), text.empty());
  return text;
}

static void nothing(ImplicitLocOpBuilder &, ValueRange) {}

/// An error has neither kept a lock nor left a callback registered, for this thread and for others.
static void compileAfterError() {
  EXPECT_EQ(errorOf(nothing), "");
  std::thread([] { EXPECT_EQ(errorOf(nothing), ""); }).join();
}

TEST(FatalErrors, KernelsCompileAfterOneWhilePassesAreAdded) {
  for (int i = 0; i < 2; ++i) {
    {
      llvm::RegisterTargetPassConfigCallback failing(
          [](llvm::TargetMachine &, llvm::PassManagerBase &, llvm::TargetPassConfig *) { llvm::report_fatal_error("no such pass"); });
      EXPECT_NE(errorOf(nothing).find("no such pass"), std::string::npos);
    }
    compileAfterError();
  }
}

TEST(FatalErrors, KernelsCompileAfterOneWhilePassesRun) {
  auto foreign = [](ImplicitLocOpBuilder &b, ValueRange pointers) {
    auto call = LLVM::CallIntrinsicOp::create(b, b.getI64Type(), b.getStringAttr("llvm.aarch64.get.fpcr"), ValueRange{});
    LLVM::StoreOp::create(b, call.getResult(0), pointers[0]);
  };
  EXPECT_NE(errorOf(foreign).find("Cannot select"), std::string::npos);
  compileAfterError();
}

TEST(FatalErrorsDeathTest, EndTheProcessElsewhere) {
  EXPECT_FALSE(fatalErrorOf([] {}));
  EXPECT_DEATH(llvm::report_fatal_error("no memory"), "LLVM ERROR: no memory");
}

} // namespace tilewright::cpu
