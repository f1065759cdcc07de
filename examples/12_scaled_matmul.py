"""Matmul in microscaling formats: 8-bit floats times 4-bit floats, with a power of two for each group of 32 along K.

A weight takes 4.25 bits of memory, an activation 8.25. `tl.dot_scaled` takes the packed tiles and their scales as they are in
memory. Machines without scaled MMA instructions multiply in bf16, which represents each scaled number exactly.
"""

import numpy as np
import triton
import triton.language as tl

import common

GROUP = 32


@triton.jit
def scaled_matmul_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_as, stride_bs, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    pairs = tl.arange(0, BLOCK_K // 2)  # two numbers per byte
    groups = tl.arange(0, BLOCK_K // 32)
    rows, columns = offs_m[:, None] < M, offs_n < N

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + (k + offs_k)[None, :], mask=rows & (k + offs_k < K)[None, :], other=0)
        b = tl.load(b_ptr + offs_n[None, :] * stride_bn + (k // 2 + pairs)[:, None],
                    mask=columns[None, :] & (k // 2 + pairs < K // 2)[:, None], other=0)
        inside = (k // 32 + groups < K // 32)[None, :]
        a_scale = tl.load(a_scale_ptr + offs_m[:, None] * stride_as + (k // 32 + groups)[None, :], mask=rows & inside, other=0)
        b_scale = tl.load(b_scale_ptr + offs_n[:, None] * stride_bs + (k // 32 + groups)[None, :], mask=columns[:, None] & inside, other=0)
        acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e2m1", acc)

    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], acc, mask=rows & columns[None, :])


def scaled_matmul(a, a_scale, b, b_scale, out=None):
    """a: e4m3 as bytes, [M, K]. b: e2m1, [N, K / 2], two in a byte. Scales: e8m0, [M, K / 32] and [N, K / 32]."""
    (M, K), N = a.shape, b.shape[0]
    if b.shape[1] * 2 != K or K % GROUP:
        raise ValueError(f"scaled_matmul cannot multiply {a.shape} by {b.shape}: K is a multiple of {GROUP}, b has K / 2 bytes a row")
    if not all(map(common.has_plain_rows, (a, a_scale, b, b_scale))):
        raise ValueError("scaled_matmul needs rows with contiguous elements; pass numpy.ascontiguousarray(x)")
    out = common.empty((M, N), a, "fp32") if out is None else out
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    row = [common.strides(x)[0] for x in (a, b, a_scale, b_scale, out)]
    scaled_matmul_kernel[grid](a, a_scale, b, b_scale, out, M, N, K, *row, BLOCK_M=256, BLOCK_N=128, BLOCK_K=64, num_warps=8)
    return out


kernel_fn = scaled_matmul


def e4m3(bits):
    """Sign, four bits of exponent with a bias of 7, three of fraction."""
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(exponent, (8 + fraction) * 2.0 ** (exponent - 10.0), fraction * 2.0**-9)
    return np.where(bits & 128, -size, size)


def e2m1(pairs):
    """Two numbers in a byte, the first in the low half."""
    bits = np.stack([pairs & 15, pairs >> 4], -1).reshape(pairs.shape[0], -1)
    size = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[bits & 7]
    return np.where(bits & 8, -size, size)


def e8m0(exponents):
    return np.repeat(2.0 ** (exponents - 127.0), GROUP, axis=1)


def reference_fn(a, a_scale, b, b_scale):
    return (e4m3(a) * e8m0(a_scale)) @ (e2m1(b) * e8m0(b_scale)).T


def get_inputs(M=512, N=512, K=512):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (M, K), np.uint8)
    a[a & 127 == 127] = 0  # no NaN
    a[a & 127 > 72] &= 0xBF  # nothing above 4, so that no number outweighs the rest
    b = rng.integers(0, 256, (N, K // 2), np.uint8)
    return [a, rng.integers(122, 128, (M, K // GROUP), np.uint8), b, rng.integers(122, 128, (N, K // GROUP), np.uint8)]


def cases(quick):
    for M, N, K in [(1, 1, 32), (100, 70, 160)]:
        yield common.Case(f"{M}x{N}x{K}", "fp32", get_inputs(M, N, K), terms=K)
    size = 256 if quick else 1024
    yield common.Case(f"{size}", "fp32", get_inputs(size, size, size), terms=size, flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, mxfp8 mxfp4", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
