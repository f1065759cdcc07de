// Inputs that are wrong, in C++: prints the code and the text of each error. argv[1]: a file of large text, argv[2]: a file of deep text.
#include "tilewright/tilewright.h"

using namespace tilewright;

static const char *const source = R"(import triton
import triton.language as tl
@triton.jit
def add(x, out: tl.pointer_type(tl.float32), n: tl.int32, B: tl.constexpr = 16):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
)";

static void report(const char *name, const Result<void> &done) {
  std::printf("== %s\n%d %s\n", name, static_cast<int>(done.code()), done ? "no error" : done.error().c_str());
}

int main(int argc, char **argv) {
  std::vector<float> x(10), out(10);
  std::vector<double> wide(10);
  auto module = Module::fromSource(source, "add.py");
  auto add = module->kernel("add");
  report("right", add->launch(1, {x, out, 10}));
  report("dtype of a tensor", add->launch(1, {x, wide, 10}));
  report("dtype of a tensor, prepared", add->prepare(1, {x, wide, 10}));
  report("a number for a tensor", add->launch(1, {x, 4096, 10}));
  report("range of a number", add->launch(1, {x, out, 5000000000}));
  report("a float for an integer", add->launch(1, {x, out, 9.5}));
  report("extent", add->launch(1, {x, out, 11}, {.sanitize = true}));
  report("extent of the grid", add->launch(-1, {x, out, 10}));
  for (int i = 1; i < argc; ++i) {
    auto text = Module::fromFile(argv[i]);
    auto last = text ? text->kernel("last") : Result<Kernel>::failure(text.code(), text.error());
    report(i == 1 ? "large text" : "deep text", last ? last->launch(1, {out}) : Result<void>::failure(last.code(), last.error()));
  }
}
