"""GELU followed by dropout, fused, with stateless random numbers.

The random number of an element is a function of the seed and of the element's index (Philox, a counter-based
generator). So a backward pass needs no stored mask, the order of the programs does not matter, and the reference below
computes the same numbers with NumPy. Mathematical functions need fp32: convert, compute, convert back.
"""

import math

import numpy as np
import triton
import triton.language as tl

import common


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": 1024}, num_warps=4), triton.Config({"BLOCK_SIZE": 4096}, num_warps=8)], key=["n_elements"])
@triton.jit
def gelu_dropout_kernel(x_ptr, out_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    gelu = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    keep = tl.rand(seed, offsets) > p
    y = tl.where(keep, gelu / (1.0 - p), 0.0)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def gelu_dropout(x, p=0.1, seed=1234, out=None):
    if not 0.0 <= p < 1.0:
        raise ValueError(f"gelu_dropout drops with a probability in [0, 1), not {p}")
    if not common.is_contiguous(x):
        raise ValueError("gelu_dropout needs a contiguous array; pass numpy.ascontiguousarray(x)")
    out = common.empty(x.shape, x) if out is None else out
    n_elements = math.prod(x.shape)
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    gelu_dropout_kernel[grid](x, out, n_elements, p, seed)
    return out


kernel_fn = gelu_dropout


def philox(seed, counters, rounds=10):
    """The first word of Philox-4x32 for each counter, in plain NumPy."""
    c = [counters.astype(np.uint64)] + [np.zeros_like(counters, np.uint64)] * 3
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(rounds):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ key[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ key[1], a & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    return c[0].astype(np.uint32)


def uniform(seed, counters):
    """The numbers of tl.rand in [0, 1): 31 bits of the word; a negative word w becomes -w - 1."""
    bits = philox(seed, counters).view(np.int32)
    return np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)


def reference_fn(x, p=0.1, seed=1234):
    values = x.astype(np.float64)
    erf = np.vectorize(math.erf, otypes=[np.float64])
    gelu = 0.5 * values * (1.0 + erf(values * math.sqrt(0.5)))
    keep = uniform(seed, np.arange(x.size)).reshape(x.shape) > np.float32(p)
    return np.where(keep, gelu / (1.0 - p), 0.0)


def get_inputs(n=98432, dtype="fp32"):
    return [common.randn(n, dtype=dtype)]


def cases(quick):
    yield common.Case("1", "fp32", get_inputs(1))
    yield common.Case("98432 p=0", "fp32", [*get_inputs(), 0.0])
    yield common.Case("98432 p=0.5", "fp16", [*get_inputs(dtype="fp16"), 0.5, 7], bytes=4.0 * 98432)
    n = 98432 if quick else 1 << 22
    yield common.Case(f"{n} p=0.1", "fp32", get_inputs(n), bytes=8.0 * n)


def run(quick=False):
    return common.run("gelu + dropout", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
