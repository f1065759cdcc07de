// plan-accumulators writes its decision on the kernel, its loops and their MMAs. place-accumulators carries it out, or reports that it does not fit.
// RUN: tilewright compile %S/chain_partition.py --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=128, N=128' --target cuda:sm_100a --num-warps 4 --num-stages 2 --until plan-accumulators | FileCheck %s
// RUN: tilewright compile %S/chain_partition.py --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=256, N=128' --target cuda:sm_100a --num-warps 8 --num-stages 2 --until plan-accumulators > %t
// RUN: FileCheck %s --check-prefix=ROWS < %t
// RUN: tilewright compile %S/../python/test_chain_partition.py --kernel last_in_place --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,D=64,M=128' --target cuda:sm_100a --num-warps 4 --num-stages 2 --until plan-accumulators | FileCheck %s --check-prefix=IN-PLACE
// RUN: tilewright compile %S/mma_partition.py --kernel persistent --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, M=128, N=128, K=64' --target cuda:sm_100a --num-warps 4 --num-stages 3 --until plan-accumulators | FileCheck %s --check-prefix=SUMS
// RUN: tilewright opt %t --place-accumulators | FileCheck %s --check-prefix=PLACED --implicit-check-not=ttg.mma_p --implicit-check-not=ttg.early_mmas
// RUN: sed 's/rescaled result <256>/rescaled result <64>/' %t > %t.overlap && not tilewright opt %t.overlap --place-accumulators 2>&1 | FileCheck %s --check-prefix=OVERLAP
// RUN: sed 's/early result <0>/late result <0>/' %t > %t.kind && not tilewright opt %t.kind --place-accumulators 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed 's/chains columns 512/chains columns 384/' %t > %t.columns && not tilewright opt %t.columns --place-accumulators 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: sed 's/ttg.warp_specialized}/ttg.operand_registers = 88 : i32, ttg.warp_specialized}/' %t > %t.operands && not tilewright opt %t.operands --place-accumulators 2>&1 | FileCheck %s --check-prefix=OPERANDS
// RUN: tilewright compile %S/mma_partition_scales.py --kernel two_sums --signature '*fp8e4nv:16, *u8:16, *fp8e4nv:16, *u8:16, *fp32:16, *fp32:16, i32:16, i32:16, M=128, K=128' --target cuda:sm_100a --num-warps 4 --num-stages 3 --until plan-accumulators > %t.two
// RUN: FileCheck %s --check-prefix=TWO < %t.two
// RUN: sed '0,/scales 256/s//scales 272/' %t.two > %t.scales && not tilewright opt %t.scales --place-accumulators 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: sed 's/parts .96, 128./parts [96]/' %t > %t.parts && not tilewright opt %t.parts --place-accumulators 2>&1 | FileCheck %s --check-prefix=PARTS

// CHECK: ttg.mma_partition = #ttg.mma_partition<chains columns 512>
// CHECK: ttg.mma_async {{.*}} {ttg.mma_plan = #ttg.mma_plan<early result <0 depth 2>>}
// CHECK: ttg.mma_async {{.*}} {ttg.mma_plan = #ttg.mma_plan<rescaled result <256> operand <384> parts [128] correction 0>}
// CHECK: ttg.early_mmas = #ttg.early_mmas<prefetched>

// ROWS: ttg.mma_partition = #ttg.mma_partition<chains columns 512 row_groups 2>
// ROWS: #ttg.mma_plan<early result <0>>
// ROWS: #ttg.mma_plan<rescaled result <256> operand <0> parts [96, 128] ping_pong true correction 0>
// ROWS: ttg.early_mmas = #ttg.early_mmas<interleaved>

// IN-PLACE: #ttg.mma_plan<early result
// IN-PLACE-COUNT-2: #ttg.mma_plan<in_place result

// SUMS: ttg.mma_partition = #ttg.mma_partition<accumulation columns 256>
// SUMS: #ttg.mma_plan<in_place result <0 depth 2>>

// PLACED: ttg.tensor_alloc 512

// OVERLAP: ttg.mma_partition: two tiles have the same columns
// KIND: ttg.mma_partition: it is the plan of another kernel
// PARTS: ttg.mma_partition: the parts of an operand are not all of it
// COLUMNS: ttg.mma_partition: tensor memory has no allocation of so many columns
// OPERANDS: ttg.mma_partition: a partition computes an operand
// TWO: #ttg.mma_plan<in_place result <0> scales 256>
// TWO: #ttg.mma_plan<in_place result <128> scales 256>
// SCALES: ttg.mma_partition: it is the plan of another kernel
