"""Attention forward without storing the matrix of scores (FlashAttention).

One program computes BLOCK_M queries and iterates over the keys in blocks of BLOCK_N. For each query it keeps the running
maximum of the scores, the running sum of the exponentials and the running weighted sum of the values. If a block has a
larger score, the previous sums are multiplied by exp(old maximum - new maximum). The result is that of a softmax over the
whole row, but no whole row is ever stored.

Two things make it fast. Scores are multiplied by the scale and by log2(e) in the instruction that subtracts the maximum. So the inner loop
needs only exp2, and Q is used unscaled. And only key blocks that some query of the program does not see in full are masked:
those on the diagonal (causal), and the last one of the sequence.

A program computes one block of queries, or several with PERSISTENT. Then the loads of the next block's queries and first keys overlap the
store of this block's result. This makes short sequences faster.
"""

import math

import numpy as np
import triton
import triton.language as tl

import common


def get_autotune_configs():
    tiles = [(128, 64, 8, 3, False), (128, 128, 8, 2, False), (128, 128, 8, 2, True), (64, 128, 4, 2, False), (64, 64, 4, 2, False),
             (64, 32, 4, 3, False), (32, 64, 4, 3, False), (64, 256, 8, 3, False), (256, 64, 8, 2, False), (256, 128, 8, 2, False)]
    return [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "PERSISTENT": persistent}, num_warps=warps, num_stages=stages)
            for m, n, warps, stages, persistent in tiles]


def worth_measuring(configs, args, **_):
    """Tiles of 256 rows have two groups of warps whose sums are in tensor memory. Without it they do not fit in registers."""
    return configs if common.has_tensor_memory(args["q_ptr"]) else [config for config in configs if config.kwargs["BLOCK_M"] <= 128] or configs


@triton.jit
def attend(
    block, batch, head, q_ptr, k_ptr, v_ptr, out_ptr, scale2, n_ctx,
    stride_qz, stride_qh, stride_qn, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_on, stride_od,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, EVEN: tl.constexpr,
):
    q_ptr += batch * stride_qz + head * stride_qh
    k_ptr += batch * stride_kz + head * stride_kh
    v_ptr += batch * stride_vz + head * stride_vh
    out_ptr += batch * stride_oz + head * stride_oh
    offs_m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    rows = offs_m[:, None] < n_ctx
    q = tl.load(q_ptr + offs_m[:, None] * stride_qn + offs_d[None, :] * stride_qd, mask=rows, other=0.0)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    if CAUSAL:
        full = block * BLOCK_M // BLOCK_N * BLOCK_N  # every query of this block sees all keys before this one
        last = min((block + 1) * BLOCK_M, n_ctx)
    else:
        full = n_ctx // BLOCK_N * BLOCK_N
        last = n_ctx
    for start in range(0, last, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        k_ptrs = k_ptr + offs_d[:, None] * stride_kd + offs_n[None, :] * stride_kn
        v_ptrs = v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd
        if EVEN:
            k = tl.load(k_ptrs)
            v = tl.load(v_ptrs)
        else:
            k = tl.load(k_ptrs, mask=offs_n[None, :] < n_ctx, other=0.0)
            v = tl.load(v_ptrs, mask=offs_n[:, None] < n_ctx, other=0.0)
        scores = tl.dot(q, k)
        if CAUSAL or not EVEN:
            if start >= full:
                seen = offs_n[None, :] < n_ctx
                if CAUSAL:
                    seen = seen & (offs_n[None, :] <= offs_m[:, None])
                scores = tl.where(seen, scores, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1) * scale2)
        weights = tl.exp2(scores * scale2 - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * rescale[:, None])
        row_max = new_max
    out = acc / row_sum[:, None]
    out_ptrs = out_ptr + offs_m[:, None] * stride_on + offs_d[None, :] * stride_od
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=rows)


@triton.autotune(configs=get_autotune_configs(), key=["n_ctx", "HEAD_DIM", "CAUSAL"], prune_configs_by={"early_config_prune": worth_measuring})
@triton.heuristics({"EVEN": lambda args: args["n_ctx"] % args["BLOCK_N"] == 0})
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, n_batches, n_heads, n_ctx,
    stride_qz, stride_qh, stride_qn, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_on, stride_od,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PERSISTENT: tl.constexpr = False,
    EVEN: tl.constexpr = False,
):
    scale2 = scale * 1.4426950408889634  # log2(e): exp(x) = exp2(x * log2(e))
    if PERSISTENT:
        blocks = tl.cdiv(n_ctx, BLOCK_M)
        for tile in range(tl.program_id(0), blocks * n_batches * n_heads, tl.num_programs(0)):
            block, both = tile % blocks, tile // blocks
            if CAUSAL:  # later blocks see more keys: a program gets long and short ones
                block = tl.where(both % 2 == 0, block, blocks - 1 - block)
            attend(
                block, both // n_heads, both % n_heads, q_ptr, k_ptr, v_ptr, out_ptr, scale2, n_ctx,
                stride_qz, stride_qh, stride_qn, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
                stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_on, stride_od, HEAD_DIM, CAUSAL, BLOCK_M, BLOCK_N,
                EVEN)
    else:
        both = tl.program_id(1)
        attend(
            tl.program_id(0), both // n_heads, both % n_heads, q_ptr, k_ptr, v_ptr, out_ptr, scale2, n_ctx,
            stride_qz, stride_qh, stride_qn, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
            stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_on, stride_od, HEAD_DIM, CAUSAL, BLOCK_M, BLOCK_N,
            EVEN)


def attention(q, k, v, causal=False, out=None):
    batches, heads, n_ctx, head_dim = q.shape
    if k.shape != q.shape or v.shape != q.shape:
        raise ValueError(f"attention needs q, k and v of one shape, not {q.shape}, {k.shape} and {v.shape}")
    if head_dim & (head_dim - 1):
        raise ValueError(f"attention needs a head dimension that is a power of two, not {head_dim}; pad the heads with zeros")
    out = common.empty(q.shape, q) if out is None else out
    blocks = lambda meta: triton.cdiv(n_ctx, meta["BLOCK_M"])
    programs = lambda meta: min(common.num_sms(q), blocks(meta) * batches * heads)
    grid = lambda meta: (programs(meta), 1) if meta["PERSISTENT"] else (blocks(meta), batches * heads)
    attention_kernel[grid](
        q, k, v, out, 1.0 / math.sqrt(head_dim), batches, heads, n_ctx, *common.strides(q), *common.strides(k), *common.strides(v),
        *common.strides(out), HEAD_DIM=head_dim, CAUSAL=causal)
    return out


kernel_fn = attention


def reference_fn(q, k, v, causal=False):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(q.shape[2], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


def get_inputs(batches=1, heads=4, n_ctx=512, head_dim=64, dtype="fp32"):
    return [common.randn(batches, heads, n_ctx, head_dim, dtype=dtype, seed=seed) for seed in (1, 2, 3)]


def flops(batches, heads, n_ctx, head_dim, causal):
    return 4.0 * batches * heads * n_ctx * n_ctx * head_dim * (0.5 if causal else 1)


def cases(quick):
    for causal in (False, True):
        name = " causal" if causal else ""
        yield common.Case(f"1x1x1x16{name}", "fp32", [*get_inputs(1, 1, 1, 16), causal])
        yield common.Case(f"2x3x133x32{name}", "fp32", [*get_inputs(2, 3, 133, 32), causal])
    shape = (1, 1, 256, 64) if quick else (1, 8, 1024, 64)
    for causal, dtype in [(True, "fp16"), (False, "fp16"), (True, "fp32"), (False, "fp32")]:
        size = "x".join(map(str, shape)) + (" causal" if causal else "")
        yield common.Case(size, dtype, [*get_inputs(*shape, dtype), causal], flops=flops(*shape, causal))


def run(quick=False):
    return common.run("attention", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
