// The ptx dialect: instructions of one thread. Each operation is one PTX instruction (or a fixed sequence) of the back end, on scalars.
// lower-to-threads emits it, codegen/ptx/print*.cpp print it, and the simulator executes it, so tests check the code that runs.
// Other operations are arith, scf and ub on scalars. Global addresses are i64, shared addresses are i32 (bytes from the start of PTX's
// shared window), 8-bit floats are i8, packed registers are i32.
#ifndef TILEWRIGHT_PTX_TD
#define TILEWRIGHT_PTX_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def PtxDialect : Dialect {
  let name = "ptx";
  let cppNamespace = "::tilewright::ptx";
  let summary = "instructions of one GPU thread";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect"];
}

def Ptx_TensorMap : TypeDef<PtxDialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a kernel parameter of 128 bytes that describes a strided tensor to TMA";
}

def Ptx_Kernel : AttrDef<PtxDialect, "Kernel"> {
  let mnemonic = "kernel";
  let summary = "launch parameters of a kernel; the attribute `ptx.kernel` of its tt.func. Its body is scf, arith, ub and ptx on scalars; "
                "its arguments are i64 (pointers too), smaller integers and floats, then tensor maps. choose-occupancy sets `minCtas`, the CTAs "
                "per SM that the kernel promises ptxas (0: none), and `tryMoreCtas`: if one more CTA nearly fits on an SM, ptxas runs again. "
                "`pairConversions`: f32 values become 16-bit floats in pairs (codegen/ptx/pairs.cpp)";
  let parameters = (ins "int64_t":$threads, "int64_t":$sharedBytes, DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"int64_t", "0">:$maxRegisters, DefaultValuedParameter<"int64_t", "0">:$minCtas,
                        DefaultValuedParameter<"bool", "false">:$tryMoreCtas,
                        DefaultValuedParameter<"bool", "false">:$pairConversions);
  let assemblyFormat = "`<` struct(params) `>`";
}

class PtxEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::ptx";
}
def Ptx_Cache : PtxEnum<"Cache", "cache operator",
  [I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"ca", 1>, I32EnumAttrCase<"cg", 2>, I32EnumAttrCase<"cs", 3>, I32EnumAttrCase<"cv", 4>,
   I32EnumAttrCase<"wb", 5>, I32EnumAttrCase<"wt", 6>]>;
def Ptx_Eviction : PtxEnum<"Eviction", "L1 eviction priority",
  [I32EnumAttrCase<"normal", 0>, I32EnumAttrCase<"evict_first", 1>, I32EnumAttrCase<"evict_last", 2>]>;
def Ptx_Shuffle : PtxEnum<"Shuffle", "the source lane",
  [I32EnumAttrCase<"idx", 0>, I32EnumAttrCase<"bfly", 1>, I32EnumAttrCase<"up", 2>, I32EnumAttrCase<"down", 3>]>;
def Ptx_Order : PtxEnum<"Order", "memory order",
  [I32EnumAttrCase<"relaxed", 0>, I32EnumAttrCase<"acquire", 1>, I32EnumAttrCase<"release", 2>, I32EnumAttrCase<"acq_rel", 3>]>;
def Ptx_Scope : PtxEnum<"Scope", "memory scope",
  [I32EnumAttrCase<"cta", 0>, I32EnumAttrCase<"cluster", 1>, I32EnumAttrCase<"gpu", 2>, I32EnumAttrCase<"sys", 3>]>;
def Ptx_Atomic : PtxEnum<"Atomic", "atomic operation",
  [I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"min", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"umin", 3>, I32EnumAttrCase<"umax", 4>,
   I32EnumAttrCase<"and_", 5, "and">, I32EnumAttrCase<"or_", 6, "or">, I32EnumAttrCase<"xor_", 7, "xor">, I32EnumAttrCase<"exch", 8>, I32EnumAttrCase<"fadd", 9>]>;
def Ptx_Redux : PtxEnum<"Redux", "warp-wide reduction of i32",
  [I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"min", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"umin", 3>, I32EnumAttrCase<"umax", 4>,
   I32EnumAttrCase<"and_", 5, "and">, I32EnumAttrCase<"or_", 6, "or">, I32EnumAttrCase<"xor_", 7, "xor">]>;
// Operand formats of matrix instructions.
def Ptx_Format : PtxEnum<"Format", "element format",
  [I32EnumAttrCase<"f16", 0>, I32EnumAttrCase<"bf16", 1>, I32EnumAttrCase<"tf32", 2>, I32EnumAttrCase<"e4m3", 3>,
   I32EnumAttrCase<"e5m2", 4>, I32EnumAttrCase<"s8", 5>, I32EnumAttrCase<"u8", 6>, I32EnumAttrCase<"f32", 7>, I32EnumAttrCase<"s32", 8>,
   I32EnumAttrCase<"f64", 9>, I32EnumAttrCase<"e2m3", 10>, I32EnumAttrCase<"e3m2", 11>, I32EnumAttrCase<"e2m1", 12>,
   I32EnumAttrCase<"ue8m0", 13>, I32EnumAttrCase<"ue4m3", 14>]>;
// Functions with a hardware instruction. approx: PTX's .approx (f32), with denormals flushed if PTX has only .ftz.
def Ptx_Unit : PtxEnum<"Unit", "special function",
  [I32EnumAttrCase<"ex2", 0>, I32EnumAttrCase<"lg2", 1>, I32EnumAttrCase<"rsqrt", 2>, I32EnumAttrCase<"rcp", 3>,
   I32EnumAttrCase<"sqrt", 4>, I32EnumAttrCase<"sin", 5>, I32EnumAttrCase<"cos", 6>, I32EnumAttrCase<"tanh", 7>,
   I32EnumAttrCase<"sqrt_rn", 8>, I32EnumAttrCase<"floor", 9>, I32EnumAttrCase<"ceil", 10>, I32EnumAttrCase<"trunc", 11>,
   I32EnumAttrCase<"rint", 12>]>;

// Numbers in instructions, within the bounds of PTX. verify_operations.cpp has the rules that concern several attributes or operands.
class PtxNumber<string condition, string text>
    : ConfinedAttr<I32Attr, [AttrConstraint<CPred<!subst("$number", "::llvm::cast<::mlir::IntegerAttr>($_self).getInt()", condition)>, text>]>;
def Ptx_GridAxis : PtxNumber<"$number >= 0 && $number <= 2", "that is an axis of the grid, 0 to 2">;
def Ptx_BarrierId : PtxNumber<"$number >= 0 && $number < ::tilewright::gpu::namedBarriers", "that is a named barrier, 0 to 15">;
def Ptx_WholeWarps : PtxNumber<"$number >= 0 && $number % 32 == 0", "that is the threads of whole warps">;
def Ptx_CopyBytes : PtxNumber<"$number == 4 || $number == 8 || $number == 16", "that is 4, 8 or 16 bytes">;
def Ptx_Arrivals : PtxNumber<"$number >= 1 && $number < 1 << 20", "that is arrivals of a phase, 1 to 1048575 (PTX ISA 9.7.13.15.2)">;
def Ptx_Registers : PtxNumber<"$number % ::tilewright::gpu::registerStep == 0 && $number >= ::tilewright::gpu::minMaxnreg && $number <= ::tilewright::gpu::maxMaxnreg",
                              "that is a multiple of 8 from 24 to 256">;

class PtxOp<string name, list<Trait> traits = []> : Op<PtxDialect, name, traits>;
class PtxEffect<string name, list<Trait> traits = []> : PtxOp<name, !listconcat([MemoryEffects<[MemRead, MemWrite]>], traits)>;
// Instructions that the threads of a warp (or more) execute together; they are not moved.
def Ptx_Together : NativeOpTrait<"Together"> { let cppNamespace = "::tilewright::ptx"; }
class PtxTogether<string name, list<Trait> traits = []> : PtxEffect<name, !listconcat([Ptx_Together], traits)>;

// ---- position

class PtxSpecial<string name, string text> : PtxOp<name, [Pure]> {
  let summary = text;
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Ptx_ThreadIdOp : PtxSpecial<"thread_id", "thread of the CTA, 0 .. 32 * warps - 1">;
def Ptx_WarpIdOp : PtxSpecial<"warp_id", "thread_id / 32, known to be the same for the whole warp (shfl.idx 0)">;
def Ptx_LaneIdOp : PtxSpecial<"lane_id", "thread_id mod 32">;
def Ptx_SharedBaseOp : PtxSpecial<"shared_base", "address of the kernel's dynamic shared memory, a multiple of 1024">;
def Ptx_ClusterRankOp : PtxSpecial<"cluster_rank", "rank of the CTA in its cluster">;
class PtxAxis<string name, string text> : PtxOp<name, [Pure]> {
  let summary = text;
  let arguments = (ins Ptx_GridAxis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}
def Ptx_BlockIdOp : PtxAxis<"block_id", "block of the grid along axis 0, 1 or 2">;
def Ptx_BlockCountOp : PtxAxis<"block_count", "blocks of the grid along axis 0, 1 or 2">;
def Ptx_ElectOp : PtxTogether<"elect"> {
  let summary = "true in exactly one lane of the (converged) warp";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

// ---- memory. All values of one access have one type of 8, 16, 32 or 64 bits (not i1) and are contiguous; there are 1, 2, 4 or 8 of them, at
// most 16 bytes together. The address is a multiple of the size of the access. Without `predicate` the access always executes.

def Ptx_LoadGlobalOp : PtxOp<"load_global", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads values from global memory; where the predicate is false, the result is `other` (or zero without `other`). A "
                "volatile load is never removed or merged: a loop may wait for its value. `unaligned`: loads the aligned words around the needed "
                "bytes, so some bytes may lie outside every tensor; they are not used. `hoisted`: hoist-loads moved it above a branch, and it "
                "must stay there, so it becomes inline assembly";
  // An aligned word that contains one byte of a tensor can always be read, because allocations are larger. The simulator checks only the
  // bytes inside a tensor. LLVM would sink a hoisted load again.
  let arguments = (ins I64:$address, Optional<I1>:$predicate, Variadic<AnyType>:$other,
                       DefaultValuedAttr<Ptx_Cache, "::tilewright::ptx::Cache::none">:$cache,
                       DefaultValuedAttr<Ptx_Eviction, "::tilewright::ptx::Eviction::normal">:$evict, UnitAttr:$isVolatile,
                       UnitAttr:$unaligned, UnitAttr:$hoisted);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = "$address (`if` $predicate^)? (`else` $other^ `:` type($other))? attr-dict `->` type($values)";
  let hasVerifier = 1;
}
def Ptx_StoreGlobalOp : PtxOp<"store_global", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "stores values to global memory. `tile`: the number of the store of a tile in the kernel; each operation with this number "
                "stores some of the tile's elements. Without it, the operation is a store of its own";
  let arguments = (ins I64:$address, Variadic<AnyType>:$values, Optional<I1>:$predicate,
                       DefaultValuedAttr<Ptx_Cache, "::tilewright::ptx::Cache::none">:$cache,
                       DefaultValuedAttr<Ptx_Eviction, "::tilewright::ptx::Eviction::normal">:$evict, OptionalAttr<I32Attr>:$tile);
  let assemblyFormat = "$address `,` $values (`if` $predicate^)? attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def Ptx_LoadSharedOp : PtxOp<"load_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "loads values from shared memory, at address + offset; undefined where the predicate is false";
  let arguments = (ins I32:$address, Optional<I1>:$predicate, DefaultValuedAttr<I32Attr, "0">:$offset);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = "$address (`if` $predicate^)? attr-dict `->` type($values)";
  let hasVerifier = 1;
}
def Ptx_StoreSharedOp : PtxOp<"store_shared", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "stores values to shared memory, at address + offset";
  let arguments = (ins I32:$address, Variadic<AnyType>:$values, Optional<I1>:$predicate, DefaultValuedAttr<I32Attr, "0">:$offset);
  let assemblyFormat = "$address `,` $values (`if` $predicate^)? attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def Ptx_LoadBlockOp : PtxOp<"load_block", [MemoryEffects<[MemRead]>]> {
  let summary = "loads values from the shared memory of another CTA of the cluster (mapa, ld.shared::cluster), at the same address as in "
                "this CTA";
  let arguments = (ins I32:$address, I32:$rank);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = "$address `,` $rank attr-dict `->` type($values)";
  let hasVerifier = 1;
}
def Ptx_AddSharedOp : PtxEffect<"add_shared"> {
  let summary = "adds to an i32 in shared memory atomically (red.shared.add): adding threads need no order between them";
  let arguments = (ins I32:$address, I32:$value, Optional<I1>:$predicate);
  let assemblyFormat = "$address `,` $value (`if` $predicate^)? attr-dict";
}
def Ptx_LdmatrixOp : PtxTogether<"ldmatrix"> {
  let summary = "loads 8x8 matrices of 16-bit elements (1, 2 or 4) from shared memory: lane i gives the address of row i mod 8 of matrix "
                "i / 8";
  let arguments = (ins I32:$address, UnitAttr:$transposed, DefaultValuedAttr<I32Attr, "0">:$offset);
  let results = (outs Variadic<I32>:$values);
  let assemblyFormat = "$address attr-dict `->` type($values)";
  let hasVerifier = 1;
}
def Ptx_StmatrixOp : PtxTogether<"stmatrix"> {
  let summary = "stores 8x8 matrices of 16-bit elements (1, 2 or 4) to shared memory; the inverse of ldmatrix";
  let arguments = (ins I32:$address, Variadic<I32>:$values, UnitAttr:$transposed, DefaultValuedAttr<I32Attr, "0">:$offset);
  let assemblyFormat = "$address `,` $values attr-dict";
  let hasVerifier = 1;
}
def Ptx_AtomicOp : PtxEffect<"atomic", [AttrSizedOperandSegments]> {
  let summary = "atomic read-modify-write in global memory; the result is the old value (undefined where the predicate is false). fadd "
                "takes one value, or contiguous values of at most 16 bytes. fenced: fences around a group of atomics provide the order";
  let arguments = (ins Ptx_Atomic:$op, Ptx_Order:$order, Ptx_Scope:$scope, I64:$address, Variadic<AnyType>:$values,
                       Optional<I1>:$predicate, UnitAttr:$fenced);
  let results = (outs Variadic<AnyType>:$old);
  let assemblyFormat = "$op $order $scope $address `,` $values (`if` $predicate^)? attr-dict `:` type($values) (`->` type($old)^)?";
}
def Ptx_CompareSwapOp : PtxEffect<"compare_swap", [AllTypesMatch<["compare", "value", "old"]>]> {
  let summary = "writes `value` where memory equals `compare`, of 16, 32 or 64 bits (integers); the result is the old value. "
                "`alreadyReleased`: a fence has released the program's writes, and only retries of this lock have written since";
  let arguments = (ins Ptx_Order:$order, Ptx_Scope:$scope, I64:$address, AnySignlessInteger:$compare, AnySignlessInteger:$value,
                       Optional<I1>:$predicate, UnitAttr:$alreadyReleased);
  let results = (outs AnySignlessInteger:$old);
  let assemblyFormat = "$order $scope $address `,` $compare `,` $value (`if` $predicate^)? attr-dict `:` type($value)";
}
def Ptx_FenceOp : PtxEffect<"fence"> {
  let summary = "fence.acq_rel of the scope";
  let arguments = (ins Ptx_Scope:$scope);
  let assemblyFormat = "$scope attr-dict";
}
def Ptx_SleepOp : PtxEffect<"sleep"> {
  let summary = "suspends the thread for about this many nanoseconds (0 to twice as many)";
  let arguments = (ins I32Attr:$nanoseconds);
  let assemblyFormat = "$nanoseconds attr-dict";
}
def Ptx_PrefetchTensorMapOp : PtxEffect<"prefetch_tensor_map"> {
  let arguments = (ins Ptx_TensorMap:$map);
  let assemblyFormat = "$map attr-dict";
}

// ---- the threads of a warp and of a CTA

def Ptx_ShuffleOp : PtxTogether<"shuffle", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of another lane: `lane` is its index (idx), is XORed with this lane's index (bfly), or is the distance (up, "
                "down: out of range gives this lane's value). 8 to 64 bits; all 32 lanes must take part";
  let arguments = (ins Ptx_Shuffle:$kind, AnyType:$value, I32:$lane);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $value `,` $lane attr-dict `:` type($value)";
}
def Ptx_ReduxOp : PtxTogether<"redux"> {
  let summary = "reduction of the value over all 32 lanes";
  let arguments = (ins Ptx_Redux:$kind, I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$kind $value attr-dict";
}
def Ptx_BallotOp : PtxTogether<"ballot"> {
  let summary = "bit i of the result: the predicate of lane i";
  let arguments = (ins I1:$predicate);
  let results = (outs I32:$result);
  let assemblyFormat = "$predicate attr-dict";
}
def Ptx_MatchAnyOp : PtxTogether<"match_any"> {
  let summary = "bit i of the result: lane i holds the same value as this lane";
  let arguments = (ins I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$value attr-dict";
}
def Ptx_BarrierOp : PtxTogether<"barrier"> {
  let summary = "bar.sync id [, threads]: all threads of the CTA (threads = 0) or this many; orders their memory accesses. "
                "`perWarpGroup`: the number is `id` plus the number of the thread's warp group. With `warp`, ptxas sees that a warp has one number";
  // A branch between two barriers with constant numbers would make ptxas wait for all MMAs before it (C7514).
  let arguments = (ins Optional<I32>:$warp, DefaultValuedAttr<Ptx_BarrierId, "0">:$id, DefaultValuedAttr<Ptx_WholeWarps, "0">:$threads, UnitAttr:$perWarpGroup);
  let assemblyFormat = "(`of` $warp^)? attr-dict";
  let builders = [OpBuilder<(ins CArg<"uint32_t", "0">:$id, CArg<"uint32_t", "0">:$threads, CArg<"bool", "false">:$perWarpGroup),
                            [{ build($_builder, $_state, mlir::Value(), id, threads, perWarpGroup); }]>];
}
def Ptx_BarrierArriveOp : PtxTogether<"barrier_arrive"> {
  let summary = "bar.arrive id, threads: arrives without waiting";
  let arguments = (ins Ptx_BarrierId:$id, ConfinedAttr<Ptx_WholeWarps, [IntPositive]>:$threads);
  let assemblyFormat = "attr-dict";
}
def Ptx_WarpBarrierOp : PtxTogether<"warp_barrier"> { let summary = "bar.warp.sync"; let assemblyFormat = "attr-dict"; }
def Ptx_ClusterArriveOp : PtxTogether<"cluster_arrive"> { let arguments = (ins UnitAttr:$relaxed); let assemblyFormat = "attr-dict"; }
def Ptx_ClusterWaitOp : PtxTogether<"cluster_wait"> { let assemblyFormat = "attr-dict"; }

// ---- asynchronous copies

def Ptx_CopyAsyncOp : PtxEffect<"copy_async"> {
  let summary = "cp.async: copies 4, 8 or 16 bytes from global to shared memory; where the predicate is false it writes zeros and reads "
                "nothing. cg (16 bytes): bypasses L1";
  // No eviction priority: ptxas (12.8 and 13.0) miscompiles it if the shared address is a register plus a uniform register. It encodes both
  // uniform registers of the LDGSTS in one field, which the GPU rejects as an illegal instruction.
  let arguments = (ins I32:$shared, I64:$global, Optional<I1>:$predicate, Ptx_CopyBytes:$bytes, DefaultValuedAttr<I32Attr, "0">:$offset);
  let assemblyFormat = "$shared `,` $global (`if` $predicate^)? attr-dict";
}
def Ptx_CopyCommitOp : PtxEffect<"copy_commit"> { let summary = "cp.async.commit_group"; let assemblyFormat = "attr-dict"; }
def Ptx_CopyWaitOp : PtxEffect<"copy_wait"> {
  let summary = "cp.async.wait_group: waits until all but the latest `pending` groups of this thread are complete";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
def Ptx_MbarrierInitOp : PtxEffect<"mbarrier_init"> {
  let summary = "initializes an 8-byte mbarrier at a shared address, with `count` arrivals a phase; executed where the predicate is true";
  let arguments = (ins I32:$barrier, Ptx_Arrivals:$count, Optional<I1>:$predicate);
  let assemblyFormat = "$barrier `,` $count (`if` $predicate^)? attr-dict";
}
def Ptx_MbarrierInitFenceOp : PtxEffect<"mbarrier_init_fence"> {
  let summary = "fence.mbarrier_init.release.cluster; a barrier must follow";
  let assemblyFormat = "attr-dict";
}
def Ptx_MbarrierExpectOp : PtxEffect<"mbarrier_expect"> {
  let summary = "mbarrier.arrive.expect_tx: one arrival, and `bytes` to expect in this phase";
  let arguments = (ins I32:$barrier, I32Attr:$bytes, Optional<I1>:$predicate);
  let assemblyFormat = "$barrier `,` $bytes (`if` $predicate^)? attr-dict";
}
def Ptx_MbarrierArriveOp : PtxEffect<"mbarrier_arrive"> {
  let summary = "mbarrier.arrive: `count` arrivals. `inCtas`, the number of CTAs of the cluster: arrives at the same barrier in each of them; "
                "with `toFirst`, only in the first one. `scope`: the threads that see what the thread has done before, cta or cluster. With cta, "
                "threads of another CTA learn of completed asynchronous operations alone";
  let arguments = (ins I32:$barrier, DefaultValuedAttr<Ptx_Arrivals, "1">:$count, Optional<I1>:$predicate,
                       OptionalAttr<ConfinedAttr<I32Attr, [IntMinValue<2>]>>:$inCtas,
                       DefaultValuedAttr<Ptx_Scope, "::tilewright::ptx::Scope::cta">:$scope, UnitAttr:$toFirst);
  let assemblyFormat = "$barrier (`if` $predicate^)? (`scope` $scope^)? attr-dict";
  let hasVerifier = 1;
}
def Ptx_MbarrierWaitOp : PtxEffect<"mbarrier_wait"> {
  let summary = "spins until the phase of this parity has completed (a new mbarrier passes a wait for parity 1). `scope`: of the arrivals that "
                "it is ordered after, cta or cluster";
  let arguments = (ins I32:$barrier, I32:$parity, DefaultValuedAttr<Ptx_Scope, "::tilewright::ptx::Scope::cta">:$scope);
  let assemblyFormat = "$barrier `,` $parity (`scope` $scope^)? attr-dict";
  let hasVerifier = 1;
}
def Ptx_TmaLoadOp : PtxEffect<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "copies a box of a tensor to shared memory (128-byte aligned; with a swizzle, to its pattern) and reports its bytes to an "
                "mbarrier. One thread issues it. Coordinates are in elements, innermost first; out of bounds they give zeros. `toLeader` "
                "(cta_group 2): the mbarrier is that of the even CTA of the pair whose shared memory is filled";
  let arguments = (ins Ptx_TensorMap:$map, Variadic<I32>:$coordinates, I32:$shared, I32:$barrier, Optional<I1>:$predicate,
                       DefaultValuedAttr<Ptx_Eviction, "::tilewright::ptx::Eviction::normal">:$evict, OptionalAttr<I32Attr>:$multicast,
                       UnitAttr:$toLeader);
  let assemblyFormat = "$map `[` $coordinates `]` `to` $shared `,` $barrier (`if` $predicate^)? attr-dict";
  let hasVerifier = 1;
}
def Ptx_TmaStoreOp : PtxEffect<"tma_store", [AttrSizedOperandSegments]> {
  let summary = "copies a box from shared memory to a tensor (clipped at its bounds), as part of this thread's current bulk group; "
                "`reduce` combines it with the data in memory";
  let arguments = (ins Ptx_TensorMap:$map, Variadic<I32>:$coordinates, I32:$shared, Optional<I1>:$predicate, OptionalAttr<Ptx_Redux>:$reduce);
  let assemblyFormat = "$map `[` $coordinates `]` `from` $shared (`if` $predicate^)? attr-dict";
  let hasVerifier = 1;
}
def Ptx_TmaCommitOp : PtxEffect<"tma_commit"> { let summary = "cp.async.bulk.commit_group"; let assemblyFormat = "attr-dict"; }
def Ptx_TmaWaitOp : PtxEffect<"tma_wait"> {
  let summary = "cp.async.bulk.wait_group: waits until all but the latest `pending` groups of this thread have read their source (read) "
                "or are complete";
  let arguments = (ins I32Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending attr-dict";
}
def Ptx_FenceAsyncOp : PtxEffect<"fence_async"> {
  let summary = "fence.proxy.async.shared::cta: orders this thread's accesses to shared memory before later ones of TMA and wgmma. "
                "`interleavedStores`: interleave-stores reorders the stores before it";
  let arguments = (ins UnitAttr:$interleavedStores);
  let assemblyFormat = "attr-dict";
}

// ---- matrix instructions

def Ptx_MmaOp : PtxTogether<"mma", [AttrSizedOperandSegments]> {
  let summary = "mma.sync.m16n8kK.row.col: K from the format (f16, bf16 16; tf32 8; 8-bit 32). Registers of a warp as in the PTX manual; "
                "a: i32 x 4, b: i32 x 2, c and d: f32, i32 (s32) or, for f16 accumulators, packed i32 x 2. Fewer registers are smaller "
                "shapes: a i32 x 2 and b i32 x 1 is m16n8k8 of f16; a, b i32 x 1 and c i32 x 2 is m8n8k16 of 8-bit integers";
  let arguments = (ins Variadic<AnyType>:$a, Variadic<AnyType>:$b, Variadic<AnyType>:$c, Ptx_Format:$aFormat, Ptx_Format:$bFormat,
                       Ptx_Format:$cFormat);
  let results = (outs Variadic<AnyType>:$d);
  let assemblyFormat = "`(` $a `)` `,` `(` $b `)` `,` `(` $c `)` attr-dict `:` `(` type($a) `)` `,` `(` type($b) `)` `,` `(` type($c) `)` `->` `(` type($d) `)`";
}
def Ptx_ScaledMmaOp : PtxTogether<"scaled_mma", [AttrSizedOperandSegments]> {
  let summary = "mma.sync.m16n8kK of formats with 4 to 8 bits and f32 accumulators. a: i32 x 4, b: i32 x 2, c and d: f32 x 4. k = 32: a byte "
                "for each number (4 bits are its bits 2 to 5); k = 64: two e2m1 numbers in a byte. `scales`: a register for A and one for B, "
                "or none. A row of A, or column of B, has `vector` scales: adjacent bytes, from `aByte` or `bByte` on. `aThread` and `bThread` "
                "select the lanes of each quad that hold them: row r of A in lane 4 * (r % 8) + 2 * aThread + r / 8, column c of B in lane "
                "4 * c + bThread";
  let arguments = (ins Variadic<I32>:$a, Variadic<I32>:$b, Variadic<F32>:$c, Variadic<I32>:$scales, Ptx_Format:$aFormat, Ptx_Format:$bFormat,
                       Ptx_Format:$scaleFormat, I32Attr:$k, I32Attr:$vector, I32Attr:$aByte, I32Attr:$bByte, I32Attr:$aThread, I32Attr:$bThread);
  let results = (outs Variadic<F32>:$d);
  let assemblyFormat = "`(` $a `)` `,` `(` $b `)` `,` `(` $c `)` `,` `(` $scales `)` attr-dict `:` `(` type($a) `)` `,` `(` type($b) `)` `,` `(` type($c) `)` `,` `(` type($scales) `)` `->` `(` type($d) `)`";
}
def Ptx_WgmmaFenceOp : PtxTogether<"wgmma_fence"> {
  let summary = "orders previous register writes before the following wgmma";
  let assemblyFormat = "attr-dict";
}
def Ptx_WholeWarpGroups : AttrConstraint<CPred<"::llvm::cast<::mlir::IntegerAttr>($_self).getInt() % 4 == 0">, "and a multiple of the warps of a warp group">;
def Ptx_WgmmaOp : PtxTogether<"wgmma", [AttrSizedOperandSegments]> {
  let summary = "wgmma.mma_async m64nNkK of a warp group. a: i64 descriptor, or i32 x 4 registers; b: i64 descriptor; c/d: N/2 "
                "accumulators (f32 or i32; packed i32 x N/4 for f16). useC false: d = a * b. transposed (16-bit only): the operand is M- "
                "or N-major. `partialWarps`: only this many of the CTA's first warps take part; elsewhere d is c";
  let arguments = (ins Variadic<AnyType>:$a, I64:$b, Variadic<AnyType>:$c, Optional<I1>:$useC, I32Attr:$n, Ptx_Format:$aFormat,
                       Ptx_Format:$bFormat, Ptx_Format:$cFormat, UnitAttr:$aTransposed, UnitAttr:$bTransposed,
                       OptionalAttr<ConfinedAttr<I32Attr, [IntPositive, Ptx_WholeWarpGroups]>>:$partialWarps);
  let results = (outs Variadic<AnyType>:$d);
  let assemblyFormat = "`(` $a `)` `,` $b `,` `(` $c `)` (`if` $useC^)? attr-dict `:` `(` type($a) `)` `,` `(` type($c) `)` `->` `(` type($d) `)`";
  let hasVerifier = 1;
}
def Ptx_WgmmaCommitOp : PtxTogether<"wgmma_commit"> { let assemblyFormat = "attr-dict"; }
def Ptx_WgmmaWaitOp : PtxTogether<"wgmma_wait"> {
  let summary = "waits until all but the latest `pending` committed groups of this warp group are complete. Accumulators pass through it, "
                "so that their uses stay below. The last `computeBeforeWait` values must be computed before the wait: ptxas moves it above arithmetic "
                "that does not depend on it, and then nothing is computed while the MMAs run. Its assembly names eight of these values, evenly "
                "spaced, which makes ptxas compute them first; with `namesAll` it names all, because ptxas may postpone the others";
  let arguments = (ins I32Attr:$pending, Variadic<AnyType>:$values, DefaultValuedAttr<I32Attr, "0">:$computeBeforeWait, UnitAttr:$namesAll);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$pending (`,` $values^ `:` type($values))? attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}
def Ptx_MaxRegistersOp : PtxTogether<"max_registers"> {
  let summary = "setmaxnreg of a warp group";
  let arguments = (ins BoolAttr:$increase, Ptx_Registers:$count);
  let assemblyFormat = "$increase $count attr-dict";
}

include "gpu/machine/tcgen05.td"

// ---- arithmetic that arith lacks

def Ptx_SpecialOp : PtxOp<"special", [Pure, SameOperandsAndResultType]> {
  let summary = "special functions of f32 (rcp, rsqrt, sqrt, sqrt_rn also f64); floor, ceil, trunc and rint (to even) are exact, of f32 "
                "and f64. `flushes`: ex2 returns 0 instead of a denormal, in one instruction instead of four";
  let arguments = (ins Ptx_Unit:$kind, AnyFloat:$value, UnitAttr:$flushes);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}
def Ptx_FmaOp : PtxOp<"fma", [Pure, SameOperandsAndResultType]> {
  let summary = "a * b + c, rounded once";
  let arguments = (ins AnyFloat:$a, AnyFloat:$b, AnyFloat:$c);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($result)";
}
def Ptx_DivideOp : PtxOp<"divide", [Pure, SameOperandsAndResultType]> {
  let summary = "f32 quotient within 2 ulp (div.full); arith.divf is correctly rounded";
  let arguments = (ins F32:$lhs, F32:$rhs);
  let results = (outs F32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}
def Ptx_PermuteOp : PtxOp<"permute", [Pure]> {
  let summary = "prmt: the bytes of b:a that the selector's nibbles select";
  let arguments = (ins I32:$a, I32:$b, I32:$selector);
  let results = (outs I32:$result);
  let assemblyFormat = "$a `,` $b `,` $selector attr-dict";
}
// Packs values of 8 or 16 bits (first lowest) into i32 (or i64, or i16), and unpacks them, without conversion.
def Ptx_PackOp : PtxOp<"pack", [Pure]> {
  let arguments = (ins Variadic<AnyType>:$values);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$values attr-dict `:` type($values) `->` type($result)";
}
def Ptx_UnpackOp : PtxOp<"unpack", [Pure]> {
  let arguments = (ins AnySignlessInteger:$value);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($results)";
}
def Ptx_ConvertPairOp : PtxOp<"convert_pair", [Pure]> {
  let summary = "converts two f32 to two packed 16-bit or 8-bit floats (low half first), rounded to nearest even; 8-bit formats saturate. "
                "The result is i32 for f16 and bf16, i16 for e4m3 and e5m2";
  let arguments = (ins F32:$low, F32:$high, Ptx_Format:$format);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$low `,` $high $format attr-dict `->` type($result)";
}
def Ptx_ConvertOp : PtxOp<"convert", [Pure]> {
  let summary = "one cvt without an arith operation: f32 to tf32 (rna, result f32), packed e4m3x2 / e5m2x2 (i16) to packed f16x2 (i32)";
  let arguments = (ins AnyType:$value, Ptx_Format:$from, Ptx_Format:$to);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value $from `->` $to attr-dict `:` type($value) `->` type($result)";
}
def Ptx_InlineOp : PtxEffect<"inline"> {
  let summary = "the kernel's PTX text (tl.inline_asm_elementwise), with LLVM's constraints";
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, BoolAttr:$pure, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$text `,` $constraints $pure `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
}

// ---- debugging

def Ptx_PrintOp : PtxEffect<"print"> {
  let summary = "prints a line through the driver's printf; `format` is C's, for the operands' types (i32, i64, f64)";
  let arguments = (ins StrAttr:$format, Variadic<AnyType>:$values);
  let assemblyFormat = "$format (`,` $values^ `:` type($values))? attr-dict";
}
def Ptx_AssertFailOp : PtxEffect<"assert_fail"> {
  let summary = "prints the message with the block and thread, and ends the grid with an error (__assertfail)";
  let arguments = (ins StrAttr:$message, StrAttr:$file, StrAttr:$function, I32Attr:$line, I1:$predicate);
  let assemblyFormat = "$message `,` $file `,` $function `,` $line `if` $predicate attr-dict";
}

#endif // TILEWRIGHT_PTX_TD
