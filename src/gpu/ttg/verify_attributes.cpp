// The discardable attributes of the ttg dialect (ttg_attributes.h), of operations and of arguments: the type of each, and the operations
// that may have it.
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

namespace {
/// A discardable attribute of the dialect: its type, and the operations that may have it; any, without `standsOn`.
struct KnownAttribute {
  StringRef name, type;
  bool (*hasType)(Attribute);
  StringRef place = "";
  bool (*standsOn)(Operation *) = nullptr;
};
} // namespace

template <typename T> static bool is(Attribute attribute) {
  return isa<T>(attribute);
}
template <typename T> static bool is(Operation *op) {
  return isa<T>(op);
}

static ArrayRef<KnownAttribute> knownAttributes() {
  static const KnownAttribute known[] = {
      {configName, "a config", is<ConfigAttr>, "a tt.func", is<tt::FuncOp>},
      {guardsName, "a list", is<ArrayAttr>, "a tt.func", is<tt::FuncOp>},
      {failedGuardsName, "a list", is<ArrayAttr>, "a tt.func", is<tt::FuncOp>},
      {remarksName, "a list", is<ArrayAttr>, "a tt.func", is<tt::FuncOp>},
      {sharedBytesName, "an integer", is<IntegerAttr>, "a tt.func", is<tt::FuncOp>},
      {warpSpecializedName, "a unit attribute", is<UnitAttr>, "a tt.func", is<tt::FuncOp>},
      {notWarpSpecializedName, "a string", is<StringAttr>, "a tt.func", is<tt::FuncOp>},
      {operandRegistersName, "an integer", is<IntegerAttr>, "a tt.func", is<tt::FuncOp>},
      {loopScheduleName, "a loop_schedule", is<LoopScheduleAttr>, "an scf.for", is<scf::ForOp>},
      {mmaScheduleName, "an mma_schedule", is<MmaScheduleAttr>, "an scf.for", is<scf::ForOp>},
      {drainsName, "a unit attribute", is<UnitAttr>, "a ttg.mma_async_wait", is<MmaAsyncWaitOp>},
      {unalignedName, "a unit attribute", is<UnitAttr>, "a tt.load", is<tt::LoadOp>},
      {alignedWordsName, "a unit attribute", is<UnitAttr>, "a tt.load", is<tt::LoadOp>},
      {hoistedName, "a unit attribute", is<UnitAttr>, "a tt.load", is<tt::LoadOp>},
      {dotChoiceName, "a dot_choice", is<DotChoiceAttr>, "a tt.dot", is<tt::DotOp>},
      {liveThroughoutName, "a unit attribute", is<UnitAttr>, "a ttg.alloc", is<AllocOp>},
      {liveFromStartName, "a unit attribute", is<UnitAttr>, "a ttg.alloc", is<AllocOp>},
      {vectorName, "an integer", is<IntegerAttr>},
      {blockRepeatsName, "an array of integers", is<DenseI64ArrayAttr>},
      {noWrapName, "a unit attribute", is<UnitAttr>},
      {notPipelinedName, "a string", is<StringAttr>},
      {copiedExtentName, "an array of integers", is<DenseI64ArrayAttr>},
      {firstCtaName, "a unit attribute", is<UnitAttr>},
      {offsetName, "an integer", is<IntegerAttr>},
      {idName, "an integer", is<IntegerAttr>},
      {iterationOffsetName, "an integer", is<IntegerAttr>},
      {partitionName, "a partition", is<PartitionAttr>},
  };
  return known;
}

static ArrayRef<KnownAttribute> knownArgumentAttributes() {
  static const KnownAttribute known[] = {
      {tensorMapName, "a tensor_map", is<TensorMapAttr>},
      {notSpecializedName, "a unit attribute", is<UnitAttr>},
      {maxValueName, "an integer", is<IntegerAttr>},
  };
  return known;
}

/// Verifies one of `all` on an operation, or on an argument of it.
static LogicalResult verify(Operation *op, NamedAttribute attribute, ArrayRef<KnownAttribute> all) {
  const KnownAttribute *known = llvm::find_if(all, [&](const KnownAttribute &k) { return k.name == attribute.getName(); });
  if (known == all.end()) return success(); // upstream's, on modules for instance
  if (!known->hasType(attribute.getValue())) return op->emitOpError() << known->name << " must be " << known->type;
  if (known->standsOn && !known->standsOn(op)) return op->emitOpError() << "only " << known->place << " has " << known->name;
  return success();
}

LogicalResult TTGDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verify(op, attribute, knownAttributes());
}

LogicalResult TTGDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verify(op, attribute, knownArgumentAttributes());
}
