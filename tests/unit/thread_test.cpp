// Lowerings to one thread's scalars, called one by one: how many instructions of which kind a layout asks for.
#include "gpu/thread/lowerings.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class Thread : public testing::Test {
protected:
  Thread() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A function with a tile %x of 64 f32 in `layout` and the operation `body`; the context of a thread that holds it.
  std::unique_ptr<ThreadContext> load(int64_t warps, const std::string &layout, const std::string &body) {
    std::string source =
        "#row = #ttg.layout<64, " + layout + ", block []>\ntt.func public @kernel(%x: tensor<64xf32, #row>) {\n" + body + "tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context, "test.mlir");
    if (!module) return nullptr;
    function = *module->getOps<tt::FuncOp>().begin();
    auto config = ttg::ConfigAttr::get(&context, warps, 1, 3, 0, mlir::StringAttr::get(&context, "sm_90a"));
    auto t = std::make_unique<ThreadContext>(function.getLoc(), config, *gpuTarget("sm_90a"));
    mlir::Block &entry = function.getBody().front();
    t->b.setInsertionPoint(entry.getTerminator());
    t->thread = ptx::ThreadIdOp::create(t->b, t->b.getI32Type());
    t->lane = ptx::LaneIdOp::create(t->b, t->b.getI32Type());
    t->warp = ptx::WarpIdOp::create(t->b, t->b.getI32Type());
    Parts held;
    for (int64_t reg = 0; reg < t->partsOf(entry.getArgument(0).getType()); ++reg)
      held.push_back(t->zero(t->b.getF32Type()));
    t->set(entry.getArgument(0), held);
    return t;
  }

  template <typename Op> Op first() {
    Op found;
    function.walk([&](Op op) {
      if (!found) found = op;
    });
    return found;
  }
  template <typename Op> int64_t count() {
    int64_t number = 0;
    function.walk([&](Op) { ++number; });
    return number;
  }

  const std::string sum = R"(%s = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<64xf32, #row>) -> f32
)";
  const std::string running = R"(%s = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.scan.return %c : f32
  }) : (tensor<64xf32, #row>) -> tensor<64xf32, #row>
)";
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tt::FuncOp function;
};

TEST_F(Thread, reductionInOneWarp) {
  auto t = load(1, "reg [[1]], lane [[2], [4], [8], [16], [32]], warp []", sum);
  ASSERT_TRUE(t);
  auto reduce = first<tt::ReduceOp>();
  ASSERT_TRUE(mlir::succeeded(lowerReduce(*t, reduce)));
  EXPECT_EQ(t->get(reduce.getResult()[0]).size(), 1u);
  EXPECT_EQ(count<ptx::ShuffleOp>(), 5); // one a lane bit; the two registers become one before
  EXPECT_EQ(count<ptx::BarrierOp>(), 0);
}

TEST_F(Thread, reductionOverWarps) {
  auto t = load(2, "reg [], lane [[1], [2], [4], [8], [16]], warp [[32]]", sum);
  ASSERT_TRUE(t);
  ASSERT_TRUE(mlir::succeeded(lowerReduce(*t, first<tt::ReduceOp>())));
  EXPECT_EQ(count<ptx::ShuffleOp>(), 5);
  EXPECT_EQ(count<ptx::StoreSharedOp>(), 1);
  EXPECT_EQ(count<ptx::LoadSharedOp>(), 2); // both warps' parts
  EXPECT_EQ(count<ptx::BarrierOp>(), 2);
  EXPECT_GE(t->sharedBytes, 8);
}

TEST_F(Thread, scanInOneWarp) {
  auto t = load(1, "reg [[1]], lane [[2], [4], [8], [16], [32]], warp []", running);
  ASSERT_TRUE(t);
  auto scan = first<tt::ScanOp>();
  ASSERT_TRUE(mlir::succeeded(lowerScan(*t, scan)));
  EXPECT_EQ(t->get(scan.getResult()[0]).size(), 2u);
  EXPECT_EQ(count<ptx::ShuffleOp>(), 5); // a run of two registers has one total
  EXPECT_EQ(count<ptx::BarrierOp>(), 0);
}

TEST_F(Thread, conversionWithinAWarp) {
  auto t = load(1, "reg [[1]], lane [[2], [4], [8], [16], [32]], warp []",
                "%y = ttg.convert_layout %x : tensor<64xf32, #row> -> tensor<64xf32, #ttg.layout<64, reg [[32]], lane [[1], [2], [4], [8], "
                "[16]], warp [], block []>>\n");
  ASSERT_TRUE(t);
  auto convert = first<ttg::ConvertLayoutOp>();
  ASSERT_TRUE(mlir::succeeded(lowerConvert(*t, convert)));
  EXPECT_EQ(t->get(convert.getResult()).size(), 2u);
  EXPECT_EQ(count<ptx::BarrierOp>(), 0); // within a warp: by shuffles
  EXPECT_EQ(count<ptx::ShuffleOp>(), 2);
}

} // namespace
