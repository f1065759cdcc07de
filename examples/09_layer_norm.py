"""Layer normalization, forward: two reductions of a row that is loaded once.

Each program computes one row: the mean, then the variance around the mean, then the scaled and shifted result.
Subtracting the mean first keeps the digits that E[x^2] - E[x]^2 would lose. Mean and reciprocal standard deviation are
stored too, for a backward pass.
"""

import numpy as np
import triton
import triton.language as tl

import common

MAX_BLOCK = 131072


@triton.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, x_row_stride, y_row_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row_stride + columns, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centered = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centered * centered, axis=0) / n_cols + eps)

    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    y = centered * rstd * weight + bias
    tl.store(y_ptr + row * y_row_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
    # These stores come last: before the first store, the compiler may reload a long row instead of keeping it in registers.
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


def layer_norm(x, weight, bias, eps=1e-5, out=None):
    n_rows, n_cols = x.shape
    if n_cols > MAX_BLOCK:
        raise ValueError(f"layer_norm holds a row in one block of at most {MAX_BLOCK} elements; this row has {n_cols}")
    if not common.has_plain_rows(x):
        raise ValueError("layer_norm needs rows with contiguous elements; pass numpy.ascontiguousarray(x)")
    if out is None:
        out = common.empty(x.shape, x), common.empty((n_rows,), x, "fp32"), common.empty((n_rows,), x, "fp32")
    y, mean, rstd = out
    block = triton.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](
        x, weight, bias, y, mean, rstd, common.strides(x)[0], common.strides(y)[0], n_cols, eps, BLOCK_SIZE=block,
        num_warps=common.warps_for(block))
    return out


kernel_fn = layer_norm


def reference_fn(x, weight, bias, eps=1e-5):
    x = x.astype(np.float64)
    mean = x.mean(axis=1)
    rstd = 1.0 / np.sqrt(x.var(axis=1) + eps)
    return (x - mean[:, None]) * rstd[:, None] * weight.astype(np.float64) + bias.astype(np.float64), mean, rstd


def get_inputs(rows=1151, columns=1024, dtype="fp32"):
    return [common.randn(rows, columns, dtype=dtype, seed=1), *(common.randn(columns, dtype=dtype, seed=seed) for seed in (2, 3))]


def cases(quick):
    # Of a single element nothing is left after its mean is taken off; eps alone decides rstd.
    yield common.Case("3x1", "fp32", get_inputs(3, 1), terms=1000)
    yield common.Case("10x781", "fp32", get_inputs(10, 781), terms=8)
    x, weight, bias = get_inputs(40, 1000)
    yield common.Case("40x517 of 1000", "fp32", [x[:, :517], weight[:517], bias[:517]], terms=8)
    rows, columns = (64, 1024) if quick else (16384, 1024)
    yield common.Case(f"{rows // 4}x{columns}", "fp16", get_inputs(rows // 4, columns, "fp16"), bytes=4.0 * rows // 4 * columns)
    yield common.Case(f"{rows}x{columns}", "fp32", get_inputs(rows, columns), terms=8, bytes=8.0 * rows * columns)


def run(quick=False):
    return common.run("layer norm", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
