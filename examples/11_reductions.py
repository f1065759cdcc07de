"""Row reductions under a causal mask: maximum, argmax and sum.

Row i of a square matrix of scores uses columns 0 to i. `tl.where` replaces the other columns by the neutral element of
the reduction: -inf for a maximum, 0 for a sum. `where` evaluates both values, so it selects values and does not guard a
load; the load has its own mask. One program reduces BLOCK_ROWS rows.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def causal_reduce_kernel(x_ptr, max_ptr, argmax_ptr, sum_ptr, n, stride, BLOCK_ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    columns = tl.arange(0, BLOCK_SIZE)
    inside = (rows[:, None] < n) & (columns[None, :] < n)
    x = tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    seen = columns[None, :] <= rows[:, None]
    masked = tl.where(seen, x, -float("inf"))
    tl.store(max_ptr + rows, tl.max(masked, axis=1), mask=rows < n)
    tl.store(argmax_ptr + rows, tl.argmax(masked, axis=1), mask=rows < n)
    tl.store(sum_ptr + rows, tl.sum(tl.where(seen, x, 0.0), axis=1), mask=rows < n)


def causal_reduce(x, out=None):
    n = x.shape[0]
    if x.shape != (n, n) or common.strides(x)[1] != 1:
        raise ValueError(f"causal_reduce needs a square matrix stored by rows, not {x.shape}")
    out = tuple(common.empty((n,), x, dtype) for dtype in ("fp32", "int32", "fp32")) if out is None else out
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_ROWS"]),)
    causal_reduce_kernel[grid](x, *out, n, common.strides(x)[0], BLOCK_ROWS=8, BLOCK_SIZE=triton.next_power_of_2(n))
    return out


kernel_fn = causal_reduce


def reference_fn(x):
    seen = np.tri(x.shape[0], dtype=bool)
    masked = np.where(seen, x.astype(np.float64), -np.inf)
    return masked.max(axis=1), masked.argmax(axis=1).astype(np.int32), np.where(seen, x.astype(np.float64), 0.0).sum(axis=1)


def get_inputs(n=512, dtype="fp32"):
    return [common.randn(n, n, dtype=dtype)]


def cases(quick):
    yield common.Case("1x1", "fp32", get_inputs(1))
    yield common.Case("133x133", "fp32", get_inputs(133), terms=133)
    n = 256 if quick else 2048
    for dtype, size in [("fp16", 2), ("fp32", 4)]:
        yield common.Case(f"{n}x{n}", dtype, get_inputs(n, dtype), terms=n, bytes=float(size * n * n))


def run(quick=False):
    return common.run("causal reductions", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
