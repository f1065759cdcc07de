// Part of the ptx dialect: the fifth generation of tensor cores (tcgen05) with tensor memory, and cluster launch control.
//
// Tensor memory of a CTA has 512 columns of 128 lanes of 32 bits. An address is an i32: the lane in the upper 16 bits, the column in the
// lower 16. docs/stages/gpu_blackwell.md describes the layouts and the order between these operations; sources are sections of chapter
// 9.7.16 of the PTX ISA 9.1.
//
// `ctaGroup` is the number of CTAs of an operation; all operations of a kernel have the same. With 2, the two CTAs of a cluster whose ranks
// differ in the lowest bit form a pair. One thread of the pair executes mma, cp, shift and commit; one warp of each CTA executes alloc,
// dealloc and relinquish; all other operations are those of one CTA.
#ifndef TILEWRIGHT_TCGEN05_TD
#define TILEWRIGHT_TCGEN05_TD

def Ptx_TensorShape : PtxEnum<"TensorShape", "lanes and bits of a row that ld and st move",
                              [I32EnumAttrCase<"m32x32b", 0>, I32EnumAttrCase<"m16x64b", 1>, I32EnumAttrCase<"m16x128b", 2>,
                               I32EnumAttrCase<"m16x256b", 3>, I32EnumAttrCase<"m16x32bx2", 4>]>;
def Ptx_TensorCopy : PtxEnum<"TensorCopy", "lanes and bits of a row that cp copies, and to which warps' lanes",
                             [I32EnumAttrCase<"m128x256b", 0>, I32EnumAttrCase<"m4x256b", 1>, I32EnumAttrCase<"m128x128b", 2>,
                              I32EnumAttrCase<"m64x128b_02_13", 3>, I32EnumAttrCase<"m64x128b_01_23", 4>, I32EnumAttrCase<"m32x128b", 5>]>;
def Ptx_TensorSource : PtxEnum<"TensorSource", "elements that cp expands to 8 bits, in units of 16 with padding to 16 bytes",
                               [I32EnumAttrCase<"b6x16_p32", 0>, I32EnumAttrCase<"b4x16_p64", 1>]>;
def Ptx_MmaKind : PtxEnum<"MmaKind", "formats of a tcgen05.mma; the numbers are those of gpu::MmaKind",
                          [I32EnumAttrCase<"f16", 0>, I32EnumAttrCase<"tf32", 1>, I32EnumAttrCase<"f8f6f4", 2>, I32EnumAttrCase<"i8", 3>,
                           I32EnumAttrCase<"mxf8f6f4", 4>, I32EnumAttrCase<"mxf4", 5>, I32EnumAttrCase<"mxf4nvf4", 6>]>;
def Ptx_TensorWait : PtxEnum<"TensorWait", "operations to wait for", [I32EnumAttrCase<"ld", 0>, I32EnumAttrCase<"st", 1>]>;
def Ptx_TensorFence
    : PtxEnum<"TensorFence", "the side of a synchronization between threads", [I32EnumAttrCase<"before", 0>, I32EnumAttrCase<"after", 1>]>;

def Ptx_CtaGroup : ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<2>]>;
def Ptx_Columns : ConfinedAttr<I32Attr, [IntMinValue<32>, IntMaxValue<512>, IntPowerOf2]>;
def Ptx_Word : AnyTypeOf<[I32, F32]>;

// ---- allocation, by one warp of the CTA

def Ptx_Tcgen05AllocOp : PtxTogether<"tcgen05_alloc"> {
  let summary = "allocates columns of tensor memory and writes the address to shared memory (an i32, 4-byte aligned, at `shared`); waits "
                "while too few are free. `columns`: a power of two from 32 to 512, not larger than in an earlier allocation";
  let arguments = (ins I32:$shared, Ptx_Columns:$columns, DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup);
  let assemblyFormat = "$shared `,` $columns attr-dict";
}
def Ptx_Tcgen05DeallocOp : PtxTogether<"tcgen05_dealloc"> {
  let summary = "frees the columns of an allocation. Every allocation must be freed before the kernel ends, by the warp that made it, "
                "after all accesses to it. ctaGroup 2: may wait for the other CTA's warp";
  let arguments = (ins I32:$address, Ptx_Columns:$columns, DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup);
  let assemblyFormat = "$address `,` $columns attr-dict";
}
def Ptx_Tcgen05RelinquishOp : PtxTogether<"tcgen05_relinquish"> {
  let summary = "gives up the CTA's right to allocate, so that another CTA of the SM may";
  let arguments = (ins DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup);
  let assemblyFormat = "attr-dict";
}

// ---- registers and tensor memory, by a warp: warp w of a warp group accesses lanes 32 w to 32 w + 31

def Ptx_Tcgen05LdOp : PtxTogether<"tcgen05_ld"> {
  let summary =
      "loads from tensor memory to registers; all threads of the warp give the same address, whose lane is 32 w (or 32 w + 16 "
      "for 16 lanes). The number of registers is a power of two: 1 to 128 of m32x32b, m16x64b and m16x32bx2, 2 to 128 of m16x128b, "
      "4 to 128 of m16x256b. `pack`: a register is the lower halves of two adjacent columns, so the columns double. `halfOffset`, of "
      "m16x32bx2 only: threads 16 to 31 access the same lanes at the address plus this";
  let arguments = (ins Ptx_TensorShape:$shape, I32:$address, UnitAttr:$pack, OptionalAttr<I32Attr>:$halfOffset);
  let results = (outs Variadic<Ptx_Word>:$values);
  let assemblyFormat = "$shape $address attr-dict `->` type($values)";
  let hasVerifier = 1;
}
def Ptx_Tcgen05StOp : PtxTogether<"tcgen05_st"> {
  let summary = "stores registers to tensor memory; the inverse of tcgen05_ld. `unpack`: the halves of a register go to the lower halves "
                "of two adjacent columns";
  let arguments = (ins Ptx_TensorShape:$shape, I32:$address, Variadic<Ptx_Word>:$values, UnitAttr:$unpack,
      OptionalAttr<I32Attr>:$halfOffset);
  let assemblyFormat = "$shape $address `,` $values attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def Ptx_Tcgen05WaitOp : PtxTogether<"tcgen05_wait"> {
  let summary = "waits until this warp's loads from tensor memory (ld), or stores to it (st), are complete";
  let arguments = (ins Ptx_TensorWait:$kind);
  let assemblyFormat = "$kind attr-dict";
}
def Ptx_Tcgen05FenceOp : PtxEffect<"tcgen05_fence"> {
  let summary =
      "orders tcgen05 operations across a synchronization of threads: `before` those of this thread so far, `after` those of this "
      "thread from now on";
  let arguments = (ins Ptx_TensorFence:$side);
  let assemblyFormat = "$side attr-dict";
}

// ---- asynchronous operations, by one thread

def Ptx_Tcgen05CpOp : PtxEffect<"tcgen05_cp"> {
  let summary = "copies a K-major matrix from shared memory (a matrix descriptor) to tensor memory. m128x256b, m128x128b: row r to lane r. "
                "m4x256b: row r to lane 32 r of the address's. m64x128b_02_13: row r to lanes r and r + 64. m64x128b_01_23: row r to lanes "
                "r + r / 32 * 32 and 32 more. m32x128b: row r to lanes r, r + 32, r + 64, r + 96. `source`: expands to 8 bits";
  let arguments = (ins Ptx_TensorCopy:$shape, I32:$address, I64:$matrix, Optional<I1>:$predicate, OptionalAttr<Ptx_TensorSource>:$source,
      DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup);
  let assemblyFormat = "$shape $address `,` $matrix (`if` $predicate^)? attr-dict";
}
def Ptx_Tcgen05ShiftOp : PtxEffect<"tcgen05_shift"> {
  let summary = "shifts 8 columns down by one row, within the 32 lanes that start at the address's lane (a multiple of 32): each row but the "
                "last gets the next one";
  let arguments = (ins I32:$address, Optional<I1>:$predicate, DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup);
  let assemblyFormat = "$address (`if` $predicate^)? attr-dict";
}
def Ptx_Tcgen05MmaOp : PtxEffect<"tcgen05_mma", [AttrSizedOperandSegments]> {
  let summary =
      "d = a * b + d, or a * b where `accumulate` is false. d: an address of tensor memory; a: a matrix descriptor (i64) or an "
      "address of tensor memory (i32); b: a matrix descriptor; `instruction`: the instruction descriptor (gpu/machine/descriptors.h). "
      "`scales`: addresses of the scales of A and B, for blocks of `scaleBlock` (16 or 32) elements of K. `disable`: one bit for "
      "each lane of d that keeps its value, 4 words (8 with ctaGroup 2). `scaleInputD`: d is multiplied by 2^-this first (0 to 15, "
      "kinds f16 and tf32)";
  let arguments = (ins Ptx_MmaKind:$kind, I32:$d, AnyTypeOf<[I32, I64]>:$a, I64:$b, I32:$instruction, I1:$accumulate, Optional<I32>:$scaleA,
      Optional<I32>:$scaleB, Variadic<I32>:$disable, Optional<I1>:$predicate, DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup,
      OptionalAttr<I32Attr>:$scaleBlock, OptionalAttr<ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<15>]>>:$scaleInputD);
  let assemblyFormat = "$kind $d `,` $a `,` $b `,` $instruction `,` $accumulate (`scales` $scaleA^ `,` $scaleB)? "
                       "(`disable` `(` $disable^ `)`)? (`if` $predicate^)? attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Ptx_Tcgen05CommitOp : PtxEffect<"tcgen05_commit", [AttrSizedOperandSegments]> {
  let summary =
      "one arrival at an mbarrier (count 1) when all mma, cp and shift that this thread has executed are complete. `to`: a bit for "
      "each CTA of the cluster; the arrival happens at the same offset in each of them";
  let arguments = (ins I32:$barrier, Optional<I16>:$ctas, Optional<I1>:$predicate, DefaultValuedAttr<Ptx_CtaGroup, "1">:$ctaGroup);
  let assemblyFormat = "$barrier (`to` $ctas^)? (`if` $predicate^)? attr-dict";
}

// ---- cluster launch control

def Ptx_ClcTryCancelOp : PtxEffect<"clc_try_cancel"> {
  let summary = "asks to cancel the launch of a cluster that has not started. Writes a response of 16 bytes to shared memory (16-byte "
                "aligned) through the async proxy and reports 16 bytes to the mbarrier. `multicast`: to all CTAs of the cluster. After a "
                "response that says no, a CTA must not ask again";
  let arguments = (ins I32:$response, I32:$barrier, Optional<I1>:$predicate, UnitAttr:$multicast);
  let assemblyFormat = "$response `,` $barrier (`if` $predicate^)? attr-dict";
}
def Ptx_ClcQueryOp : PtxOp<"clc_query", [MemoryEffects<[MemRead]>]> {
  let summary =
      "reads a response in shared memory: whether a cluster was canceled, and the block indices of its first CTA (undefined if not)";
  let arguments = (ins I32:$response);
  let results = (outs I1:$canceled, I32:$x, I32:$y, I32:$z);
  let assemblyFormat = "$response attr-dict";
}

#endif // TILEWRIGHT_TCGEN05_TD
