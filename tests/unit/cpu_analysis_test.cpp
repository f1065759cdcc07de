// Tests the CPU back end's analysis of tiles (strides, overflow, masks) and its run-time checks.
#include "cpu/conditions.h"
#include "cpu/evaluate.h"
#include "cpu/lower.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {
namespace {

MLIRContext &ttContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerDialects(registry);
    registry.insert<LLVM::LLVMDialect, scf::SCFDialect>();
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

/// A kernel of a pointer %x and an i32 %n, with a range %r and a splat %ns of %n, then `body`; tests query the last tile.
struct Kernel {
  explicit Kernel(const std::string &body) {
    std::string text = "tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {\n"
                       "%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n"
                       "%ns = tt.splat %n : i32 -> tensor<64xi32>\n" +
                       body + "tt.return\n}\n";
    module = parseSourceString<ModuleOp>(text, &ttContext());
    EXPECT_TRUE(module);
  }
  FuncOp function() { return *module->getOps<FuncOp>().begin(); }
  Value last() { return function().getBody().front().getTerminator()->getPrevNode()->getResult(0); }
  OwningOpRef<ModuleOp> module;
};

const address::FailedGuards nothing;
/// Every launch guard has failed, so the analysis may not assume anything about launches.
address::FailedGuards all() {
  address::FailedGuards failed;
  failed.insert(everyGuard);
  return failed;
}

TEST(Analysis, aSumThatMayOverflowHasAModularStride) {
  Kernel kernel("%s = arith.addi %r, %ns : tensor<64xi32>\n");
  TileAnalysis analysis(kernel.function(), all());
  Stride step = analysis.strideOf(kernel.last(), 0);
  EXPECT_EQ(step.kind, Stride::constant);
  EXPECT_EQ(step.amount, 1);
  EXPECT_TRUE(step.modular);
  EXPECT_FALSE(step.isConditional());
  EXPECT_FALSE(analysis.isExact(kernel.last()));
  EXPECT_TRUE(analysis.guards().empty());
}

TEST(Analysis, noOverflowIsALaunchGuard) {
  Kernel kernel("%s = arith.addi %r, %ns : tensor<64xi32>\n");
  TileAnalysis analysis(kernel.function(), nothing);
  EXPECT_TRUE(analysis.isExact(kernel.last()));
  ASSERT_EQ(analysis.guards().size(), 1u);
  EXPECT_EQ(analysis.guards()[0].name, "argument 1 + i0 fits in 32 bits");
  address::FailedGuards failed;
  failed.insert(analysis.guards()[0].name);
  TileAnalysis without(kernel.function(), failed);
  EXPECT_FALSE(without.isExact(kernel.last()));
}

TEST(Analysis, narrowPointerOffsetsAreExtended) {
  Kernel kernel("%s = arith.addi %r, %ns : tensor<64xi32>\n"
                "%xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"
                "%p = tt.addptr %xs, %s : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n");
  TileAnalysis trusting(kernel.function(), nothing), withoutGuards(kernel.function(), all());
  EXPECT_FALSE(trusting.strideOf(kernel.last(), 0).isConditional());
  EXPECT_EQ(trusting.guards().size(), 1u);
  EXPECT_EQ(withoutGuards.strideOf(kernel.last(), 0).amount, 4);
  EXPECT_TRUE(withoutGuards.strideOf(kernel.last(), 0).extends);
}

TEST(Analysis, aRemainderIsBelowItsDivisor) {
  Kernel kernel("%s = arith.addi %r, %ns : tensor<64xi32>\n"
                "%c = arith.constant dense<1000> : tensor<64xi32>\n"
                "%m = arith.remsi %s, %c : tensor<64xi32>\n"
                "%p = arith.muli %m, %c : tensor<64xi32>\n");
  TileAnalysis withoutGuards(kernel.function(), all());
  EXPECT_TRUE(withoutGuards.isExact(kernel.last()));
}

TEST(Analysis, aSquareIsNotExact) {
  // A square has no fixed stride: the strides of its factors do not bound it.
  Kernel kernel("%q = arith.muli %r, %r : tensor<64xi32>\n");
  TileAnalysis analysis(kernel.function(), nothing);
  EXPECT_FALSE(analysis.isExact(kernel.last()));
}

TEST(Analysis, extensionWithoutOverflowNeedsNoCondition) {
  Kernel kernel("%c = arith.constant dense<1000> : tensor<64xi32>\n"
                "%p = arith.muli %r, %c : tensor<64xi32>\n"
                "%w = arith.extsi %p : tensor<64xi32> to tensor<64xi64>\n");
  TileAnalysis analysis(kernel.function(), nothing);
  Stride step = analysis.strideOf(kernel.last(), 0);
  EXPECT_EQ(step.amount, 1000);
  EXPECT_FALSE(step.isConditional());
  EXPECT_TRUE(analysis.guards().empty());
}

TEST(Analysis, extensionOfAnOverflowingMultiplicationNeedsACondition) {
  Kernel kernel("%c = arith.constant dense<1103515245> : tensor<64xi32>\n"
                "%p = arith.muli %r, %c : tensor<64xi32>\n"
                "%w = arith.extsi %p : tensor<64xi32> to tensor<64xi64>\n");
  TileAnalysis analysis(kernel.function(), nothing);
  EXPECT_TRUE(analysis.strideOf(kernel.last(), 0).extends);
}

TEST(Analysis, narrowIntegersHaveNoStride) {
  Kernel kernel("%t = arith.trunci %r : tensor<64xi32> to tensor<64xi8>\n"
                "%w = arith.extsi %t : tensor<64xi8> to tensor<64xi32>\n");
  TileAnalysis analysis(kernel.function(), nothing);
  EXPECT_EQ(analysis.strideOf(kernel.last(), 0).kind, Stride::other);
}

TEST(Analysis, aContiguityHintIsNotAStride) {
  Kernel kernel("%c = arith.constant dense<3> : tensor<64xi32>\n"
                "%p = arith.muli %r, %c : tensor<64xi32>\n"
                "%m = arith.remsi %p, %ns {tt.contiguity = dense<64> : tensor<1xi32>} : tensor<64xi32>\n");
  TileAnalysis analysis(kernel.function(), nothing);
  EXPECT_EQ(analysis.strideOf(kernel.last(), 0).kind, Stride::other);
}

TEST(Analysis, aMaskTellsWhetherItsIndexMayOverflow) {
  Kernel certain("%m = arith.cmpi slt, %r, %ns : tensor<64xi32>\n");
  Kernel shifted("%s = arith.addi %r, %ns : tensor<64xi32>\n"
                 "%m = arith.cmpi slt, %s, %ns : tensor<64xi32>\n");
  for (auto [kernel, wraps] : {std::pair(&certain, false), std::pair(&shifted, true)}) {
    TileAnalysis analysis(kernel->function(), all());
    llvm::SmallVector<BoxTerm> terms;
    ASSERT_TRUE(analysis.box(kernel->last(), terms));
    ASSERT_EQ(terms.size(), 1u);
    EXPECT_EQ(terms[0].dim, 0);
    EXPECT_EQ(terms[0].mayWrap, wraps);
  }
}

TEST(Analysis, aLongChainIsCut) {
  std::string body = "%f0 = arith.sitofp %r : tensor<64xi32> to tensor<64xf32>\n";
  for (int i = 0; i < 3000; ++i) {
    std::string from = "%f" + std::to_string(i);
    body += "%f" + std::to_string(i + 1) + " = arith.mulf " + from + ", " + from + " : tensor<64xf32>\n";
  }
  Kernel kernel(body);
  TileAnalysis analysis(kernel.function(), nothing);
  int64_t stored = 0;
  for (Operation &op : kernel.function().getBody().front())
    for (Value result : op.getResults())
      stored += isTile(result) && analysis.isStored(result);
  EXPECT_EQ(stored, 2);
}

TEST(Conditions, certainMasksNeedNoCheck) {
  Kernel kernel("%m = arith.cmpi slt, %r, %ns : tensor<64xi32>\n");
  std::optional<CpuTarget> target = cpuTarget("avx2");
  Context ctx(*kernel.module, *target, true);
  ctx.kernel = kernel.function();
  ctx.analysis = std::make_unique<TileAnalysis>(ctx.kernel, all());
  EXPECT_FALSE(masksExactly(ctx, kernel.last(), {64}));
}

TEST(Conditions, overflowOfAMaskIsChecked) {
  Kernel kernel("%s = arith.addi %r, %ns : tensor<64xi32>\n"
                "%m = arith.cmpi slt, %s, %ns : tensor<64xi32>\n");
  Value mask = kernel.last();
  std::optional<CpuTarget> target = cpuTarget("avx2");
  Context ctx(*kernel.module, *target, true);
  ctx.kernel = kernel.function();
  ctx.analysis = std::make_unique<TileAnalysis>(ctx.kernel, all());
  ctx.b.setInsertionPoint(kernel.function().getBody().front().getTerminator());
  ctx.scalars[kernel.function().getArgument(1)] = kernel.function().getArgument(1);
  ctx.zeroIndex = constantIndex(ctx.b, 0);
  Value holds = masksExactly(ctx, mask, {64});
  ASSERT_TRUE(holds);
  auto compare = holds.getDefiningOp<arith::CmpIOp>();
  ASSERT_TRUE(compare);
  EXPECT_EQ(compare.getPredicate(), arith::CmpIPredicate::sle);
  auto maximum = compare.getRhs().getDefiningOp<arith::ConstantOp>();
  ASSERT_TRUE(maximum);
  EXPECT_EQ(cast<IntegerAttr>(maximum.getValue()).getInt(), 2147483647 - 63);
}

/// Returns the output size in bytes from which on a kernel that stores %d to a row uses non-temporal stores; 0: never.
int64_t nonTemporalFrom(const std::string &body, const CpuTarget &target) {
  Kernel kernel(body + "%xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"
                       "%xp = tt.addptr %xs, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n"
                       "tt.store %xp, %d : tensor<64x!tt.ptr<f32>>\n");
  LoopsInfo info;
  EXPECT_TRUE(succeeded(lowerToLoops(*kernel.module, target, true, {}, info)));
  int64_t from = 0;
  kernel.module->walk([&](arith::CmpIOp compare) {
    APInt value;
    bool isBytes = compare.getPredicate() == arith::CmpIPredicate::sgt && matchPattern(compare.getRhs(), m_ConstantInt(&value));
    if (isBytes && value.getSExtValue() >= target.l2Bytes) from = value.getSExtValue();
  });
  return from;
}

TEST(Store, dotsUseNonTemporalStoresEarlierIfTheLastLevelCacheIsSlow) {
  CpuTarget slow = *cpuTarget("avx2");
  slow.l2Bytes = 2 << 20, slow.cachedOutputBytes = 8 << 20, slow.llcBytes = 24 << 20;
  CpuTarget fast = slow;
  fast.cachedOutputBytes = fast.llcBytes;
  std::string row = "%d = arith.sitofp %r : tensor<64xi32> to tensor<64xf32>\n";
  std::string dot = "%one = arith.constant dense<1.0> : tensor<8x8xf32>\n"
                    "%c = tt.dot %one, %one, %one : tensor<8x8xf32> * tensor<8x8xf32> -> tensor<8x8xf32>\n"
                    "%d = tt.reshape %c : tensor<8x8xf32> -> tensor<64xf32>\n";
  EXPECT_EQ(nonTemporalFrom(row, slow), slow.cachedOutputBytes);
  EXPECT_EQ(nonTemporalFrom(dot, slow), slow.l2Bytes);
  EXPECT_EQ(nonTemporalFrom(dot, fast), fast.llcBytes);
}

} // namespace
} // namespace tilewright::cpu
