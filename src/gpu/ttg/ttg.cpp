// The ttg dialect itself, and its generated code, in a separate file because it compiles slowly.
#include "gpu/ttg/ttg.h"

#include "gpu/machine/ptx.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

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

SmallVector<Value, 4> MmaAsyncOp::buffers() {
  SmallVector<Value, 4> all;
  llvm::copy_if(getOperands(), std::back_inserter(all), [](Value operand) { return isa<BufferType>(operand.getType()); });
  return all;
}
