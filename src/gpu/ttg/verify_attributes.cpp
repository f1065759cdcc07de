// The discardable attributes of the ttg dialect (ttg_attributes.h): the type of each, and the operations that may have it.
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

namespace {
/// A discardable attribute of the dialect (ttg_attributes.h): its type, and where it stands.
struct KnownAttribute {
  StringRef name, type;
  bool (*hasType)(Attribute);
  StringRef place;
  bool (*standsOn)(Operation *);
};
} // namespace

template <typename T> static bool is(Attribute attribute) {
  return isa<T>(attribute);
}
template <typename T> static bool is(Operation *op) {
  return isa<T>(op);
}

static ArrayRef<KnownAttribute> knownAttributes() {
  auto any = [](StringRef name, StringRef type, bool (*hasType)(Attribute)) {
    return KnownAttribute{name, type, hasType, "", [](Operation *) { return true; }};
  };
  auto ofKernel = [](StringRef name, StringRef type, bool (*hasType)(Attribute)) {
    return KnownAttribute{name, type, hasType, "a tt.func", is<tt::FuncOp>};
  };
  auto ofLoop = [](StringRef name, StringRef type, bool (*hasType)(Attribute)) {
    return KnownAttribute{name, type, hasType, "an scf.for", is<scf::ForOp>};
  };
  auto ofLoad = [](StringRef name, StringRef type, bool (*hasType)(Attribute)) {
    return KnownAttribute{name, type, hasType, "a tt.load", is<tt::LoadOp>};
  };
  static const KnownAttribute known[] = {
      ofKernel(configName, "a config", is<ConfigAttr>),
      ofKernel(guardsName, "a list", is<ArrayAttr>),
      ofKernel(failedGuardsName, "a list", is<ArrayAttr>),
      ofKernel(remarksName, "a list", is<ArrayAttr>),
      ofKernel(sharedBytesName, "an integer", is<IntegerAttr>),
      ofKernel(warpSpecializedName, "a unit attribute", is<UnitAttr>),
      ofKernel(notWarpSpecializedName, "a string", is<StringAttr>),
      ofKernel(operandRegistersName, "an integer", is<IntegerAttr>),
      ofLoop(loopScheduleName, "a loop_schedule", is<LoopScheduleAttr>),
      ofLoop(mmaScheduleName, "an mma_schedule", is<MmaScheduleAttr>),
      {drainsName, "a unit attribute", is<UnitAttr>, "a ttg.mma_async_wait", is<MmaAsyncWaitOp>},
      ofLoad(unalignedName, "a unit attribute", is<UnitAttr>),
      ofLoad(alignedWordsName, "a unit attribute", is<UnitAttr>),
      ofLoad(hoistedName, "a unit attribute", is<UnitAttr>),
      {dotChoiceName, "a dot_choice", is<DotChoiceAttr>, "a tt.dot", is<tt::DotOp>},
      {liveThroughoutName, "a unit attribute", is<UnitAttr>, "a ttg.alloc", is<AllocOp>},
      any(vectorName, "an integer", is<IntegerAttr>),
      any(blockRepeatsName, "an array of integers", is<DenseI64ArrayAttr>),
      any(noWrapName, "a unit attribute", is<UnitAttr>),
      any(notPipelinedName, "a string", is<StringAttr>),
      any(copiedExtentName, "an array of integers", is<DenseI64ArrayAttr>),
      any(firstCtaName, "a unit attribute", is<UnitAttr>),
      any(offsetName, "an integer", is<IntegerAttr>),
      any(idName, "an integer", is<IntegerAttr>),
      any(iterationOffsetName, "an integer", is<IntegerAttr>),
      any(partitionName, "a partition", is<PartitionAttr>),
  };
  return known;
}

LogicalResult TTGDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  const KnownAttribute *known = llvm::find_if(knownAttributes(), [&](const KnownAttribute &k) { return k.name == attribute.getName(); });
  if (known == knownAttributes().end()) return success(); // upstream's, on modules for instance
  if (!known->hasType(attribute.getValue())) return op->emitOpError() << known->name << " must be " << known->type;
  if (!known->standsOn(op)) return op->emitOpError() << "only " << known->place << " has " << known->name;
  return success();
}
