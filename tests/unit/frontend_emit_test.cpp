// The emission of tt IR: which operations a kernel becomes, and what is said where it is wrong.
#include "evaluate/module.h"
#include "frontend/frontend.h"
#include "ir/passes.h"
#include "ir/tt.h"
#include "syntax/parser.h"

#include "gtest/gtest.h"

using namespace tilewright;

namespace {

struct Emitted {
  std::string text;   // after inlining and simplification; empty after an error
  std::string errors; // rendered
};

Emitted emit(const std::string &body, llvm::StringRef kernel, llvm::StringRef signature, KernelOptions options) {
  Diagnostics diagnostics;
  std::string source = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n" + body;
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create("k.py", source, 1), diagnostics);
  std::shared_ptr<const JitFunction> function = module ? findKernel(*moduleScope(module), kernel, diagnostics) : nullptr;
  std::optional<std::vector<ArgumentSpec>> spec = function ? parseSignature(signature, *function, diagnostics) : std::nullopt;
  if (!spec) return {"", diagnostics.render()};
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> ir = emitTiles(context, *function, *spec, options, diagnostics);
  std::string text;
  if (ir) {
    EXPECT_TRUE(llvm::succeeded(inlineCalls(*ir)));
    EXPECT_TRUE(llvm::succeeded(simplify(*ir)));
    llvm::raw_string_ostream out(text);
    ir->print(out, mlir::OpPrintingFlags().printNameLocAsPrefix(true));
  }
  return {text, diagnostics.render()};
}

Emitted emit(const std::string &body, llvm::StringRef signature) {
  return emit("@triton.jit\ndef k(" + body, "k", signature, {});
}

std::string textOf(const std::string &body, llvm::StringRef signature) {
  Emitted result = emit(body, signature);
  EXPECT_EQ(result.errors, "");
  return result.text;
}

int64_t count(const std::string &text, const std::string &what) {
  int64_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << text

TEST(FrontendEmit, VectorAdd) {
  std::string text = textOf(R"(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)
)",
                            "*fp32:16, *fp32:16, *fp32:16, i32, 1024");
  EXPECT_HAS(text, "%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}");
  EXPECT_HAS(text, "%x = tt.load");
  EXPECT_HAS(text, "tt.store");
  EXPECT_EQ(count(text, "tt.load"), 2);
}

// What only callers other than the command line and Python bring about.
TEST(FrontendEmit, KernelArguments) {
  Diagnostics diagnostics;
  std::shared_ptr<const ast::Module> module =
      parse(SourceFile::create("k.py", "import triton\n@triton.jit\ndef k(a, b):\n    pass\n", 1), diagnostics);
  std::shared_ptr<const JitFunction> function = findKernel(*moduleScope(module), "k", diagnostics);
  ASSERT_TRUE(function);
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  EXPECT_FALSE(emitTiles(context, *function, {}, {}, diagnostics));
  EXPECT_HAS(diagnostics.render(), "kernel 'k' has 2 parameters, but 0 are specified");
}

TEST(FrontendEmit, LongChainsOfCalls) {
  std::string source;
  for (int i = 0; i < 300; ++i)
    source += "@triton.jit\ndef f" + std::to_string(i) + "(x):\n    return " + (i < 299 ? "f" + std::to_string(i + 1) + "(x)\n" : "x\n");
  std::string errors = emit(source + "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, f0(3))\n", "k", "*fp32", {}).errors;
  EXPECT_HAS(errors, "error: this is nested more than 200 levels deep");
  EXPECT_EQ(count(errors, "called from here"), 9);
}

TEST(FrontendEmit, NumbersFollowTheTileTheyMeet) {
  std::string text = textOf(R"(h_ptr, b_ptr, i_ptr, u_ptr):
    o = tl.arange(0, 16)
    tl.store(h_ptr + o, tl.load(h_ptr + o) * 2 + 0.5)
    tl.store(i_ptr + o, tl.load(i_ptr + o) / 2)
    tl.store(u_ptr + o, tl.load(u_ptr + o) // 2 + (tl.load(u_ptr + o) >> 1))
    tl.store(b_ptr + o, tl.load(h_ptr + o) + tl.load(b_ptr + o))
)",
                            "*fp16, *bf16, *i32, *u32");
  EXPECT_HAS(text, "arith.mulf %");
  EXPECT_HAS(text, ": tensor<16xf16>");
  EXPECT_HAS(text, "arith.divf");
  EXPECT_HAS(text, "arith.divui");
  EXPECT_HAS(text, "arith.shrui");
  EXPECT_HAS(text, "arith.fptosi");
}

TEST(FrontendEmit, ConstexprBranchesAreDecidedAtOnce) {
  std::string text = textOf(R"(x_ptr, B: tl.constexpr, BIAS):
    if BIAS is not None:
        tl.store(x_ptr, tl.load(BIAS))
    elif B > 4 and B % 2 == 0:
        tl.store(x_ptr, B)
    else:
        undefined_name()
)",
                            "*fp32, 8, None");
  EXPECT_EQ(count(text, "scf.if"), 0);
  EXPECT_HAS(text, "8.000000e+00");
}

TEST(FrontendEmit, BranchesCarryWhatTheyChange) {
  std::string text = textOf(R"(x_ptr, n):
    a = 0
    b = 1
    if n > 3:
        a = n
        c = 2
    else:
        c = 3
    tl.store(x_ptr, a + b + c)
)",
                            "*i32, i32");
  EXPECT_EQ(count(text, "arith.select"), 2); // a and c; b stays
}

TEST(FrontendEmit, EarlyReturnKeepsControlFlowStructured) {
  std::string text = textOf(R"(x_ptr, n):
    if n > 3:
        return
    tl.store(x_ptr, n)
)",
                            "*i32, i32");
  EXPECT_EQ(count(text, "scf.if"), 1);
  EXPECT_EQ(count(text, "cf.cond_br"), 0);
}

TEST(FrontendEmit, LoopsCarryOnlyWhatChanges) {
  std::string text = textOf(R"(x_ptr, n):
    a = 0
    keep = n + 1
    acc = tl.zeros((16,), tl.float32)
    for i in tl.range(0, n, num_stages=3):
        a += i
        keep = keep
        acc += a + keep
    tl.store(x_ptr + tl.arange(0, 16), acc)
)",
                            "*fp32, i32");
  EXPECT_HAS(text, "-> (i32, tensor<16xf32>)");
  EXPECT_HAS(text, "tt.num_stages = 3 : i32");
}

TEST(FrontendEmit, ConstexprArgumentsBecomeCarriedValues) {
  std::string text = textOf(R"(x_ptr, n):
    while n < 100:
        n = n * 2
    tl.store(x_ptr, n)
)",
                            "*i32, 1");
  EXPECT_HAS(text, "scf.while");
}

TEST(FrontendEmit, NegativeSteps) {
  std::string text = textOf(R"(x_ptr, n):
    acc = 0
    for i in range(n, 0, -2):
        acc += i
    tl.store(x_ptr, acc)
)",
                            "*i32, i32");
  EXPECT_HAS(text, "step %c2_i32");
}

TEST(FrontendEmit, CallsAreSharedAndReturnTuples) {
  Emitted result = emit(R"(
@triton.jit
def pair(a, b, flip: tl.constexpr = False):
    if flip:
        return b, a
    return a, b

@triton.jit
def k(x_ptr, n):
    a, b = pair(n, 1)
    c, d = pair(n, 1, flip=True)
    tl.store(x_ptr, a - b + c * d)
)",
                        "k", "*i32, i32", {});
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(count(result.text, "tt.call"), 0);
}

TEST(FrontendEmit, Descriptors) {
  std::string text = textOf(R"(d, c_ptr, M, N):
    x = d.load([0, 0])
    o = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[16, 16])
    o.store([M - 16, 0], x.to(tl.float32))
)",
                            "tensordesc<fp16[16,16]>, *fp32, i32, i32");
  EXPECT_HAS(text, "tt.descriptor_load");
  EXPECT_HAS(text, "tt.descriptor_store");
  EXPECT_EQ(count(text.substr(0, text.find("attributes")), ": i64"), 2);
}

TEST(FrontendEmit, LibraryFunctionsOfThePrelude) {
  std::string text = textOf(R"(x_ptr, o_ptr, seed):
    o = tl.arange(0, 64)
    x = tl.load(x_ptr + o)
    tl.store(o_ptr + o, tl.sort(x, descending=True) + tl.flip(x) + tl.cumsum(x) + tl.rand(seed, o) + tl.softmax(x) + libdevice.tanh(x))
    tl.store(o_ptr, tl.argmax(x, 0))
)",
                            "*fp32, *fp32, i32");
  EXPECT_HAS(text, "tt.scan");
  EXPECT_EQ(count(text, "tt.mulhiui"), 18); // ten rounds of two; the first two products are of zero
  EXPECT_HAS(text, "__nv_tanhf");
}

TEST(FrontendEmit, DebugOptionsCheckOverflowAndAsserts) {
  const char *source = R"(
@triton.jit
def k(x_ptr, n):
    tl.device_assert(n > 0, "positive")
    assert n < 100
    tl.store(x_ptr, n + 1)
)";
  KernelOptions options;
  EXPECT_EQ(count(emit(source, "k", "*i32, i32", options).text, "tt.assert"), 0);
  options.debug = true;
  EXPECT_EQ(count(emit(source, "k", "*i32, i32", options).text, "tt.assert"), 3);
}

TEST(FrontendEmit, PrecisionFollowsTheBackEnd) {
  const char *source = R"(
@triton.jit
def k(x_ptr):
    a = tl.full((16, 16), 1.0, tl.float32)
    tl.store(x_ptr + tl.arange(0, 16)[:, None] + tl.arange(0, 16)[None, :], tl.dot(a, tl.load(x_ptr + tl.arange(0, 16)[:, None] + tl.arange(0, 16)[None, :])))
)";
  KernelOptions options;
  EXPECT_EQ(count(emit(source, "k", "*fp32", options).text, "tf32"), 0);
  options.backend = "cuda";
  options.capability = 90;
  EXPECT_EQ(count(emit(source, "k", "*fp32", options).text, "inputPrecision = tf32"), 1);
}

TEST(FrontendEmit, ErrorsInCalleesNameTheCall) {
  Emitted result = emit(R"(
@triton.jit
def f(x):
    return tl.exp(x)

@triton.jit
def k(x_ptr):
    tl.store(x_ptr, f(tl.load(x_ptr)))
)",
                        "k", "*fp16", {});
  EXPECT_HAS(result.errors, "k.py:7:19: error: tl.exp takes fp32 or fp64, not fp16");
  EXPECT_HAS(result.errors, "k.py:11:21: note: called from here");
  EXPECT_HAS(result.errors, ".to(tl.float32)");
}

TEST(FrontendEmit, ErrorsInTheLibraryAreReportedAtTheCall) {
  Emitted result = emit("x_ptr):\n    tl.sum(tl.load(x_ptr + tl.arange(0, 16)), axis=3)\n", "*fp32");
  EXPECT_HAS(result.errors, "k.py:6:5: error: invalid axis 3 for 1 dimensions");
}

TEST(FrontendEmit, LoopCarriedTypesNameBothTypesAndTheLine) {
  Emitted result = emit("x_ptr, n):\n    acc = 0\n    for i in range(n):\n        acc += 1.0\n    tl.store(x_ptr, acc)\n", "*fp32, i32");
  EXPECT_HAS(result.errors, "k.py:8:9: error: loop-carried variable 'acc' is int32 before the loop on line 7 but becomes fp32 in it");
}

TEST(FrontendEmit, NamesOfALoopAreGoneAfterIt) {
  Emitted result = emit("x_ptr, n):\n    for i in range(n):\n        y = i\n    tl.store(x_ptr, y)\n", "*i32, i32");
  EXPECT_HAS(result.errors, "k.py:8:21: error: 'y' is not defined here: it is assigned only inside the loop on line 6");
}

} // namespace
