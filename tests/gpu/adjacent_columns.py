"""tf32 dots by mma.sync with B contiguous along N. ldmatrix does not transpose 32-bit elements, so a thread's columns of two or four instructions are
contiguous. It loads them at once without bank conflicts, and stores four at once. B contiguous along K uses ldmatrix, and dots that accumulate into
one tile have one layout."""
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --emit ptx --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 32, 32, 32, 1' | FileCheck %s --check-prefix=PAIRS
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --emit ptx --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 16, 128, 32, 1' | FileCheck %s --check-prefix=FOURS
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --emit ptx --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 16, 32, 32, 1' | FileCheck %s --check-prefix=SINGLE
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --emit ptx --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 32, 32, 32, 0' | FileCheck %s --check-prefix=ALONG
# RUN: tilewright compile %s --kernel both --target cuda:sm_90a --until assign-layouts --signature '*fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=BOTH
# RUN: tilewright run %s --kernel k --arg 'a=randint(-8,8):f32[32,64]' --arg 'b=randint(-8,8):f32[64,32]' --arg 'c=empty:f32[32,32]' --arg depth=64 --arg M=32 --arg N=32 --arg K=32 --arg TRANSPOSED=1 --grid 1 --simulate --out c=%t.npy
# RUN: tilewright run %s --kernel k --arg 'a=randint(-8,8):f32[32,64]' --arg 'b=randint(-8,8):f32[64,32]' --arg 'c=empty:f32[32,32]' --arg depth=64 --arg M=32 --arg N=32 --arg K=32 --arg TRANSPOSED=1 --grid 1 --check c=%t.npy
# RUN: tilewright run %s --kernel k --arg 'a=randint(-8,8):f32[16,64]' --arg 'b=randint(-8,8):f32[64,128]' --arg 'c=empty:f32[16,128]' --arg depth=64 --arg M=16 --arg N=128 --arg K=16 --arg TRANSPOSED=1 --grid 1 --simulate --out c=%t.npy
# RUN: tilewright run %s --kernel k --arg 'a=randint(-8,8):f32[16,64]' --arg 'b=randint(-8,8):f32[64,128]' --arg 'c=empty:f32[16,128]' --arg depth=64 --arg M=16 --arg N=128 --arg K=16 --arg TRANSPOSED=1 --grid 1 --check c=%t.npy
import triton
import triton.language as tl


# PAIRS-NOT: ld.shared.b32
# PAIRS-COUNT-8: ld.shared.v2.b32
# PAIRS-NOT: ld.shared
# PAIRS: st.global.v4.b32
# FOURS-NOT: ld.shared.b32
# FOURS: ld.shared.v4.b32
# SINGLE: ld.shared.b32
# ALONG-NOT: ld.shared
# ALONG: ldmatrix
@triton.jit
def k(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANSPOSED: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        x = tl.load(a + m[:, None] * depth + (start + d)[None, :])
        if TRANSPOSED:
            y = tl.load(b + (start + d)[:, None] * N + n[None, :])
        else:
            y = tl.load(b + (start + d)[:, None] + n[None, :] * depth)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


# BOTH: scf.for
# BOTH-NOT: ttg.convert_layout %acc
# BOTH: scf.yield
@triton.jit
def both(a, b, transposed, c, depth):
    m, n, d = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 32)
    acc = tl.zeros((32, 32), tl.float32)
    for start in range(0, depth, 32):
        x = tl.load(a + m[:, None] * depth + (start + d)[None, :])
        acc = tl.dot(x, tl.load(b + (start + d)[:, None] * 32 + n[None, :]), acc)
        acc = tl.dot(x, tl.load(transposed + (start + d)[:, None] + n[None, :] * depth), acc)
    tl.store(c + m[:, None] * 32 + n[None, :], acc)
