"""Loads of operands that TMA cannot perform have the reason as an attribute; the other loads next to them use TMA."""
# RUN: tilewright compile %s --kernel addresses --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16,out=*fp32,index=*i32,n=i32,sn=i32:16,sh=i32:16,odd=i32' | FileCheck %s --check-prefix=ADDRESS
# RUN: tilewright compile %s --kernel masks --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,out=*fp32,limit=*i32,n=i32,m=i32,sn=i32:16' | FileCheck %s --check-prefix=MASK
# RUN: tilewright compile %s --kernel in_place --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,sn=i32:16' | FileCheck %s --check-prefix=PLACE
# RUN: tilewright compile %s --kernel in_place --target cuda:sm_80 --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,sn=i32:16' | FileCheck %s --check-prefix=OLD
# RUN: tilewright compile %s --kernel through_table --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,table=*i64:16' | FileCheck %s --check-prefix=TABLE
# RUN: tilewright compile %s --kernel taken --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,out=*fp32,index=*i32,n=i32,sn=i32:16,sh=i32:16,sb=i32:16' | FileCheck %s --check-prefix=TAKEN

# RUN: tilewright compile %s --kernel large --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,out=*fp32:16,sn=i32:16' | FileCheck %s --check-prefix=LARGE
# RUN: tilewright compile %s --kernel halves --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,out=*fp16:16,n=i32:16,sn=i32:16' | FileCheck %s --check-prefix=HALVES
# RUN: tilewright compile %s --kernel once --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,out=*fp32:16' | FileCheck %s --check-prefix=ONCE
# RUN: tilewright compile %s --kernel halves --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,out=*fp16:16,n=i32:16,sn=i32:16' | FileCheck %s --check-prefix=APART

import triton
import triton.language as tl


@triton.jit
def add(total, tile):
    return tl.dot(tile, tile, total)


@triton.jit
def write(out, total):
    i = tl.arange(0, 64)
    tl.store(out + i[:, None] * 64 + i[None, :], total)


@triton.jit
def addresses(a, b, out, index, n, sn, sh, odd):
    i = tl.arange(0, 64)
    rows, cols = i[:, None], i[None, :]
    pid = tl.program_id(0)
    total = tl.zeros((64, 64), tl.float32)
    # ADDRESS: text = "no tensor map: odd is not known to be a multiple of 16 bytes"
    total = add(total, tl.load(a + rows * odd + cols))
    # ADDRESS: text = "no tensor map: 100 is not known to be a multiple of 16 bytes"
    total = add(total, tl.load(a + rows * 100 + cols))
    # ADDRESS: text = "no tensor map: b is not known to be a multiple of 16 bytes"
    total = add(total, tl.load(b + rows * sn + cols))
    # ADDRESS: text = "no tensor map: none of its dimensions is contiguous"
    total = add(total, tl.load(a + rows * sn + cols * 2))
    # ADDRESS: text = "no tensor map: two of its dimensions are contiguous"
    total = add(total, tl.load(a + rows + cols))
    # ADDRESS: text = "no tensor map: the stride of dimension 0 is computed in the kernel"
    total = add(total, tl.load(a + rows * (sn // 2 * 8) + cols))
    # ADDRESS: text = "no tensor map: the stride of dimension 0 may be negative"
    total = add(total, tl.load(a - rows * sn + cols))
    # ADDRESS: text = "no tensor map: all elements along dimension 0 are at one address"
    total = add(total, tl.load(a + rows * 0 + cols))
    # ADDRESS: text = "no tensor map: indices come from memory"
    total = add(total, tl.load(a + tl.load(index + i)[:, None] * sn + cols))
    # ADDRESS: text = "no tensor map: an index is the result of a division"
    total = add(total, tl.load(a + rows // 2 * sn + cols))
    # ADDRESS: text = "no tensor map: an index is the result of a modulo"
    total = add(total, tl.load(a + rows % n * sn + cols))
    # ADDRESS: text = "no tensor map: an index is multiplied by an index"
    total = add(total, tl.load(a + rows * sn + cols * cols))
    # ADDRESS: text = "no tensor map: its start in dimension 0 may be negative"
    total = add(total, tl.load(a + (rows - pid * 64) * sn + cols))
    # ADDRESS: text = "no tensor map: odd is not known to be a multiple of 16 bytes"
    total = add(total, tl.load(a + pid * odd + rows * sn + cols))
    # ADDRESS: text = "no tensor map: it needs a tensor map of 6 dimensions; the maximum is 5"
    total = add(total, tl.load(a + pid * sh + pid * n * 8 + pid * odd * 8 + pid * odd * sh + rows * sn + cols))
    # ADDRESS: text = "no tensor map: it is volatile"
    total = add(total, tl.load(a + rows * sn + cols, volatile=True))
    # ADDRESS: text = "no tensor map: out is not known to be a multiple of 16 bytes"
    write(out, total)


@triton.jit
def masks(a, out, limit, n, m, sn):
    i = tl.arange(0, 64)
    rows, cols = i[:, None], i[None, :]
    pid = tl.program_id(0)
    total = tl.zeros((64, 64), tl.float32)
    tile = a + rows * sn + cols
    # MASK: text = "no tensor map: elements outside its mask are not 0"
    total = add(total, tl.load(tile, mask=rows < n, other=1.0))
    # MASK: text = "no tensor map: its mask has two bounds in dimension 0"
    total = add(total, tl.load(tile, mask=(rows < n) & (rows < m)))
    # MASK: text = "no tensor map: its mask compares indices of two dimensions"
    total = add(total, tl.load(tile, mask=rows < cols))
    # MASK: text = "no tensor map: its mask compares a multiple of an index"
    total = add(total, tl.load(tile, mask=2 * rows < n))
    # If a condition for the whole tile is false, the tile moves out of the tensor (the select before the copy).
    total = add(total, tl.load(tile, mask=(rows < n) & (pid != m)))
    # MASK: text = "no tensor map: its mask is not made of comparisons of indices with bounds"
    total = add(total, tl.load(tile, mask=(rows < n) | (cols < m)))
    # MASK: text = "no tensor map: in its mask, an index is the result of a modulo"
    total = add(total, tl.load(tile, mask=rows % 2 < n))
    # The bound implies that row 0 is the tensor's row pid; the address implies row 0.
    # MASK: text = "no tensor map: the bound of dimension 0 is computed in the kernel or does not match the address"
    total = add(total, tl.load(tile, mask=pid * 64 + rows < n))
    # MASK: text = "no tensor map: in its mask, an index may leave the range of its 32 bits: n - (a loaded value)"
    # MASK: arith.select
    # MASK: ttg.tma_load
    total = add(total, tl.load(tile, mask=rows < n - tl.load(limit)))
    for k in range(m):
        total = add(total, tl.load(tile + 64 * k))
    write(out, total)


@triton.jit
def large(a, out, sn):
    m, k, n = tl.arange(0, 512), tl.arange(0, 16), tl.arange(0, 16)
    # LARGE: text = "no tensor map: its tile does not fit a TMA box"
    x = tl.load(a + m[:, None] * sn + k[None, :])
    total = tl.zeros((512, 16), tl.float32)
    for i in range(sn):
        total = tl.dot(x, tl.load(a + (16 * i + k[:, None]) * sn + n[None, :]), total)
    # LARGE: text = "no tensor map: its tile does not fit a TMA box"
    # LARGE: ttg.tma_load
    tl.store(out + m[:, None] * sn + n[None, :], total)


@triton.jit
def in_place(a, b, c, sn):
    i = tl.arange(0, 64)
    tile = i[:, None] * sn + i[None, :]
    # OLD-NOT: descriptor
    # PLACE: text = "no tensor map: the kernel writes to a"
    x = tl.load(a + tile)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(sn):
        total = tl.dot(x, tl.load(b + 64 * k + tile), total)
    product = total.to(tl.float16)
    # PLACE: text = "no tensor map: the kernel also reads a"
    tl.store(a + tile, product)
    # PLACE: text = "no tensor map: the kernel writes to c by several stores, which may overlap"
    # PLACE: text = "no tensor map: the kernel writes to c by several stores, which may overlap"
    # PLACE: ttg.tma_load
    tl.store(c + tile, product)
    tl.store(c + 4096 + tile, product)


@triton.jit
def through_table(a, table):
    i = tl.arange(0, 64)
    tile = i[:, None] * 64 + i[None, :]
    # TABLE: text = "no tensor map: the kernel writes through pointers whose tensor is unknown"
    # TABLE: text = "no tensor map: its base is not an argument of the kernel"
    x = tl.load(a + tile)
    y = tl.load(tl.load(table).to(tl.pointer_type(tl.float16)) + tile)
    # TABLE: text = "no tensor map: its base is not an argument of the kernel"
    tl.store(tl.load(table + 1).to(tl.pointer_type(tl.float32)) + tile, tl.dot(x, y))


@triton.jit
def taken(a, out, index, n, sn, sh, sb):
    i = tl.arange(0, 64)
    rows, cols = i[:, None], i[None, :]
    pid, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    total = tl.zeros((64, 64), tl.float32)
    # Heads and batches are separate dimensions, columns may be contiguous, and a program's start belongs to the
    # dimension with the same stride.
    # TAKEN: base = 0, offset = [], dims = {{\[\[\]}}, [array<i64: 1, 3>], [], []], strides = {{\[\[}}array<i64: 1, 4>], [array<i64: 1, 5>], [array<i64: 1, 6>]]
    # TAKEN: ttg.tma_load
    for k in range(n):
        total = add(total, tl.load(a + (pid * 64 + cols) * sn + head * sh + batch * sb + rows, mask=pid * 64 + cols < n))
    write(out, total)


# Two stores to one tensor are disjoint if its rows are.
# APART: assumes: -1*n + sn >= 0
@triton.jit
def halves(a, out, n, sn):
    i, half = tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(n):
        total = add(total, tl.load(a + i[:, None] * 64 + i[None, :]))
    left, right = total.to(tl.float16).reshape(64, 2, 32).permute(0, 2, 1).split()
    # HALVES: ttg.tma_store {{.*}} to
    # HALVES: ttg.tma_store {{.*}} to
    tl.store(out + i[:, None] * sn + half[None, :], left, mask=(half < n)[None, :])
    tl.store(out + i[:, None] * sn + (half + 32)[None, :], right, mask=(half + 32 < n)[None, :])


# Each launch creates a map, and each CTA prefetches it. That does not pay off for tiles that are copied once.
# ONCE-NOT: tma
# ONCE-COUNT-2: text = "no tensor map: no loop loads tiles that TMA could prefetch"
# ONCE-NOT: tma
@triton.jit
def once(a, out):
    i = tl.arange(0, 64)
    write(out, add(tl.zeros((64, 64), tl.float32), tl.load(a + i[:, None] * 64 + i[None, :])))
