// Addresses as polynomials, their launch guards, and plans for tensor maps, which are verified.
#include "gpu/machine/ptx.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/tiles/tma/map_plan.h"
#include "gpu/ttg/ttg.h"
#include "ir/address/divisibility.h"
#include "ir/address/indices.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

using namespace tilewright;
using namespace tilewright::address;

namespace {

Polynomial atomOf(int64_t atom, int64_t coefficient = 1) {
  return Polynomial(Term{coefficient, -1, {atom}});
}

TEST(Polynomial, Arithmetic) {
  Polynomial x = atomOf(0), y = atomOf(1);
  Polynomial square = *product(x + y, x - y);
  EXPECT_EQ(square, *product(x, x) - *product(y, y));
  EXPECT_TRUE((square - square).isZero());
  EXPECT_EQ((atomOf(0, 6) + Polynomial(4)).dividedBy(2), atomOf(0, 3) + Polynomial(2));
  EXPECT_FALSE((atomOf(0, 6) + Polynomial(4)).dividedBy(4));
  EXPECT_FALSE(Polynomial(4).dividedBy(0));
  Polynomial i(Term{1, 0, {}}), j(Term{1, 1, {}});
  EXPECT_FALSE(product(i, j));
  EXPECT_EQ((*product(i, x) + y).along(0), x);
  EXPECT_EQ((*product(i, x) + y).along(-1), y);
  // As 64-bit integers do.
  EXPECT_EQ(Polynomial(INT64_MAX) + Polynomial(1), Polynomial(INT64_MIN));
  EXPECT_EQ(quotient(Term{6, 0, {1, 2}}, Term{3, -1, {2}}), (Term{2, 0, {1}}));
  EXPECT_FALSE(quotient(Term{6, -1, {1}}, Term{3, -1, {2}}));
}

/// A kernel over %a: !tt.ptr<f16>, %m: i32, %s: i32 with `body`, which ends without a return.
class Kernel {
public:
  explicit Kernel(const std::string &body) {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    std::string text =
        "tt.func public @kernel(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %m: i32, %s: i32 {tt.divisibility = 16 : i32}, "
        "%c: !tt.ptr<f16>) {\n" +
        body + "\ntt.return\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
    EXPECT_TRUE(bool(module)) << text;
  }
  tt::FuncOp function() { return *module->getOps<tt::FuncOp>().begin(); }
  template <typename Op> Op first() {
    Op found;
    function().walk([&](Op op) {
      if (!found) found = op;
    });
    return found;
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

const FailedGuards nothing;

static_assert(std::is_constructible_v<Indices, tt::FuncOp, const FailedGuards &, GridLimits>);
static_assert(!std::is_constructible_v<Indices, tt::FuncOp, FailedGuards, GridLimits>, "a set that does not outlive it is refused");
static_assert(!std::is_constructible_v<Indices, tt::FuncOp, const FailedGuards, GridLimits>, "a set that does not outlive it is refused");

/// Tiles of 4x2 in two loops: the address is a + outer * strides[0] + inner * strides[1] + i * strides[2] + j * strides[3].
struct StridedLoops {
  std::array<int64_t, 4> strides, counts; // counts[0]: none if the kernel does not know it
  bool isCounted;

  std::string text() const {
    auto constant = [](const std::string &name, int64_t value) { return name + " = arith.constant " + std::to_string(value) + " : i32\n"; };
    auto tile = [](const std::string &name, int64_t value) {
      return name + " = arith.constant dense<" + std::to_string(value) + "> : tensor<4x2xi32>\n";
    };
    return constant("%zero", 0) + constant("%step", 3) + constant("%one", 1) + constant("%most", counts[0] * 3 - 1) +
           constant("%inner_most", counts[1]) + constant("%s0", strides[0]) + constant("%s1", strides[1]) + tile("%s2", strides[2]) +
           tile("%s3", strides[3]) +
           "%i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>\n"
           "%j = tt.make_range {start = 0 : i32, end = 2 : i32} : tensor<2xi32>\n"
           "%rows = tt.expand_dims %i {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>\n"
           "%cols = tt.expand_dims %j {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>\n"
           "%all_rows = tt.broadcast %rows : tensor<4x1xi32> -> tensor<4x2xi32>\n"
           "%all_cols = tt.broadcast %cols : tensor<1x2xi32> -> tensor<4x2xi32>\n"
           "%row_part = arith.muli %all_rows, %s2 : tensor<4x2xi32>\n"
           "%col_part = arith.muli %all_cols, %s3 : tensor<4x2xi32>\n"
           "%inside = arith.addi %row_part, %col_part : tensor<4x2xi32>\n"
           "%pid = tt.get_program_id x : i32\n"
           "%start = tt.addptr %a, %pid : !tt.ptr<f16>, i32\n"
           "scf.for %outer = %zero to " +
           std::string(isCounted ? "%most" : "%m") +
           " step %step : i32 {\n scf.for %inner = %zero to %inner_most step %one : i32 {\n"
           "%o = arith.muli %outer, %s0 : i32\n %n = arith.muli %inner, %s1 : i32\n %at = arith.addi %o, %n : i32\n"
           "%moved = tt.addptr %start, %at : !tt.ptr<f16>, i32\n"
           "%base = tt.splat %moved : !tt.ptr<f16> -> tensor<4x2x!tt.ptr<f16>>\n"
           "%p = tt.addptr %base, %inside : tensor<4x2x!tt.ptr<f16>>, tensor<4x2xi32>\n"
           "%x = tt.load %p : tensor<4x2x!tt.ptr<f16>>\n tt.store %p, %x : tensor<4x2x!tt.ptr<f16>>\n}\n}";
  }

  /// Whether equal addresses belong to equal elements, by enumeration; `outerCount` iterations of the outer loop.
  bool areDistinct(int64_t outerCount) const {
    std::map<int64_t, int64_t> elements;
    for (int64_t outer = 0; outer < outerCount; ++outer)
      for (int64_t inner = 0; inner < counts[1]; ++inner)
        for (int64_t element = 0; element < 8; ++element) {
          int64_t address = 3 * outer * strides[0] + inner * strides[1] + element / 2 * strides[2] + element % 2 * strides[3];
          if (elements.try_emplace(address, element).first->second != element) return false;
        }
    return true;
  }
};

TEST(Indices, ElementsOfIterationsAreDistinct) {
  int64_t proven = 0, distinct = 0;
  for (bool isCounted : {true, false})
    for (int64_t outer : {0, 1, 8, -3, 16})
      for (int64_t inner : {0, 2, -8, 24})
        for (int64_t row : {0, 1, 2, -12})
          for (int64_t col : {1, 4, 48, -96}) {
            StridedLoops loops{{outer, inner, row, col}, {2, 3, 4, 2}, isCounted};
            Kernel kernel(loops.text());
            auto store = kernel.first<tt::StoreOp>();
            Indices indices(kernel.function(), nothing, cudaGridLimits);
            mlir::Operation *loop = store->getParentOp()->getParentOp();
            bool found = indices.hasDistinctElements(store.getPtr(), {}, loop), really = loops.areDistinct(isCounted ? 2 : 40);
            EXPECT_TRUE(!found || really) << outer << " " << inner << " " << row << " " << col << " " << isCounted;
            proven += found;
            distinct += really;
          }
  EXPECT_GT(proven, distinct / 3); // others need more than an order of the strides
  EXPECT_LT(distinct, 640);
}

/// a[i*s + j] for 16x32 elements, where j < m.
const char *maskedColumns = R"(
  %r = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %j = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %column = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %row = tt.expand_dims %j {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %ss = tt.splat %s : i32 -> tensor<16x1xi32>
  %y = arith.muli %column, %ss : tensor<16x1xi32>
  %yy = tt.broadcast %y : tensor<16x1xi32> -> tensor<16x32xi32>
  %xx = tt.broadcast %row : tensor<1x32xi32> -> tensor<16x32xi32>
  %o = arith.addi %yy, %xx : tensor<16x32xi32>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %ptr = tt.addptr %base, %o : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
  %ms = tt.splat %m : i32 -> tensor<1x32xi32>
  %in = arith.cmpi slt, %row, %ms : tensor<1x32xi32>
  %mask = tt.broadcast %in : tensor<1x32xi1> -> tensor<16x32xi1>
  %x = tt.load %ptr, %mask : tensor<16x32x!tt.ptr<f16>>
)";

TEST(Indices, RowsAreDistinctInLaunchesThatPassTheGuards) {
  Kernel kernel(maskedColumns);
  auto load = kernel.first<tt::LoadOp>();
  for (bool isMasked : {false, true}) {
    mlir::Value mask = isMasked ? load.getMask() : mlir::Value();
    FailedGuards all;
    all.insert(everyGuard);
    EXPECT_FALSE(Indices(kernel.function(), all, cudaGridLimits).hasDistinctElements(load.getPtr(), mask, nullptr));
    Indices indices(kernel.function(), nothing, cudaGridLimits);
    ASSERT_TRUE(indices.hasDistinctElements(load.getPtr(), mask, nullptr));
    int64_t passed = 0;
    for (int64_t s = -40; s <= 40; ++s)
      for (int64_t m : {-1, 0, 1, 20, 32, 33}) {
        BoundContext launch;
        for (int64_t value : {int64_t(0), m, s, int64_t(0)})
          launch.slots.push_back({value, value});
        launch.programs.fill({1, 1});
        bool passes = llvm::all_of(indices.guards(),
                                   [&](const LaunchGuard &guard) { return evaluate(guard.nodes, launch).isWithin(guard.min, guard.max); });
        int64_t columns = isMasked ? std::clamp<int64_t>(m, 0, 32) : 32;
        EXPECT_TRUE(!passes || columns == 0 || s >= columns) << s << " " << m;
        EXPECT_TRUE(passes || s < columns || s <= 0) << s << " " << m;
        passed += passes;
      }
    EXPECT_GT(passed, 0);
  }
}

TEST(Indices, ANumberThatMayHaveWrappedIsNotWidened) {
  Kernel kernel("%p = tt.get_program_id x : i32\n %x = arith.muli %p, %s : i32\n %w = arith.extsi %x : i32 to i64\n"
                "%u = arith.addi %w, %w : i64\n tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %u : i64");
  mlir::Value wide = kernel.first<mlir::arith::ExtSIOp>().getResult();
  Indices trusting(kernel.function(), nothing, gridLimits);
  EXPECT_EQ(trusting.text(trusting.scalar(wide)), "argument 2*program_id(0)");
  ASSERT_EQ(trusting.guards().size(), 1u);
  EXPECT_EQ(trusting.guards()[0].name, "argument 2*program_id(0) fits in 32 bits");
  FailedGuards failed;
  failed.insert(trusting.guards()[0].name);
  Indices fallback(kernel.function(), failed, gridLimits);
  EXPECT_EQ(fallback.text(fallback.scalar(wide)), "(a computed value)");
  EXPECT_TRUE(fallback.guards().empty());
}

TEST(Indices, NarrowArithmeticIsNotTakenForGranted) {
  Kernel kernel("%x = arith.trunci %m : i32 to i8\n %w = arith.extsi %x : i8 to i32\n %z = arith.extui %x : i8 to i32\n"
                "%u = arith.addi %w, %z : i32\n tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %u : i32");
  Indices indices(kernel.function(), nothing, gridLimits);
  Polynomial asSigned = indices.scalar(kernel.first<mlir::arith::ExtSIOp>().getResult());
  Polynomial asUnsigned = indices.scalar(kernel.first<mlir::arith::ExtUIOp>().getResult());
  EXPECT_NE(asSigned, asUnsigned);
  EXPECT_TRUE(indices.isProven(asSigned, -128, 127));
  EXPECT_TRUE(indices.isProven(asUnsigned, 0, 255));
  EXPECT_FALSE(indices.isNonNegative(asSigned));
  EXPECT_TRUE(indices.guards().empty());
}

TEST(Indices, LoadedNumbersAreSigned) {
  Kernel kernel("%p = tt.int_to_ptr %m : i32 -> !tt.ptr<i32>\n %x = tt.load %p : !tt.ptr<i32>\n"
                "tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %x : i32");
  Indices indices(kernel.function(), nothing, gridLimits);
  Polynomial loaded = indices.scalar(kernel.first<tt::LoadOp>().getResult());
  EXPECT_FALSE(indices.assumeNonNegative(loaded)); // no launch could check it
  EXPECT_TRUE(indices.isProven(loaded, INT32_MIN, INT32_MAX));
}

TEST(Indices, ElementsOfAReshapedTileAreBounded) {
  Kernel kernel("%l = tt.splat %m : i32 -> tensor<64xi32>\n %seven = arith.constant dense<7> : tensor<64xi32>\n"
                "%y = arith.andi %l, %seven : tensor<64xi32>\n %z = tt.reshape %y : tensor<64xi32> -> tensor<8x8xi32>\n"
                "tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %z : tensor<8x8xi32>");
  Indices indices(kernel.function(), nothing, gridLimits);
  EXPECT_TRUE(indices.assumeNonNegativeElements(kernel.first<tt::ReshapeOp>().getResult()));
  EXPECT_TRUE(indices.guards().empty());
}

TEST(Indices, AGuardThatOrdinaryLaunchesFailIsNotAssumed) {
  Kernel kernel("");
  Indices indices(kernel.function(), nothing, gridLimits);
  Polynomial s = indices.scalar(kernel.function().getArgument(2));
  EXPECT_TRUE(indices.assumeNonNegative(s));
  EXPECT_FALSE(indices.assumeNonNegative(Polynomial(0) - s));
  FailedGuards all;
  all.insert(everyGuard);
  Indices nobody(kernel.function(), all, gridLimits);
  EXPECT_FALSE(nobody.assumeNonNegative(nobody.scalar(kernel.function().getArgument(2))));
}

/// Loads a[(64*program + i)*s + j] where 64*program + i < m.
const char *rows = R"(
  %p = tt.get_program_id x : i32
  %c64 = arith.constant 64 : i32
  %first = arith.muli %p, %c64 : i32
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %firsts = tt.splat %first : i32 -> tensor<64xi32>
  %rows = arith.addi %firsts, %r : tensor<64xi32>
  %column = tt.expand_dims %rows {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %row = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %ss = tt.splat %s : i32 -> tensor<64x1xi32>
  %y = arith.muli %column, %ss : tensor<64x1xi32>
  %yy = tt.broadcast %y : tensor<64x1xi32> -> tensor<64x64xi32>
  %xx = tt.broadcast %row : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %yy, %xx : tensor<64x64xi32>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %ptr = tt.addptr %base, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %ms = tt.splat %m : i32 -> tensor<64x1xi32>
  %in = arith.cmpi slt, %column, %ms : tensor<64x1xi32>
  %mask = tt.broadcast %in : tensor<64x1xi1> -> tensor<64x64xi1>
  %x = tt.load %ptr, %mask : tensor<64x64x!tt.ptr<f16>>
)";

TEST(MapPlan, ProvesItselfAndADoctoredOneDoesNot) {
  Kernel kernel(rows);
  auto load = kernel.first<tt::LoadOp>();
  Indices indices(kernel.function(), nothing, gridLimits);
  Result<gpu::MapPlan> plan = gpu::planTensorMap(indices, kernel.function(), load.getPtr(), load.getMask());
  ASSERT_TRUE(plan) << plan.error();
  auto proves = [&](const gpu::MapPlan &doctored) { return gpu::verifyTensorMap(indices, doctored, load.getPtr(), load.getMask()); };
  EXPECT_TRUE(proves(*plan));
  ASSERT_EQ(plan->dims.size(), 2u);
  gpu::MapPlan doctored = *plan;
  doctored.dims[1].start.add({1});
  EXPECT_FALSE(proves(doctored)); // another row
  doctored = *plan;
  doctored.offset.add({8});
  EXPECT_FALSE(proves(doctored)); // another base
  doctored = *plan;
  doctored.dims[1].bound.add({1});
  EXPECT_FALSE(proves(doctored)); // one row too many
  doctored = *plan;
  doctored.dims[1].bound = {};
  EXPECT_FALSE(proves(doctored)); // no bound
  doctored = *plan;
  doctored.dims[0].bound.add({64});
  EXPECT_FALSE(proves(doctored)); // a bound that was not requested
  doctored = *plan;
  doctored.dims[1].stride.add({16});
  EXPECT_FALSE(proves(doctored)); // another stride
  doctored = *plan;
  doctored.dims[1].fixed = true;
  EXPECT_FALSE(proves(doctored)); // a lower bound that the mask has not
  doctored = *plan;
  doctored.tileMask.conjuncts.push_back(Polynomial(-1));
  EXPECT_FALSE(proves(doctored));
}

TEST(MapPlan, NeedsItsGuards) {
  Kernel kernel(rows);
  auto load = kernel.first<tt::LoadOp>();
  Indices indices(kernel.function(), nothing, gridLimits);
  ASSERT_TRUE(gpu::planTensorMap(indices, kernel.function(), load.getPtr(), load.getMask()));
  ASSERT_FALSE(indices.guards().empty());
  for (const LaunchGuard &guard : indices.guards()) {
    FailedGuards failed;
    failed.insert(guard.name);
    Indices without(kernel.function(), failed, gridLimits);
    EXPECT_FALSE(gpu::planTensorMap(without, kernel.function(), load.getPtr(), load.getMask())) << guard.name;
  }
}

TEST(BaseArgument, IsSeenThroughAddressArithmetic) {
  Kernel kernel(rows);
  auto load = kernel.first<tt::LoadOp>();
  EXPECT_EQ(baseArgument(load.getPtr()), kernel.function().getArgument(0));
  std::optional<LaunchGuard> guard = ttg::noAliasGuard(load.getPtr(), kernel.function().getArgument(3));
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->name, "argument 0 and argument 3 do not overlap");
  EXPECT_FALSE(ttg::noAliasGuard(load.getPtr(), kernel.function().getArgument(0)));
  EXPECT_FALSE(kernel.function()->hasAttr(ttg::guardsName)); // a question records nothing
  ttg::relyOn(kernel.function(), *guard);
  EXPECT_TRUE(kernel.function()->hasAttr(ttg::guardsName));
  kernel.function()->setAttr(ttg::failedGuardsName,
                             mlir::Builder(kernel.function().getContext()).getStrArrayAttr({"argument 0 and argument 3 do not overlap"}));
  EXPECT_FALSE(ttg::noAliasGuard(load.getPtr(), kernel.function().getArgument(3)));
}

TEST(AxisAnalysis, ReturnsItsGuardsAndTakesAHypothesis) {
  Kernel kernel(R"(
    %c16 = arith.constant dense<16> : tensor<64xi32>
    %start = tt.splat %m : i32 -> tensor<64xi32>
    %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %index = arith.addi %start, %range : tensor<64xi32>
    %group = arith.divsi %index, %c16 : tensor<64xi32>
    %mask = arith.cmpi slt, %group, %c16 : tensor<64xi32>)");
  mlir::Value group = kernel.first<mlir::arith::DivSIOp>().getResult();
  gpu::AxisAnalysis axes(kernel.function()),
      of32(kernel.function(), /*trustsPromises=*/true, [](mlir::BlockArgument) { return int64_t(32); });
  EXPECT_EQ(axes.of(group).constancy[0], 1);
  EXPECT_EQ(of32.of(group).constancy[0], 16); // if the start is a multiple of 16, and not negative
  EXPECT_TRUE(axes.guards().empty());
  EXPECT_FALSE(of32.guards().empty());
  EXPECT_FALSE(kernel.function()->hasAttr(ttg::guardsName));
}

TEST(DivisorOf, FollowsSumsAndMultiplications) {
  Kernel kernel(R"(
    %c24 = arith.constant 24 : i32
    %scaled = arith.muli %m, %c24 : i32
    %sum = arith.addi %scaled, %s : i32)");
  EXPECT_EQ(divisorOf(kernel.first<mlir::arith::MulIOp>().getResult()), 8);
  EXPECT_EQ(divisorOf(kernel.first<mlir::arith::AddIOp>().getResult()), 8); // of 8 and 16
  EXPECT_EQ(divisorOf(kernel.function().getArgument(2)), 16);
  EXPECT_EQ(divisorOf(kernel.function().getArgument(1)), 1);
}

/// Evaluates integer operations of a kernel in the program `program`.
int64_t evaluate(mlir::Value value, int64_t program) {
  mlir::Operation *op = value.getDefiningOp();
  if (mlir::isa<tt::GetProgramIdOp>(op)) return program;
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op)) return mlir::cast<mlir::IntegerAttr>(constant.getValue()).getInt();
  int64_t left = evaluate(op->getOperand(0), program), right = evaluate(op->getOperand(1), program);
  if (mlir::isa<mlir::arith::AddIOp>(op)) return left + right;
  if (mlir::isa<mlir::arith::MulIOp>(op)) return left * right;
  if (mlir::isa<mlir::arith::DivSIOp>(op)) return left / right;
  EXPECT_TRUE(mlir::isa<mlir::arith::RemSIOp>(op));
  return left % right;
}

/// Quotients and remainders of  group * program_id(0) + first + i + 24 * j  by each divisor, for 4 elements i and 2 elements j.
std::string divisions(int64_t group, int64_t first, int64_t divisors) {
  auto constant = [](const std::string &name, int64_t value) {
    return name + " = arith.constant dense<" + std::to_string(value) + "> : tensor<4x2xi32>\n";
  };
  std::string text = "%p = tt.get_program_id x : i32\n %group = arith.constant " + std::to_string(group) +
                     " : i32\n %start = arith.muli %p, %group : i32\n %starts = tt.splat %start : i32 -> tensor<4x2xi32>\n"
                     "%i = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>\n"
                     "%j = tt.make_range {start = 0 : i32, end = 2 : i32} : tensor<2xi32>\n"
                     "%rows = tt.expand_dims %i {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>\n"
                     "%cols = tt.expand_dims %j {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>\n"
                     "%all_rows = tt.broadcast %rows : tensor<4x1xi32> -> tensor<4x2xi32>\n"
                     "%all_cols = tt.broadcast %cols : tensor<1x2xi32> -> tensor<4x2xi32>\n" +
                     constant("%first", first) + constant("%wide", 24) +
                     "%far = arith.muli %all_cols, %wide : tensor<4x2xi32>\n %a0 = arith.addi %starts, %all_rows : tensor<4x2xi32>\n"
                     "%a1 = arith.addi %a0, %first : tensor<4x2xi32>\n %x = arith.addi %a1, %far : tensor<4x2xi32>\n";
  for (int64_t by = 1; by <= divisors; ++by) {
    std::string number = std::to_string(by);
    text += constant("%d" + number, by) + "%q" + number + " = arith.divsi %x, %d" + number + " : tensor<4x2xi32>\n %r" + number +
            " = arith.remsi %x, %d" + number + " : tensor<4x2xi32>\n";
  }
  return text;
}

TEST(Indices, QuotientsAndRemaindersOfAlignedGroupsAreSums) {
  std::map<int64_t, int64_t> found; // of each divisor
  for (int64_t group : {1, 4, 6, 8, 24, 32})
    for (int64_t first : {0, 1, 4, 8, 29, -3}) {
      Kernel kernel(divisions(group, first, 48));
      Indices indices(kernel.function(), nothing, gridLimits);
      mlir::OpBuilder b(kernel.function().getBody().front().getTerminator());
      llvm::SmallVector<mlir::Operation *> operations;
      kernel.function().walk([&](mlir::Operation *op) {
        if (mlir::isa<mlir::arith::DivSIOp, mlir::arith::RemSIOp>(op)) operations.push_back(op);
      });
      for (auto [index, op] : llvm::enumerate(operations)) {
        Result<Polynomial> element = indices.element(op->getResult(0), {0, 1});
        if (!element) continue;
        int64_t by = static_cast<int64_t>(index) / 2 + 1;
        ++found[by];
        llvm::SmallVector<mlir::Value> parts;
        for (int64_t dim : {-1, 0, 1})
          parts.push_back(indices.make(b, op->getLoc(), element->along(dim), 32));
        for (int64_t program = 0; program < 13; ++program)
          for (int64_t i = 0; i < 4; ++i)
            for (int64_t j = 0; j < 2; ++j) {
              int64_t x = group * program + first + i + 24 * j;
              int64_t value = evaluate(parts[0], program) + evaluate(parts[1], program) * i + evaluate(parts[2], program) * j;
              EXPECT_EQ(value, index % 2 ? x % by : x / by) << group << " " << first << " " << by << ": " << indices.text(*element);
            }
      }
    }
  EXPECT_EQ(found[1], 72);
  EXPECT_EQ(found[24], 38);
  EXPECT_EQ(found[5], 0);
}

TEST(AxisAnalysis, FindsRunsOfEqualStrides) {
  Kernel kernel(R"(
    %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %c12 = arith.constant dense<12> : tensor<64xi32>
    %c16 = arith.constant dense<16> : tensor<64xi32>
    %inner = arith.remsi %range, %c16 : tensor<64xi32>
    %scaled = arith.muli %inner, %c12 : tensor<64xi32>
    %base = tt.splat %a : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %ptr = tt.addptr %base, %scaled : tensor<64x!tt.ptr<f16>>, tensor<64xi32>)");
  gpu::AxisInfo info = gpu::AxisAnalysis(kernel.function()).of(kernel.first<tt::AddPtrOp>().getResult());
  EXPECT_EQ(info.contiguity[0], 1);
  EXPECT_EQ(info.run[0], 16);
  EXPECT_EQ(info.stride[0], 24); // bytes
}

/// A text of `count` operations, each of which has the one before it (or %x0) as both operands.
std::string chain(const std::string &op, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    std::string before = "%x" + std::to_string(i), next = "%x" + std::to_string(i + 1);
    text += next + " = " + op + " " + before + ", " + before + " : i32\n";
  }
  return text;
}

// A search that follows both operands of each operation again takes 2^64 steps here.
TEST(Indices, LongChainsTakeLinearTime) {
  std::string shifts;
  for (int64_t i = 0; i < 64; ++i) {
    std::string number = std::to_string(i), next = std::to_string(i + 1);
    shifts += "%y" + number + " = arith.xori %x" + number + ", %m : i32\n%x" + next + " = arith.shrsi %y" + number + ", %c1 : i32\n" +
              "%z" + number + " = arith.minsi %x" + next + ", %y" + number + " : i32\n";
  }
  std::string shiftsOfSums;
  for (int64_t i = 0; i < 64; ++i)
    shiftsOfSums += "%y" + std::to_string(i) + " = arith.shrsi %x" + std::to_string(i) + ", %c1 : i32\n%x" + std::to_string(i + 1) +
                    " = arith.addi %y" + std::to_string(i) + ", %s : i32\n";
  for (const std::string &body : {chain("arith.addi", 64), chain("arith.muli", 64), chain("arith.divsi", 64), chain("arith.remsi", 64),
                                  chain("arith.maxsi", 64), chain("arith.andi", 64), shifts, shiftsOfSums}) {
    Kernel kernel("%c1 = arith.constant 1 : i32\n%x0 = arith.addi %m, %c1 : i32\n" + body +
                  "%w = arith.extsi %x64 : i32 to i64\n tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %w : i64");
    Indices indices(kernel.function(), nothing, gridLimits);
    Polynomial last = indices.scalar(kernel.first<tt::PrintOp>().getOperand(0));
    EXPECT_LT(indices.text(last).size(), 40000u);
    EXPECT_TRUE(indices.isInvariant(last, kernel.first<tt::PrintOp>()));
    EXPECT_FALSE(indices.isProven(last, 2, INT64_MAX));
    EXPECT_GE(divisorOf(kernel.first<mlir::arith::ExtSIOp>().getIn()), 1);
  }
}

TEST(Indices, ASumThatALoopDoublesTakesLinearTime) {
  Kernel kernel("%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n" +
                std::string("%r = scf.for %i = %c0 to %m step %c1 iter_args(%x0 = %s) -> (i32) : i32 {\n") + chain("arith.addi", 64) +
                "scf.yield %x64 : i32\n}\n tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %r : i32");
  Indices indices(kernel.function(), nothing, gridLimits);
  EXPECT_FALSE(indices.isProven(indices.scalar(kernel.first<tt::PrintOp>().getOperand(0)), 0, INT64_MAX));
}

// The distance between the bounds of this loop is 1 modulo 2^64, but the loop does not run.
TEST(Indices, ATripCountDoesNotWrapAround) {
  Kernel kernel("%low = arith.constant -9223372036854775808 : i64\n%high = arith.constant 9223372036854775807 : i64\n"
                "%c1 = arith.constant 1 : i64\n%c5 = arith.constant 5 : i64\n"
                "%r = scf.for %i = %high to %low step %c1 iter_args(%x = %c5) -> (i64) : i64 {\n%y = arith.addi %x, %c1 : i64\n"
                "scf.yield %y : i64\n}\n tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %r : i64");
  Indices indices(kernel.function(), nothing, gridLimits);
  std::optional<int64_t> result = indices.scalar(kernel.first<tt::PrintOp>().getOperand(0)).constant();
  EXPECT_TRUE(!result || *result == 5);
}

TEST(Indices, AQuotientOfTheSmallestIntegerIsGuarded) {
  Kernel kernel("%q = arith.divsi %m, %s : i32\n tt.print \"\" {hex = false, isSigned = array<i32: 1>} : %q : i32");
  Indices indices(kernel.function(), nothing, gridLimits);
  EXPECT_EQ(indices.text(indices.scalar(kernel.first<mlir::arith::DivSIOp>().getResult())), "((argument 1) // (argument 2))");
  ASSERT_EQ(indices.guards().size(), 1u);
  EXPECT_EQ(indices.guards()[0].name, "argument 2 >= 0");
}

TEST(Polynomial, ExactArithmeticDoesNotWrap) {
  Polynomial x = atomOf(0, int64_t(1) << 61);
  EXPECT_EQ(exactDifference(atomOf(0, 5), Polynomial(7)), atomOf(0, 5) - Polynomial(7));
  EXPECT_FALSE(exactDifference(Polynomial(INT64_MAX), Polynomial(INT64_MIN)));
  EXPECT_FALSE(exactDifference(x, *product(Polynomial(-1), x)));
  EXPECT_EQ(substitute(*product(atomOf(0), atomOf(0, 3)), 0, atomOf(1) + Polynomial(2)),
            *product(atomOf(1), atomOf(1, 3)) + atomOf(1, 12) + Polynomial(12));
  EXPECT_FALSE(substitute(*product(atomOf(0), atomOf(0)), 0, atomOf(1, int64_t(1) << 40)));
}

TEST(DivisorOf, IsLimited) {
  Kernel kernel("%large = arith.constant 1073741824 : i32\n%x0 = arith.muli %large, %s : i32\n" + chain("arith.muli", 64));
  EXPECT_EQ(divisorOfTerm(kernel.function(), int64_t(1) << 62, {0, 0, 2, 2}), int64_t(1) << 30);
  EXPECT_EQ(divisorOfTerm(kernel.function(), INT64_MIN, {0}), int64_t(1) << 30);
  EXPECT_EQ(divisorOf(kernel.first<mlir::arith::MulIOp>().getResult()), int64_t(1) << 30);
}

} // namespace
