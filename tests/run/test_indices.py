"""Index arithmetic at its limits: indices that overflow, wrap around, are negative or narrow have the values of their types, in masks, too."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

N = 64
EDGES = [0, -5, 2**31 - 1, 2**31 - 10, 2**31 - 40, -2**31, -2**31 + 3]


def wrapped(values, dtype=np.int32):
    """The low bits of exact integers, as an array of `dtype`."""
    bits = np.dtype(dtype).itemsize * 8
    return np.array([int(v) & ((1 << bits) - 1) for v in values], np.uint64).astype(f"u{bits // 8}").view(dtype)


@triton.jit
def widened_kernel(out_ptr, start, factor, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, ((i + start) * factor).to(tl.int64))


@pytest.mark.without_debug
@pytest.mark.parametrize("start", EDGES)
@pytest.mark.parametrize("factor", [1, -7, 1103515245])
def test_a_widened_sum_overflows_first(start, factor):
    out = np.zeros(N, np.int64)
    widened_kernel[(1,)](out, start, factor, N=N)
    np.testing.assert_array_equal(out, wrapped((np.arange(N).astype(object) + start) * factor).astype(np.int64))


@triton.jit
def widened_hash_kernel(out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, ((i * 0x45D9F3B).to(tl.int64) * 5) >> 3)


@pytest.mark.without_debug
def test_a_widened_hash():
    out = np.zeros(N, np.int64)
    widened_hash_kernel[(1,)](out, N=N)
    np.testing.assert_array_equal(out, wrapped(np.arange(N).astype(object) * 0x45D9F3B).astype(np.int64) * 5 >> 3)


@triton.jit
def widened_unsigned_kernel(out_ptr, start, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, (i + start).to(tl.uint32, bitcast=True).to(tl.uint64))


@pytest.mark.without_debug
@pytest.mark.parametrize("start", EDGES)
def test_a_widened_unsigned_sum(start):
    out = np.zeros(N, np.uint64)
    widened_unsigned_kernel[(1,)](out, start, N=N)
    np.testing.assert_array_equal(out, wrapped(np.arange(N).astype(object) + start, np.uint32).astype(np.uint64))


@triton.jit
def widened_rows_kernel(out_ptr, stride, start, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    tl.store(out_ptr + r * C + c, (r * stride + c + start).to(tl.int64))


@pytest.mark.without_debug
@pytest.mark.parametrize("stride, start", [(100, 0), (-100, 0), (2**28, 0), (-2**28, 50), (2**31 - 1, 1), (7, 2**31 - 60)])
def test_widened_rows(stride, start):
    out = np.zeros((16, 16), np.int64)
    widened_rows_kernel[(1,)](out, stride, start, R=16, C=16)
    exact = (np.arange(16).astype(object)[:, None] * stride + np.arange(16)[None, :] + start).ravel()
    np.testing.assert_array_equal(out.ravel(), wrapped(exact).astype(np.int64))


@triton.jit
def widened_sum_kernel(out_ptr, start, N: tl.constexpr):
    tl.store(out_ptr, tl.sum((tl.arange(0, N) + start).to(tl.int64), 0))


@pytest.mark.without_debug
@pytest.mark.parametrize("start", EDGES)
def test_a_sum_of_widened_numbers(start):
    out = np.zeros(1, np.int64)
    widened_sum_kernel[(1,)](out, start, N=N)
    assert out[0] == wrapped(np.arange(N).astype(object) + start).astype(np.int64).sum()


@triton.jit
def below_kernel(x_ptr, out_ptr, start, bound, INCLUSIVE: tl.constexpr, STORE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i + start <= bound if INCLUSIVE else i + start < bound
    x = tl.load(x_ptr + i, mask=mask, other=-1)
    if STORE:
        tl.store(out_ptr + i, x, mask=mask)
    else:
        tl.store(out_ptr + i, x)


@triton.jit
def above_kernel(x_ptr, out_ptr, start, bound, INCLUSIVE: tl.constexpr, STORE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i + start >= bound if INCLUSIVE else i + start > bound
    x = tl.load(x_ptr + i, mask=mask, other=-1)
    if STORE:
        tl.store(out_ptr + i, x, mask=mask)
    else:
        tl.store(out_ptr + i, x)


@pytest.mark.without_debug
@pytest.mark.parametrize("start", EDGES)
@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("store", [False, True])
def test_masks_of_indices_that_overflow(start, inclusive, store):
    x = np.arange(100, 100 + N, dtype=np.int32)
    index = wrapped(np.arange(N).astype(object) + start).astype(np.int64)
    for bound in [0, 30, -30, 2**31 - 1, 2**31 - 5, -2**31, -2**31 + 5]:
        for kernel, mask in [(below_kernel, index <= bound if inclusive else index < bound),
                             (above_kernel, index >= bound if inclusive else index > bound)]:
            out = np.full(N, 7, np.int32)
            kernel[(1,)](x, out, start, bound, inclusive, store, N=N)
            np.testing.assert_array_equal(out, np.where(mask, x, 7 if store else -1), err_msg=f"{kernel} {bound}")


@triton.jit
def unsigned_below_kernel(x_ptr, out_ptr, start, bound, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = (i + start).to(tl.uint32, bitcast=True) < bound.to(tl.uint32, bitcast=True)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask, other=-1), mask=mask)


@pytest.mark.without_debug
@pytest.mark.parametrize("start", EDGES + [-40])
def test_unsigned_masks(start):
    x = np.arange(100, 100 + N, dtype=np.int32)
    index = wrapped(np.arange(N).astype(object) + start, np.uint32)
    for bound in [3, 30, -30, 2**31 - 5, -2**31 + 5]:
        out = np.full(N, 7, np.int32)
        unsigned_below_kernel[(1,)](x, out, start, bound, N=N)
        np.testing.assert_array_equal(out, np.where(index < np.uint32(bound & 0xffffffff), x, 7))


@triton.jit
def far_bound_kernel(x_ptr, out_ptr, start, bound, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i + start.to(tl.int64) < bound
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask, other=-1), mask=mask)


@pytest.mark.parametrize("start", [-5, -2**31, 2**62, -2**62])
@pytest.mark.parametrize("bound", [2**63 - 1, 2**63 - 2, -2**63, 2**40])
def test_masks_whose_distance_overflows(start, bound):
    x, out = np.arange(100, 100 + N, dtype=np.int32), np.full(N, 7, np.int32)
    far_bound_kernel[(1,)](x, out, start, bound, N=N)
    np.testing.assert_array_equal(out, np.where(np.arange(N) + start < bound, x, 7))


@triton.jit
def narrow_kernel(x_ptr, out_ptr, start, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + 512 + i.to(tl.int8)))
    tl.store(out_ptr + N + i, tl.load(x_ptr + (i.to(tl.uint8) + start.to(tl.uint8))))
    tl.store(out_ptr + 2 * N + i, tl.load(x_ptr + 512 + (i.to(tl.int16) * 300 + start.to(tl.int16)).to(tl.int8)))


@pytest.mark.without_debug
@pytest.mark.parametrize("start", [0, 100, 200, 250])
def test_narrow_indices_wrap(start):
    x, out, i = np.arange(1024, dtype=np.int32), np.zeros(3 * 256, np.int32), np.arange(256)
    narrow_kernel[(1,)](x, out, start, N=256)
    np.testing.assert_array_equal(out[:256], 512 + i.astype(np.int8).astype(np.int32))
    np.testing.assert_array_equal(out[256:512], (i + start) % 256)
    np.testing.assert_array_equal(out[512:], 512 + wrapped(i.astype(object) * 300 + start, np.int8).astype(np.int32))


@triton.jit
def remainder_kernel(x_ptr, out_ptr, start, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = (i + start) % n
    tl.store(out_ptr + i, tl.load(x_ptr + 200 + at))


@pytest.mark.without_debug
@pytest.mark.parametrize("start", [0, 3, 50, -5, -40, -64, -100, 2**31 - 10, 2**31 - 64])
@pytest.mark.parametrize("n", [1, 7, 64, 100, 128])
def test_remainders_of_negative_and_large_indices(start, n):
    x, out = np.arange(512, dtype=np.int32), np.zeros(N, np.int32)
    remainder_kernel[(1,)](x, out, start, n, N=N)
    index = wrapped(np.arange(N).astype(object) + start).astype(np.int64)
    np.testing.assert_array_equal(out, 200 + np.fmod(index, n))


@triton.jit
def loaded_rows_kernel(x_ptr, row_ptr, out_ptr, stride, R: tl.constexpr, C: tl.constexpr):
    rows, columns = tl.load(row_ptr + tl.arange(0, R)), tl.arange(0, C)
    x = tl.load(x_ptr + 512 + rows[:, None] * stride + columns[None, :])
    tl.store(out_ptr + tl.arange(0, R)[:, None] * C + columns[None, :], x)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("stride", [16, -16])
def test_negative_rows_and_strides(dtype, stride):
    memory, out = np.arange(1024, dtype=np.int32), np.zeros((8, 16), np.int32)
    rows = np.array([-3, 5, -10, 2, 0, 1, -1, 7], dtype)
    loaded_rows_kernel[(1,)](memory, rows, out, stride, R=8, C=16)
    np.testing.assert_array_equal(out, 512 + rows.astype(int)[:, None] * stride + np.arange(16))


@triton.jit
def wrapping_offsets_kernel(x_ptr, out_ptr, start, first, N: tl.constexpr, STORE: tl.constexpr):
    i = tl.arange(0, N)
    far = x_ptr + 2147483648
    offsets = start + i  # in 32 bits: the first negative number follows the last positive one
    if STORE:
        tl.store(far + offsets, i, mask=i >= first)
    else:
        tl.store(out_ptr + i, tl.load(far + offsets, mask=i >= first, other=-1))


@pytest.mark.without_debug
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("first", [512, 508])
def test_offsets_that_wrap_around_between_two_elements(store, first):
    x, out = np.arange(1000, 2024, dtype=np.int32), np.zeros(1024, np.int32)
    wrapping_offsets_kernel[(1,)](x, out, 2**31 - first, first, N=1024, STORE=store)
    i = np.arange(1024)
    if store:
        np.testing.assert_array_equal(x[:1024 - first], i[first:])
        np.testing.assert_array_equal(x[1024 - first:], np.arange(2024 - first, 2024))
    else:
        np.testing.assert_array_equal(out, np.where(i < first, -1, 1000 + i - first))


@triton.jit
def wrapping_rows_kernel(x_ptr, out_ptr, start, stride, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    far = x_ptr + 2147483648
    x = tl.load(far + (start + r * stride + c), mask=r > 0, other=0)
    tl.store(out_ptr + c, tl.sum(x, 0, keep_dims=True))


@pytest.mark.without_debug
def test_rows_that_wrap_around_between_one_another():
    rows, columns = 16, 128
    x, out = np.random.default_rng(0).integers(0, 100, (rows - 1) * columns, dtype=np.int32), np.zeros(columns, np.int32)
    wrapping_rows_kernel[(1,)](x, out, 2**31 - columns, columns, R=rows, C=columns)
    np.testing.assert_array_equal(out, x.reshape(rows - 1, columns).sum(0))


@triton.jit
def doubled_index_kernel(x_ptr, out_ptr, start, N: tl.constexpr, DOUBLINGS: tl.constexpr):
    i = tl.arange(0, N)
    j = i + start
    for _ in tl.static_range(DOUBLINGS):
        j = j + j
    tl.store(out_ptr + i, tl.load(x_ptr + j))


def test_an_index_that_is_made_of_itself_is_computed_once():
    """If each use were computed separately, this would take minutes to compile."""
    x, out = np.arange(8 << 18, dtype=np.int32), np.zeros(8, np.int32)
    doubled_index_kernel[(1,)](x, out, 0, N=8, DOUBLINGS=18)
    np.testing.assert_array_equal(out, np.arange(8) << 18)
