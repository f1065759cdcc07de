"""Pairs of CTAs that multiply together (tcgen05.mma with cta_group::2), on the simulator, which reports each broken rule of the ISA. ptxas
assembles the same kernels."""

import importlib.util
import itertools
import pathlib
import random
import re
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from test_tcgen05 import device, multiply, multiply_persistent, numbers, persistent, ptx


def is_paired(text):
    """All tcgen05 operations of a kernel are those of pairs, or none is."""
    groups = set(re.findall(r"tcgen05\.\S*cta_group::(\d)", text))
    assert len(groups) <= 1
    return groups == {"2"}


KINDS = {"fp16": "f16", "bf16": "f16", "tf32": "tf32", "e4m3": "f8f6f4", "e5m2": "f8f6f4", "i8": "i8"}
SIZES = [(256, 128, 256), (512, 256, 64), (264, 136, 200), (700, 96, 72), (40, 300, 136)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", SIZES)
def test_matmul(kind, sizes):
    """Tiles of 256x128 over two CTAs; sizes that the tile does not divide, and fewer rows than one CTA has."""
    deep = 32 if kind == "tf32" else 64
    rows, columns, depth = sizes
    columns, depth = -(-columns // 16) * 16, -(-depth // 16) * 16  # rows of whole 16 bytes: TMA copies them
    text = multiply("sm_100a", (rows, columns, depth), (256, 128, deep), kind, columns_first=(False, True), num_warps=4, num_ctas=2, num_stages=3)
    assert is_paired(text) and f"tcgen05.mma.cta_group::2.kind::{KINDS[kind]}" in text
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2" in text
    assert re.search(r"tcgen05\.commit\.cta_group::2\S*multicast::cluster", text)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("tile", [(128, 64, 64), (128, 256, 32), (256, 32, 64), (256, 64, 128), (256, 256, 64), (512, 128, 64), (512, 128, 32)])
def test_tiles(tile, warps):
    m, n, k = tile
    for columns_first in itertools.product([False, True], repeat=2):
        text = multiply("sm_100a", (m + 16, n + 16, 3 * k + 16), tile, "fp16", columns_first=columns_first, num_warps=warps, num_ctas=2, num_stages=4)
        assert is_paired(text)


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
@pytest.mark.parametrize("kinds", [("e4m3", "e5m2"), ("bf16", "bf16")])
def test_targets(target, kinds):
    assert is_paired(multiply(target, (300, 160, 192), (256, 64, 64), *kinds, num_warps=4, num_ctas=2, num_stages=3))


@pytest.mark.parametrize("stages", [2, 3, 6])
@pytest.mark.parametrize("depth", [0, 8, 64, 72, 640])
def test_stages(stages, depth):
    for _ in range(2):  # warps run in another order each time
        multiply("sm_100a", (256, 64, depth), (256, 64, 64), "bf16", num_warps=4, num_ctas=2, num_stages=stages)


@pytest.mark.parametrize("programs", [1, 3])
@pytest.mark.parametrize(("two", "tile", "warps"), [(False, (256, 128, 64), 4), (True, (256, 128, 32), 8), (False, (256, 256, 64), 8), (True, (256, 256, 16), 8), (False, (512, 64, 64), 4), (True, (128, 128, 64), 4), (False, (128, 256, 64), 8)])
@pytest.mark.parametrize("depth", [8, 64, 200])
def test_persistent_matmul(programs, two, tile, warps, depth):
    """The MMAs of the next tile run while both CTAs store a tile, in another tile of tensor memory if two fit."""
    arguments = multiply_persistent(programs, two, tile, depth, 16, num_warps=warps, num_ctas=2, num_stages=3)
    if depth % 16:
        return  # TMA is for versions that launches request
    text = ptx(persistent, "sm_100a", arguments, num_warps=warps, num_ctas=2, num_stages=3)
    assert is_paired(text) and "setmaxnreg" in text and text.count("tcgen05.commit") == 2  # of the stages, and of the sums


CHOSEN = [((256, 256, 64), "fp16", 4, {}, True), ((256, 256, 128), "e4m3", 4, {}, True), ((512, 128, 64), "bf16", 4, {}, True),
          ((256, 256, 64), "fp16", 3, {}, False), ((256, 256, 32), "fp16", 4, {}, False), ((128, 256, 64), "fp16", 4, {}, False),
          ((256, 256, 64), "fp16", 4, {"maxnreg": 128}, False)]


@pytest.mark.parametrize(("tile", "kind", "stages", "options", "paired"), CHOSEN)
def test_chosen(tile, kind, stages, options, paired):
    """Two CTAs run a program of one, if each has 128 rows or more, and the stages of a pair cover the latency of a copy."""
    m, n, k = tile
    text = multiply("sm_100a", (m + 44, n + 16, 5 * k + 16), tile, kind, num_warps=4, num_stages=stages, **options)
    assert is_paired(text) == paired


def test_half_of_the_second_operand_takes_half_of_the_memory():
    """Five stages of 256x256x64 fit in shared memory next to the tile that is stored. With all columns of B only three would."""
    a, c = np.zeros((512, 512), np.float16), np.zeros((512, 512), np.float16)
    arguments = (a, a, c, 512, 512, 512, 1, 256, 256, 64, False)
    text = ptx(persistent, "sm_100a", arguments, num_warps=8, num_ctas=2, num_stages=6)
    assert is_paired(text)
    assert text.count("mbarrier.init") == 5 + 5 + 2 + 2 + 1  # full and empty of each stage and of two sums; the end


@triton.jit
def split_k(a_ptr, b_ptr, c_ptr, depth, SEM: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPLIT: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(tl.program_id(0) * K, depth, K * SPLIT):
        ks = k + tl.arange(0, K)
        acc = tl.dot(tl.load(a_ptr + m[:, None] * depth + ks[None, :]), tl.load(b_ptr + n[None, :] * depth + ks[:, None]), acc)
    if SEM == "descriptor":
        tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [M, N]).atomic_add([0, 0], acc)
    else:
        tl.atomic_add(c_ptr + m[:, None] * N + n[None, :], acc, sem=SEM)


@pytest.mark.parametrize(("target", "ctas"), [("sm_90a", 1), ("sm_100a", 1), ("sm_100a", 2)])
@pytest.mark.parametrize("sem", ["relaxed", "acq_rel", "descriptor"])
def test_split_k(sem, target, ctas):
    """TMA adds the sums to memory. The order of an addition after all reads concerns nothing."""
    a, b = numbers((256, 640), "fp16", 1), numbers((64, 640), "fp16", 2)
    c = np.zeros((256, 64), np.float32)
    arguments = (a, b, c, 640, sem, 256, 64, 64, 3)
    with device(target):
        split_k[3,](*arguments, num_warps=8, num_ctas=ctas, num_stages=3)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-5, atol=1e-3)
    text = ptx(split_k, target, arguments, num_warps=8, num_ctas=ctas, num_stages=3)
    assert "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add" in text and is_paired(text) == (ctas == 2)


@triton.jit
def grouped(a_ptr, b_ptr, c_ptr, sizes, columns, depth, GROUPS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The number of iterations comes from memory: the CTAs of a pair could not be sure to agree on it."""
    n = tl.arange(0, N)
    for group in range(GROUPS):
        deep = tl.load(sizes + group)
        a = tl.make_tensor_descriptor(a_ptr + group * M * depth, [M, depth], [depth, 1], [M, K])
        b = tl.make_tensor_descriptor(b_ptr + group * N * depth, [N, depth], [depth, 1], [N, K])
        acc = tl.zeros((M, N), tl.float32)
        for k in range(0, deep, K):
            acc = tl.dot(a.load([0, k]), b.load([0, k]).T, acc)
        m = group * M + tl.arange(0, M)
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def test_iterations_from_memory_are_not_paired():
    a, b = numbers((512, 256), "fp16", 1), numbers((256, 256), "fp16", 2)
    sizes, c = np.array([64, 256], np.int32), np.zeros((512, 128), np.float32)
    arguments = (a, b, c, sizes, 128, 256, 2, 256, 128, 64)
    with device("sm_100a"):
        grouped[1,](*arguments, num_warps=4, num_ctas=2)
    for group, deep in enumerate(sizes):
        x, y = a[256 * group:256 * group + 256, :deep].astype(np.float64), b[128 * group:128 * group + 128, :deep].astype(np.float64)
        np.testing.assert_allclose(c[256 * group:256 * group + 256], x @ y.T, rtol=1e-5, atol=1e-3)
    assert not is_paired(ptx(grouped, "sm_100a", arguments, num_warps=4, num_ctas=2))


@triton.jit
def with_bias(a_ptr, b_ptr, bias_ptr, c_ptr, depth, START: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    acc = tl.full((M, N), START, tl.float32)
    for k in range(0, depth, 64):
        ks = k + tl.arange(0, 64)
        acc = tl.dot(tl.load(a_ptr + m[:, None] * depth + ks[None, :]), tl.load(b_ptr + ks[:, None] * N + n[None, :]), acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc + tl.load(bias_ptr + n)[None, :] + tl.load(bias_ptr + m % N)[:, None])


def biased(start, rows, ctas):
    a, b, bias = numbers((rows, 192), "fp16", 1), numbers((192, 64), "fp16", 2), numbers((64,), "tf32", 3)
    c = np.zeros((rows, 64), np.float32)
    arguments = (a, b, bias, c, 192, start, rows, 64)
    with device("sm_100a"):
        with_bias[1,](*arguments, num_warps=4, num_ctas=ctas, num_stages=3)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64) + start + bias + np.tile(bias, rows // 64)[:, None], rtol=1e-5, atol=1e-3)
    return ptx(with_bias, "sm_100a", arguments, num_warps=4, num_ctas=ctas, num_stages=3)


def test_loads_after_the_loop():
    assert is_paired(biased(0.0, 256, 2))


@pytest.mark.parametrize(("start", "rows", "ctas"), [(1.0, 256, 2), (0.0, 512, 4)])
def test_other_kernels_multiply_in_each_cta(start, rows, ctas):
    """Sums that start from a number, and clusters of four."""
    text = biased(start, rows, ctas)
    assert "tcgen05.mma.cta_group::1" in text and not is_paired(text)


def test_a_tensor_that_is_stored_and_loaded_is_not_paired():
    """The CTAs of the cluster need a barrier, in which the warps that copy and multiply take no part."""
    a, b = numbers((256, 192), "fp16", 1), numbers((192, 64), "fp16", 2)
    c = numbers((256, 64), "tf32", 3)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c[0] + np.tile(c[0], 4)[:, None]
    with device("sm_100a"):
        with_bias[1,](a, b, c, c, 192, 0.0, 256, 64, num_warps=4, num_ctas=2, num_stages=3)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed):
    rng = random.Random(seed)
    kind, warps = rng.choice(list(KINDS)), rng.choice([4, 4, 8])
    m, n, deep = rng.choice([(128, 64), (128, 128), (128, 256), (256, 32), (256, 64), (256, 128), (256, 256), (512, 64), (512, 128)]) + (32 if kind == "tf32" else rng.choice([32, 64, 128]),)  # two stages fit
    first = rng.random() < 0.5 and kind in ("fp16", "bf16"), kind == "tf32" or rng.random() < 0.5
    if not first[1] and kind not in ("fp16", "bf16"):
        n = max(n, 64)  # TMA copies at least 32 bytes of a row of B
    rows, columns, depth = rng.randrange(16, 2 * m, 16), rng.randrange(16, 2 * n + 16, 16), rng.randrange(16, 5 * deep, 16)
    options = {"num_warps": warps, "num_ctas": 2, "num_stages": rng.choice([2, 3, 4])}
    assert is_paired(multiply("sm_100a", (rows, columns, depth), (m, n, deep), kind, columns_first=first, **options))


@pytest.fixture
def example(monkeypatch):
    """Imports a file of examples, which import triton."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "examples"
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(pathlib.Path(triton.__file__).parent / "_as_triton")
    before = set(sys.modules)

    def load(name):
        spec = importlib.util.spec_from_file_location(f"example_{name[:2]}", folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("triton", "common"):
            del sys.modules[name]


@pytest.mark.parametrize(("name", "kernel"), [("03_matmul_basic", "matmul_kernel"), ("04_matmul_grouped", "grouped_matmul_kernel"), ("05_matmul_block_pointers", "block_matmul_kernel")])
def test_examples(name, kernel, example):
    """Modulo in addresses, groups of tiles and block pointers."""
    rows, columns, depth = 528, 272, 208
    a, b = numbers((rows, depth), "fp16", 1), numbers((depth, columns), "fp16", 2)
    c = np.zeros((rows, columns), np.float16)
    is_grouped = kernel == "grouped_matmul_kernel"
    arguments = (a, b, c, rows, columns, depth, depth, 1, columns, 1, columns, 1, 256, 128, 64) + ((2,) if is_grouped else ())
    grid = (triton.cdiv(rows, 256), triton.cdiv(columns, 128))
    function = getattr(example(name), kernel)
    with device("sm_100a"):
        function[grid if "block" in kernel else (grid[0] * grid[1],)](*arguments, num_warps=4, num_ctas=2, num_stages=3)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-3, atol=2e-2)  # one rounding to fp16
    assert is_paired(ptx(function, "sm_100a", arguments, num_warps=4, num_ctas=2, num_stages=3))


@triton.jit
def synchronized(
    a_ptr, b_ptr, c_ptr, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, INSIDE: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [depth, columns], [columns, 1], [K, N])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    if not INSIDE:
        tl.debug_barrier()
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
        if INSIDE:
            tl.debug_barrier()
    c.store([m, n], acc)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("warps", [4, 8])
def test_debug_barrier(target, inside, warps):
    """All threads of both CTAs take part in a barrier, so no warp can run ahead of it: there is no producer, and the loop has more iterations than
    stages."""
    a, b, c = numbers((256, 640), "fp16", 1), numbers((640, 128), "fp16", 2), np.zeros((256, 128), np.float32)
    with device(target):
        synchronized[(1, 1)](a, b, c, 256, 128, 640, M=256, N=128, K=64, INSIDE=inside, num_warps=warps, num_ctas=2, num_stages=3)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), atol=1e-2)
