// The ttg dialect: what tt leaves open. A tile's type gets a layout (`tensor<64x32xf32, #ttg.layout<...>>`: which register of which thread
// holds which element); tt, arith, math and scf operations stay as they are, on tiles with layouts. The tile lowering turns it into ptx.
#ifndef TILEWRIGHT_TTG_TD
#define TILEWRIGHT_TTG_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TTGDialect : Dialect {
  let name = "ttg";
  let cppNamespace = "::tilewright::ttg";
  let summary = "tiles with layouts";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tilewright::ptx::PtxDialect", "::tilewright::tt::TTDialect"];
}

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
def TTG_Config : TTGAttr<"Config", "config"> {
  let summary = "what a kernel is compiled for; the attribute `ttg.config` of its tt.func. maxRegisters 0: no limit";
  let parameters = (ins "int64_t":$warps, "int64_t":$ctas, "int64_t":$stages, "int64_t":$maxRegisters, "::mlir::StringAttr":$target);
  let assemblyFormat = "`<` struct(params) `>`";
}

def TTG_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "tile">;

def TTG_ConvertLayoutOp : Op<TTGDialect, "convert_layout", [Pure]> {
  let summary = "the same tile in another layout";
  let arguments = (ins TTG_Tile:$src);
  let results = (outs TTG_Tile:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasFolder = 1;
}

#endif // TILEWRIGHT_TTG_TD
