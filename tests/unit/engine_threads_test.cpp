// Compilation for the interpreter, for simulated GPUs and for the CPU, from eight threads at once: contexts are shared among them.

#include "evaluate/module.h"
#include "runtime/interpreted.h"
#include "syntax/parser.h"

#include "from_threads.h"
#include "gtest/gtest.h"

using namespace tilewright;

namespace {

const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def product(a_ptr, out_ptr, K: tl.constexpr):
    at = tl.arange(0, K)
    a = tl.load(a_ptr + at[:, None] * K + at[None, :])
    tl.store(out_ptr + at[:, None] * K + at[None, :], tl.dot(a, a))
)";

constexpr int64_t size = 16;

/// One launch of the kernel, from its text on; `target` is empty for the interpreter.
struct Launch {
  std::vector<uint16_t> a = std::vector<uint16_t>(size * size, 0x3c00); // 1.0
  std::vector<float> out = std::vector<float>(size * size, 0);
  std::vector<Argument> arguments = {Argument::pointer(a.data(), Scalar::fp16, size * size * 2),
                                     Argument::pointer(out.data(), Scalar::fp32, size * size * 4), Argument::integer(size)};
  Diagnostics diagnostics;
  std::shared_ptr<const JitFunction> function;

  Launch() {
    std::shared_ptr<Namespace> scope = moduleScope(parse(SourceFile::create("threads.py", source, 1), diagnostics));
    function = findKernel(*scope, "product", diagnostics);
  }

  std::string run(const std::string &target) {
    CompileRequest request;
    request.kernel = KernelSource(function);
    if (std::optional<std::vector<ArgumentSpec>> specs = specialize(*function, arguments, diagnostics)) request.args = *specs;
    if (!target.empty()) request.gpu = gpuTarget(target);
    std::shared_ptr<InterpretedKernel> kernel = InterpretedKernel::create(request, diagnostics);
    if (!kernel) return diagnostics.render();
    return kernel->run(Grid(1), arguments, {true, [](llvm::StringRef) {}, nullptr});
  }
};

TEST(EngineThreads, CompileAndRun) {
  fromThreads([](int64_t thread, int64_t round) {
    Launch launch;
    ASSERT_TRUE(launch.function) << launch.diagnostics.render();
    const char *targets[] = {"", "sm_90a", "sm_80", "cpu"};
    std::string target = targets[(thread + round) % 4];
    if (target == "cpu") {
      Kernel kernel(launch.function);
      EXPECT_TRUE(kernel.launch(Grid(1), launch.arguments, LaunchOptions(), launch.diagnostics)) << launch.diagnostics.render();
    } else {
      EXPECT_EQ(launch.run(target), "");
    }
    for (float value : launch.out)
      EXPECT_EQ(value, size);
  });
}

} // namespace
