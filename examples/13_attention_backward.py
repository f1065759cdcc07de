"""Attention backward: the gradients of queries, keys and values from the gradient of the output.

The forward pass stores the logarithm of each row's sum of exponentials (`lse`), not the matrix of weights. Any block of weights can be
recomputed from it. With W = softmax(scale Q K^T) and the gradient G of the output O = W V:

    dV = W^T G        dS = W * (G V^T - delta)        dQ = scale dS K        dK = scale dS^T Q        delta = rowsum(G * O)

There are three kernels. The first computes delta. In the second, a program owns a block of keys, iterates over the queries and accumulates dK
and dV. It computes the transposed scores (keys are rows), so the weights leave the first dot in the layout of the next dot's first operand.
In the third, a program owns a block of queries, iterates over the keys and accumulates dQ. The weights are computed twice, but no two
programs add to the same element. So the result is bitwise reproducible.

With `deterministic=False`, the second kernel computes dQ as well: five matmuls instead of seven. All programs of a head add to its dQ in
fp32 with atomics, and a last kernel scales and rounds the sums. The order of the additions differs from run to run, and so do the last bits.

A CPU has few threads and large caches. There a program owns a whole head, iterates over its blocks of keys, and adds to dQ without atomics.
That is five matmuls, in a fixed order.
"""

import math

import numpy as np
import triton
import triton.language as tl

import common

LOG2E = tl.constexpr(1.4426950408889634)  # exp(x) = exp2(x * log2(e))
TERMS = 8  # three dependent matmuls, and a difference of two: errors add up


def get_autotune_configs():
    """OWN: the rows of a program. STEP: the rows of one iteration."""
    # With 168 registers a thread, three CTAs of 4 warps fit on an SM: the kernel of keys with 64 columns is 10 % faster on an H100.
    tiles = [(128, 64, 8, 3, None), (128, 64, 8, 2, None), (64, 64, 4, 2, 168), (64, 64, 4, 2, None), (64, 32, 4, 3, None)]
    return [triton.Config({"OWN": own, "STEP": step}, num_warps=warps, num_stages=stages, maxnreg=registers)
            for own, step, warps, stages, registers in tiles]


def configs_that_fit(configs, arguments, HEAD_DIM, WHOLE=False, **options):
    """Steps of 128 queries pay if programs add to dQ. With 128 columns they need too many registers. The largest tiles are for CPUs, whose
    caches hold them."""
    if WHOLE:
        return [config for config in configs if config.kwargs["STEP"] >= 128] or configs
    adds = arguments["sum_ptr"] is not None and HEAD_DIM <= 64
    return [config for config in configs if config.kwargs["OWN"] < 256 and (config.kwargs["STEP"] < 128 or adds)]


@triton.jit
def rows_kernel(
    out_ptr, grad_ptr, lse_ptr, delta_ptr, log_ptr, sum_ptr, n_heads, n_ctx, stride_oz, stride_oh, stride_on, stride_od,
    stride_gz, stride_gh, stride_gn, stride_gd, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr,
):
    both = tl.program_id(1).to(tl.int64)
    batch, head = both // n_heads, both % n_heads
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    rows = offs_m < n_ctx
    out_ptrs = out_ptr + batch * stride_oz + head * stride_oh + offs_m[:, None] * stride_on + offs_d[None, :] * stride_od
    grad_ptrs = grad_ptr + batch * stride_gz + head * stride_gh + offs_m[:, None] * stride_gn + offs_d[None, :] * stride_gd
    out = tl.load(out_ptrs, mask=rows[:, None], other=0.0).to(tl.float32)
    grad = tl.load(grad_ptrs, mask=rows[:, None], other=0.0).to(tl.float32)
    tl.store(delta_ptr + both * n_ctx + offs_m, tl.sum(out * grad, 1), mask=rows)
    lse = tl.load(lse_ptr + both * n_ctx + offs_m, mask=rows, other=0.0)
    tl.store(log_ptr + both * n_ctx + offs_m, lse * LOG2E, mask=rows)
    if sum_ptr is not None:  # zeroes dQ, before programs add to it
        sums = sum_ptr + (both * n_ctx + offs_m[:, None]) * HEAD_DIM + offs_d[None, :]
        tl.store(sums, tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32), mask=rows[:, None])


@triton.jit
def add_queries(
    dk, dv, k, v, q_ptr, grad_ptr, log_ptr, delta_ptr, sum_ptr, scale2, stride_qn, stride_qd, stride_gn, stride_gd, first, last, n_ctx,
    offs_n, HEAD_DIM: tl.constexpr, STEP: tl.constexpr, MASKED: tl.constexpr, WHOLE: tl.constexpr,
):
    offs_d = tl.arange(0, HEAD_DIM)
    for start in range(first, last, STEP):
        offs_m = start + tl.arange(0, STEP)
        rows = offs_m < n_ctx
        q = tl.load(q_ptr + offs_m[:, None] * stride_qn + offs_d[None, :] * stride_qd, mask=rows[:, None], other=0.0)
        grad = tl.load(grad_ptr + offs_m[:, None] * stride_gn + offs_d[None, :] * stride_gd, mask=rows[:, None], other=0.0)
        log = tl.load(log_ptr + offs_m, mask=rows, other=0.0)
        delta = tl.load(delta_ptr + offs_m, mask=rows, other=0.0)
        scores = tl.dot(k, q.T)
        grad_weights = tl.dot(v, grad.T)
        weights = tl.exp2(scores * scale2 - log[None, :])
        if MASKED:
            weights = tl.where(offs_n[:, None] <= offs_m[None, :], weights, 0.0)
        dv = tl.dot(weights.to(grad.dtype), grad, dv)
        grad_scores = (weights * (grad_weights - delta[None, :])).to(q.dtype)
        if sum_ptr is not None:
            sums = sum_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :]
            if WHOLE:
                tl.store(sums, tl.dot(grad_scores.T, k, tl.load(sums, mask=rows[:, None], other=0.0)), mask=rows[:, None])
            else:
                tl.atomic_add(sums, tl.dot(grad_scores.T, k), mask=rows[:, None], sem="relaxed")
        dk = tl.dot(grad_scores, q, dk)
    return dk, dv


@triton.jit
def keys_of_block(
    block, q_ptr, k_ptr, v_ptr, grad_ptr, log_ptr, delta_ptr, sum_ptr, dk_ptr, dv_ptr, scale, n_ctx,
    stride_qn, stride_qd, stride_kn, stride_kd, stride_vn, stride_vd, stride_gn, stride_gd, stride_dkn, stride_dkd, stride_dvn, stride_dvd,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, STEP: tl.constexpr, OWN: tl.constexpr, WHOLE: tl.constexpr,
):
    offs_n = block * OWN + tl.arange(0, OWN)
    offs_d = tl.arange(0, HEAD_DIM)
    keys = offs_n[:, None] < n_ctx
    k = tl.load(k_ptr + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=keys, other=0.0)
    v = tl.load(v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=keys, other=0.0)
    dk = tl.zeros((OWN, HEAD_DIM), dtype=tl.float32)
    dv = tl.zeros((OWN, HEAD_DIM), dtype=tl.float32)
    scale2 = scale * LOG2E
    first = 0
    if CAUSAL:  # queries before these keys see none of them; queries from `full` on see all
        first = block * OWN // STEP * STEP
        full = tl.minimum(tl.cdiv((block + 1) * OWN, STEP) * STEP, n_ctx)
        dk, dv = add_queries(
            dk, dv, k, v, q_ptr, grad_ptr, log_ptr, delta_ptr, sum_ptr, scale2, stride_qn, stride_qd, stride_gn, stride_gd, first, full,
            n_ctx, offs_n, HEAD_DIM, STEP, True, WHOLE)
        first = full
    dk, dv = add_queries(
        dk, dv, k, v, q_ptr, grad_ptr, log_ptr, delta_ptr, sum_ptr, scale2, stride_qn, stride_qd, stride_gn, stride_gd, first, n_ctx,
        n_ctx, offs_n, HEAD_DIM, STEP, False, WHOLE)
    element = dk_ptr.dtype.element_ty
    tl.store(dk_ptr + offs_n[:, None] * stride_dkn + offs_d[None, :] * stride_dkd, (dk * scale).to(element), mask=keys)
    tl.store(dv_ptr + offs_n[:, None] * stride_dvn + offs_d[None, :] * stride_dvd, dv.to(element), mask=keys)


@triton.autotune(
    configs=[*get_autotune_configs(), *(triton.Config({"OWN": own, "STEP": step}, num_warps=8, num_stages=2)
                                       for own, step in ((128, 128), (256, 128), (256, 256)))],
    key=["n_ctx", "HEAD_DIM", "CAUSAL", "WHOLE"], reset_to_zero=["sum_ptr"], prune_configs_by={"early_config_prune": configs_that_fit})
@triton.jit
def keys_kernel(
    q_ptr, k_ptr, v_ptr, grad_ptr, log_ptr, delta_ptr, sum_ptr, dk_ptr, dv_ptr, scale, n_heads, n_ctx,
    stride_qz, stride_qh, stride_qn, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_gz, stride_gh, stride_gn, stride_gd,
    stride_dkz, stride_dkh, stride_dkn, stride_dkd, stride_dvz, stride_dvh, stride_dvn, stride_dvd,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, STEP: tl.constexpr, OWN: tl.constexpr, WHOLE: tl.constexpr = False,
):
    both = tl.program_id(1).to(tl.int64)
    batch, head = both // n_heads, both % n_heads
    q_ptr += batch * stride_qz + head * stride_qh
    k_ptr += batch * stride_kz + head * stride_kh
    v_ptr += batch * stride_vz + head * stride_vh
    grad_ptr += batch * stride_gz + head * stride_gh
    dk_ptr += batch * stride_dkz + head * stride_dkh
    dv_ptr += batch * stride_dvz + head * stride_dvh
    log_ptr += both * n_ctx
    delta_ptr += both * n_ctx
    if sum_ptr is not None:
        sum_ptr += both * n_ctx * HEAD_DIM
    pointers = (q_ptr, k_ptr, v_ptr, grad_ptr, log_ptr, delta_ptr, sum_ptr, dk_ptr, dv_ptr)
    strides = (
        stride_qn, stride_qd, stride_kn, stride_kd, stride_vn, stride_vd, stride_gn, stride_gd, stride_dkn, stride_dkd, stride_dvn, stride_dvd)
    if WHOLE:
        for block in range(tl.cdiv(n_ctx, OWN)):
            keys_of_block(block, *pointers, scale, n_ctx, *strides, HEAD_DIM, CAUSAL, STEP, OWN, WHOLE)
    else:
        keys_of_block(tl.program_id(0), *pointers, scale, n_ctx, *strides, HEAD_DIM, CAUSAL, STEP, OWN, WHOLE)


@triton.jit
def add_keys(
    dq, q, grad, log, delta, k_ptr, v_ptr, scale2, stride_kn, stride_kd, stride_vn, stride_vd, first, last, n_ctx, offs_m,
    HEAD_DIM: tl.constexpr, STEP: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
):
    offs_d = tl.arange(0, HEAD_DIM)
    for start in range(first, last, STEP):
        offs_n = start + tl.arange(0, STEP)
        keys = offs_n < n_ctx
        k = tl.load(k_ptr + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd, mask=keys[:, None], other=0.0)
        v = tl.load(v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd, mask=keys[:, None], other=0.0)
        scores = tl.dot(q, k.T)
        grad_weights = tl.dot(grad, v.T)
        weights = tl.exp2(scores * scale2 - log[:, None])
        if MASKED:
            seen = offs_n[None, :] < n_ctx
            if CAUSAL:
                seen = seen & (offs_n[None, :] <= offs_m[:, None])
            weights = tl.where(seen, weights, 0.0)
        grad_scores = weights * (grad_weights - delta[:, None])
        dq = tl.dot(grad_scores.to(k.dtype), k, dq)
    return dq


@triton.autotune(configs=get_autotune_configs(), key=["n_ctx", "HEAD_DIM", "CAUSAL"])
@triton.jit
def queries_kernel(
    q_ptr, k_ptr, v_ptr, grad_ptr, log_ptr, delta_ptr, dq_ptr, scale, n_heads, n_ctx,
    stride_qz, stride_qh, stride_qn, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_gz, stride_gh, stride_gn, stride_gd, stride_dqz, stride_dqh, stride_dqn, stride_dqd,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, OWN: tl.constexpr, STEP: tl.constexpr,
):
    block = tl.program_id(0)
    if CAUSAL:  # the longest rows first: short ones fill the last wave
        block = tl.num_programs(0) - 1 - block
    both = tl.program_id(1).to(tl.int64)
    batch, head = both // n_heads, both % n_heads
    q_ptr += batch * stride_qz + head * stride_qh
    k_ptr += batch * stride_kz + head * stride_kh
    v_ptr += batch * stride_vz + head * stride_vh
    grad_ptr += batch * stride_gz + head * stride_gh
    dq_ptr += batch * stride_dqz + head * stride_dqh

    offs_m = block * OWN + tl.arange(0, OWN)
    offs_d = tl.arange(0, HEAD_DIM)
    rows = offs_m < n_ctx
    q = tl.load(q_ptr + offs_m[:, None] * stride_qn + offs_d[None, :] * stride_qd, mask=rows[:, None], other=0.0)
    grad = tl.load(grad_ptr + offs_m[:, None] * stride_gn + offs_d[None, :] * stride_gd, mask=rows[:, None], other=0.0)
    log = tl.load(log_ptr + both * n_ctx + offs_m, mask=rows, other=0.0)
    delta = tl.load(delta_ptr + both * n_ctx + offs_m, mask=rows, other=0.0)
    dq = tl.zeros((OWN, HEAD_DIM), dtype=tl.float32)
    scale2 = scale * LOG2E
    if CAUSAL:
        full = block * OWN // STEP * STEP  # every query of this program sees all keys before this one
        last = min((block + 1) * OWN, n_ctx)
    else:
        full = n_ctx // STEP * STEP
        last = n_ctx
    dq = add_keys(
        dq, q, grad, log, delta, k_ptr, v_ptr, scale2, stride_kn, stride_kd, stride_vn, stride_vd, 0, full, n_ctx, offs_m, HEAD_DIM,
        STEP, False, CAUSAL)
    dq = add_keys(
        dq, q, grad, log, delta, k_ptr, v_ptr, scale2, stride_kn, stride_kd, stride_vn, stride_vd, full, last, n_ctx, offs_m, HEAD_DIM,
        STEP, True, CAUSAL)
    dq_ptrs = dq_ptr + offs_m[:, None] * stride_dqn + offs_d[None, :] * stride_dqd
    tl.store(dq_ptrs, (dq * scale).to(dq_ptr.dtype.element_ty), mask=rows[:, None])


@triton.jit
def round_kernel(
    sum_ptr, dq_ptr, scale, n_heads, n_ctx, stride_dqz, stride_dqh, stride_dqn, stride_dqd, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr,
):
    both = tl.program_id(1).to(tl.int64)
    batch, head = both // n_heads, both % n_heads
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    rows = offs_m[:, None] < n_ctx
    sums = tl.load(sum_ptr + (both * n_ctx + offs_m[:, None]) * HEAD_DIM + offs_d[None, :], mask=rows)
    dq_ptrs = dq_ptr + batch * stride_dqz + head * stride_dqh + offs_m[:, None] * stride_dqn + offs_d[None, :] * stride_dqd
    tl.store(dq_ptrs, (sums * scale).to(dq_ptr.dtype.element_ty), mask=rows)


def owns_heads(q):
    """True if programs own whole heads: on a CPU, if at most a quarter of the threads are idle in the last round."""
    if common.is_on_gpu(q):
        return False
    threads, heads = common.launch_threads(), q.shape[0] * q.shape[1]
    return 4 * heads >= 3 * threads * triton.cdiv(heads, threads)


def empty_scratch(q, deterministic=True):
    delta, log = (common.empty(q.shape[:3], q, "fp32") for _ in range(2))
    return delta, log, None if deterministic and not owns_heads(q) else common.empty(q.shape, q, "fp32")


def attention_backward(q, k, v, attended, lse, grad, causal=False, deterministic=True, scratch=None, out=None):
    """Returns the gradients of q, k and v. `attended`: the output of the forward pass. `lse`: the natural logarithm of each query's sum of
    exponentials, in fp32."""
    batches, heads, n_ctx, head_dim = q.shape
    for other in (k, v, attended, grad):
        if other.shape != q.shape:
            raise ValueError(f"attention_backward needs tensors of one shape, not {q.shape} and {other.shape}")
    if head_dim < 1 or head_dim & (head_dim - 1):
        raise ValueError(f"attention_backward needs a head dimension that is a power of two, not {head_dim}; pad the heads with zeros")
    if not common.is_contiguous(lse):
        raise ValueError("attention_backward needs a contiguous lse; pass numpy.ascontiguousarray(lse)")
    dq, dk, dv = (common.empty(q.shape, q) for _ in range(3)) if out is None else out
    delta, log, sums = empty_scratch(q, deterministic) if scratch is None else scratch
    scale = 1.0 / math.sqrt(head_dim)
    inputs = [*common.strides(q), *common.strides(k), *common.strides(v), *common.strides(grad)]
    rows_kernel[(triton.cdiv(n_ctx, 64), batches * heads)](
        attended, grad, lse, delta, log, sums, heads, n_ctx, *common.strides(attended), *common.strides(grad), HEAD_DIM=head_dim, BLOCK_M=64)
    whole = sums is not None and owns_heads(q)
    sums = sums if whole or not deterministic else None
    keys_kernel[lambda meta: (1 if whole else triton.cdiv(n_ctx, meta["OWN"]), batches * heads)](
        q, k, v, grad, log, delta, sums, dk, dv, scale, heads, n_ctx, *inputs, *common.strides(dk), *common.strides(dv),
        HEAD_DIM=head_dim, CAUSAL=causal, WHOLE=whole)
    if sums is not None:
        round_kernel[(triton.cdiv(n_ctx, 64), batches * heads)](
            sums, dq, scale, heads, n_ctx, *common.strides(dq), HEAD_DIM=head_dim, BLOCK_M=64)
        return dq, dk, dv
    queries_kernel[lambda meta: (triton.cdiv(n_ctx, meta["OWN"]), batches * heads)](
        q, k, v, grad, log, delta, dq, scale, heads, n_ctx, *inputs, *common.strides(dq), HEAD_DIM=head_dim, CAUSAL=causal)
    return dq, dk, dv


kernel_fn = attention_backward


def scores_of(q, k, causal):
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / math.sqrt(max(q.shape[-1], 1))
    return np.where(np.tri(q.shape[2], dtype=bool), scores, -np.inf) if causal else scores


def forward(q, k, v, causal):
    """Output and lse in float64."""
    scores = scores_of(q, k, causal)
    largest = scores.max(axis=-1, keepdims=True)
    lse = largest + np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True))
    return np.exp(scores - lse) @ v.astype(np.float64), lse[..., 0]


def reference_fn(q, k, v, out, lse, grad, causal=False, deterministic=True):
    weights = np.exp(scores_of(q, k, causal) - lse[..., None])
    q, k, v, out, grad = (x.astype(np.float64) for x in (q, k, v, out, grad))
    delta = (grad * out).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad @ v.swapaxes(-1, -2) - delta) / math.sqrt(max(q.shape[-1], 1))
    return grad_scores @ k, grad_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ grad


def get_inputs(batches=1, heads=4, n_ctx=512, head_dim=64, dtype="fp32", causal=False):
    q, k, v, grad = (common.randn(batches, heads, n_ctx, head_dim, dtype=dtype, seed=seed) for seed in (1, 2, 3, 4))
    out, lse = forward(q, k, v, causal)
    return [q, k, v, out.astype(q.dtype), lse.astype(np.float32), grad, causal]


def flops(batches, heads, n_ctx, head_dim, causal):
    """Five matmuls: weights that are computed twice count once."""
    return 10.0 * batches * heads * n_ctx * n_ctx * head_dim * (0.5 if causal else 1)


def cases(quick):
    for causal in (False, True):
        name = " causal" if causal else ""
        yield common.Case(f"1x1x1x16{name}", "fp32", get_inputs(1, 1, 1, 16, causal=causal), TERMS)
        yield common.Case(f"1x2x133x32{name}", "fp32", get_inputs(1, 2, 133, 32, causal=causal), TERMS)
        yield common.Case(f"1x2x133x32{name} sums", "fp32", [*get_inputs(1, 2, 133, 32, causal=causal), False], TERMS)
    shape = (1, 1, 128, 64) if quick else (1, 8, 1024, 64)
    for causal, dtype in [(True, "fp16"), (False, "fp16"), (True, "fp32"), (False, "fp32")]:
        size = "x".join(map(str, shape)) + (" causal" if causal else "")
        yield common.Case(size, dtype, get_inputs(*shape, dtype, causal), TERMS, flops=flops(*shape, causal))


def run(quick=False):
    return common.run("attention backward", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
