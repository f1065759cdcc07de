"""Accumulators hold short pieces of many rows. They are stored 16 bytes at a time: words move between lanes by shuffles, and narrower values go
through shared memory."""
# RUN: tilewright compile %s --kernel scattered --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,rows=*i32:16,M=64,N=64' | FileCheck %s --check-prefix=WORDS
# RUN: tilewright compile %s --kernel scattered --target cuda:sm_90a --emit ptx --signature 'a=*i8:16,b=*i8:16,c=*i32:16,rows=*i32:16,M=32,N=32' | FileCheck %s --check-prefix=WORDS
# RUN: tilewright compile %s --kernel scattered --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,rows=*i32:16,M=32,N=32' | FileCheck %s --check-prefix=HALVES

# WORDS: shfl.sync.bfly
# WORDS-NOT: st.global.v2
# WORDS: st.global.v4.b32
# WORDS-NOT: st.global.v2
# HALVES: stmatrix
# HALVES-NOT: shfl.sync.bfly
# HALVES: st.global.v4.b32

import triton
import triton.language as tl


@triton.jit
def scattered(a, b, c, rows, M: tl.constexpr, N: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 64)
    x = tl.dot(tl.load(a + m[:, None] * 64 + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    row = tl.load(rows + m)
    tl.store(c + row[:, None] * N + n[None, :], x.to(c.dtype.element_ty))
