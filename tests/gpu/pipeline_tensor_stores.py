"""RUN: tilewright compile %S/chain_partition.py --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=64, M=128, N=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until pipeline-tensor-stores | FileCheck %s

RUN: tilewright compile %S/chain_partition.py --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=256, N=128' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-stages 2 --until pipeline-tensor-stores | FileCheck %s --check-prefix=PINGPONG

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

The maximum starts with the first half of the scores, and takes three at a time. The next row group computes when this one's special
functions have started: PV, which arrives before that, has three quarters of P.
PINGPONG: scf.for
PINGPONG: scf.for
PINGPONG: ptx.tcgen05_st
PINGPONG: scf.for {{.*}} iter_args
PINGPONG-COUNT-2: %{{.*}}:32 = ptx.tcgen05_ld
PINGPONG: ptx.tcgen05_wait ld
PINGPONG: %[[third:.*]]:32 = ptx.tcgen05_ld
PINGPONG: ptx.tcgen05_ld
PINGPONG: %[[two:.*]] = arith.maxnumf
PINGPONG-NEXT: arith.maxnumf %[[two]],
PINGPONG-NOT: arith.maxnumf %[[third]]
PINGPONG: ptx.tcgen05_wait ld
PINGPONG-COUNT-6: ptx.tcgen05_st
PINGPONG-NEXT: ptx.tcgen05_wait st
PINGPONG: ptx.mbarrier_arrive
PINGPONG-COUNT-16: ptx.special ex2
PINGPONG-NOT: ptx.special
PINGPONG: ptx.mbarrier_arrive
PINGPONG-NEXT: ptx.tcgen05_st
PINGPONG-NOT: ptx.special
PINGPONG: ptx.mbarrier_arrive
"""
