// The C++ interface as a program outside sees it. headers.test compiles it with several compilers, which evaluate arguments in different
// orders, and with their warnings as errors. It prints what is not as it should be.
#include "tilewright/author.h"
#include "tilewright/tilewright.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tilewright;

static int failures = 0;

static void expect(bool isRight, const char *what, const std::string &text) {
  if (isRight) return;
  ++failures;
  std::printf("WRONG: %s: %s\n", what, text.c_str());
}

/// An error whose text holds `part`.
template <typename T> static void expectError(const Result<T> &result, const char *part, const char *what) {
  expect(!result && result.error().find(part) != std::string::npos, what, result ? "no error" : result.error());
}

static const char *const source = R"(
import triton
import triton.language as tl

@triton.jit
def scale(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.autotune(configs=[triton.Config({"B": b}) for b in (512, 1024, 2048)], key=["n"])
@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
    row = tl.exp(row - tl.max(row, 0))
    tl.store(y + tl.program_id(0) * n + at, row / tl.sum(row, 0), mask=at < n)

@triton.jit
def sums(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o, tl.load(o) + tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))

@triton.jit
def broken(x):
    tl.store(x, tl.zros((4,), tl.float32))
)";

static Kernel kernelOf(const char *name) {
  Result<Module> module = Module::fromSource(source, "kernels.py");
  expect(static_cast<bool>(module), "the source is read", module.error());
  return *module->kernel(name);
}

static void textsOfErrors() {
  expectError(Module::fromFile("nowhere.py"), "nowhere.py", "a file that is missing");
  expectError(Module::fromSource("def f(:\n", "bad.py"), "bad.py:1", "a syntax error");
  Result<Module> module = Module::fromSource(source, "kernels.py");
  expectError(module->kernel("scal"), "scal", "a kernel that is missing");
  std::vector<float> x(8);
  Kernel broken = kernelOf("broken");
  for (int i = 0; i < 2; ++i) // the kernel stays an error, and does no harm
    expectError(broken.launch(Grid(1), {x}), "did you mean", "a kernel that does not compile");
  expectError(kernelOf("scale").emit("elf", {x, x, 8, {"B", 8}}), "there is no stage 'elf'", "a stage that is missing");
}

static void constData() {
  Kernel scale = kernelOf("scale");
  std::vector<float> x(128, 1.f), o(128, 0.f);
  const std::vector<float> fixed(128, 3.f);
  const float *pointer = fixed.data();
  Result<void> reads = scale.launch(Grid(1), {fixed, o, 128, {"B", 128}});
  expect(reads && o[127] == 6, "a kernel that loads const data", reads.error());
  expect(static_cast<bool>(scale.launch(Grid(1), {std::span<const float>(fixed), o, 128, {"B", 128}})), "a const span", "");
  const char *readOnly = "writes to 'o', whose memory is read-only";
  expectError(scale.launch(Grid(1), {x, fixed, 128, {"B", 128}}), readOnly, "a store to a const vector");
  expectError(scale.launch(Grid(1), {x, pointer, 128, {"B", 128}}), readOnly, "a store to a pointer to const");
  expectError(scale.launch(Grid(1), {x, std::span<const float>(fixed), 128, {"B", 128}}), readOnly, "a store to a const span");
  expectError(scale.launch(Grid(1), {x, std::vector<float>(128), 128, {"B", 128}}), readOnly, "a store to a temporary");
  expectError(scale.launch(Grid(1), {x, {"o", fixed}, {"n", 128}, {"B", 128}}), readOnly, "a store to a const vector by name");
  expectError(scale.launch(Grid(1), {x, Arg(TW_F32, static_cast<const void *>(pointer), 512), 128, {"B", 128}}), readOnly,
              "a store to const memory of a type by number");
  for (float value : fixed)
    expect(value == 3, "const data is as it was", std::to_string(value));
}

static void gridFunctions() {
  Kernel scale = kernelOf("scale");
  std::vector<float> x(100, 1.f), o(100);
  auto wrong = [](Meta m) { return Grid(cdiv(m["n"], m["BLOCK"])); };
  expectError(scale.launch(wrong, {x, o, 100, {"B", 32}}), "reads 'BLOCK'", "a name that is missing");
  auto divides = [](Meta m) { return Grid(m["n"] / m["nn"]); };
  expectError(scale.launch(divides, {x, o, 100, {"B", 32}}), "reads 'nn'", "a division by what is missing");
  auto tensor = [](Meta m) { return Grid(m["x"]); };
  expectError(scale.launch(tensor, {x, o, 100, {"B", 32}}), "reads 'x'", "a tensor in place of a number");
  auto none = [](Meta m) { return Grid(cdiv(m["n"], 0)); };
  expectError(scale.launch(none, {x, o, 100, {"B", 32}}), "a grid has one to three extents", "a division by zero");
  auto asks = [](Meta m) { return Grid(cdiv(m["n"], m.has("BLOCK") ? m["BLOCK"] : m["B"])); };
  Result<void> done = scale.launch(asks, {x, o, 100, {"B", 32}});
  expect(done && o[99] == 2, "a function that asks first", done.error());
  static_assert(cdiv(7, 2) == 4 && cdiv(8, 2) == 4 && cdiv(0, 5) == 0 && cdiv(-3, 2) == -1 && cdiv(5, -2) == -1);
  static_assert(cdiv(std::numeric_limits<int64_t>::max(), 2) == (int64_t{1} << 62));
  expectError(scale.launch(Grid(-1), {x, o, 100, {"B", 32}}), "a grid has one to three extents", "a negative grid");
  expectError(kernelOf("softmax").launch([](Meta m) { return Grid(m["rows"]); }, {x, o, 10}), "reads 'rows'", "a tuned kernel's grid");
}

static void optionsAndArguments() {
  Kernel scale = kernelOf("scale");
  std::vector<float> x(64, 1.f), o(64);
  auto launch = [&](Options options) { return scale.launch(Grid(1), {x, o, 64, {"B", 64}}, options); };
  expectError(launch({.threads = -5}), "threads must be from 0", "threads below zero");
  expectError(launch({.threads = int64_t{1} << 40}), "threads must be from 0", "threads without number");
  expectError(launch({.numWarps = -4}), "numWarps must be from 0", "warps below zero");
  expectError(launch({.numStages = -1}), "numStages must be from 0", "stages below zero");
  expectError(launch({.numCtas = -1}), "numCtas must be from 0", "blocks below zero");
  expectError(launch({.maxRegisters = -1}), "maxRegisters must be from 0", "registers below zero");
  expectError(launch({.numWarps = 3}), "num_warps must be a power of 2", "three warps");
  expectError(scale.emit("tt", {x, o, 64, {"B", 64}}, {.threads = -5}), "threads must be from 0", "a text with threads below zero");
  expectError(scale.measure(Grid(1), {x, o, 64, {"B", 64}}, {.repeat = -1}), "repeat must be from 0", "a measurement below zero");
  expectError(scale.launch(Grid(1), {x, Arg(static_cast<TwType>(std::atoi("77")), o.data(), 256), 64, {"B", 64}}), "none of TwType",
              "a type");
  expectError(scale.launch(Grid(1), {x, onDevice(o.data(), -1), 64, {"B", 64}}), "its device is -1", "a device below zero");
  expectError(scale.launch(Grid(1), {x, static_cast<const char *>(nullptr), 64, {"B", 64}}), "its string is null", "a null string");
  expectError(scale.launch(Grid(1), {x, 1.5f, 64, {"B", 64}}), "error", "a number in place of a tensor");
  expectError(scale.launch(Grid(1), {x, o, 64}), "'B'", "a parameter without a value");
  expectError(scale.launch(Grid(1), {x, o, 64, {"C", 64}}), "'C'", "an unknown parameter");
  std::vector<float> empty;
  Result<void> nothing = scale.launch(Grid(0), {empty, empty, 0, {"B", 64}});
  expect(static_cast<bool>(nothing), "no programs and empty vectors", nothing.error());
  Result<void> masked = scale.launch(Grid(1), {empty, empty, 0, {"B", 64}});
  expect(static_cast<bool>(masked), "a program whose mask is off and empty vectors", masked.error());
}

static void handles() {
  Kernel scale = kernelOf("scale");
  Kernel moved = std::move(scale);
  std::vector<float> x(8, 1.f), o(8);
  expectError(scale.launch(Grid(1), {x, o, 8, {"B", 8}}), "there is no kernel", "a kernel that was moved from"); // NOLINT
  expectError(scale.emit("tt", {x, o, 8, {"B", 8}}), "there is no kernel", "its text");
  expectError(scale.measure(Grid(1), {x, o, 8, {"B", 8}}, {}), "there is no kernel", "its time");
  expect(static_cast<bool>(moved.launch(Grid(1), {x, o, 8, {"B", 8}})), "a kernel that was moved to", "");
  Result<Module> module = Module::fromSource(source, "kernels.py");
  Module other = std::move(*module);
  expectError(module->kernel("scale"), "there is no module", "a module that was moved from");
  expect(module->kernelNames().empty() && other.kernelNames().size() == 4, "kernels of modules", "");
  auto nothing = [](Tensors) {};
  auto report = verify(nothing, nothing, std::vector<Input>{{"x", x}}, VerifyOptions{});
  Report kept = std::move(*report);
  expect(kept.correct() && kept.size() > 0, "a report that was moved to", kept.text());
  expect(!report->correct() && report->size() == 0 && report->variant(0).outcome == TW_SKIPPED && !*report->text() && !*report->json() &&
             report->output(0, 0).rank == 0,
         "a report that was moved from", report->text());
  Result<Measurement> time = moved.measure(Grid(1), {x, o, 8, {"B", 8}}, {.repeat = 5});
  Measurement timed = std::move(*time);
  expect(timed.figures().seconds > 0 && time->figures().seconds == 0 && !*time->text() && !*time->json(),
         "a measurement that was moved from", "");
  Result<Module> failed = Module::fromFile("nowhere.py");
  std::string thrown;
  try {
    static_cast<void>(failed->kernel("scale"));
  } catch (const std::logic_error &error) {
    thrown = error.what();
  }
  expect(thrown.find("nowhere.py") != std::string::npos, "the value of an error", thrown);
}

static void warnings() {
  std::string reported;
  onWarning([&](const std::string &text) { reported += text; });
  Kernel softmax = kernelOf("softmax");
  std::vector<float> x(4000), y(4000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i));
  Result<void> done = softmax.launch(Grid(4), {x, y, 1000});
  expect(static_cast<bool>(done), "a tuned kernel", done.error());
  expect(reported.find("configurations of kernel 'softmax' disagree: 'B=512") != std::string::npos, "a wrong configuration is reported",
         reported);
  expect(reported.find("computes other results than 'B=1024") != std::string::npos, "and what it differs from", reported);
  float sum = 0;
  for (size_t i = 0; i < 1000; ++i)
    sum += y[i];
  expect(std::abs(sum - 1) < 1e-3f && y[999] > 0, "the right configuration wins", std::to_string(sum));
  reported.clear();
  expect(static_cast<bool>(softmax.launch(Grid(4), {x, y, 1000})) && reported.empty(), "it is reported once", reported);
  onWarning({});
}

static void races() {
  Kernel sums = kernelOf("sums");
  auto kernel = [&](Tensors t) { return sums.launch(cdiv(t[0].size(), 64), {t[0], t[1], t[0].size(), {"B", 64}}); };
  auto reference = [](Tensors t) {
    double sum = t[1].get({0});
    for (int64_t i = 0; i < t[0].size(); ++i)
      sum += t[0].get({i});
    t[1].set({0}, sum);
  };
  std::vector<Input> inputs{{"x", std::vector<float>(256, 1.f)}, {"o", std::vector<float>(1, 0.f)}};
  auto report = verify(kernel, reference, inputs, {.variants = asGiven});
  expect(report && !report->correct(), "a race is wrong", report ? report->text() : report.error());
  if (report) expect(std::string(report->text()).find("race: tt.") != std::string::npos, "a race is reported", report->text());
  if (report) expect(std::string(report->text()).find("kernels.py:21") != std::string::npos, "with its line", report->text());
  expectError(verify(kernel, reference, inputs, {.variants = 1u << 9}), "variants is 512", "variants without meaning");
  expectError(verify(kernel, reference, inputs, {.rtol = std::nan("")}), "rtol and atol", "a tolerance that is no number");
  expectError(verify(kernel, reference, inputs, {.device = -7}), "device is -7", "a device below zero");
}

int main() {
  textsOfErrors();
  constData();
  gridFunctions();
  optionsAndArguments();
  handles();
  warnings();
  races();
  std::puts(failures == 0 ? "all is as it should be" : "some of it is wrong");
  return failures != 0;
}
