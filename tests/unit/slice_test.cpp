#include "ir/slice.h"

#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;
using tt::Search;

namespace {

class Slice : public testing::Test {
protected:
  Slice() {
    DialectRegistry registry;
    tt::registerDialects(registry);
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(R"(
      tt.func @k(%start: i32, %n: i32, %flag: i1) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %difference = arith.subi %n, %start : i32
        %chosen = scf.if %flag -> (i32) {
          scf.yield %difference : i32
        } else {
          scf.yield %one : i32
        }
        %sum, %other = scf.for %i = %zero to %n step %one iter_args(%a = %zero, %b = %chosen) -> (i32, i32) : i32 {
          %product = arith.muli %b, %b : i32
          %next = arith.addi %a, %product : i32
          scf.yield %next, %b : i32, i32
        }
        %result = arith.xori %sum, %one : i32
        tt.return
      })",
                                         &context);
  }

  template <typename Op> Op find() {
    Op found;
    module->walk([&](Op op) { found = op; });
    return found;
  }

  template <typename Op> static bool comesFrom(Value value) {
    return tt::dependsOn(value, [](Value source) { return isa_and_nonnull<Op>(source.getDefiningOp()) ? Search::found : Search::follow; });
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Slice, GoesThroughWhatLoopsCarryAndBranchesYield) {
  auto loop = find<scf::ForOp>();
  EXPECT_TRUE(comesFrom<arith::SubIOp>(loop.getResult(0))); // by %next, %product, %b and %chosen
  EXPECT_TRUE(comesFrom<arith::SubIOp>(loop.getResult(1)));
  EXPECT_FALSE(comesFrom<arith::AddIOp>(loop.getResult(1))); // only the other result is added to
  EXPECT_FALSE(comesFrom<arith::SubIOp>(loop.getInductionVar()));
}

TEST_F(Slice, StopsWhereTheVisitorSkips) {
  auto skipsMultiplication = [](Value source) {
    Operation *op = source.getDefiningOp();
    return isa_and_nonnull<arith::MulIOp>(op) ? Search::skip : isa_and_nonnull<arith::SubIOp>(op) ? Search::found : Search::follow;
  };
  EXPECT_FALSE(tt::dependsOn(find<scf::ForOp>().getResult(0), skipsMultiplication));
}

TEST_F(Slice, FollowsUses) {
  auto find = [](Operation *wanted) { return [=](OpOperand &use) { return use.getOwner() == wanted ? Search::found : Search::follow; }; };
  Value product = this->find<arith::MulIOp>();
  EXPECT_TRUE(tt::reaches(product, find(this->find<arith::AddIOp>())));
  EXPECT_FALSE(tt::reaches(product, find(this->find<arith::XOrIOp>()))); // a yield has no results
}

TEST_F(Slice, LooksThroughOperationsOfTheseKinds) {
  Value product = find<arith::MulIOp>(), next = find<arith::AddIOp>();
  EXPECT_EQ((tt::lookThrough<arith::AddIOp, arith::MulIOp>(next)), find<scf::ForOp>().getRegionIterArg(0));
  EXPECT_EQ(tt::lookThrough<arith::AddIOp>(product), product);
}

TEST_F(Slice, ClonesConstantsInAnotherShape) {
  OpBuilder b(&context);
  b.setInsertionPointToStart(module->getBody());
  auto whole = RankedTensorType::get({4, 2}, b.getI32Type()), part = RankedTensorType::get({2, 2}, b.getI32Type());
  Value splat = arith::ConstantOp::create(b, b.getUnknownLoc(), DenseElementsAttr::get(whole, Attribute(b.getI32IntegerAttr(7))));
  Value copy = tt::cloneAs(b, splat.getDefiningOp(), {}, part);
  EXPECT_EQ(copy.getType(), part);
  EXPECT_EQ(copy.getDefiningOp<arith::ConstantOp>().getValue(), DenseElementsAttr::get(part, Attribute(b.getI32IntegerAttr(7))));
}

} // namespace
