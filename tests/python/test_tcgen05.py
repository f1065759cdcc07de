"""Dots by tcgen05.mma with accumulators in tensor memory (sm_100a, sm_103a, sm_110a), on the simulator, which reports each broken rule of
the ISA. ptxas assembles the same kernels."""

import itertools
import os
import pathlib
import re
import shutil
import sys

import ml_dtypes
import numpy as np
import pytest

import microscaling
import tilewright as triton
import tilewright.language as tl

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "run"))
TARGETS = ["sm_100a", "sm_103a", "sm_110a"]
TYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "i8": np.int8}


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, rows, columns, depth, a_row, a_depth, b_depth, b_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TYPE: tl.constexpr,
):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    acc = tl.zeros((M, N), TYPE)
    for k in range(0, depth, K):
        at = k + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * a_row + at[None, :] * a_depth, mask=(m[:, None] < rows) & (at[None, :] < depth), other=0)
        b = tl.load(b_ptr + at[:, None] * b_depth + n[None, :] * b_column, mask=(at[:, None] < depth) & (n[None, :] < columns), other=0)
        acc = tl.dot(a, b, acc, out_dtype=TYPE)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc, mask=(m[:, None] < rows) & (n[None, :] < columns))


def device(target, **options):
    """The simulator with the target's code and these options, or the machine's GPU (tests/gpu/run --blackwell)."""
    if not os.environ.get("TILEWRIGHT_TESTS_ON_GPU"):
        return triton.engine("simulate", target=f"cuda:{target}", **options)
    import gpu_device

    return gpu_device.engine()


def rounding(kind):
    """The error of one sum, relative to the sum of its terms' magnitudes. Tensor cores truncate, and those of Hopper keep 14 bits of fp8 products."""
    if not os.environ.get("TILEWRIGHT_TESTS_ON_GPU"):
        return 2.0**-24
    return 2.0**-13 if kind in ("e4m3", "e5m2", "e2m1") else 2.0**-22


def ptx(kernel, target, arguments, **options):
    """The PTX for the target. ptxas assembles it, too."""
    made = kernel.warmup(*arguments, grid=(1,), arch=target, **options)
    assert made.asm["cubin" if shutil.which("ptxas") else "ptx"]
    return made.asm["ptx"]


def numbers(shape, kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    values = rng.standard_normal(shape).astype(np.float32)
    if kind == "tf32":
        values = (values.view(np.uint32) & 0xFFFFE000).view(np.float32)  # tf32 numbers, so that products are exact
    return values.astype(TYPES[kind])


def multiply(target, sizes, tile, kind, second=None, columns_first=(False, False), **options):
    """Runs the kernel on the simulator and compares it with float64. Returns its PTX."""
    (rows, columns, depth), (m, n, k) = sizes, tile
    a, b = numbers((rows, depth), kind, 1), numbers((depth, columns), second or kind, 2)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    terms = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    a, b = (np.asfortranarray(x) if first else x for x, first in zip((a, b), columns_first))
    c = np.zeros((rows, columns), np.int32 if kind == "i8" else np.float32)
    strides = [s // x.itemsize for x in (a, b) for s in x.strides]
    arguments = (a, b, c, rows, columns, depth, *strides, m, n, k, tl.int32 if kind == "i8" else tl.float32)
    with device(target):
        matmul[triton.cdiv(rows, m), triton.cdiv(columns, n)](*arguments, **options)
    if kind == "i8":
        np.testing.assert_array_equal(c, expected)
    else:  # one rounding for each instruction, and for each addition of its sum
        assert np.all(np.abs(c - expected) <= terms * rounding(kind) * (2 + depth / 8))
    return ptx(matmul, target, arguments, **options)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("columns_first", list(itertools.product([False, True], repeat=2)))
def test_formats_and_orders(kind, columns_first):
    text = multiply("sm_100a", (128, 128, 128), (128, 128, 64), kind, columns_first=columns_first, num_warps=4, num_stages=2)
    kinds = {"fp16": "f16", "bf16": "f16", "tf32": "tf32", "i8": "i8"}
    assert f"tcgen05.mma.cta_group::1.kind::{kinds.get(kind, 'f8f6f4')}" in text


@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("tile", [(64, 16, 32), (64, 64, 16), (64, 256, 32), (128, 16, 64), (128, 64, 128), (128, 512, 16), (256, 64, 64), (256, 256, 32), (512, 128, 16)])
def test_tiles(tile, warps):
    """Every number of rows and columns of tensor memory, and sizes that the tile does not divide."""
    m, n, k = tile
    text = multiply("sm_100a", (m + 3, n - 5, 2 * k + 8), tile, "fp16", num_warps=warps, num_stages=3)
    fits = n >= 16 * warps // 4
    assert ("tcgen05.mma" in text) == fits


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("depth", [0, 8, 64, 65, 128, 320])
def test_stages(stages, depth):
    multiply("sm_100a", (128, 64, depth), (128, 64, 64), "bf16", num_warps=4, num_stages=stages)


@pytest.mark.parametrize("target", TARGETS)
def test_targets(target):
    text = multiply(target, (200, 100, 96), (128, 128, 32), "e4m3", "e5m2", num_warps=8, num_stages=3)
    assert "tcgen05.mma" in text and "mma.sync" not in text
    text = multiply(target, (64, 64, 64), (64, 64, 64), "i8", num_warps=4)
    assert ("tcgen05.mma" in text) == (target != "sm_103a")  # which has no integers


@pytest.mark.parametrize(("tile", "warps"), [((32, 64, 64), 4), ((64, 64, 64), 2), ((64, 8, 64), 4)])
def test_smaller_dots_use_mma_sync(tile, warps):
    text = multiply("sm_100a", tile, tile, "fp16", num_warps=warps)
    assert "mma.sync" in text and "tcgen05" not in text


@triton.jit
def several(a_ptr, b_ptr, c_ptr, n, M: tl.constexpr, LAST: tl.constexpr):
    """Sums that threads change between MMAs, sums in branches and while loops, and a result that is used twice."""
    m, k = tl.arange(0, M), tl.arange(0, 64)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 64 + k[None, :])
    acc = tl.full((M, 64), 1.0, tl.float32)
    for i in range(n):
        if i % 2 == 0:
            acc = tl.dot(a, b, acc)
        else:
            acc = acc * 0.5
        first = tl.dot(a, b)
        acc = tl.dot((first * 0.25).to(tl.float16), b, acc) + first
    i = 0
    while i < n + 1:
        acc = tl.dot(a, b, acc)
        i += 1
    if LAST:
        acc = acc + tl.dot(a, b, acc) - tl.dot(a, b, acc * 2.0)
    tl.store(c_ptr + m[:, None] * 64 + k[None, :], acc)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("rows", [64, 128, 256])
@pytest.mark.parametrize("warps", [4, 8])
def test_several_dots(rows, warps, n, last):
    a, b = numbers((rows, 64), "fp16", 3), (numbers((64, 64), "fp16", 4) * np.float16(0.125))
    c = np.zeros((rows, 64), np.float32)
    with device("sm_100a"):
        several[1,](a, b, c, n, rows, last, num_warps=warps)
    product = a.astype(np.float64) @ b.astype(np.float64)
    acc = np.ones((rows, 64))
    for i in range(n):
        acc = acc + product if i % 2 == 0 else acc * 0.5
        acc = (product * 0.25).astype(np.float16).astype(np.float64) @ b.astype(np.float64) + acc + product
    for i in range(n + 1):
        acc = acc + product
    if last:
        acc = acc + (product + acc) - (product + acc * 2.0)
    np.testing.assert_allclose(c, acc, rtol=1e-3, atol=2e-3)  # weights are rounded to fp16 from other sums than here
    assert "tcgen05.mma" in ptx(several, "sm_100a", (a, b, c, n, rows, last), num_warps=warps)


@triton.jit
def many(a_ptr, b_ptr, c_ptr, COUNT: tl.constexpr):
    m, k = tl.arange(0, 128), tl.arange(0, 16)
    n = tl.arange(0, 256)
    a = tl.load(a_ptr + m[:, None] * 16 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 256 + n[None, :])
    sums = ()
    for i in tl.static_range(COUNT):
        sums = sums + (tl.dot(a, b) * i,)
    acc = sums[0]
    for i in range(3):
        acc = tl.dot(a, b, acc)
    for i in tl.static_range(1, COUNT):
        acc += sums[i]
    tl.store(c_ptr + m[:, None] * 256 + n[None, :], acc)


def test_results_that_are_not_live_together_share_columns():
    a, b = numbers((128, 16), "fp16", 5), numbers((16, 256), "fp16", 6)
    c = np.zeros((128, 256), np.float32)
    with device("sm_100a"):
        many[1,](a, b, c, 4, num_warps=8)
    np.testing.assert_allclose(c, (0 + 1 + 2 + 3 + 3) * (a.astype(np.float64) @ b.astype(np.float64)), atol=1e-3)
    text = ptx(many, "sm_100a", (a, b, c, 4), num_warps=8)
    assert re.findall(r"tcgen05.alloc[^;]*, (\d+);", text) == ["256"]


@triton.jit
def crossing(a_ptr, b_ptr, c_ptr, n):
    m, k = tl.arange(0, 128), tl.arange(0, 16)
    columns = tl.arange(0, 256)
    a = tl.load(a_ptr + m[:, None] * 16 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 256 + columns[None, :])
    x = tl.zeros((128, 256), tl.float32)
    y = tl.zeros((128, 256), tl.float32)
    z = tl.zeros((128, 256), tl.float32)
    for i in range(n):
        x = tl.dot(a, b, x)
        y = tl.dot(a, b, y)
        z = tl.dot(a, b, z)
    tl.store(c_ptr + m[:, None] * 256 + columns[None, :], x + y * z)


def test_too_many_columns_are_refused():
    a, b = numbers((128, 16), "fp16", 5), numbers((16, 256), "fp16", 6)
    c = np.zeros((128, 256), np.float32)
    with pytest.raises(triton.OutOfResources, match="columns of tensor memory, Required: 768, Hardware limit: 512"):
        ptx(crossing, "sm_100a", (a, b, c, 3), num_warps=16)


# ---- a warp of its own for MMAs


@triton.jit
def persistent(
    a_ptr, b_ptr, c_ptr, rows, columns, depth, PROGRAMS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TWO: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [columns, depth], [depth, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, PROGRAMS):
        m, n = tile // across * M, tile % across * N
        acc = tl.zeros((M, N), tl.float32)
        other = tl.zeros((M, N), tl.float32)
        for k in range(0, depth, K):
            x = a.load([m, k])
            y = b.load([n, k])
            acc = tl.dot(x, y.T, acc)
            if TWO:
                other = tl.dot(x, y.T, other)
        c.store([m, n], (acc + other).to(tl.float16))


def multiply_persistent(programs, two, tile, depth, more_columns, **options):
    """Runs the persistent kernel on the simulator and compares it with float64. Returns its arguments."""
    m, n, k = tile
    rows, columns = 2 * m + 40, 2 * n + more_columns
    a, b = numbers((rows, depth), "fp16", 1), numbers((columns, depth), "fp16", 2)
    c = np.zeros((rows, columns), np.float16)
    arguments = (a, b, c, rows, columns, depth, programs, m, n, k, two)
    with device("sm_100a"):
        persistent[programs,](*arguments, **options)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, (2 if two else 1) * expected, rtol=2e-3, atol=2e-2)  # one rounding to fp16
    return arguments


@pytest.mark.parametrize("programs", [1, 3])
@pytest.mark.parametrize(("two", "tile", "warps"), [(False, (128, 128, 64), 4), (True, (128, 128, 32), 8), (False, (128, 256, 64), 8), (True, (128, 256, 16), 8), (False, (64, 64, 64), 4)])
@pytest.mark.parametrize("depth", [8, 64, 200])
def test_persistent_matmul(programs, two, tile, warps, depth):
    """The MMAs of the next tile run while a tile is stored, in another tile of tensor memory if two fit."""
    arguments = multiply_persistent(programs, two, tile, depth, 8, num_warps=warps, num_stages=3)
    if depth % 16:
        return  # TMA is for versions that launches request
    text = ptx(persistent, "sm_100a", arguments, num_warps=warps, num_stages=3)
    assert "setmaxnreg" in text and text.count("tcgen05.commit") == 2  # of the stages, and of the sums
    n = tile[1]
    pairs = 1 if two and n == 256 else 2
    assert re.findall(r"tcgen05.alloc[^;]*, (\d+);", text) == [str((2 if two else 1) * pairs * n)]


@triton.jit
def two_loops(a_ptr, b_ptr, c_ptr, d_ptr, depth):
    m, n = tl.arange(0, 128), tl.arange(0, 128)
    acc = tl.zeros((128, 128), tl.float32)
    for k in range(0, depth, 64):
        ks = k + tl.arange(0, 64)
        acc = tl.dot(tl.load(a_ptr + m[:, None] * depth + ks[None, :]), tl.load(b_ptr + ks[:, None] * 128 + n[None, :]), acc)
    other = tl.zeros((128, 64), tl.float32)
    for k in range(0, depth, 128):
        ks = k + tl.arange(0, 128)
        other = tl.dot(tl.load(a_ptr + m[:, None] * depth + ks[None, :]), tl.load(b_ptr + ks[:, None] * 128 + tl.arange(0, 64)[None, :]), other)
    tl.store(c_ptr + m[:, None] * 128 + n[None, :], acc)
    tl.store(d_ptr + m[:, None] * 64 + tl.arange(0, 64)[None, :], other)


@pytest.mark.parametrize("warps", [4, 8])
def test_loops_share_bytes(warps):
    """The second loop's copies wait until the first loop's MMAs have read the bytes that both use."""
    a, b = numbers((128, 384), "fp16", 1), numbers((384, 128), "fp16", 2)
    c, d = np.zeros((128, 128), np.float32), np.zeros((128, 64), np.float32)
    for _ in range(4):  # warps run in another order each time
        with device("sm_100a"):
            two_loops[1,](a, b, c, d, 384, num_warps=warps, num_stages=4)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(d, expected[:, :64], rtol=1e-5, atol=1e-3)
    assert "setmaxnreg" in ptx(two_loops, "sm_100a", (a, b, c, d, 384), num_warps=warps, num_stages=4)


@triton.jit
def loop_of_threads_and_loop_of_mmas(x_ptr, y_ptr, a_ptr, b_ptr, z_ptr, c_ptr, depth):
    m, n = tl.arange(0, 128), tl.arange(0, 64)
    product = tl.zeros((128, 64), tl.float32)
    for k in range(0, depth, 16):
        ks = k + tl.arange(0, 16)
        x, y = tl.load(x_ptr + m[:, None] * depth + ks[None, :]), tl.load(y_ptr + ks[:, None] * 64 + n[None, :])
        product = tl.dot(x, y, product, input_precision="ieee")
    acc = tl.zeros((128, 64), tl.float32)
    for k in range(0, depth, 32):
        ks = k + tl.arange(0, 32)
        acc = tl.dot(tl.load(a_ptr + m[:, None] * depth + ks[None, :]), tl.load(b_ptr + ks[:, None] * 64 + n[None, :]), acc)
    tl.store(z_ptr + m[:, None] * 64 + n[None, :], product)
    tl.store(c_ptr + m[:, None] * 64 + n[None, :], acc)


@pytest.mark.parametrize("warps, ctas", [(4, 1), (8, 1), (4, 2)])
def test_one_warp_waits_for_what_only_mmas_read(warps, ctas, monkeypatch):
    """Only the first warp waits for MMAs, and then refills their operands: another warp could miss a phase of these copies' barriers."""
    x, y = numbers((128, 128), "tf32", 1), numbers((128, 64), "tf32", 2)
    a, b = numbers((128, 128), "fp16", 3), numbers((128, 64), "fp16", 4)
    z, c = np.zeros((128, 64), np.float32), np.zeros((128, 64), np.float32)
    for seed in (0, 2, 5):
        monkeypatch.setenv("TILEWRIGHT_SIMULATE_SEED", str(seed))
        with device("sm_100a"):
            loop_of_threads_and_loop_of_mmas[1,](x, y, a, b, z, c, 128, num_warps=warps, num_ctas=ctas, num_stages=3)
        np.testing.assert_allclose(z, x.astype(np.float64) @ y.astype(np.float64), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-3)


@triton.jit
def while_after_dot(a_ptr, b_ptr, x_ptr, c_ptr, sum_ptr, depth, times, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [depth, N], [N, 1], [K, N])
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    acc, scale = tl.zeros((M, N), tl.float32), tl.full((M, N), 1, tl.int32)
    for k in range(0, depth, K):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
        scale += 1
    total, i = tl.zeros((M, N), tl.int32), 0
    while i < times:
        part = tl.zeros((M, N), tl.int32)
        for j in range(i, times * 2):
            part += tl.load(x_ptr + j * M * N + at) * scale
        total ^= part
        i += 1
    tl.store(c_ptr + at, acc)
    tl.store(sum_ptr + at, total)


@pytest.mark.parametrize("times", [0, 1, 3])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_while_loop_needs_what_loops_carry(warps, times):
    """What a for loop carries for an scf.while, and what a for loop in it carries, is left of the consumers' program."""
    m, n, depth = 128, 64, 192
    a, b = numbers((m, depth), "fp16", 1), numbers((depth, n), "fp16", 2)
    x = np.random.default_rng(3).integers(-100, 100, (2 * times + 1, m, n)).astype(np.int32)
    c, total = np.zeros((m, n), np.float32), np.full((m, n), -1, np.int32)
    with device("sm_100a"):
        while_after_dot[(1,)](a, b, x, c, total, depth, times, M=m, N=n, K=64, num_warps=warps, num_stages=3)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)
    expected = np.zeros((m, n), np.int32)
    for i in range(times):
        expected ^= x[i : 2 * times].sum(axis=0, dtype=np.int32) * (1 + depth // 64)
    np.testing.assert_array_equal(total, expected)


@triton.jit
def branches(a_ptr, b_ptr, c_ptr, x_ptr, y_ptr, z_ptr, depth, low, M: tl.constexpr):
    """A tile that only a branch needs, in another layout than it is loaded in."""
    m, n = tl.arange(0, M), tl.arange(0, 128)
    at = m[:, None] * 128 + n[None, :]
    x = tl.load(x_ptr + at)
    acc = tl.zeros((M, 128), tl.float32)
    for k in range(0, depth, 64):
        ks = k + tl.arange(0, 64)
        acc = tl.dot(tl.load(a_ptr + m[:, None] * depth + ks[None, :]), tl.load(b_ptr + ks[:, None] * 128 + n[None, :]), acc)
    sums = acc.to(tl.float16)
    tl.store(z_ptr + at, x)
    if low > 0:
        return
    tl.store(c_ptr + at, sums, mask=x < 4)
    tl.store(y_ptr + at, sums, mask=x <= 4)


@pytest.mark.parametrize("low", [0, 3])
def test_conversions_stay_between_their_barriers(low):
    """A conversion through shared memory does not move into a branch when the MMAs get a partition. Without its barriers, tensor memory could be
    freed before all warps have loaded from it."""
    a, b = numbers((64, 256), "fp16", 1), numbers((256, 128), "fp16", 2)
    x = np.random.default_rng(3).integers(0, 6, (64, 128)).astype(np.float32)
    c, y, z = np.zeros((64, 128), np.float16), np.zeros((64, 128), np.float16), np.zeros((64, 128), np.float32)
    arguments = (a, b, c, x, y, z, 256, low, 64)
    for _ in range(4):  # warps run in another order each time
        with device("sm_100a"):
            branches[1,](*arguments, num_warps=4, num_stages=3)
    expected = (a.astype(np.float64) @ b.astype(np.float64)) * (low == 0)
    np.testing.assert_allclose(c, np.where(x < 4, expected, 0), rtol=2e-3, atol=2e-2)  # one rounding to fp16
    np.testing.assert_allclose(y, np.where(x <= 4, expected, 0), rtol=2e-3, atol=2e-2)
    np.testing.assert_array_equal(z, x)
    assert "setmaxnreg" in ptx(branches, "sm_100a", arguments, num_warps=4, num_stages=3)


# ---- block scales


@triton.jit
def scaled(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    a_at, b_at, groups = tl.arange(0, K // A_PACK), tl.arange(0, K // B_PACK), tl.arange(0, K // GROUP)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * (depth // A_PACK) + (k // A_PACK + a_at)[None, :], mask=m[:, None] < rows, other=0)
        b = tl.load(b_ptr + n[None, :] * (depth // B_PACK) + (k // B_PACK + b_at)[:, None], mask=n[None, :] < columns, other=0)
        a_scale = tl.load(a_scale_ptr + m[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :], mask=m[:, None] < rows)
        b_scale = tl.load(b_scale_ptr + n[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :], mask=n[:, None] < columns)
        acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc, mask=(m[:, None] < rows) & (n[None, :] < columns))


def scaled_multiply(target, sizes, tile, kinds, scale, group, **options):
    (rows, columns, depth), (m, n, k) = sizes, tile
    a, a_bits = microscaling.numbers(rows, depth, kinds[0], 1)
    b, b_bits = microscaling.numbers(columns, depth, kinds[1], 2)
    rng = np.random.default_rng(3)
    if scale == "e8m0":
        scales = [rng.integers(115, 140, (size, depth // group)).astype(np.uint8) for size in (rows, columns)]
        factors = [2.0 ** (x.astype(np.float64) - 127) for x in scales]
    else:
        scales = [(rng.random((size, depth // group)) * 8).astype(ml_dtypes.float8_e4m3fn) for size in (rows, columns)]
        factors = [x.astype(np.float64) for x in scales]
    x, y = (values * np.repeat(factor, group, axis=1) for values, factor in zip((a, b), factors))
    c = np.zeros((rows, columns), np.float32)
    arguments = (a_bits, scales[0], b_bits, scales[1], c, rows, columns, depth, m, n, k, group, *kinds)
    with device(target):
        scaled[triton.cdiv(rows, m), triton.cdiv(columns, n)](*arguments, **options)
    assert np.all(np.abs(c - x @ y.T) <= np.abs(x) @ np.abs(y.T) * rounding(kinds[0]) * (2 + depth / 8))
    return ptx(scaled, target, arguments, **options)


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize(("kinds", "scale", "group", "kind"), [
    (("e4m3", "e4m3"), "e8m0", 32, "mxf8f6f4"), (("e5m2", "e4m3"), "e8m0", 32, "mxf8f6f4"), (("e5m2", "e5m2"), "e8m0", 32, "mxf8f6f4"),
    (("e2m1", "e2m1"), "e8m0", 32, "mxf4"), (("e2m1", "e2m1"), "e4m3", 16, "mxf4nvf4"),
])
def test_block_scales(kinds, scale, group, kind, target):
    text = scaled_multiply(target, (256, 128, 512), (128, 128, 256), kinds, scale, group, num_warps=4, num_stages=2)
    assert re.search(rf"tcgen05\.mma\.cta_group::1\.kind::{kind}\.block_scale", text) and "mma.sync" not in text


@pytest.mark.parametrize("tile", [(128, 128, 128), (128, 256, 128), (256, 128, 256), (256, 128, 128)])
@pytest.mark.parametrize(("kinds", "scale", "group"), [(("e4m3", "e5m2"), "e8m0", 32), (("e2m1", "e2m1"), "e8m0", 32), (("e2m1", "e2m1"), "e4m3", 16)])
def test_tiles_with_scales(tile, kinds, scale, group):
    m, n, k = tile
    scaled_multiply("sm_100a", (m + 40, n - 8, 3 * k), tile, kinds, scale, group, num_warps=8, num_stages=3)


@pytest.mark.parametrize(("kinds", "scale", "group"), [(("e4m3", "e5m2"), "e8m0", 32), (("e4m3", "e2m1"), "e8m0", 32), (("e2m1", "e2m1"), "e8m0", 32), (("e2m1", "e2m1"), "e4m3", 16)])
@pytest.mark.parametrize("tile", [(64, 128, 128), (128, 64, 128), (128, 16, 128), (64, 32, 64), (128, 32, 64), (256, 64, 64)])
def test_small_tiles_with_scales(tile, kinds, scale, group):
    """Rows and words of scales that an MMA needs, but the tile does not have, are padding in shared memory."""
    m, n, k = tile
    text = scaled_multiply("sm_100a", (m + 40, n + 8, 3 * k), tile, kinds, scale, group, num_warps=4, num_stages=3)
    assert ".block_scale" in text and "mma.sync" not in text


@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e5m2", "e2m1"), ("e2m1", "e4m3")])
@pytest.mark.parametrize("tile", [(128, 128, 32), (64, 64, 32)])
def test_one_scale_of_a_row(tile, kinds):
    m, n, k = tile
    assert ".block_scale" in scaled_multiply("sm_100a", (m, n, 5 * k), tile, kinds, "e8m0", 32, num_warps=4, num_stages=2)


@triton.jit
def scaled_columns(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    """The rows of A and the columns of B are contiguous in memory."""
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    at, groups = tl.arange(0, K), tl.arange(0, K // 32)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] + (k + at)[None, :] * rows)
        b = tl.load(b_ptr + n[None, :] + (k + at)[:, None] * columns)
        a_scale = tl.load(a_scale_ptr + m[:, None] * (depth // 32) + (k // 32 + groups)[None, :])
        b_scale = tl.load(b_scale_ptr + n[:, None] * (depth // 32) + (k // 32 + groups)[None, :])
        acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc)


@pytest.mark.parametrize("kinds", [("e4m3", "e5m2"), ("e5m2", "e4m3")])
@pytest.mark.parametrize(("tile", "warps", "ctas"), [
    ((64, 64, 32), 4, 1), ((64, 128, 64), 4, 1), ((64, 32, 128), 4, 1), ((64, 64, 128), 8, 1), ((128, 64, 64), 4, 1), ((128, 64, 64), 4, 2), ((256, 64, 64), 8, 1),
])
def test_contiguous_rows_with_scales(tile, warps, ctas, kinds):
    """64 rows with padding are stored with K contiguous: a swizzle of contiguous rows would move them to the padding."""
    (m, n, k), options = tile, {"num_warps": warps, "num_ctas": ctas}
    rows, columns, depth = 2 * m, 2 * n, 3 * k
    a, a_bits = microscaling.numbers(rows, depth, kinds[0], 1)
    b, b_bits = microscaling.numbers(columns, depth, kinds[1], 2)
    scales = [np.random.default_rng(3).integers(115, 140, (size, depth // 32)).astype(np.uint8) for size in (rows, columns)]
    x, y = (values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1) for values, scale in zip((a, b), scales))
    c = np.zeros((rows, columns), np.float32)
    arguments = (np.ascontiguousarray(a_bits.T), scales[0], np.ascontiguousarray(b_bits.T), scales[1], c, rows, columns, depth, m, n, k, *kinds)
    with device("sm_100a"):
        scaled_columns[2, 2](*arguments, **options)
    assert np.all(np.abs(c - x @ y.T) <= np.abs(x) @ np.abs(y.T) * rounding(kinds[0]) * (2 + depth / 8))
    assert ".block_scale" in ptx(scaled_columns, "sm_100a", arguments, **options)


@pytest.mark.parametrize("kinds", [("e4m3", "e2m1"), ("e2m1", "e5m2")])
@pytest.mark.parametrize(("tile", "warps"), [((128, 128, 128), 4), ((128, 256, 64), 8), ((256, 128, 128), 8), ((128, 64, 256), 4)])
def test_formats_of_8_and_4_bits(tile, warps, kinds):
    """Pairs of 4-bit numbers have 8 bytes of padding after each 8 bytes."""
    m, n, k = tile
    text = scaled_multiply("sm_100a", (m + 8, n - 24, 3 * k), tile, kinds, "e8m0", 32, num_warps=warps, num_stages=3)
    assert "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale" in text and "mma.sync" not in text


@pytest.mark.parametrize(("tile", "kinds"), [((32, 128, 128), ("e4m3", "e4m3")), ((128, 8, 128), ("e2m1", "e2m1"))])
def test_other_sizes_with_scales_are_dequantized(tile, kinds):
    text = scaled_multiply("sm_100a", tile, tile, kinds, "e8m0", 32, num_warps=4)
    assert "block_scale" not in text


# ---- scales in the order in which tensor memory has them


@triton.jit
def load_scales(pointer, row, word, words, WORDS: tl.constexpr, BLOCKS: tl.constexpr, HOW: tl.constexpr):
    """The scales of BLOCKS times 128 rows and WORDS times 4 groups, in memory [blocks, words, row % 32, row / 32 % 4, group % 4]."""
    if HOW == "descriptor":
        scales = tl.make_tensor_descriptor(pointer, [1 << 20, words, 2, 256], [words * 512, 512, 256, 1], [BLOCKS, WORDS, 2, 256])
        tile = scales.load([row, word, 0, 0])
    elif HOW == "rows":
        at = (row + tl.arange(0, BLOCKS))[:, None] * (words * 512) + word * 512 + tl.arange(0, WORDS * 512)[None, :]
        tile = tl.load(pointer + at)
    elif HOW == "axes":
        block, inner = row + tl.arange(0, BLOCKS)[:, None, None, None], tl.arange(0, 16)[None, None, None, :]
        at = (block * words + word + tl.arange(0, WORDS)[None, :, None, None]) * 512 + tl.arange(0, 32)[None, None, :, None] * 16 + inner
        tile = tl.load(pointer + at)
    else:
        block = (row + tl.arange(0, BLOCKS)).reshape(BLOCKS, 1, 1, 1)
        at = (block * words + word + tl.arange(0, WORDS).reshape(1, WORDS, 1, 1)) * 512 + tl.arange(0, 32).reshape(1, 1, 32, 1) * 16 + tl.arange(0, 16)
        tile = tl.load(pointer + at)
    return tile.reshape(BLOCKS, WORDS, 32, 4, 4).permute(0, 3, 2, 1, 4).reshape(BLOCKS * 128, WORDS * 4)


@triton.jit
def ordered(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth, a_row, b_row, words,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr, HOW: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    WORDS: tl.constexpr = K // GROUP // 4
    a = tl.make_tensor_descriptor(a_ptr, [rows, a_row], [a_row, 1], [M, K // A_PACK])
    b = tl.make_tensor_descriptor(b_ptr, [columns, b_row], [b_row, 1], [N, K // B_PACK])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    m, n = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        x = a.load([m * M, k * (K // A_PACK)])
        y = b.load([n * N, k * (K // B_PACK)])
        s = load_scales(a_scale_ptr, m * (M // 128), k * WORDS, words, WORDS, M // 128, HOW)
        t = load_scales(b_scale_ptr, n * (N // 128), k * WORDS, words, WORDS, N // 128, HOW)
        acc = tl.dot_scaled(x, s, A, y.T, t, B, acc)
    c.store([m * M, n * N], acc)


FORMATS = {"mxfp8": (("e4m3", "e4m3"), 32), "mxfp4": (("e2m1", "e2m1"), 32), "nvfp4": (("e2m1", "e2m1"), 16), "mixed": (("e4m3", "e2m1"), 32)}


def in_words(scales):
    """[rows, groups], rows a multiple of 128 and groups of 4, as load_scales reads them."""
    rows, groups = scales.shape
    return np.ascontiguousarray(scales.reshape(rows // 128, 4, 32, groups // 4, 4).transpose(0, 3, 2, 1, 4))


def shapes_of_scales(rows, columns, depth, m, n, group):
    """Those of both operands, for whole tiles: load_scales has no mask."""
    return [(triton.cdiv(size, block) * block, depth // group) for size, block in ((rows, max(m, 128)), (columns, max(n, 128)))]


def ordered_multiply(kind, sizes, tile, how, target="sm_100a", **options):
    (rows, columns, depth), (m, n, k) = sizes, tile
    kinds, group = FORMATS[kind]
    a, a_bits = microscaling.numbers(rows, depth, kinds[0], 1)
    b, b_bits = microscaling.numbers(columns, depth, kinds[1], 2)
    rng = np.random.default_rng(3)
    shapes = shapes_of_scales(rows, columns, depth, m, n, group)
    if kind == "nvfp4":
        scales = [(rng.random(shape) * 8).astype(ml_dtypes.float8_e4m3fn) for shape in shapes]
        factors = [x.astype(np.float64) for x in scales]
    else:
        scales = [rng.integers(115, 140, shape).astype(np.uint8) for shape in shapes]
        factors = [2.0 ** (x.astype(np.float64) - 127) for x in scales]
    x, y = (values * np.repeat(factor, group, axis=1)[: len(values)] for values, factor in zip((a, b), factors))
    c = np.zeros((rows, columns), np.float32)
    arguments = (a_bits, in_words(scales[0]), b_bits, in_words(scales[1]), c, rows, columns, depth, a_bits.shape[1], b_bits.shape[1], depth // group // 4, m, n, k, group, *kinds, how)
    with device(target):
        ordered[triton.cdiv(rows, m), triton.cdiv(columns, n)](*arguments, **options)
    assert np.all(np.abs(c - x @ y.T) <= np.abs(x) @ np.abs(y.T) * rounding(kinds[0]) * (2 + depth / 8))
    return ptx(ordered, target, arguments, **options)


@pytest.mark.parametrize("how", ["descriptor", "rows", "elements"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("sizes", "tile"), [((256, 128, 768), (128, 128, 256)), ((200, 384, 512), (128, 256, 256)), ((300, 136, 1024), (256, 128, 256))])
def test_scales_in_the_order_of_tensor_memory(kind, sizes, tile, how):
    """No thread holds a scale: copies bring them to shared memory as tcgen05.cp reads them."""
    text = ordered_multiply(kind, sizes, tile, how, num_warps=4, num_stages=2)
    assert ".block_scale" in text and "tcgen05.cp.cta_group::1.32x128b.warpx4" in text
    assert ("cp.async.bulk.tensor.4d" if how == "descriptor" else "cp.async.c") in text
    assert "ld.global" not in text and text.count("st.shared") <= text.count("st.shared.v4")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("depth", [0, 128, 640, 896])
def test_depths_of_scales_in_words(kind, depth):
    ordered_multiply(kind, (128, 256, depth), (128, 128, 128), "descriptor", num_warps=8, num_stages=3)


@triton.jit
def renumbered(x_ptr, scale_ptr, c_ptr, depth, M: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr):
    """x * x.T, whose scales both operands read, in an order that no instruction has: a chain of reshapes and transpositions before the dot."""
    m, ks, groups = tl.arange(0, M), tl.arange(0, K), tl.arange(0, K // 32)
    acc = tl.zeros((M, M), tl.float32)
    fixed = tl.load(scale_ptr + tl.arange(0, K // 32)[:, None] * M + m[None, :]).T
    for k in range(0, depth, K):
        x = tl.load(x_ptr + m[:, None] * depth + (k + ks)[None, :])
        if HOW == "columns":
            scale = tl.load(scale_ptr + (k // 32 + groups)[:, None] * M + m[None, :]).T
        elif HOW == "pairs":
            scale = tl.load(scale_ptr + k // 32 * M + tl.arange(0, M * K // 32)).reshape(K // 64, 2, M // 16, 16)
            scale = scale.permute(2, 3, 0, 1).reshape(M, K // 32)
        elif HOW == "computed":
            scale = (tl.load(scale_ptr + (k // 32 + groups)[:, None] * M + m[None, :]) + 1).reshape(K // 32, M).T
        else:
            scale = fixed
        acc = tl.dot_scaled(x, scale, "e4m3", x.T, scale, "e4m3", acc)
    tl.store(c_ptr + m[:, None] * M + m[None, :], acc)


@pytest.mark.parametrize("how", ["columns", "pairs", "computed", "fixed"])
@pytest.mark.parametrize(("m", "k"), [(128, 128), (64, 64), (128, 64), (128, 256)])
def test_scales_in_other_orders(m, k, how):
    depth = 3 * k
    x, x_bits = microscaling.numbers(m, depth, "e4m3", 1)
    scales = np.random.default_rng(3).integers(115, 135, (depth // 32, m)).astype(np.uint8)  # [groups, rows]
    seen = np.concatenate([scales[: k // 32]] * 3) if how == "fixed" else scales + (how == "computed")
    if how == "pairs":  # tile by tile, [K / 64, 2, M / 16, 16]
        seen = np.concatenate([tile.reshape(k // 64, 2, m // 16, 16).reshape(k // 32, m) for tile in scales.reshape(3, k // 32, m)])
    y = x * np.repeat(2.0 ** (seen.T.astype(np.float64) - 127), 32, axis=1)
    c = np.zeros((m, m), np.float32)
    arguments = (x_bits, scales, c, depth, m, k, how)
    with device("sm_100a"):
        renumbered[1,](*arguments, num_warps=4, num_stages=2)
    assert np.all(np.abs(c - y @ y.T) <= np.abs(y) @ np.abs(y.T) * rounding("e4m3") * (2 + depth / 8))
    assert ".block_scale" in ptx(renumbered, "sm_100a", arguments, num_warps=4, num_stages=2)


@triton.jit
def scaled_once(x_ptr, scale_ptr, y_ptr, c_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, KIND: tl.constexpr, FIRST: tl.constexpr):
    PACK: tl.constexpr = 2 if KIND == "e2m1" else 1
    m, n, ks, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // PACK), tl.arange(0, K // GROUP)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(x_ptr + m[:, None] * (depth // PACK) + (k // PACK + ks)[None, :])
        y = tl.load(y_ptr + n[None, :] * (depth // PACK) + (k // PACK + ks)[:, None])
        if FIRST:
            scale = tl.load(scale_ptr + m[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :])
            acc = tl.dot_scaled(x, scale, KIND, y, None, KIND, acc)
        else:
            scale = tl.load(scale_ptr + n[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :])
            acc = tl.dot_scaled(x, None, KIND, y, scale, KIND, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("kind", "group"), [("e4m3", 32), ("e2m1", 32), ("e2m1", 16)])
@pytest.mark.parametrize(("m", "n"), [(128, 128), (64, 64)])
def test_operands_without_scales_get_ones(m, n, kind, group, first):
    depth = 512
    (x, x_bits), (y, y_bits) = microscaling.numbers(m, depth, kind, 1), microscaling.numbers(n, depth, kind, 2)
    scale = np.random.default_rng(3).integers(115, 140, (m if first else n, depth // group)).astype(np.uint8)
    factor = 2.0 ** (scale.astype(np.float64) - 127)
    if group == 16:
        scale = (np.random.default_rng(3).random(scale.shape) * 8).astype(ml_dtypes.float8_e4m3fn)
        factor = scale.astype(np.float64)
    a, b = (x * np.repeat(factor, group, axis=1), y) if first else (x, y * np.repeat(factor, group, axis=1))
    c = np.zeros((m, n), np.float32)
    arguments = (x_bits, scale, y_bits, c, depth, m, n, 128, group, kind, first)
    with device("sm_100a"):
        scaled_once[1,](*arguments, num_warps=4, num_stages=3)
    assert np.all(np.abs(c - a @ b.T) <= np.abs(a) @ np.abs(b.T) * rounding(kind) * (2 + depth / 8))
    assert ".block_scale" in ptx(scaled_once, "sm_100a", arguments, num_warps=4, num_stages=3)


@triton.jit
def of_two_sizes(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, d_ptr, depth, N: tl.constexpr, FEW: tl.constexpr):
    """Dots whose scales take a different number of columns: those of one are copied while the other multiplies."""
    m, n, few, ks, groups = tl.arange(0, 128), tl.arange(0, N), tl.arange(0, FEW), tl.arange(0, 128), tl.arange(0, 4)
    acc = tl.zeros((128, N), tl.float32)
    other = tl.zeros((128, FEW), tl.float32)
    for k in range(0, depth, 128):
        a = tl.load(a_ptr + m[:, None] * depth + (k + ks)[None, :])
        a_scale = tl.load(a_scale_ptr + m[:, None] * (depth // 32) + (k // 32 + groups)[None, :])
        b = tl.load(b_ptr + n[None, :] * depth + (k + ks)[:, None])
        b_scale = tl.load(b_scale_ptr + n[:, None] * (depth // 32) + (k // 32 + groups)[None, :])
        acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3", acc)
        b = tl.load(b_ptr + few[None, :] * depth + (k + ks)[:, None])
        b_scale = tl.load(b_scale_ptr + few[:, None] * (depth // 32) + (k // 32 + groups)[None, :])
        other = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3", other)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
    tl.store(d_ptr + m[:, None] * FEW + few[None, :], other)


def test_scales_of_two_sizes():
    depth, columns, few = 512, 256, 64
    a, a_bits = microscaling.numbers(128, depth, "e4m3", 1)
    b, b_bits = microscaling.numbers(columns, depth, "e4m3", 2)
    rng = np.random.default_rng(3)
    scales = [rng.integers(115, 140, (size, depth // 32)).astype(np.uint8) for size in (128, columns)]
    x, y = (values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1) for values, scale in zip((a, b), scales))
    for _ in range(4):  # MMAs take another time in each run
        c, d = np.zeros((128, columns), np.float32), np.zeros((128, few), np.float32)
        with device("sm_100a"):
            of_two_sizes[1,](a_bits, scales[0], b_bits, scales[1], c, d, depth, columns, few, num_warps=4, num_stages=2)
        bound = np.abs(x) @ np.abs(y.T) * rounding("e4m3") * (2 + depth / 8)
        assert np.all(np.abs(c - x @ y.T) <= bound) and np.all(np.abs(d - (x @ y.T)[:, :few]) <= bound[:, :few])


@triton.jit
def persistent_scaled(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth, a_row, b_row, words, PROGRAMS: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    WORDS: tl.constexpr = K // GROUP // 4
    a = tl.make_tensor_descriptor(a_ptr, [rows, a_row], [a_row, 1], [M, K // A_PACK])
    b = tl.make_tensor_descriptor(b_ptr, [columns, b_row], [b_row, 1], [N, K // B_PACK])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, PROGRAMS):
        m, n = tile // across, tile % across
        acc = tl.zeros((M, N), tl.float32)
        for k in range(0, tl.cdiv(depth, K)):
            x = a.load([m * M, k * (K // A_PACK)])
            y = b.load([n * N, k * (K // B_PACK)])
            s = load_scales(a_scale_ptr, m * (M // 128), k * WORDS, words, WORDS, M // 128, "descriptor")
            t = load_scales(b_scale_ptr, n * (N // 128), k * WORDS, words, WORDS, N // 128, "descriptor")
            acc = tl.dot_scaled(x, s, A, y.T, t, B, acc)
        c.store([m * M, n * N], acc)


def multiply_persistent_scaled(kind, tile, depth, programs=2, more_columns=8, **options):
    """Runs the persistent kernel on the simulator and compares it with float64. Returns its PTX; nothing without iterations."""
    m, n, k = tile
    rows, columns = 2 * m + 40, 2 * n + more_columns
    kinds, group = FORMATS[kind]
    a, a_bits = microscaling.numbers(rows, depth, kinds[0], 1)
    b, b_bits = microscaling.numbers(columns, depth, kinds[1], 2)
    rng = np.random.default_rng(3)
    scales = [rng.integers(115, 140, shape).astype(np.uint8) for shape in shapes_of_scales(rows, columns, depth, m, n, group)]
    factors = [2.0 ** (x.astype(np.float64) - 127) for x in scales]
    if kind == "nvfp4":
        scales = [(rng.random(x.shape) * 8).astype(ml_dtypes.float8_e4m3fn) for x in scales]
        factors = [x.astype(np.float64) for x in scales]
    x, y = (values * np.repeat(factor, group, axis=1)[: len(values)] for values, factor in zip((a, b), factors))
    c = np.zeros((rows, columns), np.float32)
    arguments = (a_bits, in_words(scales[0]), b_bits, in_words(scales[1]), c, rows, columns, depth, a_bits.shape[1], b_bits.shape[1], depth // group // 4, programs, m, n, k, group, *kinds)
    with device("sm_100a"):
        persistent_scaled[programs,](*arguments, **options)
    assert np.all(np.abs(c - x @ y.T) <= np.abs(x) @ np.abs(y.T) * rounding(kinds[0]) * (2 + depth / 8))
    return ptx(persistent_scaled, "sm_100a", arguments, **options) if depth else None


@pytest.mark.parametrize("depth", [0, 128, 640])
@pytest.mark.parametrize(("tile", "warps"), [((128, 128, 128), 4), ((128, 256, 128), 4), ((128, 128, 256), 8)])
@pytest.mark.parametrize("kind", FORMATS)
def test_persistent_matmul_with_scales(kind, tile, warps, depth):
    """The warp for MMAs copies scales to one set of columns while it multiplies with the other, across tiles, too."""
    text = multiply_persistent_scaled(kind, tile, depth, num_warps=warps, num_stages=3)
    if depth:
        assert "setmaxnreg" in text and text.count("tcgen05.commit") == 3  # of the stages, of the scales, and of the sums
