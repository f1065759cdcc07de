"""What a GPU can do, measured: products of two matrices on its tensor cores, and multiplications and additions in registers."""

import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid, tiles = tl.program_id(0), N // BN
    in_group = 8 * tiles
    m, n = pid // in_group * 8 + pid % 8, pid % in_group // 8
    rows, columns, inner = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, N, BK):
        a = tl.load(a_ptr + rows[:, None] * N + (k + inner)[None, :])
        b = tl.load(b_ptr + columns[None, :] * N + (k + inner)[:, None])
        total = tl.dot(a, b, total, input_precision="tf32")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(c_ptr.dtype.element_ty))


@triton.jit
def multiply_add(out_ptr, rounds, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = at.to(tl.float32)
    b, c, d = a + 1.0, a + 2.0, a + 3.0
    for _ in range(rounds):
        a, b, c, d = a * factor + 1.0, b * factor + 1.0, c * factor + 1.0, d * factor + 1.0
    tl.store(out_ptr + at, a + b + c + d)
