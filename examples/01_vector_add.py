"""Vector addition: the smallest complete kernel.

A kernel describes the work of one *program* on one *tile*. Program `pid` adds elements
[pid * BLOCK_SIZE, (pid + 1) * BLOCK_SIZE). The launch starts enough programs to cover the vectors. The mask keeps the
last program from accessing memory after the end of the vectors.

    python -m tilewright examples/01_vector_add.py
"""

import math

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y, out=None):
    if x.shape != y.shape or not (common.is_contiguous(x) and common.is_contiguous(y)):
        raise ValueError(f"add needs two contiguous arrays of one shape, not {x.shape} and {y.shape}")
    out = common.empty(x.shape, x) if out is None else out
    n_elements = math.prod(x.shape)
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=1024)
    return out


kernel_fn = add


def reference_fn(x, y):
    return x.astype(np.float64) + y.astype(np.float64)


def get_inputs(n=98432, dtype="fp32"):
    return [common.randn(n, dtype=dtype, seed=1), common.randn(n, dtype=dtype, seed=2)]


def cases(quick):
    sizes = [1, 1023, 98432] if quick else [1, 1023, 98432, 1 << 24]
    for n in sizes:
        yield common.Case(f"{n}", "fp32", get_inputs(n), bytes=12.0 * n)
    yield common.Case("98432", "fp16", get_inputs(98432, "fp16"), bytes=6.0 * 98432)


def run(quick=False):
    return common.run("vector add", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
