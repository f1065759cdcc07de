// A program that embeds the compiler, with everything that a larger program should set: compilation before the first launch, deadlines, its
// own threads and memory, a bound for compiled kernels, metrics, and limits for kernels that it does not trust.
//
//   ./embedded examples/01_vector_add.py
#include "tilewright/embed.h"

#include <cstdio>
#include <thread>
#include <vector>

namespace {

int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// The program's threads. A real program hands the tasks to its thread pool.
class OwnThreads : public tilewright::Executor {
public:
  int64_t threads() const override { return 2; }
  void run(int64_t count, const std::function<void(int64_t)> &task) override {
    std::vector<std::thread> others;
    for (int64_t i = 1; i < count; ++i)
      others.emplace_back([&task, i] { task(i); });
    task(0);
    for (std::thread &thread : others)
      thread.join();
  }
};

int untrusted() {
  const char *text = "import triton\nimport triton.language as tl\n"
                     "@triton.jit\ndef k(x):\n    tl.store(x + tl.arange(0, 4096), 1.0)\n";
  tilewright::Limits limits{.textBytes = 100'000, .tileElements = 1024, .operations = 10'000, .compileSeconds = 5, .denyFiles = true};
  auto module = tilewright::Module::fromSource(text, "from_a_user.py", limits);
  if (!module) return fail(module.error());
  auto kernel = module->kernel("k");
  if (!kernel) return fail(kernel.error());
  std::vector<float> x(4096);
  auto done = kernel->launch(1, {x});
  if (done.code() != TW_ERROR_LIMIT) return fail("a tile beyond the limit was accepted");
  std::printf("%s", done.error().c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  tilewright::onEvent([](const tilewright::Event &event) {
    if (event.kind == TW_EVENT_COMPILE_FINISHED) std::printf("compiled %s: %s\n", event.kernel.c_str(), event.failed ? "failed" : "ready");
  });
  auto bounded = tilewright::setCodeLimits(1000, int64_t{100} << 20); // kernels, bytes of code
  if (!bounded) return fail(bounded.error());

  auto module = tilewright::Module::fromFile(argc > 1 ? argv[1] : "examples/01_vector_add.py");
  if (!module) return fail(module.error());
  auto add = module->kernel("add_kernel");
  if (!add) return fail(add.error());
  for (const tilewright::Parameter &parameter : add->parameters())
    std::printf("parameter %s%s\n", parameter.name.c_str(), parameter.isConstexpr ? ", a constant" : "");

  constexpr int64_t n = 98432;
  std::vector<float> x(n, 1), y(n, 2), out(n);
  std::vector<tilewright::Arg> arguments{x, y, out, n, {"BLOCK_SIZE", 1024}};
  auto future = add->prepareAsync(tilewright::cdiv(n, 1024), arguments); // the program continues meanwhile
  if (!future) return fail(future.error());
  if (auto ready = future->wait(); !ready) return fail(ready.error());

  OwnThreads threads;
  std::pmr::synchronized_pool_resource memory;
  tilewright::Options options{.checkPointers = true, .timeoutSeconds = 1, .executor = &threads, .scratch = &memory};
  auto done = add->launch(tilewright::cdiv(n, 1024), arguments, options);
  if (!done) return fail(done.error());
  std::printf("the last element is %g\n", out[n - 1]);

  tilewright::Cancel cancel;
  cancel.request(); // usually by another thread
  done = add->launch(tilewright::cdiv(n, 1024), arguments, {.cancel = cancel});
  if (done.code() != TW_ERROR_CANCELED) return fail("the launch was not canceled");

  float *nowhere = nullptr;
  done = add->launch(tilewright::cdiv(n, 1024), {x, nowhere, out, n, {"BLOCK_SIZE", 1024}}, {.checkPointers = true});
  if (done.code() != TW_ERROR_MEMORY) return fail("a null pointer was accepted");
  std::printf("%s", done.error().c_str());
  return untrusted();
}
