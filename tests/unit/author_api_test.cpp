// The kernel author's bench from C++, as a program outside sees it: only the installed headers and libtilewright.

#include "tilewright/author.h"

#include "fake_cuda.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>

using tilewright::Input;
using tilewright::Tensors;
using Done = tilewright::Result<void>;

namespace {

const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * step, mask=at < n) + tl.load(y_ptr + at * step, mask=at < n)
    tl.store(out_ptr + at * step, x, mask=at < n)

@triton.jit
def flags(x_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at * step, tl.load(x_ptr + at * step, mask=at < n, other=0.0) > 0, mask=at < n)

@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, B: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B)[:, None], tl.program_id(1) * B + tl.arange(0, B)[None, :]
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        row, column = start + tl.arange(0, B)[None, :], start + tl.arange(0, B)[:, None]
        a = tl.load(a_ptr + m * am + row * ak, mask=(m < M) & (row < K), other=0.0)
        b = tl.load(b_ptr + column * bk + n * bn, mask=(column < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m * cm + n * cn, total, mask=(m < M) & (n < N))

@triton.jit
def halve(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    while tl.max(x, 0) > 1:
        x = x * 0.5
    tl.store(out_ptr + tl.arange(0, N), x)
)";

class Author : public testing::Test {
protected:
  static void SetUpTestSuite() { ::setenv("TILEWRIGHT_CACHE", "0", 1); }
  tilewright::Kernel kernel(const std::string &name) {
    auto module = tilewright::Module::fromSource(source, "author.py");
    EXPECT_TRUE(module) << module.error();
    auto kernel = module->kernel(name);
    EXPECT_TRUE(kernel) << kernel.error();
    return *kernel;
  }
  tilewright::Kernel add = kernel("add");

  /// All programs that n elements need, but for `missing` of them.
  Done addAll(Tensors t, int64_t missing = 0) {
    int64_t n = t[0].size();
    return add.launch(std::max<int64_t>(tilewright::cdiv(n, 256) - missing, 0), {t[0], t[1], t[2], n, t[0].strides()[0], {"BLOCK", 256}});
  }
  static void sums(Tensors t) {
    for (int64_t i = 0; i < t[0].size(); ++i)
      t[2].set({i}, t[0].get({i}) + t[1].get({i}));
  }
  template <typename T = float> static std::vector<Input> inputs(int64_t n = 2048) {
    return {Input::normal<T>("x", {n}, 1), Input::normal<T>("y", {n}, 2), Input::output<T>("out", {n})};
  }
};

std::vector<std::string> outcomes(const tilewright::Report &report) {
  const char *names[] = {"right", "wrong", "refused", "skipped"};
  std::vector<std::string> found;
  for (size_t i = 0; i < report.size(); ++i)
    found.push_back(report.variant(i).name + std::string(": ") + names[report.variant(i).outcome]);
  return found;
}

TEST_F(Author, RightForAllVariants) {
  auto report = tilewright::verify([&](Tensors t) { return addAll(t); }, sums, inputs());
  ASSERT_TRUE(report) << report.error();
  EXPECT_TRUE(report->correct()) << report->text();
  std::vector<std::string> all{"as given: right", "every second element: right", "2048 -> 0: right", "2048 -> 1: right",
                               "2048 -> 2047: right"};
  EXPECT_EQ(outcomes(*report), all);
  EXPECT_EQ(std::string(report->json()).find("{\"correct\":true,\"max_abs_diff\":0"), 0u) << report->json();
}

TEST_F(Author, AllTypes) {
  auto check = [&](auto tag) {
    using T = decltype(tag);
    auto report = tilewright::verify([&](Tensors t) { return addAll(t); }, sums, inputs<T>(300));
    ASSERT_TRUE(report) << report.error();
    EXPECT_TRUE(report->correct()) << report->text();
  };
  check(tilewright::half{}), check(tilewright::bfloat16{}), check(double{}), check(int8_t{}), check(int16_t{}), check(int32_t{});
  check(int64_t{}), check(uint8_t{});
}

TEST_F(Author, ElementsThatNobodyWrote) {
  auto report = tilewright::verify([&](Tensors t) { return addAll(t, t[0].size() % 256 ? 1 : 0); }, sums, inputs());
  ASSERT_TRUE(report) << report.error();
  EXPECT_FALSE(report->correct());
  ASSERT_STREQ(report->variant(4).name, "2048 -> 2047");
  TwOutput out = report->output(4, 0);
  EXPECT_STREQ(out.name, "out");
  EXPECT_EQ(out.unwritten, 255);
  EXPECT_EQ(out.firstUnwritten[0], 1792);
  EXPECT_EQ(out.kernel, nullptr);
  EXPECT_NE(std::string(report->text()).find("255 elements are never written: [1792], [1793]"), std::string::npos) << report->text();
  // To an integer every pattern is a number, so two are tried.
  auto integers = tilewright::verify([&](Tensors t) { return addAll(t, 1); }, sums, inputs<int8_t>(), {.variants = tilewright::odd});
  ASSERT_TRUE(integers) << integers.error();
  EXPECT_EQ(integers->output(0, 0).unwritten, 255);
}

TEST_F(Author, Booleans) {
  tilewright::Kernel flags = kernel("flags");
  auto launch = [&](Tensors t) {
    return flags.launch(tilewright::cdiv(t[0].size(), 64), {t[0], t[1], t[0].size(), t[0].strides()[0], {"BLOCK", 64}});
  };
  auto reference = [](Tensors t) {
    for (int64_t i = 0; i < t[0].size(); ++i)
      t[1].set({i}, t[0].get({i}) > 0);
  };
  std::vector<Input> given{Input::normal<float>("x", {300}, 1), Input::output<bool>("out", {300})};
  auto report = tilewright::verify(launch, reference, given);
  ASSERT_TRUE(report) << report.error();
  EXPECT_TRUE(report->correct()) << report->text();
}

TEST_F(Author, TheWorstElementAndItsProgram) {
  auto almost = [](Tensors t) {
    sums(t);
    if (t[0].size() > 1000) t[2].set({1000}, t[2].get({1000}) + 1);
  };
  auto report = tilewright::verify([&](Tensors t) { return addAll(t); }, almost, inputs(), {.variants = tilewright::asGiven});
  ASSERT_TRUE(report) << report.error();
  TwOutput out = report->output(0, 0);
  EXPECT_EQ(out.wrong, 1);
  ASSERT_TRUE(out.worst);
  EXPECT_EQ(out.worst[0], 1000);
  EXPECT_EQ(out.rank, 1u);
  EXPECT_FLOAT_EQ(static_cast<float>(out.expected - out.value), 1);
  EXPECT_STREQ(out.kernel, "add");
  EXPECT_EQ(out.program[0], 3);
  auto lenient = tilewright::verify([&](Tensors t) { return addAll(t); }, almost, inputs(), {.atol = 2});
  ASSERT_TRUE(lenient) << lenient.error();
  EXPECT_TRUE(lenient->correct()) << lenient->text();
}

TEST_F(Author, WritesOutsideOfTensors) {
  auto report = tilewright::verify(
      [&](Tensors t) {
        int64_t n = t[0].size();
        return add.launch(tilewright::cdiv(n, 256), {t[0], t[1], t[2], (n + 255) / 256 * 256, t[0].strides()[0], {"BLOCK", 256}});
      },
      sums, inputs());
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->variant(0).outcome, TW_RIGHT);
  EXPECT_NE(std::string(report->variant(4).details).find("the kernel writes outside of out (float32[2047])"), std::string::npos)
      << report->text();
}

TEST_F(Author, StridesThatAreIgnored) {
  auto report = tilewright::verify(
      [&](Tensors t) { return add.launch(tilewright::cdiv(t[0].size(), 256), {t[0], t[1], t[2], t[0].size(), 1, {"BLOCK", 256}}); }, sums,
      inputs());
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->variant(0).outcome, TW_RIGHT);
  EXPECT_EQ(report->variant(1).outcome, TW_WRONG);
}

TEST_F(Author, AnInputThatIsChanged) {
  auto report = tilewright::verify(
      [&](Tensors t) {
        Done done = addAll(t);
        t[0].set({0}, 7);
        return done;
      },
      sums, inputs(), {.variants = tilewright::asGiven});
  ASSERT_TRUE(report) << report.error();
  EXPECT_NE(std::string(report->text()).find("x: 1 of 2048 elements are wrong; the worst is [0]: 7.0"), std::string::npos)
      << report->text();
}

TEST_F(Author, RefusalsAndReferencesThatFail) {
  auto multiples = [&](Tensors t) { return t[0].size() % 256 ? Done::failure("multiples of 256 alone") : addAll(t); };
  auto report = tilewright::verify(multiples, sums, inputs(), {.variants = tilewright::asGiven | tilewright::odd});
  ASSERT_TRUE(report) << report.error();
  EXPECT_TRUE(report->correct());
  EXPECT_EQ(report->variant(1).outcome, TW_REFUSED);
  EXPECT_STREQ(report->variant(1).details, "the kernel fails: multiples of 256 alone");
  auto never = tilewright::verify([](Tensors) { return Done::failure("not today"); }, sums, inputs());
  ASSERT_TRUE(never);
  EXPECT_FALSE(never->correct());
  auto picky = [](Tensors t) { return t[0].size() == 2048 ? sums(t), Done() : Done::failure("2048 alone"); };
  auto skipped =
      tilewright::verify([&](Tensors t) { return addAll(t); }, picky, inputs(), {.variants = tilewright::asGiven | tilewright::odd});
  ASSERT_TRUE(skipped) << skipped.error();
  EXPECT_EQ(skipped->variant(1).outcome, TW_SKIPPED);
  auto broken = tilewright::verify([&](Tensors t) { return addAll(t); }, [](Tensors) { return Done::failure("no data"); }, inputs());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error(), "the reference fails: no data");
}

TEST_F(Author, InputsThatCannotBeUsed) {
  auto kernel = [&](Tensors t) { return addAll(t); };
  std::vector<float> three(3);
  auto unfit = tilewright::verify(kernel, sums, std::vector<Input>{{"x", three, {2, 2}}});
  ASSERT_FALSE(unfit);
  EXPECT_NE(unfit.error().find("'x': the number of elements does not match its extents"), std::string::npos) << unfit.error();
  // By the C interface, whose inputs may be anything.
  std::vector<float> memory(8);
  int64_t extent = 4, step = 1, negative = -4;
  auto failure = [&](TwTensor first, TwTensor second) {
    TwTensor given[] = {first, second};
    TwSubject subject{sizeof(TwSubject), [](void *, const TwTensor *const *, size_t, TwError **) { return 1; }, nullptr,
                      [](void *context, uint64_t, const TwTensor **inputs, size_t *count, TwError **) {
                        *inputs = static_cast<const TwTensor *>(context), *count = 2;
                        return 1;
                      },
                      given};
    TwError *error = nullptr;
    EXPECT_EQ(twVerify(&subject, nullptr, &error), nullptr);
    EXPECT_EQ(twErrorCode(error), TW_ERROR_VERIFY);
    return tilewright::detail::failed<void>(error).error();
  };
  TwTensor plain{sizeof(TwTensor), "x", TW_F32, 1, &extent, &step, memory.data(), 0, -1}, overlapping = plain, wrong = plain;
  overlapping.data = memory.data() + 3, overlapping.name = nullptr;
  EXPECT_EQ(failure(plain, overlapping),
            "inputs x and tensor 1 share memory; a write to one would change the other: give each its own memory");
  wrong.shape = &negative;
  EXPECT_EQ(failure(plain, wrong), "input x has a negative extent");
  wrong = plain, wrong.strides = &negative;
  EXPECT_EQ(failure(wrong, plain), "input x has a negative stride");
  wrong = plain, wrong.type = static_cast<TwType>(99);
  EXPECT_EQ(failure(wrong, plain), "input x has a type that is none of TwType");
  wrong = plain, wrong.size = 0;
  EXPECT_EQ(failure(wrong, plain), "input 0: the size of a TwTensor is 0: set it to sizeof(TwTensor)");
}

TEST(AuthorInput, NullsHaveNoElements) {
  float value = 1;
  int64_t one = 1, zero = 0;
  TwTensor tensor{sizeof(TwTensor), "x", TW_F32, 1, &one, &one, &value, 4, -1};
  twTensorSet(nullptr, &zero, 2);
  twTensorSet(&tensor, nullptr, 2);
  EXPECT_TRUE(std::isnan(twTensorGet(nullptr, &zero)) && std::isnan(twTensorGet(&tensor, nullptr)));
  EXPECT_EQ(twTensorGet(&tensor, &zero), 1);
  tensor.data = nullptr;
  twTensorSet(&tensor, &zero, 2);
  EXPECT_TRUE(std::isnan(twTensorGet(&tensor, &zero)));
}

TEST_F(Author, FreshInputsForEachVariant) {
  std::vector<uint64_t> seeds;
  auto make = [&](uint64_t seed) {
    seeds.push_back(seed);
    return inputs();
  };
  auto options = tilewright::VerifyOptions{.variants = tilewright::asGiven | tilewright::odd, .seed = 40};
  ASSERT_TRUE(tilewright::verify([&](Tensors t) { return addAll(t); }, sums, make, options));
  EXPECT_EQ(seeds, (std::vector<uint64_t>{40, 40, 41}));
}

TEST_F(Author, IndicesAreNotCutOff) {
  tilewright::Kernel own = add;
  std::vector<Input> given{{"x", std::vector<int32_t>(64, 63)}, {"y", std::vector<int32_t>(64, 1)}, Input::output<int32_t>("out", {64})};
  auto report = tilewright::verify([&](Tensors t) { return addAll(t); }, sums, given, {.variants = tilewright::odd});
  ASSERT_TRUE(report) << report.error();
  EXPECT_STREQ(report->variant(0).details, "integers among the inputs may be indices out of its range");
}

struct Products {
  tilewright::Kernel kernel;
  Done operator()(Tensors t) const {
    auto [a, b, c] = std::tuple(t[0], t[1], t[2]);
    int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
    return kernel.launch(
        tilewright::Grid(tilewright::cdiv(m, 16), tilewright::cdiv(n, 16)),
        {a, b, c, m, n, k, a.strides()[0], a.strides()[1], b.strides()[0], b.strides()[1], c.strides()[0], c.strides()[1], {"B", 16}});
  }
  static std::vector<Input> inputs(uint64_t seed) {
    return {Input::normal<float>("a", {64, 32}, seed), Input::normal<float>("b", {32, 48}, seed + 1), Input::output<float>("c", {64, 48})};
  }
};

TEST_F(Author, AgainstTheInterpreter) {
  auto report = tilewright::verify(Products{kernel("product")}, tilewright::interpreter, Products::inputs);
  ASSERT_TRUE(report) << report.error();
  EXPECT_TRUE(report->correct()) << report->text();
  EXPECT_EQ(report->size(), 3u + 3 * 3 + 1) << report->text();
  // Only products of float32 may be as inexact as this.
  EXPECT_EQ(report->output(0, 0).rtol, 1e-3);
  // It stops where a kernel reads or writes outside of a tensor: there is nothing to compare with, then.
  auto outside = [&](Tensors t) {
    return add.launch(tilewright::cdiv(t[0].size(), 256), {t[0], t[1], t[2], t[0].size() + 1, t[0].strides()[0], {"BLOCK", 256}});
  };
  auto stopped = tilewright::verify(outside, tilewright::interpreter, inputs(1000));
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().find("after the end of 'x_ptr'"), std::string::npos) << stopped.error();
}

TEST_F(Author, SanitizedLaunchesOfEmptyTensors) {
  std::vector<float> nothing;
  auto done = add.launch(tilewright::Grid(1), {nothing, nothing, nothing, 0, 1, {"BLOCK", 32}}, {.sanitize = true});
  EXPECT_TRUE(done) << done.error();
  auto outside = add.launch(tilewright::Grid(1), {nothing, nothing, nothing, 1, 1, {"BLOCK", 32}}, {.sanitize = true});
  EXPECT_FALSE(outside);
}

// ---- measuring

TEST_F(Author, MeasuresALaunch) {
  std::vector<float> x(1 << 16, 1), y(1 << 16, 2), out(1 << 16);
  auto measured = add.measure(tilewright::Grid(256), {x, y, out, x.size(), 1, {"BLOCK", 256}}, {.warmup = 2, .repeat = 9});
  ASSERT_TRUE(measured) << measured.error();
  TwFigures found = measured->figures();
  EXPECT_EQ(found.count, 9u);
  EXPECT_GT(found.low, 0);
  EXPECT_LE(found.low, found.seconds);
  EXPECT_LE(found.seconds, found.high);
  EXPECT_EQ(found.bytes, 3 * 4 * (1 << 16));
  EXPECT_EQ(found.operations, 1 << 16);
  EXPECT_DOUBLE_EQ(found.bytesPerSecond, static_cast<double>(found.bytes) / found.seconds);
  EXPECT_GT(found.peakBytesPerSecond, 0);
  EXPECT_DOUBLE_EQ(found.fractionOfPeak, found.bytesPerSecond / found.peakBytesPerSecond);
  EXPECT_TRUE(found.isBoundByMemory);
  EXPECT_EQ(found.referenceSeconds, 0);
  EXPECT_EQ(out[65535], 3);
  EXPECT_EQ(measured->roofline("add").find("<svg"), 0u);
  EXPECT_NE(std::string(measured->text()).find("GB/s of"), std::string::npos);
  // A grid function, and launches that cannot be measured.
  auto grid = [](tilewright::Meta meta) { return tilewright::Grid(tilewright::cdiv(meta["n"], meta["BLOCK"])); };
  EXPECT_TRUE(add.measure(grid, {x, y, out, x.size(), 1, {"BLOCK", 256}}, {.repeat = 5, .warmCaches = true}));
  auto unknown = add.measure(grid, {x.data(), y, out, 1, 1, {"BLOCK", 256}}, {});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("the size of 'x_ptr'"), std::string::npos) << unknown.error();
  auto wrong = add.measure(grid, {x, y, out, 1, 1, {"BLOCK", 100}}, {});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().find("power of"), std::string::npos) << wrong.error();
}

// The driver here computes nothing, and says that everything takes 2.5 ms.
TEST_F(Author, MeasuresOnGpus) {
  void *library = ::dlopen(FAKE_CUDA, RTLD_NOW);
  ASSERT_TRUE(library);
  FakeCuda &fake = *reinterpret_cast<FakeCudaAccess>(::dlsym(library, "fakeCuda"))();
  ::setenv("TILEWRIGHT_LIBCUDA", FAKE_CUDA, 1);
  auto *x = reinterpret_cast<float *>(0x10000), *out = reinterpret_cast<float *>(0x20000);
  auto there = [](float *pointer) { return tilewright::onDevice(pointer, 0, 1 << 20); };
  auto measured =
      add.measure(tilewright::Grid(1024), {there(x), there(x), there(out), 1 << 18, 1, {"BLOCK", 256}}, {.warmup = 1, .repeat = 5});
  ASSERT_TRUE(measured) << measured.error();
  TwFigures found = measured->figures();
  EXPECT_FLOAT_EQ(static_cast<float>(found.seconds), 2.5e-3f);
  EXPECT_EQ(found.bytes, 2 << 20);
  // Tilewright's own kernels measure the GPU's peaks.
  EXPECT_FLOAT_EQ(static_cast<float>(found.peakBytesPerSecond), 2.0f * (1 << 30) / 2.5e-3f);
  EXPECT_GT(found.peakOperationsPerSecond, 0);
  EXPECT_FALSE(add.measure(tilewright::Grid(1), {tilewright::onDevice(x), there(x), there(out), 4, 1, {"BLOCK", 256}}, {}));
  // Host code is verified there as well. This driver leaves memory unwritten.
  auto report = tilewright::verify([&](Tensors t) { return addAll(t); }, sums, inputs(), {.device = 0, .variants = tilewright::asGiven});
  ASSERT_TRUE(report) << report.error();
  EXPECT_FALSE(report->correct());
  EXPECT_EQ(fake.grid[0], 8u) << report->text();
  auto missing = tilewright::verify([&](Tensors t) { return addAll(t); }, sums, inputs(), {.device = 7});
  EXPECT_FALSE(missing);
  ::unsetenv("TILEWRIGHT_LIBCUDA");
}

TEST_F(Author, CountsLoopsThatDependOnData) {
  tilewright::Kernel halve = kernel("halve");
  std::vector<float> x(16, 8), out(16);
  auto measured = halve.measure(tilewright::Grid(1), {x, out, {"N", 16}}, {.warmup = 1, .repeat = 5});
  ASSERT_TRUE(measured) << measured.error();
  EXPECT_EQ(measured->figures().operations, 4 * 15 + 3 * 16);
}

TEST_F(Author, ComparesWithAReference) {
  Products products{kernel("product")};
  auto reference = [](Tensors t) {
    for (int64_t i = 0; i < t[0].shape()[0]; ++i)
      for (int64_t j = 0; j < t[1].shape()[1]; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < t[0].shape()[1]; ++k)
          sum += t[0].get({i, k}) * t[1].get({k, j});
        t[2].set({i, j}, sum);
      }
  };
  auto measured = tilewright::bench(products, reference, Products::inputs, {.warmup = 1, .repeat = 7});
  ASSERT_TRUE(measured) << measured.error();
  TwFigures found = measured->figures();
  EXPECT_EQ(found.operations, 2 * 64 * 32 * 48);
  EXPECT_EQ(found.bytes, 4 * (64 * 32 + 32 * 48 + 64 * 48));
  EXPECT_GT(found.referenceSeconds, 0);
  EXPECT_NE(std::string(measured->json()).find("\"speedup\":"), std::string::npos);
  auto same = tilewright::compare(*measured, *measured);
  ASSERT_TRUE(same) << same.error();
  EXPECT_EQ(same->result, 0);
  EXPECT_EQ(same->ratio, 1);
  // What is wrong is not measured.
  auto wrong = tilewright::bench(products, [](Tensors t) { t[2].set({0, 0}, 1e9); }, Products::inputs);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().find("only a correct kernel is measured"), 0u) << wrong.error();
  auto alone = tilewright::bench(products, tilewright::interpreter, Products::inputs, {.warmup = 1, .repeat = 5});
  ASSERT_TRUE(alone) << alone.error();
  EXPECT_EQ(alone->figures().referenceSeconds, 0);
  TwChange change{};
  TwError *error = nullptr;
  EXPECT_EQ(twCompare("{}", "nonsense", &change, &error), 0);
  EXPECT_NE(tilewright::detail::failed<void>(error).error().find("has no results"), std::string::npos);
}

} // namespace
