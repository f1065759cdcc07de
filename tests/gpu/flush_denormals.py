"""exp2 takes one instruction if it may return 0 instead of a denormal. With strict numerics it takes four."""
# RUN: tilewright compile %s --kernel powers --target cuda:sm_90a --signature '*fp32:16, *fp32:16' --until flush-denormals | FileCheck %s --check-prefix=FLUSHED
# RUN: tilewright compile %s --kernel powers --target cuda:sm_90a --signature '*fp32:16, *fp32:16' --numerics strict --emit threads | FileCheck %s --check-prefix=STRICT
# RUN: tilewright compile %s --kernel powers --target cuda:sm_90a --signature '*fp32:16, *fp32:16' --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel powers --target cuda:sm_90a --signature '*fp32:16, *fp32:16' --numerics strict --emit ptx | FileCheck %s --check-prefix=PTX-STRICT

# FLUSHED: ptx.special ex2 %{{.*}} {flushes} : f32
# STRICT: ptx.special ex2 %{{[0-9]+}} : f32
# PTX: ex2.approx.ftz.f32
# PTX-STRICT: ex2.approx.f32
import triton
import triton.language as tl


@triton.jit
def powers(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, tl.exp2(tl.load(x + i)))
