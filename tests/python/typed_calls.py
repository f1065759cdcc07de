"""What type checkers report of calls: they report each line that ends with `# wrong`, and no other line. test_stubs.py runs them; nothing imports this file."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.language import constexpr
from triton.language.extra import libdevice
from triton.testing import do_bench
from typing_extensions import assert_type

LOG2E = tl.constexpr(1.44269504)
ROWS: tl.constexpr = 16


@triton.constexpr_function
def log2_of(n: int) -> int:
    return n.bit_length() - 1


@triton.aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    @triton.jit
    def total(self, factor):
        return (self.first + self.second) * factor

    @triton.constexpr_function
    def size(self, n):
        return n


@triton.jit
def scaled(x, FACTOR: tl.constexpr = 2):
    return tl.sum(x, axis=0) * FACTOR


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DTYPE: constexpr = tl.float32, NAME: tl.constexpr = "sum", LAST: tl.constexpr = None):
    # ---- compile-time values are used as what they are
    WIDTH: tl.constexpr = BLOCK * 2
    rows = tl.arange(0, ROWS)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, WIDTH)
    if BLOCK > 16 and NAME == "sum" and LAST is not None:
        offs += LAST * LOG2E
    for i in range(BLOCK):
        offs += i
    for step in tl.static_range(3):
        offs += tl.program_id(step)
    acc = tl.zeros((BLOCK, WIDTH), dtype=DTYPE)
    best = min(tl.num_programs(axis=1), BLOCK)
    tl.static_assert(isinstance(best, tl.tensor) or BLOCK.value > 0, "a message")

    # ---- right calls, and the types of their results
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0, cache_modifier=".cg", eviction_policy="evict_last")
    mask = (offs >= 0) & (offs < n)
    assert_type(x, tl.tensor)
    assert_type(x[:, None] * 2, tl.tensor)
    assert_type(2 - x, tl.tensor)
    assert_type(x.to(tl.float16).dtype.element_ty, tl.dtype)
    assert_type(tl.max(x, axis=0), tl.tensor)
    assert_type(tl.max(x, axis=0, return_indices=True), tuple[tl.tensor, tl.tensor])
    assert_type(tl.max(x, 0, True), tuple[tl.tensor, tl.tensor])
    assert_type(tl.split(x), tuple[tl.tensor, tl.tensor])
    assert_type(tl.cdiv(tl.program_id(0), BLOCK), tl.tensor)
    assert_type(tl.cdiv(7, 2), int)
    assert_type(tl.reduce(x, 0, scaled), tl.tensor)
    assert_type(tl.target_info.is_cuda(), bool)
    assert_type(tl.store(out_ptr + offs, x, mask=mask), None)
    assert_type(tl.float32, tl.dtype)
    assert_type(libdevice.tanh(x), tl.tensor)
    assert_type(tl.extra.cuda.libdevice.tanh(x), tl.tensor)
    assert_type(tl.extra.cuda.gdc.gdc_wait(), None)
    assert_type(log2_of(BLOCK), int)
    first, second = tl.associative_scan((x, x), 0, scaled)
    a, b, c, d = tl.randint4x(1, offs)
    low, high = tl.inline_asm_elementwise("", "=r,=r,r", [x], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    desc = tl.make_tensor_descriptor(x_ptr, shape=[n, n], strides=[n, 1], block_shape=[BLOCK, BLOCK])
    acc = tl.dot(desc.load([0, 0]), tl.trans(desc.load([best, 0])), acc, input_precision="tf32x3", out_dtype=DTYPE)
    block = tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    acc += tl.load(tl.advance(block, (0, BLOCK)), boundary_check=(0, 1), padding_option="zero")
    acc += tl.maximum(acc, 0.0, propagate_nan=tl.PropagateNan.ALL) + scaled(acc, FACTOR=3)
    tl.atomic_add(out_ptr, scaled(acc), mask=mask, sem="relaxed", scope="gpu")
    for k in tl.range(0, tl.cdiv(n, BLOCK), num_stages=3, warp_specialize=BLOCK > 64):
        acc += k
    while tl.condition(best < 4, early_exit=True):
        best += 1
    tl.device_print("x", x, hex=True)
    pair = Pair(x, x)
    tl.store(out_ptr, tl.aggregate_replace(pair, first=acc).total(2), mask=offs < pair.size(4))
    tl.static_print(BLOCK, NAME, sep="")

    # ---- wrong calls
    tl.lod(x_ptr)  # wrong
    tl.float33  # wrong
    tl.load()  # wrong
    tl.load("x")  # wrong
    tl.load(x, msk=mask)  # wrong
    tl.load(x, mask="x")  # wrong
    tl.load(x, mask=mask, other="zero")  # wrong
    tl.load(x, cache_modifier=".wb")  # wrong
    tl.load(x, eviction_policy="first")  # wrong
    tl.load(x, padding_option="one")  # wrong
    tl.load(x, boundary_check="01")  # wrong
    tl.store(x)  # wrong
    tl.store(x, "x")  # wrong
    tl.store(x, x, other=0.0)  # wrong
    tl.store(x, x, cache_modifier=".ca")  # wrong
    tl.dot(x)  # wrong
    tl.dot(x, 2.0)  # wrong
    tl.dot(x, x, acc="x")  # wrong
    tl.dot(x, x, input_precision="tf33")  # wrong
    tl.dot(x, x, out_dtype="fp32")  # wrong
    tl.dot_scaled(x, x, "e9m9", x, x, "e4m3")  # wrong
    tl.sum(x, axes=0)  # wrong
    tl.sum(x, axis="0")  # wrong
    tl.sum(x, axis=(0, 1))  # wrong
    tl.max(x, return_indices="yes")  # wrong
    tl.zeros((16, 16), dtype="fp32")  # wrong
    tl.zeros("x", dtype=tl.float32)  # wrong
    tl.zeros((16, 16))  # wrong
    tl.full((16,), "x", tl.float32)  # wrong
    tl.arange("0", 16)  # wrong
    tl.arange(0, x)  # wrong
    tl.arange(16)  # wrong
    tl.program_id(3)  # wrong
    tl.program_id(axis="x")  # wrong
    tl.atomic_add(x, 1, sem="acq")  # wrong
    tl.atomic_add(x, 1, scope="device")  # wrong
    tl.atomic_cas(x, 1)  # wrong
    tl.maximum(x, x, propagate_nan="all")  # wrong
    tl.cast(x, tl.float16, fp_downcast_rounding="up")  # wrong
    tl.cast(x, 16)  # wrong
    tl.where(x > 0, x)  # wrong
    tl.reduce(x, 0, "sum")  # wrong
    tl.split(x, x)  # wrong
    tl.topk(x, "4")  # wrong
    tl.rand("seed", offs)  # wrong
    tl.gather(x, 4, axis=0)  # wrong
    tl.reshape(x, "4")  # wrong
    tl.histogram(x, num_bins=x)  # wrong
    tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (x, BLOCK), (1, 0))  # wrong
    tl.make_tensor_descriptor(x_ptr, shape=[n, n], strides=[n, 1])  # wrong
    tl.device_print(x)  # wrong
    tl.static_assert(True, msg=1)  # wrong
    tl.math.exp("1")  # wrong
    tl.math.expo(x)  # wrong
    libdevice.tanh(x, x)  # wrong
    tl.extra.libdevice.tanhh(x)  # wrong
    tl.target_info.cuda_capability_geq("9")  # wrong
    tl.range(0, 4, num_stage=2)  # wrong
    tl.store(x, x) + 1  # wrong
    desc.load(4)  # wrong
    desc.stores([0, 0], x)  # wrong
    p, q, r = tl.split(x)  # wrong
    x.summ()  # wrong
    x.sum(axes=0)  # wrong
    x.to(16)  # wrong
    x.dtype.is_floaty()  # wrong
    x + "1"  # wrong
    x @ x  # wrong
    x**2  # wrong
    x[0]  # wrong


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=4)], key=["n"], prune_configs_by={"early_config_prune": lambda configs, args: configs})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit(noinline=False, do_not_specialize=["n"])
def tuned(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr = False):
    tl.store(x_ptr, scaled(tl.load(x_ptr)))


@triton.testing.perf_report(triton.testing.Benchmark(["n"], [1, 2], "which", ["a"], ["A"], "plot", {}, ylabel="ms"))
def measure(n, which):
    return 1.0


def host(array, target: GPUTarget):
    kernel[(1,)](array, array, 4, BLOCK=16, num_warps=4)
    compiled = tuned[lambda meta: (triton.cdiv(4, meta["BLOCK"]), 1)](array, 4, num_ctas=1)
    compiled.asm["ptx"]
    tuned.best_config.all_kwargs()
    kernel.warmup(array, array, 4, grid=(1,), BLOCK=16)
    assert_type(triton.next_power_of_2(5), int)
    assert_type(do_bench(lambda: None), float)
    assert_type(do_bench(lambda: None, return_mode="all"), list[float])
    assert_type(triton.testing.do_bench(lambda: None, quantiles=[0.2, 0.8]), list[float])
    triton.testing.assert_close(array, array, atol=1e-3, rtol={"float16": 1e-2})
    measure.run(print_data=True)
    triton.knobs.autotuning.print = True
    triton.knobs.autotuning.print = triton.knobs.env
    with triton.knobs.runtime.scope(), triton.engine("interpret", check_bounds=True):
        assert_type(triton.__version__, str)

    triton.nothing  # wrong
    triton.cdiv("4", 2)  # wrong
    triton.Config({"BLOCK": 1}, num_warp=4)  # wrong
    triton.Config(4)  # wrong
    triton.Config({}, num_stages="3")  # wrong
    triton.jit(noinlin=True)  # wrong
    triton.autotune(configs=[1], key=["n"])  # wrong
    triton.autotune(configs=[triton.Config({})], keys=["n"])  # wrong
    triton.autotune(configs="best", key=["n"])  # wrong
    triton.heuristics(["EVEN"])  # wrong
    triton.heuristics({"EVEN": 1})  # wrong
    kernel[16](array)  # wrong
    kernel["x"](array)  # wrong
    kernel.cach_key  # wrong
    tuned.best_configs  # wrong
    do_bench(4)  # wrong
    do_bench(lambda: None, repetitions=10)  # wrong
    do_bench(lambda: None, return_mode="average")  # wrong
    do_bench(lambda: None).append(1)  # wrong
    triton.testing.assert_close(array)  # wrong
    triton.testing.assert_close(array, array, atol="1")  # wrong
    triton.testing.Benchmark(["n"], [1], "which", ["a"], ["A"])  # wrong
    triton.engine("gpu")  # wrong
    triton.compile(4)  # wrong
    triton.knobs.runtime.debugs = True  # wrong
    triton.knobs.autotuning.print = "yes"  # wrong
    target.warps  # wrong
