"""There is a matrix for each group, and the group's index is loaded. It can be a coordinate of a tensor map if it has 32 bits. It may be negative:
memory before an argument may be valid. TMA reads zeros at a negative coordinate, so the index has two coordinates that are not negative."""
# RUN: tilewright explain %s --kernel grouped --target cuda:sm_90a --signature 'x=*fp16:16,w=*fp16:16,out=*fp32:16,group=*i32:16,n=i32:16,k=i32:16,stride=i32:16,BOUNDED=True' | FileCheck %s
# RUN: tilewright compile %s --kernel grouped --target cuda:sm_90a --emit ttg --signature 'x=*fp16:16,w=*fp16:16,out=*fp32:16,group=*i32:16,n=i32:16,k=i32:16,stride=i32:16,BOUNDED=False' | FileCheck %s --check-prefix=TWO
# RUN: tilewright compile %s --kernel grouped --target cuda:sm_90a --emit ttg --signature 'x=*fp16:16,w=*fp16:16,out=*fp32:16,group=*i64:16,n=i32:16,k=i32:16,stride=i32:16,BOUNDED=True' | FileCheck %s --check-prefix=OPEN

# Copies by threads are prefetched as far as those by TMA: a stage is refilled when the previous MMA is finished.
# RUN: tilewright compile %s --kernel grouped --target cuda:sm_90a --emit ttg --signature 'x=*fp16:16,w=*fp16:16,out=*fp32:16,group=*i64:16,n=i32:16,k=i32:16,stride=i32:16,BOUNDED=True' --num-stages 4 | FileCheck %s --check-prefix=COPIES

# COPIES-COUNT-3: ttg.copy_commit
# COPIES: scf.for
# COPIES: ttg.copy_wait 2
# COPIES-NEXT: ttg.barrier_wait
# COPIES-NEXT: ttg.fence_async
# COPIES-NEXT: ttg.cta_barrier
# COPIES-NOT: ttg.copy_async
# COPIES: ttg.mma_async %
# COPIES-NEXT: ttg.mma_async_wait 1
# COPIES-NEXT: ttg.cta_barrier
# COPIES: ttg.copy_async
# COPIES: scf.yield

# CHECK: 64x64 f16 from w by TMA: dims {n, k, any, any}, strides {n, stride, 137438953472 + -2*stride}
# TWO: %[[INDEX:.*]] = tt.load
# TWO: %[[HALF:.*]] = arith.shrui %[[INDEX]]
# TWO: arith.andi %[[HALF]], %{{.*}}1073741824
# TWO: arith.andi %[[INDEX]], %{{.*}}2147483647
# TWO: ttg.tma_load
# OPEN: text = "no tensor map: its start in a dimension with the stride stride may be negative"
import triton
import triton.language as tl


@triton.jit
def grouped(x, w, out, group, n, k, stride, BOUNDED: tl.constexpr):
    i = tl.arange(0, 64)
    mine = w + tl.load(group + tl.program_id(0)).to(tl.int64) * stride
    columns = tl.program_id(1) * 64 + i
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 64):
        steps = start + i
        here = (steps < k)[:, None] & (columns < n)[None, :] if BOUNDED else (columns < n)[None, :]
        a = tl.load(x + i[:, None] * k + steps[None, :], mask=(steps < k)[None, :], other=0)
        total = tl.dot(a, tl.load(mine + steps[:, None] * n + columns[None, :], mask=here, other=0), total)
    tl.store(out + i[:, None] * n + columns[None, :], total, mask=(columns < n)[None, :])
