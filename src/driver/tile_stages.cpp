// Converts upstream's TTGIR to tt IR:
//   tensor<64x64xf16, #blocked>, #ttg.blocked<...>       tensor<64x64xf16>: a layout says nothing about values
//   ttg.convert_layout %x                                %x
//   ttg.local_alloc %x, ttg.local_load %b                the buffer's value, which never changes
//   ttg.memdesc_trans %b {order = ...}                   tt.trans
//   ttng.warp_group_dot %a, %b, %c, %uses_c              tt.dot, of zeros if the predicate is false; its wait returns the tiles
//   ttg.barrier, ttng.fence_async_shared, local_dealloc  gpu.barrier, nothing, nothing
//   ttg.local_alloc (), ttg.async_..., ttng.init_barrier rejected: part of a schedule, in which buffers change
// The text is parsed in a separate context, because this compiler has a ttg dialect of its own.
#include "driver/tile_stages.h"

#include "driver/diagnose.h"
#include "ir/refusal.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace tilewright {

constexpr llvm::StringLiteral warpsName = "ttg.num-warps";

//===------------------------------------------------------------------------------------------------ types and attributes

/// Parses a layout and drops it: `<{sizePerThread = [1, 4], parent = #other}>`, or nothing.
static Attribute parseLayout(DialectAsmParser &parser) {
  StringRef name;
  Attribute parameters;
  if (parser.parseKeyword(&name)) return {};
  if (succeeded(parser.parseOptionalLess())) {
    auto parameter = [&]() -> ParseResult {
      StringRef key;
      if (succeeded(parser.parseOptionalKeyword(&key)) && parser.parseEqual()) return failure();
      return parser.parseAttribute(parameters);
    };
    if (parser.parseCommaSeparatedList(parameter) || parser.parseGreater()) return {};
  }
  return UnitAttr::get(parser.getContext());
}

/// A buffer becomes the tile that it holds: `<64x64xf16, #shared, #smem, mutable, 3x64x64>`.
static Type parseBuffer(DialectAsmParser &parser) {
  StringRef name;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name)) return {};
  if (name != "memdesc") return parser.emitError(at, "TTGIR's type '") << name << "' has no counterpart in tt IR", Type();
  SmallVector<int64_t> shape, whole;
  Type element;
  Attribute layout;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element)) return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("mutable"))) continue;
    OptionalParseResult parsed = parser.parseOptionalAttribute(layout);
    if (parsed.has_value() ? failed(*parsed) : failed(parser.parseDimensionList(whole, false, false))) return {};
  }
  if (parser.parseGreater()) return {};
  if (!RankedTensorType::isValidElementType(element)) return parser.emitError(at, "a buffer cannot have elements of ") << element, Type();
  return RankedTensorType::get(shape, element, UnitAttr::get(parser.getContext()));
}

//===--------------------------------------------------------------------------------------------------------- operations

static ParseResult parseBarrier(OpAsmParser &parser, OperationState &result) {
  result.name = OperationName(gpu::BarrierOp::getOperationName(), parser.getContext());
  StringRef memory;
  do {
    if (parser.parseKeyword(&memory)) return failure();
  } while (succeeded(parser.parseOptionalVerticalBar()));
  return parser.parseOptionalAttrDict(result.attributes);
}

/// `%a, %b {...} : T, T`, `: T * T -> T`, `: T -> T` or `: (T) -> T`. A wait returns its operands. The result of a dot has the type of
/// its third operand; a fourth one is its predicate.
static ParseResult parseOperation(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand, 4> operands;
  SmallVector<Type> types, made;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) || parser.parseOptionalAttrDict(result.attributes)) return failure();
  if (succeeded(parser.parseOptionalColon())) {
    auto type = [&] { return parser.parseType(types.emplace_back()); };
    bool inParentheses = succeeded(parser.parseOptionalLParen());
    if (inParentheses && failed(parser.parseOptionalRParen()) && (parser.parseCommaSeparatedList(type) || parser.parseRParen()))
      return failure();
    if (!inParentheses) {
      do {
        if (type()) return failure();
      } while (succeeded(parser.parseOptionalComma()) || succeeded(parser.parseOptionalStar()));
    }
    if (succeeded(parser.parseOptionalArrow()) && parser.parseTypeList(made)) return failure();
  }
  StringRef name = result.name.getStringRef();
  if (name == "ttng.warp_group_dot" && made.size() == 1 && types.size() == 2) {
    types.push_back(made.front());
    if (operands.size() == 4) types.push_back(parser.getBuilder().getI1Type());
  }
  if (name == "ttng.warp_group_dot_wait") made = types;
  result.addTypes(made);
  return parser.resolveOperands(operands, types, at, result.operands);
}

static ParseResult refuseOperation(OpAsmParser &parser, OperationState &) {
  // The parser names the operation.
  return parser.emitError(parser.getNameLoc())
         << "has no counterpart in tt IR, because it is part of a schedule of copies, buffers and barriers; "
            "pass the kernel's .ttir file, or TTGIR before upstream's pipeliner (num_stages=1)";
}

static bool isMapped(StringRef name) {
  return llvm::is_contained({"ttg.convert_layout", "ttg.local_alloc", "ttg.local_load", "ttg.local_dealloc", "ttg.memdesc_trans",
                             "ttg.memdesc_reshape", "ttng.fence_async_shared", "ttng.warp_group_dot", "ttng.warp_group_dot_wait"},
                            name);
}

namespace {
/// One of upstream's dialects, for parsing only.
class TextDialect : public Dialect {
public:
  TextDialect(StringRef name, MLIRContext *context, TypeID id) : Dialect(name, context, id) { allowUnknownOperations(); }

  std::optional<ParseOpHook> getParseOperationHook(StringRef name) const override {
    if (name == "ttg.barrier") return ParseOpHook(parseBarrier);
    return isMapped(name) ? ParseOpHook(parseOperation) : ParseOpHook(refuseOperation);
  }
  Attribute parseAttribute(DialectAsmParser &parser, Type) const override { return parseLayout(parser); }
  Type parseType(DialectAsmParser &parser) const override { return parseBuffer(parser); }
};
struct TtgText : TextDialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TtgText)
  static constexpr StringLiteral getDialectNamespace() { return "ttg"; }
  explicit TtgText(MLIRContext *context) : TextDialect(getDialectNamespace(), context, TypeID::get<TtgText>()) {}
};
struct TtngText : TextDialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TtngText)
  static constexpr StringLiteral getDialectNamespace() { return "ttng"; }
  explicit TtngText(MLIRContext *context) : TextDialect(getDialectNamespace(), context, TypeID::get<TtngText>()) {}
};
} // namespace

//===-------------------------------------------------------------------------------------------------------- replacement

static void dropEncodings(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](RankedTensorType tile) { return RankedTensorType::get(tile.getShape(), tile.getElementType()); });
  replacer.addReplacement([](DenseElementsAttr numbers) -> std::optional<Attribute> {
    auto tile = dyn_cast<RankedTensorType>(numbers.getType());
    if (!tile) return std::nullopt;
    return numbers.reshape(RankedTensorType::get(tile.getShape(), tile.getElementType()));
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

/// The accumulator if the condition is true, else zeros.
static Value onlyIf(OpBuilder &b, Value condition, Value accumulator) {
  Location loc = accumulator.getLoc();
  auto type = cast<RankedTensorType>(accumulator.getType());
  Value zeros = arith::ConstantOp::create(b, loc, type, cast<TypedAttr>(b.getZeroAttr(type)));
  Value conditions = tt::SplatOp::create(b, loc, type.clone(b.getI1Type()), condition);
  return arith::SelectOp::create(b, loc, conditions, accumulator, zeros);
}

/// The values that replace an operation's results; null after an error.
static std::optional<SmallVector<Value>> replacementOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  OpBuilder b(op);
  auto error = [&](StringRef why) { return op->emitOpError(why), std::nullopt; };
  if (name == "ttg.local_dealloc" || name == "ttng.fence_async_shared")
    return op->getNumResults() ? error("has a result") : std::optional<SmallVector<Value>>(SmallVector<Value>());
  if (name == "ttng.warp_group_dot_wait") return SmallVector<Value>(op->getOperands());
  if (op->getNumOperands() == 0 && name == "ttg.local_alloc")
    return error(
        "allocates a buffer that is written later; pass the kernel's .ttir file, or TTGIR before upstream's pipeliner (num_stages=1)");
  if (op->getNumResults() != 1) return error("has no result");
  Type made = op->getResult(0).getType();
  if (name == "ttng.warp_group_dot") {
    size_t count = op->getNumOperands();
    if ((count != 3 && count != 4) || !llvm::all_of(op->getOperands().take_front(3).getTypes(), llvm::IsaPred<RankedTensorType>))
      return error("must have two tiles and an accumulator, and at most a predicate of the accumulator");
    Value sum = count == 3 ? op->getOperand(2) : onlyIf(b, op->getOperand(3), op->getOperand(2));
    auto dot = tt::DotOp::create(b, op->getLoc(), made, op->getOperand(0), op->getOperand(1), sum, tt::InputPrecision::IEEE, 0);
    if (auto precision = op->getAttrOfType<IntegerAttr>("inputPrecision"))
      if (auto known = tt::symbolizeInputPrecision(static_cast<uint32_t>(precision.getInt()))) dot.setInputPrecision(*known);
    if (auto inexact = op->getAttrOfType<IntegerAttr>("maxNumImpreciseAcc"))
      dot.setMaxNumImpreciseAcc(static_cast<uint32_t>(inexact.getInt()));
    return SmallVector<Value>{dot};
  }
  if (op->getNumOperands() != 1) return error("must have one tile as its operand");
  Value tile = op->getOperand(0);
  if (name == "ttg.memdesc_trans") {
    auto order = op->getAttrOfType<DenseI32ArrayAttr>("order");
    if (!order || !isa<RankedTensorType>(tile.getType()) || !isa<RankedTensorType>(made)) return error("has no order of dimensions");
    return SmallVector<Value>{tt::TransOp::create(b, op->getLoc(), made, tile, order)};
  }
  if (name == "ttg.memdesc_reshape") return SmallVector<Value>{tt::ReshapeOp::create(b, op->getLoc(), made, tile, false, false)};
  if (tile.getType() != made) return error("changes more than the layout");
  return SmallVector<Value>{tile};
}

static LogicalResult replaceOperations(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "ttg" || op->getName().getDialectNamespace() == "ttng") found.push_back(op);
  });
  for (Operation *op : found) {
    std::optional<SmallVector<Value>> values = replacementOf(op);
    if (!values) return failure();
    op->replaceAllUsesWith(*values);
    op->erase();
  }
  return success();
}

bool isTtgir(llvm::StringRef text) {
  return text.contains("\"ttg.num-warps\"");
}

std::optional<std::string> withoutLayouts(const SourceFile &file, Diagnostics &diagnostics) {
  DialectRegistry registry;
  tt::registerDialects(registry);
  registry.insert<TtgText, TtngText>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects(true);
  DiagnosticForwarder errors(context, &file, "", diagnostics);
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(file.text(), config, file.name());
  if (!module) return std::nullopt;
  Attribute warps = module.get()->getAttr(warpsName);
  module.get()->setAttrs(DictionaryAttr::get(&context));
  dropEncodings(*module);
  if (failed(replaceOperations(*module))) return std::nullopt;
  if (warps) module.get()->setAttr(warpsName, warps);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

} // namespace tilewright
