// The public C++ interface, as a program outside sees it: only the installed headers and libtilewright.

#include "tilewright/tilewright.h"

#include "fake_cuda.h"
#include "gtest/gtest.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <numeric>
#include <thread>
#include <unistd.h>

static std::atomic<int64_t> allocations{0};

// Counts for the whole process: the library takes its memory from here too.
void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size ? size : 1)) return memory;
  std::abort();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}

namespace {

const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n), mask=at < n)

@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 48}), triton.Config({"BLOCK": 128})], key=["n"],
                 reset_to_zero=["out_ptr"])
@triton.jit
def accumulate(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(out_ptr + at, mask=at < n) + tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x, mask=at < n)

@triton.jit
def shown(x_ptr):
    tl.device_print("x", tl.load(x_ptr))

@triton.jit
def wrong(x_ptr):
    tl.store(x_ptr, tl.zros((4,), tl.float32))
)";

class Api : public testing::Test {
protected:
  static void SetUpTestSuite() { ::setenv("TILEWRIGHT_CACHE", "0", 1); }
  tilewright::Kernel kernel(const std::string &name) {
    auto module = tilewright::Module::fromSource(source, "api.py");
    EXPECT_TRUE(module) << module.error();
    auto kernel = module->kernel(name);
    EXPECT_TRUE(kernel) << kernel.error();
    return *kernel;
  }
  std::vector<float> x = std::vector<float>(1000, 2.0f), y = std::vector<float>(1000, 3.0f), out = std::vector<float>(1000, 0.0f);
};

TEST_F(Api, SanitizedLaunches) {
  tilewright::Kernel add = kernel("add");
  std::vector<float> x(100, 1), y(100, 2), out(100), small(90);
  tilewright::Options sanitized{.sanitize = true};
  auto done = add.launch(tilewright::Grid(2), {x, y, out, 100, {"BLOCK", 64}}, sanitized);
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(out[99], 3);
  auto outside = add.launch(tilewright::Grid(2), {x, y, small, 100, {"BLOCK", 64}}, sanitized);
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().find("api.py:8:5: program (1, 0, 0): tt.store of 4 bytes"), std::string::npos) << outside.error();
  EXPECT_NE(outside.error().find("after the end of 'out_ptr'"), std::string::npos) << outside.error();
  EXPECT_TRUE(add.launch(tilewright::Grid(2), {x, y, out, 100, {"BLOCK", 64}})) << "compiled code, as before";
  auto unknown = add.launch(tilewright::Grid(2), {x.data(), y, out, 100, {"BLOCK", 64}}, sanitized);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("the size of 'x_ptr'"), std::string::npos) << unknown.error();
}

TEST_F(Api, SanitizedLaunchesPrint) {
  std::vector<float> values(1, 2.5f);
  testing::internal::CaptureStdout();
  auto done = kernel("shown").launch(tilewright::Grid(1), {values}, {.sanitize = true});
  std::fflush(stdout);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("x: 2.5"), std::string::npos);
  EXPECT_TRUE(done) << done.error();
}

TEST_F(Api, LaunchesForEachType) {
  tilewright::Kernel add = kernel("add");
  auto done = add.launch(tilewright::cdiv(1000, 64), {x, y, out, 1000, {"BLOCK", 64}});
  ASSERT_TRUE(done) << done.error();
  for (float value : out)
    ASSERT_EQ(value, 5.0f);
  std::vector<int64_t> a(10, 7), b(10, 8), c(10);
  auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
  done = add.launch(grid, {a.data(), b, std::span<int64_t>(c), c.size(), {"BLOCK", 4}});
  ASSERT_TRUE(done) << done.error();
  for (int64_t value : c)
    ASSERT_EQ(value, 15);
}

TEST_F(Api, WarmLaunchesAllocateNothing) {
  tilewright::Kernel add = kernel("add");
  auto launch = [&] { return static_cast<bool>(add.launch(tilewright::cdiv(1000, 64), {x, y, out, 1000, {"BLOCK", 64}})); };
  for (int64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(launch());
  int64_t before = allocations;
  for (int64_t i = 0; i < 100; ++i)
    launch();
  EXPECT_EQ(allocations - before, 0);
}

TEST_F(Api, LaunchesOnGpus) {
  void *library = ::dlopen(FAKE_CUDA, RTLD_NOW);
  ASSERT_TRUE(library);
  FakeCuda &fake = *reinterpret_cast<FakeCudaAccess>(::dlsym(library, "fakeCuda"))();
  ::setenv("TILEWRIGHT_LIBCUDA", FAKE_CUDA, 1);
  tilewright::Kernel add = kernel("add");
  auto *x = reinterpret_cast<float *>(0x10000), *out = reinterpret_cast<float *>(0x20000);
  tilewright::Options options;
  options.stream = &fake;
  auto launch = [&](int64_t programs) {
    return add.launch(tilewright::Grid(programs),
                      {tilewright::onDevice(x), tilewright::onDevice(x), tilewright::onDevice(out), 100, {"BLOCK", 32}}, options);
  };
  auto first = launch(4);
  ASSERT_TRUE(first) << first.error();
  EXPECT_STREQ(fake.entry, "add");
  EXPECT_EQ(fake.grid[0], 4u);
  EXPECT_EQ(fake.stream, &fake);
  ASSERT_TRUE(launch(5)); // another grid: the guards of the code are checked again
  int64_t allocated = allocations;
  int calls = fake.calls;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(launch(5));
  EXPECT_EQ(allocations - allocated, 0);
  EXPECT_EQ(fake.calls - calls, 10);
  // The sizes of these tensors are unknown, so they may overlap: another version runs than for disjoint tensors.
  EXPECT_EQ(fake.loads, 2);
  // Tuned there, with the versions compiled on several threads while others are measured.
  tilewright::Kernel accumulate = kernel("accumulate");
  auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
  std::vector<float> memory(100, 1.0f); // of the fake device
  auto tuned = accumulate.launch(grid, {tilewright::onDevice(x), tilewright::onDevice(memory.data(), 0, 400), 100}, options);
  ASSERT_TRUE(tuned) << tuned.error();
  EXPECT_STREQ(fake.entry, "accumulate");
  float host[4]{};
  auto mixed = add.launch(tilewright::Grid(1), {tilewright::onDevice(x), host, tilewright::onDevice(out), 4, {"BLOCK", 32}});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().find("'x_ptr' is on CUDA device 0, but 'y_ptr' is on the CPU"), std::string::npos) << mixed.error();
}

// A version that is only faster than others is one of sixteen; later launches run the code that is right for all.
TEST_F(Api, MakesSixteenFasterVersions) {
  void *library = ::dlopen(FAKE_CUDA, RTLD_NOW);
  ASSERT_TRUE(library);
  FakeCuda &fake = *reinterpret_cast<FakeCudaAccess>(::dlsym(library, "fakeCuda"))();
  ::setenv("TILEWRIGHT_LIBCUDA", FAKE_CUDA, 1);
  auto module = tilewright::Module::fromSource(R"(
import triton
import triton.language as tl

@triton.jit
def bounded(x_ptr, out_ptr, a, b, c, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < a, other=0.0)
    y = tl.load(x_ptr + BLOCK + i, mask=i < b, other=0.0)
    z = tl.load(x_ptr + 2 * BLOCK + i, mask=i < c, other=0.0)
    tl.store(out_ptr + i, x + y + z)
)",
                                               "bounded.py");
  ASSERT_TRUE(module) << module.error();
  auto bounded = module->kernel("bounded");
  ASSERT_TRUE(bounded) << bounded.error();
  auto *x = reinterpret_cast<float *>(0x10000), *out = reinterpret_cast<float *>(0x20000);
  tilewright::Options options;
  options.stream = &fake;
  int loads = fake.loads, launches = 0;
  for (int64_t a : {1, 2, 4, 8})
    for (int64_t b : {1, 2, 4, 8})
      for (int64_t c : {1, 2, 4, 8}) {
        auto done = bounded->launch(
            1, {tilewright::onDevice(x, 0, 4096), tilewright::onDevice(out, 0, 4096), 9 * a, 9 * b, 9 * c, {"BLOCK", 256}}, options);
        ASSERT_TRUE(done) << done.error();
        ++launches;
      }
  EXPECT_EQ(launches, 64);
  EXPECT_EQ(fake.loads - loads, 17);
}

TEST_F(Api, TunesAndResets) {
  tilewright::Kernel accumulate = kernel("accumulate");
  auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
  // The configuration with 48, no power of two, fails and is passed over.
  auto done = accumulate.launch(grid, {x, out, 1000});
  ASSERT_TRUE(done) << done.error();
  for (float value : out)
    ASSERT_EQ(value, 2.0f);
  ASSERT_TRUE(accumulate.launch(grid, {x, out, 1000}));
  for (float value : out)
    ASSERT_EQ(value, 4.0f);
  auto bare = accumulate.launch(grid, {x.data(), out.data(), 999});
  ASSERT_FALSE(bare);
  EXPECT_NE(bare.error().find("reset_to_zero names 'out_ptr'"), std::string::npos) << bare.error();
}

TEST_F(Api, TunesWithoutATensorThatIsNone) {
  auto module = tilewright::Module::fromSource(R"(
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16, "waves_per_eu": 2})], key=[], reset_to_zero=["x_ptr"],
                 restore_value=["x_ptr"], prune_configs_by={"perf_model": lambda **args: -args["BLOCK"], "top_k": 1})
@triton.jit
def optional(x_ptr, out_ptr, BLOCK: tl.constexpr):
    if x_ptr is not None:
        tl.store(x_ptr, 1.0)
    tl.store(out_ptr, BLOCK)
)",
                                               "optional.py");
  ASSERT_TRUE(module) << module.error();
  auto optional = module->kernel("optional");
  ASSERT_TRUE(optional) << optional.error();
  auto done = optional->launch(1, {nullptr, out});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(out[0], 16.0f); // what the model prefers
}

// A launch like the last one takes what its rules gave; another one asks them.
TEST_F(Api, RulesFollowTheArguments) {
  auto module = tilewright::Module::fromSource(R"(
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["WAY"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})
@triton.heuristics({"FACTOR": lambda args: (args["shift"] + 2) * (10 if args["WAY"] == "long" else 1)})
@triton.jit
def ruled(out_ptr, n, shift, WAY: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr, FACTOR: tl.constexpr):
    tl.store(out_ptr, FACTOR + (1000 if EVEN else 0))
)",
                                               "ruled.py");
  ASSERT_TRUE(module) << module.error();
  auto ruled = module->kernel("ruled");
  ASSERT_TRUE(ruled) << ruled.error();
  std::vector<float> other(1);
  for (int64_t trial = 0; trial < 3; ++trial)
    for (const char *way : {"long", "short"})
      for (int64_t n : {64, 64, 65, 128})
        for (double shift : {0.0, 1.0, 1.0}) {
          std::vector<float> &to = trial % 2 ? other : out;
          auto done = ruled->launch(1, {to, n, shift, {"WAY", way}});
          ASSERT_TRUE(done) << done.error();
          EXPECT_EQ(to[0], (shift + 2) * (way[0] == 'l' ? 10 : 1) + (n % 64 == 0 ? 1000 : 0)) << way << " " << n << " " << shift;
        }
}

TEST_F(Api, NumbersOfThreadsAreTunedSeparately) {
  tilewright::Kernel accumulate = kernel("accumulate");
  int64_t asked = 0; // once for each configuration that is measured
  auto grid = [&](tilewright::Meta meta) {
    ++asked;
    return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"]));
  };
  for (bool isKnown : {false, true})
    for (int64_t threads : {1, 2}) {
      asked = 0;
      tilewright::Options options;
      options.threads = threads;
      ASSERT_TRUE(accumulate.launch(grid, {x, out, 1000}, options));
      EXPECT_EQ(asked == 1, isKnown) << threads;
    }
}

TEST_F(Api, GridFunctionsMayTuneAnotherKey) {
  tilewright::Kernel accumulate = kernel("accumulate");
  auto plain = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
  std::vector<float> other(500, 0.0f);
  auto nested = [&](tilewright::Meta meta) {
    EXPECT_TRUE(accumulate.launch(plain, {x, other, 500}));
    return plain(meta);
  };
  ASSERT_TRUE(accumulate.launch(nested, {x, out, 1000}));
  EXPECT_EQ(out[999], 2.0f);
  EXPECT_GE(other[499], 2.0f);
  std::string problem;
  auto itself = [&](tilewright::Meta meta) {
    if (auto done = accumulate.launch(plain, {x, out, 999}); !done) problem = done.error();
    return plain(meta);
  };
  ASSERT_TRUE(accumulate.launch(itself, {x, out, 999}));
  EXPECT_NE(
      problem.find("kernel 'accumulate' is launched for (x_ptr=*fp32, out_ptr=*fp32, n=999) while it is being tuned for the same key"),
      std::string::npos)
      << problem;
}

TEST_F(Api, TunesOnceForManyThreads) {
  tilewright::Kernel accumulate = kernel("accumulate");
  auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
  std::vector<std::vector<float>> results(4, std::vector<float>(700, 0.0f));
  std::vector<std::thread> threads;
  for (std::vector<float> &mine : results)
    threads.emplace_back([&] { EXPECT_TRUE(accumulate.launch(grid, {x, mine, 700})); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &mine : results)
    EXPECT_EQ(mine[699], 2.0f);
}

TEST_F(Api, LaunchesFromManyThreads) {
  tilewright::Kernel add = kernel("add");
  std::vector<std::thread> threads;
  std::atomic<int64_t> good{0};
  for (int64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      std::vector<float> mine(1000);
      for (int block : {16, 32, 64, 128})
        good += static_cast<bool>(add.launch(tilewright::cdiv(1000, block), {x, y, mine, 1000, {"BLOCK", block}})) &&
                mine[static_cast<size_t>(i)] == 5.0f;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 16);
}

TEST_F(Api, ErrorsAreValues) {
  auto broken = tilewright::Module::fromSource("def f(:\n", "broken.py");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().find("broken.py:1:"), std::string::npos);
  EXPECT_FALSE(tilewright::Module::fromFile("/no/such/file.py"));
  auto module = tilewright::Module::fromSource(source, "api.py");
  EXPECT_EQ(module->kernelNames(), (std::vector<std::string>{"add", "accumulate", "shown", "wrong"}));
  EXPECT_FALSE(module->kernel("ad"));
  auto done = kernel("wrong").launch(1, {x});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().find("api.py:24:"), std::string::npos) << done.error();
  EXPECT_FALSE(kernel("add").launch(1, {x, y}));
  EXPECT_FALSE(kernel("add").launch(-1, {x, y, out, 1000, {"BLOCK", 64}}));
  tilewright::Options options;
  options.numWarps = 3;
  auto warps = kernel("add").launch(1, {x, y, out, 1000, {"BLOCK", 64}}, options);
  ASSERT_FALSE(warps);
  EXPECT_NE(warps.error().find("num_warps must be a power of 2, not 3"), std::string::npos) << warps.error();
}

TEST_F(Api, LaunchesIrText) {
  std::string path = "/tmp/tilewright-api-" + std::to_string(::getpid()) + ".ttir";
  std::FILE *file = std::fopen(path.c_str(), "w");
  std::fputs(R"(tt.func public @twice(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %b = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %p = tt.addptr %b, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %s = tt.splat %n : i32 -> tensor<64xi32>
    %m = arith.cmpi slt, %r, %s : tensor<64xi32>
    %v = tt.load %p, %m : tensor<64x!tt.ptr<f32>>
    %t = arith.addf %v, %v : tensor<64xf32>
    tt.store %p, %t, %m : tensor<64x!tt.ptr<f32>>
    tt.return
  })",
             file);
  std::fclose(file);
  auto module = tilewright::Module::fromFile(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(module) << module.error();
  EXPECT_EQ(module->kernelNames(), std::vector<std::string>{"twice"});
  EXPECT_FALSE(module->kernel("thrice"));
  auto twice = module->kernel("twice");
  ASSERT_TRUE(twice);
  alignas(16) float numbers[64];
  for (int i = 0; i < 64; ++i)
    numbers[i] = static_cast<float>(i);
  auto done = twice->launch(1, {std::span<float>(numbers, 64), 60});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(numbers[59], 118);
  EXPECT_EQ(numbers[60], 60);
  // The launch must pass the guards of the text.
  auto crooked = twice->launch(1, {std::span<float>(numbers + 1, 63), 60});
  ASSERT_FALSE(crooked);
  EXPECT_NE(crooked.error().find("is a multiple of 16, but a misaligned address is passed"), std::string::npos) << crooked.error();
}

TEST_F(Api, EmitsStages) {
  auto text = kernel("add").emit("tt", {x, y, out, 1000, {"BLOCK", 64}});
  ASSERT_TRUE(text) << text.error();
  EXPECT_NE(text->find("tt.store"), std::string::npos);
  EXPECT_FALSE(kernel("add").emit("poem", {x, y, out, 1000, {"BLOCK", 64}}));
}

} // namespace
