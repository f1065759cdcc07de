// The schedule of a loop is an attribute, which is read back from its text. pipeline-loops rewrites the loop by it.
// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: tilewright opt %t.mlir --pipeline-loops -o %t.again.mlir
// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops -o %t.at_once.mlir
// RUN: diff %t.again.mlir %t.at_once.mlir
// RUN: FileCheck %s --input-file %t.again.mlir --check-prefix=PIPELINED

// A branch may belong to the second of two chained dots.
// RUN: tilewright compile %S/../run/test_warp_specialization.py --kernel branching_kernel --target cuda:sm_90a --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32,64,128,128' --until schedule-loops > %t.branch.mlir
// RUN: FileCheck %s --check-prefix=BRANCH < %t.branch.mlir
// BRANCH: policy "chained-dots" requested 2 index_stage 1
// BRANCH-SAME: ops [<1 : stage 0 order 0 partition producer>, <2 : stage 0 order 1 partition producer>
// BRANCH-SAME: stage 2 order

// The producer fills circular buffers in the order of the schedule.
// RUN: sed 's/<1 : stage 0 order 0/<1 : stage 0 order 2/' %t.branch.mlir | tilewright opt - --pipeline-loops -o %t.swapped.mlir
// RUN: tilewright opt %t.branch.mlir --pipeline-loops | FileCheck %s --check-prefix=FILLED
// RUN: FileCheck %s --check-prefix=SWAPPED < %t.swapped.mlir
// RUN: sed 's/<2 : stage 0 order 1/<2 : stage 0 order 0/' %t.branch.mlir > %t.same.mlir
// RUN: not tilewright opt %t.same.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=SAME
// FILLED: ttg.tma_load %arg6[{{.*}}partition<producer>
// FILLED: ttg.tma_load %arg7[{{.*}}partition<producer>
// SWAPPED: ttg.tma_load %arg7[{{.*}}partition<producer>
// SWAPPED: ttg.tma_load %arg6[{{.*}}partition<producer>
// SAME: its schedule is invalid: two buffers have the same order of copies

// A second loop goes on with the circular buffers of the first one, which the schedule names.
// RUN: tilewright compile %S/../run/test_warp_specialization.py --kernel attention_kernel --target cuda:sm_90a --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32,64,128,128' --until schedule-loops > %t.two.mlir
// RUN: FileCheck %s --check-prefix=TWO < %t.two.mlir
// RUN: sed 's/continues 0/continues 1/' %t.two.mlir > %t.inner.mlir
// RUN: not tilewright opt %t.inner.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=INNER
// RUN: sed 's/depth 2 writers \[\([89]\)\]/depth 3 writers [\1]/g' %t.two.mlir > %t.deeper.mlir
// RUN: not tilewright opt %t.deeper.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=DEEPER
// TWO-COUNT-1: continues 0
// INNER: no loop before it has the number 1
// DEEPER: its schedule is invalid: the loop before it does not leave such circular buffers

// What a schedule says is checked, whoever wrote it.
// RUN: sed 's/depth 3 writers/depth 1 writers/' %t.mlir > %t.one.mlir
// RUN: tilewright opt %t.one.mlir --pipeline-loops | FileCheck %s --check-prefix=ONE
// RUN: sed 's/stage 0 order 2/stage 0 order 0/g; s/release 2/release 0/' %t.mlir > %t.early.mlir
// RUN: not tilewright opt %t.early.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/<1 : stage 0/<1 : stage 2/; s/<2 : stage 0/<2 : stage 2/' %t.mlir > %t.late.mlir
// RUN: not tilewright opt %t.late.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: sed 's/distance 1/distance 2/' %t.mlir > %t.edge.mlir
// RUN: not tilewright opt %t.edge.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=EDGE
// RUN: sed 's/writers \[1, 2\]/writers [1, 9]/' %t.mlir > %t.writer.mlir
// RUN: not tilewright opt %t.writer.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=WRITER
// RUN: sed 's/writers \[1, 2\]/writers [1, 3]/' %t.mlir > %t.kind.mlir
// RUN: not tilewright opt %t.kind.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed 's/<3 : stage/<8 : stage/' %t.mlir > %t.id.mlir
// RUN: not tilewright opt %t.id.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=ID
// RUN: sed 's/<1 : stage 0 order 2/<1 : stage 0 order 0/' %t.mlir > %t.mixed.mlir
// RUN: not tilewright opt %t.mixed.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: sed 's/<1 : stage 0 order 2/<1 : stage 0 order 1/' %t.mlir > %t.order.mlir
// RUN: not tilewright opt %t.order.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/release 2>/release 2 first_warp true>/' %t.mlir > %t.first.mlir
// RUN: not tilewright opt %t.first.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: sed 's/distance 1>\]/distance 1>] continues 5/' %t.mlir > %t.next.mlir
// RUN: not tilewright opt %t.next.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=NEXT
// RUN: sed 's/distance 1>\]/distance 1>] stores_in_flight true stores_per_warp_group true/' %t.mlir > %t.rows.mlir
// RUN: not tilewright opt %t.rows.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/ops \[/ops [<3 : stage 2 order 3 partition consumers>, /' %t.mlir > %t.twice.mlir
// RUN: not tilewright opt %t.twice.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/writers \[1, 2\]/writers [1, 1]/' %t.mlir > %t.shared.mlir
// RUN: not tilewright opt %t.shared.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/<1 : stage 0 order 2/<1 : stage 0 order 3/' %t.mlir > %t.after.mlir
// RUN: not tilewright opt %t.after.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: sed 's/depth 3/depth 4294967296/' %t.mlir > %t.deep.mlir
// RUN: not tilewright opt %t.deep.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: sed 's/distance 1>\]/distance 1>, <3 -> 3 distance 1>]/' %t.mlir > %t.edges.mlir
// RUN: not tilewright opt %t.edges.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=EDGES
// RUN: sed 's/writers \[1, 2\]/writers [1]/' %t.mlir > %t.alone.mlir
// RUN: not tilewright opt %t.alone.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed 's/distance 1>\]/distance 1>] operand_plan <release 0>/' %t.mlir > %t.plan.mlir
// RUN: not tilewright opt %t.plan.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: sed 's/<1 : stage 0 order 2 partition consumers>/<1 : stage 0 order 2 partition operands>/' %t.mlir > %t.operands.mlir
// RUN: not tilewright opt %t.operands.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=OPERANDS
// RUN: sed 's/<3 : stage 2 order 1 partition consumers>/<3 : stage 2 order 1 partition producer>/' %t.mlir > %t.producer.mlir
// RUN: not tilewright opt %t.producer.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=PRODUCER
// RUN: sed 's/<3 : stage 2/<3 : stage -9223372036854775808/' %t.mlir > %t.stage.mlir
// RUN: not tilewright opt %t.stage.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: sed 's/release 2>/release 2 multicast [7]>/' %t.mlir > %t.cluster.mlir
// RUN: not tilewright opt %t.cluster.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: sed 's/buffers \[<tma/buffers [<copy_async/' %t.mlir > %t.async.mlir
// RUN: not tilewright opt %t.async.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=ASYNC
// OPERANDS: a partition computes an operand without a plan
// PRODUCER: operation 3 is not of this partition
// STAGE: no loop has the stage -9223372036854775808
// CLUSTER: CTAs share a copy that does not fill this buffer
// ASYNC: operation 1 does not fill this buffer
// ONE-NOT: ttg.tma_load
// TWICE: operation 3 is listed twice
// SHARED: operation 1 fills two buffers
// AFTER: operation 1 fills a buffer, so nothing stands after it
// DEEP: its schedule is invalid: an i32 does not hold the index of a stage
// EDGES: its schedule is invalid: an MMA has two edges
// ALONE: its schedule is invalid: an MMA in flight reads a buffer of one stage
// PLAN: its schedule is invalid: a partition has no plan, or a plan has no partition
// MIXED: operation 2 does not fill this buffer together with the others
// ORDER: two operations have the order 1
// FIRST: its schedule is invalid: warps that do not wait for a copy read it
// NEXT: no loop before it has the number 5
// ROWS: its schedule is invalid: a warp group does not store rows that it alone holds
// EARLY: its schedule is invalid: a stage is released while it is still being read
// LATE: its schedule is invalid: a copy is started after it is waited for
// EDGE: an edge needs an MMA, and an MMA or a wait of the next iteration that ends it
// WRITER: operation 9 does not fill this buffer
// KIND: operation 3 does not fill this buffer
// ID: the loop has no operation, or several, with the number 8

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// CHECK: #schedule = #ttg.loop_schedule<policy "gemm" requested 3 index_stage 2
// CHECK-SAME: ops [<1 : stage 0 order 2 partition consumers>, <2 : stage 0 order 2 partition consumers>, <3 : stage 2 order 1 partition consumers>]
// CHECK-SAME: buffers [<tma depth 3 writers [1, 2] release 2>] edges [<3 -> 3 distance 1>]>

// CHECK: scf.for
// CHECK: ttg.descriptor_load {{.*}} ttg.id = 1
// CHECK: ttg.descriptor_load {{.*}} ttg.id = 2
// CHECK: ttg.mma_async {{.*}}ttg.id = 3
// CHECK: } {ttg.id = 0 : i64, ttg.loop_schedule = #schedule}

// PIPELINED-COUNT-4: ttg.tma_load
// PIPELINED: scf.for
// PIPELINED: ttg.barrier_wait
// PIPELINED: ttg.mma_async
// PIPELINED-NEXT: ttg.mma_async_wait 1
// PIPELINED-NOT: ttg.cta_barrier
// PIPELINED-COUNT-2: ttg.tma_load
// PIPELINED-NOT: ttg.id
tt.func public @matmul(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %b = ttg.descriptor_load %x[%c0, %k] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
