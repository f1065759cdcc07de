# An unrolled search: each index is one of two sums of the index before it. An analysis of an index visits each index from which it is made
# once, not once for every path to it (there are 2^30).
# RUN: tilewright compile %s --kernel search --signature '*i32:16, *i32:16, *i32:16, 30' --target cuda:sm_90a --emit ptx -o %t.ptx
# RUN: tilewright compile %s --kernel search --signature '*i32:16, *i32:16, *i32:16, 30' --emit obj -o %t.o
import triton
import triton.language as tl


@triton.jit
def search(x_ptr, starts_ptr, out_ptr, STEPS: tl.constexpr):
    at = tl.arange(0, 1024)
    x = tl.load(x_ptr + at)
    found = tl.zeros([1024], tl.int32)
    for step in tl.static_range(STEPS):
        probe = found + (1 << step)
        found = tl.where(tl.load(starts_ptr + probe) <= x, probe, found)
    tl.store(out_ptr + found + at, x)
