"""Configurations of @autotune that compute different results: which ones may win, what is reported, and what is kept."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

BUILD = pathlib.Path(triton.__file__).absolute().parent.parent.parent
COMMAND = os.environ.get("TILEWRIGHT_COMMAND", str(BUILD / "bin" / "tilewright"))
ROWS, COLUMNS = 8, 1000


def softmax_of(blocks, **options):
    """A row has to fit into a block: 512 is too small for 1000 columns."""

    @triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in blocks], key=["n"], **options)
    @triton.jit
    def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        x = tl.exp(x - tl.max(x, 0))
        tl.store(y_ptr + row * n + at, x / tl.sum(x, 0), mask=at < n)

    return softmax


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def reference(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def entries():
    return sorted(pathlib.Path(os.environ["TILEWRIGHT_CACHE_DIR"]).rglob("*.tuned"))


def told(kernel, *args):
    """The warnings of a launch."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[(ROWS,)](*args)
    return [str(warning.message) for warning in caught if issubclass(warning.category, RuntimeWarning)]


@pytest.mark.parametrize("blocks", [(512, 1024, 2048), (1024, 512, 2048), (2048, 1024, 512)])
def test_the_majority_is_right_whatever_is_first(x, blocks):
    kernel, y = softmax_of(blocks), np.zeros_like(x)
    texts = told(kernel, x, y, COLUMNS)
    np.testing.assert_allclose(y, reference(x), rtol=1e-5)
    assert kernel.best_config.kwargs["BLOCK"] >= 1024
    assert len(texts) == 1 and "configurations of kernel 'softmax' disagree: 'BLOCK=512" in texts[0], texts
    assert "computes other results than 'BLOCK=" in texts[0] and re.search(r"element \d+ of 'y_ptr' is \S+ instead of ", texts[0]), texts
    wrong = next(config for config in kernel.configs if config.kwargs["BLOCK"] == 512)
    assert kernel.configs_timings[wrong] == [float("inf")] * 3
    kept, = entries()
    assert b"computes other results than" in kept.read_bytes()
    again, z = softmax_of(blocks), np.zeros_like(x)
    again[(ROWS,)](x, z, COLUMNS)
    np.testing.assert_allclose(z, reference(x), rtol=1e-5)


def test_warps_are_no_votes(x):
    """Three configurations with one set of constants are one opinion."""
    kernel = softmax_of((512, 1024, 2048))
    kernel.configs = [triton.Config({"BLOCK": 512}, num_warps=warps) for warps in (1, 2, 4, 8)] + kernel.configs[1:]
    y = np.zeros_like(x)
    assert told(kernel, x, y, COLUMNS)
    np.testing.assert_allclose(y, reference(x), rtol=1e-5)


@pytest.mark.parametrize("blocks", [(512, 1024), (1024, 512)])
def test_of_two_the_complete_one_runs_and_nothing_is_kept(x, blocks):
    kernel, y = softmax_of(blocks), np.zeros_like(x)
    texts = told(kernel, x, y, COLUMNS)
    assert len(texts) == 1 and "leaves elements unwritten" in texts[0] and "is not stored" in texts[0], texts
    np.testing.assert_allclose(y, reference(x), rtol=1e-5)
    assert not entries()


def sum_of(configs):
    """With ATOMIC=0 programs add to one place without an order between them. Run one after another they are right."""

    @triton.autotune(configs=[triton.Config(config) for config in configs], key=["n"], reset_to_zero=["out_ptr"])
    @triton.jit
    def total(x_ptr, out_ptr, n, ATOMIC: tl.constexpr, WRONG: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0) + WRONG
        if ATOMIC:
            tl.atomic_add(out_ptr, part)
        else:
            tl.store(out_ptr, tl.load(out_ptr) + part)

    return total


def test_the_interpreter_breaks_a_tie(monkeypatch):
    """Both write one number, and one of two is a race: the interpreter finds it."""
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "1")
    x, out = np.ones(1000, np.float32), np.zeros(1, np.float32)
    kernel = sum_of([{"ATOMIC": 0, "WRONG": 1, "BLOCK": 128}, {"ATOMIC": 1, "WRONG": 0, "BLOCK": 128}])
    with pytest.warns(RuntimeWarning, match="the interpreter computes other results than this configuration, or reports an error"):
        kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
    assert kernel.best_config.kwargs["ATOMIC"] == 1 and out[0] == 1000
    assert len(entries()) == 1


def test_sums_in_another_order_agree():
    x, out = np.random.default_rng(0).random(5000, np.float32), np.zeros(1, np.float32)
    kernel = sum_of([{"ATOMIC": 1, "WRONG": 0, "BLOCK": block} for block in (32, 64, 128)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        kernel[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](x, out, 5000)
    np.testing.assert_allclose(out[0], x.sum(dtype=np.float64), rtol=1e-4)


def test_results_that_are_no_numbers_agree():
    @triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (32, 64, 128)], key=["n"])
    @triton.jit
    def root(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, tl.sqrt(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

    x = np.array([-1.0, 4.0, np.inf, np.nan] * 50, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        root[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](x, 200)
    np.testing.assert_array_equal(x, np.array([np.nan, 2.0, np.inf, np.nan] * 50, np.float32))


def test_in_place_inputs_are_restored_for_each(x):
    @triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (512, 1024, 2048)], key=["n"], restore_value=["x_ptr"])
    @triton.jit
    def softmax(x_ptr, n, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        x = tl.exp(x - tl.max(x, 0))
        tl.store(x_ptr + row * n + at, x / tl.sum(x, 0), mask=at < n)

    wanted = reference(x)
    assert len(told(softmax, x, COLUMNS)) == 1
    np.testing.assert_allclose(x, wanted, rtol=1e-5)


def test_results_are_compared_under_a_benchmark_of_the_user(x):
    """Every configuration takes the same time by that clock, so that the first one would win."""
    calls = []

    def bench(call, quantiles):
        call()
        calls.append(call)
        return [1.0] * len(quantiles)

    kernel, y = softmax_of((512, 1024, 2048), do_bench=bench), np.zeros_like(x)
    assert len(told(kernel, x, y, COLUMNS)) == 1
    assert kernel.best_config.kwargs["BLOCK"] == 1024 and len(calls) == 3
    np.testing.assert_allclose(y, reference(x), rtol=1e-5)


@pytest.mark.parametrize("blocks, status", [((512, 1024, 2048), 1), ((512, 1024), 1), ((1024, 2048), 0)])
def test_the_command_says_so(tmp_path, blocks, status):
    (tmp_path / "softmax.py").write_text(textwrap.dedent(f"""
        import triton
        import triton.language as tl

        @triton.autotune(configs=[triton.Config({{"BLOCK": block}}) for block in {blocks}], key=["n"])
        @triton.jit
        def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
            row, at = tl.program_id(0), tl.arange(0, BLOCK)
            x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
            x = tl.exp(x - tl.max(x, 0))
            tl.store(y_ptr + row * n + at, x / tl.sum(x, 0), mask=at < n)
        """))
    launch = ["softmax.py", "--grid", str(ROWS), "--arg", f"x_ptr=randn:f32[{ROWS},{COLUMNS}]", "--arg", f"y_ptr=zeros:f32[{ROWS},{COLUMNS}]",
              "--arg", f"n={COLUMNS}"]
    done = subprocess.run([COMMAND, "tune", *launch], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert ("disagree: 'BLOCK=512" in done.stderr) == bool(status), done.stderr
    assert "BLOCK=512" not in done.stdout.splitlines()[-1]
    # A launch chooses as well, and warns, but has a result.
    done = subprocess.run([COMMAND, "run", *launch, "--time"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "TILEWRIGHT_CACHE_AUTOTUNING": "0"})
    assert done.returncode == 0, done.stderr
    assert ("disagree: 'BLOCK=512" in done.stderr) == bool(status), done.stderr
