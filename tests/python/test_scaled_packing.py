"""tl.dot_scaled of e2m1 numbers that are packed along M or N: they are packed along K in registers, and multiplied with block scales."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from microscaling import numbers
from test_scaled_mma import exponents, factors, reference
from test_tcgen05 import device, ptx


@triton.jit
def packed_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth, a_row, a_column, b_row, b_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
    A_ALONG_K: tl.constexpr, B_ALONG_K: tl.constexpr,
):
    A_ROWS: tl.constexpr = M if A_ALONG_K else M // 2
    A_DEPTH: tl.constexpr = K // 2 if A == "e2m1" and A_ALONG_K else K
    B_COLUMNS: tl.constexpr = N if B_ALONG_K else N // 2
    B_DEPTH: tl.constexpr = K // 2 if B == "e2m1" and B_ALONG_K else K
    m, n, groups = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K // GROUP)
    am, bn = tl.program_id(0) * A_ROWS + tl.arange(0, A_ROWS), tl.program_id(1) * B_COLUMNS + tl.arange(0, B_COLUMNS)
    acc = tl.zeros((M, N), tl.float32)
    for step in range(0, depth // K):
        ak, bk, group = step * A_DEPTH + tl.arange(0, A_DEPTH), step * B_DEPTH + tl.arange(0, B_DEPTH), step * (K // GROUP) + groups
        a = tl.load(a_ptr + am[:, None] * a_row + ak[None, :] * a_column, mask=am[:, None] < rows * A_ROWS // M, other=0)
        b = tl.load(b_ptr + bk[:, None] * b_row + bn[None, :] * b_column, mask=bn[None, :] < columns * B_COLUMNS // N, other=0)
        a_scale = tl.load(a_scale_ptr + m[:, None] * (depth // GROUP) + group[None, :], mask=m[:, None] < rows, other=0)
        b_scale = tl.load(b_scale_ptr + n[:, None] * (depth // GROUP) + group[None, :], mask=n[:, None] < columns, other=0)
        acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc, lhs_k_pack=A_ALONG_K, rhs_k_pack=B_ALONG_K)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc, mask=(m[:, None] < rows) & (n[None, :] < columns))


def packed_along_rows(bits):
    """[rows, depth / 2] bytes of two numbers along the depth -> [rows / 2, depth] bytes of two rows' numbers."""
    codes = np.stack([bits & 15, bits >> 4], -1).reshape(len(bits), -1)
    return codes[0::2] | codes[1::2] << 4


def check(target, sizes, blocks, kinds, along_k, group=32, warps=4, ctas=1):
    """`sizes`: even numbers of rows and columns. A is M-major in memory if it is packed along M; B is K-major. Returns the PTX."""
    (m, n, k), (block_m, block_n, block_k) = sizes, blocks
    (a, a_bits), (b, b_bits) = numbers(m, k, kinds[0], 1), numbers(n, k, kinds[1], 2)
    a_bits, b_bits = (bits if along else packed_along_rows(bits) for bits, along in zip((a_bits, b_bits), along_k))
    scales = exponents(m, k // 32), exponents(n, k // 32, seed=5)
    if group == 16:
        scales = [np.random.default_rng(seed).uniform(0, 40, (rows, k // 16)).astype(ml_dtypes.float8_e4m3fn) for seed, rows in ((1, m), (2, n))]
    a_bits = a_bits if along_k[0] else np.asfortranarray(a_bits)
    c = np.full((m, n), np.nan, np.float32)
    arguments = a_bits.ravel("K"), scales[0], b_bits.ravel("K"), scales[1], c, m, n, k, *a_bits.strides, b_bits.strides[1], b_bits.strides[0]
    options = dict(M=block_m, N=block_n, K=block_k, GROUP=group, A=kinds[0], B=kinds[1], A_ALONG_K=along_k[0], B_ALONG_K=along_k[1], num_warps=warps, num_ctas=ctas)
    with device(target, check_bounds=True):
        packed_kernel[(-(-m // block_m), -(-n // block_n))](*arguments, **options)
    x, y = a * factors(scales[0], group, k), b * factors(scales[1], group, k)
    np.testing.assert_array_equal(c, reference(x, y, 64 if kinds == ("e2m1", "e2m1") else 32))
    return ptx(packed_kernel, target, arguments, **options)


ALONG = [(False, False), (True, False), (False, True)]


@pytest.mark.parametrize("along_k", ALONG)
@pytest.mark.parametrize("sizes, blocks", [((128, 64, 128), (128, 64, 128)), ((146, 74, 256), (64, 32, 64)), ((200, 18, 192), (128, 16, 64))])
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_120a"])
def test_packed_along_rows(target, sizes, blocks, along_k):
    code = check(target, sizes, blocks, ("e2m1", "e2m1"), along_k)
    assert re.findall(r"kind::(\w+)", code)[0] == ("mxf4nvf4" if target == "sm_120a" else "mxf4")


@pytest.mark.parametrize("along_k", ALONG)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
def test_nvfp4(target, along_k):
    code = check(target, (132, 66, 128), (128, 32, 64), ("e2m1", "e2m1"), along_k, group=16)
    assert "kind::mxf4nvf4" in code


@pytest.mark.parametrize("kinds", [("e2m1", "e4m3"), ("e5m2", "e2m1")])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
def test_mixes(target, warps, kinds):
    along_k = tuple(kind != "e2m1" for kind in kinds)
    code = check(target, (140, 62, 256), (128, 32, 128), kinds, along_k, warps=warps)
    assert "kind::mxf8f6f4" in code


@pytest.mark.parametrize("sizes, block", [((512, 64, 256), (256, 64, 128)), ((128, 256, 256), (128, 128, 128))])
def test_cluster(sizes, block):
    """The CTAs split rows, or columns."""
    code = check("sm_100a", sizes, block, ("e2m1", "e2m1"), (False, False), ctas=2)
    assert "kind::mxf4." in code and "cluster" in code
