// The evaluator of module-level Python, on kernel files as they are found in the wild.
#include "evaluate/module.h"
#include "frontend/frontend.h"
#include "syntax/parser.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace tilewright;

namespace {

std::shared_ptr<Namespace> scopeOf(const std::string &text, Diagnostics &diagnostics) {
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create("kernels.py", text, 1), diagnostics);
  return module ? moduleScope(module) : nullptr;
}

/// repr of a name of a module; the rendered errors where there is none.
std::string valueOf(const std::string &text, llvm::StringRef name) {
  Diagnostics diagnostics;
  std::shared_ptr<Namespace> scope = scopeOf(text, diagnostics);
  if (!scope) return diagnostics.render();
  std::optional<Value> value = scope->lookup(name, diagnostics);
  return value ? value->repr() : diagnostics.render();
}

/// repr of an expression.
std::string eval(const std::string &expression) {
  return valueOf(
      "import math, itertools, functools, collections\nimport triton\nimport triton.language as tl\nimport torch\nx = " + expression + "\n",
      "x");
}

/// The first error of a name: "line:column: message | hint".
std::string errorOf(const std::string &text, llvm::StringRef name) {
  Diagnostics diagnostics;
  std::shared_ptr<Namespace> scope = scopeOf(text, diagnostics);
  if (scope) scope->lookup(name, diagnostics);
  if (!diagnostics.hasErrors()) return "no error";
  const Diagnostic &first = diagnostics.all().front();
  return std::to_string(first.line) + ":" + std::to_string(first.column) + ": " + first.message +
         (first.hint.empty() ? "" : " | " + first.hint);
}

std::shared_ptr<const JitFunction> kernelOf(const std::string &text, llvm::StringRef name, std::string *errors = nullptr) {
  Diagnostics diagnostics;
  std::shared_ptr<Namespace> scope = scopeOf(text, diagnostics);
  std::shared_ptr<const JitFunction> kernel = scope ? findKernel(*scope, name, diagnostics) : nullptr;
  if (errors)
    *errors = diagnostics.render();
  else
    EXPECT_EQ(diagnostics.render(), "");
  return kernel;
}

constexpr char header[] = "import torch\nimport triton\nimport triton.language as tl\n";

std::string configText(const Config &config) {
  std::string text;
  for (const auto &[name, value] : config.kwargs)
    text += name + "=" + value.repr() + " ";
  return text + "w" + std::to_string(config.numWarps) + " s" + std::to_string(config.numStages);
}

} // namespace

TEST(Types, NamesReadBack) {
  for (const char *name : {"i1", "i8", "u64", "fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5b16", "*fp32", "*kbf16", "**i8",
                           "tensordesc<fp16[64,32]>", "void"}) {
    std::optional<Type> type = parseTypeName(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(signatureName(*type), name);
  }
  EXPECT_EQ(signatureName(*parseTypeName("bfloat16")), "bf16");
  EXPECT_EQ(signatureName(*parseTypeName("f32")), "fp32");
  EXPECT_EQ(signatureName(*parseTypeName("B")), "i1");
  for (const char *name : {"", "*", "fp31", "tensordesc<fp16>", "tensordesc<fp16[0]>", "*tensordesc<fp16[4]>", "i32 i32"})
    EXPECT_FALSE(parseTypeName(name)) << name;
  EXPECT_EQ(Type::pointer(Scalar::fp32, false, 1).str(), "pointer<fp32>");
  EXPECT_EQ(Type::block(Scalar::fp32, {64, 32}).str(), "<['64', '32'], fp32>");
  EXPECT_EQ(Type::block(Scalar::fp32, {64, 32}).elements(), 2048);
  EXPECT_EQ(Type::block(Type::pointer(Scalar::int8, false, 1), {4}).scalar(), Scalar::int8);
  EXPECT_EQ(bitWidth(Scalar::int1), 1);
  EXPECT_EQ(byteSize(Scalar::int1), 1);
  EXPECT_FALSE(isSigned(Scalar::int1));
}

// The 8-bit float with the bias 11 (DLPack's code 9) is none of the language's, whose fp8e4b15 has the bias 15.
TEST(Types, DlpackCodes) {
  EXPECT_EQ(dlpackScalar(10, 8), Scalar::fp8e4nv);
  EXPECT_EQ(dlpackScalar(2, 16), Scalar::fp16);
  EXPECT_EQ(dlpackScalar(6, 8), Scalar::int1);
  for (auto [code, bits] : {std::pair(9, 8), {2, 8}, {0, 128}, {5, 64}})
    EXPECT_FALSE(dlpackScalar(code, bits)) << code << ", " << bits;
  EXPECT_FALSE(parseTypeName("float8_e4m3b11fnuz"));
  EXPECT_EQ(exponentBias(Scalar::fp8e4b15), 15);
}

TEST(Types, Attributes) {
  EXPECT_EQ(eval("(tl.float16.primitive_bitwidth, tl.int8.itemsize, tl.bfloat16.name, tl.int32.is_int(), tl.float8e5.is_fp8())"),
            "(16, 1, 'bf16', True, True)");
  EXPECT_EQ(eval("tl.float32.is_floating() and not tl.int1.is_int_signed()"), "True");
  EXPECT_EQ(eval("tl.pointer_type(tl.float32).element_ty == tl.float32"), "True");
  EXPECT_EQ(eval("tl.float32 == tl.float16"), "False");
  EXPECT_EQ(eval("tl.uint8.get_int_max_value()"), "255");
  EXPECT_EQ(eval("tl.float16.scalar"), "fp16");
  EXPECT_EQ(errorOf(std::string(header) + "x = tl.float16.primitive_bitwith\n", "x"),
            "4:16: the type fp16 has no 'primitive_bitwith' | did you mean 'primitive_bitwidth'?");
}

TEST(Operators, PythonSemantics) {
  EXPECT_EQ(eval("(-7 // 2, -7 % 2, 7 // -2, 7 % -2, -7.5 // 2, -7.5 % 2)"), "(-4, 1, -4, -1, -4.0, 0.5)");
  EXPECT_EQ(eval("(1 << 100, 2 ** 100, 2 ** -1, 10 / 4, 10 / 5, 3 ** 0)"),
            "(1267650600228229401496703205376, 1267650600228229401496703205376, 0.5, 2.5, 2.0, 1)");
  EXPECT_EQ(eval("(True + 1, True & False, 6 & 3, 6 | 3, 6 ^ 3, ~5, -True, not 0)"), "(2, False, 2, 7, 5, -6, -1, True)");
  EXPECT_EQ(eval("(-8 >> 1, -1 >> 200, 1 == 1.0, 'a' * 3, [1] * 2 + [3], (1,) + (2,))"), "(-4, -1, True, 'aaa', [1, 1, 3], (1, 2))");
  EXPECT_EQ(eval("1 < 2 < 3, 1 < 3 < 2, 2 in (1, 2), 'x' not in {'x': 1}, None is None, (1, 2) < (1, 3)"),
            "(True, False, True, False, True, True)");
  EXPECT_EQ(eval("0 or 'b', 1 and 'c', 'x' if 0 else 'y'"), "('b', 'c', 'y')");
  EXPECT_EQ(eval("(0.1 + 0.2, 1e-7, 1e16, 100.0, float('inf'), -0.0, 5e-324)"),
            "(0.30000000000000004, 1e-07, 1e+16, 100.0, inf, -0.0, 5e-324)");
  EXPECT_EQ(eval("[1, 2, 3, 4][1:3], 'hello'[::-1], (1, 2, 3)[-1], {'a': 5}['a']"), "([2, 3], 'olleh', 3, 5)");
  EXPECT_EQ(eval("{1, 2} | {2, 3}, {1, 2} & {2}, 3 in {3}"), "({1, 2, 3}, {2}, True)");
}

TEST(Operators, Errors) {
  EXPECT_EQ(errorOf("x = 1 // 0\n", "x"), "1:5: division by zero");
  EXPECT_EQ(errorOf("x = 1.5 % 0\n", "x"), "1:5: division by zero");
  EXPECT_EQ(errorOf("x = (1 << 126) * 4\n", "x"), "1:5: the result of '*' needs more than 128 bits");
  EXPECT_EQ(errorOf("x = 2 ** 127\n", "x"), "1:5: the result of '**' needs more than 128 bits");
  EXPECT_EQ(errorOf("x = 1 << -1\n", "x"), "1:5: cannot shift by -1: a shift count cannot be negative");
  EXPECT_EQ(errorOf("x = 1 + 'a'\n", "x"), "1:5: '+' cannot be applied to an int and a string");
  EXPECT_EQ(errorOf("x = [1] < 2\n", "x"), "1:5: '<' cannot be applied to a list and an int");
  EXPECT_EQ(errorOf("x = (1, 2)[2]\n", "x"), "1:5: index 2 is out of range: a tuple has length 2");
  EXPECT_EQ(errorOf("x = {'a': 1}['b']\n", "x"), "1:5: the dict has no key 'b' | its keys are 'a'");
  EXPECT_EQ(errorOf("BLOCK = 3\nx = BLOK + 1\n", "x"), "2:5: name 'BLOK' is not defined | did you mean 'BLOCK'?");
  EXPECT_EQ(errorOf("a = b\nb = a\n", "b"), "1:5: name 'b' is not defined");
  EXPECT_EQ(errorOf("def f():\n  return y\ny = f()\n", "y"), "3:1: the value of 'y' depends on itself");
  EXPECT_EQ(errorOf("x = 5()\n", "x"), "1:5: an int cannot be called at compile time");
  EXPECT_EQ(errorOf("def f(n): return f(n + 1)\nx = f(0)\n", "x"),
            "1:18: calls at compile time are nested more than 500 deep | check that the recursion ends");
  EXPECT_EQ(errorOf("def f():\n  while True: pass\nx = f()\n", "x").substr(0, 45), "2:3: evaluation at compile time takes more th");
  EXPECT_EQ(errorOf("def f(a, b=1): return a\nx = f()\n", "x"), "2:5: f() needs a value for 'a'");
  EXPECT_EQ(errorOf("def f(a): return a\nx = f(1, c=2)\n", "x"), "2:5: f() has no parameter 'c'");
  EXPECT_EQ(errorOf("a, b = 1, 2, 3\n", "a"), "1:1: cannot unpack 3 values into 2 names");
  EXPECT_EQ(errorOf("def f():\n  raise ValueError('no')\nx = f()\n", "x"), "2:3: this code raises ValueError('no')");
  EXPECT_EQ(errorOf("def f(n):\n  assert n > 1, f'n is {n}'\nx = f(0)\n", "x"), "2:10: assertion failed: n is 0");
  EXPECT_EQ(errorOf(std::string(header) + "x = tl.flaot32\n", "x"),
            "4:8: the module triton.language has no 'flaot32' | did you mean 'float32'?");
}

TEST(Operators, HostValueUsed) {
  Diagnostics diagnostics;
  EXPECT_FALSE(evaluateBinary(ast::BinaryOp::add, Value::host("torch.float16"), Value::integer(1), {}, diagnostics));
  ASSERT_TRUE(diagnostics.hasErrors());
  EXPECT_EQ(diagnostics.all()[0].message, "torch.float16 belongs to host code, which the compiler does not run");
}

TEST(Expressions, FunctionsAndMethods) {
  EXPECT_EQ(eval("[i * j for i in range(3) for j in (1, 2) if i]"), "[1, 2, 2, 4]");
  EXPECT_EQ(eval("{k: v for k, v in zip('ab', [1, 2])}"), "{'a': 1, 'b': 2}");
  EXPECT_EQ(eval("sorted([3, 1, 2], reverse=True), sum(range(5)), max(1, 5, 3), min([4, 2]), any([0, 1]), all([])"),
            "([3, 2, 1], 10, 5, 2, True, True)");
  EXPECT_EQ(eval("f'{3:>4}|{2.5:.2f}|{\"a\"!r}|{255:#x}|{1234567:,}'"), "\"   3|2.50|'a'|0xff|1,234,567\"");
  EXPECT_EQ(eval("'x%d_%s' % (4, 'y'), '{}-{b}'.format(1, b=2), ','.join(['a', 'b']), 'aXb'.lower().split('x')"),
            "('x4_y', '1-2', 'a,b', ['a', 'b'])");
  EXPECT_EQ(eval("(lambda a, *b, c=2, **d: (a, b, c, d))(1, 2, 3, c=4, e=5)"), "(1, (2, 3), 4, {'e': 5})");
  EXPECT_EQ(eval("[*range(3), *(7, 8)], {**{'a': 1}, 'b': 2}"), "([0, 1, 2, 7, 8], {'a': 1, 'b': 2})");
  EXPECT_EQ(eval("isinstance(1, int), isinstance('a', (int, str)), isinstance(1.0, int), isinstance(tl.float32, tl.dtype)"),
            "(True, True, False, True)");
  EXPECT_EQ(eval("triton.cdiv(10, 4), triton.next_power_of_2(17), tl.cdiv(9, 2), (100).bit_length()"), "(3, 32, 5, 7)");
  EXPECT_EQ(eval("math.ceil(2.1), math.log2(8), math.sqrt(16.0), math.gcd(12, 18), math.prod([2, 3]), round(2.5), round(2.675, 2)"),
            "(3, 3.0, 4.0, 6, 6, 2, 2.67)");
  EXPECT_EQ(eval("math.pi"), "3.141592653589793");
  EXPECT_EQ(eval("list(itertools.product([1, 2], 'ab'))"), "[(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')]");
  EXPECT_EQ(eval("functools.reduce(lambda a, b: a * b, [1, 2, 3, 4])"), "24");
  EXPECT_EQ(eval("collections.namedtuple('P', 'x y')(1, y=2).y"), "2");
  EXPECT_EQ(eval("hasattr(tl, 'dot'), hasattr(tl, 'nothing'), getattr(triton, 'nothing', 7)"), "(True, False, 7)");
  EXPECT_EQ(eval("divmod(-7, 2), pow(2, 5), pow(3, 4, 5), int('0x1f', 16), int(3.9), float('2.5'), str(4), abs(-3)"),
            "((-4, 1), 32, 1, 31, 3, 2.5, '4', 3)");
  EXPECT_EQ(eval("tl.constexpr(4) + 1, tl.constexpr(4).value"), "(5, 4)");
  EXPECT_EQ(eval("[y := 3, y + 1]"), "[3, 4]");
  EXPECT_EQ(eval("torch.float16"), "<host torch.float16>");
  EXPECT_EQ(eval("torch.zeros(3).shape[0] + 1").substr(0, 5), "<host");
}

TEST(Module, LazyNamesInOrder) {
  constexpr char text[] = R"(
import os, sys, numpy as np
A = 4
B = A * 2
A = A + 1
C, (D, *E) = 1, (2, 3, 4)
F: int = B << 1
G = H = [1]
configs = []
for i in range(3):
    if i == 1:
        continue
    configs.append(i)
configs += [10]
configs.extend([11, 12])
table = {}
table["a"] = 1
table.update(b=2)
if A == 5:
    which = "five"
elif undefined_thing():
    which = "other"
else:
    which = "else"
try:
    import not_a_module
    HAS = True
except ImportError:
    HAS = False
try:
    from triton.language.extra import nowhere
    HAS_NOWHERE = True
except ImportError:
    HAS_NOWHERE = False
with open("x") as f:
    inside = 3
broken = np.array([1, 2]).undefined + missing_name
total = 0
while total < 10:
    total += 4
if np.something():
    maybe = 1
else:
    maybe = 2
if np.something():
    once = 1
HOME = os.environ.get("SURELY_NOT_SET_ANYWHERE", "fallback")
if __name__ == "__main__":
    which = "main"
)";
  const std::pair<const char *, const char *> expected[] = {{"A", "5"},
                                                            {"B", "8"},
                                                            {"C", "1"},
                                                            {"D", "2"},
                                                            {"E", "[3, 4]"},
                                                            {"F", "16"},
                                                            {"H", "[1]"},
                                                            {"configs", "[0, 2, 10, 11, 12]"},
                                                            {"table", "{'a': 1, 'b': 2}"},
                                                            {"which", "'five'"},
                                                            {"HAS", "True"},
                                                            {"HAS_NOWHERE", "False"},
                                                            {"inside", "3"},
                                                            {"total", "12"},
                                                            {"once", "1"},
                                                            {"HOME", "'fallback'"},
                                                            {"maybe", "<host 'maybe', which depends on a condition of host code,>"}};
  for (const auto &[name, value] : expected)
    EXPECT_EQ(valueOf(text, name), value) << name;
  EXPECT_EQ(errorOf(text, "broken"), "37:39: name 'missing_name' is not defined");
  EXPECT_EQ(errorOf(text, "nothing"), "no error"); // the caller of lookup reports
}

TEST(Module, PlainFunctions) {
  constexpr char text[] = R"(
import functools
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)
@functools.lru_cache(maxsize=None)
def search(items, wanted):
    """Where it is."""
    i = 0
    while i < len(items):
        if items[i] == wanted:
            break
        i += 1
    else:
        return -1
    return i
def adder(n):
    def add(x):
        return x + n
    return add
def evens(limit):
    for i in range(limit):
        if i % 2 == 0:
            yield i
def safe():
    try:
        return 1 // 0
    except ZeroDivisionError as e:
        return "caught"
def change():
    d = {}
    d["k"] = [1]
    d["k"].append(2)
    d.setdefault("z", 3)
    m = d["k"]
    m += [5]
    del m
    return d
x = (fib(50), fact(20), search([4, 5, 6], 6), search([], 1), adder(3)(4), list(evens(6)), safe(), change())
)";
  EXPECT_EQ(valueOf(text, "x"), "(12586269025, 2432902008176640000, 2, -1, 7, [0, 2, 4], 'caught', {'k': [1, 2, 5], 'z': 3})");
}

TEST(Module, NamedTuples) {
  EXPECT_EQ(valueOf("from typing import NamedTuple\nclass Shape(NamedTuple):\n  m: int\n  n: int = 4\nx = Shape(2)\n", "x"), "(m=2, n=4)");
  EXPECT_EQ(valueOf("class Other:\n  m = 1\n", "Other"), "<host the class 'Other'>");
}

TEST(Kernels, PlainFile) {
  std::string text = std::string(header) + R"(
BLOCK: tl.constexpr = 1024
SCALE = tl.constexpr(BLOCK // 4)

@triton.jit
def add_kernel(x_ptr, y_ptr, n: tl.int64, flag: "i1", out: tl.const, BLOCK_SIZE: tl.constexpr = BLOCK, ACT: "tl.constexpr" = None, *rest):
    pass

@triton.jit(do_not_specialize=["n"], noinline=True)
def second(n, tensor: torch.Tensor, unknown: Missing, eps=1e-6): pass

def launch(x):
    add_kernel[(1,)](x)

from triton import jit
@jit
def third(): pass
)";
  std::shared_ptr<const JitFunction> kernel = kernelOf(text, "add_kernel");
  ASSERT_TRUE(kernel);
  ASSERT_EQ(kernel->parameters.size(), 8u);
  EXPECT_FALSE(kernel->parameters[0].isConstexpr);
  EXPECT_EQ(kernel->parameters[2].annotation, Type(Scalar::int64));
  EXPECT_EQ(kernel->parameters[3].annotation, Type(Scalar::int1));
  EXPECT_TRUE(kernel->parameters[4].isConst);
  EXPECT_TRUE(kernel->parameters[5].isConstexpr);
  EXPECT_EQ(kernel->parameters[5].defaultValue->repr(), "1024");
  EXPECT_TRUE(kernel->parameters[6].isConstexpr);
  EXPECT_TRUE(kernel->parameters[6].defaultValue->isNone());
  EXPECT_TRUE(kernel->parameters[7].isVariadic);
  Diagnostics diagnostics;
  EXPECT_EQ(kernel->globals->lookup("SCALE", diagnostics)->repr(), "256"); // the kernel keeps its module alive
  kernel = kernelOf(text, "second");
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->noinline_);
  EXPECT_EQ(kernel->doNotSpecialize, std::vector<std::string>{"n"});
  EXPECT_FALSE(kernel->parameters[2].annotation);
  std::shared_ptr<Namespace> scope = scopeOf(text, diagnostics);
  EXPECT_EQ(kernelNames(*scope), (std::vector<std::string>{"add_kernel", "second", "third"}));
  EXPECT_EQ(findKernel(*scope, "third", diagnostics), findKernel(*scope, "third", diagnostics)); // one object for one function

  std::string many = "import triton\n"; // the time of each kernel does not depend on the number of kernels
  for (int i = 0; i < 20'000; ++i)
    many += "@triton.jit\ndef k" + std::to_string(i) + "(x):\n    pass\n";
  EXPECT_EQ(kernelNames(*scopeOf(many, diagnostics)).size(), 20'000u);

  std::string errors;
  EXPECT_FALSE(kernelOf(text, "ad_kernel", &errors));
  EXPECT_EQ(errors, "error: there is no kernel 'ad_kernel' in kernels.py\n  help: did you mean 'add_kernel'? its kernels are add_kernel, "
                    "second, third\n");
  EXPECT_FALSE(kernelOf(text, "launch", &errors));
  EXPECT_NE(errors.find("15:5: error: 'launch' is a plain function, not a kernel"), std::string::npos) << errors;
}

TEST(Kernels, AutotuneAsInRepositories) {
  std::string text = std::string(header) + R"(
import os
from itertools import product

def is_cuda():
    return triton.runtime.driver.active.get_current_target().backend == "cuda"

def get_cuda_configs():
    return [triton.Config({'BLOCK_M': 128, 'BLOCK_N': 256}, num_stages=3, num_warps=8),
            triton.Config({'BLOCK_M': 64, 'BLOCK_N': 256}, num_stages=4, num_warps=4)]

def get_hip_configs():
    return [triton.Config({'BLOCK_M': 1})]

def get_configs():
    if is_cuda():
        return get_cuda_configs()
    else:
        return get_hip_configs()

def generate(nt):
    configs = []
    for bm, bn in product([32, 64], [32, 64]):
        for warps in [2, 4]:
            if bm * bn > 2048 and warps == 2:
                continue
            configs.append(triton.Config(kwargs=dict(BM=bm, BN=bn), num_warps=warps))
    return configs[:nt]

def keep(conf):
    return conf.kwargs["BM"] * conf.kwargs["BN"] >= 2048 and conf.num_warps == 4

BASE = [triton.Config({'B': 2 ** i}, num_warps=w) for i in range(5, 7) for w in [4, 8]]
EXTRA = [triton.Config({'B': 512})] if torch.version.hip is None else []

@triton.autotune(configs=get_configs(), key=['M', 'N', 'K'], prune_configs_by={'early_config_prune': keep}, reset_to_zero=['c_ptr'])
@triton.jit
def matmul(a_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr): pass

@triton.autotune(list(filter(keep, generate(100))), key=["n"], restore_value=["p"])
@triton.heuristics({
    'EVEN_N': lambda args: args['n'] % args['BM'] == 0,
    'WIDE': lambda args: args['BN'] >= 64,
})
@triton.heuristics({'INNER': lambda args: args['EVEN_N'] and not args['WIDE']})
@triton.jit
def tuned(p, n, BM: tl.constexpr, BN: tl.constexpr, EVEN_N: tl.constexpr, WIDE: tl.constexpr, INNER: tl.constexpr): pass

autotune = triton.autotune
@torch.compiler.disable
@autotune(configs=BASE + EXTRA, key=[], **torch.cache_options)
@triton.jit
def based(x, B: tl.constexpr): pass

class Cached(triton.runtime.Autotuner): pass
def cached_autotune(configs, key, **options):
    return lambda fn: Cached(fn, configs, key)

@cached_autotune(configs=[triton.Config({'B': 4})], key=["n"])
@triton.jit
def wrapped(n, B: tl.constexpr): pass

@triton.autotune(configs=torch.load("configs"), key=["n"])
@triton.jit
def hosted(n, B: tl.constexpr): pass
)";
  std::shared_ptr<const JitFunction> kernel = kernelOf(text, "matmul");
  ASSERT_TRUE(kernel && kernel->autotune);
  ASSERT_EQ(kernel->autotune->configs.size(), 2u);
  EXPECT_EQ(configText(kernel->autotune->configs[0]), "BLOCK_M=128 BLOCK_N=256 w8 s3");
  EXPECT_EQ(kernel->autotune->key, (std::vector<std::string>{"M", "N", "K"}));
  EXPECT_EQ(kernel->autotune->resetToZero, (std::vector<std::string>{"c_ptr"}));

  kernel = kernelOf(text, "tuned");
  ASSERT_TRUE(kernel && kernel->autotune);
  ASSERT_EQ(kernel->autotune->configs.size(), 3u);
  EXPECT_EQ(configText(kernel->autotune->configs[0]), "BM=32 BN=64 w4 s3");
  ASSERT_EQ(kernel->heuristics.size(), 3u);
  EXPECT_EQ(kernel->heuristics[0].first, "EVEN_N");
  EXPECT_EQ(kernel->heuristics[2].first, "INNER");
  Diagnostics diagnostics;
  Value args = Value::dict({{Value::string("n"), Value::integer(96)}, {Value::string("BM"), Value::integer(32)}});
  std::optional<Value> even = kernel->heuristics[0].second.asCallable()->call({args}, {}, {}, diagnostics);
  ASSERT_TRUE(even) << diagnostics.render();
  EXPECT_EQ(even->repr(), "True");

  kernel = kernelOf(text, "based");
  ASSERT_TRUE(kernel && kernel->autotune);
  ASSERT_EQ(kernel->autotune->configs.size(), 5u);
  EXPECT_EQ(configText(kernel->autotune->configs[4]), "B=512 w4 s3");

  kernel = kernelOf(text, "wrapped"); // by a wrapper that the evaluator does not follow, but that has autotune's parameters
  ASSERT_TRUE(kernel && kernel->autotune);
  EXPECT_EQ(configText(kernel->autotune->configs[0]), "B=4 w4 s3");

  std::string errors;
  kernel = kernelOf(text, "hosted", &errors);
  ASSERT_TRUE(kernel);
  EXPECT_NE(errors.find("warning: the list of configs"), std::string::npos) << errors;
}

TEST(Kernels, ConstexprFunctionsAndFactories) {
  std::string text = std::string(header) + R"(
@triton.constexpr_function
def log2(n):
    return len(bin(n)) - 3

def make(scale):
    @triton.jit
    def inner(x, S: tl.constexpr = scale): pass
    return inner
doubled = make(2)
wrapped = triton.jit(make)
)";
  EXPECT_EQ(valueOf(text + "x = log2(1024)\n", "x"), "10");
  std::shared_ptr<const JitFunction> kernel = kernelOf(text, "doubled");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->name, "inner");
  EXPECT_EQ(kernel->parameters[1].defaultValue->repr(), "2");
  Diagnostics diagnostics;
  EXPECT_EQ(kernel->globals->lookup("scale", diagnostics)->repr(), "2");
  EXPECT_TRUE(kernel->globals->lookup("tl", diagnostics)->asNamespace());
  EXPECT_TRUE(kernelOf(text, "wrapped"));
}

TEST(Kernels, Errors) {
  std::string start = header;
  EXPECT_EQ(
      errorOf(start +
                  "@triton.autotune(configs=[triton.Config({'B': 1}, num_warp=4)], key=[])\n@triton.jit\ndef k(B: tl.constexpr): pass\n",
              "k"),
      "4:27: Config has no option 'num_warp' | did you mean 'num_warps'?");
  EXPECT_EQ(errorOf(start + "@triton.autotune(configs=3, key=[])\n@triton.jit\ndef k(B): pass\n", "k"),
            "4:2: autotune needs a list of configs, not an int | write configs=[triton.Config({...}), ...], or \"auto\" for a guess");
  EXPECT_EQ(errorOf(start + "@triton.jit\n@triton.autotune(configs=[], key=[])\ndef k(B): pass\n", "k"),
            "5:2: @triton.autotune needs a kernel, not the function 'k' | write it above @triton.jit");
  EXPECT_EQ(errorOf(start + "@triton.jit\ndef k(**kw): pass\n", "k"),
            "5:9: kernels cannot have the parameter '**kw' | name the parameters that the kernel takes");
  EXPECT_EQ(errorOf(start + "@triton.jitt\ndef k(x): pass\n", "k"), "4:9: the module triton has no 'jitt' | did you mean 'jit'?");
  EXPECT_EQ(errorOf(start + "@triton.jit\ndef k(x, B: tl.constexpr = BLOKC): pass\nBLOCK = 3\n", "k"),
            "5:28: name 'BLOKC' is not defined | did you mean 'BLOCK'?");
  EXPECT_EQ(errorOf("from triton.language import dott\n", "dott"), "1:29: the module triton.language has no 'dott' | did you mean 'dot'?");
}

TEST(ModuleErrors, ModuleNotFound) {
  EXPECT_EQ(errorOf("from .missing import f\n", "f"), "1:1: cannot find the module '.missing' | the compiler looks for ./missing.py");
}

TEST(Language, Namespaces) {
  const std::pair<const char *, const char *> expected[] = {
      {"from triton.language.extra import libdevice as l\nx = l.tanh\n", "<builtin extra.libdevice.tanh>"},
      {"import triton.language as tl\nx = tl.extra.cuda.libdevice.tanh\n", "<builtin extra.libdevice.tanh>"},
      {"from triton.language.extra.cuda.libdevice import tanh as x\n", "<builtin extra.libdevice.tanh>"},
      {"from triton.language import math\nx = math.exp\n", "<builtin math.exp>"},
      {"import tilewright as triton, tilewright.language as tl\nx = tl.load\n", "<builtin load>"},
      {"import triton\nx = triton.language.core.load\n", "<builtin load>"},
      {"from tilewright.language import float16 as x\n", "fp16"},
      {"from triton.language import *\nx = arange\n", "<builtin arange>"},
      {"import triton.language as tl\nx = tl.softmax\n", "<jit function softmax>"},
      {"import triton.language as tl\nx = tl.standard.cdiv\n", "<jit function cdiv>"},
      {"import triton.language as tl\nx = tl.extra.cuda.smid\n", "<builtin extra.cuda.smid>"},
      {"from triton.runtime.autotuner import Config\nx = Config({'B': 1}).num_stages\n", "3"},
      {"from triton.tools.tensor_descriptor import TensorDescriptor as x\n", "<host triton.tools.tensor_descriptor.TensorDescriptor>"},
      {"import triton.testing\nx = triton.testing.do_bench\n", "<host triton.testing.do_bench>"},
  };
  for (const auto &[text, value] : expected)
    EXPECT_EQ(valueOf(text, "x"), value) << text;
  EXPECT_FALSE(languageModule("torch"));
  EXPECT_FALSE(languageModule("triton.nothing"));
  Diagnostics diagnostics;
  EXPECT_TRUE(isConstexprMarker(*languageModule("triton.language")->lookup("constexpr", diagnostics)));
  EXPECT_TRUE(isConstMarker(*languageModule("triton.language")->lookup("const", diagnostics)));
}

class HelperFiles : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tilewright_XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string &name, const std::string &text) {
    std::filesystem::path file = folder / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  std::filesystem::path folder;
};

TEST_F(HelperFiles, Imports) {
  write("helper.py", std::string(header) + "SIZE = 64\nfrom main import LATE\n@triton.jit\ndef act(x):\n    return x * SIZE\n");
  write("pkg/__init__.py", "from .inner import DEEP\n");
  write("pkg/inner.py", "from ..helper import SIZE\nfrom . import other\nDEEP = SIZE + other.MORE\n");
  write("pkg/other.py", "MORE = 1\n");
  std::string main = write("main.py", std::string(header) + R"(
import helper
from helper import act as activation
from .helper import SIZE
import pkg
from pkg import inner
import pkg.other as o
LATE = 7
x = (helper.SIZE, SIZE, pkg.DEEP, inner.DEEP, o.MORE, helper.LATE)
from helper import missing
@triton.jit
def k(a):
    helper.act(a)
)");
  Diagnostics diagnostics;
  std::shared_ptr<Namespace> scope = loadModule(main, diagnostics);
  ASSERT_TRUE(scope) << diagnostics.render();
  EXPECT_EQ(scope->lookup("x", diagnostics)->repr(), "(64, 64, 65, 65, 1, 7)") << diagnostics.render();
  std::shared_ptr<const JitFunction> act = scope->lookup("activation", diagnostics)->asFunction();
  ASSERT_TRUE(act);
  EXPECT_EQ(kernelNames(*scope), std::vector<std::string>{"k"});
  EXPECT_FALSE(scope->lookup("missing", diagnostics));
  EXPECT_NE(diagnostics.render().find("has no 'missing'"), std::string::npos);
  scope.reset(); // a function of a helper outlives the file that imported it
  diagnostics.clear();
  EXPECT_EQ(act->globals->lookup("SIZE", diagnostics)->repr(), "64");
  EXPECT_FALSE(loadModule((folder / "none.py").string(), diagnostics));
  EXPECT_NE(diagnostics.render().find("cannot read"), std::string::npos);
}

TEST_F(HelperFiles, DependencyHash) {
  auto hashOf = [&](const std::string &helper, const std::string &text) {
    write("h.py", helper);
    Diagnostics diagnostics;
    std::shared_ptr<Namespace> scope = loadModule(write("m.py", std::string(header) + text), diagnostics);
    std::shared_ptr<const JitFunction> kernel = scope ? findKernel(*scope, "k", diagnostics) : nullptr;
    EXPECT_TRUE(kernel) << diagnostics.render();
    return kernel ? dependencyHash(*kernel) : "";
  };
  std::string helper = std::string(header) + "N = 4\nM = 1\n@triton.jit\ndef f(x): return x + N\n";
  std::string text =
      "import h\nC: tl.constexpr = 3\nD = 1\n@triton.jit\ndef k(p, B: tl.constexpr):\n    x = h.f(p) * C\n    tl.store(p, tl.exp(x))\n";
  std::string base = hashOf(helper, text);
  EXPECT_EQ(base.size(), 64u);
  auto replaced = [](std::string in, const std::string &what, const std::string &with) {
    return in.replace(in.find(what), what.size(), with);
  };
  EXPECT_EQ(base, hashOf(helper, "# a comment\n\n" + replaced(text, "x = h.f(p) * C\n", "x = h.f( p )*C  # same\n\n")));
  EXPECT_EQ(base, hashOf(replaced(helper, "M = 1", "M = 2"), replaced(text, "D = 1", "D = 2")));
  EXPECT_EQ(base,
            hashOf(helper, replaced(text, "@triton.jit", "@triton.autotune(configs=[triton.Config({'B': 1})], key=[])\n@triton.jit")));
  EXPECT_NE(base, hashOf(replaced(helper, "N = 4", "N = 5"), text));
  EXPECT_NE(base, hashOf(replaced(helper, "x + N", "x - N"), text));
  EXPECT_NE(base, hashOf(helper, replaced(text, "= 3", "= 4")));
  EXPECT_NE(base, hashOf(helper, replaced(text, "tl.exp", "tl.log")));
  EXPECT_NE(base, hashOf(helper, replaced(text, "B: tl.constexpr", "B")));
  std::string nested = helper + R"(@triton.constexpr_function
def g(n):
    from math import floor as f
    class C(object): pass
    def h(x, *, y=2): return x + y
    k = lambda a, b=n: a + b
    return f(k(h(n)))
)";
  std::string user = replaced(text, "tl.exp(x)", "tl.exp(x) * h.g(1)");
  EXPECT_EQ(hashOf(nested, user), hashOf("# a comment\n" + nested, user));
  EXPECT_NE(hashOf(nested, user), hashOf(replaced(nested, "floor as f", "ceil as f"), user));
  EXPECT_NE(hashOf(nested, user), hashOf(replaced(nested, "*, y=2", "y=2"), user));
}

namespace {

constexpr char signatureKernel[] =
    "import triton\nimport triton.language as tl\n@triton.jit\n"
    "def k(x_ptr, n, c: tl.const, BLOCK: tl.constexpr, ACT: tl.constexpr = 'none', w: tl.int64 = None): pass\n";

std::string signatureOf(const std::string &text, const std::string &source = signatureKernel) {
  Diagnostics diagnostics;
  std::shared_ptr<const JitFunction> kernel = kernelOf(source, "k");
  std::optional<std::vector<ArgumentSpec>> specs = parseSignature(text, *kernel, diagnostics);
  if (!specs) return std::to_string(diagnostics.all()[0].column) + ": " + diagnostics.all()[0].message + " | " + diagnostics.all()[0].hint;
  std::function<std::string(const ArgumentSpec &)> show = [&](const ArgumentSpec &spec) {
    std::string result = spec.constant ? spec.constant->repr()
                                       : signatureName(spec.type) + (spec.divisibility > 1 ? ":" + std::to_string(spec.divisibility) : "");
    if (!spec.members.empty()) {
      result = "<";
      for (const ArgumentSpec &member : spec.members)
        result += show(member) + " ";
      result.back() = '>';
    }
    return result;
  };
  std::string result;
  for (const ArgumentSpec &spec : *specs)
    result += (result.empty() ? "" : " ") + show(spec);
  return result;
}

} // namespace

TEST(Signature, Words) {
  EXPECT_EQ(signatureOf("*fp32:16, i32, *fp16, 1024"), "*fp32:16 i32 *kfp16 1024 'none' None");
  EXPECT_EQ(signatureOf("x_ptr=*fp32, BLOCK=-4, ACT='a,b=c', c=*i8, n=i32:16,"), "*fp32 i32:16 *ki8 -4 'a,b=c' None");
  EXPECT_EQ(signatureOf("*fp32, 7, *fp32, BLOCK=fp16, ACT=True, w=1.5e-3"), "*fp32 7 *kfp32 fp16 True 0.0015");
  EXPECT_EQ(signatureOf("*fp32, i32:1, *fp32, BLOCK=(1, 'a', None), ACT=None"), "*fp32 1 *kfp32 (1, 'a', None) None None");
  EXPECT_EQ(signatureOf("(*fp32:16, i32, 4), (1, 2), *fp32, 1"), "<*fp32:16 i32 4> (1, 2) *kfp32 1 'none' None");
  EXPECT_EQ(signatureOf("tensordesc<fp16[64,32]>, i64, *fp32, 1"), "tensordesc<fp16[64,32]>:16 i64 *kfp32 1 'none' None");
}

TEST(Signature, Errors) {
  const std::string takes = "k takes (x_ptr, n, c, BLOCK: constexpr, ACT: constexpr, w)";
  EXPECT_EQ(signatureOf("*fp32, BLOCK=1, c=*fp32"), "1: signature: 'n' is not given | " + takes);
  EXPECT_EQ(signatureOf("*fp32, BLOK=1"), "8: signature: 'k' has no parameter 'BLOK' | did you mean 'BLOCK'? " + takes);
  EXPECT_EQ(signatureOf("*fp32, x_ptr=*fp32"), "8: signature: 'x_ptr' is given twice | ");
  EXPECT_EQ(signatureOf("*fp32:16, n=zork"),
            "13: signature: 'zork' is neither a type nor a constant | types are *fp32, *fp16, i32, i64, fp32, ...; strings need quotes");
  EXPECT_EQ(signatureOf("*fp32:17, i32"),
            "7: signature: ':17' is not a divisibility | write ':16' where the value or address is a multiple of 16");
  EXPECT_EQ(signatureOf("*fp32,,i32"), "7: signature: there is nothing between two commas | " + takes);
  EXPECT_EQ(signatureOf("n=i32, *fp32"), "8: signature: an unnamed argument follows a named one | " + takes);
  EXPECT_EQ(signatureOf("i32,i32,i32,1,2,3,4"), "19: signature: there are more arguments than the 6 parameters | " + takes);
  EXPECT_EQ(signatureOf("*fp32, ACT='a"), "8: signature: a string is not closed | ");
}

TEST(Signature, ConfigsAndHeuristicsFillIn) {
  const char *source = "import triton\nimport triton.language as tl\n"
                       "@triton.autotune(configs=[triton.Config({'B': 64}), triton.Config({'B': 128})], key=['n'])\n"
                       "@triton.heuristics({'E': lambda a: a['B'] % 32 == 0})\n@triton.jit\n"
                       "def k(x, n, B: tl.constexpr, E: tl.constexpr): pass\n";
  EXPECT_EQ(signatureOf("*fp32, i32", source), "*fp32 i32 64 True");
  EXPECT_EQ(signatureOf("*fp32, i32, B=8", source), "*fp32 i32 8 False");
}
