"""Kernels of test_stages.py: later steps add barriers, buffers and scratch memory to each."""

import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, scale, rows, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    q_map = tl.make_tensor_descriptor(q_ptr, [rows, D], [D, 1], [M, D])
    k_map = tl.make_tensor_descriptor(k_ptr, [rows, D], [D, 1], [N, D])
    v_map = tl.make_tensor_descriptor(v_ptr, [rows, D], [D, 1], [N, D])
    o_map = tl.make_tensor_descriptor(out_ptr, [rows, D], [D, 1], [M, D])
    start = tl.program_id(0) * M
    q = q_map.load([start, 0])
    m = tl.full((M,), float("-inf"), tl.float32)
    l = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for masked in tl.static_range(2):
        for n in range(start if masked else 0, start + M if masked else start, N):
            s = tl.dot(q, k_map.load([n, 0]).T) * scale
            if masked:
                s = tl.where(start + tl.arange(0, M)[:, None] >= n + tl.arange(0, N)[None, :], s, float("-inf"))
            new = tl.maximum(m, tl.max(s, 1))
            p = tl.exp2(s - new[:, None])
            alpha = tl.exp2(m - new)
            l = l * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(tl.float16), v_map.load([n, 0]), acc * alpha[:, None])
            m = new
    o_map.store([start, 0], (acc / l[:, None]).to(tl.float16))


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, d_ptr, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [columns, depth], [depth, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    d = tl.make_tensor_descriptor(d_ptr, [rows, columns], [columns, 1], [M, N])
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, tl.num_programs(0)):
        m, n = tile // across * M, tile % across * N
        acc = tl.zeros((M, N), tl.float32)
        for k in range(0, depth, K):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        c.store([m, n], acc.to(tl.float16))
        d.store([m, n], (acc * acc).to(tl.float16))


@triton.jit
def unrolled(a_ptr, b_ptr, c_ptr, depth, COUNT: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, 128), tl.arange(0, N)
    acc = tl.zeros((128, N), tl.float32)
    for k in range(0, depth, N):
        x = tl.load(a_ptr + i[:, None] * depth + k + j[None, :])
        y = tl.load(b_ptr + (k + j)[:, None] * N + j[None, :])
        for _ in tl.static_range(COUNT):
            acc = tl.dot(x, y, acc)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@triton.jit
def loaded(a_ptr, b_ptr, c_ptr, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * depth + i + k[None, :])
        b = tl.load(b_ptr + (i + k)[:, None] * columns + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc.to(tl.float16))
