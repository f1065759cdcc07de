"""What a configuration left in a tensor of a GPU, beside what the first one left: compared where they lie, as copying them to the host
takes longer than most kernels that are tuned. Each kernel raises a flag where something is not as it should be."""

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
def find_largest(expected_ptr, largest_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    size = tl.abs(tl.load(expected_ptr + at, mask=at < count, other=0.0).to(tl.float32))
    tl.atomic_max(largest_ptr, tl.max(tl.where(size < float("inf"), size, 0.0), 0))


@triton.jit
def floats_differ(now_ptr, expected_ptr, largest_ptr, flag_ptr, part, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    now = tl.load(now_ptr + at, mask=mask, other=0.0).to(tl.float32)
    expected = tl.load(expected_ptr + at, mask=mask, other=0.0).to(tl.float32)
    is_near = tl.abs(now - expected) <= part * tl.load(largest_ptr)
    is_same = (now == expected) | ((now != now) & (expected != expected)) | is_near
    if tl.min(is_same.to(tl.int32), 0) == 0:
        tl.store(flag_ptr, 1)
