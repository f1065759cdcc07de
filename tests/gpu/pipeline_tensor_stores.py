"""RUN: tilewright compile %S/chain_partition.py --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=64, M=128, N=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until lower-to-threads | FileCheck %s

P goes to tensor memory in parts. While the special function unit computes the next part, other units convert this one, and subtract the
maximum from the one after that. The sums of a part follow its exponentials.

CHECK: ptx.tcgen05_wait ld
CHECK: %[[max:.*]] = arith.maxnumf
CHECK-COUNT-16: ptx.special ex2
CHECK: ptx.special ex2
CHECK-NEXT: arith.{{truncf|subf|addf|mulf}}
CHECK: ptx.special ex2
CHECK-NEXT: arith.{{truncf|subf|addf|mulf}}
CHECK: arith.addf
CHECK: ptx.tcgen05_st
CHECK-COUNT-16: ptx.special ex2
CHECK-NOT: ptx.special
CHECK: ptx.tcgen05_st
CHECK-COUNT-16: ptx.special ex2
CHECK-NOT: ptx.special
CHECK: ptx.tcgen05_st
CHECK-NOT: ptx.special
CHECK: arith.truncf
CHECK: ptx.tcgen05_st
CHECK: ptx.tcgen05_wait st
CHECK-NEXT: ptx.tcgen05_fence before
"""
