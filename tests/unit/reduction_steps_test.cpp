// Steps of reductions. A model of the threads carries them out on random numbers: every thread has the sums of its results in the end. Each
// partial value is written once.
#include "gpu/schedule/shared_memory/reduction_steps.h"
#include "gpu/ttg/ttg.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

/// The registers of all threads: [warp][lane][register].
struct Threads {
  std::vector<std::vector<std::vector<uint64_t>>> values;

  explicit Threads(const Layout &layout, const std::function<uint64_t(uint32_t)> &valueOf)
      : values(size_t(1) << layout.bits(Axis::warp), std::vector<std::vector<uint64_t>>(32)) {
    forEach(layout.registersPerThread(), [&](int64_t warp, int64_t lane, int64_t reg, std::vector<uint64_t> &held) {
      held.push_back(valueOf(layout.apply(reg, lane, warp)));
    });
  }

  template <typename Function> void forEach(int64_t registers, Function function) {
    for (size_t warp = 0; warp < values.size(); ++warp)
      for (size_t lane = 0; lane < 32; ++lane)
        for (int64_t reg = 0; reg < registers; ++reg)
          function(int64_t(warp), int64_t(lane), reg, values[warp][lane]);
  }

  void reduce(const ReductionPlan &plan, bool halves) {
    for (auto &warp : values) {
      for (std::vector<uint64_t> &held : warp) {
        std::vector<uint64_t> left;
        for (uint64_t base = 0; base < held.size(); ++base) {
          if (base & plan.registerMask) continue;
          left.push_back(0);
          for (uint64_t reg = 0; reg < held.size(); ++reg)
            if ((reg & ~plan.registerMask) == base) left.back() += held[reg];
        }
        held = left;
      }
      for (int64_t bit = 0; bit < laneBits; ++bit)
        if (plan.laneMask >> bit & 1) combineLanes(warp, size_t(1) << bit, halves);
    }
  }

  static void combineLanes(std::vector<std::vector<uint64_t>> &warp, size_t distance, bool halves) {
    std::vector<std::vector<uint64_t>> before = warp;
    size_t registers = before[0].size(), kept = halves && registers > 1 ? registers / 2 : registers;
    for (size_t lane = 0; lane < 32; ++lane) {
      warp[lane].resize(kept);
      for (size_t reg = 0; reg < kept; ++reg) {
        size_t from = kept < registers && (lane & distance) ? reg + kept : reg;
        warp[lane][reg] = before[lane][from] + before[lane ^ distance][from];
      }
    }
  }
};

const std::string addf = "^bb0(%a: f32, %b: f32):\n%s = arith.addf %a, %b : f32\ntt.reduce.return %s : f32\n";
const std::string swapped = "^bb0(%a: f32, %b: f32):\n%s = arith.addf %b, %a : f32\ntt.reduce.return %s : f32\n";
const std::string subf = "^bb0(%a: f32, %b: f32):\n%s = arith.subf %a, %b : f32\ntt.reduce.return %s : f32\n";
const std::string longer = "^bb0(%a: f32, %b: f32):\n%s = arith.addf %a, %b : f32\n%t = math.exp %s : f32\n%u = math.log %t : f32\n"
                           "%v = arith.mulf %u, %s : f32\n%w = arith.divf %v, %s : f32\ntt.reduce.return %w : f32\n";

std::string integer(const std::string &operation) {
  return "^bb0(%a: i32, %b: i32):\n%s = arith." + operation + " %a, %b : i32\ntt.reduce.return %s : i32\n";
}

class Reductions : public testing::Test {
protected:
  Reductions() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::string tile(const Layout &layout, const std::string &element) {
    std::string text = "tensor<";
    for (int64_t extent : layout.shape)
      text += std::to_string(extent) + "x";
    text += element + ", ";
    llvm::raw_string_ostream(text) << mlir::Attribute(ttg::LayoutAttr::get(&context, layout));
    return text + ">";
  }

  /// The only reduction of a new module.
  tt::ReduceOp parse(const Layout &source, int64_t dim, const std::string &result, const std::string &region = addf,
                     const std::string &target = "sm_90a") {
    std::string element = region.find("i32") == std::string::npos ? "f32" : "i32", type = tile(source, element);
    std::string warps = std::to_string(int64_t(1) << source.bits(Axis::warp));
    module = mlir::parseSourceString<mlir::ModuleOp>("tt.func public @kernel(%x: " + type +
                                                         ") attributes {ttg.config = #ttg.config<warps = " + warps +
                                                         ", ctas = 1, stages = 3, maxRegisters = 0, target = \"" + target +
                                                         "\">} {\n%r = \"tt.reduce\"(%x) <{axis = " + std::to_string(dim) +
                                                         " : i32}> ({\n" + region + "}) : (" + type + ") -> " + result + "\ntt.return\n}\n",
                                                     &context, "test.mlir");
    tt::ReduceOp found;
    if (module) module->walk([&](tt::ReduceOp op) { found = op; });
    return found;
  }

  /// Carries out the steps of a sum.
  void expectSums(tt::ReduceOp op, const ReductionSteps &steps) {
    ASSERT_EQ(verifyReduction(steps), std::nullopt);
    int64_t dim = op.getAxis();
    std::mt19937_64 random(7);
    std::vector<uint64_t> numbers(size_t(elementCount(steps.source.shape)));
    Dims resultShape = steps.source.shape;
    resultShape.erase(resultShape.begin() + dim);
    std::vector<uint64_t> sums(size_t(elementCount(resultShape)));
    for (size_t i = 0; i < numbers.size(); ++i) {
      Dims at = steps.source.coordinates(uint32_t(i));
      at.erase(at.begin() + dim);
      sums[flatOf(resultShape, at)] += numbers[i] = random();
    }
    Threads threads(steps.source, [&](uint32_t element) { return numbers[element]; });
    threads.reduce(steps.plan, steps.recursiveHalving);
    if (steps.plan.warpMask) {
      const Layout &written = steps.writtenLayout;
      std::map<uint32_t, uint64_t> memory;
      threads.forEach(written.registersPerThread(), [&](int64_t warp, int64_t lane, int64_t reg, const std::vector<uint64_t> &held) {
        if ((uint64_t(lane) & written.freeMask(Axis::lane)) || (uint64_t(warp) & written.freeMask(Axis::warp))) return;
        ASSERT_EQ(held.size(), size_t(written.registersPerThread()));
        EXPECT_TRUE(memory.emplace(written.apply(reg, lane, warp), held[size_t(reg)]).second) << "written twice";
      });
      EXPECT_EQ(memory.size(), size_t(elementCount(written.shape)));
      threads = Threads(steps.readLayout, [&](uint32_t element) { return memory.at(element); });
      threads.reduce(steps.partPlan, false);
    }
    threads.forEach(steps.result.registersPerThread(), [&](int64_t warp, int64_t lane, int64_t reg, const std::vector<uint64_t> &held) {
      ASSERT_EQ(held.size(), size_t(steps.result.registersPerThread()));
      ASSERT_EQ(held[size_t(reg)], sums[steps.result.apply(reg, lane, warp)]);
    });
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::vector<Layout> layouts() {
  const Dims rows = {1, 0}, columns = {0, 1};
  return {Layout::coalesced({32, 64}, 4, 4, rows),
          Layout::coalesced({32, 64}, 2, 8, columns),
          Layout::mmaAccumulator({64, 32}, 2, 2),
          Layout::wgmmaAccumulator({64, 32}, 4, 32),
          Layout::blocked({8, 8}, {1, 1}, {4, 8}, {4, 1}, rows), // several warps hold copies
          Layout::blocked({64, 64}, {2, 4}, {8, 4}, {1, 16}, rows),
          Layout::blocked({4, 256}, {1, 1}, {1, 32}, {1, 4}, rows),
          Layout::fromBases({8, 64}, {{{1, 64}, {65, 2, 4, 8, 16}, {32, 128, 256}}}), // a bit along both dimensions: converted first
          Layout::coalesced({1024}, 4, 4, {0})};
}

TEST_F(Reductions, everyThreadHasItsSums) {
  int64_t halving = 0, plainLanes = 0, partLanes = 0, partRegisters = 0, within = 0;
  for (const Layout &source : layouts())
    for (int64_t dim = 0; dim < int64_t(source.shape.size()); ++dim)
      for (const std::string &region : {addf, longer})
        for (bool isOther : {false, true}) {
          Layout result = source.withoutDim(dim);
          if (isOther && result.shape.empty()) continue;
          if (isOther) result = Layout::coalesced(result.shape, 1, int64_t(1) << source.bits(Axis::warp), {0});
          tt::ReduceOp op = parse(source, dim, result.shape.empty() ? "f32" : tile(result, "f32"), region);
          ASSERT_TRUE(op);
          std::optional<ReductionSteps> steps = reductionSteps(op);
          ASSERT_TRUE(steps);
          expectSums(op, *steps);
          (steps->recursiveHalving ? halving : plainLanes) += steps->plan.laneMask != 0;
          partLanes += steps->partPlan.laneMask != 0, partRegisters += steps->partPlan.registerMask != 0, within += !steps->plan.warpMask;
        }
  for (int64_t count : {halving, plainLanes, partLanes, partRegisters, within})
    EXPECT_GT(count, 2);
}

TEST_F(Reductions, reduxWhereOneInstructionReducesAWarp) {
  Layout layout = Layout::blocked({8, 32}, {8, 1}, {1, 32}, {1, 1}, {1, 0});
  std::string result = tile(layout.withoutDim(1), "i32");
  for (const char *operation : {"addi", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori"}) {
    std::optional<ReductionSteps> steps = reductionSteps(parse(layout, 1, result, integer(operation)));
    ASSERT_TRUE(steps);
    EXPECT_TRUE(steps->redux && !steps->recursiveHalving && steps->shuffles == 0) << operation;
    steps = reductionSteps(parse(layout, 1, result, integer(operation), "sm_75"));
    EXPECT_TRUE(!steps->redux && steps->recursiveHalving) << operation;
    EXPECT_EQ(steps->shuffles, 4 + 2 + 1 + 1 + 1 + 8); // and the results for all lanes
  }
  std::optional<ReductionSteps> steps = reductionSteps(parse(layout, 1, result, integer("muli")));
  ASSERT_TRUE(steps);
  EXPECT_TRUE(!steps->redux && steps->recursiveHalving);
  Layout shorter = Layout::blocked({32, 8}, {1, 1}, {4, 8}, {1, 1}, {1, 0});
  EXPECT_FALSE(reductionSteps(parse(shorter, 1, tile(shorter.withoutDim(1), "i32"), integer("addi")))->redux); // 8 lanes
}

TEST_F(Reductions, orderOfTwoValues) {
  Layout layout = Layout::coalesced({64}, 1, 1, {0});
  EXPECT_TRUE(reductionSteps(parse(layout, 0, "f32", addf))->isSymmetric);
  EXPECT_TRUE(reductionSteps(parse(layout, 0, "f32", swapped))->isSymmetric);
  EXPECT_FALSE(reductionSteps(parse(layout, 0, "f32", subf))->isSymmetric);
}

TEST_F(Reductions, wrongStepsAreCaught) {
  Layout layout = Layout::blocked({4, 256}, {1, 1}, {1, 32}, {1, 4}, {1, 0});
  std::optional<ReductionSteps> steps = reductionSteps(parse(layout, 1, tile(layout.withoutDim(1), "f32")));
  ASSERT_TRUE(steps && steps->plan.warpMask);
  ASSERT_EQ(verifyReduction(*steps), std::nullopt);
  ReductionSteps wrong = *steps;
  wrong.writtenLayout.basesOf(Axis::warp)[0] = 0;
  EXPECT_EQ(verifyReduction(wrong), "a partial value is not written");
  wrong = *steps;
  wrong.readLayout.basesOf(Axis::reg).pop_back();
  EXPECT_EQ(verifyReduction(wrong), "a thread does not read all partial values");
  wrong = *steps;
  wrong.plan.warpMask = 1;
  EXPECT_EQ(verifyReduction(wrong), "two warps write one partial value");
  wrong = *steps;
  wrong.result = wrong.result.withRegistersInLanes(1);
  EXPECT_EQ(verifyReduction(wrong), "a thread reads partial values of other results");
}

TEST_F(Reductions, partialValuesOfOperandsAreDisjoint) {
  Layout layout = Layout::coalesced({512}, 1, 4, {0});
  std::string tiles = tile(layout, "f16") + ", " + tile(layout, "i1") + ", " + tile(layout, "i64");
  module = mlir::parseSourceString<mlir::ModuleOp>(
      "tt.func public @kernel(%x: " + tile(layout, "f16") + ", %y: " + tile(layout, "i1") + ", %z: " + tile(layout, "i64") +
          ") attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_90a\">} {\n"
          "%r:3 = \"tt.reduce\"(%x, %y, %z) <{axis = 0 : i32}> ({\n^bb0(%a: f16, %b: i1, %c: i64, %d: f16, %e: i1, %f: i64):\n"
          "%s = arith.addf %a, %d : f16\n%t = arith.ori %b, %e : i1\n%u = arith.addi %c, %f : i64\n"
          "tt.reduce.return %s, %t, %u : f16, i1, i64\n}) : (" +
          tiles + ") -> (f16, i1, i64)\ntt.return\n}\n",
      &context, "test.mlir");
  ASSERT_TRUE(module);
  module->walk([](tt::ReduceOp op) {
    std::optional<ReductionSteps> steps = reductionSteps(op);
    ASSERT_TRUE(steps);
    EXPECT_EQ(partialOffsets(op, *steps), (std::vector<int64_t>{0, 16, 32, 64})); // 4 values each of 2, 1 and 8 bytes
  });
}

TEST(Layouts, registersInLanes) {
  Layout layout = Layout::fromBases({64}, {{{1, 2, 4}, {0, 8, 0, 16, 0}, {32}}});
  Layout moved = layout.withRegistersInLanes(0b00101);
  EXPECT_EQ(moved, Layout::fromBases({64}, {{{1}, {4, 8, 2, 16, 0}, {32}}}));
  EXPECT_EQ(moved.withRegistersInLanes(0b10000), Layout::fromBases({64}, {{{}, {4, 8, 2, 16, 1}, {32}}}));
  EXPECT_EQ(layout.withRegistersInLanes(0b10101), moved.withRegistersInLanes(0b10000)); // the last register to the lowest bit
  EXPECT_EQ(layout.withRegistersInLanes(0), layout);
}

} // namespace
