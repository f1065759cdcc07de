// libdevice: as upstream, a call becomes tt.extern_elementwise with the symbol of the overload for its argument types. linkLibrary then
// replaces operations whose function is written in the language (libdevice.py), both from kernels and from IR text:
//   before: %y = tt.extern_elementwise %x {symbol = "__nv_erfinvf"} : (tensor<64xf32>) -> tensor<64xf32>
//   after:  %y = tt.call @erfinv__fp32S64S__(%x), and that function

#include "evaluate/budget.h"
#include "evaluate/libdevice.h"
#include "frontend/builtin_emitters.h"
#include "frontend/link_library.h"
#include "ir/refusal.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

static Scalar scalarOfLetter(char letter) {
  switch (letter) {
  case 'f': return Scalar::fp32;
  case 'd': return Scalar::fp64;
  case 'l': return Scalar::int64;
  case 'u': return Scalar::uint32;
  case 'v': return Scalar::uint64;
  default: return Scalar::int32; // 'i', and 'b' before it is made a bool
  }
}

/// The types of an overload's parameters: "(fp32, fp32)".
static std::string parametersText(const LibraryOverload &overload) {
  std::string text;
  for (char letter : overload.parameters)
    text += (text.empty() ? "" : ", ") + scalarName(scalarOfLetter(letter)).str();
  return "(" + text + ")";
}

static const LibraryOverload *findOverload(llvm::StringRef name, llvm::ArrayRef<Operand> values) {
  for (const LibraryOverload &overload : libraryOverloads()) {
    if (overload.name != name || overload.parameters.size() != values.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < values.size(); ++i)
      fits = fits && values[i].type.scalarType() == Type(scalarOfLetter(overload.parameters[i]));
    if (fits) return &overload;
  }
  return nullptr;
}

/// Broadcasts all values to one shape.
static bool broadcastAll(Emitter &e, std::vector<Operand> &values) {
  Operand head = values[0];
  for (size_t round = 0; round < 2; ++round) // twice: the last value may have enlarged the common shape
    for (Operand &value : values)
      if (!e.ops.broadcast(head, value)) return false;
  return true;
}

Maybe emitLibdevice(Emitter &e, Arguments &args) {
  llvm::StringRef name = args.builtin.path.substr(args.builtin.path.rfind('.') + 1);
  std::vector<Operand> values;
  for (size_t i = 0; i < args.values.size(); ++i) {
    Maybe value = args.tensor(i);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const LibraryOverload *overload = findOverload(name, values);
  if (!overload && values.size() > 1) { // in their common type
    for (size_t round = 0; round < 2; ++round)
      for (size_t i = 0; i < values.size(); ++i) {
        size_t k = (i + 1) % values.size();
        if (!e.ops.promote(values[i], values[k], {}, "libdevice." + name.str())) return std::nullopt;
      }
    overload = findOverload(name, values);
  }
  if (!overload) {
    std::string known;
    for (const LibraryOverload &other : libraryOverloads()) {
      if (other.name != name) continue;
      known += (known.empty() ? "" : " or ") + parametersText(other);
    }
    return e.ops.failAt(args.ranges[0], Diag::mathType,
                        {("tl." + args.builtin.path).str(), known, values[0].type.scalarType().str(), ".to(tl.float32)"});
  }
  if (!broadcastAll(e, values)) return std::nullopt;
  llvm::SmallVector<mlir::Value> handles;
  for (const Operand &value : values)
    handles.push_back(value.handle);
  Type type = values[0].type.withElement(Type(scalarOfLetter(overload->result[0])));
  auto op = tt::ExternElementwiseOp::create(e.ops.b, e.ops.irType(type), handles, "", "", overload->symbol, true);
  Operand result = Operand::of(op.getResult(), type);
  return overload->result == "b" ? e.ops.cast(result, Type(Scalar::int1)) : Maybe(result);
}

// ---- core.extern_elementwise: the kernel's author names the symbol for each list of types

/// Returns the entry (symbol, type) of a table {(type, ...): (symbol, type)} for the types of these values, or null.
static const Sequence *entryFor(const Dict &table, llvm::ArrayRef<Operand> values) {
  for (const auto &[key, entry] : table.items) {
    const Sequence *types = key.asSequence(), *found = entry.asSequence();
    if (!types || types->items.size() != values.size() || !found || found->items.size() != 2) continue;
    bool fits = true;
    for (auto [type, value] : llvm::zip(types->items, values))
      fits = fits && type.asType() && *type.asType() == value.type.scalarType();
    if (fits) return found;
  }
  return nullptr;
}

Maybe emitExternElementwise(Emitter &e, Arguments &args) {
  std::optional<std::vector<Operand>> given = args.list(2);
  std::optional<Value> table = given ? args.constant(3) : std::nullopt;
  std::optional<bool> isPure = table ? args.boolean(4) : std::nullopt;
  if (!isPure) return std::nullopt;
  const Dict *rows = table->asDict();
  if (!rows) return args.typeError(3, "a dict of (type, ...): (symbol, type)");
  std::vector<Operand> values;
  for (const Operand &each : *given) {
    Maybe value = e.ops.toTensor(each);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const Sequence *entry = entryFor(*rows, values);
  for (size_t i = 1; !entry && i < values.size(); ++i) // in their common type
    if (!e.ops.promote(values[0], values[i], {}, "extern_elementwise")) return std::nullopt;
  for (size_t i = 1; !entry && i < values.size(); ++i)
    if (!e.ops.promote(values[0], values[i], {}, "extern_elementwise")) return std::nullopt;
  if (!entry) entry = entryFor(*rows, values);
  const std::string *symbol = entry ? entry->items[0].asString() : nullptr;
  const Type *type = entry ? entry->items[1].asType() : nullptr;
  if (!symbol || !type) return args.typeError(2, "arguments with the types of one of its entries");
  if (llvm::none_of(libraryOverloads(), [&](const LibraryOverload &each) { return each.symbol == *symbol; }))
    return e.ops.fail(Diag::refusedBuiltin, {"extern_elementwise of '" + *symbol + "'", "only functions of libdevice are linked"});
  if (!broadcastAll(e, values)) return std::nullopt;
  llvm::SmallVector<mlir::Value> handles;
  for (const Operand &value : values)
    handles.push_back(value.handle);
  Type result = values[0].type.withElement(*type);
  return Operand::of(tt::ExternElementwiseOp::create(e.ops.b, e.ops.irType(result), handles, "", "", *symbol, *isPure).getResult(), result);
}

// ---- linking

static Type languageType(mlir::Type type, char letter) {
  Type scalar(scalarOfLetter(letter));
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Type::block(scalar, tile.getShape()) : scalar;
}

static bool hasType(mlir::Type type, char letter) {
  mlir::Type element = getElementTypeOrSelf(type);
  Scalar scalar = scalarOfLetter(letter);
  if (isInteger(scalar)) return element.isInteger(static_cast<unsigned>(bitWidth(scalar)));
  return scalar == Scalar::fp32 ? element.isF32() : element.isF64();
}

static bool fits(tt::ExternElementwiseOp op, const LibraryOverload &overload) {
  bool all = overload.parameters.size() == op.getNumOperands() && hasType(op.getType(), overload.result[0]);
  for (size_t i = 0; all && i < overload.parameters.size(); ++i)
    all = hasType(op.getOperand(static_cast<unsigned>(i)).getType(), overload.parameters[i]);
  return all;
}

/// Returns the row that the operation names. Reports an operation without one: back ends see only functions and types of the table.
static const LibraryOverload *overloadOf(tt::ExternElementwiseOp op, bool isForCpus) {
  std::string forms;
  for (const LibraryOverload &overload : libraryOverloads()) {
    if (overload.symbol != op.getSymbol()) continue;
    if (fits(op, overload)) return &overload;
    forms += (forms.empty() ? "" : " or ") + parametersText(overload) + " -> " + scalarName(scalarOfLetter(overload.result[0])).str();
  }
  if (!forms.empty())
    refuse(op, Diag::refusedBuiltin, {"extern_elementwise of '" + op.getSymbol().str() + "' with these types", "its form is " + forms});
  else if (isForCpus)
    refuse(op, Diag::cpuFunction, {op.getSymbol().str()});
  else
    refuse(op, Diag::notOnGpus, {"the function '" + op.getSymbol().str() + "'", "write it in terms of the functions of tl and tl.math"});
  return nullptr;
}

/// Replaces the operation by a call of its definition. Returns nothing after an error.
static Maybe callDefinition(Unit &unit, tt::ExternElementwiseOp op, const LibraryOverload &overload) {
  auto [name, rounding] = overload.definition.split(' ');
  std::shared_ptr<const JitFunction> function = libdeviceFunction(name);
  if (!function) return std::nullopt;
  Emitter emitter(unit, *function);
  CallArguments call{function->decl->nameRange, {}, {}, {}};
  for (auto [operand, letter] : llvm::zip(op.getOperands(), overload.parameters))
    call.positional.push_back(Operand::of(operand, languageType(operand.getType(), letter)));
  if (!rounding.empty()) call.positional.push_back(Operand::of(Value::string(rounding.str())));
  call.ranges.assign(call.positional.size(), call.range);
  emitter.ops.b.setInsertionPoint(op);
  Maybe result = emitter.callFunction(*function, std::move(call));
  if (!result) return std::nullopt;
  emitter.ops.b.setLoc(op.getLoc());
  if (result->handle.getDefiningOp()) result->handle.getDefiningOp()->setLoc(op.getLoc());
  return emitter.ops.cast(*result, languageType(op.getType(), overload.result[0]).scalarType());
}

bool linkLibrary(ModuleOp module, const KernelOptions &options, Diagnostics &diagnostics) {
  llvm::SmallVector<std::pair<tt::ExternElementwiseOp, const LibraryOverload *>> calls;
  WalkResult walk = module.walk([&](tt::ExternElementwiseOp op) {
    const LibraryOverload *overload = overloadOf(op, options.backend != "cuda");
    if (overload && !overload->definition.empty()) calls.emplace_back(op, overload);
    return overload ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walk.wasInterrupted()) return false;
  if (calls.empty()) return true;
  Budget budget;
  module.getContext()->loadDialect<scf::SCFDialect>();
  bool anySize = llvm::any_of(module.getOps<tt::FuncOp>(), [](tt::FuncOp function) { return function->hasAttr(tt::anySizeName); });
  Unit unit{module.getContext(), module, &options, &diagnostics, {}, {}, 0, {}, anySize};
  for (auto [op, overload] : calls) {
    Maybe result = callDefinition(unit, op, *overload);
    if (!result) return false;
    op.replaceAllUsesWith(result->handle);
    op.erase();
  }
  return true;
}

} // namespace tilewright
