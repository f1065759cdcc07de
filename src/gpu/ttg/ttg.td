// The ttg dialect: tiles with layouts and asynchronous execution. A tile's type gets a layout (`tensor<64x32xf32, #ttg.layout<...>>`),
// which maps registers of threads to elements. Tiles may be in shared memory (buffers), copies may be asynchronous, and waits are explicit.
// tt, arith, math and scf operations stay unchanged, on tiles with layouts. lower-to-threads lowers all of them to ptx.
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
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    // `ttg.barrier all`, as upstream prints gpu.barrier in tt IR from 3.7 on.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
}

//===--------------------------------------------------------------------------------------------------- attributes, types

class TTGAttr<string name, string text> : AttrDef<TTGDialect, name> { let mnemonic = text; }

def TTG_Layout : TTGAttr<"Layout", "layout"> {
  let summary = "the elements that each register of each thread holds: a gpu::Layout, as the encoding of a tile's type";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, ArrayRefParameter<"uint32_t">:$reg, ArrayRefParameter<"uint32_t">:$lane,
                        ArrayRefParameter<"uint32_t">:$warp);
  let hasCustomAssemblyFormat = 1; // #ttg.layout<8x16, reg [[0, 1]], lane [[0, 2], ...], warp []>
  let extraClassDeclaration = [{
    static LayoutAttr get(::mlir::MLIRContext *context, const ::tilewright::gpu::Layout &layout);
    ::tilewright::gpu::Layout layout() const;
  }];
}
def TTG_Shared : TTGAttr<"Shared", "shared"> {
  let summary = "the position of each element of a tile in a buffer: a gpu::SharedLayout";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, ArrayRefParameter<"uint32_t">:$bases, "int64_t":$elementBits);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static SharedAttr get(::mlir::MLIRContext *context, const ::tilewright::gpu::SharedLayout &layout);
    ::tilewright::gpu::SharedLayout layout() const;
  }];
}
def TTG_Config : TTGAttr<"Config", "config"> {
  let summary = "the compile configuration of a kernel; the attribute `ttg.config` of its tt.func. maxRegisters 0: no limit";
  let parameters = (ins "int64_t":$warps, "int64_t":$ctas, "int64_t":$stages, "int64_t":$maxRegisters, "::mlir::StringAttr":$target);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_TensorMap : TTGAttr<"TensorMap", "tensor_map"> {
  let summary = "how the launcher creates a tensor map; the attribute `ttg.tensor_map` of a !ptx.tensor_map argument, which follow all "
                "other arguments. `base`: the pointer's argument. `offset` (elements), `dims` and `strides` (elements, from the second "
                "dimension on) are polynomials over the kernel's arguments. Each is a list of terms [coefficient, argument, argument, "
                "...]. Dimensions are innermost first; one without terms has no bound. `box` and `swizzle` (bytes) are [] and 0 until a "
                "buffer is chosen";
  let parameters = (ins "int64_t":$base, "::mlir::ArrayAttr":$offset, "::mlir::ArrayAttr":$dims, "::mlir::ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$box, "::mlir::Type":$element, "int64_t":$swizzle);
  let assemblyFormat = "`<` struct(params) `>`";
}

def TTG_LaunchGuard : TTGAttr<"LaunchGuard", "launch_guard"> {
  let summary = "an assumption of the kernel about its launches, in the list `ttg.launch_guards` of its tt.func: a LaunchGuard, with its "
                "values as numbersOf encodes them";
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::DenseI64ArrayAttr":$numbers);
  let assemblyFormat = "`<` struct(params) `>`";
}

// ---- decisions of passes and their reasons. Later passes read some of them; explain reports all of them.

def TTG_MmaKind : I32EnumAttr<"MmaKind", "the instruction of a dot",
  [I32EnumAttrCase<"wgmma", 0>, I32EnumAttrCase<"mma", 1>, I32EnumAttrCase<"fma", 2>, I32EnumAttrCase<"tcgen05", 3>]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_DotChoice : TTGAttr<"DotChoice", "dot_choice"> {
  let summary = "how a dot is computed; the attribute `ttg.dot_choice` of a tt.dot, from assign-layouts to select-tensor-cores. "
                "`columns`: of one wgmma or tcgen05.mma. `aInRegisters`: operand A is in registers, not in shared memory. `reason`: shown to users, why "
                "no better instruction is possible";
  let parameters = (ins EnumParameter<TTG_MmaKind>:$kind, "int64_t":$columns, "bool":$aInRegisters, StringRefParameter<>:$reason);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_BlockScales : TTGAttr<"BlockScales", "block_scales"> {
  let summary = "what the bytes of an MMA with scales are: the formats of A and B (two numbers of f4E2M1FN in a byte), and how many numbers "
                "along K share a scale, 16 or 32. A scale in an i8 is an exponent (ue8m0), one in an f8E4M3FN has no sign (ue4m3)";
  let parameters = (ins "::mlir::Type":$a, "::mlir::Type":$b, "int64_t":$block);
  let assemblyFormat = "`<` struct(params) `>`";
}
def TTG_Remark : TTGAttr<"Remark", "remark"> {
  let summary = "what a pass has decided and why, as text for users; an element of the list `ttg.remarks` of the kernel. `about`: the "
                "location of an operation, or a layout";
  let parameters = (ins StringRefParameter<>:$pass, "::mlir::Attribute":$about, StringRefParameter<>:$text);
  let assemblyFormat = "`<` struct(params) `>`";
}
// ---- the software pipeline of a loop

def TTG_Partition : I32EnumAttr<"Partition",
  "the warps that run an operation of a warp-specialized kernel: the consumers, which hold the tiles; the producer warp, which starts copies; a "
  "warp group that computes operands of MMAs; the warp that issues tcgen05.mma; a warp group that multiplies sums in tensor memory by the "
  "factors of their rows",
  [I32EnumAttrCase<"consumers", 0>, I32EnumAttrCase<"producer", 1>, I32EnumAttrCase<"operands", 2>, I32EnumAttrCase<"mmas", 3>,
   I32EnumAttrCase<"correction", 4>]> {
  let cppNamespace = "::tilewright::ttg";
  let genSpecializedAttr = 0;
}
def TTG_PartitionAttr : EnumAttr<TTGDialect, TTG_Partition, "partition"> { let assemblyFormat = "`<` $value `>`"; }
def TTG_ScheduledOp : TTGAttr<"ScheduledOp", "scheduled_op"> {
  let summary = "when and where an operation of a pipelined loop runs. `id`: the operation's attribute `ttg.id`. `stage`: the iteration that "
                "runs stage s of iteration i runs stage s - d of iteration i + d. `order`: its position within an iteration, among the "
                "operations of its partition in the schedule";
  let parameters = (ins "int64_t":$id, "int64_t":$stage, "int64_t":$order, EnumParameter<TTG_Partition>:$partition);
  let assemblyFormat = "`<` $id `:` `stage` $stage `order` $order `partition` $partition `>`";
}
def TTG_Reduction : I32EnumAttr<"Reduction", "how TMA combines each element of a tile with memory; umin and umax compare unsigned integers",
  [I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"min", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"umin", 3>, I32EnumAttrCase<"umax", 4>,
   I32EnumAttrCase<"and_", 5, "and">, I32EnumAttrCase<"or_", 6, "or">, I32EnumAttrCase<"xor_", 7, "xor">]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_BufferKind : I32EnumAttr<"BufferKind", "what fills a circular buffer: TMA, cp.async or threads; or, loads to registers",
  [I32EnumAttrCase<"tma", 0>, I32EnumAttrCase<"copy_async", 1>, I32EnumAttrCase<"threads", 2>, I32EnumAttrCase<"registers", 3>]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_CircularBuffer : TTGAttr<"CircularBuffer", "circular_buffer"> {
  let summary = "`depth` tiles for each of `writers` (ids of loads, or of stores by threads), which arrive together. Iteration i uses stage i "
                "mod `depth`. `release`: the order after which an iteration has read its stage. A CTA barrier stands there, or an arrival "
                "at the stage's empty barrier if a producer warp fills the buffer. 0 for a buffer that threads fill. `firstWarp`: of the consumers, "
                "only the first warp waits for the copies and releases stages. `multicast`: the writers of which each CTA of the cluster copies a part to all";
  let parameters = (ins EnumParameter<TTG_BufferKind>:$kind, "int64_t":$depth, ArrayRefParameter<"int64_t">:$writers, "int64_t":$release,
                        DefaultValuedParameter<"bool", "false">:$firstWarp, OptionalArrayRefParameter<"int64_t">:$multicast);
  let assemblyFormat = "`<` $kind `depth` $depth `writers` ` ` `[` $writers `]` `release` $release (`first_warp` $firstWarp^)? "
                       "(`multicast` ` ` `[` $multicast^ `]`)? `>`";
}
def TTG_AsyncEdge : TTGAttr<"AsyncEdge", "async_edge"> {
  let summary = "an MMA that stays in flight: that of iteration i has finished after operation `until` of iteration i + `distance`";
  let parameters = (ins "int64_t":$mma, "int64_t":$until, "int64_t":$distance);
  let assemblyFormat = "`<` $mma `->` $until `distance` $distance `>`";
}
def TTG_OperandPlan : TTGAttr<"OperandPlan", "operand_plan"> {
  let summary = "how a partition that computes an operand of MMAs, and the consumers, share a loop. `release`: the order after which the "
                "consumers release what the partition has stored; 0: they release it with the copies. `loadsWholeRows`: widened loads bring 16 "
                "bytes of a row at a time. `fencesEarly`: the consumers fence their reads of copies right after the last one";
  let parameters = (ins "int64_t":$release, DefaultValuedParameter<"bool", "false">:$loadsWholeRows,
                        DefaultValuedParameter<"bool", "false">:$fencesEarly);
  let assemblyFormat = "`<` `release` $release (`loads_whole_rows` $loadsWholeRows^)? (`fences_early` $fencesEarly^)? `>`";
}
def TTG_LoopSchedule : TTGAttr<"LoopSchedule", "loop_schedule"> {
  let summary = "the schedule of a loop; the attribute `ttg.loop_schedule` of an scf.for. `policy`: what wrote it. `requested`: num_stages. "
                "`indexStage`: the stage whose iteration the induction variable counts. `crossTile`: the copies continue in the next "
                "iteration of the enclosing loop. `continues`: the id of a loop before it, whose circular buffers these are. `storesInFlight`: TMA "
                "stores are waited for when their buffer is written again; `storesPerWarpGroup`: each warp group stores the rows that it holds. "
                "`registersForWords`: registers of a thread that loads of several iterations may take. `operandPlan`: of a partition that "
                "computes an operand. "
                "`reason`: shown to users, why there are fewer stages than requested";
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$policy, "int64_t":$requested, "int64_t":$indexStage,
                        OptionalArrayRefParameter<"::tilewright::ttg::ScheduledOpAttr">:$ops,
                        OptionalArrayRefParameter<"::tilewright::ttg::CircularBufferAttr">:$buffers,
                        OptionalArrayRefParameter<"::tilewright::ttg::AsyncEdgeAttr">:$edges, DefaultValuedParameter<"bool", "false">:$crossTile,
                        OptionalParameter<"std::optional<int64_t>">:$continues,
                        DefaultValuedParameter<"bool", "false">:$storesInFlight,
                        DefaultValuedParameter<"bool", "false">:$storesPerWarpGroup,
                        DefaultValuedParameter<"int64_t", "0">:$registersForWords,
                        OptionalParameter<"::tilewright::ttg::OperandPlanAttr">:$operandPlan,
                        OptionalParameter<"::mlir::StringAttr">:$reason);
  let assemblyFormat = [{`<` (`policy` $policy^ ` `)? `requested` $requested `index_stage` $indexStage
    (`ops` ` ` `[` $ops^ `]`)? (`buffers` ` ` `[` $buffers^ `]`)? (`edges` ` ` `[` $edges^ `]`)? (`cross_tile` $crossTile^)?
    (`continues` $continues^)? (`stores_in_flight` $storesInFlight^)?
    (`stores_per_warp_group` $storesPerWarpGroup^)?
    (`registers_for_words` $registersForWords^)? (`operand_plan` $operandPlan^)? (`reason` $reason^)? `>`}];
  let extraClassDeclaration = [{
    /// Stages of the circular buffers that copies fill; 1 without any.
    int64_t getStages() const;
    /// True if an MMA runs in another iteration than the rest of the loop.
    bool shiftsMma() const;
    /// True if a wait, not the next iteration's MMA, drains the MMA in flight.
    bool drainsAtWait() const;
  }];
}
def TTG_OrderedOp : TTGAttr<"OrderedOp", "ordered_op"> {
  let summary = "an operation of a loop's body by its `ttg.id`, and whether overlap-mmas moves it";
  let parameters = (ins "int64_t":$id, DefaultValuedParameter<"bool", "false">:$moves);
  let assemblyFormat = "`<` $id (`moves` $moves^)? `>`";
}
def TTG_MmaSchedule : TTGAttr<"MmaSchedule", "mma_schedule"> {
  let summary = "the order of MMAs and waits within an iteration; the attribute `ttg.mma_schedule` of an scf.for, from schedule-mmas to "
                "overlap-mmas. `ops`: in their final order. One that moves follows those that are listed before it, or stands at the top. "
                "`edges`: where MMAs end";
  let parameters = (ins OptionalArrayRefParameter<"::tilewright::ttg::OrderedOpAttr">:$ops,
                        OptionalArrayRefParameter<"::tilewright::ttg::AsyncEdgeAttr">:$edges);
  let assemblyFormat = "`<` (`ops` ` ` `[` $ops^ `]`)? (`edges` ` ` `[` $edges^ `]`)? `>`";
}

// ---- the MMA partition, from plan-accumulators to place-accumulators

def TTG_MmaPartitionKind : I32EnumAttr<"MmaPartitionKind",
  "the loops of a kernel whose MMAs a warp of its own issues: they only accumulate, or threads compute between their dots",
  [I32EnumAttrCase<"accumulation", 0>, I32EnumAttrCase<"chains", 1>]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_MmaPartition : TTGAttr<"MmaPartition", "mma_partition"> {
  let summary = "the partition that issues a kernel's MMAs. `columns`: the allocation of tensor memory. `rowGroups`: warp groups that have 128 "
                "rows of all tiles to themselves, with MMAs and barriers of their own";
  let parameters = (ins EnumParameter<TTG_MmaPartitionKind>:$kind, "int64_t":$columns, DefaultValuedParameter<"int64_t", "1">:$rowGroups);
  let assemblyFormat = "`<` $kind `columns` $columns (`row_groups` $rowGroups^)? `>`";
}
def TTG_EarlyMmas : I32EnumAttr<"EarlyMmas",
  "when the early MMAs of a loop are issued: in their iteration; an iteration ahead, while threads compute, to the second tile of their "
  "results; after the late ones of the iteration before, one row group after the other",
  [I32EnumAttrCase<"in_iteration", 0>, I32EnumAttrCase<"prefetched", 1>, I32EnumAttrCase<"interleaved", 2>]> {
  let cppNamespace = "::tilewright::ttg";
  let genSpecializedAttr = 0;
}
def TTG_EarlyMmasAttr : EnumAttr<TTGDialect, TTG_EarlyMmas, "early_mmas"> { let assemblyFormat = "`<` $value `>`"; }
def TTG_MmaRole : I32EnumAttr<"MmaRole",
  "what an MMA waits for: early, nothing that threads compute in its iteration; late, its operands or what it adds to, and threads load the "
  "result; in_place, operands of a sum that only MMAs change; rescaled, the sum of the loop that threads change before the MMA adds to it",
  [I32EnumAttrCase<"early", 0>, I32EnumAttrCase<"late", 1>, I32EnumAttrCase<"in_place", 2>, I32EnumAttrCase<"rescaled", 3>]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_TensorSpan : TTGAttr<"TensorSpan", "tensor_span"> {
  let summary = "the first column of `depth` adjacent tiles in tensor memory";
  let parameters = (ins "int64_t":$column, DefaultValuedParameter<"int64_t", "1">:$depth);
  let assemblyFormat = "`<` $column (`depth` $depth^)? `>`";
}
def TTG_MmaPlan : TTGAttr<"MmaPlan", "mma_plan"> {
  let summary = "what the MMA partition does with an MMA. `operand`: operand A, where threads store it, or in the columns of an early MMA's "
                "result. They store it in parts that end at `parts` (along K), and the MMA starts with the first. `pingPong`: row groups compute it "
                "one after the other. `correction`: the buffer of the factors by which the correction partition multiplies the sum. `scales`: "
                "the first column of the scales of its loop";
  let parameters = (ins EnumParameter<TTG_MmaRole>:$role, "::tilewright::ttg::TensorSpanAttr":$result,
                        OptionalParameter<"::tilewright::ttg::TensorSpanAttr">:$operand, OptionalArrayRefParameter<"int32_t">:$parts,
                        DefaultValuedParameter<"bool", "false">:$pingPong, OptionalParameter<"std::optional<int64_t>">:$correction,
                        OptionalParameter<"std::optional<int64_t>">:$scales);
  let assemblyFormat = [{`<` $role `result` $result (`operand` $operand^)? (`parts` ` ` `[` $parts^ `]`)? (`ping_pong` $pingPong^)?
    (`correction` $correction^)? (`scales` $scales^)? `>`}];
  let genVerifyDecl = 1; // an early MMA has no more than a result
}

class TTGType<string name, string text> : TypeDef<TTGDialect, name> { let mnemonic = text; }

def TTG_Buffer : TTGType<"Buffer", "buffer"> {
  let summary = "`depth` adjacent tiles in shared memory";
  let parameters = (ins "int64_t":$depth, "::mlir::Type":$elementType, TTG_Shared:$layout);
  let assemblyFormat = "`<` $depth `x` $elementType `,` qualified($layout) `>`"; // the layout has the tile's shape
  let builders = [TypeBuilderWithInferredContext<(ins "int64_t":$depth, "::mlir::Type":$elementType, "const ::tilewright::gpu::SharedLayout &":$layout),
    "return $_get(elementType.getContext(), depth, elementType, SharedAttr::get(elementType.getContext(), layout));">];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getShape() const { return getLayout().getShape(); }
    /// The bytes of a whole tile, up to the next multiple of its alignment: 1024, as every swizzle needs, or 128 for small tiles of bytes
    /// without a swizzle. An allocation may hold less of each tile (stageBytes).
    int64_t paddedTileBytes() const;
  }];
}
def TTG_Barriers : TTGType<"Barriers", "barriers"> {
  let summary = "`count` mbarriers in shared memory";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}

def TTG_TensorMemory : TTGType<"TensorMemory", "tensor_memory"> {
  let summary = "a tile [M, N] of accumulators, or of an operand A, in tensor memory: an address, the lane in the upper 16 bits, the column in "
                "the lower 16. Element (m, n) of 32 bits is, for M = 64, in lane 32 (m / 16) + m mod 16 and column n; for more rows, in lane "
                "m mod 128 and column m / 128 * N + n. Of smaller elements, a column has several of one row, the first in the lowest bits. "
                "`blockColumns`: columns from 128 rows to the next ones, N of 32 bits unless stated";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$blockColumns);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType), [{
    return $_get($_ctxt, shape, elementType, packedColumns(shape, elementType));
  }]>];
  let hasCustomAssemblyFormat = 1; // !ttg.tensor_memory<128x256xf32>, <256x128xf16, 128>
  let extraClassDeclaration = [{
    /// Columns of 128 rows, without gaps.
    static int64_t packedColumns(::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType);
    /// Columns of tensor memory that the tile takes.
    int64_t columns() const;
  }];
}

def TTG_Map : Type<CPred<"::llvm::isa<::tilewright::ptx::TensorMapType>($_self)">, "tensor map">,
              BuildableType<"$_builder.getType<::tilewright::ptx::TensorMapType>()">;
def TTG_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "tile">;
def TTG_Any : Type<CPred<"true">, "any type">;

//===---------------------------------------------------------------------------------------------------------- operations

class TTGOp<string name, list<Trait> traits = []> : Op<TTGDialect, name, traits>;
class TTGEffect<string name, list<Trait> traits = []> : TTGOp<name, !listconcat([MemoryEffects<[MemRead, MemWrite]>], traits)>;

def TTG_ConvertLayoutOp : TTGOp<"convert_layout", [Pure, AllElementTypesMatch<["src", "result"]>, AllShapesMatch<["src", "result"]>]> {
  let summary = "the same tile in another layout";
  let arguments = (ins TTG_Tile:$src);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}

def TTG_UnpackE2m1Op : TTGOp<"unpack_e2m1", [Pure]> {
  let summary = "unpacks bytes that hold two e2m1 values each, the first in the low half, to bf16 or f16; `dim` of the tile becomes twice "
                "as long. `small`: the values times 2^-6, which the same bits have with e4m3's exponent bias";
  let arguments = (ins TTG_Tile:$bytes, I32Attr:$dim, UnitAttr:$small);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$bytes attr-dict `:` type($bytes) `->` type($result)";
  let hasVerifier = 1;
}

// ---- CTAs of a cluster. ptx.cluster_rank is the rank of this CTA.

def TTG_ReadClusterOp : TTGEffect<"read_cluster"> {
  let summary = "all-gather in the cluster: the tile of each CTA, one result per CTA; all CTAs must take part. `peer`: only the tile of the "
                "CTA whose rank differs in these bits";
  let arguments = (ins TTG_Tile:$src, OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$peer);
  let results = (outs Variadic<TTG_Tile>:$results);
  let assemblyFormat = "$src (`peer` $peer^)? attr-dict `:` type($src) `->` type($results)";
  let hasVerifier = 1;
}

// ---- buffers

def TTG_Lifetime : I32EnumAttr<"Lifetime",
  "when other buffers may have a buffer's bytes: before its first and after its last use; after its last use, because other CTAs write to it; "
  "never",
  [I32EnumAttrCase<"uses", 0>, I32EnumAttrCase<"fromStart", 1, "from_start">, I32EnumAttrCase<"throughout", 2>]> {
  let cppNamespace = "::tilewright::ttg";
}
def TTG_AllocOp : TTGOp<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer in shared memory, live from its first to its last use (in a loop: one buffer for all iterations) unless `lifetime` "
                "says more. allocate-shared stores its address in the attribute `ttg.offset`. `copiedExtent`: how much of each dimension TMA "
                "copies, if not all; shared memory holds nothing after that";
  let arguments = (ins DefaultValuedAttr<TTG_Lifetime, "Lifetime::uses">:$lifetime, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$copiedExtent);
  let results = (outs TTG_Buffer:$result);
  let assemblyFormat = "(`live` $lifetime^)? attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Lets the buffer live at least as long as that.
    void extendLifetime(Lifetime lifetime) { setLifetime(std::max(getLifetime(), lifetime)); }
  }];
}
def TTG_StageOp : TTGOp<"stage", [Pure]> {
  let summary = "one tile of a circular buffer. `distance`: the bytes from one tile to the next (stageBytes), set by prepare-lowering";
  let arguments = (ins TTG_Buffer:$buffer, I32:$index, OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$distance);
  let results = (outs TTG_Buffer:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$buffer, "::mlir::Value":$index),
                            [{ build($_builder, $_state, result, buffer, index, ::mlir::IntegerAttr()); }]>];
  let assemblyFormat = "$buffer `[` $index `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def TTG_ViewOp : TTGOp<"view", [Pure]> {
  let summary = "the same bytes seen as a tile whose dimension i is dimension order[i]. Without `order`: as a reshaped tile, or with its padding. `first`: "
                "where the bytes begin in a tile of one dimension, in elements";
  let arguments = (ins TTG_Buffer:$buffer, DenseI32ArrayAttr:$order, DefaultValuedAttr<I32Attr, "0">:$first);
  let results = (outs TTG_Buffer:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def TTG_LoadSharedOp : TTGOp<"load_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile from shared memory to registers";
  let arguments = (ins TTG_Buffer:$buffer);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
// ptxas hoists loop-invariant addresses and matrix descriptors out of a loop, and keeps each in a register. A zero that changes with the
// loop, added to an address, prevents that.
def TTG_LoopVariantZeroOp : TTGOp<"loop_variant_zero", [Pure]> {
  let summary = "zero, computed from the address of a stage that changes with the loop: its highest bit";
  let arguments = (ins TTG_Buffer:$stage);
  let results = (outs I32:$result);
  let assemblyFormat = "$stage attr-dict `:` type($stage)";
}
def TTG_StoreSharedOp : TTGOp<"store_shared", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile from registers to shared memory. `zero`: a loop_variant_zero that is added to the addresses";
  let arguments = (ins TTG_Tile:$src, TTG_Buffer:$buffer, Optional<I32>:$zero);
  let builders = [OpBuilder<(ins "::mlir::Value":$src, "::mlir::Value":$buffer),
                            [{ build($_builder, $_state, src, buffer, ::mlir::Value()); }]>];
  let assemblyFormat = "$src `,` $buffer (`plus` $zero^)? attr-dict `:` type($src) `,` type($buffer)";
  let hasVerifier = 1;
}

// ---- waiting

def TTG_CtaBarrierOp : TTGEffect<"cta_barrier"> {
  let summary = "a barrier of all threads of a partition (ttg.warp_specialize), or of the kernel if it has none; with `allWarps`, of all "
                "partitions. `allCtas`: of all threads of the cluster, which then see each other's writes";
  let arguments = (ins UnitAttr:$allWarps, UnitAttr:$allCtas);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def TTG_ClusterArriveOp : TTGEffect<"cluster_arrive"> {
  let summary = "all threads of the cluster arrive at its barrier, without waiting. Until the cluster_wait that follows, in the same block, "
                "peers may still read what this CTA has left for them";
  let assemblyFormat = "attr-dict";
}
def TTG_ClusterWaitOp : TTGEffect<"cluster_wait"> {
  let summary = "waits until all threads of the cluster have arrived";
  let assemblyFormat = "attr-dict";
}
def TTG_FenceAsyncOp : TTGEffect<"fence_async"> {
  let summary = "orders previous shared-memory accesses of threads before later accesses of TMA and wgmma. `interleavedStores`: the stores "
                "before it do not alias the loads that they depend on, so interleave-stores reorders them";
  let arguments = (ins UnitAttr:$interleavedStores);
  let assemblyFormat = "attr-dict";
}
def TTG_AllocBarriersOp : TTGEffect<"alloc_barriers"> {
  let summary = "mbarriers for `arrivals` arrivals a phase, initialized and visible to the whole CTA. Their address is assigned as for alloc, "
                "but they share it with nothing. prepare-lowering adds the init_barriers";
  let arguments = (ins DefaultValuedAttr<ConfinedAttr<I32Attr, [IntPositive]>, "1">:$arrivals);
  let results = (outs TTG_Barriers:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def TTG_InitBarriersOp : TTGEffect<"init_barriers"> {
  let summary = "initializes mbarriers for so many arrivals a phase each, and ends with a barrier of the CTA. `allCtas`: of the cluster, whose "
                "CTAs arrive at each other's mbarriers";
  let arguments = (ins Variadic<TTG_Barriers>:$barriers, DenseI32ArrayAttr:$arrivals, UnitAttr:$allCtas);
  let assemblyFormat = "$barriers `arrivals` $arrivals attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}
def TTG_BarrierExpectOp : TTGEffect<"barrier_expect"> {
  let summary = "one thread arrives and announces `bytes`";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, I32Attr:$bytes, Optional<I1>:$predicate);
  let assemblyFormat = "$barriers `[` $index `]` `,` $bytes (`if` $predicate^)? attr-dict `:` type($barriers)";
}
def TTG_BarrierWaitOp : TTGEffect<"barrier_wait"> {
  let summary = "every thread waits for the phase of this parity. `firstWarp`: only those of the first warp wait, which issues all MMAs that "
                "read what has arrived. `tensorMemory`: accesses to tensor memory before the arrivals come "
                "before those after the wait. `perWarpGroup`: the index is `index` plus the number of the thread's warp group. "
                "`fromOtherCtas`: warps of other CTAs arrive, too; set by prepare-lowering";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, I32:$parity, UnitAttr:$firstWarp, UnitAttr:$tensorMemory, UnitAttr:$perWarpGroup,
                       UnitAttr:$fromOtherCtas);
  let assemblyFormat = "$barriers `[` $index `]` `,` $parity attr-dict `:` type($barriers)";
}

def TTG_BarrierArriveOp : TTGEffect<"barrier_arrive"> {
  let summary = "each warp arrives once; its reads, and those of its completed MMAs, happen before. `inAllCtas`: it arrives at the barriers "
                "of all CTAs of the cluster. `toFirstCta`: only at that of the cluster's first CTA, whose threads alone wait. `firstWarp`: only "
                "the first warp arrives, which issues all MMAs that read the stage. `perWarpGroup`: as in barrier_wait";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, Optional<I1>:$predicate, UnitAttr:$inAllCtas, UnitAttr:$firstWarp,
      UnitAttr:$perWarpGroup, UnitAttr:$toFirstCta);
  let assemblyFormat = "$barriers `[` $index `]` (`if` $predicate^)? attr-dict `:` type($barriers)";
  let extraClassDeclaration = [{
    /// True if it arrives at barriers of other CTAs.
    bool isForCluster() { return getInAllCtas() || getToFirstCta(); }
  }];
  let hasVerifier = 1;
}

// ---- cluster launch control

def TTG_ClcProgramOp : TTGEffect<"clc_program", [AllTypesMatch<["full", "empty"]>]> {
  let summary = "the ids of the program that an iteration of a program loop executes. Such a loop (an scf.for from 0 in steps of 1, with this "
                "operation in its body) ends after an iteration if the launch has no other program left for this CTA. Iteration 0 executes "
                "the CTA's own program, the later ones programs whose launch the CTA has canceled. `asks`: one thread of the partition asks for the next "
                "iteration's program. Responses, full and empty barriers have a stage for an iteration; each warp that reads a response arrives at "
                "its empty barrier";
  let arguments = (ins TTG_Buffer:$responses, TTG_Barriers:$full, TTG_Barriers:$empty, I32:$iteration, UnitAttr:$asks);
  let results = (outs I32:$x, I32:$y, I32:$z);
  let assemblyFormat = "$iteration `by` $responses `,` $full `,` $empty attr-dict `:` type($responses) `,` type($full)";
  let hasVerifier = 1;
}

// ---- asynchronous copies

def TTG_CopyAsyncOp : TTGEffect<"copy_async"> {
  let summary = "cp.async of the elements at a tile of pointers to a buffer; zeros where the mask is false";
  let arguments = (ins TTG_Tile:$pointers, TTG_Buffer:$buffer, Optional<TTG_Tile>:$mask);
  let assemblyFormat = "$pointers `,` $buffer (`,` $mask^ `:` type($mask))? attr-dict `:` type($pointers) `->` type($buffer)";
  let hasVerifier = 1;
}
def TTG_CopyCommitOp : TTGEffect<"copy_commit"> { let assemblyFormat = "attr-dict"; }
def TTG_CopyWaitOp : TTGEffect<"copy_wait"> {
  let summary = "waits until all but the latest `pending` committed groups of this thread are complete (copies of other threads need a "
                "barrier, too)";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
// A map's dimension i < rank of the tile runs along the tile's dimension order[i]; other dimensions of the map have extent 1 in the box.
// `coordinates`: the tile's first element, one for each dimension of the map, innermost first, in elements; they may be out of bounds.
def TTG_TmaLoadOp : TTGEffect<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "one thread starts the copy of a tile to a buffer; TMA reports the bytes to the barrier (barrier_expect announces them). "
                "The map's box and swizzle are the buffer's. `multicast`: the CTAs of the cluster read the same tile, and each loads a part "
                "of it for all. `toLeader`: TMA reports to the barrier of the pair's first CTA. `copiedExtent`: that of the buffer's alloc, set by "
                "prepare-lowering";
  let arguments = (ins TTG_Map:$map, Variadic<I32>:$coordinates, TTG_Buffer:$buffer, TTG_Barriers:$barriers, I32:$index,
                       Optional<I1>:$predicate, DefaultValuedAttr<I32Attr, "1">:$evict /* tt::EvictionPolicy */, UnitAttr:$multicast,
                       UnitAttr:$toLeader, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$copiedExtent);
  let assemblyFormat = "$map `[` $coordinates `]` `to` $buffer `,` $barriers `[` $index `]` (`if` $predicate^)? attr-dict "
                       "`:` type($buffer) `,` type($barriers)";
  let hasVerifier = 1;
}
def TTG_TmaStoreOp : TTGEffect<"tma_store"> {
  let summary = "one thread starts the copy of a buffer to memory, as a separate bulk group; fence_async and a barrier must come before. "
                "With `reduce` each element is combined with memory atomically, in no order. `perWarpGroup`: one thread of each warp group "
                "starts the copy of the rows that its group computed. `copiedExtent`: as in tma_load";
  let arguments = (ins TTG_Map:$map, Variadic<I32>:$coordinates, TTG_Buffer:$buffer, OptionalAttr<TTG_Reduction>:$reduce, UnitAttr:$perWarpGroup,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$copiedExtent);
  let assemblyFormat = "(`reduce` $reduce^)? $buffer `to` $map `[` $coordinates `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def TTG_TmaStoreWaitOp : TTGEffect<"tma_store_wait"> {
  let summary = "the thread that started the stores waits until all but `pending` of them have read their buffers; a barrier must follow "
                "before reuse. `untilWritten`: waits until their writes are complete. TMA stores are unordered with respect to stores of "
                "threads; after this wait, threads may store to the same addresses";
  let arguments = (ins I32Attr:$pending, UnitAttr:$untilWritten);
  let assemblyFormat = "$pending attr-dict";
}
// Loads and stores that TMA can do, with tiles as values, until buffers are chosen.
def TTG_DescriptorLoadOp : TTGOp<"descriptor_load", [MemoryEffects<[MemRead]>]> {
  let summary = "loads a tile through a tensor map; zeros outside the map's bounds. `copiedExtent`: as in alloc, of the buffer that it fills";
  let arguments = (ins TTG_Map:$map, Variadic<I32>:$coordinates, DenseI32ArrayAttr:$order,
                       DefaultValuedAttr<I32Attr, "1">:$evict /* tt::EvictionPolicy */,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$copiedExtent);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$map `[` $coordinates `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def TTG_DescriptorStoreOp : TTGOp<"descriptor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores a tile through a tensor map, but nothing outside its bounds. `reduce`: as in tma_store";
  let arguments = (ins TTG_Tile:$src, TTG_Map:$map, Variadic<I32>:$coordinates, DenseI32ArrayAttr:$order, OptionalAttr<TTG_Reduction>:$reduce);
  let assemblyFormat = "(`reduce` $reduce^)? $src `to` $map `[` $coordinates `]` attr-dict `:` type($src)";
  let hasVerifier = 1;
}

// ---- dots. A tt.dot whose operands and result have the layouts of mma.sync stays.

def TTG_MmaAsyncOp : TTGEffect<"mma_async", [AllTypesMatch<["c", "d"]>, AttrSizedOperandSegments]> {
  let summary = "starts d = a * b + c on warp groups, and commits it. a [M, K] is a buffer or registers (Layout::wgmmaOperandA, or "
                "Layout::tensorMemory, from which place-accumulators moves it to tensor memory), b [K, N] "
                "a buffer, c is in Layout::wgmmaAccumulator. Writes of threads to the buffers must be fenced and synchronized before. The "
                "result, and a's registers, are in use until a mma_async_wait passes them through. `useC` false: c is not read. f32 operands "
                "count as tf32. `promotionInterval`: tensor cores accumulate fp8 dots with less precision than f32, so after that many "
                "elements of K threads add their sum to c. `extent`: the rows and columns that it computes; elsewhere d is c. `scales`: of a "
                "[M, K / block] and of b [N, K / block], in buffers of SharedLayout::scales; the tiles of a and b are bytes. `paired`: the two "
                       "CTAs of the cluster multiply together: each has rows of its own of a and d, and b [K, N / 2] is its half of the columns. `aZero`, `bZero`: "
                       "loop_variant_zeros that are added to the addresses of a and b";
  let arguments = (ins TTG_Any:$a, TTG_Buffer:$b, TTG_Tile:$c, Optional<I1>:$useC, OptionalAttr<I32Attr>:$promotionInterval,
                       OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$extent, Optional<TTG_Buffer>:$aScale,
                       Optional<TTG_Buffer>:$bScale, OptionalAttr<TTG_BlockScales>:$scales, UnitAttr:$paired, Optional<I32>:$aZero, Optional<I32>:$bZero);
  let results = (outs TTG_Tile:$d);
  let assemblyFormat = "$a `,` $b `,` $c (`if` $useC^)? (`extent` $extent^)? (`scales` $aScale^ `:` type($aScale) `,` $bScale `:` "
                       "type($bScale) $scales)? (`a_plus` $aZero^)? (`b_plus` $bZero^)? attr-dict `:` type($a) `,` type($b) `->` type($d)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operands in shared memory.
    ::llvm::SmallVector<::mlir::Value, 4> buffers();
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$d, "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c, "::mlir::Value":$useC,
                                 "::mlir::IntegerAttr":$promotionInterval, "::mlir::DenseI64ArrayAttr":$extent), [{
    build($_builder, $_state, d, a, b, c, useC, promotionInterval, extent, ::mlir::Value(), ::mlir::Value(), BlockScalesAttr(), false,
          ::mlir::Value(), ::mlir::Value());
  }]>];
}
def TTG_MmaAsyncWaitOp : TTGEffect<"mma_async_wait"> {
  let summary = "waits until all but the latest `pending` wgmma of this warp group are complete; passes tiles (accumulators, operands in "
                "registers) through that may be used afterwards. `drains`: in a loop whose iteration has several MMAs for one dot, the MMAs of "
                "the previous iteration have finished after it. `namesAll`: as in ptx.wgmma_wait. prepare-lowering sorts the tiles, "
                "and sets two properties. `computed`: so many tiles at the end are no accumulators, and are computed before the wait. `extents`: the "
                "rows and columns of each tile that MMAs in flight may write, if not all";
  let arguments = (ins I32Attr:$pending, Variadic<TTG_Tile>:$tiles, UnitAttr:$drains, UnitAttr:$namesAll, DefaultValuedAttr<I32Attr, "0">:$computed,
                       OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "extents">>:$extents);
  let results = (outs Variadic<TTG_Tile>:$results);
  let builders = [OpBuilder<(ins "uint32_t":$pending, "::mlir::ValueRange":$tiles),
                            [{ build($_builder, $_state, ::mlir::TypeRange(tiles), pending, tiles, false, false, 0, ::mlir::ArrayAttr()); }]>];
  let assemblyFormat = "$pending (`,` $tiles^ `:` type($tiles))? attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}
// ---- tensor memory. place-accumulators makes these of wgmma and mma_async_wait on targets with tcgen05.

def TTG_TensorAllocOp : TTGEffect<"tensor_alloc"> {
  let summary = "allocates columns of tensor memory for the CTA, and ends with a barrier of all its threads; the result is the address. "
                "`columns`: a power of two from 32 to 512. A kernel has one at most, at its start. `paired`: for the MMAs of a pair of CTAs; "
                "it ends with a barrier of both";
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<32>, IntMaxValue<512>, IntPowerOf2]>:$columns, UnitAttr:$paired);
  let results = (outs I32:$result);
  let assemblyFormat = "$columns attr-dict";
}
def TTG_TensorFreeOp : TTGEffect<"tensor_free"> {
  let summary = "frees the columns of a tensor_alloc, at the kernel's end, after a barrier that follows all accesses; of both CTAs, if it was "
                "allocated for a pair. `columns` and `paired` are those of the allocation";
  let arguments = (ins I32:$address, I32Attr:$columns, UnitAttr:$paired);
  let assemblyFormat = "$address `,` $columns attr-dict";
  let hasVerifier = 1;
}
def TTG_TensorTileOp : TTGOp<"tensor_tile", [Pure]> {
  let summary = "`depth` tiles, one after another, the first of which starts at a column of an allocation; the result is the first one";
  let arguments = (ins I32:$address, I32Attr:$column, DefaultValuedAttr<I32Attr, "1">:$depth);
  let results = (outs TTG_TensorMemory:$result);
  let assemblyFormat = "$address `,` $column attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def TTG_TensorStageOp : TTGOp<"tensor_stage", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "one of the tiles of a tensor_tile";
  let arguments = (ins TTG_TensorMemory:$tile, I32:$index);
  let results = (outs TTG_TensorMemory:$result);
  let assemblyFormat = "$tile `[` $index `]` attr-dict `:` type($result)";
}
def TTG_TensorLoadOp : TTGOp<"tensor_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile from tensor memory to registers (Layout::tensorMemory); complete when it ends. `inHalves`: waits for each half of the "
                "registers, so that a reduction of its rows may start with the first one (overlap-tensor-loads); set by prepare-lowering";
  let arguments = (ins TTG_TensorMemory:$source, UnitAttr:$inHalves);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}
def TTG_TensorStoreOp : TTGOp<"tensor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile from registers (Layout::tensorMemory) to tensor memory; complete when it ends. `range`: only the elements [first, end) of "
                "each row. `inParts`: stores a few registers at a time, between the computation of the next ones (pipeline-tensor-stores); set by "
                "prepare-lowering";
  let arguments = (ins TTG_Tile:$src, TTG_TensorMemory:$target, OptionalAttr<DenseI32ArrayAttr>:$range, UnitAttr:$inParts);
  let assemblyFormat = "$src `,` $target attr-dict `:` type($src) `,` type($target)";
  let hasVerifier = 1;
}
def TTG_TensorScaleOp : TTGOp<"tensor_scale", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "multiplies each row of a tile of f32 in tensor memory by its factor; complete when it ends. `factors`: one for each row, in the "
                "rows' layout of Layout::tensorMemory. A warp skips rows while all of its factors are 1. `rowBlock`: the factors "
                "are those of 128 rows, with this number";
  let arguments = (ins TTG_Tile:$factors, TTG_TensorMemory:$tile, OptionalAttr<I32Attr>:$rowBlock);
  let assemblyFormat = "$factors `,` $tile attr-dict `:` type($factors) `,` type($tile)";
  let hasVerifier = 1;
}
def TTG_Tcgen05MmaOp : TTGEffect<"tcgen05_mma", [AttrSizedOperandSegments]> {
  let summary = "one thread starts d = a * b + d, or d = a * b if `accumulate` is false, and commits it to a barrier. a [M, K] is a buffer or "
                "in tensor memory, b [K, N] a buffer. `issued`: how many MMAs the program has started before; that of number i arrives at barrier i mod their number, "
                "a power of two. Without barriers, a tcgen05_commit follows. Writes of threads to the buffers must be fenced and synchronized before. f32 operands count as tf32. `scales`: "
                "as in wgmma; copied first to tensor memory, from address `scaleColumns` on; the MMAs of even and odd number use two sets of "
                "columns, so all but the latest must be complete. `paired`: as in mma_async; a thread of the pair's first CTA starts it, for both. "
                "`rowBlock`: multiplies 128 rows of a only, with this number. `kRange`: only elements [first, end) of K";
  let arguments = (ins TTG_Any:$a, TTG_Buffer:$b, TTG_TensorMemory:$d, I1:$accumulate, Optional<TTG_Barriers>:$barriers, Optional<I32>:$issued,
                       Optional<TTG_Buffer>:$aScale, Optional<TTG_Buffer>:$bScale, Optional<I32>:$scaleColumns,
                       OptionalAttr<TTG_BlockScales>:$scales, UnitAttr:$paired, OptionalAttr<I32Attr>:$rowBlock,
                       OptionalAttr<DenseI32ArrayAttr>:$kRange);
  let hasVerifier = 1;
  let assemblyFormat = "$a `,` $b `,` $d `if` $accumulate (`to` $barriers^ `:` type($barriers) `at` $issued)? (`scales` $aScale^ `:` type($aScale) `,` $bScale `:` "
                       "type($bScale) `in` $scaleColumns $scales)? attr-dict `:` type($a) `,` type($b) `,` type($d)";
}
def TTG_Tcgen05CommitOp : TTGEffect<"tcgen05_commit"> {
  let summary = "one arrival at a barrier, when all MMAs that the partition has started before are complete. `paired`: one in each CTA of the "
                "pair";
  let arguments = (ins TTG_Barriers:$barriers, I32:$index, UnitAttr:$paired);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` type($barriers)";
}
def TTG_Tcgen05WaitOp : TTGEffect<"tcgen05_wait"> {
  let summary = "the first warp, which issues the MMAs, waits until all but the latest `pending` of the `issued` MMAs are complete; other "
                "threads need a barrier after it. More MMAs than there are barriers may not be in flight up to the latest that it waits for";
  let arguments = (ins TTG_Barriers:$barriers, I32:$issued, I32Attr:$pending);
  let assemblyFormat = "$pending `of` $barriers `at` $issued attr-dict `:` type($barriers)";
  let hasVerifier = 1;
}
def TTG_FmaDotOp : TTGOp<"fma_dot", [AllTypesMatch<["c", "d"]>, MemoryEffects<[MemRead]>]> {
  let summary = "d = a * b + c by multiply-add instructions in c's type, in any layout; threads read the elements of a [.., M, K] and b "
                "[.., K, N] that they need";
  let arguments = (ins TTG_Buffer:$a, TTG_Buffer:$b, TTG_Tile:$c);
  let results = (outs TTG_Tile:$d);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `->` type($d)";
  let hasVerifier = 1;
}

// ---- partitions: warps of a CTA that run programs of their own

def TTG_WarpSpecializeOp : TTGOp<"warp_specialize", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "the kernel's warps run the default region, and other warps run the partitions, all at the same time. The number of warps of "
                "a partition is a power of two. A partition begins a new warp group, because registers move between whole warp groups, unless it "
                "requests as many as the one before and fits in that one's group. `requestedRegisters`: of a thread of each partition; the default region gets the rest. A region may use values from outside; "
                "with `captures` every partition has an argument for each of them. Upstream Triton's text form is read";
  let arguments = (ins Variadic<TTG_Any>:$captures, DenseI32ArrayAttr:$partitionNumWarps,
                       OptionalAttr<DenseI32ArrayAttr>:$requestedRegisters);
  let results = (outs Variadic<TTG_Any>:$results);
  let regions = (region SizedRegion<1>:$defaultRegion, VariadicRegion<SizedRegion<1>>:$partitions);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// True if a partition runs in the last warp group of the one before it.
    bool sharesWarpGroup(size_t partition);
    /// The first warp of a partition, where the default region has `defaultWarps`; after the last partition, the number of all warps.
    int64_t firstWarp(int64_t defaultWarps, size_t partition);
    /// The requested registers of each warp group of the partitions; empty if there is no request.
    ::llvm::SmallVector<int64_t> registersOfGroups();
    /// Replaces the partitions' arguments by what they capture.
    void captureImplicitly();
  }];
}
def TTG_WarpYieldOp : TTGOp<"warp_yield", [Pure, Terminator, HasParent<"WarpSpecializeOp">]> {
  let summary = "ends the default region of a ttg.warp_specialize, with its results";
  let arguments = (ins Variadic<TTG_Any>:$values);
  let assemblyFormat = "($values^)? attr-dict (`:` type($values)^)?";
}
def TTG_WarpReturnOp : TTGOp<"warp_return", [Pure, Terminator, HasParent<"WarpSpecializeOp">]> {
  let summary = "ends a partition of a ttg.warp_specialize";
  let assemblyFormat = "attr-dict";
}

#endif // TILEWRIGHT_TTG_TD
