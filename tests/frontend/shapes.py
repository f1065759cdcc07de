# RUN: tilewright compile %s --kernel k --signature '*fp32' --emit tt | FileCheck %s
# Shape builtins and their results.
import triton
import triton.language as tl
from triton.language.extra import libdevice


# CHECK-LABEL: tt.func public @k(
@triton.jit
def k(x_ptr):
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    # CHECK: tt.reshape {{.*}} : tensor<64xf32> -> tensor<8x8xf32>
    # CHECK: tt.trans {{.*}} {order = array<i32: 1, 0>}
    m = x.reshape(8, 8).T
    # CHECK: "tt.reduce"
    s = m.sum(0, keep_dims=True)
    # CHECK: tt.join
    j = tl.join(m, tl.abs(m))
    # CHECK: "tt.scan"
    c = tl.cumsum(tl.ravel(j), 0)
    # CHECK: tt.histogram {{.*}} -> tensor<16xi32>
    h = tl.histogram(offs, 16)
    # CHECK: tt.gather
    g = tl.gather(x, offs, 0)
    # CHECK: tt.extern_elementwise {{.*}}symbol = "__nv_tanhf"
    t = libdevice.tanh(g)
    tl.store(x_ptr + tl.arange(0, 128), c)
    tl.store(x_ptr + tl.arange(0, 16), h)
    tl.store(x_ptr + offs, t + (m + s).reshape(64))
