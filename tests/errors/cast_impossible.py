# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: pointer<fp32> cannot be converted to fp32
    x = x_ptr.to(tl.float32)


# RUN: not tilewright compile %s --kernel block --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=BLOCK
@triton.jit
def block(x_ptr):
    # BLOCK: :[[#@LINE+1]]:{{[0-9]+}}: error: pointer<fp32> cannot be converted to pointer<<['16'], fp32>>
    p = x_ptr.to(tl.pointer_type(tl.block_type(tl.float32, [16])))
    tl.store(p, tl.load(p))


# RUN: not tilewright compile %s --kernel address --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=ADDRESS
@triton.jit
def address(x_ptr):
    p = tl.make_block_ptr(x_ptr, (16, ), (1, ), (0, ), (16, ), (0, ))
    # ADDRESS: :[[#@LINE+1]]:{{[0-9]+}}: error: pointer<<['16'], fp32>> cannot be converted to int64
    tl.store(x_ptr, p.to(tl.int64).to(tl.float32))
