# RUN: split-file %s %t
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT=".rept 30000000; nop; .endr"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=CHECK_REPEAT
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="nop; label:.fill 1000000000"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=FILL
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT=".align 1073741824"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=ALIGN
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT=".p2align 7"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=POWER
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT=".incbin file"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=FILE
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="/**/ .include file"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=INCLUDE
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT=".macro m"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=MACRO
# RUN: tilewright compile %t/k.py --kernel k --signature '*i32, TEXT=".p2align 4; .Lhere${:uid}: .byte 0x90; .align 16"' --emit obj -o %t.o

# CHECK_REPEAT: k.py:7:9: error: inline assembly for CPUs may contain instructions, labels and data, but not '.rept'
# CHECK_REPEAT: help: allowed are .byte, .short, .long, .quad, and .align, .balign and .p2align up to 64 bytes
# FILL: not '.fill'
# ALIGN: not '.align 1073741824'
# POWER: not '.p2align 7'
# FILE: not '.incbin'
# INCLUDE: not '.include'
# MACRO: not '.macro'

#--- k.py
import triton
import triton.language as tl


@triton.jit
def k(x, TEXT: tl.constexpr):
    y = tl.inline_asm_elementwise(TEXT, "=r,0", [tl.load(x + tl.arange(0, 16))], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + tl.arange(0, 16), y)
