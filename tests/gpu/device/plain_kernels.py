"""Kernels as people write them by hand, without a tuner: the author chose block sizes and warps."""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    """c[M, N] = a b, with masks and any strides."""
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        at = k * BK + rk
        x = tl.load(a + rm[:, None] * sam + at[None, :] * sak, mask=(rm[:, None] < M) & (at[None, :] < K), other=0.0)
        y = tl.load(b + at[:, None] * sbk + rn[None, :] * sbn, mask=(rn[None, :] < N) & (at[:, None] < K), other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def int4_matmul(a, q, s, c, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a w: w has 8 numbers of 4 bits along K in each int32 of q[K / 8, N], and scales s[K / GROUP, N]."""
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        at = k + rk
        x = tl.load(a + rm[:, None] * K + at[None, :])
        bits = tl.load(q + (at // 8)[:, None] * N + rn[None, :]) >> (at % 8 * 4)[:, None]
        y = ((bits & 15) - 8).to(tl.float16) * tl.load(s + (at // GROUP)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def split_k_matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    """Adds a b to c[M, N]; each of PARTS programs adds its part of K."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK * PARTS)):
        acc += tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]))
        rk += BK * PARTS
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def small_matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One product for each program: c[Z, M, N] = a[Z, M, K] b[Z, K, N]."""
    z, m, n, k = tl.program_id(0), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + z * M * K + m[:, None] * K + k[None, :]), tl.load(b + z * K * N + k[:, None] * N + n[None, :])
    tl.store(c + z * M * N + m[:, None] * N + n[None, :], tl.dot(x, y).to(tl.float16))


@triton.jit
def attention(q, k, v, o, rows, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """o[Z, rows, D] of q[Z, rows, D] and k, v[Z, length, D]; with tl.exp, as in the paper."""
    rm, rn, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    z = tl.program_id(1).to(tl.int64)
    k += z * length * D
    v += z * length * D
    place = z * rows * D + rm[:, None] * D + rd[None, :]
    query = tl.load(q + place)
    largest, total = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    for start in range(0, end, BN):
        scores = tl.dot(query, tl.load(k + (start + rn)[None, :] * D + rd[:, None])) * scale
        if CAUSAL:
            scores = tl.where(rm[:, None] >= (start + rn)[None, :], scores, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        p, before = tl.exp(scores - larger[:, None]), tl.exp(largest - larger)
        total, largest = total * before + tl.sum(p, 1), larger
        acc = acc * before[:, None] + tl.dot(p.to(tl.float16), tl.load(v + (start + rn)[:, None] * D + rd[None, :]))
    tl.store(o + place, (acc / total[:, None]).to(tl.float16))


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def transpose(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(o + n[None, :] * M + m[:, None], tl.load(x + m[:, None] * N + n[None, :]))


@triton.jit
def column_sums(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    n, m, acc = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BM), tl.zeros((BN,), tl.float32)
    for start in range(0, M, BM):
        acc += tl.sum(tl.load(x + (start + m)[:, None] * N + n[None, :]), 0)
    tl.store(o + n, acc)


@triton.jit
def softmax(x, o, N, BLOCK: tl.constexpr):
    at, i = tl.program_id(0) * N + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=i < N, other=float("-inf"))
    v = tl.exp(v - tl.max(v))
    tl.store(o + at, v / tl.sum(v), mask=i < N)


@triton.jit
def losses(x, target, o, N, BLOCK: tl.constexpr):
    """The cross entropy of rows of N logits, in one pass."""
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    largest, total = float("-inf"), 0.0
    for start in range(0, N, BLOCK):
        v = tl.load(x + row * N + start + i, mask=start + i < N, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(v))
        total, largest = total * tl.exp(largest - larger) + tl.sum(tl.exp(v - larger)), larger
    tl.store(o + row, largest + tl.log(total) - tl.load(x + row * N + tl.load(target + row)).to(tl.float32))


@triton.jit
def gather_rows(x, index, o, D: tl.constexpr, BLOCK: tl.constexpr):
    m, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    tl.store(o + m[:, None] * D + d[None, :], tl.load(x + tl.load(index + m)[:, None] * D + d[None, :]))


@triton.jit
def scatter_rows(x, index, o, D: tl.constexpr, BLOCK: tl.constexpr):
    m, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    tl.atomic_add(o + tl.load(index + m)[:, None] * D + d[None, :], tl.load(x + m[:, None] * D + d[None, :]), sem="relaxed")


@triton.jit
def scan(x, o, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + at, tl.cumsum(tl.load(x + at)))


@triton.jit
def sort(x, o, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + at, tl.sort(tl.load(x + at)))


@triton.jit
def largest_of_row(x, o, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(o + row, tl.argmax(tl.load(x + row * N + tl.arange(0, N)), 0))


@triton.jit
def recurrence(x, decay, o, length, D: tl.constexpr):
    """o[Z, t] = decay[Z, t] o[Z, t - 1] + x[Z, t] of rows of D."""
    z, d, state = tl.program_id(0), tl.arange(0, D), tl.zeros((D,), tl.float32)
    for t in range(0, length):
        at = (z * length + t) * D + d
        state = state * tl.load(decay + z * length + t) + tl.load(x + at)
        tl.store(o + at, state)
