// The analyses of tiles and memory in gpu/ttg.
#include "gpu/ttg/copied_boxes.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/written_memory.h"
#include "tile_context.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class TtgAnalyses : public testing::Test {
protected:
  /// The kernel of this body; results of operations are named by `ttg.id`.
  void parse(const std::string &arguments, const std::string &body) {
    module =
        mlir::parseSourceString<mlir::ModuleOp>("#tile = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], "
                                                "[0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>\n"
                                                "tt.func @kernel(" +
                                                    arguments + ") {\n" + body + "  tt.return\n}\n",
                                                &testContext());
    ASSERT_TRUE(module);
  }
  tt::FuncOp kernel() { return *module->getOps<tt::FuncOp>().begin(); }
  mlir::Operation *op(int64_t id) {
    mlir::Operation *found = nullptr;
    module->walk([&](mlir::Operation *each) {
      auto number = each->getAttrOfType<mlir::IntegerAttr>(ttg::idName);
      if (number && number.getInt() == id) found = each;
    });
    return found;
  }
  mlir::Value value(int64_t id) { return op(id)->getResult(0); }

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(TtgAnalyses, CopiedBoxes) {
  SharedLayout swizzled = SharedLayout::swizzled({64, 256}, 16, 128, {1, 0});
  std::optional<TmaBox> all = copiedBox(swizzled, {}), part = copiedBox(swizzled, {48, 152});
  ASSERT_TRUE(all && part);
  EXPECT_EQ(all->copies, 4);
  EXPECT_EQ(all->box, (std::vector<int64_t>{64, 64}));
  EXPECT_EQ(part->copies, 3); // up to the swizzle's boundary after column 152
  EXPECT_EQ(part->box, (std::vector<int64_t>{64, 48}));
  auto type = ttg::BufferType::get(2, mlir::Float16Type::get(&testContext()), swizzled);
  mlir::OpBuilder b(&testContext());
  auto alloc = [&](llvm::ArrayRef<int64_t> extent) {
    mlir::OperationState state(b.getUnknownLoc(), ttg::AllocOp::getOperationName());
    state.addTypes(type);
    auto made = mlir::OwningOpRef<ttg::AllocOp>(mlir::cast<ttg::AllocOp>(mlir::Operation::create(state)));
    made->setCopiedExtent(extent);
    return made;
  };
  EXPECT_EQ(copiedBytes(*alloc({})), 64 * 256 * 2);
  EXPECT_EQ(copiedBytes(*alloc({48, 152})), 3 * 48 * 128);
  EXPECT_EQ(stageBytes(*alloc({})), 64 * 256 * 2);
  EXPECT_EQ(stageBytes(*alloc({48, 152})), 2 * 64 * 128 + 48 * 128); // whole boxes, but for the last
}

TEST_F(TtgAnalyses, PartsOfBoxes) {
  auto buffer = [](const SharedLayout &layout) { return ttg::BufferType::get(1, mlir::Float16Type::get(&testContext()), layout); };
  std::optional<BoxParts> whole = partsPerBox(buffer(SharedLayout::swizzled({64, 256}, 16, 128, {1, 0})), 2, /*paired=*/false);
  std::optional<BoxParts> cut = partsPerBox(buffer(SharedLayout::swizzled({64, 64}, 16, 128, {1, 0})), 2, /*paired=*/false);
  ASSERT_TRUE(whole && cut);
  EXPECT_EQ(whole->count, 1); // CTAs alternate in four boxes
  EXPECT_EQ(cut->count, 2);
  EXPECT_EQ(cut->bytes, 32 * 128);
  EXPECT_FALSE(partsPerBox(buffer(SharedLayout::swizzled({8, 64}, 16, 128, {1, 0})), 2, /*paired=*/false)); // no whole swizzles
}

TEST_F(TtgAnalyses, DemandedExtent) {
  parse("%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf32, #tile>",
        "  %d = tt.dot %a, %b, %c {tt.valid_extent = array<i64: 64, 40>, ttg.id = 1 : i64} : tensor<64x64xf16> * tensor<64x64xf16> -> "
        "tensor<64x64xf32, #tile>\n");
  auto dot = mlir::cast<tt::DotOp>(op(1));
  EXPECT_EQ(validExtent(dot), (Dims{64, 40}));
  EXPECT_EQ(demandedExtent(dot.getA()), (Dims{64, 64}));
  EXPECT_EQ(demandedExtent(dot.getB()), (Dims{64, 40})); // its padded columns are not read
  EXPECT_EQ(demandedExtent(dot.getD()), (Dims{64, 64})); // without a use
  EXPECT_EQ(coveringExtent(dot), (Dims{64, 40}));
  EXPECT_EQ(slicedExtent({64, 40}, {64, 32}, 1, 2, std::nullopt), (Dims{64, 32}));
  EXPECT_EQ(slicedExtent({64, 40}, {64, 32}, 1, 2, 24), (Dims{64, 24}));
  EXPECT_EQ(slicedExtent({64, 40}, {32, 64}, 0, 2, std::nullopt), (Dims{32, 40}));
}

TEST_F(TtgAnalyses, WrittenMemory) {
  parse("%p: !tt.ptr<f32>, %q: !tt.ptr<f32>",
        "  %x = tt.load %p {ttg.id = 1 : i64} : !tt.ptr<f32>\n  %v = tt.load %p {isVolatile = true, ttg.id = 2 : i64} : !tt.ptr<f32>\n"
        "  tt.store %q, %x {ttg.id = 3 : i64} : !tt.ptr<f32>\n");
  EXPECT_FALSE(ttg::writtenPointer(op(1)));
  EXPECT_EQ(ttg::writtenPointer(op(3)), std::optional<mlir::Value>(kernel().getArgument(1)));
  Result<LaunchGuards> guards = ttg::unwrittenGuards(mlir::cast<tt::LoadOp>(op(1)), kernel());
  ASSERT_TRUE(guards);
  EXPECT_EQ(guards->size(), 1u); // p and q do not overlap
  EXPECT_FALSE(ttg::unwrittenGuards(mlir::cast<tt::LoadOp>(op(2)), kernel()));
}

TEST_F(TtgAnalyses, TileEquivalence) {
  parse("%x: tensor<64xf32>, %y: tensor<64xf32>, %n: i32",
        "  %r = tt.make_range {start = 0 : i32, end = 64 : i32, ttg.id = 1 : i64} : tensor<64xi32>\n"
        "  %s = arith.addf %x, %y {ttg.id = 2 : i64} : tensor<64xf32>\n"
        "  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n"
        "  %l = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s) -> (tensor<64xf32>) : i32 {\n"
        "    %m = arith.mulf %a, %a {ttg.id = 3 : i64} : tensor<64xf32>\n    scf.yield %m : tensor<64xf32>\n  } {ttg.id = 4 : i64}\n"
        "  %e = tt.expand_dims %l {axis = 0 : i32, ttg.id = 5 : i64} : tensor<64xf32> -> tensor<1x64xf32>\n");
  RematerializableTiles cheap(kernel(), [](mlir::Operation *each) { return mlir::isa<tt::MakeRangeOp>(each); }, /*deepest=*/4);
  EXPECT_TRUE(cheap.contains(value(1)));
  EXPECT_FALSE(cheap.contains(value(2)));
  TileEquivalence classes(kernel(), cheap);
  EXPECT_FALSE(classes.find(value(1)));
  ASSERT_TRUE(classes.find(value(2)));
  EXPECT_EQ(classes.find(value(2)), classes.find(value(3))); // carried by the loop
  EXPECT_EQ(classes.find(value(2)), classes.find(value(4)));
  EXPECT_NE(classes.find(value(2)), classes.find(value(5))); // of another shape
  EXPECT_EQ(weightOf(op(3)), 8 * weightOf(op(2)));
}

} // namespace
