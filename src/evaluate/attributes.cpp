// object.name: of types, constants, namedtuples, functions and host values.
#include "evaluate/evaluate.h"

#include "evaluate/builtins.h"
#include "evaluate/packages.h"
#include "support/options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace tilewright {

namespace {

/// The result of dtype.is_<question>(). As in Triton, the type of a tile is not numeric; the type of its elements is.
std::optional<bool> isOfKind(const Type &type, llvm::StringRef question) {
  bool plain = type.isScalar();
  Scalar scalar = plain ? type.scalar() : Scalar::void_;
  if (question == "ptr") return type.isPointer();
  if (question == "block") return type.isBlock();
  if (question == "const" || question == "const_ptr") return type.isPointer() && type.isConst();
  if (question == "void") return plain && scalar == Scalar::void_;
  if (question == "floating") return isFloat(scalar);
  if (question == "standard_floating") return isFloat(scalar) && !isFp8(scalar);
  if (question == "fp8") return isFp8(scalar);
  if (question == "int") return isInteger(scalar);
  if (question == "bool") return scalar == Scalar::int1;
  if (question == "int_signed") return isSigned(scalar);
  if (question == "int_unsigned") return isInteger(scalar) && !isSigned(scalar);
  if (std::optional<Type> named = parseTypeName(question); named && named->isScalar() && scalarName(named->scalar()) == question)
    return scalar == named->scalar();
  return std::nullopt;
}

MaybeValue integerLimit(const Type &type, bool upper) {
  Scalar scalar = type.scalar();
  if (!isInteger(scalar)) return std::nullopt;
  int bits = static_cast<int>(bitWidth(scalar)) - (isSigned(scalar) ? 1 : 0);
  Int power = static_cast<Int>(1) << bits;
  return Value::integer(upper ? power - 1 : isSigned(scalar) ? -power : 0);
}

Value constantMethod(llvm::StringRef name, Value result) {
  return nativeFunction(name.str(), [result](const NativeCall &) -> MaybeValue { return result; });
}

Value withElementType(const Type &type) {
  return nativeFunction("with_element_ty", [type](const NativeCall &call) -> MaybeValue {
    const Value *given = call.argument(0, "element_ty");
    const Type *element = given ? given->asType() : nullptr;
    if (!element || element->isBlock()) return call.badCall("with_element_ty takes the type of an element");
    return Value::type(type.isBlock() ? type.withElement(*element) : *element);
  });
}

Value shapeTuple(llvm::ArrayRef<int64_t> dims) {
  Values items;
  for (int64_t dim : dims)
    items.push_back(Value::integer(dim));
  return Value::tuple(std::move(items));
}

} // namespace

std::optional<Value> typeAttribute(const Type &type, llvm::StringRef name) {
  if (name == "name" || name == "__name__") return Value::string(type.str());
  if (name == "primitive_bitwidth" || name == "int_bitwidth") return Value::integer(type.isPointer() ? 64 : bitWidth(type.scalar()));
  if (name == "itemsize") return Value::integer(type.isPointer() ? 8 : byteSize(type.scalar()));
  if (name == "scalar") return Value::type(type.scalarType());
  if (name == "element_ty" && !type.isScalar()) return Value::type(type.element());
  if (name == "dtype") return Value::type(type.isBlock() || type.isDescriptor() ? type.element() : type);
  if ((name == "shape" || name == "block_shape") && (type.isBlock() || type.isDescriptor())) return shapeTuple(type.shape());
  if (name == "get_block_shapes" && type.isBlock()) return constantMethod(name, shapeTuple(type.shape()));
  if (name == "with_element_ty" && !type.isDescriptor()) return withElementType(type);
  if (name == "numel" && type.isBlock()) return Value::integer(type.elements());
  if (name == "nbytes" && type.isBlock())
    return Value::integer(type.elements() * (type.element().isPointer() ? 8 : byteSize(type.scalar())));
  if (name == "address_space" && type.isPointer()) return Value::integer(type.addressSpace());
  if (name == "const" && type.isPointer()) return Value::boolean(type.isConst());
  if (name == "fp_mantissa_width" && isFloat(type.scalar())) return Value::integer(mantissaBits(type.scalar()));
  if (name == "exponent_bias" && isFloat(type.scalar())) return Value::integer(exponentBias(type.scalar()));
  if (name == "kind") return constantMethod(name, Value::integer(type.scalar() == Scalar::int1 ? 0 : isInteger(type.scalar()) ? 1 : 2));
  if (name == "get_int_max_value" || name == "get_int_min_value") {
    MaybeValue limit = integerLimit(type, name == "get_int_max_value");
    return limit ? MaybeValue(constantMethod(name, *limit)) : std::nullopt;
  }
  if (llvm::StringRef question = name; question.consume_front("is_"))
    if (std::optional<bool> answer = isOfKind(type, question)) return constantMethod(name, Value::boolean(*answer));
  return std::nullopt;
}

static std::vector<std::string> typeAttributeNames() {
  return {"name",
          "primitive_bitwidth",
          "itemsize",
          "scalar",
          "element_ty",
          "shape",
          "get_block_shapes",
          "with_element_ty",
          "numel",
          "nbytes",
          "is_floating",
          "is_int",
          "is_fp8",
          "is_ptr",
          "is_block",
          "is_int_signed",
          "is_int_unsigned",
          "is_bool",
          "is_fp16",
          "is_bf16",
          "is_fp32",
          "is_fp64",
          "is_standard_floating",
          "get_int_max_value",
          "get_int_min_value",
          "fp_mantissa_width",
          "exponent_bias"};
}

std::optional<bool> isThere(llvm::StringRef path) {
  std::string lower = path.substr(path.rfind('.') == llvm::StringRef::npos ? 0 : path.rfind('.') + 1).lower();
  llvm::StringRef name = llvm::StringRef(lower).ltrim('_');
  bool asks = name.starts_with("has_") || name.starts_with("have_") || name.ends_with("_available") || name == "is_cuda" ||
              name == "is_hip" || name == "is_rocm" || name == "is_xpu";
  if (!asks) return std::nullopt;
  constexpr llvm::StringLiteral others[] = {"hip", "rocm", "amd", "xpu", "npu", "mps", "musa", "tpu", "hpu", "mlu", "cpu"};
  return llvm::none_of(others, [&](llvm::StringRef other) { return name.contains(other); });
}

Value packageVersion(llvm::StringRef package, std::string description) {
  if (package == "triton") return Value::string(tritonVersion().text);
  if (std::optional<std::string> version = installedVersion(package)) return Value::string(std::move(*version));
  return package == "torch" ? Value::string(newestVersion.str()) : Value::host(std::move(description));
}

static Value optionalText(std::optional<std::string> text) {
  return text ? Value::string(std::move(*text)) : Value::none();
}

Value hostAttribute(const HostValue &object, llvm::StringRef name) {
  if (object.members)
    if (auto member = object.members->find(name); member != object.members->end()) return member->second;
  std::string path = object.description + "." + name.str();
  if (name == "__version__") return packageVersion(object.description, path);
  if (path.find('(') == std::string::npos && name.starts_with("HAS_"))
    if (std::optional<bool> there = isThere(path)) return Value::boolean(*there);
  if (path == "torch.version.hip" || path == "torch.version.xpu") return Value::none();
  if (path == "torch.version.cuda")
    return installedVersion("torch") ? optionalText(torchVersionMember("cuda")) : Value::string(newestVersion.str());
  return Value::host(std::move(path));
}

Value hostCall(const HostValue &callee) {
  const std::string &path = callee.description;
  if (path == "torch.cuda.is_available") return Value::boolean(true);
  if (path == "torch.xpu.is_available" || path == "torch.backends.mps.is_available") return Value::boolean(false);
  if (path == "torch.cuda.get_device_capability") return Value::tuple({Value::integer(9), Value::integer(0)});
  if (std::optional<bool> there = isThere(path)) return Value::boolean(*there);
  bool alreadyCall = llvm::StringRef(path).ends_with(")");
  return Value::host(alreadyCall ? path : path + "(...)");
}

std::optional<Value> evaluateAttribute(const Value &object, llvm::StringRef name, SourceRange range, Diagnostics &diagnostics) {
  std::vector<std::string> known;
  if (std::shared_ptr<Namespace> space = object.asNamespace()) {
    int64_t errors = errorCount(diagnostics);
    if (MaybeValue member = space->lookup(name, diagnostics)) return member;
    if (errorCount(diagnostics) != errors) return std::nullopt;
    known = space->names();
  } else if (const Type *type = object.asType()) {
    if (MaybeValue member = typeAttribute(*type, name)) return member;
    known = typeAttributeNames();
  } else if (const HostValue *host = object.asHost()) {
    return fail(diagnostics, range, Diag::hostValueUsed, {host->description + "." + name.str()});
  } else if (std::shared_ptr<const JitFunction> function = object.asFunction()) {
    if (name == "__name__") return Value::string(function->name);
    return name == "fn" ? object : Value::host("'" + function->name + "." + name.str() + "'");
  } else if (std::shared_ptr<const Callable> callable = object.asCallable()) {
    if (name == "__name__") return Value::string(callable->name());
    return Value::host("'" + callable->name() + "." + name.str() + "'");
  } else {
    if (const Sequence *sequence = object.asSequence())
      for (size_t i = 0; i < sequence->fieldNames.size(); ++i) {
        if (name == sequence->fieldNames[i]) return sequence->items[i];
        known.push_back(sequence->fieldNames[i]);
      }
    if (hasMethod(object, name))
      return nativeFunctionOfHost(name.str(), [object](const NativeCall &call) { return callMethod(object, call.name, call); });
    if (name == "value") // of a constexpr
      return object;
    if (name == "real" && object.toDouble()) return object;
    llvm::append_range(known, methodNames(object));
  }
  return failUnknown(diagnostics, range, Diag::unknownMember, {object.describe(), name.str()}, name, known);
}

} // namespace tilewright
