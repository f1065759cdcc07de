# RUN: split-file %s %t
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=m,m"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=CHECK_MEMORY
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=m,m"' --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=CHECK_MEMORY
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=@ccz,r"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=FLAG
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=*r,r"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=INDIRECT
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=f,r"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=X87
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=r,1"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=TIED
# RUN: not tilewright compile %t/k.py --kernel k --signature '*fp64, HOW="=r,0"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=WIDTH
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="r,=r"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=ORDER
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=r,r,~memory"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=CLOBBER
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW=""' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=NONE
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=r"' --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=FEW
# RUN: tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=&r, r, ~{memory}"' --emit obj -o %t.o
# RUN: tilewright compile %t/k.py --kernel k --signature '*i32, HOW="={eax},0"' --emit obj -o %t.o
# RUN: tilewright compile %t/k.py --kernel k --signature '*i32, HOW="=x,m"' --emit obj -o %t.o

# CHECK_MEMORY: k.py:7:9: error: the constraint '=m' of this assembly names no register of this target that can hold i32
# CHECK_MEMORY: help: constraints are named as in LLVM
# FLAG: error: the constraint '=@ccz' of this assembly names no register of this target that can hold i32
# INDIRECT: error: the constraint '=*r' of this assembly names no register of this target that can hold i32
# X87: error: the constraint '=f' of this assembly names no register of this target that can hold i32
# TIED: error: the constraint '1' of this assembly is tied to an output that does not exist
# WIDTH: error: the constraint '0' of this assembly is tied to output 0, which has another size: i32, not f64
# ORDER: error: the constraint '=r' of this assembly is in the wrong order
# CLOBBER: error: the constraint '~memory' of this assembly is not a clobber
# NONE: error: this assembly has 1 output and 1 input operands, but its constraints '' name 0 output and 0 input
# FEW: error: this assembly has 1 output and 1 input operands, but its constraints '=r' name 1 output and 0 input

#--- k.py
import triton
import triton.language as tl


@triton.jit
def k(x, HOW: tl.constexpr):
    y = tl.inline_asm_elementwise("nop", HOW, [tl.load(x + tl.arange(0, 16))], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + tl.arange(0, 16), y)
