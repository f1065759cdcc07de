// Bad input of calls: memory that an allocator must not return, texts with NUL characters, sizes out of range, texts of megabytes.

#include "tilewright/author.h"
#include "tilewright/embed.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cstdlib>

namespace {

using namespace tilewright;

const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, out_ptr, n, MODE: tl.constexpr = "a", BLOCK: tl.constexpr = 128):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

@triton.jit
def product(x_ptr, out_ptr):
    i = tl.arange(0, 64)
    a = tl.load(x_ptr + i[:, None] * 64 + i[None, :])
    tl.store(out_ptr + i[:, None] * 64 + i[None, :], tl.dot(a, tl.sort(a)))
)";

Kernel kernel(const std::string &name) {
  ::setenv("TILEWRIGHT_CACHE", "0", 1);
  return *Module::fromSource(source, "input.py")->kernel(name);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// What the caller's allocator returns: `shift` bytes after memory that is aligned, or null. Counts what is not released.
struct Memory {
  int64_t shift = 0;
  bool isNull = false, throws = false;
  std::atomic<int64_t> live{0};
  static void *allocate(void *self, int64_t bytes, int64_t alignment) {
    auto &memory = *static_cast<Memory *>(self);
    if (memory.throws) throw std::runtime_error("no memory today");
    if (memory.isNull) return nullptr;
    ++memory.live;
    size_t size = (static_cast<size_t>(bytes + memory.shift) + 63) / 64 * 64;
    return static_cast<char *>(std::aligned_alloc(static_cast<size_t>(alignment), size)) + memory.shift;
  }
  static void release(void *self, void *block, int64_t) {
    auto &memory = *static_cast<Memory *>(self);
    --memory.live;
    std::free(static_cast<char *>(block) - memory.shift);
  }
};

TEST(ApiInput, MemoryOfTheCallersAllocator) {
  TwModule *module = twModuleFromSource(source, "input.py", nullptr);
  TwKernel *product = twKernelFind(module, "product", nullptr);
  std::vector<float> x(64 * 64, 1.0f), out(64 * 64);
  TwArgument arguments[2] = {Arg(x).c(), Arg(out).c()};
  auto launched = [&](Memory &memory, int64_t programs, std::string &text) {
    TwAllocator allocator{sizeof allocator, &memory, Memory::allocate, Memory::release};
    TwOptions options{};
    options.size = sizeof options, options.allocator = &allocator;
    TwGrid grid{sizeof grid, {programs, 1, 1}, 1};
    TwError *error = nullptr;
    twLaunch(product, &grid, nullptr, nullptr, arguments, 2, &options, &error);
    text = twErrorText(error);
    TwErrorCode code = twErrorCode(error);
    twErrorFree(error);
    EXPECT_EQ(memory.live, 0);
    return code;
  };
  std::string text;
  for (int64_t programs : {1, 64}) {
    Memory good;
    EXPECT_EQ(launched(good, programs, text), TW_ERROR_NONE) << text;
    for (int64_t shift : {1, 8, 32}) {
      Memory misaligned{.shift = shift};
      EXPECT_EQ(launched(misaligned, programs, text), TW_ERROR_CALLBACK);
      EXPECT_TRUE(contains(text, "the allocator returns memory that is not aligned to 64 bytes")) << text;
    }
    Memory null{.isNull = true};
    EXPECT_EQ(launched(null, programs, text), TW_ERROR_OUT_OF_MEMORY) << text;
    Memory throwing{.throws = true};
    EXPECT_EQ(launched(throwing, programs, text), TW_ERROR_OUT_OF_MEMORY);
    EXPECT_TRUE(contains(text, "no memory today")) << text;
  }
  twKernelFree(product);
  twModuleFree(module);
}

TEST(ApiInput, CanceledPreparationsSpeakOfThemselves) {
  Kernel copy = kernel("copy");
  std::vector<float> x(128), out(128);
  Cancel cancel;
  cancel.request();
  auto first = copy.prepare(1, {x, out, 128}, {.cancel = cancel});
  EXPECT_EQ(first.code(), TW_ERROR_CANCELED);
  EXPECT_TRUE(contains(first.error(), "the compilation stops: it was canceled")) << first.error();
  ASSERT_TRUE(copy.prepare(1, {x, out, 128}));
  auto second = copy.prepare(1, {x, out, 128}, {.cancel = cancel});
  EXPECT_EQ(second.code(), TW_ERROR_CANCELED);
  EXPECT_TRUE(contains(second.error(), "preparing kernel 'copy' stops: it was canceled")) << second.error();
  EXPECT_FALSE(contains(second.error(), "launch")) << second.error();
  auto launch = copy.launch(1, {x, out, 128}, {.cancel = cancel});
  EXPECT_TRUE(contains(launch.error(), "the launch of kernel 'copy' stops: it was canceled")) << launch.error();
}

TEST(ApiInput, TextsWithNul) {
  const std::string nul("a\0b", 3);
  EXPECT_TRUE(contains(Module::fromSource(nul, "input.py").error(), "the source of the module contains a NUL character, at byte 1"));
  EXPECT_EQ(Module::fromSource(nul, "input.py").code(), TW_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(Module::fromSource(nul, "input.py", Limits()).error(), "the source of the module contains a NUL"));
  EXPECT_TRUE(contains(Module::fromSource(source, nul).error(), "the name of the module contains a NUL"));
  EXPECT_TRUE(contains(Module::fromFile(nul).error(), "the path of the module contains a NUL"));
  auto module = Module::fromSource(source, "input.py");
  EXPECT_TRUE(contains(module->kernel(std::string("copy\0", 5)).error(), "the name of the kernel contains a NUL"));
  std::vector<float> x(128), out(128);
  Kernel copy = kernel("copy");
  EXPECT_TRUE(copy.launch(1, {x, out, 128, std::string("a")}));
  auto done = copy.launch(1, {x, out, 128, nul});
  EXPECT_EQ(done.code(), TW_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(done.error(), "its text contains a NUL character")) << done.error();
}

TEST(ApiInput, SizesOutOfRange) {
  Kernel copy = kernel("copy");
  std::vector<float> x(128), out(128);
  auto refused = [&](Arg argument) {
    auto done = copy.launch(1, {argument, out, 128});
    EXPECT_EQ(done.code(), TW_ERROR_INVALID_ARGUMENT);
    return done.error();
  };
  EXPECT_TRUE(contains(refused(Arg(TW_F32, x.data(), SIZE_MAX)), "bytes"));
  EXPECT_TRUE(contains(refused(Arg(TW_F32, x.data(), size_t(INT64_MAX) + 1)), "its size is -"));
  for (int64_t bytes : {int64_t(-1), int64_t(-2), INT64_MIN})
    EXPECT_TRUE(contains(refused(onDevice(x.data(), 0, bytes)), "its size is -")) << bytes;
  TwArgument raw = Arg(x).c();
  for (int64_t bytes : {int64_t(-2), INT64_MIN}) {
    raw.bytes = bytes;
    TwModule *module = twModuleFromSource(source, "input.py", nullptr);
    TwKernel *found = twKernelFind(module, "copy", nullptr);
    TwGrid grid{sizeof grid, {1, 1, 1}, 1};
    TwError *error = nullptr;
    EXPECT_FALSE(twLaunch(found, &grid, nullptr, nullptr, &raw, 1, nullptr, &error));
    EXPECT_TRUE(contains(twErrorText(error), "its size is " + std::to_string(bytes) + " bytes"));
    twErrorFree(error), twKernelFree(found), twModuleFree(module);
  }
  auto *high = reinterpret_cast<float *>(UINTPTR_MAX - 63);
  EXPECT_TRUE(contains(refused(Arg(TW_F32, high, 256)), "which reach beyond the address space"));
}

TEST(ApiInput, SizesOfTensorsThatOverflow) {
  float value = 0;
  const int64_t large = int64_t(1) << 40;
  struct Shape {
    std::vector<int64_t> extents, strides;
  };
  for (const Shape &each :
       {Shape{{large, large}, {}}, Shape{{2}, {INT64_MAX}}, Shape{{INT64_MAX}, {}}, Shape{{1, 2}, {0, INT64_MAX / 4 + 1}}}) {
    static std::vector<int64_t> extents, strides;
    extents = each.extents, strides = each.strides;
    TwSubject subject{sizeof subject, nullptr, nullptr, nullptr, &value};
    subject.kernel = [](void *, const TwTensor *const *, size_t, TwError **) { return 1; };
    subject.inputs = [](void *context, uint64_t, const TwTensor **inputs, size_t *count, TwError **) {
      static TwTensor tensor;
      tensor = {
          sizeof tensor, "x", TW_F32, static_cast<int32_t>(extents.size()), extents.data(), strides.empty() ? nullptr : strides.data(),
          context,       0,   -1};
      *inputs = &tensor, *count = 1;
      return 1;
    };
    TwError *error = nullptr;
    EXPECT_EQ(twVerify(&subject, nullptr, &error), nullptr);
    EXPECT_TRUE(contains(twErrorText(error), "input x has more bytes than the address space")) << twErrorText(error);
    twErrorFree(error);
  }
}

TEST(ApiInput, ErrorTextsAreBounded) {
  const std::string large(10'000'000, 'x');
  auto isBounded = [](const std::string &text) {
    return text.size() < 70'000 && contains(text, "more bytes are left out)") && text.back() == '\n';
  };
  auto module = Module::fromSource(source, "input.py");
  EXPECT_TRUE(isBounded(module->kernel(large).error()));
  EXPECT_TRUE(isBounded(Module::fromFile("/" + large).error()));
  EXPECT_TRUE(isBounded(Module::fromSource("def (", large).error()));
  EXPECT_TRUE(isBounded(
      Module::fromSource("import triton\n@triton.jit\ndef k(x):\n    " + large + "(x)\n", "k.py")->kernel("k")->launch(1, {1}).error()));
  std::vector<float> x(128), out(128);
  EXPECT_TRUE(isBounded(kernel("copy").launch(1, {x, out, 128, {large.c_str(), 1}}).error()));
  EXPECT_TRUE(isBounded(kernel("copy").emit(large.c_str(), {x, out, 128}).error()));
  TwError *error = twErrorNew(large.c_str());
  EXPECT_LT(std::string(twErrorText(error)).size(), 70'000u);
  twErrorFree(error);
  std::string letters; // is not cut inside of a letter
  while (letters.size() < 200'000)
    letters += "\u00e4";
  error = twErrorNew(letters.c_str());
  std::string text = twErrorText(error);
  EXPECT_EQ(text.find(' ') % 2, 0u);
  twErrorFree(error);
}

TEST(ApiInput, EmitAndMeasureTakeContainers) {
  Kernel copy = kernel("copy");
  std::vector<float> x(128), out(128);
  std::vector<Arg> arguments{x, out, 128};
  auto listed = copy.emit("tt", {x, out, 128}), contained = copy.emit("tt", arguments),
       spanned = copy.emit("tt", std::span<const Arg>(arguments));
  ASSERT_TRUE(listed && contained && spanned) << listed.error();
  EXPECT_EQ(*listed, *contained);
  EXPECT_EQ(*listed, *spanned);
  EXPECT_TRUE(copy.prepare([](Meta meta) { return Grid(cdiv(meta["n"], 128)); }, arguments));
  auto measured = copy.measure(1, arguments, {.warmup = 1, .repeat = 5});
  EXPECT_TRUE(measured) << measured.error();
}

} // namespace
