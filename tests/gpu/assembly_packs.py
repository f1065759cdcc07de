"""Inline assembly gets contiguous elements of a row in any layout of the tile, because its result for one element may depend on the other ones."""
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ttg --signature 'x=*u8:16,y=*u8:16' | FileCheck %s --check-prefix=COLUMNS
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --emit ttg --signature 'x=*u8:16,y=*u8:16' | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel masked --target cuda:sm_90a --emit ptx --signature 'x=*u8:16,y=*u8:16' | FileCheck %s --check-prefix=MASKED
# RUN: tilewright compile %s --kernel addresses --target cuda:sm_90a --emit ptx --signature 'x=*u8:16,y=*u8:16' | FileCheck %s --check-prefix=ADDRESSES

import triton
import triton.language as tl


@triton.jit
def reversed_bytes(tile):
    return tl.inline_asm_elementwise("prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [tile], dtype=tl.uint8, is_pure=True, pack=4)


# Both accesses are contiguous along columns: the tile's layout is converted before and after the assembly.
# COLUMNS-DAG: #[[PACKED:layout[0-9]*]] = #ttg.layout<64x64, reg {{\[\[}}0, 1], [0, 2], [
# COLUMNS: ttg.convert_layout
# COLUMNS: elementwise_inline_asm {{.*}} -> tensor<64x64xi8, #[[PACKED]]>
# COLUMNS: ttg.convert_layout
@triton.jit
def columns(x, y):
    i = tl.arange(0, 64)
    at = i[:, None] + 64 * i[None, :]
    tl.store(y + at, reversed_bytes(tl.load(x + at)))


# ROWS-NOT: ttg.convert_layout
# ROWS: elementwise_inline_asm
# ROWS-NOT: ttg.convert_layout
@triton.jit
def rows(x, y):
    i = tl.arange(0, 64)
    at = 64 * i[:, None] + i[None, :]
    tl.store(y + at, reversed_bytes(tl.load(x + at)))


@triton.jit
def one_of_four(i):
    """The first of four equal elements, and three zeros."""
    return tl.inline_asm_elementwise("prmt.b32 $0, $1, 0, 0x4440;", "=r,r", [(i // 4).to(tl.uint8)], dtype=tl.uint8, is_pure=True, pack=4)


# Equal operands give different results within a pack: four elements have four masks, and four addresses.
# MASKED-COUNT-4: st.global.b8
@triton.jit
def masked(x, y):
    i = tl.arange(0, 512)
    tl.store(y + i, tl.load(x + i), mask=one_of_four(i) > 0)


# ADDRESSES-COUNT-4: ld.global.b8
@triton.jit
def addresses(x, y):
    i = tl.arange(0, 512)
    tl.store(y + i, tl.load(x + one_of_four(i)))
