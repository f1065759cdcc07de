// The interface for embedding, as a program outside sees it: preparation, ends of calls, limits, the program's threads and memory,
// eviction, events, the shipped cache, and failures that are injected into functions of the caller.

#include "tilewright/embed.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

static thread_local bool failsNextAllocation = false, failsAllAllocations = false;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OWN_OPERATOR_NEW 0 // the sanitizer defines operator new
#endif
#endif
#ifndef OWN_OPERATOR_NEW
#define OWN_OPERATOR_NEW 1
#endif

#if OWN_OPERATOR_NEW
// For the whole process: the library takes its memory from here, too.
void *operator new(size_t size) {
  if (failsAllAllocations || std::exchange(failsNextAllocation, false)) throw std::bad_alloc();
  if (void *memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}
#endif

namespace {

using namespace tilewright;

const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, out_ptr, n, factor: tl.int32 = 2, BLOCK: tl.constexpr = 128):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

@triton.jit
def count(out_ptr):
    tl.store(out_ptr + tl.program_id(0) % 16, tl.program_id(0))

@triton.jit
def product(x_ptr, out_ptr, n):
    i, k = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 64)
    a = tl.load(x_ptr + i[:, None] * 64 + k[None, :])
    b = tl.load(x_ptr + k[:, None] * 64 + k[None, :])
    tl.store(out_ptr + i[:, None] * 64 + k[None, :], tl.dot(a, tl.sort(b)), mask=i[:, None] < n)
)";

/// Counts events by kind while it lives.
class Events {
public:
  Events() {
    EXPECT_TRUE(onEvent([this](const Event &event) {
      std::lock_guard<std::mutex> guard(lock);
      ++counts[event.kind];
      last[event.kind] = event;
    }));
  }
  ~Events() { onEvent({}); }
  int64_t operator[](TwEventKind kind) {
    std::lock_guard<std::mutex> guard(lock);
    return counts[kind];
  }
  std::mutex lock;
  std::map<TwEventKind, int64_t> counts;
  std::map<TwEventKind, Event> last;
};

class Embed : public testing::Test {
protected:
  static void SetUpTestSuite() { ::setenv("TILEWRIGHT_CACHE", "0", 1); }
  static Kernel kernel(const std::string &name) {
    auto module = Module::fromSource(source, "embed.py");
    EXPECT_TRUE(module) << module.error();
    auto kernel = module->kernel(name);
    EXPECT_TRUE(kernel) << kernel.error();
    return *kernel;
  }
  std::vector<float> x = std::vector<float>(1000, 2.0f), out = std::vector<float>(1000, 0.0f);
};

TEST_F(Embed, PrepareRunsNothing) {
  Events events;
  Kernel scale = kernel("scale");
  auto done = scale.prepare(8, {x, out, 1000});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(events[TW_EVENT_COMPILE_FINISHED], 1);
  EXPECT_EQ(events[TW_EVENT_LAUNCH], 0);
  EXPECT_EQ(out[0], 0.0f);
  ASSERT_TRUE(scale.launch(8, {x, out, 1000}));
  EXPECT_EQ(events[TW_EVENT_COMPILE_FINISHED], 1) << "the launch compiles nothing";
  EXPECT_EQ(events[TW_EVENT_LAUNCH], 1);
  EXPECT_EQ(out[999], 4.0f);
  EXPECT_EQ(events.last[TW_EVENT_LAUNCH].kernel, "scale");
  EXPECT_GT(events.last[TW_EVENT_COMPILE_FINISHED].seconds, 0);
  EXPECT_GT(events.last[TW_EVENT_COMPILE_FINISHED].bytes, 0);
}

TEST_F(Embed, PrepareCompilesAllConfigurations) {
  Events events;
  Kernel tuned = kernel("tuned");
  auto done = tuned.prepare([](Meta meta) { return Grid(cdiv(meta["n"], meta["BLOCK"])); }, {x, out, 1000});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(events[TW_EVENT_COMPILE_FINISHED], 2);
  EXPECT_EQ(events[TW_EVENT_LAUNCH], 0);
  EXPECT_EQ(out[0], 0.0f);
  auto wrong = tuned.prepare([](Meta meta) { return Grid(meta["rows"]); }, {x, out, 1000});
  EXPECT_EQ(wrong.code(), TW_ERROR_KERNEL) << wrong.error();
  EXPECT_NE(wrong.error().find("reads 'rows'"), std::string::npos) << wrong.error();
}

TEST_F(Embed, Parameters) {
  std::vector<Parameter> all = kernel("scale").parameters();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "x_ptr");
  EXPECT_FALSE(all[0].isConstexpr || all[0].defaultText || all[0].annotation);
  EXPECT_EQ(all[3].annotation, "int32");
  EXPECT_EQ(all[3].kind, TW_INT);
  EXPECT_EQ(all[3].type, TW_I32);
  EXPECT_EQ(all[3].defaultText, "2");
  EXPECT_TRUE(all[4].isConstexpr);
  EXPECT_FALSE(all[4].isChosen);
  EXPECT_TRUE(kernel("tuned").parameters()[3].isChosen);
  EXPECT_EQ(kernel("tuned").name(), "tuned");
  TwParameter parameter{};
  EXPECT_EQ(twKernelParameter(nullptr, 0, &parameter), 0);
}

TEST_F(Embed, ContainersOfArguments) {
  Kernel scale = kernel("scale");
  std::array<float, 4> few{1, 2, 3, 4}, result{};
  const std::array<float, 4> fixed{1, 1, 1, 1};
  std::string name = "BLOCK";
  std::vector<Arg> arguments{few, result, 4, {name, 4}};
  auto done = scale.launch(1, arguments);
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(result[3], 8);
  done = scale.launch(1, std::array<Arg, 3>{fixed, result, 4});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(result[3], 2);
  done = scale.launch(1, {few, fixed, 4});
  EXPECT_EQ(done.code(), TW_ERROR_MEMORY) << done.error();
  EXPECT_EQ(fixed[0], 1);
#if TILEWRIGHT_HAS_FLOAT16
  std::vector<_Float16> halves(4, static_cast<_Float16>(1.5f)), doubled(4);
  done = scale.launch(1, {halves, doubled, 4});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(static_cast<float>(doubled[3]), 3.0f);
#endif
}

TEST_F(Embed, CancelEndsALaunch) {
  Kernel count = kernel("count");
  std::vector<int32_t> numbers(16);
  ASSERT_TRUE(count.launch(16, {numbers}));
  Cancel cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.request();
  });
  auto start = std::chrono::steady_clock::now();
  auto done = count.launch(INT32_MAX, {numbers}, {.threads = 2, .cancel = cancel});
  other.join();
  EXPECT_EQ(done.code(), TW_ERROR_CANCELED) << done.error();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(count.launch(1, {numbers}, {.cancel = cancel}).code(), TW_ERROR_CANCELED) << "the token ends later calls as well";
  EXPECT_TRUE(count.launch(1, {numbers}));
}

TEST_F(Embed, DeadlinesEndLaunchesAndCompilations) {
  Kernel count = kernel("count");
  std::vector<int32_t> numbers(16);
  ASSERT_TRUE(count.launch(16, {numbers}));
  auto late = count.launch(INT32_MAX, {numbers}, {.timeoutSeconds = 0.05});
  EXPECT_EQ(late.code(), TW_ERROR_DEADLINE) << late.error();
  auto compiled = kernel("scale").launch(8, {x, out, 1000}, {.timeoutSeconds = 1e-9});
  EXPECT_EQ(compiled.code(), TW_ERROR_DEADLINE) << compiled.error();
  EXPECT_NE(compiled.error().find("its time is over"), std::string::npos) << compiled.error();
  EXPECT_TRUE(kernel("scale").launch(8, {x, out, 1000}, {.timeoutSeconds = 1000}));
  EXPECT_EQ(count.launch(1, {numbers}, {.timeoutSeconds = -1}).code(), TW_ERROR_INVALID_ARGUMENT);
  auto interpreted = kernel("scale").launch(INT32_MAX, {x, out, 1, {"BLOCK", 1}}, {.sanitize = true, .timeoutSeconds = 0.05});
  EXPECT_EQ(interpreted.code(), TW_ERROR_DEADLINE) << interpreted.error();
  auto tuned = kernel("tuned").launch(16, {x, out, 1000}, {.timeoutSeconds = 1e-9});
  EXPECT_EQ(tuned.code(), TW_ERROR_DEADLINE) << tuned.error();
}

TEST_F(Embed, Futures) {
  Kernel scale = kernel("scale");
  auto future = scale.prepareAsync(8, {x, out, 1000});
  ASSERT_TRUE(future) << future.error();
  auto done = future->wait();
  ASSERT_TRUE(done) << done.error();
  EXPECT_TRUE(future->ready() && future->wait());
  EXPECT_EQ(out[0], 0.0f);
  auto wrong = scale.prepareAsync(8, {x, out, 1000, {"NO", 1}});
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->wait().code(), TW_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(wrong->wait().code(), TW_ERROR_INVALID_ARGUMENT) << "again";
  EXPECT_EQ(scale.prepareAsync(8, {x, out, 1000}, {.threads = -1}).code(), TW_ERROR_INVALID_ARGUMENT);
  std::vector<Result<Future>> many;
  for (int block = 1; block <= 64; block *= 2)
    many.push_back(scale.prepareAsync(8, {x, out, 1000, {"BLOCK", block}}));
  many.back()->cancel();
  for (size_t i = 0; i + 1 < many.size(); ++i)
    EXPECT_TRUE(many[i]->wait());
  auto canceled = many.back()->wait();
  EXPECT_TRUE(canceled || canceled.code() == TW_ERROR_CANCELED) << canceled.error();
}

/// A preparation that compiled some of the configurations, and not all, has not succeeded.
TEST_F(Embed, CanceledPreparationsOfSeveralConfigurations) {
  Kernel tuned = kernel("tuned");
  Cancel cancel;
  std::atomic<int64_t> compiled{0};
  ASSERT_TRUE(onEvent([&](const Event &event) {
    if (event.kind == TW_EVENT_COMPILE_FINISHED && !event.failed) ++compiled, cancel.request();
  }));
  auto done = tuned.prepare(8, {x, out, 1000}, {.cancel = cancel});
  onEvent({});
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(done.code(), TW_ERROR_CANCELED) << done.error();
  EXPECT_TRUE(tuned.prepare(8, {x, out, 1000}));
}

TEST_F(Embed, LimitsOfUntrustedText) {
  auto launched = [&](const std::string &body, const Limits &limits) -> Result<void> {
    std::string text = "import triton\nimport triton.language as tl\n" + body;
    auto module = Module::fromSource(text, "/nowhere/untrusted.py", limits);
    if (!module) return Result<void>::failure(module.code(), module.error());
    auto kernel = module->kernel("k");
    if (!kernel) return Result<void>::failure(kernel.code(), kernel.error());
    return kernel->launch(1, {x});
  };
  const std::string plain = "@triton.jit\ndef k(x):\n    tl.store(x + tl.arange(0, 256), tl.arange(0, 256) * 1.0)\n";
  auto fine = launched(plain, {.textBytes = 1000, .evaluatorSteps = 10000, .tileElements = 256, .operations = 1000, .compileSeconds = 100});
  EXPECT_TRUE(fine) << fine.error();
  EXPECT_EQ(x[255], 255);
  EXPECT_EQ(launched(plain, {.textBytes = 50}).code(), TW_ERROR_LIMIT);
  auto tile = launched(plain, {.tileElements = 128});
  EXPECT_EQ(tile.code(), TW_ERROR_LIMIT);
  EXPECT_NE(tile.error().find("the limit of 128"), std::string::npos) << tile.error();
  EXPECT_EQ(launched(plain, {.operations = 3}).code(), TW_ERROR_LIMIT);
  EXPECT_EQ(launched(plain, {.compileSeconds = 1e-9}).code(), TW_ERROR_LIMIT);
  auto stores = [&](int factor, double seconds) { // the last step, the generation of code, takes most of the time
    std::string text = "@triton.jit\ndef k(x):\n    v = tl.program_id(0) * " + std::to_string(factor) + "\n";
    for (int i = 0; i < 900; ++i)
      text += "    tl.store(x + " + std::to_string(i) + ", v * " + std::to_string(i) + " * 1.0)\n";
    return launched(text, {.compileSeconds = seconds});
  };
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(stores(2, 1000));
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(stores(3, spent.count() / 3).code(), TW_ERROR_LIMIT);
  const std::string loops = "@triton.jit\ndef k(x):\n    for i in tl.static_range(1000):\n        tl.store(x, i * 1.0)\n";
  EXPECT_EQ(launched(loops, {.evaluatorSteps = 100}).code(), TW_ERROR_LIMIT);
  const std::string endless =
      "def f(n):\n    return f(n - 1) + f(n - 2) if n > 1 else 1\nN = f(60)\n@triton.jit\ndef k(x):\n    tl.store(x, N)\n";
  auto steps = launched(endless, {.evaluatorSteps = 10000});
  EXPECT_EQ(steps.code(), TW_ERROR_LIMIT) << steps.error();
  EXPECT_EQ(launched(plain, {.operations = -1}).code(), TW_ERROR_INVALID_ARGUMENT);
}

TEST_F(Embed, UntrustedTextReadsNoEnvironment) {
  ::setenv("TILEWRIGHT_TEST_SECRET", "secret", 1);
  for (const char *length :
       {"import os\nN = len(os.environ['TILEWRIGHT_TEST_SECRET'])\n", "from os import getenv\nN = len(getenv('TILEWRIGHT_TEST_SECRET'))\n"})
    for (bool denies : {false, true}) {
      std::string text =
          std::string("import triton\nimport triton.language as tl\n") + length + "@triton.jit\ndef k(x):\n    tl.store(x, N)\n";
      auto module = Module::fromSource(text, "k.py", Limits{.denyFiles = denies});
      ASSERT_TRUE(module) << module.error();
      x[0] = 0;
      auto done = module->kernel("k")->launch(1, {x});
      EXPECT_EQ(done.code(), denies ? TW_ERROR_KERNEL : TW_ERROR_NONE) << done.error();
      EXPECT_EQ(x[0], denies ? 0.0f : 6.0f);
    }
}

TEST_F(Embed, UntrustedTextReadsNoFiles) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("tilewright-embed-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::FILE *file = std::fopen((folder / "helper.py").c_str(), "w");
  std::fputs("VALUE = 7\n", file);
  std::fclose(file);
  const char *text = "import triton\nimport triton.language as tl\nimport helper\n@triton.jit\ndef k(x):\n    tl.store(x, helper.VALUE)\n";
  for (bool denies : {false, true}) {
    auto module = Module::fromSource(text, (folder / "kernel.py").string(), Limits{.denyFiles = denies});
    ASSERT_TRUE(module) << module.error();
    auto kernel = module->kernel("k");
    ASSERT_TRUE(kernel) << kernel.error();
    auto done = kernel->launch(1, {x});
    EXPECT_EQ(static_cast<bool>(done), !denies) << done.error();
    if (denies) EXPECT_EQ(done.code(), TW_ERROR_KERNEL) << done.error();
  }
  EXPECT_EQ(x[0], 7.0f);
  std::filesystem::remove_all(folder);
}

TEST_F(Embed, LargeAndDeepTexts) {
  std::string large = source; // 10 MB of comments and code after the kernels
  while (large.size() < 10'000'000)
    large += "# " + std::string(60, '-') + "\nunused = 1\n";
  auto module = Module::fromSource(large, "large.py");
  ASSERT_TRUE(module) << module.error();
  auto scale = module->kernel("scale");
  ASSERT_TRUE(scale) << scale.error();
  EXPECT_TRUE(scale->launch(8, {x, out, 1000}));
  for (const char *bracket : {"(", "[", "-", "not "}) {
    std::string deep = "X = ";
    for (int i = 0; i < 10'000; ++i)
      deep += bracket;
    deep += "1";
    for (int i = 0; i < 10'000; ++i)
      deep += *bracket == '(' ? ")" : *bracket == '[' ? "]" : "";
    auto nested = Module::fromSource(deep + "\n" + source, "deep.py");
    if (!nested) EXPECT_EQ(nested.code(), TW_ERROR_LIMIT) << nested.error();
    if (nested) EXPECT_TRUE(nested->kernel("scale")->launch(8, {x, out, 1000}));
  }
}

TEST_F(Embed, WrongTypesAndExtents) {
  Kernel scale = kernel("scale");
  EXPECT_EQ(scale.launch(8, {x, out, 1000, 2.5}).code(), TW_ERROR_INVALID_ARGUMENT) << "a float for an int32";
  EXPECT_EQ(scale.launch(8, {x, out}).code(), TW_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(scale.launch(8, {x, out, 1000, {"BLOCK", x}}).code(), TW_ERROR_INVALID_ARGUMENT);
  std::vector<float> small(10);
  auto outside = scale.launch(8, {x, small, 1000}, {.sanitize = true});
  EXPECT_EQ(outside.code(), TW_ERROR_EXECUTION) << outside.error();
  EXPECT_NE(outside.error().find("after the end of 'out_ptr'"), std::string::npos) << outside.error();
  EXPECT_EQ(scale.launch(8, {x.data(), out, 1000}, {.sanitize = true}).code(), TW_ERROR_INVALID_ARGUMENT) << "a pointer without its size";
  EXPECT_EQ(scale.launch(8, {x, out, 1000, {"BLOCK", 100}}, {.sanitize = true}).code(), TW_ERROR_KERNEL);
  EXPECT_EQ(scale.launch(-1, {x, out, 1000}, {.sanitize = true}).code(), TW_ERROR_INVALID_ARGUMENT);
}

/// Runs tasks on threads of its own.
class Threads : public Executor {
public:
  int64_t threads() const override { return count; }
  void run(int64_t tasks, const std::function<void(int64_t)> &task) override {
    ++runs;
    if (throws) throw std::runtime_error("no threads today");
    std::vector<std::thread> all;
    for (int64_t i = 0; i < (skips ? 0 : tasks); ++i)
      all.emplace_back([&, i] { task(i); });
    for (std::thread &each : all)
      each.join();
  }
  int64_t count = 3, runs = 0;
  bool throws = false, skips = false;
};

TEST_F(Embed, ProgramsRunOnTheCallersThreads) {
  Kernel product = kernel("product");
  std::vector<float> a(64 * 64 * 8, 1.0f), c(64 * 64 * 8);
  Threads executor;
  auto done = product.launch(8, {a, c, 512}, {.executor = &executor});
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(executor.runs, 1);
  for (float value : c)
    ASSERT_EQ(value, 64.0f);
  executor.throws = true;
  auto thrown = product.launch(8, {a, c, 512}, {.executor = &executor});
  EXPECT_EQ(thrown.code(), TW_ERROR_CALLBACK) << thrown.error();
  executor.throws = false, executor.skips = true;
  auto skipped = product.launch(8, {a, c, 512}, {.executor = &executor});
  EXPECT_EQ(skipped.code(), TW_ERROR_CALLBACK);
  EXPECT_NE(skipped.error().find("did not run all programs of kernel 'product'"), std::string::npos) << skipped.error();
}

/// Short programs are handed out in growing chunks, which many tasks keep small.
TEST_F(Embed, ManyTasksShareShortPrograms) {
  Kernel scale = kernel("scale");
  constexpr int64_t n = 100'000, block = 64;
  std::vector<float> x(n, 2.0f), out(n);
  Threads executor;
  executor.count = 32;
  for (int64_t launch = 0; launch < 3; ++launch) {
    auto done = scale.launch((n + block - 1) / block, {x, out, n, {"BLOCK", block}}, {.executor = &executor});
    ASSERT_TRUE(done) << done.error();
  }
  EXPECT_GT(executor.runs, 0);
  EXPECT_EQ(std::count(out.begin(), out.end(), out[0]), n);
  EXPECT_NE(out[0], 0.0f);
}

/// Counts the bytes in use.
class CountingMemory : public std::pmr::memory_resource {
public:
  std::atomic<int64_t> used{0}, all{0};
  bool fails = false;

private:
  void *do_allocate(size_t bytes, size_t alignment) override {
    if (fails) throw std::bad_alloc();
    used += static_cast<int64_t>(bytes), all += static_cast<int64_t>(bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void *memory, size_t bytes, size_t alignment) override {
    used -= static_cast<int64_t>(bytes);
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

TEST_F(Embed, ScratchMemoryIsTheCallers) {
  Kernel product = kernel("product");
  std::vector<float> a(64 * 64 * 8, 1.0f), c(64 * 64 * 8);
  CountingMemory memory;
  Threads executor;
  for (Executor *threads : {static_cast<Executor *>(nullptr), static_cast<Executor *>(&executor)}) {
    memory.all = 0;
    auto done = product.launch(8, {a, c, 512}, {.threads = 2, .executor = threads, .scratch = &memory});
    ASSERT_TRUE(done) << done.error();
    EXPECT_GT(memory.all, 0);
    EXPECT_EQ(memory.used, 0);
    EXPECT_EQ(c[512 * 64 - 1], 64.0f);
  }
  memory.fails = true;
  auto failed = product.launch(8, {a, c, 512}, {.scratch = &memory});
  EXPECT_EQ(failed.code(), TW_ERROR_OUT_OF_MEMORY) << failed.error();
}

TEST_F(Embed, BadPointersAreReported) {
  Kernel scale = kernel("scale");
  Options checked{.checkPointers = true};
  EXPECT_TRUE(scale.launch(8, {x, out, 1000}, checked));
  float *nowhere = nullptr;
  auto null = scale.launch(8, {nowhere, out, 1000}, checked);
  EXPECT_EQ(null.code(), TW_ERROR_MEMORY);
  EXPECT_NE(null.error().find("kernel 'scale' cannot use 'x_ptr': it is null"), std::string::npos) << null.error();
  long page = ::sysconf(_SC_PAGESIZE);
  auto size = static_cast<size_t>(page);
  auto *memory = static_cast<float *>(::mmap(nullptr, 2 * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  auto readOnly = scale.launch(8, {x, memory, 1000}, checked);
  EXPECT_NE(readOnly.error().find("cannot use 'out_ptr': the memory at 0x"), std::string::npos) << readOnly.error();
  EXPECT_NE(readOnly.error().find("cannot be written"), std::string::npos) << readOnly.error();
  ASSERT_TRUE(scale.launch(8, {memory, out, 1000}, checked)) << "it may be read";
  ::munmap(reinterpret_cast<char *>(memory) + size, size);
  auto beyond = scale.launch(8, {std::span<const float>(memory, size / 2), out, 1000}, checked);
  EXPECT_EQ(beyond.code(), TW_ERROR_MEMORY);
  EXPECT_NE(beyond.error().find("no memory is mapped"), std::string::npos) << beyond.error();
  ::munmap(memory, size);
}

TEST_F(Embed, EvictsTheLeastRecentlyUsed) {
  Events events;
  Kernel scale = kernel("scale");
  ASSERT_TRUE(setCodeLimits(4, 0));
  int64_t evicted = codeUse().evicted;
  for (int factor = 0; factor < 12; ++factor) {
    ASSERT_TRUE(scale.launch(8, {x, out, 1000, {"BLOCK", 128}})); // stays in use
    ASSERT_TRUE(scale.launch(Grid(1), {x, out, 1, {"BLOCK", 1 << (factor % 6)}}));
    EXPECT_LE(codeUse().kernels, 4);
  }
  EXPECT_GT(codeUse().evicted, evicted);
  EXPECT_EQ(events[TW_EVENT_EVICTED], codeUse().evicted - evicted);
  int64_t compiled = events[TW_EVENT_COMPILE_FINISHED];
  ASSERT_TRUE(scale.launch(8, {x, out, 1000, {"BLOCK", 128}}));
  EXPECT_EQ(events[TW_EVENT_COMPILE_FINISHED], compiled) << "the one in use was not evicted";
  ASSERT_TRUE(setCodeLimits(0, 1)); // the bytes of no code: all is evicted
  EXPECT_EQ(codeUse().kernels, 0);
  ASSERT_TRUE(scale.launch(8, {x, out, 1000, {"BLOCK", 128}}));
  EXPECT_EQ(out[999], 4.0f);
  ASSERT_TRUE(setCodeLimits(0, 0));
  EXPECT_EQ(setCodeLimits(-1, 0).code(), TW_ERROR_INVALID_ARGUMENT);
}

TEST_F(Embed, EvictionWhileOthersLaunch) {
  Kernel scale = kernel("scale");
  ASSERT_TRUE(setCodeLimits(2, 0));
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> mine(1000);
      for (int i = 0; i < 8; ++i)
        wrong += !scale.launch(Grid(1000), {x, mine, 1000, {"BLOCK", 1 << ((i + t) % 5)}}) || mine[0] != 4.0f;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  ASSERT_TRUE(setCodeLimits(0, 0));
}

TEST_F(Embed, ShippedCache) {
  std::filesystem::path root = std::filesystem::temp_directory_path() / ("tilewright-shipped-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root);
  std::filesystem::permissions(root, std::filesystem::perms::owner_all);
  std::string product = root / "product", user = root / "user";
  ::setenv("TILEWRIGHT_CACHE", "1", 1);
  ::setenv("TILEWRIGHT_CACHE_DIR", product.c_str(), 1);
  ASSERT_TRUE(kernel("scale").prepare(8, {x, out, 1000}));
  ::setenv("TILEWRIGHT_CACHE_DIR", user.c_str(), 1);
  {
    Events events;
    ASSERT_TRUE(setShippedCache(product));
    ASSERT_TRUE(kernel("scale").launch(8, {x, out, 1000}));
    EXPECT_EQ(events[TW_EVENT_CACHE_HIT], 1);
    EXPECT_EQ(events[TW_EVENT_CACHE_MISS], 0);
    EXPECT_FALSE(std::filesystem::exists(user)) << "nothing was written";
    ASSERT_TRUE(setShippedCache(""));
    ASSERT_TRUE(kernel("scale").launch(8, {x, out, 1000}));
    EXPECT_EQ(events[TW_EVENT_CACHE_MISS], 1);
  }
  EXPECT_EQ(setShippedCache("/no/such/folder").code(), TW_ERROR_IO);
  ::chmod(product.c_str(), 0777);
  auto open = setShippedCache(product);
  EXPECT_EQ(open.code(), TW_ERROR_IO);
  EXPECT_NE(open.error().find("other users may write to it"), std::string::npos) << open.error();
  ::setenv("TILEWRIGHT_CACHE", "0", 1);
  ::unsetenv("TILEWRIGHT_CACHE_DIR");
  std::filesystem::remove_all(root);
}

// ---- failures of the caller's functions, and of memory

TEST_F(Embed, ExceptionsOfTheCallersFunctionsEndInErrors) {
  Kernel scale = kernel("scale"), tuned = kernel("tuned");
  auto grid = [](Meta) -> Grid { throw std::runtime_error("no grid today"); };
  auto done = scale.launch(grid, {x, out, 1000});
  EXPECT_EQ(done.code(), TW_ERROR_CALLBACK);
  EXPECT_NE(done.error().find("no grid today"), std::string::npos) << done.error();
  EXPECT_EQ(scale.prepare(grid, {x, out, 1000}).code(), TW_ERROR_CALLBACK);
  auto nothing = [](Meta) -> Grid { throw 42; };
  EXPECT_EQ(tuned.launch(nothing, {x, out, 1000}).code(), TW_ERROR_CALLBACK);
  ASSERT_TRUE(onEvent([](const Event &) { throw std::runtime_error("no logs today"); }));
  done = scale.launch(8, {x, out, 1000});
  EXPECT_TRUE(done) << done.error();
  onEvent({});
  EXPECT_EQ(out[999], 4.0f);
}

TEST_F(Embed, AnObserverCannotReplaceItself) {
  Kernel scale = kernel("scale"), count = kernel("count");
  std::vector<int32_t> numbers(16);
  std::atomic<int64_t> calls{0}, replaced{0};
  auto observer = [&](const Event &) {
    ++calls;
    replaced += onEvent({});
    EXPECT_TRUE(count.launch(1, {numbers})); // what it causes is not reported
  };
  ASSERT_TRUE(onEvent(observer));
  ASSERT_TRUE(scale.launch(8, {x, out, 1000}));
  EXPECT_TRUE(onEvent({}));
  EXPECT_GT(calls, 0);
  EXPECT_EQ(replaced, 0);
}

TEST_F(Embed, FailedAllocationsEndInErrors) {
  if (!OWN_OPERATOR_NEW) GTEST_SKIP() << "no allocation fails: the thread sanitizer defines operator new";
  TwError *error = nullptr;
  failsAllAllocations = true;
  EXPECT_EQ(twCancelNew(&error), nullptr);
  failsAllAllocations = false;
  EXPECT_EQ(twErrorCode(error), TW_ERROR_OUT_OF_MEMORY);
  EXPECT_STREQ(twErrorText(error), "out of memory\n");
  twErrorFree(error), error = nullptr;
  failsNextAllocation = true;
  EXPECT_EQ(twModuleFromSource(source, "a file with a name that needs memory.py", &error), nullptr);
  EXPECT_EQ(twErrorCode(error), TW_ERROR_OUT_OF_MEMORY);
  twErrorFree(error), error = nullptr;
  failsNextAllocation = true;
  error = twErrorNew("a text that is too long for the string object itself");
  EXPECT_EQ(twErrorCode(error), TW_ERROR_OUT_OF_MEMORY);
  twErrorFree(error), error = nullptr;
  failsNextAllocation = false;
  TwModule *module = twModuleFromSource(source, "embed.py", &error);
  EXPECT_NE(module, nullptr) << twErrorText(error);
  twModuleFree(module);
}

} // namespace
