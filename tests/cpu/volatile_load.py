# RUN: tilewright compile %s --kernel wait --signature '*i32,*i32' --target cpu:avx2 --emit asm | FileCheck %s
# RUN: tilewright compile %s --kernel wait_for_any --signature '*i32,*i32' --target cpu:avx2 --emit asm | FileCheck %s --check-prefix=TILE
# RUN: tilewright compile %s --kernel read_twice --signature '*i32,*i32' --target cpu:avx2 --emit asm | FileCheck %s --check-prefix=TWICE
import triton
import triton.language as tl


# The load stays in the loop, and the loop stays.
# CHECK-LABEL: wait.program:
# CHECK: [[LOOP:.LBB[0-9]+_[0-9]+]]:
# CHECK: cmpl $0, (%{{[a-z]+}})
# CHECK: je [[LOOP]]
@triton.jit
def wait(out, flag):
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(out, 1)


# A volatile tile is still read by vectors.
# TILE-LABEL: wait_for_any.program:
# TILE: [[LOOP:.LBB[0-9]+_[0-9]+]]:
# TILE: {{vmovdqu|vmovups|vpaddd}} {{[0-9]*}}(%{{[a-z]+}}){{.*}}, %ymm
# TILE: je [[LOOP]]
@triton.jit
def wait_for_any(out, flags):
    while tl.sum(tl.load(flags + tl.arange(0, 16), volatile=True)) == 0:
        pass
    tl.store(out, 1)


# TWICE-LABEL: read_twice.program:
# TWICE: movl (%[[AT:[a-z]+]]), %
# TWICE: {{(movl|subl|addl)}} (%[[AT]])
@triton.jit
def read_twice(out, count):
    tl.store(out, tl.load(count, volatile=True) - tl.load(count, volatile=True))
