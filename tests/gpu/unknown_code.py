"""Code of the author that is not pure may access any memory if it contains an address. TMA is not ordered with it, and CTAs of one program do not
repeat it. Assembly without an address (a timer) prevents nothing."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,"stores"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,"stores"' | FileCheck %s --check-prefix=WHY
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,"timer"' | FileCheck %s --check-prefix=TMA
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,"pure"' | FileCheck %s --check-prefix=TMA
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,"plain",True' | FileCheck %s --check-prefix=SHARED
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,"register",True' | FileCheck %s --check-prefix=ALONE
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,"barrier",True' | FileCheck %s --check-prefix=ALONE
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,"plain",False' | FileCheck %s --check-prefix=ALONE
# RUN: tilewright compile %s --kernel counts --target cuda:sm_90a --num-ctas 2 --until split-ctas --signature '*fp32:16,*i64:16,True' | FileCheck %s --check-prefix=FIRST
# RUN: tilewright compile %s --kernel counts --target cuda:sm_90a --num-ctas 2 --until split-ctas --signature '*fp32:16,*i64:16,False' | FileCheck %s --check-prefix=EACH
# RUN: tilewright compile %s --kernel counts --target cuda:sm_90a --num-ctas 2 --emit ptx --signature '*fp32:16,*i64:16,True' | FileCheck %s --check-prefix=PTX

import triton
import triton.language as tl


# THREADS-NOT: cp.async.bulk
# THREADS: cp.async.cg
# THREADS-NOT: cp.async.bulk
# WHY: no tensor map: assembly or a library function of the kernel may access x
# TMA: cp.async.bulk.tensor
@triton.jit
def product(x, w, out, K, stride, KIND: tl.constexpr):
    m, n, i = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    if KIND == "stores":
        at = x.to(tl.int64) + (m[:, None] * stride + i[None, :] * 2).to(tl.int64) * 2
        tl.inline_asm_elementwise("st.global.u32 [$1], 0; mov.u32 $0, 0;", "=r,l", [at], dtype=tl.int32, is_pure=False, pack=1)
    if KIND == "timer":
        tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    if KIND == "pure":
        K = tl.inline_asm_elementwise("ld.global.nc.u32 $0, [$1];", "=r,l", [w.to(tl.int64)], dtype=tl.int32, is_pure=True, pack=1)
    tl.debug_barrier()
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, K, 64):
        a = tl.load(x + m[:, None] * stride + (k + i)[None, :])
        b = tl.load(w + (k + i)[:, None] * 64 + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(out + m[:, None] * 64 + n[None, :], acc)


# A program of several CTAs has other registers and barriers, so the compiler does not make one of a kernel that may notice.
# SHARED: 2 CTAs share a program
# ALONE-NOT: CTAs share a program
@triton.jit
def rows(x, out, KIND: tl.constexpr, PURE: tl.constexpr):
    BARRIER: tl.constexpr = "bar.sync 1, 128;" if KIND == "barrier" else ""
    CODE: tl.constexpr = "mov.u32 $0, %ctaid.x; // $1" if KIND == "register" else BARRIER + "mov.u32 $0, $1;"
    pid, i = tl.program_id(0), tl.arange(0, 32768)
    v = tl.load(x + pid * 32768 + i)
    t = tl.inline_asm_elementwise(CODE, "=r,r", [pid], dtype=tl.int32, is_pure=PURE, pack=1)
    tl.store(out + pid * 32768 + i, v - tl.max(v, 0) + t)


# The first CTA adds, and the other one gets its result.
# FIRST: %[[ONE:.*]] = scf.if %{{.*}} -> (i64) {
# FIRST-NEXT: tt.elementwise_inline_asm
# FIRST-NEXT: scf.yield
# FIRST: tt.splat %[[ONE]]
# FIRST: ttg.read_cluster
# Without an address each CTA executes it, and all of them use the first one's result.
# EACH-NOT: scf.if
# EACH: %[[EACH:.*]] = tt.elementwise_inline_asm
# EACH: tt.splat %[[EACH]]
# EACH: ttg.read_cluster
# PTX: atom.global.add.u64
# PTX: mapa.shared::cluster
@triton.jit
def counts(out, counter, ADDS: tl.constexpr):
    CODE: tl.constexpr = "atom.global.add.u64 $0, [$1], 1;" if ADDS else "mov.u64 $0, $1;"
    i = tl.arange(0, 1024)
    count = tl.inline_asm_elementwise(CODE, "=l,l", [counter.to(tl.int64)], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(out + i, (i + count).to(tl.float32))
