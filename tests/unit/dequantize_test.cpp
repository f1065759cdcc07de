// The order of K of operands in registers, tiles in another layout, and known zeros of scales.
#include "gpu/schedule/dequantize/forwarded_scales.h"
#include "gpu/schedule/dequantize/k_order.h"
#include "gpu/schedule/dequantize/relayout.h"
#include "tile_context.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

/// A layout in which one thread holds all elements, in the order of their index.
Layout inRegisters(const Dims &shape) {
  std::vector<uint32_t> steps;
  for (uint32_t step = 1; step < elementCount(shape); step *= 2)
    steps.push_back(step);
  return Layout::fromBases(shape, {steps, {}, {}});
}

mlir::RankedTensorType tileOf(const Dims &shape) {
  return mlir::RankedTensorType::get(shape, mlir::Float16Type::get(&testContext()));
}

TEST(KOrder, elementsOfRegistersAreAdjacentInMemory) {
  using Steps = std::vector<uint32_t>;
  // Of each bit of the operand's index, from the lowest: its step in memory.
  EXPECT_EQ(KOrder(tileOf({1, 64}), 1, false).before(inRegisters({1, 64})).bases[0], (Steps{1, 16, 32, 2, 4, 8}));
  EXPECT_EQ(KOrder(tileOf({1, 64}), 1, true).before(inRegisters({1, 64})).bases[0], (Steps{2, 16, 32, 1, 4, 8}));
  EXPECT_EQ(KOrder(tileOf({64, 2}), 0, false).before(inRegisters({64, 2})).bases[0], (Steps{1, 2, 32, 64, 4, 8, 16}));
}

TEST(KOrder, beforeIsInverseToApply) {
  for (auto [shape, along] : {std::pair(Dims{64, 128}, 1), {Dims{32, 64}, 0}})
    for (bool interleave : {false, true}) {
      Dims operandShape = along == 1 ? shape : Dims{shape[1], shape[0]};
      Layout result = Layout::wgmmaOperandA(operandShape, 4, 16);
      if (along == 0) result = result.transposed({1, 0});
      KOrder order(tileOf(shape), along, interleave);
      mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&testContext()));
      mlir::ImplicitLocOpBuilder b(module->getLoc(), module->getBodyRegion());
      mlir::RankedTensorType type = mlir::cast<mlir::RankedTensorType>(ttg::withLayout(tileOf(shape), order.before(result)));
      mlir::Value tile = mlir::arith::ConstantOp::create(b, b.getZeroAttr(type));
      mlir::Value applied = order.apply(b, tile);
      EXPECT_EQ(mlir::cast<mlir::RankedTensorType>(applied.getType()).getShape(), type.getShape());
      EXPECT_EQ(ttg::layoutOf(applied.getType()), result);
    }
}

/// The values of a kernel.
class Values {
public:
  explicit Values(const std::string &body) {
    module = mlir::parseSourceString<mlir::ModuleOp>(R"(
#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#a = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
!tile = tensor<128xf16, #a>
!words = tensor<128xi16, #a>
!bytes = tensor<128xi8, #a>
tt.func @kernel(%p: !tt.ptr<f16>, %t: !tile, %w: !words) attributes {ttg.config = #config} {
)" + body + "  tt.return\n}\n",
                                                     &testContext());
    EXPECT_TRUE(module);
  }

  tt::FuncOp function() { return *module->getOps<tt::FuncOp>().begin(); }
  /// The result of the operation with that attribute `name`.
  mlir::Value operator[](llvm::StringRef name) {
    mlir::Value found;
    module->walk([&](mlir::Operation *op) {
      auto attribute = op->getAttrOfType<mlir::StringAttr>("name");
      if (attribute && attribute.getValue() == name) found = op->getResult(0);
    });
    return found;
  }

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

constexpr char loadAndIndices[] = R"(
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #a>
  %twice = arith.addi %r, %r {name = "twice"} : tensor<128xi32, #a>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #a>
  %q = tt.addptr %s, %r : tensor<128x!tt.ptr<f16>, #a>, tensor<128xi32, #a>
  %x = tt.load %q : tensor<128x!tt.ptr<f16>, #a>
  %sum = arith.addf %x, %x {name = "sum"} : !tile
  %negated = arith.negf %sum {name = "negated"} : !tile
  %other = arith.addf %x, %t {name = "other"} : !tile
)";

TEST(Relayout, plansWhatItCanCompute) {
  Values values(loadAndIndices);
  Layout want = Layout::fromBases({128}, {{{1, 2}, {4, 8, 16, 32, 64}, {0, 0}}});
  Relayout relayout(values.function());
  EXPECT_FALSE(relayout.plan(values["other"], want)); // an argument exists in one layout
  EXPECT_FALSE(relayout.layoutOfLoads({128})) << "the plan that failed leaves nothing";
  EXPECT_TRUE(relayout.needsNoLoads(values["twice"], want));
  EXPECT_FALSE(relayout.needsNoLoads(values["negated"], want));
  EXPECT_TRUE(relayout.plan(values["sum"], want));
  EXPECT_EQ(relayout.layoutOfLoads({128}), want);
  EXPECT_TRUE(relayout.needsNoLoads(values["negated"], want)) << "of what is planned";
  EXPECT_FALSE(relayout.needsNoLoads(values["other"], want));
  EXPECT_EQ(ttg::layoutOf(relayout.make(values["sum"], want).getType()), want);
  EXPECT_FALSE(relayout.copiedLoad());
}

TEST(TrailingZeros, ofConstantsAndShifts) {
  Values values(R"(
  %c7 = arith.constant dense<7> : !words
  %c24 = arith.constant {name = "constant"} dense<24> : !words
  %shifted = arith.shli %w, %c7 {name = "shifted"} : !words
  %cast = tt.bitcast %shifted {name = "cast"} : !words -> !tile
  %low = arith.trunci %shifted {name = "low"} : !words to !bytes
  %wide = arith.extsi %low {name = "wide"} : !bytes to !words
  %c12 = arith.constant dense<12> : !words
  %high = arith.shli %w, %c12 : !words
  %none = arith.trunci %high {name = "none"} : !words to !bytes
  %unknown = arith.addi %w, %w {name = "unknown"} : !words
)");
  EXPECT_EQ(trailingZeros(values["constant"]), 3);
  for (const char *name : {"shifted", "cast", "low", "wide"})
    EXPECT_EQ(trailingZeros(values[name]), 7) << name;
  EXPECT_EQ(trailingZeros(values["none"]), 8) << "no more than the element has";
  EXPECT_EQ(trailingZeros(values["unknown"]), 0);
}

} // namespace
