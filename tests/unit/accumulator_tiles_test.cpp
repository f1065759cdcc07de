// Tiles of tensor memory of a kernel whose first warp issues the MMAs: which values have one tile, and which tiles share columns.
#include "gpu/schedule/tensor_memory/first_warp/accumulator_tiles.h"

#include "gpu/machine/ptx.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

/// `!acc`: a tile of 64 columns. Each `mma` multiplies the same operands.
class AccumulatorTilesTest : public testing::Test {
protected:
  AccumulatorTilesTest() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.allowUnregisteredDialects();
  }

  void plan(std::string body) {
    for (size_t i = body.find("mma "); i != std::string::npos; i = body.find("mma ", i))
      body.replace(i, 4, "ttg.mma_async %a, %b, ");
    for (size_t i = body.find(" :;"); i != std::string::npos; i = body.find(" :;", i))
      body.replace(i, 3, " : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> !acc");
    module = mlir::parseSourceString<mlir::ModuleOp>(
        R"(#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
!acc = tensor<128x64xf32, #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>>
#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0]], 16>
tt.func @kernel(%n: i32, %yes: i1) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : !acc
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #a>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #b>
)" + body + "  tt.return\n}\n",
        &context, "test.mlir");
    ASSERT_TRUE(module);
    tt::FuncOp function = *module->getOps<tt::FuncOp>().begin();
    made = planTiles(function, TensorAccumulators(function));
  }

  /// Two tiles that are in use at the same time.
  void expectOtherColumns(const std::string &body) {
    plan(body);
    ASSERT_EQ(made.tiles.size(), 2u);
    EXPECT_NE(made.tiles[0].column, made.tiles[1].column);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  AccumulatorTiles made;
};

TEST_F(AccumulatorTilesTest, oneAfterTheOther) {
  plan(R"(
  %d = mma %zero :;
  %e = ttg.mma_async_wait 0, %d : !acc -> !acc
  "use"(%e) : (!acc) -> ()
  %f = mma %zero :;
  %g = ttg.mma_async_wait 0, %f : !acc -> !acc
  "use"(%g) : (!acc) -> ()
)");
  ASSERT_EQ(made.tiles.size(), 2u);
  EXPECT_EQ(made.accumulators.size(), 4u); // with what the waits pass on
  EXPECT_EQ(made.tiles[0].column, made.tiles[1].column);
  EXPECT_EQ(made.columns.used(), 64);
}

TEST_F(AccumulatorTilesTest, inFlightTogether) {
  plan(R"(
  %d = mma %zero :;
  %f = mma %zero :;
  %e, %g = ttg.mma_async_wait 0, %d, %f : !acc, !acc -> !acc, !acc
  "use"(%e, %g) : (!acc, !acc) -> ()
)");
  ASSERT_EQ(made.tiles.size(), 2u);
  EXPECT_NE(made.tiles[0].column, made.tiles[1].column);
  EXPECT_EQ(made.columns.used(), 128);
}

/// The first wait lets the first MMA end, but not the second one: its tile is in use until the last wait.
TEST_F(AccumulatorTilesTest, inFlightAfterItsWait) {
  expectOtherColumns(R"(
  %d = mma %zero :;
  %e = ttg.mma_async_wait 1, %d : !acc -> !acc
  %f = mma %zero :;
  %g = ttg.mma_async_wait 0, %f : !acc -> !acc
  "use"(%e, %g) : (!acc, !acc) -> ()
)");
}

/// The branch that waits for the first MMA may not be taken: then it runs until the last wait.
TEST_F(AccumulatorTilesTest, inFlightAfterABranch) {
  expectOtherColumns(R"(
  %d = mma %zero :;
  scf.if %yes {
    %e = ttg.mma_async_wait 0, %d : !acc -> !acc
    "use"(%e) : (!acc) -> ()
  }
  %f = mma %zero :;
  %g = ttg.mma_async_wait 0, %f : !acc -> !acc
  "use"(%g) : (!acc) -> ()
)");
}

/// The MMA of an iteration ends after the loop: it runs while the next iteration's first MMA does.
TEST_F(AccumulatorTilesTest, inFlightAcrossTheBackEdge) {
  expectOtherColumns(R"(
  scf.for %i = %c0 to %n step %c1 : i32 {
    %d = mma %zero :;
    %e = ttg.mma_async_wait 0, %d : !acc -> !acc
    "use"(%e) : (!acc) -> ()
    %f = mma %zero :;
  }
  ttg.mma_async_wait 0
)");
}

/// Each iteration loads a result from before the loop: its tile is in use in the whole loop.
TEST_F(AccumulatorTilesTest, loadedInEachIteration) {
  expectOtherColumns(R"(
  %d = mma %zero :;
  scf.for %i = %c0 to %n step %c1 : i32 {
    %e = ttg.mma_async_wait 0, %d : !acc -> !acc
    "use"(%e) : (!acc) -> ()
    %s = mma %zero :;
    %t = ttg.mma_async_wait 0, %s : !acc -> !acc
    "use"(%t) : (!acc) -> ()
  }
)");
}

/// A wait lets the first of two MMAs end, although it does not name its result: a third one can have its columns.
TEST_F(AccumulatorTilesTest, endsAtAWaitForAnother) {
  plan(R"(
  %d = mma %zero :;
  %f = mma %zero :;
  %g = ttg.mma_async_wait 0, %f : !acc -> !acc
  "use"(%g) : (!acc) -> ()
  %h = mma %zero :;
  %k = ttg.mma_async_wait 0, %h : !acc -> !acc
  "use"(%k) : (!acc) -> ()
)");
  ASSERT_EQ(made.tiles.size(), 3u);
  EXPECT_EQ(made.columns.used(), 128);
}

/// A sum and the loop that carries it have one tile. The result of another MMA of the loop has another one.
TEST_F(AccumulatorTilesTest, carriedSum) {
  plan(R"(
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> (!acc) : i32 {
    %s = mma %zero :;
    %d = mma %c :;
    %e, %t = ttg.mma_async_wait 0, %d, %s : !acc, !acc -> !acc, !acc
    "use"(%t) : (!acc) -> ()
    scf.yield %e : !acc
  }
  "use"(%r) : (!acc) -> ()
)");
  ASSERT_EQ(made.tiles.size(), 2u);
  EXPECT_EQ(made.accumulators.size(), 6u); // %c, %d, %e and %r; %s and %t
  EXPECT_EQ(made.columns.used(), 128);
}

/// A sum that the loop reads is stored and loaded in each iteration: only the MMA's result has a tile.
TEST_F(AccumulatorTilesTest, sumThatThreadsRead) {
  plan(R"(
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> (!acc) : i32 {
    "use"(%c) : (!acc) -> ()
    %d = mma %c :;
    %e = ttg.mma_async_wait 0, %d : !acc -> !acc
    scf.yield %e : !acc
  }
  "use"(%r) : (!acc) -> ()
)");
  EXPECT_EQ(made.tiles.size(), 1u);
  EXPECT_EQ(made.accumulators.size(), 2u); // %d and %e
}

} // namespace
