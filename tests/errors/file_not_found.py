# RUN: not tilewright compile %t.no.such.file.py --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
# CHECK: error: cannot read '{{.*}}.no.such.file.py': No such file or directory
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    pass
