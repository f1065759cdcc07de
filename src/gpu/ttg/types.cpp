// Layouts, buffers and tiles of tensor memory: what they hold, and their text. Layouts have one coordinate for each bit, for readability:
//   #ttg.layout<8x16, reg [[0, 1]], lane [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp [[4, 0]]>
#include "gpu/ttg/ttg.h"
#include "support/gpu_hardware.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

//===------------------------------------------------------------------------------------------------------------ layouts

gpu::Dims ttg::shapeOf(Type tile) {
  return cast<RankedTensorType>(tile).getShape().vec();
}

bool ttg::hasLayout(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && isa_and_nonnull<LayoutAttr>(tile.getEncoding());
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const gpu::Layout &layout) {
  return get(context, layout.shape, layout.basesOf(gpu::Axis::reg), layout.basesOf(gpu::Axis::lane), layout.basesOf(gpu::Axis::warp));
}

gpu::Layout LayoutAttr::layout() const {
  gpu::Layout layout;
  layout.shape = getShape().vec();
  layout.bases = {getReg().vec(), getLane().vec(), getWarp().vec()};
  return layout;
}

SharedAttr SharedAttr::get(MLIRContext *context, const gpu::SharedLayout &layout) {
  return get(context, layout.shape, layout.bases, layout.elementBits);
}

gpu::SharedLayout SharedAttr::layout() const {
  gpu::SharedLayout layout;
  layout.shape = getShape().vec();
  layout.bases = getBases().vec();
  layout.elementBits = getElementBits();
  return layout;
}

gpu::Layout ttg::layoutOf(Type tile) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding()).layout();
}

RankedTensorType ttg::withLayout(RankedTensorType tile, const gpu::Layout &layout) {
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), LayoutAttr::get(tile.getContext(), layout));
}

static void printBases(AsmPrinter &printer, ArrayRef<int64_t> shape, ArrayRef<uint32_t> bases) {
  printer << "[";
  llvm::interleaveComma(bases, printer, [&](uint32_t flat) {
    printer << "[";
    llvm::interleaveComma(gpu::coordinatesOf(shape, flat), printer);
    printer << "]";
  });
  printer << "]";
}

static void printShape(AsmPrinter &printer, ArrayRef<int64_t> shape) {
  llvm::interleave(shape, printer, "x");
}

/// Parses `8x16`. Extents are powers of two.
static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<int64_t> &shape) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false)) return failure();
  for (int64_t extent : shape)
    if (extent < 1 || (extent & (extent - 1)) != 0) return parser.emitError(loc, "extents of layouts must be powers of two");
  return success();
}

static ParseResult parseBases(AsmParser &parser, ArrayRef<int64_t> shape, SmallVectorImpl<uint32_t> &bases) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    SmallVector<int64_t> coordinates;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() { return parser.parseInteger(coordinates.emplace_back()); }))
      return failure();
    if (coordinates.size() != shape.size()) return parser.emitError(loc, "a basis must have one coordinate for each dimension");
    int64_t flat = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (coordinates[i] < 0 || coordinates[i] >= shape[i]) return parser.emitError(loc, "a coordinate lies outside the tile");
      flat = flat * shape[i] + coordinates[i];
    }
    bases.push_back(static_cast<uint32_t>(flat));
    return success();
  });
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape());
  std::pair<const char *, ArrayRef<uint32_t>> axes[] = {{"reg", getReg()}, {"lane", getLane()}, {"warp", getWarp()}};
  for (auto [name, bases] : axes) {
    printer << ", " << name << " ";
    printBases(printer, getShape(), bases);
  }
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SmallVector<uint32_t> bases[3];
  if (parser.parseLess() || parseShape(parser, shape)) return {};
  const char *names[] = {"reg", "lane", "warp"};
  for (size_t i = 0; i < 3; ++i)
    if (parser.parseComma() || parser.parseKeyword(names[i]) || parseBases(parser, shape, bases[i])) return {};
  if (parser.parseGreater()) return {};
  return LayoutAttr::get(parser.getContext(), shape, bases[0], bases[1], bases[2]);
}

void SharedAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape());
  printer << ", offset ";
  printBases(printer, getShape(), getBases());
  printer << ", " << getElementBits() << ">";
}

Attribute SharedAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SmallVector<uint32_t> bases;
  int64_t bits = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape) || parser.parseComma() || parser.parseKeyword("offset") ||
      parseBases(parser, shape, bases) || parser.parseComma() || parser.parseInteger(bits) || parser.parseGreater())
    return {};
  if (!llvm::is_contained({8, 16, 32, 64}, bits))
    return parser.emitError(loc, "elements in shared memory have 8, 16, 32 or 64 bits"), Attribute();
  return SharedAttr::get(parser.getContext(), shape, bases, bits);
}

//===---------------------------------------------------------------------------------------------------- buffers, tensor memory

int64_t BufferType::paddedTileBytes() const {
  gpu::SharedLayout layout = getLayout().layout();
  bool isPlain = layout.elementBits == 8 && llvm::all_of(layout.bases, [](uint32_t basis) { return llvm::isPowerOf2_32(basis); });
  int64_t alignment =
      layout.shape.size() == 2 && isPlain && layout.bytes() < gpu::swizzleAlignment ? gpu::plainAlignment : gpu::swizzleAlignment;
  return (layout.bytes() + alignment - 1) / alignment * alignment;
}

void TensorMemoryType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape());
  printer << "x" << getElementType();
  if (getBlockColumns() != packedColumns(getShape(), getElementType())) printer << ", " << getBlockColumns();
  printer << ">";
}

Type TensorMemoryType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess()) return {};
  SMLoc loc = parser.getCurrentLocation();
  int64_t blockColumns = 0;
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element)) return {};
  bool hasGaps = succeeded(parser.parseOptionalComma());
  if ((hasGaps && parser.parseInteger(blockColumns)) || parser.parseGreater()) return {};
  bool hasRows = shape.size() == 2 && (shape[0] == gpu::tcgen05MinRows || shape[0] % gpu::tensorMemoryLanes == 0);
  bool hasBits = element.isIntOrFloat() && llvm::is_contained({8u, 16u, 32u}, element.getIntOrFloatBitWidth());
  if (!hasRows || !hasBits || !llvm::isPowerOf2_64(uint64_t(shape[0])) || !llvm::isPowerOf2_64(uint64_t(shape[1]))) {
    parser.emitError(loc, "a tile in tensor memory has 64 or a multiple of 128 rows, and elements of 8, 16 or 32 bits");
    return {};
  }
  int64_t packed = packedColumns(shape, element);
  if (hasGaps && blockColumns < packed) {
    parser.emitError(loc, "128 rows take ") << packed << " columns";
    return {};
  }
  return TensorMemoryType::get(parser.getContext(), shape, element, hasGaps ? blockColumns : packed);
}

int64_t TensorMemoryType::packedColumns(ArrayRef<int64_t> shape, Type elementType) {
  return llvm::divideCeil(shape[1] * elementType.getIntOrFloatBitWidth(), gpu::registerBits);
}

int64_t TensorMemoryType::columns() const {
  return llvm::divideCeil(getShape()[0], gpu::tensorMemoryLanes) * getBlockColumns();
}
