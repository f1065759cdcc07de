"""@autotune and @heuristics."""

import copy
import importlib.util
import inspect
import pathlib
import shutil
import threading
import time

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.runtime import autotuner
from tilewright.runtime.rules import names_read
from tilewright.tools.tensor_descriptor import TensorDescriptor


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
        return [float(len(measured) % 2)] * 3  # the second configuration is faster

    kernel = make(do_bench=bench, restore_value=["x_ptr"])
    x = np.zeros(100, np.float32)
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 1)
    assert kernel.best_config.kwargs == {"BLOCK": 64} and len(kernel.configs_timings) == 2
    kernel[GRID](x, 100)
    assert len(measured) == 2
    kernel[GRID](np.zeros(50, np.float32), 50)
    assert len(measured) == 4


@pytest.mark.parametrize("name", ["do_bench", "_do_bench"])
def test_what_measures_is_given_later(name):
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(1)
        return [float(len(measured) % 2)] * 3

    kernel, x = make(restore_value=["x_ptr"]), np.zeros(100, np.float32)
    setattr(kernel, name, bench)
    assert kernel.do_bench is bench and not kernel.cache_results
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 1)
    assert kernel.best_config.kwargs == {"BLOCK": 64} and len(measured) == 2


class ChoosesItself(autotuner.Autotuner):
    """A tuner as libraries write them (FlagGems's LibTuner): its own `run` measures with `_bench`."""

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        timings = {config: self._bench(*args, config=config, **kwargs) for config in self.prune_configs(kwargs)}
        self.best_config = min(timings, key=timings.get)
        self.timings = list(timings.values())
        self.pre_hook({**self.nargs, **kwargs, **self.best_config.all_kwargs()}, reset_only=True)
        result = self.fn.run(*args, **kwargs, **self.best_config.all_kwargs())
        self.nargs = None
        return result


def test_a_subclass_with_its_own_choice():
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(quantiles)
        return [float(3 - len(measured))] * 3

    made = make(configs=[triton.Config({"BLOCK": size}) for size in (32, 48, 64)])  # a block's size is a power of two: the second one fails
    kernel = ChoosesItself(made.fn, made.arg_names, made.configs, ["n"], None, ["x_ptr"], do_bench=bench)
    x = np.zeros(100, np.float32)
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 1)
    assert kernel.timings == [[2.0] * 3, [float("inf")] * 3, [1.0] * 3] and measured == [(0.5, 0.2, 0.8)] * 2
    assert kernel.best_config.kwargs == {"BLOCK": 64}
    kernel.nargs = {"x_ptr": x, "n": 100}
    with pytest.raises(ValueError, match="BLOCK"):
        kernel._bench(x, 100, config=made.configs[0], grid=GRID, BLOCK=32)


def test_a_number_of_threads_has_its_own_choice():
    best = {1: 32, 2: 64}

    def bench(call, quantiles):
        call()
        measured.append(1)
        return [float(len(measured) % 2 == (threads == 2))] * 3  # with one thread the first configuration is faster

    kernel, x = make(do_bench=bench, restore_value=["x_ptr"]), np.zeros(100, np.float32)
    for threads in (1, 2, 1, 2):
        measured = []
        for _ in range(2):
            kernel[GRID](x, 100, num_threads=threads)
            assert kernel.best_config.kwargs["BLOCK"] == best[threads]
    assert not measured and len(kernel.cache) == 2


def test_one_thread_is_measured_by_its_own_time():
    kernel, x = make(), np.zeros(100, np.float32)
    kernel.fn.add_pre_run_hook(lambda *args, **kwargs: time.sleep(0.003))
    kernel[GRID](x, 100, num_threads=1)
    assert all(times[0] < 2 for times in kernel.configs_timings.values())
    kernel[GRID](x, 100, num_threads=2)
    assert all(times[0] >= 3 for times in kernel.configs_timings.values())


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
    with pytest.raises(ValueError, match="given by the call as well: BLOCK"):
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


def test_rules_that_read_numbers_are_kept():
    assert names_read(lambda args: args["n"] % args["BLOCK"] == 0) == ("n", "BLOCK")
    assert names_read(lambda args: 2 if args["n"] > 3 and args["m"] else args["n"]) == ("n", "m")
    outside = 3
    for rule in [
        lambda args: args["n"] + outside, lambda args: len(args["n"]), lambda args: args["x"].size, lambda args: args, lambda args: {**args},
        lambda args: "n" in args, lambda args: [each for each in args], lambda args, more=[]: args["n"], lambda args: args[args["n"]],
        lambda args: args["n" if args["m"] else "k"], lambda **args: args["n"], lambda args: (args := 3), print,
    ]:
        assert names_read(rule) is None, inspect.getsource(rule)


def test_kept_rules_say_what_called_ones_say():
    """Rules are asked about a number, a boolean that equals it, and a later number."""
    derived = []

    class Fn:
        def run(self, *args, grid, warmup, **kwargs):
            derived.append(kwargs["SAME"])

    rules = autotuner.Heuristics(Fn(), ["x", "n"], {"SAME": lambda args: args["n"], "TWICE": lambda args: 2 * args["SAME"]})
    for n in [1, True, 1, 1.0, 2, "a", 1]:
        rules.run(object(), n)
    assert list(map(repr, derived)) == ["1", "True", "1", "1.0", "2", "'a'", "1"]
    assert rules._kept["SAME"].said == {(1,): 1, (2,): 2, ("a",): "a"} and rules._kept["TWICE"].said[("a",)] == "aa"
    with pytest.raises(KeyError):
        rules.run(object())


def test_autotune_over_heuristics():
    @triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[], do_bench=quick)
    @triton.heuristics({"TWICE": lambda args: 2 * args["BLOCK"]})
    @triton.jit
    def kernel(out_ptr, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        tl.store(out_ptr, BLOCK * 100 + TWICE)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 816


@pytest.mark.parametrize("option", ["reset_to_zero", "restore_value"])
def test_tensors_that_a_call_does_without(option):
    @triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[], do_bench=quick, **{option: ["x_ptr", "y_ptr"]})
    @triton.jit
    def kernel(x_ptr, out_ptr, y_ptr=None, BLOCK: tl.constexpr = 4):
        if x_ptr is not None:
            tl.store(x_ptr, 1.0)
        tl.store(out_ptr, BLOCK)

    out = np.zeros(1, np.int32)
    kernel[(1,)](None, out)
    assert out[0] == 8


def test_wrong_names_of_tensors():
    kernel = make(do_bench=quick, reset_to_zero=["y_ptr"])
    with pytest.raises(KeyError, match="reset_to_zero names 'y_ptr', which is not a parameter of kernel 'kernel'"):
        kernel[GRID](np.zeros(100, np.float32), 100)


def test_configurations_that_cannot_be():
    kernel = make(do_bench=quick, configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOK": 64})])
    with pytest.raises(KeyError, match="BLOK was specified but unrecognised: kernel 'kernel' has the parameters x_ptr, n, BLOCK"):
        kernel[GRID](np.zeros(100, np.float32), 100)
    with pytest.raises(TypeError, match=r"needs a list of Config, but \{'BLOCK': 32\} is not a Config"):
        make(configs=[{"BLOCK": 32}])
    # Options of other back ends have no effect here.
    kernel = make(do_bench=quick, configs=[triton.Config({"BLOCK": 32, "waves_per_eu": 2}), triton.Config({"BLOCK": 64, "kpack": 1})])
    kernel[GRID](np.zeros(100, np.float32), 100)


@pytest.mark.parametrize("count", [1, 2])
def test_launches_that_conflict(count):
    kernel = make(do_bench=quick, configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})][:count])
    for conflict in ({"BLOCK": 32}, {"num_warps": 8}):
        with pytest.raises(ValueError, match=f"given by the call as well: {next(iter(conflict))}"):
            kernel[(4,)](np.zeros(100, np.float32), 100, **conflict)
    kernel[GRID](np.zeros(100, np.float32), 100)
    with pytest.raises(ValueError, match="given by the call as well: num_warps"):
        kernel[GRID](np.zeros(100, np.float32), 100, num_warps=8)


def test_an_empty_list_is_one_plain_configuration():
    @triton.autotune([], key=["n"])
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr = 8):
        tl.store(x_ptr, BLOCK)

    x = np.zeros(1, np.float32)
    kernel[(1,)](x, 1)
    assert x[0] == 8 and kernel.best_config == triton.Config({})
    with pytest.raises(TypeError, match="BLOCK.*was given an empty list"):
        make(configs=[])[(1,)](x, 1)


def test_decorators_in_the_wrong_order():
    def function(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr, BLOCK)

    tune = triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[])
    with pytest.raises(TypeError, match="@autotune needs a kernel, not <function .*: write it above @jit"):
        tune(function)
    with pytest.raises(TypeError, match="@heuristics needs a kernel"):
        triton.heuristics({})(function)
    with pytest.raises(TypeError, match="kernel 'function' has two @autotune: put all configurations into one list"):
        tune(triton.heuristics({})(tune(triton.jit(function))))
    with pytest.raises(TypeError, match="@jit needs a function"):
        triton.jit(tune(triton.jit(function)))


def test_threads_tune_once():
    measured, here = [], threading.Barrier(4)

    def bench(call, quantiles):
        measured.append(threading.get_ident())
        return quick(call, quantiles)

    kernel = make(do_bench=bench, restore_value=["x_ptr"])
    results = [np.zeros(100, np.float32) for _ in range(4)]

    def launch(x):
        here.wait()
        kernel[GRID](x, 100)

    threads = [threading.Thread(target=launch, args=(x,)) for x in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(measured) == 2 and len(set(measured)) == 1 and len(kernel.cache) == 1
    np.testing.assert_array_equal(results, 1)


def test_tuned_while_tuned():
    other = np.zeros(50, np.float32)

    def hook(kwargs, reset_only=False):
        if kwargs["n"] == 100:
            kernel[GRID](other, 50)
            assert kernel.nargs["n"] == 100

    kernel = make(do_bench=quick, pre_hook=hook)
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert len(kernel.cache) == 2 and kernel.nargs is None
    kernel = make(do_bench=quick, pre_hook=lambda kwargs, reset_only=False: kernel[GRID](np.zeros(100, np.float32), 100))
    with pytest.raises(triton.errors.AutotunerError, match="'kernel' is launched for .* while it is being tuned for the same"):
        kernel[GRID](np.zeros(100, np.float32), 100)


def test_what_a_benchmark_raises_ends_the_tuning():
    def bench(call, quantiles):
        raise ZeroDivisionError("in the benchmark")

    kernel = make(do_bench=bench)
    with pytest.raises(ZeroDivisionError, match="in the benchmark"):
        kernel[GRID](np.zeros(100, np.float32), 100)
    assert not kernel.cache and kernel.nargs is None
    kernel._do_bench = quick
    kernel[GRID](np.zeros(100, np.float32), 100)


def test_configurations_that_fail():
    kernel = make(configs=[triton.Config({"BLOCK": 48}), triton.Config({"BLOCK": 64})], do_bench=quick)
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert kernel.best_config.kwargs["BLOCK"] == 64
    assert kernel.configs_timings == {kernel.configs[0]: [float("inf")] * 3, kernel.configs[1]: [1.0, 1.0, 1.0]}
    kernel = make(configs=[triton.Config({"BLOCK": 48}), triton.Config({"BLOCK": 24})], do_bench=quick)
    with pytest.raises(triton.errors.CompilationError, match="power of 2"):
        kernel[GRID](np.zeros(100, np.float32), 100)


def test_configurations_are_compiled_at_once():
    """Each configuration is compiled once, by any thread, and one whose compilation fails is dropped."""
    sizes = (8, 16, 24, 32, 64)
    kernel = make(configs=[triton.Config({"BLOCK": size}) for size in sizes], cache_results=False)
    x = np.zeros(100, np.float32)
    kernel[GRID](x, 100)
    assert kernel.fn._compiled_count() == 4
    assert x[0] == 1  # tuning has restored the tensor before the launch
    assert [kernel.configs_timings[config][0] for config in kernel.configs].count(float("inf")) == 1


def test_what_a_compilation_raises_ends_the_tuning():
    called = []

    @triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[])
    @triton.heuristics({"TWICE": lambda args: called.append(1) or 1 // 0})
    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        tl.store(x_ptr, TWICE)

    with pytest.raises(ZeroDivisionError):
        kernel[(1,)](np.zeros(1, np.float32))
    assert len(called) <= 2 and not kernel.cache


@pytest.mark.parametrize("result", [2.5, (2.5, 1.0), np.float32(2.5)])
def test_what_benchmarks_give(result):
    kernel = make(do_bench=lambda call, quantiles: result)
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert list(kernel.configs_timings.values()) == [result, result]


def test_listener(monkeypatch):
    heard = []
    monkeypatch.setattr(triton.knobs.autotuning, "listener", lambda **said: heard.append(said))
    for _ in range(2):
        kernel = make()
        kernel[GRID](np.zeros(100, np.float32), 100)
        kernel[GRID](np.zeros(100, np.float32), 100)
    measured, found = heard
    assert measured["cache_hit"] is False and measured["duration"] > 0 and isinstance(measured["fn"], triton.JITFunction)
    assert found["cache_hit"] is True and found["duration"] is None
    assert found["best_config"] == measured["best_config"] and found["configs_timings"] == measured["configs_timings"]


def test_what_is_kept():
    """Winners by the tuner's own measurement are kept, unless the user forbids it; others only if the user asks for it."""
    for options, kept in (({}, True), ({"cache_results": False}, False), ({"do_bench": quick}, False), ({"do_bench": quick, "cache_results": True}, True),
                          ({"pre_hook": lambda *_, **__: None}, False),
                          ({"configs": [triton.Config({"BLOCK": 32}, pre_hook=lambda _: None), triton.Config({"BLOCK": 64})]}, False)):
        shutil.rmtree(triton.knobs.cache.dir, ignore_errors=True)
        found = []
        for _ in range(2):
            kernel = make(**options)
            kernel[GRID](np.zeros(100, np.float32), 100)
            found.append(kernel.bench_time == 0.0)
        assert found == [False, kept], options


def unmasked(**options):
    """The second configuration has a single block, and ignores the elements beyond it."""

    @triton.autotune(configs=[triton.Config({"BLOCK": 32, "MOST": 1000}), triton.Config({"BLOCK": 64, "MOST": 64})], key=[], **options)
    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, MOST: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=(at < n) & (at < MOST))

    return kernel


def test_configurations_with_other_results_do_not_win():
    x, out = np.arange(500, dtype=np.float32), np.zeros(500, np.float32)
    kernel = unmasked(cache_results=False)
    with pytest.warns(RuntimeWarning, match="'BLOCK=64, MOST=64.*' computes other results than 'BLOCK=32.*element 499 of 'out_ptr' is 0 instead of 500; 436 of 500 elements differ"):
        kernel[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](x, out, 500)
    assert kernel.best_config.kwargs["BLOCK"] == 32
    np.testing.assert_array_equal(out, x + 1)
    assert kernel.configs_timings[kernel.configs[1]][0] == float("inf")


def test_results_may_be_left_unchecked(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CHECK_TUNING", "0")
    x, out = np.arange(500, dtype=np.float32), np.zeros(500, np.float32)
    kernel = unmasked(cache_results=False)
    kernel[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](x, out, 500)
    assert all(times[0] < 1e3 for times in kernel.configs_timings.values())


def test_tensors_are_as_they_were_when_tuning_ends():
    """A kernel accumulates without restore_value: each configuration starts from the same values, and so does the launch."""
    kernel = make(cache_results=False)
    x = np.full(100, 5, np.float32)
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 6)


def test_hooks_shape_descriptors_before_anything_is_compiled():
    """A configuration's hook gives host descriptors the shape of its tiles; without it, no configuration compiles."""
    def shape(named):
        named["x_desc"].block_shape = named["out_desc"].block_shape = [named["BLOCK"]]

    @triton.autotune(configs=[triton.Config({"BLOCK": block}, pre_hook=shape) for block in (16, 32, 64)], key=["n"])
    @triton.jit
    def raised_kernel(x_desc, out_desc, n, BLOCK: tl.constexpr):
        start = tl.program_id(0) * BLOCK
        out_desc.store([start], x_desc.load([start]) + tl.full((BLOCK,), 1, tl.float32))

    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    described = [TensorDescriptor(array, [64], [1], [1]) for array in (x, out)]
    raised_kernel[lambda meta: (64 // meta["BLOCK"],)](*described, 64)
    np.testing.assert_array_equal(out, x + 1)
    assert len(raised_kernel.configs_timings) == 3
    assert all(np.isfinite(times).all() for times in raised_kernel.configs_timings.values())


@pytest.mark.parametrize("engine", ["cpu", "simulate"])
def test_what_compares_results_on_a_gpu(engine):
    """The kernels that compare results on the device: floats may differ in some bits, NaN equals NaN, and the last element counts."""
    from tilewright import _alias
    _alias.install()  # the file says `import triton`
    path = pathlib.Path(__file__).parents[2] / "src" / "tune" / "compare_tensors.py"
    spec = importlib.util.spec_from_file_location("compare_tensors", path)
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    flag, squares = np.zeros(1, np.int32), np.zeros(1, np.float32)

    def floats(now, expected):
        flag[:], squares[:] = 0, 0
        kernels.sum_squares[(5,)](expected, squares, expected.size, BLOCK=1024)
        kernels.floats_differ[(5,)](now, expected, squares, flag, 2**-8, 2**-7, expected.size, BLOCK=1024)
        return bool(flag[0])

    with triton.engine(engine):
        expected = np.random.default_rng(0).standard_normal(5000).astype(np.float16)
        now = expected.copy()
        now[7] += 0.007
        assert not floats(now, expected)
        np.testing.assert_allclose(squares[0], np.mean(expected.astype(np.float64)**2), rtol=1e-4)
        now[8] += 0.05  # small compared with the largest element, but too much for a typical one
        assert floats(now, expected)
        now[8] = expected[8]
        for other, value in ((np.nan, 0), (0, np.nan), (np.inf, 0), (0, -np.inf), (np.inf, -np.inf), (now[4999] + 1, now[4999])):
            now[4999], expected[4999] = other, value
            assert floats(now, expected), (other, value)
        for same in (np.nan, np.inf):
            now[4999] = expected[4999] = same
            assert not floats(now, expected)
        assert np.isfinite(squares[0])
        integers = np.arange(4000, dtype=np.int8)
        for at, differs in ((None, 0), (3999, 1)):
            other = integers.copy()
            if at is not None:
                other[at] += 1
            flag[:] = 0
            kernels.bytes_differ[(4,)](other, integers, flag, integers.size, BLOCK=1024)
            assert flag[0] == differs


def test_one_configuration_is_measured_for_all_that_mean_the_same(monkeypatch):
    """Warps and stages have no meaning on a CPU."""
    configs = [triton.Config({"BLOCK": block}, num_warps=warps, num_stages=stages) for block in (32, 64) for warps in (4, 8) for stages in (2, 3)]
    kernel = make(configs=configs, cache_results=False)
    asked, bench = [], kernel._times_of
    monkeypatch.setattr(kernel, "_times_of", lambda args, meta, config, best: asked.append(config) or bench(args, meta, config, best))
    kernel[GRID](np.zeros(100, np.float32), 100)
    assert {id(config) for config in asked} == {id(configs[0]), id(configs[4])}
    times = [kernel.configs_timings[config] for config in configs]
    assert times[0] == times[1] == times[3] and times[4] == times[7] and kernel.best_config in (configs[0], configs[4])


def test_configurations_with_different_hooks_differ():
    hooks = [lambda arguments: None, lambda arguments: arguments["x_ptr"].fill(0)]
    kernel = make(configs=[triton.Config({"BLOCK": 32}, num_warps=warps, pre_hook=hook) for hook in hooks for warps in (4, 8)])
    assert kernel._same_as(kernel.fn, kernel.configs) == [0, 0, 2, 2]


@triton.heuristics({"TWICE": lambda args: 2 * args["BLOCK"]})
@triton.jit
def scaled_kernel(x_ptr, n, TWICE: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr = 3):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + TWICE + STEP, mask=at < n)


def tuned_and_warm():
    """(a tuned kernel that was launched for 100 elements, the chosen blocks)."""
    kernel = triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"], do_bench=quick)(scaled_kernel)
    kernel[GRID](np.zeros(100, np.float32), 100)
    return kernel, kernel.best_config.kwargs["BLOCK"]


def test_a_warm_launch_computes_what_the_first_did():
    kernel, block = tuned_and_warm()
    seen, x = [], np.zeros(100, np.float32)
    kernel.best_config = None

    def grid(meta):
        seen.append(dict(meta))
        return GRID(meta)

    kernel[grid](n=100, x_ptr=x)
    np.testing.assert_array_equal(x, 2 * block + 3)
    assert kernel.best_config.kwargs == {"BLOCK": block}
    assert {name: seen[0][name] for name in ("n", "TWICE", "BLOCK", "STEP")} == {"n": 100, "TWICE": 2 * block, "BLOCK": block, "STEP": 3}
    kernel[GRID](x, 100, STEP=4)
    np.testing.assert_array_equal(x, 4 * block + 7)


def test_a_warm_launch_refuses_what_the_first_does():
    kernel, block = tuned_and_warm()
    x = np.zeros(100, np.float32)
    with pytest.raises(ValueError, match="chosen by the tuner.*BLOCK"):
        kernel[GRID](x, 100, BLOCK=32)
    with pytest.raises(TypeError, match="x_ptr"):
        kernel[GRID](n=100)
    with pytest.raises(KeyError, match="WRONG"):
        kernel[GRID](x, 100, WRONG=1)
    with pytest.raises(TypeError, match="more|too many|takes|arguments"):
        kernel[GRID](x, 100, 1, 1, 1, 1)
    with pytest.raises(ZeroDivisionError):
        kernel[lambda meta: 1 // 0](x, 100)
    np.testing.assert_array_equal(x, 0)


def test_a_warm_launch_sees_what_has_changed():
    kernel, block = tuned_and_warm()
    x, hooked = np.zeros(100, np.float32), []
    kernel.best_config.pre_hook = lambda named: hooked.append(named["n"])
    kernel[GRID](x, 100)
    assert hooked == [100]
    kernel.best_config.pre_hook = None
    kernel.cache = {key: triton.Config({"BLOCK": 16}) for key in kernel.cache}  # a choice that the program makes
    kernel[GRID](x, 100)
    np.testing.assert_array_equal(x, 2 * block + 32 + 6)
    kernel.run = lambda *args, grid, warmup, **kwargs: hooked.append((args[1], grid, warmup, kwargs))
    kernel[(7,)](x, 100, STEP=1)
    assert hooked[1:] == [(100, (7,), False, {"STEP": 1})]


def test_a_warm_launch_of_the_only_configuration():
    kernel = triton.autotune(configs=[triton.Config({"BLOCK": 32})], key=["n"])(scaled_kernel)
    for times in (1, 2):
        x = np.zeros(50 * times, np.float32)
        kernel[GRID](x, 50 * times)
        np.testing.assert_array_equal(x, 67)


def test_warm_launches_in_many_ways():
    kernel, block = tuned_and_warm()
    total, x, y = 0, np.zeros(100, np.float32), np.zeros(100, np.float32)
    ways = [lambda how: kernel[GRID](x, 100, **how), lambda how: kernel[GRID](x, n=100, **how), lambda how: kernel[GRID](n=100, x_ptr=x, **how)]
    hows = [{}, {"STEP": 1}, {"num_threads": 1}, {"STEP": 2, "num_threads": 2}, {"num_threads": 2, "STEP": 2}]

    for threads in (1, 2):  # numbers of threads are tuned apart
        kernel[GRID](y, 100, num_threads=threads)
    y[:] = 0

    def nested(meta):  # launches in another way while this launch is under way
        kernel[GRID](x_ptr=y, n=100, STEP=int(meta["STEP"]) + 1)
        return GRID(meta)

    for _ in range(3):
        for how in hows:
            for way in ways:
                way(how)
                total += 2 * kernel.best_config.kwargs["BLOCK"] + how.get("STEP", 3)
    np.testing.assert_array_equal(x, total)
    kernel[nested](x, 100, STEP=5)
    np.testing.assert_array_equal(x, total + 2 * block + 5)
    np.testing.assert_array_equal(y, 2 * block + 6)
    copied = copy.deepcopy(kernel._fixed[-1])
    assert type(copied) is type(kernel._fixed[-1]) and copied is not kernel._fixed[-1]


def test_a_warm_launch_follows_rules_that_change():
    kernel, block = tuned_and_warm()
    x, rules = np.zeros(100, np.float32), kernel.fn.values
    before = dict(rules)
    try:
        rules["STEP"] = lambda args: 10
        kernel[GRID](x, 100)
        np.testing.assert_array_equal(x, 2 * block + 10)
        rules["TWICE"] = lambda args: 1
        kernel[GRID](x, 100)
        np.testing.assert_array_equal(x, 2 * block + 21)
        del rules["STEP"]
        kernel[GRID](x, 100)
        np.testing.assert_array_equal(x, 2 * block + 25)
    finally:
        rules.clear()
        rules.update(before)
