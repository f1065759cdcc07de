"""Loops in which threads compute between dots, on the simulator of tcgen05: the partition of MMAs, and that of corrections.

The simulator reports races, missing fences and phases of barriers that a warp may miss, with warps that run in random order."""

import re

import ml_dtypes
import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl
from test_tcgen05 import device

TYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}


@triton.jit
def step(acc, total, highest, q, k, v, scale, seen, MASKED: tl.constexpr):
    scores = tl.dot(q, k.T)
    if MASKED:
        scores = tl.where(seen, scores, -float("inf"))
    new = tl.maximum(highest, tl.max(scores, 1) * scale)
    weights = tl.exp2(scores * scale - new[:, None])
    change = tl.exp2(highest - new)
    total = total * change + tl.sum(weights, 1)
    return tl.dot(weights.to(v.dtype), v, acc * change[:, None]), total, new


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, queries, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr,
):
    qs = tl.make_tensor_descriptor(q_ptr, [queries, HEAD], [HEAD, 1], [M, HEAD])
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    os = tl.make_tensor_descriptor(o_ptr, [queries, HEAD], [HEAD, 1], [M, HEAD])
    for block in range(tl.program_id(0), tl.cdiv(queries, M), tl.num_programs(0)):
        q = qs.load([block * M, 0])
        rows = block * M + tl.arange(0, M)
        acc = tl.zeros((M, HEAD), tl.float32)
        total = tl.zeros((M,), tl.float32)
        highest = tl.full((M,), -float("inf"), tl.float32)
        full = block * M // N * N if CAUSAL else keys // N * N
        last = min((block + 1) * M, keys) if CAUSAL else keys
        for start in range(0, full, N):
            acc, total, highest = step(acc, total, highest, q, ks.load([start, 0]), vs.load([start, 0]), scale, 0, False)
        for start in range(full, last, N):
            columns = start + tl.arange(0, N)
            seen = (columns < keys)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= rows[:, None])
            acc, total, highest = step(acc, total, highest, q, ks.load([start, 0]), vs.load([start, 0]), scale, seen, True)
        os.store([block * M, 0], (acc / total[:, None]).to(o_ptr.dtype.element_ty))


@triton.jit
def attention_of_block(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, queries, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr,
):
    """One loop, and one block of queries for each program."""
    first = tl.program_id(0) * M
    q = tl.make_tensor_descriptor(q_ptr, [queries, HEAD], [HEAD, 1], [M, HEAD]).load([first, 0])
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    acc = tl.zeros((M, HEAD), tl.float32)
    total = tl.zeros((M,), tl.float32)
    highest = tl.full((M,), -float("inf"), tl.float32)
    last = min(first + M, keys) if CAUSAL else keys
    for start in range(0, last, N):
        columns = start + tl.arange(0, N)
        seen = (columns < keys)[None, :]
        if CAUSAL:
            seen = seen & (columns[None, :] <= first + tl.arange(0, M)[:, None])
        acc, total, highest = step(acc, total, highest, q, ks.load([start, 0]), vs.load([start, 0]), scale, seen, True)
    tl.make_tensor_descriptor(o_ptr, [queries, HEAD], [HEAD, 1], [M, HEAD]).store([first, 0], acc / total[:, None])


@triton.jit
def decayed(q_ptr, k_ptr, v_ptr, o_ptr, keys, FORM: tl.constexpr, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Linear attention: what a step multiplies by row factors is the sum itself in form 0 only."""
    q = tl.make_tensor_descriptor(q_ptr, [M, HEAD], [HEAD, 1], [M, HEAD]).load([0, 0])
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    acc = tl.zeros((M, HEAD), tl.float32)
    for start in range(0, keys, N):
        scores = tl.dot(q, ks.load([start, 0]).T)
        change = tl.exp2(-tl.abs(tl.sum(scores, 1)) * 0.01)
        decay = 1 - change * 0.5
        if FORM == 0:
            acc = change[:, None] * acc
        elif FORM == 1:
            acc = change[:, None] * (acc * decay[:, None])
        elif FORM == 2:
            acc = change[:, None] * tl.maximum(acc, 0)
        else:
            acc = (acc * decay[:, None]) * change[:, None]
        acc = tl.dot(scores.to(tl.float16), vs.load([start, 0]), acc)
    tl.make_tensor_descriptor(o_ptr, [M, HEAD], [HEAD, 1], [M, HEAD]).store([0, 0], acc)


@pytest.mark.parametrize("form", range(4))
def test_what_is_multiplied_by_row_factors(form):
    rng = np.random.default_rng(form)
    q, k, v = (rng.standard_normal((length, 64)).astype(np.float16) / 4 for length in (128, 256, 256))
    out = np.full((128, 64), np.nan, np.float32)
    with device("sm_100a"):
        decayed[(1,)](q, k, v, out, 256, form, 64, 128, 64, num_warps=4, num_stages=2)
    acc, wide = np.zeros((128, 64)), lambda x: x.astype(np.float64)
    for start in range(0, 256, 64):
        scores = (wide(q) @ wide(k[start:start + 64]).T).astype(np.float32)
        change = np.exp2(-np.abs(wide(scores).sum(1)) * 0.01)[:, None]
        acc = change * (np.maximum(acc, 0) if form == 2 else acc if form == 0 else acc * (1 - change * 0.5))
        acc = acc + wide(scores.astype(np.float16)) @ wide(v[start:start + 64])
    np.testing.assert_allclose(out, acc, rtol=1e-3, atol=1e-3)


def attend(tile, kind, sizes, programs=None, causal=False, kernel=attention, **options):
    """Compares with float64. The error is that of P in the operands' type, and of the result's."""
    (m, n, head), (queries, keys) = tile, sizes
    rng = np.random.default_rng(queries + keys)
    q, k, v = (rng.standard_normal((length, head)).astype(np.float32).astype(TYPES[kind]) for length in (queries, keys, keys))
    out = np.full((queries, head), np.nan, np.float32)
    scale = 1.4426950408889634 / head**0.5
    arguments = (q, k, v, out, scale, queries, keys, head, m, n, causal)
    with device("sm_100a"):
        kernel[(programs or triton.cdiv(queries, m),)](*arguments, **options)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        scores = np.where(np.arange(keys)[None, :] <= np.arange(queries)[:, None], scores, -np.inf)
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    values = v.astype(np.float64)
    rounding = {"fp16": 2.0**-11, "bf16": 2.0**-8, "e4m3": 2.0**-4}[kind]
    # exp2's argument is rounded to float32, and P to the operands' type (e4m3: down to 2^-10 of the maximum).
    limit = weights @ np.abs(values) * (rounding + 2.0**-14) + (2.0**-9 if kind == "e4m3" else 2.0**-20)
    assert np.all(np.abs(out - weights @ values) <= limit)
    return kernel.warmup(*arguments, grid=(1,), arch="sm_100a", **options).asm["ttgir"]


def partitions(text):
    """The numbers of warps of the partitions: [1, 1] are those of copies and of MMAs, [1, 4, 1] and [1, 1, 4] also that of corrections."""
    return [int(warps) for warps in re.findall(r"partition\d+\(.*?\) num_warps\((\d+)\)", text)]


@pytest.mark.parametrize("sizes", [(128, 128), (256, 320), (200, 77), (128, 1)], ids=str)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("tile, warps", [((128, 128, 128), 4), ((128, 64, 64), 4), ((256, 64, 64), 8)], ids=str)
def test_attention(tile, warps, kind, sizes):
    text = attend(tile, kind, sizes, num_warps=warps, num_stages=2)
    if sizes[1] != 1:  # with one key there is no loop
        assert partitions(text) == {4: [1, 1] if tile == (128, 64, 64) else [1, 4, 1], 8: [1, 1, 4]}[warps]


@pytest.mark.parametrize("sizes", [(256, 128), (512, 1024), (300, 450), (1, 129), (257, 383)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tile", [(256, 128, 128), (256, 128, 64), (256, 64, 128), (256, 32, 64)], ids=str)
def test_row_groups(tile, causal, sizes):
    """Each of two warp groups has 128 rows, with MMAs and barriers of its own. With 128 columns, P is in the columns of the scores."""
    queries, keys = sizes if not causal else (sizes[1], sizes[1])
    text = attend(tile, "bf16", (queries, keys), causal=causal, num_warps=8, num_stages=2)
    assert "perWarpGroup" in text and "rowBlock = 1" in text
    assert ("xbf16, 128>" in text) == (tile == (256, 128, 128))
    # If the next QK of a row group follows its PV, that starts with three quarters of P.
    assert ("kRange = array<i32: 0, 96>" in text) == (tile[1] == 128)
    # Then the groups also compute one after the other.
    assert ("ptx.warp_id" in text.split("default {")[1].split("partition0")[0].split("ttg.tma_store")[0]) == (tile[1] == 128)


@pytest.mark.parametrize("sizes", [(128, 128), (256, 320), (200, 77), (128, 640)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_shared_columns(causal, sizes):
    """With 8 bits two CTAs fit on an SM if P is in the columns of the scores. In a program loop the stored tile has memory of its own, so one fits."""
    queries, keys = sizes if not causal else (sizes[1], sizes[1])
    text = attend((128, 128, 128), "e4m3", (queries, keys), causal=causal, kernel=attention_of_block, num_warps=4, num_stages=2)
    assert ("ttg.clc_program" in text) == (not causal)
    assert ("xf8E4M3FN, 128>" in text, partitions(text)) == ((True, [1, 1]) if causal else (False, [1, 4, 1]))


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("tile, warps", [((64, 64, 64), 4), ((128, 32, 128), 4), ((128, 64, 64), 8), ((128, 128, 64), 4)], ids=str)
def test_tiles_and_stages(tile, warps, stages):
    attend(tile, "fp16", (256, 320), num_warps=warps, num_stages=stages)


@pytest.mark.parametrize("tile, warps", [((128, 64, 64), 4), ((128, 128, 128), 4), ((256, 64, 64), 8)], ids=str)
@pytest.mark.parametrize("queries", [128, 500, 640])
def test_causal_attention(tile, warps, queries):
    attend(tile, "fp16", (queries, queries), causal=True, num_warps=warps, num_stages=2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tile, warps", [((128, 64, 64), 4), ((128, 128, 128), 4), ((256, 128, 64), 8)], ids=str)
def test_persistent_attention(tile, warps, causal):
    attend(tile, "bf16", (700, 700), programs=2, causal=causal, num_warps=warps, num_stages=2)


@triton.jit
def two_sums(x_ptr, y_ptr, v_ptr, w_ptr, o_ptr, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Two sums that are multiplied by different factors in each iteration, and one step without products of the same iteration."""
    rows = tl.arange(0, M)[:, None]
    x = tl.load(x_ptr + rows * HEAD + tl.arange(0, HEAD)[None, :])
    ys = tl.make_tensor_descriptor(y_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    ws = tl.make_tensor_descriptor(w_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    first = tl.zeros((M, HEAD), tl.float32)
    second = tl.full((M, HEAD), 1.0, tl.float32)
    for start in range(0, keys, N):
        product = tl.dot(x, ys.load([start, 0]).T)
        low, high = tl.min(product, 1), tl.max(product, 1)
        a = tl.where(high > 1.5, 0.5, 1.0)
        b = tl.where(low < -1.5, -0.25, 1.0)
        first = tl.dot(product.to(tl.float16), vs.load([start, 0]), first * a[:, None])
        second = tl.dot((product * product).to(tl.float16), ws.load([start, 0]), b[:, None] * second)
    columns = tl.arange(0, HEAD)[None, :]
    tl.store(o_ptr + rows * HEAD + columns, first)
    tl.store(o_ptr + (M + rows) * HEAD + columns, second)


@pytest.mark.parametrize("keys", [64, 300, 512])
@pytest.mark.parametrize("m, n, head, warps", [(128, 64, 64, 4), (128, 32, 128, 4), (256, 32, 64, 8)])
def test_two_sums(m, n, head, warps, keys):
    rng = np.random.default_rng(2)
    x, y, v, w = ((rng.standard_normal((length, head)) / 4).astype(np.float16) for length in (m, keys, keys, keys))
    out = np.zeros((2, m, head), np.float32)
    with device("sm_100a"):
        two_sums[1,](x, y, v, w, out, keys, head, m, n, num_warps=warps, num_stages=2)
    expected, size = [np.zeros((m, head)), np.ones((m, head))], np.ones((2, m, head))
    for start in range(0, keys, n):
        block = slice(start, start + n)
        product = x.astype(np.float64) @ y[block].astype(np.float64).T
        a = np.where(np.maximum(product.max(1), 0 if start + n > keys else -np.inf) > 1.5, 0.5, 1)
        b = np.where(np.minimum(product.min(1), 0 if start + n > keys else np.inf) < -1.5, -0.25, 1)
        for i, (factor, weights, values) in enumerate(((a, product, v[block]), (b, product * product, w[block]))):
            expected[i] = expected[i] * factor[:, None] + weights @ values.astype(np.float64)
            size[i] += np.abs(weights) @ np.abs(values.astype(np.float64))
    assert np.all(np.abs(out - expected) <= size * 2.0**-10)


@triton.jit
def gated(x_ptr, w_ptr, u_ptr, d_ptr, y_ptr, hidden, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    """Two early dots, and one that accumulates: y = (silu(x @ w) * (x @ u)) @ d, over blocks of the hidden dimension."""
    rows = tl.arange(0, M)[:, None]
    x = tl.load(x_ptr + rows * K + tl.arange(0, K)[None, :])
    ws = tl.make_tensor_descriptor(w_ptr, [hidden, K], [K, 1], [N, K])
    us = tl.make_tensor_descriptor(u_ptr, [hidden, K], [K, 1], [N, K])
    ds = tl.make_tensor_descriptor(d_ptr, [hidden, DOWN], [DOWN, 1], [N, DOWN])
    acc = tl.zeros((M, DOWN), tl.float32)
    for start in range(0, hidden, N):
        gate = tl.dot(x, ws.load([start, 0]).T)
        up = tl.dot(x, us.load([start, 0]).T)
        acc = tl.dot((gate / (1 + tl.exp(-gate)) * up).to(tl.float16), ds.load([start, 0]), acc)
    tl.store(y_ptr + rows * DOWN + tl.arange(0, DOWN)[None, :], acc)


@pytest.mark.parametrize("hidden", [64, 192, 250])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("n, down, warps", [(64, 64, 4), (32, 32, 4), (32, 64, 4), (64, 64, 8)])
def test_two_early_dots(n, down, warps, hidden, stages):
    """With N = 32 the first warp multiplies and waits: for each MMA, because commits arrive in any order."""
    m, depth = 128, 64
    rng = np.random.default_rng(1)
    x, w, u, d = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, depth), (hidden, depth), (hidden, depth), (hidden, down)))
    w, u = (w / 8).astype(np.float16), (u / 8).astype(np.float16)
    y = np.zeros((m, down), np.float32)
    with device("sm_100a"):
        gated[1,](x, w, u, d, y, hidden, depth, m, n, down, num_warps=warps, num_stages=stages)
    gate, up = x.astype(np.float64) @ w.astype(np.float64).T, x.astype(np.float64) @ u.astype(np.float64).T
    middle = gate / (1 + np.exp(-gate)) * up
    expected = middle @ d.astype(np.float64)
    assert np.all(np.abs(y - expected) <= np.abs(middle) @ np.abs(d.astype(np.float64)) * 2.0**-10)


@triton.jit
def scores_of_previous(q_ptr, k_ptr, v_ptr, o_ptr, keys, M: tl.constexpr, N: tl.constexpr, HEAD: tl.constexpr):
    """Each iteration uses the scores of the previous one, and computes those of the next one: its first dot starts from zero."""
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, HEAD)[None, :]
    q = tl.load(q_ptr + rows * HEAD + columns)
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    acc = tl.zeros((M, HEAD), tl.float32)
    scores = tl.full((M, N), 1.0, tl.float32)
    for start in range(0, keys, N):
        weights = (scores * 0.5).to(tl.float16)
        scores = tl.dot(q, ks.load([start, 0]).T)
        acc = tl.dot(weights, vs.load([start, 0]), acc * 0.5)
    tl.store(o_ptr + rows * HEAD + columns, acc + tl.sum(scores, 1)[:, None])


def integers(rng, *shape):
    return (rng.integers(-2, 3, shape) / 4).astype(np.float16)


def blocks(k, v, n):
    """The blocks of keys and values, with zeros at the end."""
    padding = ((0, -len(k) % n), (0, 0))
    k, v = (np.pad(x.astype(np.float64), padding).reshape(-1, n, x.shape[1]) for x in (k, v))
    return zip(k, v)


@pytest.mark.parametrize("keys", [64, 300, 512])
@pytest.mark.parametrize("m, n, head, warps, stages", [(128, 64, 64, 4, 2), (128, 64, 64, 4, 3), (128, 128, 128, 4, 2), (256, 64, 64, 8, 2)])
def test_scores_of_previous_iteration(m, n, head, warps, stages, keys):
    rng = np.random.default_rng(3)
    q, k, v = integers(rng, m, head), integers(rng, keys, head), integers(rng, keys, head)
    out = np.full((m, head), np.nan, np.float32)
    with device("sm_100a"):
        scores_of_previous[1,](q, k, v, out, keys, m, n, head, num_warps=warps, num_stages=stages)
    acc, scores = np.zeros((m, head)), np.ones((m, n))
    for keys_of_block, values in blocks(k, v, n):
        weights = (scores * 0.5).astype(np.float16).astype(np.float64)
        scores = q.astype(np.float64) @ keys_of_block.T
        acc = acc * 0.5 + weights @ values
    np.testing.assert_allclose(out, acc + scores.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)


@triton.jit
def next_to_other_dots(q_ptr, k_ptr, v_ptr, w_ptr, n_ptr, o_ptr, keys, FORM: tl.constexpr, M: tl.constexpr, N: tl.constexpr, HEAD: tl.constexpr):
    """A chain of dots, and other dots: in a loop around it, or after it, in a loop or a branch that a warp of its own cannot compute."""
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, HEAD)[None, :]
    q = tl.load(q_ptr + rows * HEAD + columns)
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    w_ptrs = w_ptr + tl.arange(0, HEAD)[:, None] * HEAD + columns
    w = tl.load(w_ptrs)
    total = tl.zeros((M, HEAD), tl.float32)
    for i in range(0, 2 if FORM == "around" else 1):
        acc = tl.zeros((M, HEAD), tl.float32)
        for start in range(0, keys, N):
            scores = tl.dot(q, ks.load([start, 0]).T)
            acc = tl.dot((scores * 0.5).to(tl.float16), vs.load([start, 0]), acc)
        if FORM == "around":
            total = tl.dot((acc * 0.25).to(tl.float16), w, total * 0.5)
        else:
            total = acc
    if FORM == "loaded bound":
        w = tl.load(w_ptrs)
        for i in range(0, tl.load(n_ptr)):
            total = tl.dot((total * 0.25).to(tl.float16), w, total * 0.5)
    if FORM == "branch":
        if tl.max(tl.max(total, 1), 0) > 0:
            for i in range(0, keys // N):
                total = tl.dot((total * 0.25).to(tl.float16), w, total * 0.5)
    tl.store(o_ptr + rows * HEAD + columns, total)


@pytest.mark.parametrize("form, times", [("around", 2), ("loaded bound", 3), ("loaded bound", 0), ("branch", 3)])
def test_next_to_other_dots(form, times):
    m, n, head, keys = 128, 64, 64, 200
    rng = np.random.default_rng(3)
    q, k, v, w = (integers(rng, length, head) for length in (m, keys, keys, head))
    out = np.full((m, head), np.nan, np.float32)
    arguments = (q, k, v, w, np.array([times], np.int32), out, keys, form, m, n, head)
    with device("sm_100a"):
        next_to_other_dots[1,](*arguments, num_warps=4, num_stages=2)
    acc, weights = np.zeros((m, head)), w.astype(np.float64)
    for keys_of_block, values in blocks(k, v, n):
        acc += (q.astype(np.float64) @ keys_of_block.T * 0.5).astype(np.float16).astype(np.float64) @ values

    def multiplied(tile, total):
        return total * 0.5 + (tile * 0.25).astype(np.float16).astype(np.float64) @ weights

    total = np.zeros((m, head)) if form == "around" else acc
    for _ in range(times):
        total = multiplied(acc if form == "around" else total, total)
    np.testing.assert_allclose(out, total, rtol=1e-3, atol=1e-3)
    compiled = next_to_other_dots.warmup(*arguments, grid=(1,), arch="sm_100a", num_warps=4, num_stages=2)
    assert partitions(compiled.asm["ttgir"]) == ([1, 1] if form == "loaded bound" else [1])


@triton.jit
def last_in_place(q_ptr, k_ptr, x_ptr, first_ptr, second_ptr, rows, D: tl.constexpr, M: tl.constexpr):
    q_map = tl.make_tensor_descriptor(q_ptr, [rows, D], [D, 1], [M, D])
    k_map = tl.make_tensor_descriptor(k_ptr, [rows, D], [D, 1], [M, D])
    x_map = tl.make_tensor_descriptor(x_ptr, [rows, M], [M, 1], [M, M])
    i = tl.arange(0, M)
    q = q_map.load([tl.program_id(0) * M, 0])
    first = tl.zeros((M, M), tl.float32)
    second = tl.zeros((M, M), tl.float32)
    for n in range(0, rows, M):
        p = tl.exp2(tl.dot(q, k_map.load([n, 0]).T)).to(tl.float16)
        x = x_map.load([n, 0])
        first = tl.dot(x, p, first)
        second = tl.dot(p * p, x, second)
    tl.store(first_ptr + i[:, None] * M + i[None, :], first)
    tl.store(second_ptr + i[:, None] * M + i[None, :], second)


@pytest.mark.parametrize("blocks_of_keys", [1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
def test_last_dot_in_place(warps, stages, blocks_of_keys):
    """Three dots, the last two of which only add; threads compute an operand of each, and both read one copied tile."""
    rng, m, d = np.random.default_rng(9), 128, 64
    q, k, x = (rng.uniform(-0.3, 0.3, shape).astype(np.float16) for shape in ((m, d), (m * blocks_of_keys, d), (m * blocks_of_keys, m)))
    first, second = np.zeros((m, m), np.float32), np.zeros((m, m), np.float32)
    # The descriptors have as many rows as k and x: those of q after its own are not read.
    queries = np.concatenate([q, np.zeros((m * (blocks_of_keys - 1), d), np.float16)])
    with device("sm_100a"):
        last_in_place[(1,)](queries, k, x, first, second, m * blocks_of_keys, d, m, num_warps=warps, num_stages=stages)
    p = np.exp2(q.astype(np.float64) @ k.astype(np.float64).T).astype(np.float16)
    squares, x = (p * p).astype(np.float64), x.astype(np.float64)
    sums = [(x[n : n + m] @ p[:, n : n + m].astype(np.float64), squares[:, n : n + m] @ x[n : n + m]) for n in range(0, len(x), m)]
    np.testing.assert_allclose(first, sum(one for one, _ in sums), rtol=2e-3, atol=5e-3)
    np.testing.assert_allclose(second, sum(other for _, other in sums), rtol=2e-3, atol=5e-3)
