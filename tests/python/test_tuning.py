"""@autotune and @heuristics."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


def quick(call, quantiles):
    call()
    return [1.0, 1.0, 1.0]


def make(**options):
    options.setdefault("configs", [triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64}, num_warps=8)])
    options.setdefault("key", ["n"])

    @triton.autotune(**options)
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1.0, mask=at < n)

    return kernel


GRID = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)


def test_chooses_the_fastest_once_a_key():
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(1)
        return [float(len(measured) % 2)] * 3  # the second is faster

    kernel = make(do_bench=bench, restore_value=["x_ptr"])
    x = np.zeros(100, np.float32)
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 1)
    assert kernel.best_config.kwargs == {"BLOCK": 64} and len(kernel.configs_timings) == 2
    kernel[GRID](x, 100)
    assert len(measured) == 2
    kernel[GRID](np.zeros(50, np.float32), 50)
    assert len(measured) == 4


def test_reset_to_zero():
    kernel = make(do_bench=quick, reset_to_zero=["x_ptr"])
    x = np.full(100, 7, np.float32)
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 1)


def test_hooks():
    seen = []
    kernel = make(
        configs=[triton.Config({"BLOCK": 32}, pre_hook=lambda kwargs: seen.append(("config", kwargs["BLOCK"]))), triton.Config({"BLOCK": 64})],
        pre_hook=lambda kwargs, reset_only=False: seen.append(("pre", reset_only)),
        post_hook=lambda kwargs, exception: seen.append(("post", exception)), do_bench=quick)
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert ("config", 32) in seen and ("pre", False) in seen and ("pre", True) in seen and ("post", None) in seen


def test_pruning():
    kernel = make(do_bench=quick, prune_configs_by={"early_config_prune": lambda configs, args, **kwargs: configs[1:]})
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert kernel.best_config.kwargs["BLOCK"] == 64
    kernel = make(do_bench=quick, prune_configs_by={"perf_model": lambda **args: args["BLOCK"], "top_k": 1})
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert list(kernel.configs_timings) == [kernel.configs[0]]
    kernel = make(do_bench=quick, prune_configs_by={"early_config_prune": lambda configs, args, **kwargs: []})
    with pytest.raises(triton.errors.AutotunerError, match="No valid autotuner configs"):
        kernel[GRID](np.zeros(100, np.float32), 100)


def test_conflict():
    kernel = make(do_bench=quick)
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        kernel[(1,)](np.zeros(100, np.float32), 100, BLOCK=32)


def test_results_on_disk():
    count = []

    def bench(call, quantiles):
        count.append(1)
        return quick(call, quantiles)

    for _ in range(2):
        kernel = make(do_bench=bench, cache_results=True)
        kernel[GRID](np.zeros(100, np.float32), 100)
    assert len(count) == 2


def test_default_benchmarker():
    kernel = make()
    x = np.zeros(1000, np.float32)
    kernel[GRID](x, 1000)
    assert kernel.bench_time > 0 and all(len(times) == 3 for times in kernel.configs_timings.values())


def test_config():
    config = triton.Config({"BLOCK": 32}, num_warps=2, maxnreg=64)
    assert config.all_kwargs() == {"BLOCK": 32, "num_warps": 2, "num_ctas": 1, "num_stages": 3, "maxnreg": 64}
    assert str(config) == "BLOCK: 32, num_warps: 2, num_ctas: 1, num_stages: 3, maxnreg: 64"
    assert config == triton.Config({"BLOCK": 32}, num_warps=2, maxnreg=64) and len({config, triton.Config({"BLOCK": 32})}) == 2


def test_heuristics():
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0, "DOUBLE": lambda args: 2 * args["BLOCK"]})
    @triton.jit
    def kernel(out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, DOUBLE: tl.constexpr):
        tl.store(out_ptr, DOUBLE + EVEN)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 64, BLOCK=32)
    assert out[0] == 65
    kernel[(1,)](out, 65, BLOCK=32)
    assert out[0] == 64


def test_autotune_over_heuristics():
    @triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[], do_bench=quick)
    @triton.heuristics({"TWICE": lambda args: 2 * args["BLOCK"]})
    @triton.jit
    def kernel(out_ptr, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        tl.store(out_ptr, BLOCK * 100 + TWICE)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 816
