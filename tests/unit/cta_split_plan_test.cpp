// How tiles of small kernels are split across the CTAs of a cluster.
#include "gpu/tiles/cluster/cta_split_plan.h"
#include "support/target.h"
#include "tile_context.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class CtaSplits : public testing::Test {
protected:
  /// Plans a kernel of two CTAs with 4 warps. Tests name the tiles by the types of their operations.
  void plan(const std::string &arguments, const std::string &body, int64_t ctas = 2) {
    std::string text = "tt.func public @kernel(" + arguments + ") {\n" + body + "  tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &testContext(), "test.mlir");
    ASSERT_TRUE(module);
    plan_.emplace(*module->getOps<tt::FuncOp>().begin(), /*warps=*/4, ctas, SplitK{}, target);
  }

  /// Returns the split of the first operation of this kind, as operands -> results: "0, - -> 0". "-": replicated.
  template <typename Op> std::string splitsOf() {
    for (mlir::Operation *op : plan_->getOps())
      if (llvm::isa<Op>(op))
        return text(op->getOperands(), plan_->splitsOf(op).operands) + " -> " + text(op->getResults(), plan_->splitsOf(op).results);
    return "no such operation";
  }

  static std::string text(mlir::ValueRange values, llvm::ArrayRef<CtaSplit> splits) {
    std::string text;
    for (auto [value, split] : llvm::zip(values, splits)) {
      if (!llvm::isa<mlir::RankedTensorType>(value.getType())) continue;
      text += (text.empty() ? "" : ", ") + (split.dim ? std::to_string(*split.dim) : "-");
    }
    return text;
  }

  GpuTarget target = *gpuTarget("sm_90a");
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<CtaSplitPlan> plan_;
};

TEST_F(CtaSplits, AColumnOfALoadedTileIsSplit) {
  plan("%p: tensor<1024x!tt.ptr<f32>>, %q: tensor<1024x!tt.ptr<f32>>", R"(
  %x = tt.load %p : tensor<1024x!tt.ptr<f32>>
  %y = arith.addf %x, %x : tensor<1024xf32>
  tt.store %q, %y : tensor<1024x!tt.ptr<f32>>
)");
  EXPECT_EQ(splitsOf<tt::LoadOp>(), "0 -> 0");
  EXPECT_EQ(splitsOf<mlir::arith::AddFOp>(), "0, 0 -> 0");
  EXPECT_EQ(splitsOf<tt::StoreOp>(), "0, 0 -> ");
}

TEST_F(CtaSplits, RowsThatAreReducedStayInOneCta) {
  plan("%p: tensor<64x128x!tt.ptr<f32>>, %q: tensor<64x!tt.ptr<f32>>", R"(
  %x = tt.load %p : tensor<64x128x!tt.ptr<f32>>
  %s = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<64x128xf32>) -> tensor<64xf32>
  tt.store %q, %s : tensor<64x!tt.ptr<f32>>
)");
  EXPECT_EQ(splitsOf<tt::LoadOp>(), "0 -> 0");
  EXPECT_EQ(splitsOf<tt::ReduceOp>(), "0 -> 0");
  EXPECT_EQ(splitsOf<tt::StoreOp>(), "0, 0 -> ");
}

TEST_F(CtaSplits, ADotSplitsItsRowsOrItsColumns) {
  auto dot = [&](const std::string &m, const std::string &n) {
    plan("%a: tensor<" + m + "x64xf16>, %b: tensor<64x" + n + "xf16>, %p: tensor<" + m + "x" + n + "x!tt.ptr<f32>>",
         "  %zero = arith.constant dense<0.0> : tensor<" + m + "x" + n + "xf32>\n  %d = tt.dot %a, %b, %zero : tensor<" + m +
             "x64xf16> * tensor<64x" + n + "xf16> -> tensor<" + m + "x" + n + "xf32>\n  tt.store %p, %d : tensor<" + m + "x" + n +
             "x!tt.ptr<f32>>\n");
    return splitsOf<tt::DotOp>() + "; " + splitsOf<tt::StoreOp>();
  };
  EXPECT_EQ(dot("128", "128"), "0, -, 0 -> 0; 0, 0 -> ");
  EXPECT_EQ(dot("16", "128"), "-, 1, 1 -> 1; 1, 1 -> ");
}

TEST_F(CtaSplits, ATransposeExchangesTheDimensions) {
  plan("%p: tensor<32x128x!tt.ptr<f32>>, %q: tensor<128x32x!tt.ptr<f32>>", R"(
  %x = tt.load %p : tensor<32x128x!tt.ptr<f32>>
  %y = tt.trans %x {order = array<i32: 1, 0>} : tensor<32x128xf32> -> tensor<128x32xf32>
  tt.store %q, %y : tensor<128x32x!tt.ptr<f32>>
)");
  EXPECT_EQ(splitsOf<tt::TransOp>(), "0 -> 1");
  EXPECT_EQ(splitsOf<tt::StoreOp>(), "1, 1 -> ");
}

TEST_F(CtaSplits, ShortTilesAndAProgramInOneCtaAreNotSplit) {
  std::string arguments = "%p: tensor<1x!tt.ptr<f32>>, %q: tensor<64x!tt.ptr<f32>>";
  std::string body = "  %x = tt.load %p : tensor<1x!tt.ptr<f32>>\n  %y = tt.broadcast %x : tensor<1xf32> -> tensor<64xf32>\n"
                     "  tt.store %q, %y : tensor<64x!tt.ptr<f32>>\n";
  plan(arguments, body);
  EXPECT_EQ(splitsOf<tt::LoadOp>(), "- -> -");
  EXPECT_EQ(splitsOf<tt::BroadcastOp>(), "- -> 0");
  EXPECT_EQ(splitsOf<tt::StoreOp>(), "0, 0 -> ");
  plan(arguments, body, /*ctas=*/1);
  EXPECT_EQ(splitsOf<tt::StoreOp>(), "-, - -> ");
}

} // namespace
