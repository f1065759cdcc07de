// Measures the time of a GPU launch from C++, compared with the driver's own function in the same process. The target `launch_gpu` of a
// release build links all of Tilewright, so that the program can be carried to a machine with a GPU. It prints one JSON object:
//
//   {"ours": 2.91, "raw": 2.55, "raw_attributes": 3.01}     median microseconds of one warm launch
//
// `raw` is cuLaunchKernel of an empty kernel, the minimal cost of a launch; `raw_attributes` the same by cuLaunchKernelEx with an
// attribute. All of them alternate.
#include "tilewright/tilewright.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <vector>

static int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// The few functions of the driver that are needed, by its own names.
struct Driver {
  struct Config {
    unsigned grid[3], block[3], sharedBytes;
    void *stream;
    void *attributes;
    unsigned attributeCount;
  };
  struct Attribute {
    int id;
    char padding[4];
    int value[16];
  };
  int (*cuInit)(unsigned);
  int (*cuDeviceGet)(int *, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuCtxSynchronize)();
  int (*cuMemAlloc)(void **, size_t);
  int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*cuLaunchKernelEx)(const Config *, void *, void **, void **);

  /// The name of what is missing, or null.
  const char *open() {
    const char *named = std::getenv("TILEWRIGHT_LIBCUDA");
    void *library = ::dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW);
    if (!library) return "libcuda.so.1";
    const char *missing = nullptr;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (!function) missing = name;
    };
    find(cuInit, "cuInit");
    find(cuDeviceGet, "cuDeviceGet");
    find(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    find(cuCtxSetCurrent, "cuCtxSetCurrent");
    find(cuCtxSynchronize, "cuCtxSynchronize");
    find(cuMemAlloc, "cuMemAlloc_v2");
    find(cuModuleLoadDataEx, "cuModuleLoadDataEx");
    find(cuModuleGetFunction, "cuModuleGetFunction");
    find(cuLaunchKernel, "cuLaunchKernel");
    find(cuLaunchKernelEx, "cuLaunchKernelEx");
    return missing;
  }
};

static const char emptyPtx[] = "//PTX\n.version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry empty(.param .u64 x, .param .u32 n) { ret; }\n";

int main() {
  Driver driver;
  if (const char *missing = driver.open()) return fail(std::string("there is no ") + missing);
  int device = 0;
  void *context = nullptr, *memory = nullptr, *code = nullptr, *function = nullptr;
  int state = driver.cuInit(0);
  if (!state) state = driver.cuDeviceGet(&device, 0);
  if (!state) state = driver.cuDevicePrimaryCtxRetain(&context, device);
  if (!state) state = driver.cuCtxSetCurrent(context);
  if (!state) state = driver.cuMemAlloc(&memory, 4096);
  if (!state) state = driver.cuModuleLoadDataEx(&code, emptyPtx, 0, nullptr, nullptr);
  if (!state) state = driver.cuModuleGetFunction(&function, code, "empty");
  if (state) return fail("the driver answers " + std::to_string(state));

  // A kernel runs where its tensors are, so this one gets a tensor that it does not use.
  auto module = tilewright::Module::fromSource("import triton\n\n@triton.jit\ndef empty_kernel(x_ptr, n):\n    pass\n", "launch_gpu");
  if (!module) return fail(module.error());
  auto kernel = module->kernel("empty_kernel");
  if (!kernel) return fail(kernel.error());

  auto *x = static_cast<float *>(memory);
  int n = 16;
  void *parameters[] = {&x, &n};
  Driver::Attribute attribute{6, {}, {1}}; // programmatic stream serialization
  Driver::Config config{{1, 1, 1}, {128, 1, 1}, 0, nullptr, &attribute, 1};
  Driver::Config plainEx{{1, 1, 1}, {128, 1, 1}, 0, nullptr, nullptr, 0};
  std::string problem;
  std::function<bool()> launches[] = {
      [&] {
        auto done = kernel->launch(tilewright::Grid(1), {tilewright::onDevice(x), n});
        if (!done) problem = done.error();
        return static_cast<bool>(done);
      },
      [&] { return driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr) == 0; },
      [&] { return driver.cuLaunchKernelEx(&config, function, parameters, nullptr) == 0; },
      [&] { return driver.cuLaunchKernelEx(&plainEx, function, parameters, nullptr) == 0; },
  };
  std::vector<double> samples[4];
  for (int round = 0; round < 300; ++round) {
    for (size_t which = 0; which < 4; ++which) {
      constexpr int times = 100; // the device's queue never fills
      auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < times; ++i)
        if (!launches[which]()) return fail("a launch failed" + (problem.empty() ? "" : ": " + problem));
      std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
      if (round >= 20) samples[which].push_back(taken.count() / times);
      if (driver.cuCtxSynchronize()) return fail("the device failed");
    }
  }
  std::printf("{\"ours\": %.3f, \"raw\": %.3f, \"raw_attributes\": %.3f, \"raw_ex\": %.3f}\n", tilewright::medianOf(samples[0]),
              tilewright::medianOf(samples[1]), tilewright::medianOf(samples[2]), tilewright::medianOf(samples[3]));
}
