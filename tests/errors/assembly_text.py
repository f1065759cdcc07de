# RUN: split-file %s %t
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="addl $16, $0"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=CHECK_NUMBER
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="addl $16, $0"' --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=CHECK_NUMBER
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="$"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=END
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="$"' --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=END
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="${"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=END
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="nop $(a$)"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=OTHER
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="movl ${1"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=BRACE
# RUN: not tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="movl ${1:"' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=MODIFIER
# RUN: tilewright compile %t/k.py --kernel k --signature '*i32, TEXT="addl $$16, ${0:k}"' --emit obj -o %t.o

# CHECK_NUMBER: k.py:7:9: error: this assembly cannot be read: there is no operand $16: the last one is $1
# CHECK_NUMBER: help: operands are $0, $1, ..., outputs first; write a '$' of the assembly itself, as before x86 constants, as $$
# END: k.py:7:9: error: this assembly cannot be read: a '$' stands before the end, not before an operand's number
# OTHER: error: this assembly cannot be read: a '$' stands before '(', not before an operand's number
# BRACE: error: this assembly cannot be read: '${' has no '}'
# MODIFIER: error: this assembly cannot be read: a modifier of an operand is one letter, as in ${0:w}

#--- k.py
import triton
import triton.language as tl


@triton.jit
def k(x, TEXT: tl.constexpr):
    y = tl.inline_asm_elementwise(TEXT, "=r,0", [tl.load(x + tl.arange(0, 16))], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + tl.arange(0, 16), y)
