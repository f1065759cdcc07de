// Launches and compilation from eight threads at once. Results are checked here; `make tsan` looks for races in what this runs.

#include "tilewright/tilewright.h"

#include "from_threads.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace {

constexpr int64_t length = 1000;

const char *source = R"(
import triton
import triton.language as tl

SCALE = 3

@triton.jit
def scaled(x):
    return x * SCALE

@triton.jit
def scale(x_ptr, out_ptr, n, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, scaled(tl.load(x_ptr + at, mask=at < n)) + shift, mask=at < n)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, scaled(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

@triton.jit
def product(x_ptr, out_ptr, rows, turn: tl.constexpr):
    i, k = tl.program_id(0) * 32 + tl.arange(0, 32), tl.arange(0, 32)
    x = tl.load(x_ptr + i[:, None] * 32 + k[None, :])
    y = tl.load(x_ptr + k[:, None] * 32 + k[None, :])
    tl.store(out_ptr + i[:, None] * 32 + k[None, :], tl.dot(x, y), mask=i[:, None] < rows)

@triton.jit
def wrong(x_ptr):
    tl.store(x_ptr, tl.zros((4,), tl.float32))
)";

struct Data {
  std::vector<float> x = std::vector<float>(length, 2), out = std::vector<float>(length, 0);
  /// Whether each element is `value`.
  bool holds(float value) const {
    return std::all_of(out.begin(), out.end(), [&](float element) { return element == value; });
  }
};

tilewright::Kernel kernelOf(tilewright::Module &module, const char *name) {
  auto kernel = module.kernel(name);
  EXPECT_TRUE(kernel) << kernel.error();
  return *kernel;
}

/// The cache on disk is on, and empty in the beginning.
class Threads : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = std::filesystem::temp_directory_path() / ("threads_test_" + std::to_string(::getpid()));
    ::setenv("TILEWRIGHT_CACHE_DIR", folder.c_str(), 1);
    ::setenv("TILEWRIGHT_NUM_THREADS", "3", 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }
  static std::filesystem::path folder;
};
std::filesystem::path Threads::folder;

TEST_F(Threads, LaunchOneKernel) {
  auto module = tilewright::Module::fromSource(source, "threads.py");
  ASSERT_TRUE(module) << module.error();
  tilewright::Kernel scale = kernelOf(*module, "scale"), tuned = kernelOf(*module, "tuned");
  fromThreads([&](int64_t thread, int64_t round) {
    Data data;
    int64_t block = 32 << (round % 3), shift = thread; // one compilation each for shift 1, 16 and the others
    for (int64_t i = 0; i < 20; ++i) {
      auto done = scale.launch(tilewright::cdiv(length, block), {data.x, data.out, length, shift, {"BLOCK", block}});
      EXPECT_TRUE(done && data.holds(6.0f + static_cast<float>(shift))) << done.error();
    }
    auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
    auto done = tuned.launch(grid, {data.x, data.out, length - round % 2 * 100});
    EXPECT_TRUE(done && data.out[0] == 6) << done.error();
  });
}

// 31 and 33 rows break facts about the other's code: another version is compiled from within a launch, by one thread for all.
TEST_F(Threads, MakeOtherVersions) {
  auto module = tilewright::Module::fromSource(source, "threads.py");
  ASSERT_TRUE(module) << module.error();
  tilewright::Kernel product = kernelOf(*module, "product");
  fromThreads([&](int64_t thread, int64_t round) {
    std::vector<float> x(64 * 32, 2);
    for (int64_t i = 0; i < 4; ++i) {
      int64_t rows = 31 + 2 * ((thread + i) % 2);
      std::vector<float> out(64 * 32, 0);
      auto done = product.launch(2, {x, out, rows, {"turn", round}});
      EXPECT_TRUE(done) << done.error();
      EXPECT_EQ(std::count(out.begin(), out.end(), 128.0f), rows * 32);
      EXPECT_EQ(std::count(out.begin(), out.end(), 0.0f), (64 - rows) * 32);
    }
  });
}

TEST_F(Threads, CompileKernelsOfTheirOwn) {
  fromThreads([&](int64_t thread, int64_t round) {
    std::string text = source;
    // Every other round all threads compile the same, so that they meet in the cache on disk.
    int64_t scale = 100 + round * threadCount + (round % 2 ? thread : 0);
    text.replace(text.find("SCALE = 3"), 9, "SCALE = " + std::to_string(scale));
    auto module = tilewright::Module::fromSource(text, "threads.py");
    ASSERT_TRUE(module) << module.error();
    Data data;
    auto done = kernelOf(*module, "scale").launch(tilewright::cdiv(length, 64), {data.x, data.out, length, 0, {"BLOCK", 64}});
    EXPECT_TRUE(done && data.holds(2.0f * static_cast<float>(scale))) << done.error();
    done = kernelOf(*module, "wrong").launch(1, {data.out});
    EXPECT_FALSE(done);
    EXPECT_NE(done.error().find("did you mean 'zeros'"), std::string::npos) << done.error();
  });
}

} // namespace
