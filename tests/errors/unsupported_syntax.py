# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel rest --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=REST
# RUN: not tilewright compile %s --kernel grows --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=GROWS
# RUN: not tilewright compile %s --kernel imports --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=IMPORTS
# RUN: not tilewright compile %s --kernel ranges --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=RANGES
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:5: error: 'try' is not supported in a kernel
    try:
        pass
    except:
        pass


@triton.jit
def rest(x_ptr):
    # REST: :[[#@LINE+1]]:12: error: a target with '*' is not supported in a kernel
    first, *others = (1, 2, 3)


@triton.jit
def grows(x_ptr):
    items = [1]
    # GROWS: :[[#@LINE+2]]:11: error: changing a list is not supported in a kernel
    # GROWS: help: a list is immutable here: write 'x = x + [y]'
    items.append(tl.program_id(0))


@triton.jit
def imports(x_ptr):
    # IMPORTS: :[[#@LINE+2]]:5: error: 'import' is not supported in a kernel
    # IMPORTS: help: write it at the top of the file
    import math


@triton.jit
def ranges(x_ptr):
    # RANGES: :[[#@LINE+2]]:9: error: tl.range outside a 'for' is not supported in a kernel
    # RANGES: help: write 'for i in tl.range(...):'
    i = tl.range(0, 3)
