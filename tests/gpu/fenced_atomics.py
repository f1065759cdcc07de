# Atomic operations on a tile: one fence before all elements of a thread and one after them order them; 16 contiguous bytes are one operation.
# RUN: tilewright compile %s --kernel k --signature '*fp32:16, *fp32:16, "acq_rel", 1024' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=BOTH
# RUN: tilewright compile %s --kernel k --signature '*fp32:16, *fp32:16, "release", 1024' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=RELEASE
# RUN: tilewright compile %s --kernel k --signature '*fp32:16, *fp32:16, "acquire", 1024' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=ACQUIRE
# RUN: tilewright compile %s --kernel k --signature '*fp32:16, *fp32:16, "relaxed", 1024' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=RELAXED
# RUN: tilewright compile %s --kernel k --signature '*fp32:16, *fp32:16, "acq_rel", 512' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=ONE
# RUN: tilewright run %s --kernel k --arg x=arange:f32[1024] --arg y=ones:f32[1024] --arg SEM='"acq_rel"' --arg B=1024 --grid 3 --simulate --out y=%t.npy
# RUN: tilewright run %s --kernel k --arg x=arange:f32[1024] --arg y=ones:f32[1024] --arg SEM='"acq_rel"' --arg B=1024 --grid 3 --check y=%t.npy
# RUN: tilewright compile %s --kernel k --signature '*fp16:16, *fp16:16, "relaxed", 1024' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=HALVES
# RUN: tilewright compile %s --kernel k --signature '*fp16:16, *fp16:16, "relaxed", 1024' --target cuda:sm_80 --emit ptx | FileCheck %s --check-prefix=PAIRS
# RUN: tilewright compile %s --kernel k --signature '*fp32:16, *fp32:16, "relaxed", 1024' --target cuda:sm_80 --emit ptx | FileCheck %s --check-prefix=SINGLE
import triton
import triton.language as tl


# BOTH: fence.acq_rel.gpu
# BOTH-COUNT-2: atom.global.gpu.relaxed.add.v4.f32
# BOTH: fence.acq_rel.gpu
# RELEASE: fence.acq_rel.gpu
# RELEASE-COUNT-2: atom.global.gpu.relaxed.add.v4.f32
# RELEASE-NOT: fence.acq_rel.gpu
# ACQUIRE-NOT: fence.acq_rel.gpu
# ACQUIRE-COUNT-2: atom.global.gpu.relaxed.add.v4.f32
# ACQUIRE: fence.acq_rel.gpu
# RELAXED-NOT: fence.acq_rel.gpu
# RELAXED-COUNT-2: atom.global.gpu.relaxed.add.v4.f32
# RELAXED-NOT: fence.acq_rel.gpu
# ONE-NOT: fence.acq_rel.gpu
# ONE: atom.global.gpu.acq_rel.add.v4.f32
# ONE-NOT: fence.acq_rel.gpu
# HALVES: atom.global.gpu.relaxed.add.noftz.v4.f16x2
# HALVES-NOT: atom.global
# PAIRS-COUNT-4: atom.global.gpu.relaxed.add.noftz.f16x2
# PAIRS-NOT: atom.global
# SINGLE-COUNT-8: atom.global.gpu.relaxed.add.f32
@triton.jit
def k(x, y, SEM: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(y + i, tl.load(x + i), sem=SEM)
