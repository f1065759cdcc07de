// The verifier of the ttg dialect's discardable attributes: the rows of ttg_attributes.def, and what the marks of partitions mean.
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

namespace {
struct KnownAttribute {
  StringRef name;
  std::string type, place;
  bool (*hasType)(Attribute);
  bool (*standsOn)(Operation *);
  bool isOfArgument;
};
} // namespace

template <typename Type> static std::string describeType() {
  if constexpr (std::is_same_v<Type, IntegerAttr>)
    return "an integer";
  else if constexpr (std::is_same_v<Type, StringAttr>)
    return "a string";
  else if constexpr (std::is_same_v<Type, UnitAttr>)
    return "a unit attribute";
  else if constexpr (std::is_same_v<Type, ArrayAttr>)
    return "a list";
  else if constexpr (std::is_same_v<Type, DenseI64ArrayAttr>)
    return "an array of integers";
  else
    return "a #ttg." + Type::getMnemonic().str();
}

template <typename Type, typename Place> static KnownAttribute row(StringRef name) {
  KnownAttribute known{name,
                       describeType<Type>(),
                       "",
                       [](Attribute attribute) { return isa<Type>(attribute); },
                       [](Operation *) { return true; },
                       std::is_same_v<Place, BlockArgument>};
  if constexpr (!std::is_same_v<Place, BlockArgument> && !std::is_same_v<Place, Operation>) {
    known.place = Place::getOperationName().str();
    known.standsOn = [](Operation *op) { return isa<Place>(op); };
  }
  return known;
}

static LogicalResult verify(Operation *op, NamedAttribute attribute, bool isOfArgument) {
#define TTG_ATTRIBUTE(constant, text, type, place) row<type, place>(constant),
  static const KnownAttribute rows[] = {
#include "gpu/ttg/ttg_attributes.def"
  };
  const auto *known = llvm::find_if(rows, [&](const KnownAttribute &k) { return k.name == attribute.getName(); });
  if (known == std::end(rows)) return success(); // upstream's, on modules for instance
  if (known->isOfArgument != isOfArgument)
    return op->emitOpError() << (isOfArgument ? "no argument has " : "only an argument has ") << known->name;
  if (!known->hasType(attribute.getValue())) return op->emitOpError() << known->name << " must be " << known->type;
  if (!known->standsOn(op)) return op->emitOpError() << "only " << known->place << " has " << known->name;
  return success();
}

/// The partition that runs an operation: the mark of the operation, or of what it stands in.
static Partition runBy(Operation *op) {
  while (op && !op->hasAttr(partitionName))
    op = op->getParentOp();
  return op ? partitionOf(op) : Partition::consumers;
}

/// A mark names a partition that the kernel has. Partitions exchange values through memory alone: none uses a result of another one.
static LogicalResult verifyPartition(Operation *op) {
  auto function = op->getParentOfType<tt::FuncOp>();
  Partition partition = partitionOf(op);
  bool exists = function && function->hasAttr(partition == Partition::operands ? operandRegistersName : warpSpecializedName);
  if (!exists || partition == Partition::consumers)
    return op->emitOpError() << "has a mark of the partition '" << stringifyPartition(partition) << "', which its kernel does not have";
  for (Operation *user : op->getUsers())
    if (runBy(user) != partition)
      return op->emitOpError() << "is run by the partition '" << stringifyPartition(partition) << "', but another one uses its result";
  return success();
}

LogicalResult MmaPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, MmaRole role, TensorSpanAttr, TensorSpanAttr operand,
                                  ArrayRef<int32_t> parts, bool pingPong, std::optional<int64_t> correction, std::optional<int64_t>) {
  bool ascend = std::adjacent_find(parts.begin(), parts.end(), std::greater_equal<int32_t>()) == parts.end();
  if (role == MmaRole::early && operand) return emitError() << "an early MMA has no operand that threads store";
  if (bool(operand) == parts.empty() || !ascend || (operand && parts.front() <= 0))
    return emitError() << "an operand that threads store needs ascending ends of its parts";
  if (pingPong && !operand) return emitError() << "row groups take turns only to compute an operand that they store";
  if (correction && role != MmaRole::rescaled) return emitError() << "the correction partition changes the sums of rescaled MMAs only";
  return success();
}

LogicalResult TTGDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (failed(verify(op, attribute, /*isOfArgument=*/false))) return failure();
  return attribute.getName() == partitionName ? verifyPartition(op) : success();
}

LogicalResult TTGDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verify(op, attribute, /*isOfArgument=*/true);
}
