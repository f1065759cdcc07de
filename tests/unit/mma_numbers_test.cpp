// Barriers of MMAs that the first warp issues: how many there are, and which waits are added so that each is for the oldest MMA in flight.
#include "gpu/schedule/tensor_memory/first_warp/mma_numbers.h"

#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/ptx.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class MmaNumbers : public testing::Test {
protected:
  MmaNumbers() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Numbers the MMAs of `body`, where `mma` is one of them, and `wait N` a wait for all but the latest N.
  void number(std::string body) {
    auto replace = [&](const std::string &from, const std::string &to) {
      for (size_t i = body.find(from); i != std::string::npos; i = body.find(from, i + to.size()))
        body.replace(i, from.size(), to);
    };
    replace(";", " of %w at %c0 : !ttg.barriers<1>");
    replace("wait", "ttg.tcgen05_wait");
    replace("mma",
            "ttg.tcgen05_mma %a, %b, %t if %yes to %w : !ttg.barriers<1> at %c0 : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b>, "
            "!ttg.tensor_memory<128x64xf32>");
    mlir::ParserConfig unverified(&context, /*verifyAfterParse=*/false); // the barriers are too few until MMAs have numbers
    module = mlir::parseSourceString<mlir::ModuleOp>(
        R"(#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0]], 16>
tt.func @kernel(%n: i32, %yes: i1) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m = ttg.tensor_alloc 64
  %t = ttg.tensor_tile %m, 0 : !ttg.tensor_memory<128x64xf32>
  %w = ttg.alloc_barriers : !ttg.barriers<1>
  %a = ttg.alloc : !ttg.buffer<1 x f16, #a>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #b>
)" + body + "  tt.return\n}\n",
        unverified, "test.mlir");
    ASSERT_TRUE(module);
    tt::FuncOp function = *module->getOps<tt::FuncOp>().begin();
    auto barriers = *function.getBody().getOps<ttg::AllocBarriersOp>().begin();
    mlir::Value zero = function.getBody().front().front().getResult(0);
    numberMmas(function, barriers, zero, {});
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    count = barriers.getType().getCount();
    waits.clear();
    function.walk([&](ttg::Tcgen05WaitOp wait) { waits.push_back(wait.getPending()); });
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t count = 0;           ///< of barriers
  std::vector<uint32_t> waits; ///< what each leaves pending
};

using Waits = std::vector<uint32_t>;

TEST_F(MmaNumbers, oneAfterTheOther) {
  number("mma\n wait 0;\n mma\n wait 0;\n");
  EXPECT_EQ(count, 1);
  EXPECT_EQ(waits, (Waits{0, 0}));
}

/// Commits may arrive in any order, so each MMA has a wait of its own, the oldest first.
TEST_F(MmaNumbers, oldestFirst) {
  number("mma\n mma\n mma\n wait 1;\n wait 0;\n");
  EXPECT_EQ(count, 4); // a power of two
  EXPECT_EQ(waits, (Waits{2, 1, 0}));
}

/// An iteration's MMA is in flight when the next one's starts.
TEST_F(MmaNumbers, inFlightAcrossTheBackEdge) {
  number("scf.for %i = %c0 to %n step %c1 : i32 {\n mma\n wait 1;\n }\n wait 0;\n");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(waits, (Waits{1, 0}));
}

/// Two MMAs of the previous iteration are in flight at the first wait of the next one.
TEST_F(MmaNumbers, twoAcrossTheBackEdge) {
  number("scf.for %i = %c0 to %n step %c1 : i32 {\n mma\n wait 0;\n mma\n mma\n }\n wait 0;\n");
  EXPECT_EQ(count, 4);
  EXPECT_EQ(waits, (Waits{2, 1, 0, 1, 0}));
}

/// A branch may have issued its MMA, and may have waited or not.
TEST_F(MmaNumbers, branches) {
  number("scf.if %yes {\n mma\n }\n mma\n wait 0;\n");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(waits, (Waits{1, 0}));
  number("mma\n scf.if %yes {\n wait 0;\n }\n mma\n wait 0;\n");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(waits, (Waits{0, 1, 0}));
  number("scf.if %yes {\n mma\n mma\n } else {\n mma\n }\n wait 0;\n");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(waits, (Waits{1, 0}));
}

TEST_F(MmaNumbers, whileLoops) {
  number("scf.while : () -> () {\n scf.condition(%yes)\n } do {\n mma\n wait 1;\n scf.yield\n }\n wait 0;\n");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(waits, (Waits{1, 0}));
}

/// Without waits, one comes before there are too many.
TEST_F(MmaNumbers, tooManyInFlight) {
  number("scf.for %i = %c0 to %n step %c1 : i32 {\n mma\n }\n wait 0;\n");
  EXPECT_EQ(count, maxMmasInFlight);
  Waits all(maxMmasInFlight); // all in flight, in the loop and after it
  std::iota(all.rbegin(), all.rend(), 0);
  Waits twice(all);
  twice.insert(twice.end(), all.begin(), all.end());
  EXPECT_EQ(waits, twice);
}

} // namespace
