// Which rows and tiles may go through shared memory.
#include "gpu/schedule/staging/stageable.h"
#include "tile_context.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

/// A kernel with rows `#row`, of which each thread of four warps holds 8 elements, and `#copies`, of which two warps hold each element.
mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &body) {
  return mlir::parseSourceString<mlir::ModuleOp>(R"(
#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>
#row = #ttg.layout<1024, reg [[1], [2], [4]], lane [[8], [16], [32], [64], [128]], warp [[256], [512]]>
#copies = #ttg.layout<512, reg [[1], [2], [4]], lane [[8], [16], [32], [64], [128]], warp [[256], [0]]>
#tile = #ttg.layout<64x64, reg [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp [[4, 0], [8, 0]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
!row = tensor<1024x!tt.ptr<f16>, #row>
!wide = tensor<1024x!tt.ptr<f32>, #row>
!tile = tensor<64x64xf16, #tile>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func @kernel(%p: !row, %w: !wide, %q: tensor<512x!tt.ptr<f16>, #copies>, %m: tensor<1024xi1, #row>, %x: !ptx.tensor_map {ttg.tensor_map = #map}, %yes: i1) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
)" + body + "  tt.return\n}\n",
                                                 &testContext());
}

bool stages(const std::string &load) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse("  %zeros = arith.constant dense<0.0> : tensor<1024xf16, #row>\n"
                                                   "  %ones = arith.constant dense<1.0> : tensor<1024xf16, #row>\n  " +
                                                   load + "\n");
  EXPECT_TRUE(module);
  bool is = false;
  if (module) module->walk([&](tt::LoadOp each) { is = isStageableRow(each); });
  return is;
}

TEST(StageableRow, narrowRowsWithWideAccesses) {
  EXPECT_TRUE(stages("%r = tt.load %p {ttg.vector = 8 : i32} : !row"));
  EXPECT_FALSE(stages("%r = tt.load %p {ttg.vector = 4 : i32} : !row"));
  EXPECT_FALSE(stages("%r = tt.load %p : !row"));
  EXPECT_FALSE(stages("%r = tt.load %w {ttg.vector = 4 : i32} : !wide"));
}

TEST(StageableRow, maskedElementsAreZeros) {
  EXPECT_TRUE(stages("%r = tt.load %p, %m, %zeros {ttg.vector = 8 : i32} : !row"));
  EXPECT_FALSE(stages("%r = tt.load %p, %m, %ones {ttg.vector = 8 : i32} : !row"));
}

TEST(StageableRow, oneThreadReadsAnElementOnce) {
  EXPECT_FALSE(stages("%r = tt.load %q {ttg.vector = 8 : i32} : tensor<512x!tt.ptr<f16>, #copies>"));
  EXPECT_FALSE(stages("%r = tt.load %p {isVolatile = true, ttg.vector = 8 : i32} : !row"));
}

/// Whether the only use of a loaded tile is a direct store to its buffer.
bool storesDirectly(const std::string &order, const std::string &uses) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(
      "  %b = ttg.alloc : !buffer\n  %t = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: " + order + ">} : !tile\n  " + uses + "\n");
  EXPECT_TRUE(module);
  bool direct = false;
  if (module) module->walk([&](ttg::DescriptorLoadOp load) { direct = bool(directStore(load, *load.getResult().use_begin())); });
  return direct;
}

TEST(DirectStore, toABufferThatTmaCanFill) {
  EXPECT_TRUE(storesDirectly("1, 0", "ttg.store_shared %t, %b : !tile, !buffer"));
  EXPECT_FALSE(storesDirectly("0, 1", "ttg.store_shared %t, %b : !tile, !buffer"));
  EXPECT_FALSE(storesDirectly("1, 0", "%u = arith.negf %t : !tile"));
}

TEST(DirectStore, inTheBlockAndNoOtherWrites) {
  EXPECT_FALSE(storesDirectly("1, 0", "scf.if %yes {\n    ttg.store_shared %t, %b : !tile, !buffer\n  }"));
  EXPECT_FALSE(storesDirectly("1, 0", "%o = arith.constant dense<1.0> : !tile\n  ttg.store_shared %o, %b : !tile, !buffer\n"
                                      "  ttg.store_shared %t, %b : !tile, !buffer"));
}

} // namespace
