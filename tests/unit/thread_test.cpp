// Lowerings to one thread's scalars, called one by one: how many instructions of which kind a layout asks for.
#include "gpu/machine/ptx.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/prepare/access_log.h"
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
        "#row = #ttg.layout<64, " + layout + ">\ntt.func public @kernel(%x: tensor<64xf32, #row>) {\n" + body + "tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context, "test.mlir");
    if (!module) return nullptr;
    function = *module->getOps<tt::FuncOp>().begin();
    auto config = ttg::ConfigAttr::get(&context, warps, 1, 3, 0, mlir::StringAttr::get(&context, "sm_90a"));
    auto t = std::make_unique<ThreadContext>(function.getLoc(), KernelProperties{config, *gpuTarget("sm_90a"), /*sharedBytes=*/128});
    mlir::Block &entry = function.getBody().front();
    t->b.setInsertionPoint(entry.getTerminator());
    t->threads.index = ptx::ThreadIdOp::create(t->b, t->b.getI32Type());
    t->threads.lane = ptx::LaneIdOp::create(t->b, t->b.getI32Type());
    t->threads.warp = ptx::WarpIdOp::create(t->b, t->b.getI32Type());
    ThreadValues held;
    for (int64_t reg = 0; reg < threadValueCount(entry.getArgument(0).getType()); ++reg)
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
  ASSERT_TRUE(mlir::succeeded(lowerOp(*t, reduce)));
  EXPECT_EQ(t->get(reduce.getResult()[0]).size(), 1u);
  EXPECT_EQ(count<ptx::ShuffleOp>(), 5); // one a lane bit; the two registers become one before
  EXPECT_EQ(count<ptx::BarrierOp>(), 0);
}

TEST_F(Thread, reductionOverWarps) {
  auto t = load(2, "reg [], lane [[1], [2], [4], [8], [16]], warp [[32]]", sum);
  ASSERT_TRUE(t);
  first<tt::ReduceOp>()->setAttr(ttg::offsetName, t->b.getI64IntegerAttr(0));
  ASSERT_TRUE(mlir::succeeded(lowerOp(*t, first<tt::ReduceOp>())));
  EXPECT_TRUE(t->isComplete());
  EXPECT_EQ(count<ptx::ShuffleOp>(), 5);
  EXPECT_EQ(count<ptx::StoreSharedOp>(), 1);
  EXPECT_EQ(count<ptx::LoadSharedOp>(), 1); // of both warps' parts
  EXPECT_EQ(count<ptx::BarrierOp>(), 2);
}

TEST_F(Thread, scratchMemoryThatIsNotAllocated) {
  for (std::optional<int64_t> offset : {std::optional<int64_t>(), std::optional<int64_t>(128)}) { // none; beyond the end
    auto t = load(2, "reg [], lane [[1], [2], [4], [8], [16]], warp [[32]]", sum);
    ASSERT_TRUE(t);
    if (offset) first<tt::ReduceOp>()->setAttr(ttg::offsetName, t->b.getI64IntegerAttr(*offset));
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
    EXPECT_TRUE(mlir::succeeded(lowerOp(*t, first<tt::ReduceOp>())));
    EXPECT_FALSE(t->isComplete());
    EXPECT_NE(message.find("allocate-shared has reserved no scratch memory for it"), std::string::npos);
  }
}

TEST_F(Thread, scanInOneWarp) {
  auto t = load(1, "reg [[1]], lane [[2], [4], [8], [16], [32]], warp []", running);
  ASSERT_TRUE(t);
  auto scan = first<tt::ScanOp>();
  ASSERT_TRUE(mlir::succeeded(lowerOp(*t, scan)));
  EXPECT_EQ(t->get(scan.getResult()[0]).size(), 2u);
  EXPECT_EQ(count<ptx::ShuffleOp>(), 5); // a run of two registers has one total
  EXPECT_EQ(count<ptx::BarrierOp>(), 0);
}

TEST_F(Thread, conversionWithinAWarp) {
  auto t = load(1, "reg [[1]], lane [[2], [4], [8], [16], [32]], warp []",
                "%y = ttg.convert_layout %x : tensor<64xf32, #row> -> tensor<64xf32, #ttg.layout<64, reg [[32]], lane [[1], [2], [4], [8], "
                "[16]], warp []>>\n");
  ASSERT_TRUE(t);
  auto convert = first<ttg::ConvertLayoutOp>();
  ASSERT_TRUE(mlir::succeeded(lowerOp(*t, convert)));
  EXPECT_EQ(t->get(convert.getResult()).size(), 2u);
  EXPECT_EQ(count<ptx::BarrierOp>(), 0); // within a warp: by shuffles
  EXPECT_EQ(count<ptx::ShuffleOp>(), 2);
}

/// Accesses by the pointers that a kernel has as arguments.
class Accesses : public testing::Test {
protected:
  Accesses() {
    context.loadDialect<tt::TTDialect>();
    llvm::SmallVector<mlir::Type> types(maxArguments, tt::PointerType::get(mlir::Float32Type::get(&context), 1));
    mlir::OpBuilder builder(&context);
    kernel = tt::FuncOp::create(builder, mlir::UnknownLoc::get(&context), "kernel", builder.getFunctionType(types, {}));
    (*kernel)->getRegion(0).emplaceBlock().addArguments(types,
                                                        llvm::SmallVector<mlir::Location>(maxArguments, mlir::UnknownLoc::get(&context)));
  }
  GlobalAccess access(bool writes = false) { return {kernel->getBody().getArgument(next++), mlir::Value(), writes}; }
  size_t count() const { return log.accesses().size(); }

  static constexpr size_t maxArguments = 1100;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<tt::FuncOp> kernel;
  AccessLog log;
  unsigned next = 0;
};

TEST_F(Accesses, EachOnce) {
  GlobalAccess first = access(), second = access();
  log.add({first, second, first});
  EXPECT_EQ(count(), 2u);
  first.writes = true;
  log.add(first);
  EXPECT_EQ(count(), 3u); // a store is not the load before it
  log.clear();
  EXPECT_EQ(count(), 0u);
  log.add(second);
  EXPECT_EQ(count(), 1u);
}

TEST_F(Accesses, AMeetingInABranchForgetsNothingBeforeIt) {
  GlobalAccess before = access(true), inThen = access(true), afterMeeting = access(true), inElse = access(true);
  log.add(before);
  AccessLog::Mark branch = log.mark();
  log.add(inThen);
  log.clear();
  log.add({before, afterMeeting});
  llvm::SmallVector<GlobalAccess> added = log.takeSince(branch);
  EXPECT_EQ(added.size(), 2u);
  ASSERT_EQ(count(), 1u); // the other part finds what the branch found
  EXPECT_EQ(log.accesses().front().pointer, before.pointer);
  log.add(inElse);
  llvm::append_range(added, log.takeSince(branch));
  log.add(added);
  auto has = [&](const GlobalAccess &access) {
    return llvm::any_of(log.accesses(), [&](const GlobalAccess &other) { return other.pointer == access.pointer; });
  };
  EXPECT_TRUE(has(before) && has(afterMeeting) && has(inElse));
  EXPECT_FALSE(has(inThen)); // it was before the meeting
}

// Each of a thousand branches in a row copies what it has added itself, and nothing of what came before.
TEST_F(Accesses, BranchesInARowCopyTheirOwn) {
  GlobalAccess shared = access();
  size_t copied = 0;
  constexpr size_t branches = 1000;
  for (size_t i = 0; i < branches; ++i) {
    AccessLog::Mark branch = log.mark();
    log.add({shared, access(true)});
    llvm::SmallVector<GlobalAccess> added = log.takeSince(branch);
    copied += added.size();
    log.add(added);
  }
  EXPECT_EQ(count(), branches + 1);
  EXPECT_EQ(copied, branches + 1);
}

} // namespace
