"""RUN: tilewright explain %S/../run/test_loaded_addresses.py --kernel blocks_kernel --target cuda:sm_90a --num-stages 3 \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=BLOCKS
RUN: tilewright explain %S/../run/test_loaded_addresses.py --kernel pages_kernel --target cuda:sm_90a --num-stages 3 \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=PAGES
RUN: tilewright explain %S/../run/test_loaded_addresses.py --kernel linked_kernel --target cuda:sm_80 --num-stages 3 \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=BLOCKS
RUN: tilewright explain %S/../run/test_loaded_addresses.py --kernel written_kernel --target cuda:sm_90a --num-stages 3 \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=WRITTEN
RUN: tilewright compile %S/../run/test_loaded_addresses.py --kernel pages_kernel --target cuda:sm_90a --num-stages 3 --until pipeline-loops \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=MASKED
RUN: tilewright compile %S/../run/test_loaded_addresses.py --kernel pages_kernel --target cuda:sm_90a --num-stages 3 --until pipeline-loops \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=SHARED
RUN: tilewright compile %S/../run/test_loaded_addresses.py --kernel linked_kernel --target cuda:sm_80 --num-stages 4 --until pipeline-loops \
RUN:   --signature '*fp16:16,*fp16:16,*i32:16,*fp32:16,i32,i32,64' | FileCheck %s --check-prefix=CARRIED

Scalars from which addresses are computed are loaded for the iteration that needs the address, if there is one, and if the loop does not write them.

BLOCKS: 3 stages of 16384 bytes: 64x64 f16 by cp.async, 64x64 f16 by cp.async
BLOCKS: list_ptr and out_ptr do not overlap
PAGES: 3 stages of 16384 bytes: 64x64 f16 by TMA, 64x64 f16 by TMA
WRITTEN: no loads are copied: none
WRITTEN: not prefetched: the loop may write what its address is loaded
MASKED: scf.for
MASKED: [[ENTRY:%.*]] = tt.addptr %list_ptr
MASKED: [[ROOM:%.*]] = arith.subi %count
MASKED: [[EXISTS:%.*]] = arith.cmpi ugt, [[ROOM]]
MASKED: tt.load [[ENTRY]], [[EXISTS]]
MASKED: ttg.tma_load

The two copies of an iteration share the load of their address.

SHARED-COUNT-2: tt.load
SHARED-NOT: tt.load
SHARED: scf.for

A list's block three iterations later is carried: an iteration loads one entry for it, and one for its own block.

CARRIED: scf.for
CARRIED-COUNT-2: tt.load
CARRIED-NOT: tt.load
CARRIED: scf.yield
"""
