"""Compares a configuration's results in a GPU tensor with those of the first one, on the GPU: copying them to the host takes longer than
most tuned kernels. Each kernel sets a flag if elements differ."""

import triton
import triton.language as tl


@triton.jit
def bytes_differ(now_ptr, expected_ptr, flag_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    differs = tl.load(now_ptr + at, mask=mask, other=0) != tl.load(expected_ptr + at, mask=mask, other=0)
    if tl.max(differs.to(tl.int32), 0) > 0:
        tl.store(flag_ptr, 1)


@triton.jit
def sum_squares(expected_ptr, squares_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(expected_ptr + at, mask=at < count, other=0.0).to(tl.float32)
    tl.atomic_add(squares_ptr, tl.sum(tl.where(tl.abs(value) < float("inf"), value * value, 0.0), 0) / count)


@triton.jit
def floats_differ(now_ptr, expected_ptr, squares_ptr, flag_ptr, of_element, of_typical, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    now = tl.load(now_ptr + at, mask=mask, other=0.0).to(tl.float32)
    expected = tl.load(expected_ptr + at, mask=mask, other=0.0).to(tl.float32)
    is_near = tl.abs(now - expected) <= of_element * tl.abs(expected) + of_typical * tl.sqrt(tl.load(squares_ptr))
    is_same = (now == expected) | ((now != now) & (expected != expected)) | (is_near & (tl.abs(expected) < float("inf")))
    if tl.min(is_same.to(tl.int32), 0) == 0:
        tl.store(flag_ptr, 1)
