// Hints, checks, printing, queries of the target, and builtins of one target only.

#include "evaluate/evaluate.h"
#include "frontend/builtin_emitters.h"
#include "ir/newer_text.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- hints: attributes of the operation that defines the value, with upstream's names

static Maybe hint(Emitter &e, Arguments &args, llvm::StringRef name, bool scalars) {
  Maybe x = args.tensor(0);
  std::optional<std::vector<int64_t>> values = x ? args.integers(1) : std::nullopt;
  if (!values) return std::nullopt;
  size_t rank = x->type.shape().size();
  if (values->size() != (scalars ? std::max<size_t>(1, rank) : rank))
    return args.typeError(1, "one number for each dimension of " + x->describe());
  std::vector<int32_t> numbers(values->begin(), values->end());
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, e.ops.b.getI32Type());
  Attribute attribute = DenseIntElementsAttr::get(type, numbers);
  if (Operation *op = x->handle.getDefiningOp()) {
    op->setDiscardableAttr(name, attribute);
  } else if (auto argument = dyn_cast<BlockArgument>(x->handle)) {
    // A hint about a kernel parameter becomes an attribute of the argument.
    auto function = dyn_cast_or_null<tt::FuncOp>(argument.getOwner()->getParentOp());
    if (function && name == tt::divisibilityName && numbers.size() == 1)
      function.setArgAttr(argument.getArgNumber(), name, e.ops.b.getI32IntegerAttr(numbers[0]));
  }
  return x;
}
Maybe emitMultipleOf(Emitter &e, Arguments &args) {
  return hint(e, args, tt::divisibilityName, true);
}
Maybe emitMaxContiguous(Emitter &e, Arguments &args) {
  return hint(e, args, tt::contiguityName, false);
}
Maybe emitMaxConstancy(Emitter &e, Arguments &args) {
  return hint(e, args, tt::constancyName, false);
}

// Creates an operation by name. This avoids the large headers of dialects that this file otherwise does not use.
static void makeByName(Emitter &e, llvm::StringRef dialect, llvm::StringRef name, ValueRange operands,
                       llvm::ArrayRef<NamedAttribute> attributes) {
  if (!e.unit.context->getOrLoadDialect(dialect)) return; // not registered: the caller cannot use the hint
  OperationState state(e.ops.b.getLoc(), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  e.ops.b.create(state);
}

Maybe emitAssume(Emitter &e, Arguments &args) {
  Maybe condition = args.tensor(0);
  if (!condition) return std::nullopt;
  if (condition->isBlock()) return args.typeError(0, "a scalar condition");
  Maybe truth = e.ops.truth(*condition);
  if (!truth) return std::nullopt;
  makeByName(e, "llvm", "llvm.intr.assume", truth->handle, e.ops.b.getNamedAttr("op_bundle_sizes", e.ops.b.getDenseI32ArrayAttr({})));
  return Operand::none();
}

Maybe emitDebugBarrier(Emitter &e, Arguments &args) {
  if (e.unit.options->backend == "cuda") makeByName(e, "gpu", "gpu.barrier", {}, {}); // on a CPU, one thread runs each program
  return Operand::none();
}

// ---- at compile time

Maybe emitStaticAssert(Emitter &e, Arguments &args) {
  std::optional<Value> condition = args.constant(0);
  if (!condition) return std::nullopt;
  if (condition->truth()) return Operand::none();
  std::optional<Value> message = args[1].value();
  std::string text = message && !message->isNone() ? strOf(*message) : "";
  return e.ops.fail(Diag::staticAssertFailed, {text.empty() ? "" : ": " + text});
}

// Returns the type of a run-time value as text: "int32[constexpr[128]]", or "fp32[]" for a scalar.
static std::string typeText(const Operand &value) {
  if (!value.isRuntime()) return value.describe();
  std::string text = (value.isBlock() ? value.type.element() : value.type).str() + "[";
  if (value.isBlock())
    for (auto [i, size] : llvm::enumerate(value.type.shape()))
      text += (i ? ", constexpr[" : "constexpr[") + std::to_string(size) + "]";
  return text + "]";
}

// Prints the value of a constexpr, and the type of a run-time value.
Maybe emitStaticPrint(Emitter &e, Arguments &args) {
  std::optional<std::string> separator = args.string(1), end = separator ? args.string(2) : std::nullopt;
  if (!end) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < args[0].items.size(); ++i) {
    std::optional<Value> value = args[0].items[i].value();
    text += (i ? *separator : "") + (value ? strOf(*value) : typeText(args[0].items[i]));
  }
  spend(200); // limits the number of lines
  e.unit.diagnostics->warning(args.range, Diag::staticPrint, {text + (args.isNone(2) ? "\n" : *end)});
  return Operand::none();
}

// ---- at run time

// Returns the text that upstream prints before the values: a space, the text, and ": ".
static std::string printPrefix(std::string prefix, bool hasValues) {
  auto endsWith = [&](llvm::StringRef tail) { return llvm::StringRef(prefix).ends_with(tail); };
  if (hasValues && !endsWith(" ")) prefix += " ";
  if (hasValues && !endsWith(": ")) {
    prefix.pop_back();
    prefix += ": ";
  }
  if (prefix.size() > 2 && prefix[0] != ' ') prefix = " " + prefix;
  return prefix;
}

Maybe emitDevicePrint(Emitter &e, Arguments &args) {
  std::optional<std::string> prefix = args.string(0);
  std::optional<bool> hex = prefix ? args.boolean(2) : std::nullopt;
  if (!hex) return std::nullopt;
  for (char c : *prefix)
    if (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') return args.typeError(0, "printable text");
  llvm::SmallVector<mlir::Value> handles;
  llvm::SmallVector<int32_t> isSignedValue;
  for (const Operand &item : args[1].items) {
    Maybe value = e.ops.toTensor(item);
    if (value && !*hex && value->type.scalarType() == Type(Scalar::fp8e4b15)) value = e.ops.cast(*value, Type(Scalar::fp16));
    if (!value) return std::nullopt;
    handles.push_back(value->handle);
    Type scalar = value->type.scalarType();
    isSignedValue.push_back(scalar.isScalar() && isSigned(scalar.scalar()));
  }
  tt::PrintOp::create(e.ops.b, printPrefix(*prefix, !handles.empty()), *hex, handles, isSignedValue);
  return Operand::none();
}

Maybe emitDeviceAssert(Emitter &e, Arguments &args) {
  std::optional<Value> message = args[1].value();
  if (!message) return args.typeError(1, "a text");
  Maybe condition = args.tensor(0);
  if (!condition) return std::nullopt;
  if (!e.unit.options->debug) return Operand::none();
  condition = e.ops.truth(*condition);
  if (condition && !args.isNone(2)) {
    Maybe mask = args.tensor(2), off = mask ? e.ops.unary(ast::UnaryOp::not_, *mask) : std::nullopt;
    condition = off ? e.ops.bitwise(ast::BinaryOp::bitor_, *condition, *off) : std::nullopt;
  }
  if (!condition) return std::nullopt;
  tt::AssertOp::create(e.ops.b, condition->handle, e.ops.b.getStringAttr(strOf(*message)));
  return Operand::none();
}

Maybe emitExpectZero(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0), mask = x ? args.tensor(1) : std::nullopt;
  if (!mask || !e.unit.options->debug) return mask ? x : std::nullopt;
  Maybe isZero = e.ops.compare(ast::CompareOp::eq, *x, Operand::of(Value::integer(0)));
  Maybe off = isZero ? e.ops.unary(ast::UnaryOp::not_, *mask) : std::nullopt;
  Maybe holds = off ? e.ops.bitwise(ast::BinaryOp::bitor_, *isZero, *off) : std::nullopt;
  if (!holds) return std::nullopt;
  tt::AssertOp::create(e.ops.b, holds->handle, e.ops.b.getStringAttr("expect_zero: a value that should be zero is not"));
  return x;
}

// ---- loops and the target

Maybe emitOnlyInFor(Emitter &e, Arguments &args) {
  return e.ops.fail(Diag::unsupportedSyntax,
                    {"tl." + args.builtin.path.str() + " outside a 'for'", "write 'for i in tl." + args.builtin.path.str() + "(...):'"});
}

// Returns the condition itself. The hint that disables loop-invariant code motion has no effect.
Maybe emitCondition(Emitter &e, Arguments &args) {
  return args[0];
}

Maybe emitCurrentTarget(Emitter &e, Arguments &args) {
  return Operand::of(Value::string(e.unit.options->backend));
}
Maybe emitIsCuda(Emitter &e, Arguments &args) {
  return Operand::of(Value::boolean(e.unit.options->backend == "cuda"));
}
Maybe emitIsOther(Emitter &e, Arguments &args) {
  return Operand::of(Value::boolean(false));
}
Maybe emitCapabilityGeq(Emitter &e, Arguments &args) {
  std::optional<int64_t> major = args.integer(0), minor = major ? args.integer(1) : std::nullopt;
  if (!minor) return std::nullopt;
  return Operand::of(Value::boolean(e.unit.options->backend == "cuda" && e.unit.options->capability >= 10 * *major + *minor));
}

// ---- NVIDIA's own, in its assembly

// Returns the scalar result of an instruction.
static Operand special(Emitter &e, llvm::StringRef assembly, llvm::StringRef constraints, Type type) {
  auto op = tt::ElementwiseInlineAsmOp::create(e.ops.b, e.ops.irType(type), assembly, constraints, false, 1, ValueRange());
  return Operand::of(op->getResult(0), type);
}

static bool isForNvidia(Emitter &e, Arguments &args) {
  if (e.unit.options->backend == "cuda") return true;
  e.ops.fail(Diag::refusedBuiltin, {args.builtin.path.str() + " on a CPU", "it exists only on NVIDIA GPUs"});
  return false;
}

Maybe emitGlobalTimer(Emitter &e, Arguments &args) {
  if (!isForNvidia(e, args)) return std::nullopt;
  return special(e, "mov.u64 $0, %globaltimer;", "=l", Type(Scalar::int64));
}
Maybe emitSmid(Emitter &e, Arguments &args) {
  if (!isForNvidia(e, args)) return std::nullopt;
  return special(e, "mov.u32 $0, %smid;", "=r", Type(Scalar::int32));
}
Maybe emitNumThreads(Emitter &e, Arguments &args) {
  return Operand::of(Value::integer(32 * e.unit.options->numWarps));
}
Maybe emitNumWarps(Emitter &e, Arguments &args) {
  return Operand::of(Value::integer(e.unit.options->numWarps));
}

// Without overlapping kernels this does nothing: the previous kernel has ended, and the next one starts after this one.
static Maybe dependency(Emitter &e, bool waits) {
  if (e.unit.options->backend == "cuda" && e.unit.options->capability >= 90) tt::createGridDependency(e.ops.b, e.ops.b.getLoc(), waits);
  return Operand::none();
}
Maybe emitGdcWait(Emitter &e, Arguments &args) {
  return dependency(e, true);
}
Maybe emitGdcLaunch(Emitter &e, Arguments &args) {
  return dependency(e, false);
}

// ---- escape hatches

Maybe emitInlineAsm(Emitter &e, Arguments &args) {
  std::optional<std::string> text = args.string(0), constraints = text ? args.string(1) : std::nullopt;
  std::optional<bool> pure = constraints ? args.boolean(4) : std::nullopt;
  std::optional<int64_t> pack = pure ? args.integer(5) : std::nullopt;
  if (!pack) return std::nullopt;
  if (*pack < 1 || *pack > tt::maxPackedElements || !llvm::isPowerOf2_64(static_cast<uint64_t>(*pack)))
    return args.typeError(5, "a power of two, at most " + std::to_string(tt::maxPackedElements));
  std::optional<std::vector<Operand>> inputs = args.list(2);
  for (Operand &input : *inputs) {
    Maybe value = e.ops.toTensor(input);
    if (!value) return std::nullopt;
    input = *value;
  }
  for (size_t round = 0; round < 2; ++round)
    for (Operand &input : *inputs)
      if (!e.ops.broadcast((*inputs)[0], input)) return std::nullopt;
  Type like = inputs->empty() ? Type(Scalar::int32) : (*inputs)[0].type;
  std::vector<Operand> results;
  llvm::SmallVector<mlir::Type> types;
  bool several = args[3].isTuple();
  std::vector<Operand> wanted = *args.list(3);
  for (const Operand &item : wanted) {
    const Type *type = item.isConstant() ? item.constant.asType() : nullptr;
    if (!type || *type == Type(Scalar::void_)) return args.typeError(3, "a dtype or a tuple of them");
    results.push_back(Operand::of(mlir::Value(), inputs->empty() ? *type : like.withElement(*type)));
    types.push_back(e.ops.irType(results.back().type));
  }
  llvm::SmallVector<mlir::Value> handles;
  for (const Operand &input : *inputs)
    handles.push_back(input.handle);
  auto op = tt::ElementwiseInlineAsmOp::create(e.ops.b, types, *text, *constraints, *pure, static_cast<uint32_t>(*pack), handles);
  for (size_t i = 0; i < results.size(); ++i)
    results[i].handle = op->getResult(i);
  return several ? Operand::tuple(std::move(results)) : results[0];
}

Maybe emitNotCallable(Emitter &e, Arguments &args) {
  return e.ops.fail(Diag::notCallableHere, {"tl." + args.builtin.path.str()});
}

} // namespace tilewright
