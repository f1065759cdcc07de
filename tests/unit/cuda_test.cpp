// The runtime's half for GPUs, without one: a driver library made for the purpose records what it is asked.

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/maps.h"

#include "fake_cuda.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

FakeCuda &fake() {
  static FakeCuda *state = [] {
    void *library = ::dlopen(FAKE_CUDA, RTLD_NOW);
    return library ? reinterpret_cast<FakeCudaAccess>(::dlsym(library, "fakeCuda"))() : nullptr;
  }();
  return *state;
}

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("TILEWRIGHT_LIBCUDA", FAKE_CUDA, 1);
    ::unsetenv("TILEWRIGHT_LAUNCH_BLOCKING");
    ::unsetenv("CUDA_LAUNCH_BLOCKING");
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    fake() = {};
    fake().version = 13000;
    fake().deviceCount = 2;
    fake().major[0] = 9;
    fake().major[1] = 7;
    fake().registers = 40;
    fake().maxThreads = 1024;
  }
  GpuArtifact artifact() {
    GpuArtifact result;
    result.entry = "add";
    result.ptx = "//PTX of add";
    result.target = "sm_90a";
    result.slots = {SlotKind::pointer, SlotKind::i32};
    fake().parameterCount = 2;
    fake().parameterBytes[0] = 8;
    fake().parameterBytes[1] = 4;
    return result;
  }
  bool loads(GpuArtifact code) { return GpuKernel(std::move(code)).load(0, diagnostics); }
  /// The one error there is, by its row.
  testing::AssertionResult isError(Diag id, const char *part) {
    std::string text = diagnostics.render();
    bool good = diagnostics.all().size() == 1 && diagnostics.all()[0].id == id && text.find(part) != std::string::npos;
    diagnostics.clear();
    return good ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
  }
  Diagnostics diagnostics;
};

TEST_F(Cuda, DriverIsMissing) {
  EXPECT_FALSE(Driver::open("/nowhere/libcuda.so.1", diagnostics));
  EXPECT_TRUE(isError(Diag::cudaMissing, "/nowhere/libcuda.so.1"));
  EXPECT_FALSE(Driver::open("libm.so.6", diagnostics));
  EXPECT_TRUE(isError(Diag::cudaMissing, "libm.so.6 has no function cuInit"));
  fake().initStatus = 34;
  EXPECT_FALSE(Driver::open(FAKE_CUDA, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaMissing, "stub"));
  fake().initStatus = 999;
  EXPECT_FALSE(Driver::open(FAKE_CUDA, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaMissing, "error 999"));
}

TEST_F(Cuda, DriverIsTooOld) {
  fake().version = 11080;
  EXPECT_FALSE(Driver::open(FAKE_CUDA, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaTooOld, "CUDA 11.8, but at least 12.0"));
}

TEST_F(Cuda, MachineWithoutDriver) {
  auto run = [] {
    ::setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    Diagnostics once, twice;
    bool good = !CudaDevice::get(0, once) && !CudaDevice::get(0, twice) && cudaDeviceCount() == 0;
    good &= once.all().size() == 1 && twice.all().size() == 1 && twice.all()[0].id == Diag::cudaMissing;
    std::exit(good ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(Cuda, Devices) {
  const CudaDevice *device = CudaDevice::get(0, diagnostics);
  ASSERT_TRUE(device) << diagnostics.render();
  EXPECT_EQ(device, CudaDevice::get(0, diagnostics));
  EXPECT_EQ(device->name, "Fake H100");
  EXPECT_EQ(device->target.name, "sm_90a");
  EXPECT_EQ(device->multiprocessors, 132);
  EXPECT_EQ(device->sharedPerBlock, 232448);
  EXPECT_EQ(cudaDeviceCount(), 2);
  EXPECT_FALSE(CudaDevice::get(1, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaUnsupported, "Fake V100 (device 1) has compute capability 7.0"));
  EXPECT_FALSE(CudaDevice::get(2, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaNoDevice, "cannot use CUDA device 2: devices are numbered from 0 to 1"));
  EXPECT_FALSE(CudaDevice::get(-2, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaNoDevice, "cannot use CUDA device -2"));
}

TEST_F(Cuda, Launch) {
  GpuArtifact code = artifact();
  code.warps = 8;
  code.sharedBytes = 100000;
  GpuKernel kernel(code);
  uint64_t slots[] = {0x7f0000001000, uint64_t(-5)};
  void *stream = &slots;
  ASSERT_TRUE(kernel.launch({98, 2, 3}, slots, {0, stream}, diagnostics)) << diagnostics.render();
  EXPECT_STREQ(fake().entry, "add");
  EXPECT_STREQ(fake().image, "//PTX of add");
  EXPECT_EQ(fake().grid[0], 98u);
  EXPECT_EQ(fake().grid[2], 3u);
  EXPECT_EQ(fake().block[0], 256u);
  EXPECT_EQ(fake().block[1], 1u);
  EXPECT_EQ(fake().sharedBytes, 100000u);
  EXPECT_EQ(fake().functionAttributes[8], 100000); // the opt-in
  EXPECT_EQ(fake().stream, stream);
  EXPECT_EQ(fake().attributeCount, 0u);
  EXPECT_EQ(std::memcmp(fake().parameters[0], &slots[0], 8), 0);
  EXPECT_EQ(std::memcmp(fake().parameters[1], &slots[1], 4), 0);
  EXPECT_EQ(fake().contextAtLaunch, CudaDevice::get(0, diagnostics)->context);
  EXPECT_EQ(kernel.registers(), 40);
  EXPECT_EQ(fake().syncs, 0);
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_EQ(fake().loads, 1); // the second launch is warm
  EXPECT_EQ(fake().launches, 2);
}

TEST_F(Cuda, WarmLaunchesAreOneCall) {
  GpuKernel kernel(artifact());
  uint64_t slots[] = {0, 0};
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics)) << diagnostics.render();
  GpuLaunch programmatic;
  programmatic.programmaticLaunch = true;
  int before = fake().calls;
  for (int64_t i = 0; i < 5; ++i)
    ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, programmatic, diagnostics));
  EXPECT_EQ(fake().calls - before, 6);
  // A thread without a context gets one, once.
  fake().current = nullptr;
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics)) << diagnostics.render();
  EXPECT_EQ(fake().current, CudaDevice::get(0, diagnostics)->context);
  before = fake().calls;
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_EQ(fake().calls - before, 1);
}

// The rest of the process keeps its first device, so another one needs a process.
TEST_F(Cuda, CodeForAnOlderDevice) {
  auto opens = [this](const char *target, int version, const char *name, const char *message) {
    ::setenv("TILEWRIGHT_GPU_TARGET", target, 1);
    fake().version = version;
    const CudaDevice *device = CudaDevice::get(0, diagnostics);
    bool good = device ? device->target.name == name : diagnostics.render().find(message) != std::string::npos && !*name;
    if (!good) std::fputs(diagnostics.render().c_str(), stderr);
    std::exit(good ? 0 : 1);
  };
  auto succeeds = testing::ExitedWithCode(0);
  EXPECT_EXIT(opens("", 13000, "sm_90a", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_80", 13000, "sm_80", ""), succeeds, "");
  EXPECT_EXIT(opens("89", 12040, "sm_89", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_99", 13000, "", "TILEWRIGHT_GPU_TARGET is 'sm_99', whose code Fake H100 does not run"), succeeds, "");
  // A driver may take the code of older devices and not that of its own.
  EXPECT_EXIT(opens("", 12030, "", "it supports CUDA 12.3, but at least 12.4 is needed"), succeeds, "");
  EXPECT_EXIT(opens("sm_80", 12030, "sm_80", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_90", 13000, "sm_90", ""), succeeds, "");
  fake().major[0] = 12; // newer than Hopper
  EXPECT_EXIT(opens("", 13000, "sm_120a", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_80", 13000, "sm_80", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_90", 13000, "sm_90", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_90a", 13000, "", "TILEWRIGHT_GPU_TARGET is 'sm_90a'"), succeeds, "");
  fake().major[0] = 21; // newer than this compiler
  EXPECT_EXIT(opens("", 13000, "sm_120", ""), succeeds, "");
  fake().major[0] = 8;
  EXPECT_EXIT(opens("sm_90a", 13000, "", "TILEWRIGHT_GPU_TARGET is 'sm_90a'"), succeeds, "");
  EXPECT_EXIT(opens("sm_75", 12000, "sm_75", ""), succeeds, "");
  fake().major[0] = 7, fake().minor[0] = 5;
  EXPECT_EXIT(opens("", 12000, "sm_75", ""), succeeds, "");
  EXPECT_EXIT(opens("sm_80", 13000, "", "TILEWRIGHT_GPU_TARGET is 'sm_80'"), succeeds, "");
}

TEST_F(Cuda, OtherContextsComeBack) {
  GpuKernel kernel(artifact());
  uint64_t slots[] = {0, 0};
  int other;
  fake().current = &other;
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_EQ(fake().contextAtLaunch, CudaDevice::get(0, diagnostics)->context);
  EXPECT_EQ(fake().current, &other);
}

TEST_F(Cuda, LaunchAttributes) {
  GpuArtifact code = artifact();
  code.ctas = 2;
  GpuLaunch launch;
  launch.cooperative = launch.programmaticLaunch = true;
  uint64_t slots[] = {0, 0};
  GpuKernel pairs(code);
  ASSERT_TRUE(pairs.launch({5, 1, 1}, slots, launch, diagnostics)) << diagnostics.render();
  EXPECT_EQ(fake().grid[0], 10u);
  ASSERT_EQ(fake().attributeCount, 3u);
  EXPECT_EQ(fake().attributeIds[0], 4);
  EXPECT_EQ(fake().attributeValues[0][0], 2u);
  EXPECT_EQ(fake().attributeValues[0][1], 1u);
  EXPECT_EQ(fake().attributeValues[0][2], 1u);
  EXPECT_EQ(fake().attributeIds[1], 2);
  EXPECT_EQ(fake().attributeIds[2], 6);
  EXPECT_EQ(fake().attributeValues[2][0], 1u);
  EXPECT_EQ(fake().functionAttributes[14], 0);
  code.ctas = 16;
  EXPECT_TRUE(loads(code));
  EXPECT_EQ(fake().functionAttributes[14], 1);
}

TEST_F(Cuda, RefusesGridsAndSlots) {
  GpuKernel kernel(artifact());
  uint64_t slots[] = {0, 0};
  EXPECT_FALSE(kernel.launch({1, 65536, 1}, slots, {}, diagnostics));
  EXPECT_TRUE(isError(Diag::badGrid, "extent 1 of the grid is 65536, and a GPU takes up to 65535"));
  EXPECT_FALSE(kernel.launch({1, 1, 1}, {slots, 1}, {}, diagnostics));
  EXPECT_TRUE(isError(Diag::slotMismatch, "2 run-time values, but 1"));
  EXPECT_EQ(fake().launches, 0);
}

TEST_F(Cuda, OutOfResources) {
  GpuArtifact code = artifact();
  code.sharedBytes = 300000;
  EXPECT_FALSE(loads(code));
  EXPECT_TRUE(isError(Diag::outOfResources, "out of resource: shared memory, Required: 300000, Hardware limit: 232448"));
  EXPECT_EQ(fake().loads, 0); // found before anything is assembled
  code.sharedBytes = 232000;
  fake().staticShared = 1000;
  EXPECT_FALSE(loads(code));
  EXPECT_TRUE(isError(Diag::outOfResources, "shared memory, Required: 233000"));
  EXPECT_EQ(fake().unloads, 1);
  code = artifact();
  code.warps = 33;
  EXPECT_FALSE(loads(code));
  EXPECT_TRUE(isError(Diag::outOfResources, "threads, Required: 1056, Hardware limit: 1024"));
  code.warps = 16;
  fake().staticShared = 0;
  fake().registers = 255;
  fake().maxThreads = 256;
  EXPECT_FALSE(loads(code));
  EXPECT_TRUE(isError(Diag::outOfResources, "registers, Required: 130560, Hardware limit: 65536"));
}

TEST_F(Cuda, CodeThatDoesNotLoad) {
  fake().ptxStatus = 218;
  fake().errorLog = "ptxas fatal: line 3\n";
  EXPECT_FALSE(loads(artifact()));
  EXPECT_NE(diagnostics.render().find("cannot assemble the GPU code of kernel "), std::string::npos);
  EXPECT_TRUE(isError(Diag::assemblerFailed, "ptxas fatal: line 3"));
  fake().ptxStatus = 222;
  EXPECT_FALSE(loads(artifact()));
  EXPECT_TRUE(isError(Diag::cudaTooOld, "CUDA 13.0"));
  // A cubin that the driver does not take is made again from the PTX.
  fake().ptxStatus = 0;
  fake().cubinStatus = 209;
  fake().infoLog = "ptxas info : Used 60 registers\n    8 bytes stack frame, 24 bytes spill stores, 16 bytes spill loads\n";
  GpuArtifact code = artifact();
  code.cubin = "\x7f"
               "ELF";
  GpuKernel kernel(code);
  EXPECT_TRUE(kernel.load(0, diagnostics)) << diagnostics.render();
  EXPECT_STREQ(fake().image, "//PTX of add");
  EXPECT_EQ(kernel.spillBytes(), 24);
  code = artifact();
  code.entry = "absent";
  EXPECT_FALSE(loads(code));
  EXPECT_TRUE(isError(Diag::cudaFailed, "'absent' failed: error 500"));
}

TEST_F(Cuda, LateErrorsNameTheLaunch) {
  GpuKernel kernel(artifact());
  kernel.setSlotNames({"x_ptr=*fp32", "n=i32"});
  uint64_t slots[] = {0x1000, 98432};
  ASSERT_TRUE(kernel.launch({98, 1, 1}, slots, {}, diagnostics));
  fake().syncStatus = 700;
  EXPECT_FALSE(CudaDevice::get(0, diagnostics)->synchronize(diagnostics));
  EXPECT_TRUE(isError(Diag::cudaFault,
                      "an illegal memory access was encountered, reported after the launch of `add` grid (98, 1, 1) x_ptr=*fp32 "
                      "0x1000, n=i32 98432"));
  // The next launch gets the error of the one before it.
  fake().launchStatus = 700;
  slots[1] = 5;
  EXPECT_FALSE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaFault, "n=i32 98432"));
  fake().launchStatus = 1;
  EXPECT_FALSE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_TRUE(isError(Diag::cudaFailed, "the launch of kernel 'add' failed: CUDA_ERROR_INVALID_VALUE: invalid argument"));
}

TEST_F(Cuda, BlockingLaunchesWait) {
  auto run = [this] {
    ::setenv("TILEWRIGHT_LAUNCH_BLOCKING", "1", 1);
    GpuKernel kernel(artifact());
    uint64_t slots[] = {0x1000, 7};
    bool good = kernel.launch({1, 1, 1}, slots, {}, diagnostics) && fake().syncs == 1;
    fake().capturing = 1; // waiting would end the capture
    good &= kernel.launch({1, 1, 1}, slots, {}, diagnostics) && fake().syncs == 1;
    fake().capturing = 0;
    fake().syncStatus = 700;
    slots[1] = 8;
    good &= !kernel.launch({4, 1, 1}, slots, {}, diagnostics) && isError(Diag::cudaFault, "`add` grid (4, 1, 1) 0x1000, 8");
    std::exit(good ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(Cuda, Times) {
  std::optional<GpuTime> found = CudaDevice::get(0, diagnostics)->time(nullptr, [] { return true; }, diagnostics);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->seconds, 2.5e-3, 1e-9);
  EXPECT_FALSE(found->waited);
  fake().eventsAreDone = 1; // the start event is done before the work is enqueued
  EXPECT_TRUE(CudaDevice::get(0, diagnostics)->time(nullptr, [] { return true; }, diagnostics)->waited);
  EXPECT_FALSE(CudaDevice::get(0, diagnostics)->time(nullptr, [] { return false; }, diagnostics));
}

// a[M, K] of bf16 with strides (K, 1), in boxes of 128 x 64.
TensorMapSpec matrix() {
  TensorMapSpec spec;
  spec.baseSlot = 0;
  spec.element = MapElement::bf16;
  spec.elementBytes = 2;
  spec.dims = {HostExpr::slot(2), HostExpr::slot(1)};
  spec.strides = {HostExpr::slot(2)};
  spec.box = {64, 128};
  spec.swizzle = 128;
  return spec;
}

TEST_F(Cuda, TensorMapsAreEncodedOnce) {
  GpuArtifact code = artifact();
  code.slots = {SlotKind::pointer, SlotKind::i32, SlotKind::i32};
  code.maps = {matrix()};
  fake().parameterCount = 4;
  fake().parameterBytes[2] = 4;
  fake().parameterBytes[3] = 128;
  GpuKernel kernel(code);
  uint64_t slots[] = {0x10000, 100, 256};
  for (int64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics)) << diagnostics.render();
  EXPECT_EQ(fake().encodes, 1);
  EXPECT_EQ(fake().mapType, 9u);
  EXPECT_EQ(fake().mapRank, 2u);
  EXPECT_EQ(fake().mapAddress, 0x10000u);
  EXPECT_EQ(fake().mapDims[0], 256u);
  EXPECT_EQ(fake().mapDims[1], 100u);
  EXPECT_EQ(fake().mapStrides[0], 512u);
  EXPECT_EQ(fake().mapBox[0], 64u);
  EXPECT_EQ(fake().mapBox[1], 128u);
  EXPECT_EQ(fake().mapSwizzle, 3u);
  EXPECT_EQ(fake().parameters[3][0], 1); // the fake's map: its number in every byte
  EXPECT_EQ(fake().parameters[3][127], 1);
  slots[0] = 0x20000;
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_EQ(fake().encodes, 2);
  slots[0] = 0x10000;
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_EQ(fake().encodes, 2);
  EXPECT_EQ(fake().parameters[3][0], 1);
  fake().current = nullptr; // as in a thread whose first use of the device is this launch
  slots[0] = 0x40000;
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics)) << diagnostics.render();
  EXPECT_EQ(fake().encodes, 3);
  slots[0] = 0x10008;
  EXPECT_FALSE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_TRUE(isError(Diag::tensorMapRefused, "TMA cannot access the tensor 'argument 0': its address is not a multiple of 16 bytes"));
  slots[0] = 0x30000;
  fake().encodeStatus = 1;
  EXPECT_FALSE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_TRUE(isError(Diag::tensorMapRefused, "CUDA_ERROR_INVALID_VALUE"));
  fake().encodeStatus = 0; // what was refused is not remembered
  ASSERT_TRUE(kernel.launch({1, 1, 1}, slots, {}, diagnostics));
  EXPECT_EQ(fake().encodes, 5);
}

TEST_F(Cuda, GuardsAreChecked) {
  GpuArtifact code = artifact();
  code.slots = {SlotKind::pointer, SlotKind::i32, SlotKind::i32, SlotKind::pointer};
  code.maps = {matrix()};
  code.guards = {{"k >= 0", {{BoundNode::Kind::slot, 2, 0}}, 0, INT64_MAX, -1, -1}, {"a and c do not overlap", {}, 0, 0, 0, 3}};
  GpuKernel kernel(code);
  uint64_t slots[] = {0x10000, 100, 256, 0x80000};
  int64_t bytes[] = {100 * 256 * 2, 0, 0, 64};
  auto broken = [&] {
    FailedGuardNames names = kernel.guardsFailedBy({1, 1, 1}, slots, bytes, 0);
    return names ? *names : std::vector<std::string>();
  };
  EXPECT_TRUE(broken().empty());
  EXPECT_TRUE(broken().empty());
  slots[2] = 0xffffff00; // -256, as the kernel reads it
  EXPECT_EQ(broken(), (std::vector<std::string>{"k >= 0"}));
  EXPECT_EQ(broken(), (std::vector<std::string>{"k >= 0"})); // what was broken is not remembered as kept
  slots[2] = 256;
  slots[3] = 0x10000 + 100 * 256 * 2 - 1;
  EXPECT_EQ(broken(), (std::vector<std::string>{"a and c do not overlap"}));
  bytes[3] = 0; // and the driver does not say either
  slots[3] = 0x80000;
  EXPECT_EQ(broken(), (std::vector<std::string>{"a and c do not overlap"}));
  bytes[3] = 64;
  slots[2] = 17; // rows of 34 bytes: the hardware has no such map
  EXPECT_EQ(broken(), (std::vector<std::string>{mapGuardName(0)}));
}

// The same numbers with another tensor: what is said of an address is looked at again.
TEST_F(Cuda, GuardsOfAddresses) {
  GpuArtifact code = artifact();
  code.slots = {SlotKind::pointer, SlotKind::i32};
  std::vector<BoundNode> remainder = {{BoundNode::Kind::slot, 0, 0}, {BoundNode::Kind::range, 8, 8}, {BoundNode::Kind::remainder, 0, 1}};
  code.guards = {{"a is a multiple of 8", remainder}};
  GpuKernel kernel(code);
  for (uint64_t address : {0x10008, 0x10004, 0x10008, 0x10010, 0x10001}) {
    uint64_t slots[] = {address, 100};
    EXPECT_EQ(kernel.guardsFailedBy({1, 1, 1}, slots, {}, 0) != nullptr, address % 8 != 0) << address;
  }
}

TEST(HostExpr, Evaluates) {
  uint64_t slots[] = {3, 5, uint64_t(-2)};
  HostExpr expr;
  EXPECT_EQ(expr.evaluate(slots), 0);
  expr.terms = {{3, {0, 1}}, {64, {}}, {1, {2, 2, 2}}};
  EXPECT_EQ(expr.evaluate(slots), 45 + 64 - 8);
  EXPECT_EQ(HostExpr(7).evaluate({}), 7);
  EXPECT_EQ(HostExpr::slot(2, 10).evaluate(slots), -20);
}

TEST(TensorMap, Arguments) {
  uint64_t slots[] = {0x10000, 100, 256};
  auto problem = [&](const TensorMapSpec &spec) {
    Result<TensorMapArguments> result = tensorMapArguments(spec, slots);
    return result ? std::string() : result.error();
  };
  TensorMapSpec spec = matrix();
  EXPECT_EQ(problem(spec), "");
  spec.baseOffset = HostExpr::slot(2, 8);
  spec.dims[1] = MapDim::withoutBound();
  spec.nanFill = true;
  Result<TensorMapArguments> result = tensorMapArguments(spec, slots);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->address, 0x10000u + 8 * 256 * 2);
  EXPECT_EQ(result->dims[1], uint64_t(INT32_MAX) + 1);
  EXPECT_EQ(result->fill, 1u);

  // The stride of a single row is of no meaning, and need not be legal.
  spec = matrix();
  slots[2] = 17;
  EXPECT_NE(problem(spec).find("stride of dimension 1 (innermost first) is 34"), std::string::npos);
  slots[1] = 1;
  EXPECT_EQ(problem(spec), "");
  slots[1] = 100;
  // Empty: one element, in memory of the launcher's.
  for (uint64_t extent : {uint64_t(-8), uint64_t(0)}) {
    slots[2] = extent;
    result = tensorMapArguments(spec, slots);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->address, 0u);
    EXPECT_EQ(result->dims[0], 1u);
    EXPECT_EQ(result->dims[1], 1u);
    EXPECT_EQ(result->strides[0], 16u);
  }
  slots[2] = 256;
  spec.strides = {HostExpr::slot(2, -1)};
  EXPECT_NE(problem(spec).find("stride of dimension 1 (innermost first) is -512, and must be a multiple of 16 bytes, from 0"),
            std::string::npos);
  spec.strides = {HostExpr::slot(2)};
  spec.box = {128, 128};
  EXPECT_NE(problem(spec).find("no more than its swizzle"), std::string::npos);
  spec = matrix();
  slots[1] = INT32_MAX;
  EXPECT_NE(problem(spec).find("the extent of dimension 1 (innermost first) is 2147483647, and must be at most"), std::string::npos);
  slots[1] = 100;
  spec.box = {64, 257};
  EXPECT_NE(problem(spec).find("1 to 256"), std::string::npos);
  spec.box = {4, 8};
  EXPECT_NE(problem(spec).find("a multiple of 16"), std::string::npos);
  spec.box = {64};
  EXPECT_NE(problem(spec), "");
  spec = matrix();
  spec.swizzle = 48;
  EXPECT_NE(problem(spec), "");
  spec.dims.clear();
  EXPECT_NE(problem(spec), "");
}

TEST(TensorMap, ArgumentsOfPaddedPairs) {
  uint64_t slots[] = {0x10000, 100, 256};
  TensorMapSpec spec = matrix();
  spec.element = MapElement::paddedPairs;
  spec.elementBytes = 1;
  Result<TensorMapArguments> result = tensorMapArguments(spec, slots);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->dataType, 14u);
  EXPECT_EQ(result->dims[0], 512u); // numbers
  EXPECT_EQ(result->box[0], 128u);
  EXPECT_EQ(result->strides[0], 256u); // bytes
  auto problem = [&] {
    Result<TensorMapArguments> now = tensorMapArguments(spec, slots);
    return now ? std::string() : now.error();
  };
  slots[0] = 0x10010;
  EXPECT_NE(problem().find("the address of a map of 4-bit numbers with padding is 65552, and must be a multiple of 32 bytes"),
            std::string::npos);
  slots[0] = 0x10000;
  slots[2] = 32;
  EXPECT_NE(problem().find("the inner extent of a map of 4-bit numbers with padding is 64, and must be a multiple of 128"),
            std::string::npos);
  slots[2] = 256;
  spec.strides = {HostExpr(272)};
  EXPECT_NE(problem().find("a stride of a map of 4-bit numbers with padding is 272"), std::string::npos);
  slots[1] = 1; // a single row: its stride is of no meaning
  EXPECT_EQ(problem(), "");
  slots[1] = 0; // empty
  EXPECT_EQ(problem(), "");
  spec = matrix();
  spec.element = MapElement::paddedPairs;
  spec.elementBytes = 1;
  slots[1] = 100;
  spec.box = {32, 128};
  EXPECT_NE(problem().find("the inner extent of the box of a map of 4-bit numbers with padding is 64, and must be 128"), std::string::npos);
  spec.box = {64, 128};
  spec.swizzle = 64;
  EXPECT_NE(problem().find("no more than its swizzle"), std::string::npos);
}

TEST(AssemblerLog, IsRead) {
  AssemblerReport report = readAssemblerLog("ptxas info    : Compiling entry function 'add' for 'sm_90a'\n"
                                            "    0 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
                                            "ptxas info    : Used 168 registers, used 1 barriers\n"
                                            "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialized\n");
  EXPECT_EQ(report.registers, 168);
  EXPECT_EQ(report.spillBytes, 12);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("C7510"), std::string::npos);
  EXPECT_EQ(readAssemblerLog("").registers, -1);
}

} // namespace
