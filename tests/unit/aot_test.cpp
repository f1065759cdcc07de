// Bundles and grids of kernels that are built ahead of time (src/aot_runtime).
#include "aot_runtime/bundle.h"
#include "support/artifact_bytes.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::aot;

using Kind = GridStep::Kind;

static std::optional<int64_t> run(GridProgram program, std::vector<uint64_t> arguments) {
  return evaluate(program, arguments);
}

TEST(Grid, computesLikePython) {
  GridProgram cdiv{{Kind::parameter, 0}, {Kind::constant, 64}, {Kind::cdiv, 0}};
  EXPECT_EQ(run(cdiv, {100}), 2);
  EXPECT_EQ(run(cdiv, {0}), 0);
  auto binary = [](Kind kind, int64_t a, int64_t b) { return run({{Kind::constant, a}, {Kind::constant, b}, {kind, 0}}, {}); };
  EXPECT_EQ(binary(Kind::floordiv, -7, 2), -4);
  EXPECT_EQ(binary(Kind::mod, -7, 2), 1);
  EXPECT_EQ(binary(Kind::mod, 7, -2), -1);
  EXPECT_EQ(binary(Kind::min, 3, 5), 3);
  EXPECT_EQ(binary(Kind::sub, 3, 5), -2);
  EXPECT_EQ(run({{Kind::constant, 65}, {Kind::nextPowerOf2, 0}}, {}), 128);
}

TEST(Grid, comparesLikePython) {
  auto binary = [](Kind kind, int64_t a, int64_t b) { return run({{Kind::constant, a}, {Kind::constant, b}, {kind, 0}}, {}); };
  for (int64_t a : {-2, 0, 3})
    for (int64_t b : {-2, 0, 3}) {
      EXPECT_EQ(binary(Kind::equal, a, b), a == b);
      EXPECT_EQ(binary(Kind::notEqual, a, b), a != b);
      EXPECT_EQ(binary(Kind::less, a, b), a < b);
      EXPECT_EQ(binary(Kind::lessEqual, a, b), a <= b);
      EXPECT_EQ(binary(Kind::greater, a, b), a > b);
      EXPECT_EQ(binary(Kind::greaterEqual, a, b), a >= b);
      EXPECT_EQ(binary(Kind::both, a, b), a && b);
      EXPECT_EQ(binary(Kind::either, a, b), a || b);
    }
  // What comes after `and` and `or` counts only if the first operand does not decide; what comes before always counts.
  auto withDivision = [](int64_t first, Kind kind) {
    return run({{Kind::constant, first}, {Kind::constant, 1}, {Kind::constant, 0}, {Kind::floordiv, 0}, {kind, 0}}, {});
  };
  EXPECT_EQ(withDivision(0, Kind::both), 0);
  EXPECT_EQ(withDivision(1, Kind::both), std::nullopt);
  EXPECT_EQ(withDivision(1, Kind::either), 1);
  EXPECT_EQ(withDivision(0, Kind::either), std::nullopt);
  EXPECT_EQ(run({{Kind::constant, 1}, {Kind::constant, 0}, {Kind::mod, 0}, {Kind::constant, 0}, {Kind::both, 0}}, {}), std::nullopt);
}

TEST(Grid, refusesWhatHasNoResult) {
  auto binary = [](Kind kind, int64_t a, int64_t b) { return run({{Kind::constant, a}, {Kind::constant, b}, {kind, 0}}, {}); };
  EXPECT_EQ(binary(Kind::floordiv, 1, 0), std::nullopt);
  EXPECT_EQ(binary(Kind::mod, INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(binary(Kind::mul, INT64_MAX, 2), std::nullopt);
  EXPECT_EQ(binary(Kind::cdiv, INT64_MAX, 2), std::nullopt);
  EXPECT_EQ(run({{Kind::constant, INT64_MAX}, {Kind::nextPowerOf2, 0}}, {}), std::nullopt);
  EXPECT_EQ(run({{Kind::add, 0}}, {}), std::nullopt);
  EXPECT_EQ(run({{Kind::parameter, 1}}, {5}), std::nullopt);
  GridProgram two{{Kind::constant, 1}, {Kind::constant, 1}};
  EXPECT_FALSE(isSound(two, 0));
  EXPECT_FALSE(isSound(GridProgram{{Kind::parameter, 2}}, 2));
  EXPECT_TRUE(isSound(GridProgram{{Kind::parameter, 1}}, 2));
}

static Bundle example() {
  Bundle bundle;
  bundle.kernel = "scale";
  bundle.compiler = "1.2.3";
  bundle.parameters = {{"x", Element::fp32, true, true}, {"n", Element::int32, false, false}, {"mode", Element::text, false, false}};
  bundle.key = {1};
  Variant variant;
  variant.description = "x=*fp32:16";
  variant.conditions = {{0, Condition::Kind::isMultiple, 16, ""}, {2, Condition::Kind::isText, 0, "plain"}};
  variant.rules = {{{{Kind::parameter, 1}, {Kind::constant, 64}, {Kind::mod, 0}, {Kind::constant, 0}, {Kind::equal, 0}}, 1}};
  variant.problems = {{100}, {200}};
  for (GridProgram &program : variant.grid)
    program = {{Kind::parameter, 1}, {Kind::constant, 64}, {Kind::cdiv, 0}};
  variant.parameterOfSlot = {0, 1};
  CpuCode code;
  code.level = "avx2";
  code.arenaBytes = 128;
  code.slots = {SlotKind::pointer, SlotKind::i32};
  code.guards = {{"n >= 0", {{BoundNode::Kind::slot, 1, 0}}, 0, INT64_MAX}};
  variant.cpu = {code};
  GpuArtifact gpu;
  gpu.entry = "scale", gpu.target = "sm_80", gpu.cubin = "bytes", gpu.slots = code.slots;
  variant.gpu = {gpu};
  bundle.variants = {variant};
  return bundle;
}

TEST(Bundle, isReadAsItWasWritten) {
  std::string bytes = encodeBundle(example());
  Result<Bundle> read = decodeBundle(bytes, 1);
  ASSERT_TRUE(bool(read)) << read.error();
  EXPECT_EQ(encodeBundle(*read), bytes);
  EXPECT_EQ(read->variants[0].conditions[1].text, "plain");
  EXPECT_EQ(read->variants[0].gpu[0].cubin, "bytes");
  EXPECT_EQ(read->variants[0].rules[0].program, example().variants[0].rules[0].program);
  Bundle unsound = example();
  unsound.variants[0].rules[0].program.pop_back();
  EXPECT_FALSE(decodeBundle(encodeBundle(unsound), 1));
  EXPECT_FALSE(decodeBundle(bytes, 0)); // its code has an entry that the artifact lacks
}

// Bytes that a wrong program wrote have a right checksum. Reading them must end, with a bundle or a failure.
TEST(Bundle, survivesWrongFields) {
  std::string good = encodeBundle(example());
  constexpr size_t header = 32;
  int64_t refused = 0;
  for (size_t at = header; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good, sum;
      bytes[at] ^= static_cast<char>(1 << bit);
      appendNumber(sum, checksum(std::string_view(bytes).substr(header)));
      bytes.replace(24, 8, sum);
      Result<Bundle> read = decodeBundle(bytes, 1);
      if (!read) ++refused;
      if (read)
        for (const Variant &variant : read->variants)
          for (int64_t parameter : variant.parameterOfSlot)
            ASSERT_TRUE(parameter >= 0 && parameter < static_cast<int64_t>(read->parameters.size()));
    }
  EXPECT_GT(refused, 100);
}

TEST(CpuLevels, areOrdered) {
  EXPECT_EQ(rankOfLevel("sse2"), 0);
  EXPECT_LT(*rankOfLevel("avx2"), *rankOfLevel("amx"));
  EXPECT_FALSE(rankOfLevel("native"));
  EXPECT_TRUE(contain(cpuFeatures(), cpuFeatures()));
  CpuFeatures more = cpuFeatures();
  for (uint32_t &word : more)
    word = ~0u;
  EXPECT_FALSE(contain(cpuFeatures(), more));
  EXPECT_TRUE(runsLevel(cpuLevelName()));
  // The levels of both instruction sets are known everywhere, and this CPU runs those of one.
  EXPECT_EQ(rankOfLevel("armv8"), 0);
  EXPECT_LT(*rankOfLevel("neon"), *rankOfLevel("sve256"));
  EXPECT_NE(runsLevel("sse2"), runsLevel("armv8"));
}
