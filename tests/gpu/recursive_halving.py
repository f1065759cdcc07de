"""Each lane keeps half of its partial results in a step, in place of combining all of them in every lane: 4 registers and 2 lanes take 2
exchanges of three values. Warps leave their partial values in shared memory, and threads read those in the layout of the store. If one warp
holds all of a column, and every lane needs its result, registers are shared out only if that pays: for Welford's algorithm, not for two sums."""
# RUN: tilewright compile %s --kernel moments --target cuda:sm_90a --num-warps 4 --emit ptx --signature 'x=*fp32:16,o=*fp32:16,X=64,R=8' | FileCheck %s --check-prefix=WARPS
# RUN: tilewright compile %s --kernel moments --target cuda:sm_90a --num-warps 4 --until assign-layouts --signature 'x=*fp32:16,o=*fp32:16,X=64,R=8' | FileCheck %s --check-prefix=LAYOUTS
# RUN: tilewright compile %s --kernel normalized --target cuda:sm_90a --num-warps 1 --emit ptx --signature 'x=*fp32:16,o=*fp32:16,X=64,R=8,SUM=False' | FileCheck %s --check-prefix=HALVES
# RUN: tilewright compile %s --kernel normalized --target cuda:sm_90a --num-warps 1 --emit ptx --signature 'x=*fp32:16,o=*fp32:16,X=64,R=8,SUM=True' | FileCheck %s --check-prefix=BUTTERFLY

import triton
import triton.language as tl


@triton.jit
def merge(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = count_b / count
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


# WARPS-COUNT-6: shfl.sync.bfly
# WARPS-NOT: shfl.sync
# WARPS: st.global.b32

# LAYOUTS: "tt.reduce"
# LAYOUTS-NOT: ttg.convert_layout
# LAYOUTS: tt.store
@triton.jit
def moments(x, o, X: tl.constexpr, R: tl.constexpr):
    column = tl.program_id(0) * X + tl.arange(0, X)
    value = tl.load(x + column[:, None] + tl.arange(0, R)[None, :] * 4096) * 2
    mean, m2, count = tl.reduce((value, tl.exp(value), value * value), 1, merge)
    tl.store(o + column, mean + m2 + count)


# 12 combinations in a thread, then 2 in place of 4.
# HALVES-COUNT-14: div.full
# HALVES-NOT: div.full
# HALVES: st.global
# BUTTERFLY-NOT: selp
# BUTTERFLY-COUNT-4: shfl.sync.bfly
# BUTTERFLY-NOT: {{selp|shfl}}
# BUTTERFLY: st.global
@triton.jit
def normalized(x, o, X: tl.constexpr, R: tl.constexpr, SUM: tl.constexpr):
    where = tl.program_id(0) * X + tl.arange(0, X)[:, None] + tl.arange(0, R)[None, :] * 4096
    value = tl.load(x + where)
    if SUM:
        total = tl.sum(value, 1)
    else:
        mean, m2, count = tl.reduce((value, tl.exp(value), value * value), 1, merge)
        total = mean * m2 + count
    tl.store(o + where, value * total[:, None])
