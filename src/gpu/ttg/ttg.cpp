// The ttg dialect, and the text form of layouts: one coordinate for each bit, for readability:
//   #ttg.layout<8x16, reg [[0, 1]], lane [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp [[4, 0]], block []>
#include "gpu/ttg/ttg.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/ttg/tile_equivalence.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Iterators.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

//===--------------------------------------------------------------------------------------------------- text of layouts

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
  std::pair<const char *, ArrayRef<uint32_t>> axes[] = {{"reg", getReg()}, {"lane", getLane()}, {"warp", getWarp()}, {"block", getBlock()}};
  for (auto [name, bases] : axes) {
    printer << ", " << name << " ";
    printBases(printer, getShape(), bases);
  }
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SmallVector<uint32_t> bases[4];
  if (parser.parseLess() || parseShape(parser, shape)) return {};
  const char *names[] = {"reg", "lane", "warp", "block"};
  for (size_t i = 0; i < 4; ++i)
    if (parser.parseComma() || parser.parseKeyword(names[i]) || parseBases(parser, shape, bases[i])) return {};
  if (parser.parseGreater()) return {};
  return LayoutAttr::get(parser.getContext(), shape, bases[0], bases[1], bases[2], bases[3]);
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
  if (parser.parseLess() || parseShape(parser, shape) || parser.parseComma() || parser.parseKeyword("offset") ||
      parseBases(parser, shape, bases) || parser.parseComma() || parser.parseInteger(bits) || parser.parseGreater())
    return {};
  return SharedAttr::get(parser.getContext(), shape, bases, bits);
}

//===------------------------------------------------------------------------------------------------------------ access

int64_t LoopScheduleAttr::getStages() const {
  for (CircularBufferAttr buffer : getBuffers())
    if (buffer.getKind() == BufferKind::tma || buffer.getKind() == BufferKind::copy_async) return buffer.getDepth();
  return 1;
}

bool LoopScheduleAttr::shiftsMma() const {
  return llvm::any_of(getOps(), [&](ScheduledOpAttr op) {
    bool isWriter =
        llvm::any_of(getBuffers(), [&](CircularBufferAttr buffer) { return llvm::is_contained(buffer.getWriters(), op.getId()); });
    return !isWriter && op.getStage() != getIndexStage();
  });
}

bool LoopScheduleAttr::drainsAtWait() const {
  return llvm::any_of(getEdges(), [&](AsyncEdgeAttr edge) {
    return llvm::none_of(getEdges(), [&](AsyncEdgeAttr other) { return other.getMma() == edge.getUntil(); });
  });
}

ConfigAttr ttg::configOf(Operation *function) {
  return function->getAttrOfType<ConfigAttr>(configName);
}

LogicalResult ttg::onKernels(ModuleOp module, function_ref<LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass) {
  for (auto function : llvm::make_early_inc_range(module.getOps<tt::FuncOp>())) {
    ConfigAttr config = configOf(function);
    if (!config) return bug(function, "this kernel has no " + configName.str());
    std::optional<GpuTarget> target = gpuTarget(config.getTarget().getValue());
    if (!target) return bug(function, "unknown GPU target " + config.getTarget().str());
    if (failed(pass(function, config, *target))) return failure();
  }
  return success();
}

namespace {
/// Verifies what onKernelsWithLayouts guarantees, operation by operation. Each type is checked once.
class LayoutCheck {
public:
  explicit LayoutCheck(int64_t warps) : warps(warps) {}

  LogicalResult check(Operation *op) {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (failed(check(op, type))) return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (failed(check(op, argument.getType()))) return failure();
    return agree(op) || !(gpu::isElementwiseOnTiles(op) || isa<tt::LoadOp, tt::StoreOp>(op)) ? success()
                                                                                             : bug(op, "its tiles have different layouts");
  }

private:
  /// True if all tiles of the operation have one layout.
  static bool agree(Operation *op) {
    Attribute first;
    auto agrees = [&](Type type) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (tile && !first) first = tile.getEncoding();
      return !tile || tile.getEncoding() == first;
    };
    return llvm::all_of(op->getOperandTypes(), agrees) && llvm::all_of(op->getResultTypes(), agrees);
  }
  LogicalResult check(Operation *op, Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile || known.contains(tile)) return success();
    if (!hasLayout(tile)) return bug(op, "this tile has no layout; assign-layouts must run first: " + mlirText(tile));
    gpu::Layout layout = layoutOf(tile);
    if (ArrayRef<int64_t>(layout.shape) != tile.getShape())
      return bug(op, "the layout and its tile have different shapes: " + mlirText(tile));
    if (layout.bits(gpu::Axis::lane) != gpu::laneBits || !suitsWarps(layout) || !layout.isSurjective())
      return bug(op, "the layout does not cover all elements of its tile with the " + std::to_string(warps) +
                         " warps that run this operation: " + mlirText(tile));
    known.insert(tile);
    return success();
  }

  /// A layout for more warps suits if the others would only hold copies.
  bool suitsWarps(const gpu::Layout &layout) const {
    ArrayRef<uint32_t> bases = layout.basesOf(gpu::Axis::warp);
    size_t bits = llvm::Log2_64(static_cast<uint64_t>(warps));
    return bases.size() >= bits && llvm::all_of(bases.drop_front(bits), [](uint32_t basis) { return basis == 0; });
  }

  int64_t warps;
  DenseSet<Type> known;
};
} // namespace

/// Tiles in a partition have layouts for its warps.
static WalkResult checkLayouts(Region &region, int64_t warps) {
  LayoutCheck layouts(warps);
  return region.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (failed(layouts.check(op))) return WalkResult::interrupt();
    auto partitions = dyn_cast<WarpSpecializeOp>(op);
    if (!partitions) return WalkResult::advance();
    WalkResult checked = checkLayouts(partitions.getDefaultRegion(), warps);
    for (auto [partition, partitionWarps] : llvm::zip(partitions.getPartitions(), partitions.getPartitionNumWarps()))
      if (!checked.wasInterrupted()) checked = checkLayouts(partition, partitionWarps);
    return checked.wasInterrupted() ? checked : WalkResult::skip();
  });
}

LogicalResult ttg::onKernelsWithLayouts(ModuleOp module, function_ref<LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass) {
  return onKernels(module, [&](tt::FuncOp function, ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    if (failed(LayoutCheck(config.getWarps()).check(function))) return failure(); // its arguments
    return checkLayouts(function.getBody(), config.getWarps()).wasInterrupted() ? failure() : pass(function, config, target);
  });
}

void ttg::eraseDead(Operation *root) {
  // Users before operands, inner operations before enclosing ones.
  root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != root && isOpTriviallyDead(op)) op->erase();
  });
}

gpu::Dims ttg::shapeOf(Type tile) {
  return cast<RankedTensorType>(tile).getShape().vec();
}

bool ttg::hasLayout(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && isa_and_nonnull<LayoutAttr>(tile.getEncoding());
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const gpu::Layout &layout) {
  return get(context, layout.shape, layout.basesOf(gpu::Axis::reg), layout.basesOf(gpu::Axis::lane), layout.basesOf(gpu::Axis::warp),
             layout.basesOf(gpu::Axis::block));
}

gpu::Layout LayoutAttr::layout() const {
  gpu::Layout layout;
  layout.shape = getShape().vec();
  layout.bases = {getReg().vec(), getLane().vec(), getWarp().vec(), getBlock().vec()};
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

LogicalResult ClcProgramOp::verify() {
  auto loop = dyn_cast<scf::ForOp>((*this)->getParentOp());
  if (!loop || getIteration() != loop.getInductionVar()) return emitOpError("gets the program of an iteration of the loop around it");
  return success();
}

LogicalResult ReadClusterOp::verify() {
  if (getPeer() && getNumResults() != 1) return emitOpError("that reads the tile of one peer has one result");
  return success();
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

/// A tile that moves between tensor memory and registers.
static LogicalResult verifyMove(Operation *op, Type tile, TensorMemoryType memory) {
  auto type = cast<RankedTensorType>(tile);
  if (type.getShape() != memory.getShape() || type.getElementType() != memory.getElementType())
    return op->emitOpError("moves a tile between types that differ in shape or element type");
  return success();
}

LogicalResult MmaAsyncOp::verify() {
  auto extents = [](Type type) {
    return isa<BufferType>(type) ? cast<BufferType>(type).getShape() : cast<RankedTensorType>(type).getShape();
  };
  if (!isa<BufferType, RankedTensorType>(getA().getType())) return emitOpError("a must be a buffer or a tile");
  ArrayRef<int64_t> a = extents(getA().getType()), b = getB().getType().getShape(), d = extents(getType());
  if (a.size() != 2 || b.size() != 2 || d.size() != 2) return emitOpError("operands and result must be matrices");
  if (getScales()) return success(); // tiles of bytes, which may be padded
  if (a[1] != b[0]) return emitOpError("a has ") << a[1] << " columns, but b has " << b[0] << " rows";
  if (a[0] != d[0] || (getPaired() ? 2 : 1) * b[1] != d[1])
    return emitOpError("the result does not have the rows of a and the columns of b");
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (getCoordinates().empty() || static_cast<int64_t>(getCoordinates().size()) > gpu::tmaMaxRank)
    return emitOpError("a tensor map has 1 to 5 dimensions");
  return success();
}

LogicalResult TensorLoadOp::verify() {
  return verifyMove(*this, getType(), getSource().getType());
}

/// A range [first, end) of `extent` elements, in units of `step`.
static LogicalResult verifyRange(Operation *op, std::optional<ArrayRef<int32_t>> range, int64_t extent, int64_t step) {
  if (!range) return success();
  if (range->size() != 2) return op->emitOpError("a range has a first element and an end");
  auto [first, end] = std::pair<int64_t, int64_t>((*range)[0], (*range)[1]);
  if (first < 0 || first >= end || end > extent || first % step || end % step)
    return op->emitOpError("a range of ") << extent << " elements starts and ends at multiples of " << step;
  return success();
}

LogicalResult TensorStoreOp::verify() {
  TensorMemoryType target = getTarget().getType();
  if (getRange() && target.getShape()[0] % gpu::tensorMemoryLanes) return emitOpError("of 64 rows, two halves are stored at the same time");
  // A column is a register of a thread, and holds as many elements of a row as fit.
  int64_t step = gpu::registerBits / target.getElementType().getIntOrFloatBitWidth();
  if (failed(verifyRange(*this, getRange(), target.getShape()[1], step))) return failure();
  return verifyMove(*this, getSrc().getType(), target);
}

LogicalResult Tcgen05MmaOp::verify() {
  if (!getKRange()) return success();
  if (getScales()) return emitOpError("an MMA of scaled operands has no range of K");
  BufferType b = getB().getType();
  int64_t step = 8 * gpu::mmaDepthBytes / b.getElementType().getIntOrFloatBitWidth(); // K of one instruction
  return verifyRange(*this, getKRange(), b.getShape()[0], step);
}

SmallVector<Value, 4> MmaAsyncOp::buffers() {
  SmallVector<Value, 4> all;
  llvm::copy_if(getOperands(), std::back_inserter(all), [](Value operand) { return isa<BufferType>(operand.getType()); });
  return all;
}

int64_t BufferType::paddedTileBytes() const {
  gpu::SharedLayout layout = getLayout().layout();
  bool isPlain = layout.elementBits == 8 && llvm::all_of(layout.bases, [](uint32_t basis) { return llvm::isPowerOf2_32(basis); });
  int64_t alignment =
      layout.shape.size() == 2 && isPlain && layout.bytes() < gpu::swizzleAlignment ? gpu::plainAlignment : gpu::swizzleAlignment;
  return (layout.bytes() + alignment - 1) / alignment * alignment;
}

gpu::Layout ttg::layoutOf(Type tile) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding()).layout();
}

RankedTensorType ttg::withLayout(RankedTensorType tile, const gpu::Layout &layout) {
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), LayoutAttr::get(tile.getContext(), layout));
}

//===---------------------------------------------------------------------------------------------------------------- launch guards

address::FailedGuards ttg::failedGuardsOf(tt::FuncOp kernel) {
  address::FailedGuards failedGuards;
  if (auto names = kernel->getAttrOfType<ArrayAttr>(failedGuardsName))
    for (auto name : names.getAsRange<StringAttr>())
      failedGuards.insert(name.getValue());
  return failedGuards;
}

void ttg::relyOn(tt::FuncOp kernel, ArrayRef<LaunchGuard> guards) {
  SmallVector<Attribute> all;
  if (auto before = kernel->getAttrOfType<ArrayAttr>(guardsName)) all.assign(before.begin(), before.end());
  for (const LaunchGuard &guard : guards) {
    MLIRContext *context = kernel.getContext();
    Attribute made = LaunchGuardAttr::get(context, StringAttr::get(context, guard.name), DenseI64ArrayAttr::get(context, numbersOf(guard)));
    if (!llvm::is_contained(all, made)) all.push_back(made);
  }
  if (!all.empty()) kernel->setAttr(guardsName, ArrayAttr::get(kernel.getContext(), all));
}

std::optional<LaunchGuard> ttg::noAliasGuard(Value pointer, Value other) {
  BlockArgument a = address::baseArgument(pointer), b = address::baseArgument(other);
  if (!a || !b || a == b) return {};
  if (a.getArgNumber() > b.getArgNumber()) std::swap(a, b);
  auto kernel = cast<tt::FuncOp>(a.getOwner()->getParentOp());
  LaunchGuard guard{address::nameOf(a) + " and " + address::nameOf(b) + " do not overlap",
                    {},
                    0,
                    0,
                    int64_t(a.getArgNumber()),
                    int64_t(b.getArgNumber())};
  address::FailedGuards failedGuards = failedGuardsOf(kernel);
  return failedGuards.contains(everyGuard) || failedGuards.contains(guard.name) ? std::nullopt : std::optional(guard);
}

//===---------------------------------------------------------------------------------------------------------------- remarks

void ttg::remark(tt::FuncOp kernel, StringRef pass, Attribute about, StringRef text) {
  SmallVector<Attribute> all;
  if (auto before = kernel->getAttrOfType<ArrayAttr>(remarksName)) all.assign(before.begin(), before.end());
  Attribute made = RemarkAttr::get(kernel.getContext(), pass, about, text);
  if (!llvm::is_contained(all, made)) all.push_back(made); // an unrolled operation has several copies
  kernel->setAttr(remarksName, ArrayAttr::get(kernel.getContext(), all));
}

std::string ttg::remarksOf(tt::FuncOp kernel, StringRef pass, Attribute about) {
  SmallVector<StringRef> texts;
  if (auto all = kernel->getAttrOfType<ArrayAttr>(remarksName))
    for (auto each : all.getAsRange<RemarkAttr>())
      if (each.getPass() == pass && each.getAbout() == about) texts.push_back(each.getText());
  return llvm::join(texts, "; ");
}

//===--------------------------------------------------------------------------------------------------------- generated

#include "gpu/ttg/ttg_dialect.cpp.inc"
#include "gpu/ttg/ttg_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/ttg/ttg_attrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu/ttg/ttg_types.cpp.inc"
#define GET_OP_CLASSES
#include "gpu/ttg/ttg_ops.cpp.inc"

namespace {
/// Layouts are long, so a dump names each once, at its top.   #layout = #ttg.layout<64x64, ...>      tensor<64x64xf32, #layout>
class Aliases : public OpAsmDialectInterface {
public:
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &stream) const override {
    if (!isa<LayoutAttr, LoopScheduleAttr, MmaScheduleAttr>(attribute)) return AliasResult::NoAlias;
    stream << (isa<LayoutAttr>(attribute) ? "layout" : "schedule");
    return AliasResult::OverridableAlias;
  }
};
} // namespace

/// Parses and ignores the memory kind: gpu.barrier orders all memory.
static ParseResult parseBarrier(OpAsmParser &parser, OperationState &result) {
  result.name = OperationName("gpu.barrier", parser.getContext());
  StringRef memory;
  do {
    if (parser.parseKeyword(&memory)) return failure();
  } while (succeeded(parser.parseOptionalVerticalBar()));
  return parser.parseOptionalAttrDict(result.attributes);
}

std::optional<Dialect::ParseOpHook> TTGDialect::getParseOperationHook(StringRef name) const {
  if (name == "ttg.barrier") return ParseOpHook(parseBarrier);
  return Dialect::getParseOperationHook(name);
}

void TTGDialect::initialize() {
  addInterfaces<Aliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gpu/ttg/ttg_attrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gpu/ttg/ttg_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gpu/ttg/ttg_ops.cpp.inc"
      >();
}

Partition tilewright::ttg::partitionOf(Operation *op) {
  auto partition = op->getAttrOfType<PartitionAttr>(partitionName);
  return partition ? partition.getValue() : Partition::consumers;
}

bool tilewright::ttg::isDebugBarrier(Operation *op) {
  return op->getName().getStringRef() == "gpu.barrier";
}

void tilewright::ttg::setPartition(Operation *op, Partition partition) {
  op->setAttr(partitionName, PartitionAttr::get(op->getContext(), partition));
}
