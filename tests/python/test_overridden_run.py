"""JITFunction.run that a program has replaced, on a kernel, on its class or in a subclass: every launch goes through it."""

import pickle
from unittest import mock

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.runtime.jit import JITFunction


def put_source(x_ptr, value):
    tl.store(x_ptr, value)


@triton.jit
def put(x_ptr, value):
    tl.store(x_ptr, value)


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def fill(x_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, n, mask=at < n)


@pytest.fixture
def x():
    return np.zeros(64, np.int32)


class Recorder:
    """A `run` that notes its calls, and launches unless it skips."""

    def __init__(self, run, skips=False):
        self.run, self.skips, self.seen = run, skips, []

    def __call__(self, *args, grid, warmup, **kwargs):
        self.seen.append((grid, warmup))
        return None if self.skips else self.run(*args, grid=grid, warmup=warmup, **kwargs)


def test_on_a_kernel(x):
    launcher = put[(1,)]
    launcher(x, 1)
    recorder = Recorder(put.run)
    with mock.patch.object(put, "run", recorder):
        put[(1,)](x, 2)
        launcher(x, 3)  # one that was made before
        recorder.skips = True
        put[(1,)](x, 4)
        assert recorder.seen == [((1,), False)] * 3 and x[0] == 3
    put[(1,)](x, 5)
    assert len(recorder.seen) == 3 and x[0] == 5 and "run" not in vars(put)


def test_on_the_class(x):
    seen = []
    original = JITFunction.run

    def run(self, *args, **kwargs):
        seen.append(self)
        return original(self, *args, **kwargs)

    put[(1,)](x, 1)
    with mock.patch.object(JITFunction, "run", run):
        put[(1,)](x, 2)
        fill[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, 40)
    tuned = len(seen)
    assert x[0] == 40 and seen[0] is put and tuned > 1 and all(kernel is fill.fn.fn for kernel in seen[1:])
    put[(1,)](x, 3)
    assert len(seen) == tuned and x[0] == 3


def test_in_a_subclass(x):
    class Counted(JITFunction):
        count = 0

        def run(self, *args, **kwargs):
            self.count += 1
            return super().run(*args, **kwargs)

    kernel = Counted(put_source)
    kernel[(1,)](x, 7)
    assert kernel.count == 1 and x[0] == 7
    Counted.run = JITFunction.run
    kernel[(1,)](x, 8)
    assert kernel.count == 1 and x[0] == 8


def test_below_a_tuner(x):
    """A launch whose configuration is known skips the tuner's Python code, not the kernel's `run`."""
    grid = lambda meta: (triton.cdiv(40, meta["BLOCK"]),)
    fill[grid](x, 40)
    inner = fill.fn.fn
    recorder = Recorder(inner.run, skips=True)
    with mock.patch.object(inner, "run", recorder):
        x[:] = 0
        fill[grid](x, 40)
    assert len(recorder.seen) == 1 and not x.any()
    fill[grid](x, 40)
    assert (x[:40] == 40).all()


@pytest.mark.parametrize("layer", [lambda: fill, lambda: fill.fn])
def test_of_tuners_and_rules(x, layer):
    grid = lambda meta: (triton.cdiv(40, meta["BLOCK"]),)
    fill[grid](x, 40)
    seen = []
    original = type(layer()).run

    def run(self, *args, **kwargs):
        seen.append(kwargs["grid"])
        return original(self, *args, **kwargs)

    with mock.patch.object(type(layer()), "run", run):
        x[:] = 0
        fill[grid](x, 40)
    assert seen and (x[:40] == 40).all()


def test_settings_of_a_kernel_are_seen(x):
    calls = []
    hook = lambda *args, **kwargs: calls.append(kwargs.get("debug"))
    put.pre_run_hooks.append(hook)
    put[(1,)](x, 1)
    put.pre_run_hooks.remove(hook)
    put.pre_run_hooks = [hook]
    put.debug = True
    try:
        put[(1,)](x, 2)
    finally:
        put.debug, put.pre_run_hooks = None, []
    put[(1,)](x, 3)
    assert calls == [None, True] and x[0] == 3


def test_an_override_does_not_travel(x):
    recorder = Recorder(put.run)
    with mock.patch.object(put, "run", recorder):
        assert pickle.loads(pickle.dumps(put)) is put
