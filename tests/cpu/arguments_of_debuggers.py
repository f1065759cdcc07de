# RUN: env TILEWRIGHT_DEBUG_INFO=1 tilewright compile %s --kernel copy --signature "*fp32:16,*fp32:16,i32,128" --target cpu:avx2 --emit obj -o %t.o
# RUN: llvm-dwarfdump --debug-info %t.o | FileCheck %s

# Pointers and integers stay where the caller put them, so one expression locates each of them wherever a program stops, without a range list.
# CHECK: DW_TAG_formal_parameter
# CHECK-NEXT: DW_AT_location (DW_OP_fbreg
# CHECK-NEXT: DW_AT_name ("x_ptr")
# CHECK: DW_AT_location (DW_OP_fbreg
# CHECK-NEXT: DW_AT_name ("out_ptr")
# CHECK: DW_AT_location (DW_OP_fbreg
# CHECK-NEXT: DW_AT_name ("n")
# A tile that is never complete in memory has a name but no location.
# CHECK: DW_TAG_variable
# CHECK-NEXT: DW_AT_name ("at")
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)
