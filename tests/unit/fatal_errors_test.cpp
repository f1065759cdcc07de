// LLVM's fatal errors become values, and LLVM can be used afterwards.
#include "codegen/fatal_errors.h"

#include "cpu_harness.h"

#include "llvm/Support/ErrorHandling.h"

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

TEST(FatalErrorsDeathTest, EndTheProcessElsewhere) {
  EXPECT_FALSE(fatalErrorOf([] {}));
  EXPECT_DEATH(llvm::report_fatal_error("no memory"), "LLVM ERROR: no memory");
}

} // namespace tilewright::cpu
