"""Flat indices, whose quotients and remainders are regular inside of rows: short and long rows, rows that begin anywhere in a tile, nested ones,
lengths known when a program runs, and what depends on indices from memory there."""

import itertools

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def gather_rows(w, index, out, numel, n, N: tl.constexpr, BLOCK: tl.constexpr):
    """out[x] = w[index[x // n], x % n] * 1.5. N: n, or 0."""
    if N > 0:
        n = N
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    row = tl.load(index + x // n, mask=mask)
    tl.store(out + x, tl.load(w + row * n + x % n, mask=mask) * 1.5, mask=mask)


@triton.jit
def add_rows(table, index, g, numel, n, N: tl.constexpr, BLOCK: tl.constexpr):
    """table[index[x // n], x % n] += g[x]."""
    if N > 0:
        n = N
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    row = tl.load(index + x // n, mask=mask)
    tl.atomic_add(table + row * n + x % n, tl.load(g + x, mask=mask), mask=mask, sem="relaxed")


@triton.jit
def transposed(x_ptr, out, numel, a, b, A: tl.constexpr, B: tl.constexpr, BLOCK: tl.constexpr):
    """out[i, j, k] = x[j, i, k] + i - j, flat, with rows of b and rows of a * b."""
    if A > 0:
        a = A
        b = B
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    k = x % b
    j = (x // b) % a
    i = x // (a * b)
    count = numel // (a * b)
    value = tl.load(x_ptr + k + b * i + b * count * j, mask=mask, other=-7)
    tl.store(out + x, (value + (i - j).to(value.dtype)), mask=mask)


@triton.jit
def in_place(x_ptr, scale, numel, n, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    tl.store(x_ptr + x, tl.load(x_ptr + x, mask=mask) * tl.load(scale + x // n, mask=mask) + (x % n < n // 2), mask=mask)


@triton.jit
def strided_rows(x_ptr, out, n, stride, start, BLOCK: tl.constexpr):
    """Indices may be negative, where quotients and remainders are truncated; elements of a row are `stride` apart."""
    x = start + tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, BLOCK), tl.load(x_ptr + 4096 + (x % n) * stride + x // n))


@triton.jit
def column_sums(x_ptr, out, rows, n, BLOCK: tl.constexpr, R: tl.constexpr):
    """Sums over the first and last dimensions of (4, rows, n), in a loop over flat indices of 4 * n elements."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    total = tl.zeros([BLOCK, R], tl.float32)
    for start in range(0, 4 * n, R):
        r = start + tl.arange(0, R)[None, :]
        mask = (r < 4 * n) & (i < rows)
        total += tl.load(x_ptr + r % n + n * i + rows * n * (r // n), mask=mask, other=0.0)
    tl.store(out + i, tl.sum(total, 1)[:, None], mask=i < rows)


@triton.jit
def checked_rows(index, out, numel, n, limit, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    row = tl.load(index + x // n, mask=mask)
    tl.device_assert((row * n + x % n < limit) | ~mask, "too large")
    tl.store(out + x, row + x % n, mask=mask)


@triton.jit
def pointers_used_twice(x_ptr, out, n, BLOCK: tl.constexpr):
    """The tile of pointers is kept in memory, because its quotients and remainders are expensive."""
    x = tl.arange(0, BLOCK)
    pointers = x_ptr + (x % n) * 3 + (x // n) % 5
    tl.store(out + x, tl.load(pointers))
    tl.store(pointers, tl.load(pointers) + 1)
    tl.store(out + x, tl.load(pointers) + tl.load(out + x))


@triton.jit
def by_channel(x_ptr, scale, out, start, N: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr):
    """out[i] = x[i] * scale[(x // N) % C] + scale[C + x // N], x = start + i: all is loaded before anything is stored."""
    i = tl.arange(0, BLOCK)
    x = start + i
    factor = tl.load(scale + (x // N) % C)
    tl.store(out + i, tl.load(x_ptr + i) * factor + tl.load(scale + C + x // N))


@triton.jit
def channel_last(x_ptr, scale, out, numel, C: tl.constexpr, BLOCK: tl.constexpr):
    """out[x] = x_ptr[x] * scale[x % C], in a grid."""
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    tl.store(out + x, tl.load(x_ptr + x, mask=mask) * tl.load(scale + x % C, mask=mask), mask=mask)


@triton.jit
def spread_rows(x_ptr, out, numel, N: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of N, each stored 2 * N elements after the one before it."""
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    value = tl.load(x_ptr + x % N + 2 * N * (x // N) + N, mask=mask)
    tl.store(out + x % N + 2 * N * (x // N), -value, mask=mask)


@triton.jit
def checked_gather(index, w, out, numel, limit, N: tl.constexpr, BLOCK: tl.constexpr):
    """As Inductor checks indices: negative ones count from the end, what the mask leaves out is not looked at."""
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = x < numel
    row = tl.load(index + x // N, mask=mask)
    row = tl.where(row < 0, row + limit, row)
    tl.device_assert(((0 <= row) & (row < limit)) | ~mask, "index out of bounds")
    tl.store(out + x, tl.load(w + row * N + x % N, mask=mask) * 2, mask=mask)


@triton.jit
def long_chain(x_ptr, scale, out, BLOCK: tl.constexpr):
    """Bounds of an index that every step names twice."""
    x = tl.arange(0, BLOCK)
    j = (x // 48).to(tl.int64)
    for _ in tl.static_range(27):
        j = j + j
    tl.store(out + x, tl.load(x_ptr + x) + tl.load(scale + j // 134217728))


LENGTHS = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 96, 100, 129, 500]


@triton.jit
def numbers(out, n, N: tl.constexpr, BLOCK: tl.constexpr):
    if N > 0:
        n = N
    x = tl.arange(0, BLOCK)
    tl.store(out + x, x // n * 1000 + x % n)


@triton.jit
def masked_rows(w, out, bound, n, steps, N: tl.constexpr, BLOCK: tl.constexpr):
    """What is loaded ends anywhere in a row; what is computed from it does not."""
    if N > 0:
        n = N
    x = tl.arange(0, BLOCK)
    a = x * 0
    b = x * 0 + 1
    for i in range(steps):
        a += tl.load(w + x // n * n * 2 + x % n + i, mask=x < bound, other=-5)
        b += a
    tl.store(out + x, a)
    tl.store(out + BLOCK + x, b)


@triton.jit
def rows_twice(out, n, s, N: tl.constexpr, A: tl.constexpr, BLOCK: tl.constexpr):
    """out[i, j, k] = (i * s + k) // n * 100 + (j * s + k) // n."""
    if N > 0:
        n = N
    i = tl.arange(0, A)
    k = tl.arange(0, BLOCK)
    q = (i[:, None] * s + k[None, :]) // n
    at = i[:, None, None] * (A * BLOCK) + i[None, :, None] * BLOCK + k[None, None, :]
    tl.store(out + at, q[:, None, :] * 100 + q[None, :, :])


@triton.jit
def remainders_of_remainders(x_ptr, out, start, n, m, other, N: tl.constexpr, BLOCK: tl.constexpr):
    if N > 0:
        n = N
    x = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + (x % n + 3) % m + (x + start) % (x // n + 2) + x // n)
    tl.store(out + x, y + tl.load(x_ptr + (x + start) % other) * 1000)


@pytest.mark.parametrize("n, is_known, block", [*itertools.product(LENGTHS, [True, False], [64]), (96, True, 256), (33, False, 128), (1000, True, 128)])
def test_rows_by_index(n, is_known, block):
    rng = np.random.default_rng(n)
    rows = 1 + 300 // n
    w = rng.standard_normal((5, n), np.float32)
    for dtype in (np.int32, np.int64):
        index = rng.integers(0, 5, rows).astype(dtype)
        numel = rows * n - n // 3
        out = np.full(rows * n + 64, 9, np.float32)
        gather_rows[(triton.cdiv(numel, block),)](w, index, out, numel, n, N=n if is_known else 0, BLOCK=block)
        np.testing.assert_array_equal(out[:numel], (w[index] * np.float32(1.5)).ravel()[:numel])
        assert (out[numel:] == 9).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int64])
@pytest.mark.parametrize("n, is_known", [(n, known) for n in (3, 16, 17, 33, 96) for known in (True, False)])
def test_additions_to_rows(dtype, n, is_known):
    """Few rows, so that many of a tile's are the same."""
    rng = np.random.default_rng(n)
    rows = 1 + 500 // n
    index = rng.integers(0, 3, rows)
    g = rng.integers(-9, 9, (rows, n)).astype(dtype)
    expected = np.ones((3, n), dtype)
    np.add.at(expected, index, g)
    for threads in (1, 2):
        table = np.ones((3, n), dtype)
        add_rows[(triton.cdiv(g.size, 128),)](table, index, g, g.size, n, N=n if is_known else 0, BLOCK=128, num_threads=threads)
        np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int16, np.float64])
@pytest.mark.parametrize("a, b, is_known", [(a, b, known) for a, b in ((3, 5), (4, 33), (2, 64), (7, 16), (5, 19)) for known in (True, False)])
def test_nested_rows(dtype, a, b, is_known):
    x = np.random.default_rng(a * b).integers(-50, 50, (a, 3, b)).astype(dtype)
    out = np.zeros((3, a, b), dtype)
    transposed[(triton.cdiv(x.size, 64),)](x, out, x.size, a, b, A=a if is_known else 0, B=b, BLOCK=64)
    i, j = np.arange(3)[:, None, None], np.arange(a)[None, :, None]
    np.testing.assert_array_equal(out, (x.transpose(1, 0, 2) + (i - j)).astype(dtype))


@pytest.mark.parametrize("n", [1, 5, 16, 29, 40])
def test_rows_in_place(n):
    x = np.arange(10 * n, dtype=np.float32)
    scale = np.arange(1, 11, dtype=np.float32)
    expected = (x.reshape(10, n) * scale[:, None] + (np.arange(n) < n // 2)).ravel()
    in_place[(triton.cdiv(x.size, 32),)](x, scale, x.size, n, BLOCK=32)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("n, stride, start", list(itertools.product([3, 20, 64], [1, 2, -3], [-70, -1, 0, 13])))
def test_strided_rows_and_negative_indices(n, stride, start):
    x = np.arange(8192, dtype=np.int32)
    out = np.zeros(128, np.int32)
    strided_rows[(1,)](x, out, n, stride, start, BLOCK=128)
    at = start + np.arange(128)
    np.testing.assert_array_equal(out, 4096 + np.fmod(at, n) * stride + np.trunc(at / n).astype(np.int32))


@pytest.mark.parametrize("n", [16, 32, 100])
def test_pointers_that_are_kept(n):
    x = np.arange(512, dtype=np.int32)
    at = np.arange(32)
    at = at % n * 3 + at // n % 5
    out = np.zeros(32, np.int32)
    pointers_used_twice[(1,)](x, out, n, BLOCK=32)
    np.testing.assert_array_equal(out, 2 * at + 1)


@pytest.mark.parametrize("n", [5, 16, 33, 100])
def test_sums_over_flat_indices(n):
    x = np.random.default_rng(n).integers(-20, 20, (4, 3, n)).astype(np.float32)
    out = np.zeros(3, np.float32)
    column_sums[(2,)](x, out, 3, n, BLOCK=2, R=32)
    np.testing.assert_array_equal(out, x.sum((0, 2)))


@pytest.mark.parametrize("n", [3, 16, 21, 40])
def test_an_assertion_names_its_element(n, engine):
    if engine in ("cuda", "simulate"):
        pytest.skip("elements are distinguished on CPUs")
    index, out = np.arange(200, dtype=np.int32), np.zeros(200 * n, np.int32)
    checked_rows[(triton.cdiv(4 * n, 64),)](index, out, 4 * n, n, 4 * n, BLOCK=64, debug=True)
    np.testing.assert_array_equal(out[: 4 * n].reshape(4, n), np.arange(4)[:, None] + np.arange(n))
    bad = 2 * n + n // 2
    # All elements from `bad` on fail, and a later program may be the first that does.
    failures = [(bad // 64, bad % 64), *((program, 0) for program in range(bad // 64 + 1, triton.cdiv(4 * n, 64)))]
    texts = [rf"program \({program}, 0, 0\): device-side assertion failed at element \( *{element}\): too large" for program, element in failures]
    with pytest.raises(Exception, match="|".join(texts)):
        checked_rows[(triton.cdiv(4 * n, 64),)](index, out, 4 * n, n, bad, BLOCK=64, debug=True)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("n, block", list(itertools.product([12, 24, 28, 48, 60, 96], [64, 128, 256, 512])))
def test_rest_of_a_row(n, block, is_known):
    """Rows of three vectors or six, and a last row of fewer."""
    out = np.full(block + 128, 9, np.int32)
    numbers[(1,)](out, n, N=n if is_known else 0, BLOCK=block)
    x = np.arange(block)
    np.testing.assert_array_equal(out[:block], x // n * 1000 + x % n)
    assert (out[block:] == 9).all()


@pytest.mark.parametrize("bound", [0, 1, 5, 37, 100, 125, 127, 128])
@pytest.mark.parametrize("n, is_known", [(n, known) for n in (16, 17, 48, 100) for known in (True, False)])
def test_masks_end_in_a_row(n, is_known, bound):
    w = np.arange(600, dtype=np.int32)
    out = np.full(2 * 128 + 64, 9, np.int32)
    masked_rows[(1,)](w, out, bound, n, 2, N=n if is_known else 0, BLOCK=128)
    x = np.arange(128)
    first = np.where(x < bound, x // n * n * 2 + x % n, -5)
    second = first + np.where(x < bound, x // n * n * 2 + x % n + 1, -5)
    np.testing.assert_array_equal(out, np.concatenate([second, 1 + first + second, np.full(64, 9)]))


@pytest.mark.parametrize("s", [5, 16, 40])
@pytest.mark.parametrize("n, is_known", [(n, known) for n in (16, 17, 32, 48) for known in (True, False)])
def test_rows_of_one_index_in_two_dimensions(n, is_known, s):
    out = np.zeros((4, 4, 32), np.int32)
    rows_twice[(1,)](out, n, s, N=n if is_known else 0, A=4, BLOCK=32)
    q = (np.arange(4)[:, None] * s + np.arange(32)) // n
    np.testing.assert_array_equal(out, q[:, None, :] * 100 + q[None, :, :])


@pytest.mark.parametrize("m, other", [(5, 1000), (20, 100), (64, 1000)])
@pytest.mark.parametrize("n, is_known", [(n, known) for n in (16, 17, 64) for known in (True, False)])
def test_remainders_of_remainders(n, is_known, m, other):
    """The run-time check of the last remainder says nothing about the first two."""
    out = np.zeros(128, np.int32)
    remainders_of_remainders[(1,)](np.arange(2048, dtype=np.int32), out, 2, n, m, other, N=n if is_known else 0, BLOCK=128)
    x = np.arange(128)
    np.testing.assert_array_equal(out, (x % n + 3) % m + (x + 2) % (x // n + 2) + x // n + (x + 2) % other * 1000)


@pytest.mark.parametrize("block", [16, 32, 64, 256])
@pytest.mark.parametrize("start", [0, 1, 16, 40, 48])
@pytest.mark.parametrize("n, c", [(1, 4), (1, 16), (1, 64), (8, 4), (16, 3), (32, 2), (33, 4), (48, 3), (64, 16), (96, 5), (200, 2)])
def test_numbers_by_channel(n, c, start, block):
    rng = np.random.default_rng(n * c)
    x = rng.integers(-9, 9, block).astype(np.float32)
    scale = rng.integers(-9, 9, c + (start + block) // n + 1).astype(np.float32)
    out = np.zeros(block, np.float32)
    by_channel[(1,)](x, scale, out, start, N=n, C=c, BLOCK=block)
    at = start + np.arange(block)
    np.testing.assert_array_equal(out, x * scale[at // n % c] + scale[c + at // n])


@pytest.mark.parametrize("begin", [-256, -200, -16, -1, 0, 1, 3, 8, 16, 17, 40, 120, 280])
@pytest.mark.parametrize("n, c", [(1, 16), (8, 4), (16, 3), (33, 4), (64, 2), (96, 2)])
def test_channels_that_overlap_the_result(n, c, begin):
    """`scale` begins `begin` elements after the result's first, in the same memory."""
    memory = np.random.default_rng(begin + 300).integers(-9, 9, 1200).astype(np.float32)
    x = np.arange(256, dtype=np.float32)
    scale = memory[400 + begin :][: c + 256 // n + 1].copy()
    at = np.arange(256)
    expected = memory.copy()
    expected[400:656] = x * scale[at // n % c] + scale[c + at // n]
    by_channel[(1,)](x, memory[400 + begin :], memory[400:], 0, N=n, C=c, BLOCK=256)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("block", [32, 128])
@pytest.mark.parametrize("c", [2, 4, 8, 16, 24, 32, 48, 64, 100])
def test_channels_last(c, block):
    x = np.random.default_rng(c).integers(-9, 9, 7 * c + 5).astype(np.float32)
    scale = np.arange(1, c + 1, dtype=np.float32)
    out = np.full(x.size + 32, 9, np.float32)
    channel_last[(triton.cdiv(x.size, block),)](x, scale, out, x.size, C=c, BLOCK=block)
    np.testing.assert_array_equal(out[: x.size], x * scale[np.arange(x.size) % c])
    assert (out[x.size :] == 9).all()


@pytest.mark.parametrize("is_in_place", [False, True])
@pytest.mark.parametrize("n, block", list(itertools.product([8, 16, 32, 48, 64, 80, 96, 33], [64, 256])))
def test_rows_with_gaps(n, block, is_in_place):
    x = np.random.default_rng(n).standard_normal(2 * n * 9).astype(np.float32)
    out = x if is_in_place else np.full(x.size, 9, np.float32)
    expected = out.reshape(9, 2, n).copy()
    expected[:, 0] = -x.reshape(9, 2, n)[:, 1]
    spread_rows[(triton.cdiv(9 * n, block),)](x, out, 9 * n, N=n, BLOCK=block)
    np.testing.assert_array_equal(out, expected.ravel())


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n, block", list(itertools.product([1, 16, 40, 64, 96], [64, 512])))
def test_checked_indices(n, block, dtype, engine):
    """On CPUs, an error names the element of a wrong index. All engines compute the right numbers."""
    rng = np.random.default_rng(n)
    index = rng.integers(-5, 5, 9).astype(dtype)
    index[7:] = 99, -99  # of masked elements
    w = rng.standard_normal((5, n)).astype(np.float32)
    numel = 7 * n
    out = np.full(9 * n, 9, np.float32)
    grid = (triton.cdiv(numel, block),)
    checked_gather[grid](index, w, out, numel, 5, N=n, BLOCK=block, debug=True)
    np.testing.assert_array_equal(out[:numel], (w[index[:7]] * 2).ravel())
    assert (out[numel:] == 9).all()
    for bad in range(0 if engine in ("cuda", "simulate") else 7):
        for value in (5, -6):
            wrong = index.copy()
            wrong[bad] = value
            first = bad * n
            with pytest.raises(Exception, match=rf"program \({first // block}, 0, 0\): .*at element \( *{first % block}\): index out of bounds"):
                checked_gather[grid](wrong, w, out, numel, 5, N=n, BLOCK=block, debug=True, num_threads=1)


def test_a_long_chain_of_sums():
    x, scale, out = np.arange(1024, dtype=np.float32), np.arange(30, dtype=np.float32) * 1000, np.zeros(1024, np.float32)
    long_chain[(1,)](x, scale, out, BLOCK=1024)
    np.testing.assert_array_equal(out, x + scale[np.arange(1024) // 48])
