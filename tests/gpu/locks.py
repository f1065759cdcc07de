"""Programs accumulate sums under a lock: one thread acquires the lock, and the sums are loaded together with the flag that decides on their use."""
# RUN: tilewright compile %s --kernel add_after_lock --target cuda:sm_90a --until hoist-loads --signature '*fp32:16,*fp32:16,*i32:16,i32' | FileCheck %s --check-prefix=EARLY
# RUN: tilewright compile %s --kernel add_after_lock --target cuda:sm_90a --emit threads --signature '*fp32:16,*fp32:16,*i32:16,i32' | FileCheck %s --check-prefix=SPIN
# RUN: tilewright compile %s --kernel add_after_lock --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,*i32:16,i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel add_after_lock --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,*i32:16,i32:16' | FileCheck %s --check-prefix=LOADS
# RUN: tilewright compile %s --kernel known_without_memory --target cuda:sm_90a --until hoist-loads --signature '*fp32:16,*fp32:16,i32' | FileCheck %s --check-prefix=KNOWN
# RUN: tilewright compile %s --kernel not_stored_after --target cuda:sm_90a --until hoist-loads --signature '*fp32:16,*fp32:16,*i32:16' | FileCheck %s --check-prefix=STORED
# RUN: tilewright compile %s --kernel waits_in_between --target cuda:sm_90a --until hoist-loads --signature '*fp32:16,*fp32:16,*i32:16' | FileCheck %s --check-prefix=WAITS
# RUN: tilewright compile %s --kernel waits_for_flag --target cuda:sm_90a --emit threads --signature '*i32:16,*i32:16' | FileCheck %s --check-prefix=FLAG
# RUN: tilewright run %s --kernel add_after_lock --arg x_ptr=ones:f32[4096] --arg sum_ptr=zeros:f32[512] --arg lock_ptr=zeros:i32[2] --arg n=512 --grid 8 --simulate --out sum_ptr=%t.npy
# RUN: tilewright run %s --kernel add_after_lock --arg x_ptr=ones:f32[4096] --arg sum_ptr=zeros:f32[512] --arg lock_ptr=zeros:i32[2] --arg n=512 --grid 8 --check sum_ptr=%t.npy
# RUN: tilewright compile %s --kernel counts --target cuda:sm_90a --emit threads --signature '*i32:16,*i32:16' | FileCheck %s --check-prefix=COUNTS

import triton
import triton.language as tl

# EARLY: scf.while
# EARLY: %[[COUNT:.*]] = tt.load
# EARLY: %[[OLD:.*]] = tt.load {{.*}}ttg.hoisted
# EARLY: scf.if
# EARLY-NOT: tt.load
# EARLY: arith.addf {{.*}}%[[OLD]]
# EARLY: tt.store

# The other threads wait once, until the lock is acquired.
# SPIN: ptx.barrier
# The program's writes are released once, and the pauses between attempts become shorter.
# SPIN: scf.if
# SPIN-NEXT: ptx.fence gpu
# SPIN-NEXT: scf.while
# SPIN-NEXT: ptx.compare_swap {{.*}}alreadyReleased
# SPIN-NOT: ptx.barrier
# SPIN: scf.condition
# SPIN: ptx.sleep 100
# SPIN: arith.shrui
# SPIN: ptx.barrier

# PTX: fence.acq_rel.gpu
# PTX: atom.global.acquire.gpu.cas
# PTX: nanosleep.u32 100
# LOADS: ld.global.b32
# LOADS: ld.global.v4.b32
# LOADS: bra
# LOADS: bar.sync


@triton.jit
def add_after_lock(x_ptr, sum_ptr, lock_ptr, n, BLOCK: tl.constexpr = 512):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets, mask=mask, other=0.0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(lock_ptr + 1) == 0:
        tl.atomic_xchg(lock_ptr + 1, 1)
    else:
        x += tl.load(sum_ptr + offsets, mask=mask, other=0.0)
    tl.store(sum_ptr + offsets, x, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


# If the condition does not depend on memory, the load stays in its branch.
# KNOWN: scf.if
# KNOWN: tt.load


@triton.jit
def known_without_memory(x_ptr, sum_ptr, first, BLOCK: tl.constexpr = 512):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if first == 0:
        x += tl.load(sum_ptr + offsets)
    tl.store(sum_ptr + offsets, x)


# The memory may not exist.
# STORED-NOT: ttg.hoisted


@triton.jit
def not_stored_after(x_ptr, sum_ptr, flag_ptr, BLOCK: tl.constexpr = 512):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if tl.load(flag_ptr) == 0:
        x += tl.load(sum_ptr + offsets)
    tl.store(sum_ptr + offsets, x, mask=offsets < 100)


# Until the ticket is drawn, another program may be writing the memory that one arm loads.
# WAITS-NOT: ttg.hoisted


@triton.jit
def waits_in_between(x_ptr, sum_ptr, flag_ptr, BLOCK: tl.constexpr = 512):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if tl.load(flag_ptr) == 0:
        x += tl.load(sum_ptr + offsets)
    else:
        while tl.atomic_add(flag_ptr, 0) == 1:
            pass
    tl.store(sum_ptr + offsets, x)


# A wait for a flag changes nothing and must end at once: no pauses, and each attempt has its order.
# FLAG: scf.while
# FLAG-NEXT: ptx.compare_swap acq_rel
# FLAG-NOT: ptx.sleep


@triton.jit
def waits_for_flag(out_ptr, flag_ptr):
    while tl.atomic_cas(flag_ptr, 1, 1) != 1:
        pass
    tl.store(out_ptr, 1)


# The loop's result is used after it, so all threads get it.
# COUNTS: scf.while
# COUNTS: ptx.compare_swap
# COUNTS: ptx.barrier
# COUNTS: scf.condition


@triton.jit
def counts(out_ptr, flag_ptr):
    tries = 0
    while tl.atomic_cas(flag_ptr, 0, 1) == 1:
        tries += 1
    tl.store(out_ptr, tries)
