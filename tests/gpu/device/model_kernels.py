"""Kernels of the kinds in libraries for language models: they are limited by memory, so every mistake of a layout shows."""

import triton
import triton.language as tl


@triton.jit
def rotary_interleaved(
    out_ptr, x_ptr, cos_ptr, sin_ptr, length, heads, stride_batch, stride_position, stride_head, HALF: tl.constexpr,
    BLOCK_POSITIONS: tl.constexpr, BLOCK_HEADS: tl.constexpr,
):
    """Rotates the adjacent elements x[2i], x[2i + 1] by the angle of their position."""
    head = tl.program_id(0) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS)
    position = tl.program_id(1) * BLOCK_POSITIONS + tl.arange(0, BLOCK_POSITIONS)
    batch = tl.program_id(2)
    pair, element = tl.arange(0, HALF), tl.arange(0, 2 * HALF)
    angle = position[:, None] * HALF + pair[None, :]
    angle_mask = (position[:, None] < length) & (pair[None, :] < HALF)
    cos = tl.load(cos_ptr + angle, mask=angle_mask, other=1.0).to(tl.float32)
    sin = tl.load(sin_ptr + angle, mask=angle_mask, other=0.0).to(tl.float32)
    at = batch * stride_batch + head[:, None, None] * stride_head + position[None, :, None] * stride_position + element[None, None, :]
    mask = (head[:, None, None] < heads) & (position[None, :, None] < length)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    x0, x1 = tl.split(tl.reshape(x, [BLOCK_HEADS, BLOCK_POSITIONS, HALF, 2]))
    y0 = x0 * cos[None] - x1 * sin[None]
    y1 = x0 * sin[None] + x1 * cos[None]
    y = tl.reshape(tl.join(y0, y1), [BLOCK_HEADS, BLOCK_POSITIONS, 2 * HALF])
    tl.store(out_ptr + at, y.to(out_ptr.dtype.element_ty), mask=mask)


def rotary(x, cos, sin, out):
    batches, length, heads, size = x.shape
    grid = (triton.cdiv(heads, 2), triton.cdiv(length, 8), batches)
    rotary_interleaved[grid](out, x, cos, sin, length, heads, *x.stride()[:3], HALF=size // 2, BLOCK_POSITIONS=8, BLOCK_HEADS=2)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, row_stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * row_stride
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    gate = tl.load(gate_ptr + start + columns, mask=mask, other=0).to(tl.float32)
    up = tl.load(up_ptr + start + columns, mask=mask, other=0)
    y = (gate * tl.sigmoid(gate)).to(up.dtype) * up
    tl.store(out_ptr + start + columns, y, mask=mask)


def warps_for(block):
    return 32 if block >= 32768 else 16 if block >= 8192 else 8 if block >= 2048 else 4


def swiglu(gate, up, out):
    rows, columns = gate.shape
    block = triton.next_power_of_2(columns)
    swiglu_kernel[(rows,)](gate, up, out, gate.stride(0), n_cols=columns, BLOCK_SIZE=block, num_warps=warps_for(block))


@triton.jit
def cross_entropy_kernel(logits_ptr, row_stride, target_ptr, loss_ptr, n_cols, n_rows, ignored, BLOCK_SIZE: tl.constexpr):
    """The loss of a row, and its gradient in place of the logits: one pass for maximum and sum together, one for the gradient."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + row)
    logits_ptr += row * row_stride
    if target == ignored:
        for start in range(0, n_cols, BLOCK_SIZE):
            columns = start + tl.arange(0, BLOCK_SIZE)
            tl.store(logits_ptr + columns, 0.0, mask=columns < n_cols)
        return
    largest = float("-inf")
    total = 0.0
    chosen = tl.load(logits_ptr + target).to(tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(logits_ptr + columns, mask=columns < n_cols, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(x))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(x - larger))
        largest = larger
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(logits_ptr + columns, mask=columns < n_cols, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - largest) / total
        gradient = tl.where(columns == target, gradient - 1.0, gradient) / n_rows
        tl.store(logits_ptr + columns, gradient, mask=columns < n_cols)
    tl.debug_barrier()
    tl.store(loss_ptr + row, (largest + tl.log(total) - chosen) / n_rows)


def cross_entropy(logits, target, loss):
    rows, columns = logits.shape
    block = min(32768, triton.next_power_of_2(columns))
    cross_entropy_kernel[(rows,)](logits, logits.stride(0), target, loss, columns, rows, -100, BLOCK_SIZE=block, num_warps=32)


def with_some_each(configs, named_args, BLOCK_SIZE, **others):
    """The configurations in which each thread has from 4 to 256 elements of a row."""
    return [config for config in configs if 4 <= BLOCK_SIZE // (32 * config.num_warps) <= 256]


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (4, 8, 16, 32)], key=["n_cols"],
                 prune_configs_by={"early_config_prune": with_some_each})
@triton.jit
def norm_backward_kernel(
    x_ptr, weight_ptr, mean_ptr, rstd_ptr, dy_ptr, dx_ptr, dw_ptr, db_ptr, row_stride, n_rows, rows_each, n_cols: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Layer norm backward: a program loops over some rows, and keeps their part of the weights' gradients in registers."""
    pid = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    dw = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    w = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    first = pid * rows_each
    for row in range(first, min(first + rows_each, n_rows)):
        x = tl.load(x_ptr + row * row_stride + columns, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * row_stride + columns, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        x_hat = (x - mean) * rstd
        wdy = w * dy
        c1 = tl.sum(x_hat * wdy, axis=0) / n_cols
        c2 = tl.sum(wdy, axis=0) / n_cols
        dx = (wdy - (x_hat * c1 + c2)) * rstd
        tl.store(dx_ptr + row * row_stride + columns, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dw += dy * x_hat
        db += dy
    tl.store(dw_ptr + pid * n_cols + columns, dw, mask=mask)
    tl.store(db_ptr + pid * n_cols + columns, db, mask=mask)


def norm_backward(x, weight, mean, rstd, dy, dx, dw, db):
    rows, columns = x.shape
    block, programs = triton.next_power_of_2(columns), len(dw)
    norm_backward_kernel[(programs,)](x, weight, mean, rstd, dy, dx, dw, db, x.stride(0), rows, triton.cdiv(rows, programs), columns,
                                      BLOCK_SIZE=block)


@triton.jit
def norm_backward_locked_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, lock_ptr, row_stride, n_cols, GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """The same with one program for each row: the rows of a group add to one buffer, one at a time, guarded by a lock."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    lock_ptr += row % GROUPS
    used_ptr = lock_ptr + GROUPS
    dw_ptrs = dw_ptr + row % GROUPS * n_cols + columns
    db_ptrs = db_ptr + row % GROUPS * n_cols + columns
    x = tl.load(x_ptr + row * row_stride + columns, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * row_stride + columns, mask=mask, other=0).to(tl.float32)
    w = tl.load(weight_ptr + columns, mask=mask).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(x_hat * wdy, axis=0) / n_cols
    c2 = tl.sum(wdy, axis=0) / n_cols
    dx = (wdy - (x_hat * c1 + c2)) * rstd
    tl.store(dx_ptr + row * row_stride + columns, dx, mask=mask)
    dw = (dy * x_hat).to(dw_ptr.dtype.element_ty)
    db = dy.to(db_ptr.dtype.element_ty)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(used_ptr) == 0:
        tl.atomic_xchg(used_ptr, 1)
    else:
        dw += tl.load(dw_ptrs, mask=mask)
        db += tl.load(db_ptrs, mask=mask)
    tl.store(dw_ptrs, dw, mask=mask)
    tl.store(db_ptrs, db, mask=mask)
    tl.atomic_xchg(lock_ptr, 0)


def norm_backward_locked(x, weight, mean, rstd, dy, dx, dw, db, locks):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    locks.zero_()
    norm_backward_locked_kernel[(rows,)](dx, dy, dw, db, x, weight, mean, rstd, locks, x.stride(0), columns, GROUPS=len(dw),
                                         BLOCK_SIZE=block, num_warps=min(max(block // 256, 1), 8))


@triton.jit
def skinny_kernel(
    x_ptr, w_ptr, y_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """y = x @ w.T for a few rows of x: reading all of w takes most of the time."""
    m = tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + m[:, None] * K + k[None, :]
    w_ptrs = w_ptr + n[None, :] * K + k[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs + start, mask=m[:, None] < M, other=0.0)
        w = tl.load(w_ptrs + start, eviction_policy="evict_first")  # no program reads it again
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=m[:, None] < M)


def skinny(x, w, out, block_n=64, block_k=128, warps=4, stages=4):
    M, K = x.shape
    N = len(w)
    skinny_kernel[(N // block_n,)](x, w, out, M, N, K, BLOCK_M=max(16, triton.next_power_of_2(M)), BLOCK_N=block_n, BLOCK_K=block_k,
                                   num_warps=warps, num_stages=stages)
