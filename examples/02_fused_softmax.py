"""Softmax of the rows of a matrix, in one pass over memory.

Computed operation by operation, a softmax reads and writes the matrix several times. Here each row is read once, stays in
a tile while its maximum and its sum are computed, and is written once. Any number of programs can share the rows: each
program starts at its own row and advances by the number of programs (a grid-stride loop).
"""

import numpy as np
import triton
import triton.language as tl

import common

MAX_BLOCK = 131072


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_row_stride, out_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        columns = tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        # Elements after the row's end are -inf: they are never the maximum, and add exp(-inf) = 0 to the sum.
        x = tl.load(in_ptr + row * in_row_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
        numerator = tl.exp(x - tl.max(x, axis=0))
        y = numerator / tl.sum(numerator, axis=0)
        tl.store(out_ptr + row * out_row_stride + columns, y.to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x, out=None):
    n_rows, n_cols = x.shape
    if n_cols > MAX_BLOCK:
        raise ValueError(f"softmax holds a row in one block of at most {MAX_BLOCK} elements; this row has {n_cols}")
    if not common.has_plain_rows(x):
        raise ValueError("softmax needs rows with contiguous elements; pass numpy.ascontiguousarray(x)")
    out = common.empty(x.shape, x) if out is None else out
    # One program per row: programs start in order, so memory is read in order. Above the limit, each program takes several rows.
    programs = min(n_rows, 65536)
    block = triton.next_power_of_2(n_cols)
    softmax_kernel[(programs,)](
        out, x, common.strides(x)[0], common.strides(out)[0], n_rows, n_cols, block, 2, num_warps=common.warps_for(block))
    return out


kernel_fn = softmax


def reference_fn(x):
    x = x.astype(np.float64)
    numerator = np.exp(x - x.max(axis=1, keepdims=True))
    return numerator / numerator.sum(axis=1, keepdims=True)


def get_inputs(rows=1823, columns=781, dtype="fp32"):
    return [common.randn(rows, columns, dtype=dtype)]


def cases(quick):
    yield common.Case("1x1", "fp32", get_inputs(1, 1))
    yield common.Case("7x1000", "fp32", get_inputs(7, 1000))
    yield common.Case("50x781 of 800", "fp32", [common.randn(50, 800)[:, :781]])
    rows, columns = (64, 1024) if quick else (16384, 1024)
    yield common.Case(f"{rows // 4}x781", "fp16", get_inputs(rows // 4, 781, "fp16"), bytes=4.0 * rows // 4 * 781)
    yield common.Case(f"{rows}x{columns}", "fp32", get_inputs(rows, columns), bytes=8.0 * rows * columns)


def run(quick=False):
    return common.run("fused softmax", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
