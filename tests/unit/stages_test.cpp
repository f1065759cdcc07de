// Stages of circular buffers: the state that loops carry, the buffers and maps of copies, and where threads wait for what they read.
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "tile_context.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

const std::string types = R"(
#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>
#tile = #ttg.layout<64x64, reg [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp [[4, 0], [8, 0]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]], 16>
!tile = tensor<64x64xf16, #tile>
!buffer = !ttg.buffer<1 x f16, #shared>
)";

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &arguments, const std::string &body) {
  mlir::ParserConfig config(&testContext(), /*verifyAfterParse=*/false);
  return mlir::parseSourceString<mlir::ModuleOp>(
      types + "tt.func @kernel(" + arguments + ") attributes {ttg.config = #config} {\n" + body + "  tt.return\n}\n", config);
}

template <typename Op> llvm::SmallVector<Op> all(mlir::ModuleOp module) {
  llvm::SmallVector<Op> found;
  module.walk([&](Op op) { found.push_back(op); });
  return found;
}

/// Computes a value from constants.
int64_t valueOf(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  llvm::SmallVector<mlir::Attribute> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(mlir::IntegerAttr::get(operand.getType(), valueOf(operand)));
  llvm::SmallVector<mlir::OpFoldResult> results;
  EXPECT_TRUE(mlir::succeeded(op->fold(operands, results)) && results.size() == 1) << op->getName().getStringRef().str();
  if (auto result = mlir::dyn_cast<mlir::Value>(results[0])) return valueOf(result);
  llvm::APInt number = mlir::cast<mlir::IntegerAttr>(mlir::cast<mlir::Attribute>(results[0])).getValue();
  return number.getBitWidth() == 1 ? int64_t(number.getZExtValue()) : number.getSExtValue();
}

class StageStateTest : public testing::Test {
protected:
  mlir::Value constant(int64_t value) { return i32Constant(b, loc, value); }
  static std::pair<int64_t, int64_t> numbersOf(const StageState &state) { return {valueOf(state.index), valueOf(state.parity)}; }

  mlir::OwningOpRef<mlir::ModuleOp> module = parse("", "");
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(&(*module->getOps<tt::FuncOp>().begin()).getBody().front());
  mlir::Location loc = b.getUnknownLoc();
};

/// Iteration n uses stage n mod `stages`, and the parity changes where the stages begin again.
TEST_F(StageStateTest, numbers) {
  for (int64_t stages : {1, 2, 3, 4})
    for (int64_t n = 0; n < 2 * stages; ++n) {
      StageState state(constant(n % stages), constant(n / stages), stages);
      auto of = [&](int64_t iteration) { return std::pair(iteration % stages, iteration / stages % 2); };
      EXPECT_EQ(numbersOf(state.next(b, loc)), of(n + 1)) << n << " of " << stages;
      for (int64_t later = 0; later < 2 * stages; ++later)
        EXPECT_EQ(numbersOf(state.after(b, loc, constant(later))), of(n + later)) << n << " + " << later << " of " << stages;
      for (int64_t away = -stages; away <= stages; ++away)
        EXPECT_EQ(valueOf(state.indexAfter(b, loc, away)), (n + away + stages) % stages) << n << " + " << away << " of " << stages;
      EXPECT_EQ(valueOf(state.previousParity(b, loc)), 1 - n / stages);
    }
}

TEST_F(StageStateTest, withoutBarriers) {
  StageState state(constant(2), {}, 3), next = state.next(b, loc), after = state.after(b, loc, constant(2));
  EXPECT_EQ(valueOf(next.index), 0);
  EXPECT_EQ(valueOf(after.index), 1);
  EXPECT_FALSE(next.parity || after.parity);
}

/// A number survives a branch, and all iterations of two loops.
TEST(CarryState, loopsAndBranches) {
  auto module = parse("%n: i32, %yes: i1", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    scf.if %yes {
      scf.for %j = %c0 to %n step %c1 : i32 {
        ttg.cta_barrier
      }
    }
  }
)");
  auto function = *module->getOps<tt::FuncOp>().begin();
  mlir::Operation *barrier = all<ttg::CtaBarrierOp>(*module).front();
  mlir::Value zero = all<mlir::arith::ConstantOp>(*module).front();
  mlir::Value before, now;
  auto after = carryState(barrier, {zero}, [&](mlir::ValueRange state) -> llvm::SmallVector<mlir::Value> {
    mlir::OpBuilder b(barrier);
    before = state[0];
    now = mlir::arith::AddIOp::create(b, barrier->getLoc(), before, i32Constant(b, barrier->getLoc(), 1));
    return {now};
  });
  ASSERT_TRUE(mlir::succeeded(after) && mlir::succeeded(mlir::verify(*module)));
  auto loops = all<mlir::scf::ForOp>(*module); // the inner one first
  auto branch = all<mlir::scf::IfOp>(*module).front();
  EXPECT_EQ(before, loops[0].getRegionIterArg(0));
  EXPECT_EQ(loops[0].getYieldedValues()[0], now);
  EXPECT_EQ(loops[0].getInitArgs()[0], loops[1].getRegionIterArg(0));
  EXPECT_EQ(branch.thenYield().getOperand(0), loops[0].getResult(0));
  EXPECT_EQ(branch.elseYield().getOperand(0), loops[1].getRegionIterArg(0)); // it stays
  EXPECT_EQ(loops[1].getYieldedValues()[0], branch.getResult(0));
  EXPECT_EQ(loops[1].getInitArgs()[0], zero);
  EXPECT_EQ(after->front(), loops[1].getResult(0));
  EXPECT_EQ(after->front().getParentBlock(), &function.getBody().front());
}

/// The fence of several stores goes with the last of them.
TEST(EraseStore, fences) {
  auto module = parse("%t: !tile", R"(
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  ttg.store_shared %t, %a : !tile, !buffer
  ttg.store_shared %t, %b : !tile, !buffer
  ttg.fence_async
)");
  auto stores = all<ttg::StoreSharedOp>(*module);
  eraseStore(stores[0]);
  EXPECT_EQ(all<ttg::FenceAsyncOp>(*module).size(), 1U);
  eraseStore(stores[1]);
  EXPECT_TRUE(all<ttg::FenceAsyncOp>(*module).empty());
}

/// A thread waits before it reads both operands of a dot, but after a barrier or another dot.
TEST(WaitingPoint, operandsOfDots) {
  const std::string allocs = "  %p = ttg.alloc : !buffer\n  %q = ttg.alloc : !buffer\n";
  const std::string first = "  %a = ttg.load_shared %p : !buffer -> !tile\n", second = "  %b = ttg.load_shared %q : !buffer -> !tile\n";
  const std::string dot = "  %d = tt.dot %a, %b, %c : !tile * !tile -> tensor<64x64xf32, #tile>\n";
  struct Case {
    std::string body;
    size_t point; ///< the number of the load
  };
  for (const Case &each : {Case{allocs + first + second + dot, 0},
                           {allocs + first + "  ttg.cta_barrier\n" + second + dot, 1},
                           {allocs + first + "  %n = arith.negf %a : !tile\n" + second + dot, 0},
                           {allocs + first + second + "  tt.print \"a\" : %a : !tile\n", 1}}) {
    auto module = parse("%c: tensor<64x64xf32, #tile>", each.body);
    if (!module) continue;
    auto loads = all<ttg::LoadSharedOp>(*module);
    EXPECT_EQ(waitingPoint(loads[1]), loads[each.point].getOperation()) << each.body;
  }
}

/// A map gets a box from the first buffer. Each other box is a map of its own, an argument.
TEST(MapFor, boxes) {
  auto module = parse("%p: !tt.ptr<f16>, %x: !ptx.tensor_map {ttg.tensor_map = #map}",
                      "  %c0 = arith.constant 0 : i32\n  %t = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : !tile\n");
  auto function = *module->getOps<tt::FuncOp>().begin();
  mlir::Operation *load = all<ttg::DescriptorLoadOp>(*module).front();
  mlir::Value map = function.getArgument(1);
  auto mapOf = [&](int64_t parts) {
    auto buffer = bufferForCopies(load, load->getResult(0).getType(), {1, 0});
    EXPECT_TRUE(mlir::succeeded(buffer));
    return *mapFor(function, load, map, 2, *buffer, {1, 0}, {parts, 1, 0});
  };
  EXPECT_EQ(mapOf(1), map);
  EXPECT_EQ(ttg::tensorMapOf(map).getBox().asArrayRef(), llvm::ArrayRef<int64_t>({64, 64}));
  mlir::Value half = mapOf(2);
  EXPECT_EQ(half, function.getArgument(2));
  EXPECT_EQ(ttg::tensorMapOf(half).getBox().asArrayRef(), llvm::ArrayRef<int64_t>({64, 32}));
  EXPECT_EQ(mapOf(2), half);
  EXPECT_EQ(mapOf(1), map);
  EXPECT_EQ(function.getNumArguments(), 3U);
}

} // namespace
