// The tt dialect: target-independent operations of one program on its tiles. Operation names, operand order, attributes and text are those
// of the TTIR of Triton 3.6, so that its files can be read and compared. Tiles are builtin ranked tensors, scalars are builtin scalars.
// Arithmetic is in `arith` and `math`, control flow in `scf` and `cf`.
#ifndef TILEWRIGHT_TT_TD
#define TILEWRIGHT_TT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TTDialect : Dialect {
  let name = "tt";
  let cppNamespace = "::tilewright::tt";
  let summary = "tiles of a Triton program";
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    // Text of newer versions than 3.6: newer_text.cpp.
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::ub::UBDialect"];
}

//===-------------------------------------------------------------------------------------------------------------- types

class TTType<string name, string text> : TypeDef<TTDialect, name> { let mnemonic = text; }

def TT_Pointer : TTType<"Pointer", "ptr"> {
  let summary = "address of a scalar, or of a tile in memory (a block pointer, pointee is a tensor)";
  let parameters = (ins "::mlir::Type":$pointeeType, DefaultValuedParameter<"int", "1">:$addressSpace);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointeeType, CArg<"int", "1">:$addressSpace),
                                                 [{ return $_get(pointeeType.getContext(), pointeeType, addressSpace); }]>];
  let assemblyFormat = "`<` $pointeeType (`,` $addressSpace^)? `>`";
}

def TT_TensorDesc : TTType<"TensorDesc", "tensordesc"> {
  let summary = "a strided tensor in memory with a block shape; its integers may be marked as unsigned (ui32)";
  let parameters = (ins "::mlir::RankedTensorType":$storedType);
  let hasCustomAssemblyFormat = 1; // <tensor<32x64xf16>>, and <32x64xf16> as upstream prints it from 3.8 on
  let extraClassDeclaration = [{
    /// Returns the type of its blocks as values, which are signless as all values of the IR.
    ::mlir::RankedTensorType getBlockType() const;
    /// True if the minimum and maximum of its elements are those of unsigned integers.
    bool hasUnsignedElements() const { return getStoredType().getElementType().isUnsignedInteger(); }
  }];
}

def TT_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "tile">;
def TT_AnyPtr : Type<CPred<"::tilewright::tt::isPointerOrTileOfPointers($_self)">, "pointer or tile of pointers">;
def TT_Any : Type<CPred<"true">, "any type">;
def TT_BoolLike : Type<CPred<"::mlir::getElementTypeOrSelf($_self).isInteger(1)">, "i1 or tile of i1">;
def TT_IntLike : Type<CPred<"::mlir::getElementTypeOrSelf($_self).isInteger()">, "integer or tile of integers">;
def TT_FloatLike : Type<CPred<"::llvm::isa<::mlir::FloatType>(::mlir::getElementTypeOrSelf($_self))">, "float or tile of floats">;
def TT_TensorPtr : Type<CPred<"::tilewright::tt::isBlockPointer($_self)">, "block pointer">;
def TT_ScalarPtr : Type<CPred<"::llvm::isa<::tilewright::tt::PointerType>($_self)">, "pointer">;

//===-------------------------------------------------------------------------------------------------------------- enums

class TTEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::tt";
}

def TT_Axis : TTEnum<"Axis", "axis of the grid",
  [I32EnumAttrCase<"X", 0, "x">, I32EnumAttrCase<"Y", 1, "y">, I32EnumAttrCase<"Z", 2, "z">]>;
def TT_CacheModifier : TTEnum<"CacheModifier", "cache hint",
  [I32EnumAttrCase<"NONE", 1, "none">, I32EnumAttrCase<"CA", 2, "ca">, I32EnumAttrCase<"CG", 3, "cg">, I32EnumAttrCase<"WB", 4, "wb">,
   I32EnumAttrCase<"CS", 5, "cs">, I32EnumAttrCase<"WT", 6, "wt">, I32EnumAttrCase<"CV", 7, "cv">]>;
def TT_EvictionPolicy : TTEnum<"EvictionPolicy", "eviction hint",
  [I32EnumAttrCase<"NORMAL", 1, "normal">, I32EnumAttrCase<"EVICT_FIRST", 2, "evict_first">,
   I32EnumAttrCase<"EVICT_LAST", 3, "evict_last">]>;
def TT_PaddingOption : TTEnum<"PaddingOption", "value outside a block pointer's bounds",
  [I32EnumAttrCase<"PAD_ZERO", 1, "zero">, I32EnumAttrCase<"PAD_NAN", 2, "nan">]>;
def TT_InputPrecision : TTEnum<"InputPrecision", "how fp32 operands of dot are read",
  [I32EnumAttrCase<"TF32", 0, "tf32">, I32EnumAttrCase<"TF32x3", 1, "tf32x3">, I32EnumAttrCase<"IEEE", 2, "ieee">,
   I32EnumAttrCase<"BF16x3", 3, "bf16x3">, I32EnumAttrCase<"BF16x6", 4, "bf16x6">]>;
def TT_RoundingMode : TTEnum<"RoundingMode", "rounding", [I32EnumAttrCase<"RTZ", 0, "rtz">, I32EnumAttrCase<"RTNE", 1, "rtne">]>;
def TT_PropagateNan : TTEnum<"PropagateNan", "what NaN does to min, max and clamp",
  [I32EnumAttrCase<"NONE", 0, "none">, I32EnumAttrCase<"ALL", 65535, "all">]>;
def TT_MemSemantic : TTEnum<"MemSemantic", "memory order",
  [I32EnumAttrCase<"RELAXED", 1, "relaxed">, I32EnumAttrCase<"ACQUIRE", 2, "acquire">, I32EnumAttrCase<"RELEASE", 3, "release">,
   I32EnumAttrCase<"ACQUIRE_RELEASE", 4, "acq_rel">]>;
def TT_MemSyncScope : TTEnum<"MemSyncScope", "scope of the memory order",
  [I32EnumAttrCase<"GPU", 1, "gpu">, I32EnumAttrCase<"CTA", 2, "cta">, I32EnumAttrCase<"SYSTEM", 3, "sys">]>;
def TT_RMWOp : TTEnum<"RMWOp", "atomic operation",
  [I32EnumAttrCase<"AND", 1, "and">, I32EnumAttrCase<"OR", 2, "or">, I32EnumAttrCase<"XOR", 3, "xor">, I32EnumAttrCase<"ADD", 4, "add">,
   I32EnumAttrCase<"FADD", 5, "fadd">, I32EnumAttrCase<"MAX", 6, "max">, I32EnumAttrCase<"MIN", 7, "min">,
   I32EnumAttrCase<"UMAX", 8, "umax">,
   I32EnumAttrCase<"UMIN", 9, "umin">, I32EnumAttrCase<"XCHG", 10, "exch">]>;

def TT_DescriptorReduceKind : TTEnum<"DescriptorReduceKind", "how a block is combined with memory",
  [I32EnumAttrCase<"ADD", 1, "add">, I32EnumAttrCase<"MIN", 2, "min">, I32EnumAttrCase<"MAX", 3, "max">, I32EnumAttrCase<"INC", 4, "inc">,
   I32EnumAttrCase<"DEC", 5, "dec">, I32EnumAttrCase<"AND", 6, "and">, I32EnumAttrCase<"OR", 7, "or">, I32EnumAttrCase<"XOR", 8, "xor">]>;
def TT_ScaleDotElemType : TTEnum<"ScaleDotElemType", "element format of a scaled operand",
  [I32EnumAttrCase<"E4M3", 0, "e4m3">, I32EnumAttrCase<"E5M2", 1, "e5m2">, I32EnumAttrCase<"E2M3", 2, "e2m3">,
   I32EnumAttrCase<"E3M2", 3, "e3m2">, I32EnumAttrCase<"E2M1", 4, "e2m1">, I32EnumAttrCase<"BF16", 5, "bf16">,
   I32EnumAttrCase<"FP16", 6, "fp16">]>;

//===---------------------------------------------------------------------------------------------------------- operations

// Every tile of an operation has dimensions that are powers of two, and at most tt::maxTileElements elements. In a function with
// tt.any_size, dimensions may have other sizes until pad-tiles.
def TT_TileSizes : NativeOpTrait<"TileSizes"> { let cppNamespace = "::tilewright::tt"; }

class TTOp<string name, list<Trait> traits = []> : Op<TTDialect, name, !listconcat([TT_TileSizes], traits)>;
class TTSame<string name> : TTOp<name, [Pure, Elementwise, SameOperandsAndResultType]>;

// ---- functions

def TT_FuncOp : TTOp<"func", [AffineScope, AutomaticAllocationScope, CallableOpInterface, FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "a kernel, or a function that a kernel calls";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
  }];
}
def TT_ReturnOp : TTOp<"return", [Pure, HasParent<"FuncOp">, ReturnLike, Terminator]> {
  let summary = "end of a function";
  let arguments = (ins Variadic<AnyType>:$srcs);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($srcs^ `:` type($srcs))?";
  let hasVerifier = 1;
}
def TT_CallOp : TTOp<"call", [CallOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a tt.func";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$args, OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$callee `(` $args `)` attr-dict `:` functional-type($args, $results)";
  let extraClassDeclaration = [{
    ::mlir::CallInterfaceCallable getCallableForCallee() { return (*this)->getAttrOfType<::mlir::SymbolRefAttr>("callee"); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      (*this)->setAttr("callee", ::llvm::cast<::mlir::SymbolRefAttr>(callee));
    }
    ::mlir::Operation::operand_range getArgOperands() { return getArgs(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getArgsMutable(); }
  }];
}

// ---- the program's position in the grid

def TT_GetProgramIdOp : TTOp<"get_program_id", [Pure]> {
  let summary = "index of the program along one axis of the grid";
  let arguments = (ins TT_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}
def TT_GetNumProgramsOp : TTOp<"get_num_programs", [Pure]> {
  let summary = "number of programs along one axis of the grid";
  let arguments = (ins TT_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

// For Triton 3.9. The pipeline replaces both when it knows the target.
def TT_GridDependencyWaitOp : TTOp<"grid_dependency_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the previous kernel has written its results";
  let assemblyFormat = "attr-dict";
}
def TT_GridDependencyLaunchDependentsOp : TTOp<"grid_dependency_launch_dependents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets the next kernel start";
  let assemblyFormat = "attr-dict";
}

// ---- creation and shape

def TT_MakeRangeOp : TTOp<"make_range", [Pure]> {
  let summary = "start, start + 1, ..., end - 1";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def TT_SplatOp : TTOp<"splat", [Pure]> {
  let summary = "a tile with one value everywhere";
  let arguments = (ins TT_Any:$src);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_UnsplatOp : TTOp<"unsplat", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the value of a tile of one element";
  let arguments = (ins TT_Tile:$src);
  let results = (outs TT_Any:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
  let hasVerifier = 1;
}
def TT_ExpandDimsOp : TTOp<"expand_dims", [Pure]> {
  let summary = "a new dimension of size 1 at `axis`";
  let arguments = (ins TT_Tile:$src, I32Attr:$axis);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_BroadcastOp : TTOp<"broadcast", [Pure]> {
  let summary = "dimensions of size 1 repeated";
  let arguments = (ins TT_Tile:$src);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_ReshapeOp : TTOp<"reshape", [Pure]> {
  let summary = "the same elements in row-major order in another shape";
  let arguments = (ins TT_Tile:$src, UnitAttr:$allow_reorder, UnitAttr:$efficient_layout);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src (`allow_reorder` $allow_reorder^)? (`efficient_layout` $efficient_layout^)? "
                       "attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_TransOp : TTOp<"trans", [Pure]> {
  let summary = "dimensions in another order: result dimension i is source dimension order[i]";
  let arguments = (ins TT_Tile:$src, DenseI32ArrayAttr:$order);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_CatOp : TTOp<"cat", [Pure, SameTypeOperands]> {
  let summary = "concatenation of two 1-D tiles";
  let arguments = (ins TT_Tile:$lhs, TT_Tile:$rhs);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}
def TT_JoinOp : TTOp<"join", [Pure, SameTypeOperands]> {
  let summary = "two tiles interleaved in a new last dimension of size 2";
  let arguments = (ins TT_Tile:$lhs, TT_Tile:$rhs);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}
def TT_SplitOp : TTOp<"split", [Pure, AllTypesMatch<["outLHS", "outRHS"]>]> {
  let summary = "the two halves of a last dimension of size 2";
  let arguments = (ins TT_Tile:$src);
  let results = (outs TT_Tile:$outLHS, TT_Tile:$outRHS);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($outLHS)";
  let hasVerifier = 1;
}

// ---- elementwise beyond arith and math

def TT_AddPtrOp : TTOp<"addptr", [Pure, Elementwise, AllTypesMatch<["ptr", "result"]>]> {
  let summary = "pointer moved by an offset in elements";
  let arguments = (ins TT_AnyPtr:$ptr, TT_IntLike:$offset);
  let results = (outs TT_AnyPtr:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_PtrToIntOp : TTOp<"ptr_to_int", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "address as i64";
  let arguments = (ins TT_AnyPtr:$src);
  let results = (outs TT_IntLike:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}
def TT_IntToPtrOp : TTOp<"int_to_ptr", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "i64 as address";
  let arguments = (ins TT_IntLike:$src);
  let results = (outs TT_AnyPtr:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}
def TT_BitcastOp : TTOp<"bitcast", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "the same bits as another type (pointers included)";
  let arguments = (ins TT_Any:$src);
  let results = (outs TT_Any:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TT_FpToFpOp : TTOp<"fp_to_fp", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "conversion between float types, where one is an 8-bit type or the rounding is named";
  let arguments = (ins TT_FloatLike:$src, OptionalAttr<TT_RoundingMode>:$rounding);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$src attr-dict (`,` `rounding` `=` $rounding^)? `:` type($src) `->` type($result)";
}
def TT_ClampFOp : TTOp<"clampf", [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "min(max(x, min), max)";
  let arguments = (ins TT_FloatLike:$x, TT_FloatLike:$min, TT_FloatLike:$max, TT_PropagateNan:$propagateNan);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan attr-dict `:` type($result)";
}
def TT_PreciseSqrtOp : TTSame<"precise_sqrt"> {
  let summary = "square root, rounded to nearest";
  let arguments = (ins TT_FloatLike:$x);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def TT_PreciseDivFOp : TTSame<"precise_divf"> {
  let summary = "division, rounded to nearest";
  let arguments = (ins TT_FloatLike:$x, TT_FloatLike:$y);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
}
def TT_MulhiUIOp : TTSame<"mulhiui"> {
  let summary = "upper half of an unsigned product";
  let arguments = (ins TT_IntLike:$x, TT_IntLike:$y);
  let results = (outs TT_IntLike:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
}
def TT_ExternElementwiseOp : TTOp<"extern_elementwise", [Elementwise, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a function of a math library on each element";
  let arguments = (ins Variadic<TT_Any>:$srcs, StrAttr:$libname, StrAttr:$libpath, StrAttr:$symbol, BoolAttr:$pure);
  let results = (outs TT_Any:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    ::mlir::Speculation::Speculatability getSpeculatability() {
      return getPure() ? ::mlir::Speculation::Speculatable : ::mlir::Speculation::NotSpeculatable;
    }
  }];
}

def TT_ElementwiseInlineAsmOp : TTOp<"elementwise_inline_asm", [Elementwise, ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a piece of the target's assembly on each element";
  let arguments = (ins StrAttr:$asm_string, StrAttr:$constraints, BoolAttr:$pure, I32Attr:$packed_element, Variadic<TT_Any>:$args);
  let results = (outs Variadic<TT_Any>:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)";
  let extraClassDeclaration = [{
    ::mlir::Speculation::Speculatability getSpeculatability() {
      return getPure() ? ::mlir::Speculation::Speculatable : ::mlir::Speculation::NotSpeculatable;
    }
  }];
}
def TT_MapElementwiseOp : TTOp<"map_elementwise", [SameOperandsAndResultShape, RecursiveMemoryEffects]> {
  let summary = "applies the region to `pack` elements of each tile at a time; its control flow may differ for each element";
  let arguments = (ins Variadic<TT_Tile>:$srcs, I32Attr:$pack);
  let results = (outs Variadic<TT_Tile>:$result);
  let regions = (region MinSizedRegion<1>:$scalarOp);
  let hasRegionVerifier = 1;
}
def TT_MapElementwiseReturnOp : TTOp<"map_elementwise.return", [Pure, HasParent<"MapElementwiseOp">, ReturnLike, Terminator]> {
  let summary = "the elements' new values";
  let arguments = (ins Variadic<TT_Any>:$result);
  let assemblyFormat = "attr-dict ($result^ `:` type($result))?";
}

// ---- memory

def TT_LoadOp : TTOp<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    TypesMatchWith<"result is what the pointer points to", "ptr", "result", "::tilewright::tt::pointeeTile($_self)">,
    TypesMatchWith<"mask has the pointer's shape", "ptr", "mask", "::tilewright::tt::maskOf($_self)",
                   "getODSOperands(1).empty() || std::equal_to<>()">,
    TypesMatchWith<"other is what the pointer points to", "ptr", "other", "::tilewright::tt::pointeeTile($_self)",
                   "getODSOperands(2).empty() || std::equal_to<>()">]> {
  let summary = "elements at pointers; where the mask is false, `other` or any value";
  let arguments = (ins TT_AnyPtr:$ptr, Optional<TT_BoolLike>:$mask, Optional<TT_Any>:$other,
                       DefaultValuedAttr<DenseI32ArrayAttr, "::llvm::ArrayRef<int32_t>{}">:$boundaryCheck,
                       OptionalAttr<TT_PaddingOption>:$padding,
                       DefaultValuedAttr<TT_CacheModifier, "::tilewright::tt::CacheModifier::NONE">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::tilewright::tt::EvictionPolicy::NORMAL">:$evict,
                       DefaultValuedAttr<BoolAttr, "false">:$isVolatile);
  let results = (outs TT_Any:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$ptr, CArg<"::mlir::Value", "{}">:$mask, CArg<"::mlir::Value", "{}">:$other)>];
  let assemblyFormat = "$ptr (`,` $mask^)? (`,` $other^)? "
                       "oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict) attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}
def TT_StoreOp : TTOp<"store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    TypesMatchWith<"value is what the pointer points to", "ptr", "value", "::tilewright::tt::pointeeTile($_self)">,
    TypesMatchWith<"mask has the pointer's shape", "ptr", "mask", "::tilewright::tt::maskOf($_self)",
                   "getODSOperands(2).empty() || std::equal_to<>()">]> {
  let summary = "elements to pointers, where the mask is true";
  let arguments = (ins TT_AnyPtr:$ptr, TT_Any:$value, Optional<TT_BoolLike>:$mask,
                       DefaultValuedAttr<DenseI32ArrayAttr, "::llvm::ArrayRef<int32_t>{}">:$boundaryCheck,
                       DefaultValuedAttr<TT_CacheModifier, "::tilewright::tt::CacheModifier::NONE">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::tilewright::tt::EvictionPolicy::NORMAL">:$evict);
  let builders = [OpBuilder<(ins "::mlir::Value":$ptr, "::mlir::Value":$value)>];
  let assemblyFormat = "$ptr `,` $value (`,` $mask^)? "
                       "oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict) attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}
def TT_AtomicRMWOp : TTOp<"atomic_rmw", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "atomic read-modify-write of each element; the result is the old value";
  let arguments = (ins TT_RMWOp:$atomic_rmw_op, TT_AnyPtr:$ptr, TT_Any:$val, Optional<TT_BoolLike>:$mask,
                       TT_MemSemantic:$sem, TT_MemSyncScope:$scope);
  let results = (outs TT_Any:$result);
  let assemblyFormat = "$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? "
                       "attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def TT_AtomicCASOp : TTOp<"atomic_cas", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "atomic write of `val` if the element equals `cmp`; the result is the old value";
  let arguments = (ins TT_AnyPtr:$ptr, TT_Any:$cmp, TT_Any:$val, TT_MemSemantic:$sem, TT_MemSyncScope:$scope);
  let results = (outs TT_Any:$result);
  let assemblyFormat = "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

// ---- block pointers and descriptors

def TT_MakeTensorPtrOp : TTOp<"make_tensor_ptr", [Pure, SameVariadicOperandSize,
    TypesMatchWith<"base points to the tile's element", "result", "base", "::tilewright::tt::elementPointer($_self)">]> {
  let summary = "block pointer into a strided tensor; shape and strides i64, offsets i32";
  let arguments = (ins TT_ScalarPtr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I32>:$offsets, DenseI32ArrayAttr:$order);
  let results = (outs TT_Pointer:$result);
  let assemblyFormat = "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def TT_AdvanceOp : TTOp<"advance", [Pure, AllTypesMatch<["ptr", "result"]>]> {
  let summary = "block pointer moved by offsets in elements";
  let arguments = (ins TT_Pointer:$ptr, Variadic<I32>:$offsets);
  let results = (outs TT_Pointer:$result);
  let assemblyFormat = "$ptr `,` `[` $offsets `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def TT_MakeTensorDescOp : TTOp<"make_tensor_descriptor", [Pure, SameVariadicOperandSize]> {
  let summary = "descriptor of a strided tensor; shape i32, strides i64, the last stride 1";
  let arguments = (ins TT_Pointer:$base, Variadic<I32>:$shape, Variadic<I64>:$strides,
                       DefaultValuedAttr<TT_PaddingOption, "::tilewright::tt::PaddingOption::PAD_ZERO">:$padding);
  let results = (outs TT_TensorDesc:$result);
  let assemblyFormat = "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict `:` type($base) `,` type($result)";
  let hasVerifier = 1;
}
def TT_DescriptorLoadOp : TTOp<"descriptor_load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the block at element offsets; the padding value outside the tensor";
  let arguments = (ins TT_TensorDesc:$desc, Variadic<I32>:$indices,
                       DefaultValuedAttr<TT_CacheModifier, "::tilewright::tt::CacheModifier::NONE">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::tilewright::tt::EvictionPolicy::NORMAL">:$evict);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$desc `[` $indices `]` oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict) "
                       "attr-dict `:` qualified(type($desc)) `->` type($result)";
  let hasVerifier = 1;
}
def TT_DescriptorStoreOp : TTOp<"descriptor_store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a block to element offsets; nothing outside the tensor";
  let arguments = (ins TT_TensorDesc:$desc, TT_Tile:$src, Variadic<I32>:$indices);
  let assemblyFormat = "$desc `[` $indices `]` `,` $src attr-dict `:` qualified(type($desc)) `,` type($src)";
  let hasVerifier = 1;
}
def TT_DescriptorReduceOp : TTOp<"descriptor_reduce", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "atomic reduction of a block into memory at element offsets; nothing outside the tensor";
  let arguments = (ins TT_DescriptorReduceKind:$kind, TT_TensorDesc:$desc, TT_Tile:$src, Variadic<I32>:$indices);
  let assemblyFormat = "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` qualified(type($desc)) `,` type($src)";
  let hasVerifier = 1;
}
def TT_DescriptorGatherOp : TTOp<"descriptor_gather", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "rows xOffsets of a 2-D tensor, from column yOffset on; the padding value outside";
  let arguments = (ins TT_TensorDesc:$desc, TT_Tile:$xOffsets, I32:$yOffset);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$desc `[` $xOffsets `,` $yOffset `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TT_DescriptorScatterOp : TTOp<"descriptor_scatter", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile to rows xOffsets of a 2-D tensor, from column yOffset on; nothing outside";
  let arguments = (ins TT_TensorDesc:$desc, TT_Tile:$xOffsets, I32:$yOffset, TT_Tile:$src);
  let assemblyFormat = "$desc `[` $xOffsets `,` $yOffset `]` `,` $src attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

// ---- contractions, reductions, scans

def TT_DotOp : TTOp<"dot", [Pure, AllTypesMatch<["c", "d"]>]> {
  let summary = "a * b + c; rank 2, or rank 3 with a batch dimension first";
  let arguments = (ins TT_Tile:$a, TT_Tile:$b, TT_Tile:$c,
                       DefaultValuedAttr<TT_InputPrecision, "::tilewright::tt::InputPrecision::IEEE">:$inputPrecision,
                       DefaultValuedAttr<I32Attr, "0">:$maxNumImpreciseAcc);
  let results = (outs TT_Tile:$d);
  let assemblyFormat = "$a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision^)? attr-dict `:` type($a) `*` type($b) `->` type($d)";
  let hasVerifier = 1;
}
def TT_DotScaledOp : TTOp<"dot_scaled", [Pure, AttrSizedOperandSegments, AllTypesMatch<["c", "d"]>]> {
  let summary = "dot of operands in a small float format, each group of 32 along the inner dimension with an e8m0 scale";
  let arguments = (ins TT_Tile:$a, TT_Tile:$b, TT_Tile:$c, Optional<TT_Tile>:$a_scale, Optional<TT_Tile>:$b_scale,
                       TT_ScaleDotElemType:$a_elem_type, TT_ScaleDotElemType:$b_elem_type, BoolAttr:$fastMath,
                       DefaultValuedAttr<BoolAttr, "true">:$lhs_k_pack, DefaultValuedAttr<BoolAttr, "true">:$rhs_k_pack);
  let results = (outs TT_Tile:$d);
  let assemblyFormat = "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c `lhs` `=` $a_elem_type `rhs` `=` $b_elem_type attr-dict "
                       "`:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($d)";
}
def TT_ReduceOp : TTOp<"reduce", [Pure, SameOperandsShape, SingleBlock]> {
  let summary = "tiles combined along `axis` by the region; a 1-D tile becomes a scalar";
  let arguments = (ins Variadic<TT_Tile>:$srcs, I32Attr:$axis);
  let results = (outs Variadic<TT_Any>:$result);
  let regions = (region SizedRegion<1>:$combineOp);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$srcs, "int32_t":$axis)>];
  let hasVerifier = 1;
}
def TT_ReduceReturnOp : TTOp<"reduce.return", [Pure, HasParent<"ReduceOp">, ReturnLike, Terminator]> {
  let summary = "the combined values";
  let arguments = (ins Variadic<TT_Any>:$result);
  let assemblyFormat = "$result attr-dict `:` type($result)";
}
def TT_ScanOp : TTOp<"scan", [Pure, SameOperandsShape, SingleBlock]> {
  let summary = "running combination along `axis`, each element included";
  let arguments = (ins Variadic<TT_Tile>:$srcs, I32Attr:$axis, BoolAttr:$reverse);
  let results = (outs Variadic<TT_Tile>:$result);
  let regions = (region SizedRegion<1>:$combineOp);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$srcs, "int32_t":$axis, "bool":$reverse)>];
  let hasVerifier = 1;
}
def TT_ScanReturnOp : TTOp<"scan.return", [Pure, HasParent<"ScanOp">, ReturnLike, Terminator]> {
  let summary = "the combined values";
  let arguments = (ins Variadic<TT_Any>:$result);
  let assemblyFormat = "$result attr-dict `:` type($result)";
}
def TT_HistogramOp : TTOp<"histogram", [Pure,
    TypesMatchWith<"mask has the source's shape", "src", "mask", "::tilewright::tt::maskOf($_self)",
    "getODSOperands(1).empty() || std::equal_to<>()">]> {
  let summary = "how often each of 0 .. bins - 1 occurs";
  let arguments = (ins TT_Tile:$src, Optional<TT_BoolLike>:$mask);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}
def TT_GatherOp : TTOp<"gather", [Pure]> {
  let summary = "result[..., i, ...] = src[..., indices[..., i, ...], ...] along `axis`";
  let arguments = (ins TT_Tile:$src, TT_Tile:$indices, I32Attr:$axis);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TT_SortOp : TTOp<"sort", [Pure]> {
  let summary = "the first elements of each line of integers along the last dimension, in order";
  let arguments = (ins TT_Tile:$src, UnitAttr:$descending, UnitAttr:$is_unsigned);
  let results = (outs TT_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

// ---- debugging

def TT_PrintOp : TTOp<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "print each element with its index";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, Variadic<TT_Any>:$args, DenseI32ArrayAttr:$isSigned);
  let assemblyFormat = "$prefix attr-dict (`:` $args^ `:` type($args))?";
}
def TT_AssertOp : TTOp<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "end the program with a message if any element is false";
  let arguments = (ins TT_BoolLike:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

#endif // TILEWRIGHT_TT_TD
