// The ttg dialect: what tt leaves open. A tile's type gets a layout (`tensor<64x32xf32, #ttg.layout<...>>`: which register of which thread
// holds which element), tiles may lie in shared memory (buffers), copies may run behind the program's back, and waits are explicit.
// tt, arith, math and scf operations stay as they are, on tiles with layouts. The tile lowering turns all of it into ptx.
#ifndef TILEWRIGHT_TTG_TD
#define TILEWRIGHT_TTG_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/AttrTypeBase.td"

def TTGDialect : Dialect {
  let name = "ttg";
  let cppNamespace = "::tilewright::ttg";
  let summary = "tiles with layouts, buffers in shared memory, asynchronous copies";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tilewright::ptx::PtxDialect", "::tilewright::tt::TTDialect"];
  let extraClassDeclaration = [{
    // `ttg.barrier all`, as upstream prints gpu.barrier in tt IR from 3.7 on.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
}

//===--------------------------------------------------------------------------------------------------- attributes, types

class TTGAttr<string name, string text> : AttrDef<TTGDialect, name> { let mnemonic = text; }

def TTG_Layout : TTGAttr<"Layout", "layout"> {
  let summary = "which register of which thread holds which element: a gpu::Layout, as the encoding of a tile's type";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, ArrayRefParameter<"uint32_t">:$reg, ArrayRefParameter<"uint32_t">:$lane,
                        ArrayRefParameter<"uint32_t">:$warp, ArrayRefParameter<"uint32_t">:$block);
  let hasCustomAssemblyFormat = 1; // #ttg.layout<8x16, reg [[0, 1]], lane [[0, 2], ...], warp [], block []>
  let extraClassDeclaration = [{
    static LayoutAttr get(::mlir::MLIRContext *context, const ::tilewright::gpu::Layout &layout);
    ::tilewright::gpu::Layout layout() const;
  }];
}
def TTG_Shared : TTGAttr<"Shared", "shared"> {
  let summary = "where the elements of a tile lie in a buffer: a gpu::SharedLayout";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, ArrayRefParameter<"uint32_t">:$bases, "int64_t":$elementBits);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static SharedAttr get(::mlir::MLIRContext *context, const ::tilewright::gpu::SharedLayout &layout);
    ::tilewright::gpu::SharedLayout layout() const;
  }];
}
def TTG_Config : TTGAttr<"Config", "config"> {
  let summary = "what a kernel is compiled for; the attribute `ttg.config` of its tt.func. maxRegisters 0: no limit";
  let parameters = (ins "int64_t":$warps, "int64_t":$ctas, "int64_t":$stages, "int64_t":$maxRegisters, "::mlir::StringAttr":$target);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_TensorMap : TTGAttr<"TensorMap", "tensor_map"> {
  let summary = "how the launcher makes a tensor map; the attribute `ttg.tensor_map` of a !ptx.tensor_map argument, which stand behind all "
                "others. `base`: the pointer's argument. `offset` (elements), `dims` and `strides` (elements, from the second dimension on) are "
                "polynomials over the kernel's arguments: each a list of terms [coefficient, argument, argument, ...]. Dimensions innermost "
                "first; one without terms has no bound. `box` and `swizzle` (bytes) are [] and 0 until a buffer is chosen";
  let parameters = (ins "int64_t":$base, "::mlir::ArrayAttr":$offset, "::mlir::ArrayAttr":$dims, "::mlir::ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$box, "::mlir::Type":$element, "int64_t":$swizzle);
  let assemblyFormat = "`<` struct(params) `>`";
}

def TTG_LaunchGuard : TTGAttr<"LaunchGuard", "launch_guard"> {
  let summary = "what the kernel takes for granted about its launches, in the list `ttg.launch_guards` of its tt.func: a LaunchGuard, its numbers as "
                "numbersOf gives them";
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::DenseI64ArrayAttr":$numbers);
  let assemblyFormat = "`<` struct(params) `>`";
}

// ---- what passes have decided, and why. They act on some of it; explain tells all of it, and finds nothing out by itself.

def TTG_MmaKind : I32EnumAttr<"MmaKind", "the instruction of a product",
  [I32EnumAttrCase<"wgmma", 0>, I32EnumAttrCase<"mma", 1>, I32EnumAttrCase<"fma", 2>]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_DotChoice : TTGAttr<"DotChoice", "dot_choice"> {
  let summary = "how a product is computed; the attribute `ttg.dot_choice` of a tt.dot, from assign-layouts to select-tensor-cores. `columns`: of "
                "one wgmma. `aInRegisters`: operand A does not come from shared memory. `reason`: why no better instruction does it, for people";
  let parameters = (ins EnumParameter<TTG_MmaKind>:$kind, "int64_t":$columns, "bool":$aInRegisters, StringRefParameter<>:$reason);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_Access : TTGAttr<"Access", "access"> {
  let summary = "what an access to a tile in global memory costs; the attribute `ttg.access` of loads, stores and atomics. `sectors`: of 32 "
                "bytes, that a warp touches with one instruction. `narrowed`: it would be wider if neighbours shared one value of the mask";
  let parameters = (ins "int64_t":$sectors, "bool":$narrowed);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_Choice : TTGAttr<"Choice", "choice"> {
  let summary = "how a class of tiles came to its layout; an element of the list `ttg.choices` of the kernel. Costs are issue slots of a warp; "
                "`next`: of the best other candidate, -1 where there was none";
  let parameters = (ins "::tilewright::ttg::LayoutAttr":$layout, "int64_t":$candidates, "int64_t":$cost, "int64_t":$next);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_LoopSchedule : TTGAttr<"LoopSchedule", "loop_schedule"> {
  let summary = "what the pipeline made of a loop; the attribute `ttg.loop_schedule` of an scf.for. `stages`: slots of its rings, 1 where nothing "
                "runs ahead; `wanted`: what num_stages asks for; `inFlight`: products that may run on into the next iteration; `prefetchesMma`: a "
                "product is started an iteration early; `reason`: why there are fewer stages than wanted, for people";
  let parameters = (ins "int64_t":$stages, "int64_t":$wanted, "int64_t":$inFlight, "bool":$prefetchesMma, StringRefParameter<>:$reason);
  let assemblyFormat = "`<` struct(params) `>`";
}

class TTGType<string name, string text> : TypeDef<TTGDialect, name> { let mnemonic = text; }

def TTG_Buffer : TTGType<"Buffer", "buffer"> {
  let summary = "`depth` tiles in shared memory, one behind the other";
  let parameters = (ins "int64_t":$depth, "::mlir::Type":$elementType, TTG_Shared:$layout);
  let assemblyFormat = "`<` $depth `x` $elementType `,` qualified($layout) `>`"; // the layout has the tile's shape
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getShape() const { return getLayout().getShape(); }
    /// From one tile to the next: a multiple of 1024, where every swizzle starts anew.
    int64_t tileBytes() const;
  }];
}
def TTG_Barriers : TTGType<"Barriers", "barriers"> {
  let summary = "`count` mbarriers in shared memory";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}

def TTG_Map : Type<CPred<"::llvm::isa<::tilewright::ptx::TensorMapType>($_self)">, "tensor map">,
              BuildableType<"$_builder.getType<::tilewright::ptx::TensorMapType>()">;
def TTG_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "tile">;
def TTG_Any : Type<CPred<"true">, "any type">;

//===---------------------------------------------------------------------------------------------------------- operations

class TTGOp<string name, list<Trait> traits = []> : Op<TTGDialect, name, traits>;
class TTGEffect<string name, list<Trait> traits = []> : TTGOp<name, !listconcat([MemoryEffects<[MemRead, MemWrite]>], traits)>;

def TTG_ConvertLayoutOp : TTGOp<"convert_layout", [Pure]> {
  let summary = "the same tile in another layout";
  let arguments = (ins TTG_Tile:$src);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

def TTG_UnpackE2m1Op : TTGOp<"unpack_e2m1", [Pure]> {
  let summary = "the numbers of bytes that hold two of e2m1 each, the first in the low half, as bf16 or f16; `dim` of the tile becomes twice as long. "
                "`small`: times 2^-6, as the same bits with e4m3's bias are";
  let arguments = (ins TTG_Tile:$bytes, I32Attr:$dim, UnitAttr:$small);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$bytes attr-dict `:` type($bytes) `->` type($result)";
}

// ---- the blocks of a cluster. Which of them this is: ptx.cluster_rank.

def TTG_ReadClusterOp : TTGEffect<"read_cluster"> {
  let summary = "the tile as each block of the cluster holds it, one result a block; all blocks take part";
  let arguments = (ins TTG_Tile:$src);
  let results = (outs Variadic<TTG_Tile>:$results);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($results)";
}

// ---- buffers

def TTG_AllocOp : TTGOp<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "room in shared memory for as long as it is used (in a loop: one room for all iterations). allocate-shared puts its place into the "
                "attribute `ttg.offset`";
  let results = (outs TTG_Buffer:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def TTG_StageOp : TTGOp<"stage", [Pure]> {
  let summary = "one tile of several";
  let arguments = (ins TTG_Buffer:$buffer, I32:$index);
  let results = (outs TTG_Buffer:$result);
  let assemblyFormat = "$buffer `[` $index `]` attr-dict `:` type($buffer) `->` type($result)";
}
def TTG_ViewOp : TTGOp<"view", [Pure]> {
  let summary = "the same bytes seen as a tile whose dimension i is dimension order[i]";
  let arguments = (ins TTG_Buffer:$buffer, DenseI32ArrayAttr:$order);
  let results = (outs TTG_Buffer:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
}
def TTG_LoadSharedOp : TTGOp<"load_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile from shared memory to registers";
  let arguments = (ins TTG_Buffer:$buffer);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
}
def TTG_StoreSharedOp : TTGOp<"store_shared", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile from registers to shared memory";
  let arguments = (ins TTG_Tile:$src, TTG_Buffer:$buffer);
  let assemblyFormat = "$src `,` $buffer attr-dict `:` type($src) `,` type($buffer)";
}

// ---- waiting

def TTG_CtaBarrierOp : TTGEffect<"cta_barrier"> {
  let summary = "all threads that hold tiles meet; with `everybody`, the warp that starts copies meets them, where a kernel has one "
                "(specialize-warps)";
  let arguments = (ins UnitAttr:$allWarps);
  let assemblyFormat = "attr-dict";
}
def TTG_FenceAsyncOp : TTGEffect<"fence_async"> {
  let summary = "what threads wrote to (or read from) shared memory comes before later accesses of the copy engine and wgmma";
  let assemblyFormat = "attr-dict";
}
def TTG_AllocBarriersOp : TTGEffect<"alloc_barriers"> {
  let summary = "mbarriers for so many arrivals a phase, initialised and visible to the whole block (it ends with a sync). Place as in "
                "alloc, but never shared with anything else";
  let arguments = (ins DefaultValuedAttr<I32Attr, "1">:$arrivals);
  let results = (outs TTG_Barriers:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def TTG_BarrierExpectOp : TTGEffect<"barrier_expect"> {
  let summary = "one thread arrives and announces `bytes`";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, I32Attr:$bytes, Optional<I1>:$predicate);
  let assemblyFormat = "$barriers `[` $index `]` `,` $bytes (`if` $predicate^)? attr-dict `:` type($barriers)";
}
def TTG_BarrierWaitOp : TTGEffect<"barrier_wait"> {
  let summary = "every thread waits for the phase of this parity";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, I32:$parity);
  let assemblyFormat = "$barriers `[` $index `]` `,` $parity attr-dict `:` type($barriers)";
}

def TTG_BarrierArriveOp : TTGEffect<"barrier_arrive"> {
  let summary = "each warp arrives once: what its threads and its finished products have read, they have read";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, Optional<I1>:$predicate);
  let assemblyFormat = "$barriers `[` $index `]` (`if` $predicate^)? attr-dict `:` type($barriers)";
}

// ---- asynchronous copies

def TTG_CopyAsyncOp : TTGEffect<"copy_async"> {
  let summary = "cp.async of the elements at a tile of pointers to a buffer; zeros where the mask is false";
  let arguments = (ins TTG_Tile:$pointers, TTG_Buffer:$buffer, Optional<TTG_Tile>:$mask);
  let assemblyFormat = "$pointers `,` $buffer (`,` $mask^ `:` type($mask))? attr-dict `:` type($pointers) `->` type($buffer)";
}
def TTG_CopyCommitOp : TTGEffect<"copy_commit"> { let assemblyFormat = "attr-dict"; }
def TTG_CopyWaitOp : TTGEffect<"copy_wait"> {
  let summary = "all but the latest `pending` committed groups of this thread are there (others' need a sync, too)";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
// A map's dimension i < rank of the tile runs along the tile's dimension order[i]; further dimensions of the map have extent 1 in the box.
// `coordinates`: of the tile's first element, one for each dimension of the map, innermost first, in elements; they may lie outside.
def TTG_TmaLoadOp : TTGEffect<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "one thread starts the copy of a tile to a buffer; its bytes are reported to the barrier (barrier_expect announces them). "
                "The map's box and swizzle are the buffer's";
  let arguments = (ins TTG_Map:$map, Variadic<I32>:$coordinates, TTG_Buffer:$buffer, TTG_Barriers:$barriers, I32:$index,
                       Optional<I1>:$predicate, DefaultValuedAttr<I32Attr, "1">:$evict /* tt::EvictionPolicy */);
  let assemblyFormat = "$map `[` $coordinates `]` `to` $buffer `,` $barriers `[` $index `]` (`if` $predicate^)? attr-dict "
                       "`:` type($buffer) `,` type($barriers)";
}
def TTG_TmaStoreOp : TTGEffect<"tma_store"> {
  let summary = "one thread starts the copy of a buffer to memory, a bulk group of its own; fence_async and sync come before. With `adds` each "
                "element is added to what is there, atomically and in no order";
  let arguments = (ins TTG_Map:$map, Variadic<I32>:$coordinates, TTG_Buffer:$buffer, UnitAttr:$adds);
  let assemblyFormat = "$buffer `to` $map `[` $coordinates `]` attr-dict `:` type($buffer)";
}
def TTG_TmaStoreWaitOp : TTGEffect<"tma_store_wait"> {
  let summary = "the thread that issued them waits until all but `pending` stores have read their buffers; a sync follows before reuse";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
// Before buffers are chosen: loads and stores that the copy engine can do, with tiles as values.
def TTG_DescriptorLoadOp : TTGOp<"descriptor_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile through a tensor map; zeros outside the map's bounds";
  let arguments = (ins TTG_Map:$map, Variadic<I32>:$coordinates, DenseI32ArrayAttr:$order,
                       DefaultValuedAttr<I32Attr, "1">:$evict /* tt::EvictionPolicy */);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$map `[` $coordinates `]` attr-dict `:` type($result)";
}
def TTG_DescriptorStoreOp : TTGOp<"descriptor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile through a tensor map; nothing outside its bounds. `adds`: as in tma_store";
  let arguments = (ins TTG_Tile:$src, TTG_Map:$map, Variadic<I32>:$coordinates, DenseI32ArrayAttr:$order, UnitAttr:$adds);
  let assemblyFormat = "$src `to` $map `[` $coordinates `]` attr-dict `:` type($src)";
}

// ---- products. tt.dot stays where operands and result have the layouts of mma.sync.

def TTG_WgmmaOp : TTGEffect<"wgmma", [AllTypesMatch<["c", "d"]>]> {
  let summary = "starts d = a * b + c by warpgroups, and commits: a [M, K] a buffer or registers (Layout::wgmmaOperandA), b [K, N] a buffer, c "
                "in Layout::wgmmaAccumulator. What threads wrote to the buffers was fenced and synchronised before. The result, and a's "
                "registers, are in use until a wgmma_wait has let them through. `useC` false: c is not read. f32 operands count as tf32. "
                "`promotionInterval`: tensor cores sum fp8 products with fewer bits than f32 has, so after as many elements of K their sum is added "
                "to c by threads";
  let arguments = (ins TTG_Any:$a, TTG_Buffer:$b, TTG_Tile:$c, Optional<I1>:$useC, OptionalAttr<I32Attr>:$promotionInterval);
  let results = (outs TTG_Tile:$d);
  let assemblyFormat = "$a `,` $b `,` $c (`if` $useC^)? attr-dict `:` type($a) `,` type($b) `->` type($d)";
}
def TTG_WgmmaWaitOp : TTGEffect<"wgmma_wait"> {
  let summary = "all but the latest `pending` wgmma of this warpgroup are done; tiles (accumulators, operands in registers) that may be "
                "used from here on pass through";
  let arguments = (ins I32Attr:$pending, Variadic<TTG_Tile>:$tiles);
  let results = (outs Variadic<TTG_Tile>:$results);
  let assemblyFormat = "$pending (`,` $tiles^ `:` type($tiles))? attr-dict (`->` type($results)^)?";
}
def TTG_FmaDotOp : TTGOp<"fma_dot", [AllTypesMatch<["c", "d"]>, MemoryEffects<[MemRead]>]> {
  let summary = "d = a * b + c by multiplication and addition in c's type, in any layout; a [.., M, K] and b [.., K, N] are read as they are "
                "needed";
  let arguments = (ins TTG_Buffer:$a, TTG_Buffer:$b, TTG_Tile:$c);
  let results = (outs TTG_Tile:$d);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `->` type($d)";
}

#endif // TILEWRIGHT_TTG_TD
