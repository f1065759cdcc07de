// The plan of the partition that issues MMAs: what it decides, why there is none, and that a plan that was tampered with is caught.
#include "gpu/schedule/tensor_memory/mma_plan.h"

#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/schedule/stage_index.h"
#include "support/target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

/// Attention without its normalization, of M rows; `sum` computes the second dot, and yields.
std::string attention(const std::string &sum) {
  return R"(
  %zero = arith.constant dense<0.0> : tensor<Mx64xf32>
  %none = arith.constant dense<0.0> : tensor<Mx128xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<Mx64x!tt.ptr<f32>>
  %out2 = tt.splat %o : !tt.ptr<f32> -> tensor<Mx128x!tt.ptr<f32>>
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<Mx64xf16>
  %r = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %zero) -> (tensor<Mx64xf32>) : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %t = tt.trans %k {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
    %s = tt.dot %q, %t, %none : tensor<Mx64xf16> * tensor<64x128xf16> -> tensor<Mx128xf32>
    %e = math.exp2 %s : tensor<Mx128xf32>
    %w = arith.truncf %e : tensor<Mx128xf32> to tensor<Mx128xf16>
)" + sum +
         R"(
  }
  tt.store %out, %r : tensor<Mx64x!tt.ptr<f32>>
)";
}

constexpr char inPlace[] = R"(
    %d = tt.dot %w, %v, %acc : tensor<Mx128xf16> * tensor<128x64xf16> -> tensor<Mx64xf32>
    scf.yield %d : tensor<Mx64xf32>)";
constexpr char inPlaceAndRead[] = R"(
    %d = tt.dot %w, %v, %acc : tensor<Mx128xf16> * tensor<128x64xf16> -> tensor<Mx64xf32>
    tt.store %out, %d : tensor<Mx64x!tt.ptr<f32>>
    scf.yield %d : tensor<Mx64xf32>)";
constexpr char loaded[] = R"(
    %d = tt.dot %w, %v, %zero : tensor<Mx128xf16> * tensor<128x64xf16> -> tensor<Mx64xf32>
    tt.store %out, %d : tensor<Mx64x!tt.ptr<f32>>
    scf.yield %acc : tensor<Mx64xf32>)";
constexpr char rescaled[] = R"(
    %m = "tt.reduce"(%s) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %h = arith.maxnumf %a, %b : f32
      tt.reduce.return %h : f32
    }) : (tensor<Mx128xf32>) -> tensor<Mxf32>
    %f = math.exp2 %m : tensor<Mxf32>
    %column = tt.expand_dims %f {axis = 1 : i32} : tensor<Mxf32> -> tensor<Mx1xf32>
    %factors = tt.broadcast %column : tensor<Mx1xf32> -> tensor<Mx64xf32>
    %c = arith.mulf %acc, %factors : tensor<Mx64xf32>
    %d = tt.dot %w, %v, %c : tensor<Mx128xf16> * tensor<128x64xf16> -> tensor<Mx64xf32>
    scf.yield %d : tensor<Mx64xf32>)";
constexpr char earlyOnly[] = R"(
    tt.store %out2, %e : tensor<Mx128x!tt.ptr<f32>>
    scf.yield %acc : tensor<Mx64xf32>)";

/// A loop over tiles, with one over K.
std::string matmul(const std::string &init) {
  return "%zero = arith.constant dense<" + init + R"(> : tensor<128x128xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  scf.for %tile = %c0 to %n step %c128 : i32 {
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) : i32 {
      %a = ttg.descriptor_load %x[%k, %tile] {order = array<i32: 1, 0>} : tensor<128x64xf16>
      %b = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
      %t = tt.trans %b {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
      %d = tt.dot %a, %t, %acc : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    tt.store %out, %r : tensor<128x128x!tt.ptr<f32>>
  }
)";
}

class MmaPlan : public testing::Test {
protected:
  MmaPlan() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
    ASSERT_TRUE(module);
    function = *module->getOps<tt::FuncOp>().begin();
    config = ttg::configOf(function);
    target = *gpuTarget(config.getTarget().getValue());
    mmas.clear();
    function.walk([&](ttg::MmaAsyncOp mma) { mmas.push_back(mma); });
  }

  /// A kernel as overlap-mmas leaves it. Each warp group has 128 rows.
  void load(int64_t rows, std::string body) {
    for (size_t i = body.find("Mx"); i != std::string::npos; i = body.find("Mx", i))
      body.replace(i, 1, std::to_string(rows));
    parse(
        "#config = #ttg.config<warps = " + std::to_string(rows / 32) +
        ", ctas = 1, stages = 2, maxRegisters = 0, target = \"sm_100a\">\n#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], "
        "strides = [[[64]]], box = [], element = f16, swizzle = 0>\ntt.func public @kernel(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, "
        "%n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {\n"
        "%c0 = arith.constant 0 : i32\n%c64 = arith.constant 64 : i32\n%c128 = arith.constant 128 : i32\n" +
        body + "tt.return\n}\n");
    for (auto step :
         {assignLayouts, selectTensorCores, stageTmaTransfers, scheduleLoops, pipelineLoops, copyUnpipelined, scheduleMmas, overlapMmas})
      ASSERT_TRUE(mlir::succeeded(step(*module)));
    parse(text());
  }

  std::string text() {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return text;
  }

  ChainPlan planOfChains() {
    Result<MmaPartitionPlan> plan = planMmaPartition(function, config, target);
    EXPECT_TRUE(plan && std::holds_alternative<ChainPlan>(*plan)) << (plan ? "it only accumulates" : plan.error());
    return plan ? std::get<ChainPlan>(std::move(*plan)) : ChainPlan();
  }

  /// The reason why there is no plan of such loops.
  std::string chainFailure() {
    Result<ChainPlan> plan = planChains(function, config, target);
    return plan ? "" : plan.error();
  }
  std::string accumulationFailure() {
    Result<AccumulationPlan> plan = planAccumulation(function, config, target);
    return plan ? "" : plan.error();
  }

  /// Writes the plan, lets `change` edit the kernel, and reads the plan back. Returns the error.
  std::string errorOfRead(llvm::function_ref<void()> change) {
    Result<MmaPartitionPlan> plan = planMmaPartition(function, config, target);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error());
    if (!plan) return "";
    writeMmaPlan(function, *plan);
    change();
    std::string error;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { error = diagnostic.str(); });
    EXPECT_TRUE(mlir::failed(takeMmaPlan(function, config, target)));
    return error;
  }

  /// Uses what the previous iteration has added to a sum, after a wait for it.
  void readSumOfPrevious(ttg::MmaAsyncOp mma) {
    mlir::OpBuilder b(&mma->getBlock()->front());
    auto wait = ttg::MmaAsyncWaitOp::create(b, mma.getLoc(), 0, mma.getC());
    mlir::arith::NegFOp::create(b, mma.getLoc(), wait.getResults()[0]);
  }

  /// Moves an MMA, with the wait that follows it, to a branch.
  static void moveToBranch(ttg::MmaAsyncOp mma) {
    mlir::OpBuilder b(mma);
    mlir::Value yes = mlir::arith::ConstantOp::create(b, mma.getLoc(), b.getBoolAttr(true));
    auto branch = mlir::scf::IfOp::create(b, mma.getLoc(), mma.getType(), yes, /*withElseRegion=*/true);
    mma->replaceAllUsesWith(branch.getResults());
    mma->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
    b.setInsertionPointToEnd(branch.thenBlock());
    mlir::scf::YieldOp::create(b, mma.getLoc(), mma.getD());
    b.setInsertionPointToEnd(branch.elseBlock());
    mlir::scf::YieldOp::create(b, mma.getLoc(), mma.getC());
  }

  template <typename Op> Op first(llvm::function_ref<bool(Op)> is) {
    Op found;
    mmas[0]->getParentOp()->walk([&](Op op) {
      if (!found && is(op)) found = op;
    });
    return found;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tt::FuncOp function;
  ttg::ConfigAttr config;
  GpuTarget target;
  std::vector<ttg::MmaAsyncOp> mmas;
};

//===------------------------------------------------------------------------------------ loops in which threads compute between dots

/// Two CTAs have an SM with 512 columns: each gets one tile of scores, sums and weights.
TEST_F(MmaPlan, kindsOfSums) {
  load(128, attention(inPlace));
  ChainPlan plan = planOfChains();
  ASSERT_EQ(plan.loops.size(), 1u);
  ChainLoop &its = plan.loops.front().second;
  ASSERT_EQ(its.mmas.size(), 2u);
  EXPECT_TRUE(its.mmas[0].isEarly());
  ASSERT_NE(its.mmas[1].late(), nullptr);
  const auto *sum = std::get_if<InPlaceSum>(&its.mmas[1].late()->sum);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->number, 0u);
  EXPECT_FALSE(sum->storesInit); // it starts from zeros
  EXPECT_EQ(its.earlyMmas, ttg::EarlyMmas::in_iteration);
  EXPECT_EQ(plan.columns, 256);
  EXPECT_EQ(its.mmas[0].result.column, 0);
  EXPECT_EQ(its.mmas[1].result.column, 128);
  ASSERT_TRUE(its.mmas[1].late()->operand);
  EXPECT_EQ(its.mmas[1].late()->operand->tile.column, 192);

  load(128, attention(loaded));
  EXPECT_TRUE(std::holds_alternative<LoadedSum>(planOfChains().loops.front().second.mmas[1].late()->sum));
  load(128, attention(rescaled));
  plan = planOfChains();
  RescaledSum *scaled = plan.loops.front().second.mmas[1].scaledSum();
  ASSERT_NE(scaled, nullptr);
  EXPECT_FALSE(scaled->factorBuffer); // the other CTA multiplies meanwhile
}

/// If one CTA has the SM to itself, early MMAs run an iteration ahead, and a partition corrects the sums.
TEST_F(MmaPlan, earlyMmasOfTheNextIteration) {
  load(128, attention(rescaled));
  target.sharedBytes = 128 << 10;
  ChainPlan plan = planOfChains();
  ChainLoop &its = plan.loops.front().second;
  EXPECT_EQ(its.earlyMmas, ttg::EarlyMmas::prefetched);
  EXPECT_EQ(its.mmas[0].result.depth, 2);
  EXPECT_EQ(its.mmas[1].result.column, 256);
  EXPECT_EQ(plan.columns, 512);
  EXPECT_EQ(plan.factorBuffers.size(), 1u);
  EXPECT_TRUE(its.mmas[1].late()->isCorrected());
  // A barrier for the address, two of the loop, of each of two tiles of scores, of the operand, of the sum, and of two tiles of factors.
  EXPECT_EQ(plan.barrierBytes(), 8 * (1 + 2 + 2 + 1 + 1 + 2));
  EXPECT_EQ(plan.barriersOf(its.mmas[0]).done.count, 2);
  EXPECT_TRUE(plan.barriersOf(its.mmas[0]).ready.empty());
  ChainedMmaBarriers late = plan.barriersOf(its.mmas[1]);
  EXPECT_EQ(late.done.arrivals, 1);          // a commit
  EXPECT_EQ(late.ready.front().arrivals, 8); // of the consumers and of the correction partition
  EXPECT_EQ(late.pingPong.count, 0);
  EXPECT_EQ(late.factorsFull.count, 2);
  EXPECT_EQ(late.factorsFull.arrivals, 4);
  EXPECT_EQ(plan.loopBarriers().start.arrivals, 4);
  EXPECT_EQ(plan.loopBarriers().end.arrivals, 1);
  target.tensorColumns = 128;
  EXPECT_EQ(chainFailure(), "the results do not fit in tensor memory");
}

TEST_F(MmaPlan, rowGroups) {
  load(256, attention(rescaled));
  ChainPlan plan = planOfChains();
  EXPECT_EQ(plan.rowGroups, 2);
  ChainLoop &its = plan.loops.front().second;
  EXPECT_EQ(its.earlyMmas, ttg::EarlyMmas::interleaved);
  const TensorOperand &operand = *its.mmas[1].late()->operand;
  EXPECT_TRUE(operand.pingPong);
  EXPECT_EQ(operand.partEnds, (llvm::SmallVector<int32_t>{96, 128}));
  EXPECT_TRUE(its.mmas[1].late()->isCorrected());
  // A barrier for the address, and two of the loop. For each row group one of the scores and of the sum, of each of two parts of the
  // operand, for ping-pong scheduling, and of each of two tiles of factors.
  EXPECT_EQ(plan.barrierBytes(), 8 * (1 + 2 + 2 * (1 + 1 + 2 + 1 + 2)));
  ChainedMmaBarriers late = plan.barriersOf(its.mmas[1]);
  ASSERT_EQ(late.ready.size(), 2u);
  EXPECT_EQ(late.ready[0].arrivals, 8); // of a row group, and of the correction partition
  EXPECT_EQ(late.ready[1].arrivals, 4);
  EXPECT_EQ(late.pingPong.arrivals, 4);
  EXPECT_EQ(plan.loopBarriers().start.arrivals, 8);
}

TEST_F(MmaPlan, failuresOfChains) {
  load(128, attention(inPlaceAndRead));
  EXPECT_EQ(chainFailure(), "threads read a sum in the loop that adds to it");
  load(256, attention(earlyOnly));
  EXPECT_EQ(chainFailure(), "threads compute no operand and no sum of a loop's dots");
  auto refused = [&](const char *reason, llvm::function_ref<void(mlir::OpBuilder &, mlir::Location)> change) {
    load(128, attention(inPlace));
    mlir::OpBuilder b(mmas[1]);
    change(b, mmas[1].getLoc());
    EXPECT_EQ(chainFailure(), reason);
  };
  auto loadSecond = [&](mlir::OpBuilder &b, mlir::Location loc) {
    ttg::LoadSharedOp::create(b, loc, mmas[1].getA().getType(), mmas[1].getB());
  };
  auto fullWait = [&] { return first<ttg::BarrierWaitOp>([](ttg::BarrierWaitOp wait) { return wait.getFirstWarp(); }); };
  auto release = [&] { return first<ttg::BarrierArriveOp>([](ttg::BarrierArriveOp arrive) { return arrive.getFirstWarp(); }); };
  refused("a dot adds to its sum under a condition", [&](mlir::OpBuilder &b, mlir::Location loc) {
    mmas[1].getUseCMutable().assign(mlir::arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  });
  refused("a loop releases stages that its previous iteration has read",
          [&](mlir::OpBuilder &, mlir::Location) { release()->moveBefore(&mmas[1]->getBlock()->front()); });
  constexpr char advances[] = "a loop does not read one stage in each iteration, and then the next one";
  refused(advances, [&](mlir::OpBuilder &b, mlir::Location loc) {
    ttg::BarrierWaitOp wait = fullWait();
    wait.getIndexMutable().assign(mlir::arith::AddIOp::create(b, loc, wait.getIndex(), wait.getIndex()));
  });
  for (bool isParity : {false, true}) // the same stage, or the same parity, in each iteration
    refused(advances, [&](mlir::OpBuilder &, mlir::Location) {
      auto carried = mlir::cast<mlir::BlockArgument>(isParity ? fullWait().getParity() : fullWait().getIndex());
      auto loop = mlir::cast<mlir::scf::ForOp>(mmas[1]->getParentOp());
      loop.getTiedLoopYieldedValue(carried)->assign(carried);
    });
  refused("a producer's copies have one stage", [&](mlir::OpBuilder &b, mlir::Location loc) {
    ttg::BarrierWaitOp wait = fullWait();
    auto loop = mlir::cast<mlir::scf::ForOp>(mmas[1]->getParentOp());
    b.setInsertionPoint(loop);
    wait.getBarriersMutable().assign(ttg::AllocBarriersOp::create(b, loc, ttg::BarriersType::get(&context, 1)));
    b.setInsertionPoint(loop.getBody()->getTerminator());
    StageState next = StageState(wait.getIndex(), wait.getParity(), 1).next(b, loc);
    loop.getTiedLoopYieldedValue(mlir::cast<mlir::BlockArgument>(wait.getIndex()))->assign(next.index);
    loop.getTiedLoopYieldedValue(mlir::cast<mlir::BlockArgument>(wait.getParity()))->assign(next.parity);
  });
  refused("threads read an operand that is copied", [&](mlir::OpBuilder &, mlir::Location) { fullWait().setFirstWarp(false); });
  refused("threads read an operand in shared memory", loadSecond);
  refused("an operand is written or read in a branch or an inner loop", [&](mlir::OpBuilder &b, mlir::Location loc) {
    mlir::Value yes = mlir::arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    b.setInsertionPointToStart(mlir::scf::IfOp::create(b, loc, yes, /*withElseRegion=*/false).thenBlock());
    loadSecond(b, loc);
  });
  refused("threads read a sum in the loop that adds to it", [&](mlir::OpBuilder &, mlir::Location) { readSumOfPrevious(mmas[1]); });
  refused("a loop releases stages that its iteration has not waited for", [&](mlir::OpBuilder &b, mlir::Location loc) {
    release().getIndexMutable().assign(mlir::arith::AddIOp::create(b, loc, release().getIndex(), release().getIndex()));
    release()->moveAfter(&*std::prev(mmas[1]->getBlock()->end(), 2));
  });
  refused("a loop reads several stages in an iteration", [&](mlir::OpBuilder &b, mlir::Location) { b.clone(*fullWait()); });
  refused("a dot's result is not waited for once, in its iteration",
          [&](mlir::OpBuilder &b, mlir::Location loc) { mlir::arith::NegFOp::create(b, loc, mmas[0].getD()); });
  refused("an operand is in one of several buffers", [&](mlir::OpBuilder &b, mlir::Location loc) {
    mlir::Value yes = mlir::arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    mmas[1].getBMutable().assign(mlir::arith::SelectOp::create(b, loc, yes, mmas[1].getB(), mmas[1].getB()));
  });
  refused("threads need a result after the last dot that they compute an operand of", [&](mlir::OpBuilder &b, mlir::Location loc) {
    auto early = mlir::cast<ttg::MmaAsyncOp>(b.clone(*mmas[0]));
    b.setInsertionPoint(mmas[1]->getBlock()->getTerminator());
    mlir::arith::NegFOp::create(b, loc, ttg::MmaAsyncWaitOp::create(b, loc, 0, early.getD()).getResult(0));
  });
  load(128, attention(inPlace));
  config = ttg::ConfigAttr::get(&context, config.getWarps(), 2, config.getStages(), config.getMaxRegisters(), config.getTarget());
  EXPECT_EQ(chainFailure(), "several CTAs run a program");
}

/// The first dot also reads an operand that threads write: a store after it would change what it still reads.
TEST_F(MmaPlan, storeAfterItsReader) {
  for (bool isAfter : {false, true}) {
    load(128, attention(inPlace));
    mlir::OpBuilder b(mmas[0]->getParentOp());
    auto type = mlir::cast<ttg::BufferType>(mmas[0].getA().getType());
    mlir::Value buffer = ttg::AllocOp::create(b, mmas[0].getLoc(), type, ttg::Lifetime::uses);
    auto tile = mlir::RankedTensorType::get(type.getShape(), type.getElementType(),
                                            ttg::LayoutAttr::get(&context, Layout::tensorMemory(Dims(type.getShape()), 4)));
    mlir::Value zeros = mlir::arith::ConstantOp::create(b, mmas[0].getLoc(), b.getZeroAttr(tile));
    mmas[0].getAMutable().assign(buffer);
    isAfter ? b.setInsertionPointAfter(mmas[0]) : b.setInsertionPoint(mmas[0]);
    ttg::StoreSharedOp::create(b, mmas[0].getLoc(), zeros, buffer);
    EXPECT_EQ(chainFailure(), isAfter ? "threads write an operand after a dot that reads it" : "");
  }
}

//===---------------------------------------------------------------------------------------------------- loops that only accumulate

TEST_F(MmaPlan, accumulation) {
  load(128, matmul("0.0"));
  auto planned = [&] {
    Result<MmaPartitionPlan> plan = planMmaPartition(function, config, target);
    EXPECT_TRUE(plan && std::holds_alternative<AccumulationPlan>(*plan));
    return std::get<AccumulationPlan>(std::move(*plan));
  };
  AccumulationPlan plan = planned();
  ASSERT_EQ(plan.loops.size(), 1u);
  EXPECT_EQ(plan.loops.front().second.depth(), 2); // one is stored while the other one is computed
  EXPECT_EQ(plan.columns, 256);
  target.tensorColumns = 128;
  EXPECT_EQ(planned().loops.front().second.depth(), 1);
  target.tensorColumns = 64;
  EXPECT_EQ(accumulationFailure(), "the sums do not fit in tensor memory");
  mlir::OpBuilder b(mmas[0]->getBlock()->getTerminator());
  mlir::arith::NegFOp::create(b, mmas[0].getLoc(), mmas[0].getD());
  EXPECT_EQ(accumulationFailure(), "threads read a sum in the loop that adds to it");
  load(128, matmul("0.0"));
  readSumOfPrevious(mmas[0]);
  EXPECT_EQ(accumulationFailure(), "threads read a sum in the loop that adds to it");
  load(128, matmul("1.0"));
  EXPECT_EQ(accumulationFailure(), "a sum starts from other numbers than zeros");
  load(128, matmul("0.0"));
  b.setInsertionPoint(mmas[0]);
  ttg::CtaBarrierOp::create(b, mmas[0].getLoc());
  EXPECT_EQ(accumulationFailure(), "threads compute between the dots of a loop");
  load(128, attention(inPlace));
  EXPECT_EQ(accumulationFailure(), "a dot does more than to accumulate copied operands in a loop");
  function->removeAttr(ttg::warpSpecializedName);
  EXPECT_EQ(planMmaPartition(function, config, target).error(), "no warp of its own starts the copies");
}

//===----------------------------------------------------------------------------------------------------- attributes, and the verifier

TEST_F(MmaPlan, isReadAsWritten) {
  for (const std::string &kernel : {attention(inPlace), attention(loaded), attention(rescaled), matmul("0.0")}) {
    load(256, kernel);
    Result<MmaPartitionPlan> plan = planMmaPartition(function, config, target);
    ASSERT_TRUE(plan);
    writeMmaPlan(function, *plan);
    std::string written = text();
    parse(written);
    mlir::FailureOr<MmaPartitionPlan> taken = takeMmaPlan(function, config, target);
    ASSERT_TRUE(mlir::succeeded(taken));
    EXPECT_FALSE(function->hasAttr(ttg::mmaPartitionName));
    writeMmaPlan(function, *taken);
    EXPECT_EQ(text(), written);
  }
}

/// What was planned must still hold when the plan is read.
TEST_F(MmaPlan, kernelThatWasChanged) {
  auto setPlan = [&](size_t number, const char *plan) { mmas[number]->setAttr(ttg::mmaPlanName, mlir::parseAttribute(plan, &context)); };
  auto setPartition = [&](const char *plan) { function->setAttr(ttg::mmaPartitionName, mlir::parseAttribute(plan, &context)); };
  auto error = [&](const std::string &kernel, llvm::function_ref<void()> change) {
    load(128, kernel);
    std::string error = errorOfRead(change);
    return error.substr(std::min(error.size(), std::string("ttg.mma_partition: ").size()));
  };
  for (const std::string &kernel : {attention(inPlace), matmul("0.0")}) {
    EXPECT_EQ(error(kernel, [&] { function->removeAttr(ttg::warpSpecializedName); }), "no warp of its own starts the copies");
    EXPECT_EQ(error(kernel, [&] { moveToBranch(mmas[0]); }), "a dot stands outside a for loop");
    EXPECT_EQ(error(kernel, [&] { mmas[0]->removeAttr(ttg::mmaPlanName); }), "it is the plan of another kernel");
  }
  EXPECT_EQ(error(matmul("0.0"), [&] { setPartition("#ttg.mma_partition<accumulation columns 256 row_groups 2>"); }),
            "it is the plan of another kernel");
  EXPECT_EQ(error(matmul("0.0"), [&] { setPartition("#ttg.mma_partition<accumulation columns 192>"); }),
            "tensor memory has no allocation of so many columns");
  EXPECT_EQ(error(matmul("0.0"), [&] { setPlan(0, "#ttg.mma_plan<in_place result <0 depth 2> scales 0>"); }),
            "it is the plan of another kernel");
  EXPECT_EQ(error(matmul("0.0"), [&] { setPlan(0, "#ttg.mma_plan<in_place result <0 depth 9223372036854775807>>"); }),
            "a sum has one or two tiles");
  EXPECT_EQ(error(matmul("0.0"), [&] { setPlan(0, "#ttg.mma_plan<in_place result <9223372036854775807>>"); }),
            "a tile is outside of the allocation");
  EXPECT_EQ(error(attention(inPlace), [&] { setPlan(0, "#ttg.mma_plan<early result <-128>>"); }), "a tile is outside of the allocation");
  EXPECT_EQ(error(attention(inPlace), [&] { mmas[0]->getParentOp()->removeAttr(ttg::earlyMmasName); }), "it is the plan of another kernel");
  EXPECT_EQ(error(attention(rescaled), [&] { setPlan(1, "#ttg.mma_plan<rescaled result <128> operand <192> parts [128] correction -1>"); }),
            "a sum without factors is corrected");
}

TEST_F(MmaPlan, caught) {
  load(256, attention(rescaled));
  const ChainPlan good = planOfChains();
  EXPECT_TRUE(verify(good, target));
  auto caught = [&](const char *reason, llvm::function_ref<void(ChainPlan &, ChainLoop &)> change) {
    ChainPlan doctored = good;
    change(doctored, doctored.loops.front().second);
    Result<void> valid = verify(doctored, target);
    EXPECT_EQ(valid ? "" : valid.error(), reason);
  };
  auto operandOf = [](ChainLoop &its) -> TensorOperand & { return *its.mmas[1].late()->operand; };
  caught("two tiles have the same columns", [](ChainPlan &, ChainLoop &its) { its.mmas[1].result.column = 0; });
  caught("a tile is outside of the allocation", [](ChainPlan &plan, ChainLoop &) { plan.columns = 256; });
  for (int64_t columns : {0, 16, 384, 1024})
    caught("tensor memory has no allocation of so many columns", [&](ChainPlan &plan, ChainLoop &) { plan.columns = columns; });
  caught("the buffer of a sum's factors has another type", [](ChainPlan &, ChainLoop &its) { its.mmas[1].scaledSum()->factorBuffer = 1; });
  caught("the warp groups have no rows of their own", [](ChainPlan &plan, ChainLoop &) { plan.rowGroups = 4; });
  caught("early MMAs are interleaved, but not of row groups", [](ChainPlan &plan, ChainLoop &) { plan.rowGroups = 1; });
  caught("results of early MMAs that run an iteration ahead have two tiles, others one",
         [](ChainPlan &, ChainLoop &its) { its.earlyMmas = ttg::EarlyMmas::prefetched; });
  caught("row groups take turns, but their MMAs do not", [&](ChainPlan &, ChainLoop &its) {
    its.earlyMmas = ttg::EarlyMmas::in_iteration;
    operandOf(its).partEnds = {128};
  });
  caught("the parts of an operand are not all of it", [&](ChainPlan &, ChainLoop &its) { operandOf(its).partEnds = {96}; });
  caught("an operand cannot be stored in such parts", [&](ChainPlan &, ChainLoop &its) { operandOf(its).partEnds = {100, 128}; });
  caught("an operand in columns of its own has several tiles", [&](ChainPlan &, ChainLoop &its) { operandOf(its).tile.depth = 2; });
  caught("an operand is in the columns of no result", [&](ChainPlan &, ChainLoop &its) { operandOf(its).sharesColumns = true; });
  caught("an operand cannot have the columns of a result", [&](ChainPlan &, ChainLoop &its) {
    operandOf(its).sharesColumns = true;
    operandOf(its).tile.column = its.mmas[0].result.column;
    operandOf(its).tile.depth = 2;
  });
  caught("two sums of a loop have their factors in one buffer", [](ChainPlan &, ChainLoop &its) {
    ChainedMma same = its.mmas[1];
    its.mmas.push_back(same);
  });
  caught("the buffer of a sum's factors has another type",
         [](ChainPlan &plan, ChainLoop &) { plan.factorBuffers[0] = withDepth(plan.factorBuffers[0], 1); });
}

} // namespace
