"""RUN: tilewright compile %S/../python/test_chain_partition.py --kernel last_in_place --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,D=64,M=128' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 2 --until place-accumulators | FileCheck %s

Of three dots, the last one accumulates in place, as in the backward pass of attention. A warp of its own issues them, and no MMA has to end in
its iteration. Threads write the second dot's operand after that dot of the iteration before. The third dot reads the other operand, too, but
a producer copies that one.

CHECK: ttg.tensor_load
CHECK: ttg.barrier_wait %[[first:.*]][%{{.*}}], %{{.*}} {tensorMemory} : <1>
CHECK-NEXT: ttg.store_shared
CHECK: ttg.tcgen05_commit %[[first]][
CHECK: ttg.barrier_wait %[[second:.*]][%{{.*}}], %{{.*}} {tensorMemory} : <1>
CHECK: ttg.tensor_store
CHECK: ttg.tcgen05_commit %[[second]][

RUN: tilewright explain %s --kernel read_sum --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,D=64,M=128' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 2 | FileCheck %s --check-prefix=READ
READ: threads read a sum in the loop that adds to it
"""

import triton
import triton.language as tl


@triton.jit
def read_sum(q_ptr, k_ptr, x_ptr, out_ptr, rows, D: tl.constexpr, M: tl.constexpr):
    q_map = tl.make_tensor_descriptor(q_ptr, [rows, D], [D, 1], [M, D])
    k_map = tl.make_tensor_descriptor(k_ptr, [rows, D], [D, 1], [M, D])
    x_map = tl.make_tensor_descriptor(x_ptr, [rows, M], [M, 1], [M, M])
    q = q_map.load([tl.program_id(0) * M, 0])
    sums = tl.zeros((M, M), tl.float32)
    largest = tl.zeros((M,), tl.float32)
    for n in range(0, rows, M):
        p = tl.exp2(tl.dot(q, k_map.load([n, 0]).T))
        sums = tl.dot(p.to(tl.float16), x_map.load([n, 0]), sums)
        largest += tl.max(sums, 1)
    tl.store(out_ptr + tl.arange(0, M), largest)
