// Loading object code and launching it.

#include "runtime/kernel.h"
#include "support/files.h"
#include "support/half.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cmath>
#include <cstring>

using namespace tilewright;

namespace {

std::string sampleObject() {
  Result<std::string> bytes = readFile(SAMPLE_OBJECT);
  if (bytes) return *bytes;
  ADD_FAILURE() << SAMPLE_OBJECT << ": " << bytes.error();
  return "";
}

std::shared_ptr<CompiledKernel> sample(const std::string &entry, std::vector<SlotKind> slots) {
  CpuArtifact artifact;
  artifact.entry = entry;
  artifact.object = sampleObject();
  artifact.arenaBytes = 100;
  artifact.slots = std::move(slots);
  Diagnostics diagnostics;
  return CompiledKernel::load(std::move(artifact), diagnostics);
}

TEST(Loader, RefusesWhatIsNoObject) {
  std::string error;
  EXPECT_FALSE(LoadedObject::load("", error));
  EXPECT_FALSE(error.empty());
  EXPECT_FALSE(LoadedObject::load("\x7f"
                                  "ELF and nothing else",
                                  error));
  std::string object = sampleObject();
  EXPECT_FALSE(LoadedObject::load(object.substr(0, object.size() / 2), error));
}

TEST(Loader, FindsSymbols) {
  std::string error;
  std::shared_ptr<LoadedObject> object = LoadedObject::load(sampleObject(), error);
  ASSERT_TRUE(object) << error;
  EXPECT_TRUE(object->lookup("sample_kernel"));
  EXPECT_FALSE(object->lookup("no_such_symbol"));
}

TEST(Loader, IsQuick) {
  std::string bytes = sampleObject(), error;
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(LoadedObject::load(bytes, error));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("microsecondsPerLoad", std::to_string(seconds * 1e4));
  std::printf("%.1f us a load\n", seconds * 1e4);
}

TEST(Launch, RunsTheGrid) {
  std::shared_ptr<CompiledKernel> kernel = sample("sample_kernel", {SlotKind::pointer, SlotKind::pointer, SlotKind::f32});
  ASSERT_TRUE(kernel);
  std::vector<float> x(1000, 1.5f), out(1000, 0);
  float scale = 2;
  uint64_t slots[3] = {reinterpret_cast<uint64_t>(out.data()), reinterpret_cast<uint64_t>(x.data()), 0};
  std::memcpy(&slots[2], &scale, 4);
  Diagnostics diagnostics;
  for (int64_t threads : {0, 1, 4}) {
    std::fill(out.begin(), out.end(), 0.0f);
    ASSERT_TRUE(kernel->launch(Grid(250, 2, 2), slots, threads, diagnostics));
    for (float value : out)
      ASSERT_NEAR(value, 5.0f, 1e-5);
  }
}

TEST(Launch, ChecksTheGrid) {
  std::shared_ptr<CompiledKernel> kernel = sample("nothing_kernel", {});
  ASSERT_TRUE(kernel);
  Diagnostics diagnostics;
  EXPECT_TRUE(kernel->launch(Grid(0), {}, 0, diagnostics));
  EXPECT_TRUE(kernel->launch(Grid(5, 0, INT32_MAX), {}, 0, diagnostics));
  EXPECT_TRUE(kernel->launch(Grid(5), {}, 0, diagnostics));
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_FALSE(kernel->launch(Grid(-1), {}, 0, diagnostics));
  EXPECT_FALSE(kernel->launch(Grid(int64_t(1) << 31), {}, 0, diagnostics));
  EXPECT_FALSE(kernel->launch(Grid(INT32_MAX, INT32_MAX, INT32_MAX), {}, 0, diagnostics));
  uint64_t slot = 0;
  EXPECT_FALSE(kernel->launch(Grid(1), slot, 0, diagnostics));
  EXPECT_EQ(diagnostics.all().size(), 4u);
}

TEST(Launch, SaysWhatItLacks) {
  CpuArtifact artifact;
  artifact.entry = "no_such_kernel";
  artifact.object = sampleObject();
  Diagnostics diagnostics;
  EXPECT_FALSE(CompiledKernel::load(artifact, diagnostics));
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, Diag::loadFailed);
  EXPECT_EQ(diagnostics.all()[0].message, "cannot load the code of kernel 'no_such_kernel': it has no symbol 'no_such_kernel'");
  diagnostics.clear();
  artifact.entry = "nothing_kernel";
  artifact.arenaBytes = int64_t(1) << 60;
  std::shared_ptr<CompiledKernel> kernel = CompiledKernel::load(artifact, diagnostics);
  ASSERT_TRUE(kernel);
  uint64_t slot = 0;
  EXPECT_FALSE(kernel->launch(Grid(1), slot, 0, diagnostics));
  EXPECT_FALSE(kernel->launch(Grid(1), {}, 0, diagnostics));
  ASSERT_EQ(diagnostics.all().size(), 2u);
  EXPECT_EQ(diagnostics.all()[0].id, Diag::slotMismatch);
  EXPECT_EQ(diagnostics.all()[1].id, Diag::noArena);
  EXPECT_EQ(diagnostics.all()[1].message.substr(0, 21), "cannot allocate the 1");
}

TEST(Launch, GuardFails) {
  CpuArtifact artifact;
  artifact.entry = "nothing_kernel";
  artifact.object = sampleObject();
  artifact.slots = {SlotKind::pointer, SlotKind::i32};
  artifact.guards = {{"n*program_id(0) >= 0",
                      {{BoundNode::Kind::slot, 1, 0}, {BoundNode::Kind::program, 0, 0}, {BoundNode::Kind::product, 0, 1}},
                      0,
                      INT64_MAX,
                      -1,
                      -1}};
  Diagnostics diagnostics;
  std::shared_ptr<CompiledKernel> kernel = CompiledKernel::load(artifact, diagnostics);
  ASSERT_TRUE(kernel);
  uint64_t slots[] = {0, 5};
  EXPECT_TRUE(kernel->launch(Grid(3), slots, 0, diagnostics));
  slots[1] = 0xfffffffb;                                       // -5
  EXPECT_TRUE(kernel->launch(Grid(1), slots, 0, diagnostics)); // of program 0 it holds
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_FALSE(kernel->launch(Grid(3), slots, 0, diagnostics)); // there is no source for another version
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, Diag::guardFailed);
  EXPECT_EQ(diagnostics.all()[0].message, "the code of kernel 'nothing_kernel' assumes that n*program_id(0) >= 0, which does not "
                                          "hold for this launch: argument 1 is -5, the grid is 3 x 1 x 1");
}

TEST(Launch, IsCheap) {
  std::shared_ptr<CompiledKernel> kernel = sample("nothing_kernel", {});
  Diagnostics diagnostics;
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < 10000; ++i)
    kernel->launch(Grid(64), {}, 0, diagnostics);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.3f us a launch\n", seconds * 100);
}

TEST(Half, RoundsAsIeeeDoes) {
  EXPECT_EQ(halfBits(1.0), 0x3c00);
  EXPECT_EQ(halfBits(65504), 0x7bff);
  EXPECT_EQ(halfBits(65519.99), 0x7bff);
  EXPECT_EQ(halfBits(65520), 0x7c00);
  EXPECT_EQ(halfBits(-0.0), 0x8000);
  EXPECT_EQ(halfBits(0x1p-24), 1);
  EXPECT_EQ(halfBits(0x1p-25), 0);
  EXPECT_EQ(halfBits(0x1.8p-25), 1);
  EXPECT_EQ(halfBits(2049), halfBits(2048)); // a tie, to even
  EXPECT_EQ(halfBits(2051), halfBits(2052));
  for (int64_t bits = 0; bits < 65536; ++bits) {
    float value = halfValue(static_cast<uint16_t>(bits));
    if (value != value) {
      EXPECT_EQ(halfBits(value) & 0x7c00, 0x7c00);
      continue;
    }
    ASSERT_EQ(halfBits(value), bits);
  }
  EXPECT_EQ(bfloatBits(1.0), 0x3f80);
  EXPECT_EQ(bfloatBits(1.0 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bfloatBits(1.0 + 0x1p-8 + 0x1p-40), 0x3f81); // a float would have lost the last bit
}

TEST(Launch, PlacesLaunches) {
  JitFunction kernel;
  kernel.name = "add";
  for (const char *name : {"x", "y", "n"})
    kernel.parameters.emplace_back().name = name;
  float host[4];
  auto on = [&](int64_t device) { return Argument::pointer(host, Scalar::fp32, 16, device); };
  Diagnostics diagnostics;
  LaunchOptions options;
  options.device = 2;
  Argument number = Argument::integer(4);
  EXPECT_TRUE(chooseDevice(kernel, {number, number, number}, options, diagnostics));
  EXPECT_EQ(options.device, 2) << "nothing says where: it stays";
  EXPECT_TRUE(chooseDevice(kernel, {Argument::pointer(nullptr, Scalar::fp32, 0), number, number}, options, diagnostics));
  EXPECT_EQ(options.device, 2) << "nor does a null pointer";
  EXPECT_TRUE(chooseDevice(kernel, {on(1), on(1), number}, options, diagnostics));
  EXPECT_EQ(options.device, 1);
  EXPECT_TRUE(chooseDevice(kernel, {number, Argument::tuple({on(0), number}, {}), number}, options, diagnostics));
  EXPECT_EQ(options.device, 0);
  EXPECT_TRUE(chooseDevice(kernel, {on(-1), on(-1), number}, options, diagnostics));
  EXPECT_EQ(options.device, -1);
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_FALSE(chooseDevice(kernel, {on(0), on(1), number}, options, diagnostics));
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, Diag::mixedDevices);
  EXPECT_EQ(diagnostics.all()[0].message, "kernel 'add': 'x' is on CUDA device 0, but 'y' is on CUDA device 1");
}

} // namespace
