"""Kernels whose CTAs cancel the launch of others and execute their programs (cluster launch control), on the simulator, which reports each
broken rule of the ISA and models which launches are left. ptxas assembles the same kernels."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from test_tcgen05 import device, numbers, persistent, ptx


def cancels(text):
    assert ("clusterlaunchcontrol.try_cancel" in text) == ("clusterlaunchcontrol.query_cancel" in text)
    return "clusterlaunchcontrol.try_cancel" in text


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [columns, depth], [depth, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    if FORM == "flat":
        tile, across = tl.program_id(0), tl.cdiv(columns, N)
        m, n = tile // across * M, tile % across * N
    elif FORM == "2d":
        m, n = tl.program_id(0) * M, tl.program_id(1) * N
    elif FORM == "3d":
        m, n = (tl.program_id(2) * tl.num_programs(0) + tl.program_id(0)) * M, tl.program_id(1) * N
    elif FORM == "reversed":
        m, n = (tl.num_programs(0) - 1 - tl.program_id(0)) * M, (tl.num_programs(1) - 1 - tl.program_id(1)) * N
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(tl.float16))


def grid_of(form, across, down):
    return {"flat": (down * across,), "2d": (down, across), "3d": (2, across, -(-down // 2)), "reversed": (down, across)}[form]


def multiply(form, sizes, tile, target="sm_100a", **options):
    """Runs the kernel on the simulator and compares it with float64. Returns its PTX."""
    (rows, columns, depth), (m, n, k) = sizes, tile
    a, b = numbers((rows, depth), "fp16", 1), numbers((columns, depth), "fp16", 2)
    c = np.zeros((rows, columns), np.float16)
    arguments = (a, b, c, rows, columns, depth, m, n, k, form)
    with device(target):
        matmul[grid_of(form, triton.cdiv(columns, n), triton.cdiv(rows, m))](*arguments, **options)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=2e-3, atol=2e-2)  # one rounding to fp16
    return ptx(matmul, target, arguments, **options)


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("form", ["flat", "2d", "3d", "reversed"])
@pytest.mark.parametrize("sizes", [(256, 256, 64), (1000, 520, 200), (384, 136, 64), (40, 1288, 72), (2048, 256, 16)])
def test_matmul(form, sizes, ctas):
    """One to 40 programs, in grids of one to three dimensions; programs of several CTAs; tiles that are not whole."""
    text = multiply(form, sizes, (128 * ctas, 128, 64), num_warps=4, num_ctas=ctas, num_stages=3)
    if sizes[1] % 16 == sizes[2] % 16 == 0:  # otherwise TMA is for versions that launches request
        assert cancels(text) and ("multicast::cluster::all.b128" in text) == (ctas == 2)


@pytest.mark.parametrize(("tile", "warps", "ctas"), [((128, 64, 64), 4, 1), ((128, 256, 64), 8, 1), ((256, 128, 32), 8, 1), ((64, 64, 64), 4, 1), ((256, 256, 64), 8, 2), ((512, 64, 32), 4, 2), ((128, 128, 64), 4, 2)])
@pytest.mark.parametrize("depth", [0, 16, 64, 328])
def test_tiles(tile, warps, ctas, depth):
    m, n, _ = tile
    for stages in (2, 4):
        multiply("2d", (2 * m + 40, 2 * n + 16, depth), tile, num_warps=warps, num_ctas=ctas, num_stages=stages)


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
def test_targets(target):
    assert cancels(multiply("2d", (300, 300, 96), (128, 128, 32), target, num_warps=4, num_stages=3))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100", "sm_120a"])
def test_other_targets_have_no_tensor_memory(target):
    assert not cancels(multiply("2d", (300, 300, 96), (128, 128, 32), target, num_warps=8, num_stages=3))


def test_a_persistent_kernel_stays():
    a, c = np.zeros((512, 512), np.float16), np.zeros((512, 512), np.float16)
    assert not cancels(ptx(persistent, "sm_100a", (a, a, c, 512, 512, 512, 1, 128, 128, 64, False), num_warps=4, num_stages=3))


@triton.jit
def other_kernel(
    a_ptr, b_ptr, c_ptr, bias_ptr, count_ptr, rows, columns, depth, first, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    pid, across = tl.program_id(0), tl.cdiv(columns, N)
    if KIND == "early return" and pid < first:
        return
    m, n = pid // across * M + tl.arange(0, M), pid % across * N + tl.arange(0, N)
    if KIND == "print":
        tl.device_print("tile", m // M * 100 + pid * 0)
    acc = tl.zeros((M, N), tl.float32)
    other = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        ks = k + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * depth + ks[None, :], mask=(m[:, None] < rows) & (ks[None, :] < depth), other=0)
        b = tl.load(b_ptr + n[None, :] * depth + ks[:, None], mask=(n[None, :] < columns) & (ks[:, None] < depth), other=0)
        acc = tl.dot(a, b, acc)
    if KIND == "two loops":
        for k in range(0, depth, K):
            ks = k + tl.arange(0, K)
            a = tl.load(a_ptr + m[:, None] * depth + ks[None, :], mask=(m[:, None] < rows) & (ks[None, :] < depth), other=0)
            b = tl.load(b_ptr + n[None, :] * depth + ks[:, None], mask=(n[None, :] < columns) & (ks[:, None] < depth), other=0)
            other = tl.dot(a, b, other)
        acc += other
    if KIND == "bias":
        acc = tl.maximum(acc + tl.load(bias_ptr + n, mask=n < columns, other=0)[None, :] + tl.num_programs(0), 0)
    if KIND == "branch" and pid % 2 == 1:
        acc = acc * 2
    if KIND == "count":
        tl.atomic_add(count_ptr + pid, 1)
    if KIND == "ticket":  # the result says how many programs came before
        acc = tl.where(tl.atomic_add(count_ptr, 1) < 0, 0.0, acc)
    mask = (m[:, None] < rows) & (n[None, :] < columns)
    if KIND == "add":
        tl.atomic_add(c_ptr + m[:, None] * columns + n[None, :], acc, mask=mask, sem="relaxed")
    else:
        tl.store(c_ptr + m[:, None] * columns + n[None, :], acc, mask=mask)
    if KIND == "assert":
        tl.device_assert(pid < first)


STAYS = {"early return", "ticket"}


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("kind", ["early return", "two loops", "bias", "branch", "count", "ticket", "add", "print", "assert"])
def test_kernels(kind, ctas, capfd):
    """Epilogues, branches, atomics and output. A program that may wait for another one, or returns early, stays as it is."""
    rows, columns, depth, m, n = 256 * ctas + 40, 264, 160, 128 * ctas, 128
    a, b, bias = numbers((rows, depth), "fp16", 1), numbers((columns, depth), "fp16", 2), numbers((columns,), "tf32", 3)
    programs = triton.cdiv(rows, m) * triton.cdiv(columns, n)
    c, count = np.zeros((rows, columns), np.float32), np.zeros(programs, np.int32)
    arguments = (a, b, c, bias, count, rows, columns, depth, programs if kind == "assert" else 1, kind, m, n, 64)
    options = {"num_warps": 4, "num_ctas": ctas, "num_stages": 3}
    with device("sm_100a"):
        other_kernel[programs,](*arguments, **options)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    if kind == "early return":
        expected[:m, :n] = 0
    if kind == "two loops":
        expected *= 2
    if kind == "bias":
        expected = np.maximum(expected + bias + programs, 0)
    if kind == "branch":
        for tile in range(1, programs, 2):
            across = triton.cdiv(columns, n)
            expected[tile // across * m:tile // across * m + m, tile % across * n:tile % across * n + n] *= 2
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-3)
    if kind == "count":
        assert (count == 1).all()
    if kind == "ticket":
        assert count[0] == programs
    if kind == "print":
        lines = [line for line in capfd.readouterr().out.splitlines() if "tile" in line]
        across = triton.cdiv(columns, n)
        assert sorted(lines) == sorted(f"pid ({pid}, 0, 0) idx ({i:{len(str(m - 1))}}) tile: {pid // across * 100}" for pid in range(programs) for i in range(m))
    if kind not in STAYS and ctas == 1:
        assert cancels(ptx(other_kernel, "sm_100a", arguments, **options))
    if kind in STAYS:
        assert not cancels(ptx(other_kernel, "sm_100a", arguments, **options))


@pytest.mark.parametrize(("tile", "depth", "ctas"), [((512, 128, 64), 72, 4), ((512, 64, 32), 128, 4), ((1024, 128, 32), 40, 8)])
def test_clusters_without_pairs(tile, depth, ctas):
    """Larger clusters copy their common operand by multicast if rows start within a sector, and each CTA multiplies by itself."""
    m, n, _ = tile
    multiply("2d", (2 * m + 40, 2 * n + 16, depth), tile, num_warps=4, num_ctas=ctas, num_stages=3)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, scale, queries, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr):
    qs = tl.make_tensor_descriptor(q_ptr, [queries, HEAD], [HEAD, 1], [M, HEAD])
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    os = tl.make_tensor_descriptor(o_ptr, [queries, HEAD], [HEAD, 1], [M, HEAD])
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    q = qs.load([block * M, 0])
    rows = block * M + tl.arange(0, M)
    acc = tl.zeros((M, HEAD), tl.float32)
    total = tl.zeros((M,), tl.float32)
    highest = tl.full((M,), -float("inf"), tl.float32)
    for start in range(0, min((block + 1) * M, keys) if CAUSAL else keys, N):
        scores = tl.dot(q, ks.load([start, 0]).T)
        columns = start + tl.arange(0, N)
        seen = (columns < keys)[None, :]
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(highest, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - new[:, None])
        change = tl.exp2(highest - new)
        total = total * change + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), vs.load([start, 0]), acc * change[:, None])
        highest = new
    os.store([block * M, 0], acc / total[:, None])


@pytest.mark.parametrize(("head", "m", "n", "warps"), [(64, 128, 64, 4), (128, 128, 64, 4), (64, 256, 64, 8), (128, 128, 128, 8)])
@pytest.mark.parametrize(("queries", "keys", "causal"), [(1000, 200, False), (600, 600, True), (130, 64, False)])
def test_attention(head, m, n, warps, queries, keys, causal):
    """The partitions of MMAs and corrections continue from program to program. Causal programs differ in their iterations, and stay."""
    q, k, v = numbers((queries, head), "fp16", 1), numbers((keys, head), "fp16", 2), numbers((keys, head), "fp16", 3)
    out = np.full((queries, head), np.nan, np.float32)
    scale = 1.4426950408889634 / head**0.5
    arguments = (q, k, v, out, scale, queries, keys, head, m, n, causal)
    options = {"num_warps": warps, "num_stages": 2}
    with device("sm_100a"):
        attention[(triton.cdiv(queries, m),)](*arguments, **options)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        scores = np.where(np.arange(keys)[None, :] <= np.arange(queries)[:, None], scores, -np.inf)
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    limit = weights @ np.abs(v.astype(np.float64)) * (2.0**-11 + 2.0**-14) + 2.0**-20
    assert np.all(np.abs(out - weights @ v.astype(np.float64)) <= limit)
    assert cancels(ptx(attention, "sm_100a", arguments, **options)) == (not causal)
