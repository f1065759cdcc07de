// The program that a partition gets: which operations and carried values are in the slice, its clone, and why it cannot be computed again.
#include "gpu/schedule/partitions/backward_slice.h"

#include "gpu/machine/ptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class BackwardSliceTest : public testing::Test {
protected:
  BackwardSliceTest() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  tt::FuncOp parse(const std::string &body) {
    module = mlir::parseSourceString<mlir::ModuleOp>("tt.func public @kernel(%n: i32, %c: i1, %p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {\n"
                                                     "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n" +
                                                         body + "tt.return\n}\n",
                                                     &context);
    EXPECT_TRUE(module) << body;
    return *module->getOps<tt::FuncOp>().begin();
  }

  /// Returns the one store whose value is marked `kept`.
  static tt::StoreOp kept(tt::FuncOp function) {
    tt::StoreOp found;
    function.walk([&](tt::StoreOp store) {
      if (store->hasAttr("kept")) found = store;
    });
    return found;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(BackwardSliceTest, ClonesLoopsWithTheNeededValuesOnly) {
  tt::FuncOp function = parse(R"(
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c0, %other = %c1) -> (i32, i32) : i32 {
      tt.store %p, %sum {kept} : !tt.ptr<i32>
      tt.store %q, %other : !tt.ptr<i32>
      %next = arith.addi %sum, %i : i32
      %unneeded = arith.muli %other, %i : i32
      scf.yield %next, %unneeded : i32, i32
    }
  )");
  auto slice = BackwardSlice::ofWarp(function);
  slice.keep(kept(function));
  auto loop = *function.getBody().front().getOps<mlir::scf::ForOp>().begin();
  EXPECT_TRUE(slice.needs(loop.getRegionIterArg(0)));
  EXPECT_FALSE(slice.needs(loop.getRegionIterArg(1)));
  mlir::OpBuilder b(loop);
  mlir::IRMapping map;
  mlir::scf::ForOp clone = slice.clone(loop, b, map);
  EXPECT_EQ(clone.getNumResults(), 1u);
  EXPECT_EQ(map.lookupOrNull(loop.getResult(0)), clone.getResult(0));
  EXPECT_EQ(std::distance(clone.getBody()->begin(), clone.getBody()->end()), 3); // the store, the addition and the yield
  EXPECT_TRUE(mlir::succeeded(module->verify()));
}

TEST_F(BackwardSliceTest, ClonesBranchesWithTheNeededResultsOnly) {
  tt::FuncOp function = parse(R"(
    %r:2 = scf.if %c -> (i32, i32) {
      %two = arith.addi %c1, %c1 : i32
      scf.yield %two, %n : i32, i32
    } else {
      scf.yield %n, %c0 : i32, i32
    }
    tt.store %q, %r#1 : !tt.ptr<i32>
    tt.store %p, %r#0 {kept} : !tt.ptr<i32>
  )");
  auto slice = BackwardSlice::ofWarp(function);
  slice.keep(kept(function));
  mlir::Block &entry = function.getBody().front();
  mlir::OpBuilder b(entry.getTerminator());
  mlir::IRMapping map;
  size_t before = entry.getOperations().size();
  slice.clone(entry, b, map);
  EXPECT_EQ(entry.getOperations().size(), before + 3); // a constant, the branch and the store
  auto branches = llvm::to_vector(entry.getOps<mlir::scf::IfOp>());
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[1].getNumResults(), 1u);
  EXPECT_TRUE(mlir::succeeded(module->verify()));
}

TEST_F(BackwardSliceTest, LoadsNeedGuards) {
  std::string text = R"(
    %x = tt.load %p : !tt.ptr<i32>
    scf.for %i = %c0 to %x step %c1 : i32 {
      tt.store %q, %i {kept} : !tt.ptr<i32>
    }
  )";
  tt::FuncOp function = parse(text);
  auto slice = BackwardSlice::ofWarp(function);
  slice.keep(kept(function));
  Result<LaunchGuards> guards = slice.guardsToCompute();
  ASSERT_TRUE(bool(guards)) << guards.error();
  EXPECT_EQ(guards->size(), 1u);
  EXPECT_EQ(slice.obstacle(), nullptr);
  function = parse("tt.store %p, %n : !tt.ptr<i32>\n" + text);
  auto written = BackwardSlice::ofWarp(function);
  written.keep(kept(function));
  guards = written.guardsToCompute();
  ASSERT_FALSE(bool(guards));
  EXPECT_EQ(guards.error(), "tt.load: the loop may write what it reads");
  EXPECT_TRUE(mlir::isa_and_nonnull<tt::LoadOp>(written.obstacle()));
}

TEST_F(BackwardSliceTest, StatesWhatCannotBeComputed) {
  auto whyNot = [&](const std::string &body) {
    tt::FuncOp function = parse(body);
    auto slice = BackwardSlice::ofWarp(function);
    slice.keep(kept(function));
    Result<LaunchGuards> guards = slice.guardsToCompute();
    EXPECT_EQ(bool(guards), slice.obstacle() == nullptr);
    return guards ? std::string() : guards.error();
  };
  EXPECT_EQ(whyNot(R"(
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      tt.store %p, %n {kept} : !tt.ptr<i32>
      scf.yield
    }
  )"),
            "scf.while: only loops and branches are computed again");
  EXPECT_EQ(whyNot(R"(
    %tile = tt.splat %n : i32 -> tensor<32xi32>
    %pointers = tt.splat %p : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
    tt.store %pointers, %tile {kept} : tensor<32x!tt.ptr<i32>>
  )"),
            "tt.splat: one warp holds no tiles");
  EXPECT_EQ(whyNot(R"(
    %old = tt.atomic_rmw add, acq_rel, gpu, %q, %n, %c : (!tt.ptr<i32>, i32, i1) -> i32
    tt.store %p, %old {kept} : !tt.ptr<i32>
  )"),
            "tt.atomic_rmw: it has effects");
}

} // namespace
