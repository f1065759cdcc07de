"""autotune(configs="auto"): sizes by an estimate, which runs nothing; two combinations have to agree."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright import _core
from tilewright.errors import AutotunerError


def product(configs):
    @triton.autotune(configs=configs, key=["M", "N", "K"])
    @triton.jit
    def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
        n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            row, column = step * BLOCK_K + tl.arange(0, BLOCK_K)[None, :], step * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
            a = tl.load(a_ptr + m * K + row, mask=(m < M) & (row < K), other=0.0)
            b = tl.load(b_ptr + column * N + n, mask=(column < K) & (n < N), other=0.0)
            total = tl.dot(a, b, total)
        tl.store(c_ptr + m * N + n, total, mask=(m < M) & (n < N))
    return matmul_kernel


def run_matmul(kernel, M, N, K):
    random = np.random.default_rng(0)
    a, b = random.standard_normal((M, K), np.float32), random.standard_normal((K, N), np.float32)
    c = np.full((M, N), np.nan, np.float32)
    kernel[lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))](a, b, c, M, N, K)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-3)
    return kernel.best_config.kwargs


def test_a_matmul_gets_sizes():
    kernel = product("auto")
    sizes = run_matmul(kernel, 300, 260, 96)
    assert set(sizes) == {"BLOCK_M", "BLOCK_N", "BLOCK_K"} and all(value in (16, 32, 64, 128, 256) for value in sizes.values())
    assert sizes["BLOCK_M"] * sizes["BLOCK_N"] >= 32 * 32  # 16 x 16 loads each operand sixteen times as often as 256 x 256
    narrow = run_matmul(kernel, 1000, 8, 64)
    assert narrow["BLOCK_N"] == 16 and len(kernel.cache) == 2


@triton.autotune(configs="auto", key=["n"])
@triton.jit
def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, SCALE: tl.constexpr = 2):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * SCALE + tl.load(y_ptr + at, mask=at < n), mask=at < n)


def test_the_comparison_leaves_no_trace():
    x, y = np.arange(70000, dtype=np.float32), np.ones(70000, np.float32)
    add_kernel[lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)](x, y, x.size)
    assert (y == 2 * x + 1).all()  # in place: an extra run would change the result
    assert add_kernel.best_config.kwargs["BLOCK"] >= 256
    assert add_kernel.best_config.all_kwargs().keys() >= {"BLOCK", "num_warps"}


def test_what_the_caller_gives_is_not_guessed():
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    add_kernel[(2,)](x, y, 100, BLOCK=64)
    assert (y == 2 * x + 1).all() and "BLOCK" not in add_kernel.best_config.kwargs


def test_warmup_runs_nothing():
    kernel = product("auto")
    a, b, c = (np.full((64, 64), np.nan, np.float32) for _ in range(3))
    compiled = kernel.warmup(a, b, c, 64, 64, 64, grid=(1,))
    assert len(compiled) == 1 and np.isnan(c).all() and set(kernel.cache[next(iter(kernel.cache))].kwargs) == {"BLOCK_M", "BLOCK_N", "BLOCK_K"}


@triton.autotune(configs="auto", key=["n"])
@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.softmax(tl.load(x_ptr + at, mask=at < n, other=-float("inf"))), mask=at < n)


def test_a_size_that_is_no_free_choice_is_refused():
    x, y = np.random.default_rng(0).standard_normal(5000, np.float32), np.zeros(5000, np.float32)
    with pytest.raises(AutotunerError, match="initial configuration \\(BLOCK\\) for kernel 'softmax_kernel'.*pass the values"):
        softmax_kernel[(1,)](x, y, x.size)
    softmax_kernel[(1,)](x, y, x.size, BLOCK=8192)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(), rtol=1e-4)


def test_where_nothing_works():
    @triton.autotune(configs="auto", key=[])
    @triton.jit
    def broken(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), tl.arange(0, 2 * BLOCK))

    with pytest.raises(AutotunerError, match="initial configuration \\(BLOCK\\) for kernel 'broken'"):
        broken[(1,)](np.zeros(8192, np.float32))


def test_other_words_are_refused():
    with pytest.raises(TypeError, match="'auto' for an estimate, not 'best'"):
        product("best")


def test_the_estimate_counts_what_a_program_does():
    kernel = product([triton.Config({})]).fn
    tensors = [np.zeros((64, 64), np.float32)] * 3
    other, products, is_exact = _core.program_work(kernel, (*tensors, 64, 64, 100), {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16},
                                         [2, 4])
    assert products == {"float32": 2 * 32 * 16 * 16 * 7} and other == 0 and is_exact  # 7 steps: tl.cdiv(100, 16)
    assert _core.estimate(kernel, (*tensors, 64, 64, 100), {"BLOCK_M": 33, "BLOCK_N": 16, "BLOCK_K": 16}, 4) is None
    few, many = (_core.estimate(kernel, (*tensors, 64, 64, 100), {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16}, n) for n in (4, 4000))
    assert 0 < few < many
