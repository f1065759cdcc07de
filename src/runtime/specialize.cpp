// Converts arguments to the compiler's types and properties. The rules are Triton's: an int is i32 if it fits, else i64, else u64; a bool
// is i1; a float is fp32; None is a constant, and so is the integer 1. Integers that are multiples of 16, and pointers aligned to 16 bytes,
// are marked.
//
// A separate walk writes the key, and must distinguish exactly the same cases as `specialize`: each case below has its counterpart.

#include "runtime/argument.h"
#include "runtime/argument_payload.h"

#include <algorithm>
#include <limits>

namespace tilewright {

namespace {

/// The declared specialization of a parameter.
struct Declared {
  bool value = true;     // on 1 and on multiples of 16
  bool alignment = true; // on multiples of 16 only
  const Type *annotation = nullptr;
  bool isConst = false;
};

bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Declared declaredBy(const JitFunction &kernel, const JitFunction::Parameter &parameter) {
  Declared declared;
  // Both lists are empty for almost every kernel.
  if (!kernel.doNotSpecialize.empty() && contains(kernel.doNotSpecialize, parameter.name)) declared.value = declared.alignment = false;
  if (!kernel.doNotSpecializeOnAlignment.empty() && contains(kernel.doNotSpecializeOnAlignment, parameter.name)) declared.alignment = false;
  if (parameter.annotation) declared.annotation = &*parameter.annotation;
  declared.isConst = parameter.isConst;
  // Floats and bools have no such properties.
  if (declared.annotation && declared.annotation->isScalar() &&
      (isFloat(declared.annotation->scalar()) || declared.annotation->scalar() == Scalar::int1))
    declared.value = declared.alignment = false;
  return declared;
}

Scalar integerType(const Argument &argument) {
  if (argument.kind() == Argument::Kind::unsignedInteger) return Scalar::uint64;
  int64_t value = argument.asInteger();
  bool fits = value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  return fits ? Scalar::int32 : Scalar::int64;
}

bool isMultipleOf16(const Argument &argument, const Declared &declared) {
  bool isPointer = argument.kind() == Argument::Kind::pointer || argument.kind() == Argument::Kind::descriptor;
  uint64_t bits = isPointer ? reinterpret_cast<uint64_t>(argument.address()) : static_cast<uint64_t>(argument.asInteger());
  if (!declared.alignment || bits % 16 != 0) return false;
  if (argument.kind() != Argument::Kind::descriptor) return true;
  // All strides except the last, which is one element, and the length of rows, in bytes.
  int64_t bytes = std::max<int64_t>(1, bitWidth(argument.element()) / 8);
  if (!argument.shape().empty() && argument.shape().back() * bytes % 16 != 0) return false;
  return llvm::all_of(argument.strides().drop_back(), [&](int64_t stride) { return stride * bytes % 16 == 0; });
}

bool isFoldedOne(const Argument &argument, const Declared &declared) {
  return declared.value && !declared.annotation && argument.asInteger() == 1;
}

bool mismatch(const JitFunction::Parameter &parameter, const Argument &argument, const Declared &declared, Diagnostics &diagnostics) {
  diagnostics.error(parameter.range, Diag::argumentType, {parameter.name, declared.annotation->str(), argument.describe()});
  return false;
}

/// A function, type, builtin or other callable is part of the kernel; other constants are an error.
bool specializeConstant(const JitFunction::Parameter &parameter, const Argument &argument, ArgumentSpec &spec, Diagnostics &diagnostics) {
  std::optional<Value> value = argument.value();
  if (value->asFunction() || value->asType() || value->asBuiltin() || value->asCallable()) {
    spec.constant = std::move(value);
    return true;
  }
  diagnostics.error(parameter.range, Diag::unsupportedArgument, {parameter.name, argument.describe()});
  return false;
}

bool specializeOne(const JitFunction::Parameter &parameter, const Argument &argument, const Declared &declared, ArgumentSpec &spec,
                   Diagnostics &diagnostics) {
  const Type *annotation = declared.annotation;
  if (argument.isFixed()) {
    spec.constant = argument.value();
    return true;
  }
  switch (argument.kind()) {
  case Argument::Kind::none: spec.constant = Value::none(); return true;
  case Argument::Kind::boolean:
    if (annotation && !annotation->isScalar()) return mismatch(parameter, argument, declared, diagnostics);
    spec.type = annotation ? *annotation : Type(Scalar::int1);
    return true;
  case Argument::Kind::integer:
  case Argument::Kind::unsignedInteger:
    if (isFoldedOne(argument, declared)) {
      spec.constant = Value::integer(1);
      return true;
    }
    spec.type = annotation ? *annotation : Type(integerType(argument));
    if (isMultipleOf16(argument, declared)) spec.divisibility = 16;
    return true;
  case Argument::Kind::floating:
    if (annotation && !(annotation->isScalar() && isFloat(annotation->scalar())))
      return mismatch(parameter, argument, declared, diagnostics);
    spec.type = annotation ? *annotation : Type(Scalar::fp32);
    return true;
  case Argument::Kind::pointer:
    if (annotation && !annotation->isPointer()) return mismatch(parameter, argument, declared, diagnostics);
    spec.type = annotation ? *annotation : Type::pointer(Type(argument.element()), declared.isConst, 1);
    if (isMultipleOf16(argument, declared)) spec.divisibility = 16;
    return true;
  case Argument::Kind::descriptor:
    spec.type = Type::descriptor(Type(argument.element()), argument.blockShape(), argument.descriptorMode());
    if (isMultipleOf16(argument, declared)) spec.divisibility = 16;
    return true;
  case Argument::Kind::constant: return specializeConstant(parameter, argument, spec, diagnostics);
  case Argument::Kind::tuple: {
    if (argument.members().empty()) {
      spec.constant = Value::tuple({});
      return true;
    }
    spec.fieldNames = argument.fieldNames().vec();
    Declared ofMember = declared;
    ofMember.annotation = nullptr;
    for (const Argument &member : argument.members())
      if (!specializeOne(parameter, member, ofMember, spec.members.emplace_back(), diagnostics)) return false;
    return true;
  }
  case Argument::Kind::missing: break;
  }
  diagnostics.error(parameter.range, Diag::unsupportedArgument, {parameter.name, argument.describe()});
  return false;
}

} // namespace

std::optional<std::vector<ArgumentSpec>> specialize(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments,
                                                    Diagnostics &diagnostics) {
  std::vector<ArgumentSpec> specs(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const JitFunction::Parameter &parameter = kernel.parameters[i];
    if (parameter.isConstexpr) {
      specs[i].constant = arguments[i].value();
      if (specs[i].constant) continue;
      diagnostics.error(parameter.range, Diag::constexprArgument, {parameter.name, arguments[i].describe()});
      return std::nullopt;
    }
    if (!specializeOne(parameter, arguments[i], declaredBy(kernel, parameter), specs[i], diagnostics)) return std::nullopt;
  }
  return specs;
}

namespace {

/// True if an integer is in the range of a type; of a signless one if it is in the range of the signed or of the unsigned type.
bool isInRange(const Argument &argument, Scalar type, bool isSignless) {
  int64_t bits = bitWidth(type), value = argument.asInteger();
  bool isLarge = argument.kind() == Argument::Kind::unsignedInteger && value < 0; // 2^63 and more
  if (bits == 64) return isSignless || (isSigned(type) ? !isLarge : isLarge || value >= 0);
  bool takesSigns = isSignless || isSigned(type), takesTopBit = isSignless || !isSigned(type);
  int64_t low = takesSigns ? -(int64_t(1) << (bits - 1)) : 0, high = int64_t(1) << (takesTopBit ? bits : bits - 1);
  return !isLarge && value >= low && value < high;
}

/// Integers in the IR are signless, and a pointer may point to any type of the same width and kind.
bool isLike(const Argument &argument, const Type &declared) {
  if (declared.isPointer()) {
    if (!argument.isPointer()) return false;
    Scalar want = declared.scalar(), have = argument.element();
    return byteSize(want) == byteSize(have) && isFloat(want) == isFloat(have) && (!isFloat(want) || want == have || isFp8(want));
  }
  if (argument.kind() == Argument::Kind::floating) return isFloat(declared.scalar());
  if (!argument.isNumber()) return false;
  if (isFloat(declared.scalar())) return true;
  return isInRange(argument, declared.scalar(), /*isSignless=*/true);
}

/// Returns an argument for a message: an integer by its value, others by their type.
std::string describe(const Argument &argument) {
  if (argument.kind() == Argument::Kind::unsignedInteger) return std::to_string(static_cast<uint64_t>(argument.asInteger()));
  if (argument.kind() == Argument::Kind::integer) return std::to_string(argument.asInteger());
  return argument.describe();
}

/// True if no conversion to the declared type changes the argument. Host code has no types for some 8-bit floats and passes their bytes.
bool fitsExactly(const Argument &argument, const Type &declared) {
  Scalar want = declared.scalar();
  if (argument.isPointer()) {
    Scalar have = argument.element();
    if (want == have || !declared.isPointer()) return true; // specialize() refuses the latter
    return (isFp8(want) && !isFloat(have) && byteSize(have) == 1) || !declared.element().isScalar();
  }
  if (!argument.isNumber()) return true;
  if (!declared.isScalar()) return false;
  if (argument.kind() == Argument::Kind::integer && want == Scalar::int32) { // most numbers of launches
    int64_t value = argument.asInteger();
    return value == static_cast<int32_t>(value);
  }
  bool isInteger = argument.kind() != Argument::Kind::floating && !isFloat(want);
  return !isInteger || want == Scalar::int1 || isInRange(argument, want, /*isSignless=*/false);
}

} // namespace

bool fitsDeclarations(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) {
  for (auto [parameter, argument] : llvm::zip(kernel.parameters, arguments)) {
    if (!parameter.annotation || parameter.isConstexpr || argument.isFixed() || fitsExactly(argument, *parameter.annotation)) continue;
    diagnostics.error(parameter.range, Diag::argumentType, {parameter.name, parameter.annotation->str(), describe(argument)});
    return false;
  }
  return true;
}

static bool refuseArgument(llvm::StringRef name, const std::string &expected, const std::string &passed, const char *advice,
                           Diagnostics &diagnostics) {
  diagnostics.error({}, Diag::textArgument, {name.str(), expected, passed, advice});
  return false;
}

bool keepsMultiples(const JitFunction &face, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                    Diagnostics &diagnostics) {
  for (auto [parameter, spec, argument] : llvm::zip(face.parameters, specs, arguments)) {
    bool isAddress = argument.isPointer() || argument.kind() == Argument::Kind::descriptor;
    if (spec.constant || spec.divisibility <= 1 || !(isAddress || argument.isNumber())) continue;
    uint64_t bits = isAddress ? reinterpret_cast<uint64_t>(argument.address()) : static_cast<uint64_t>(argument.asInteger());
    if (bits % static_cast<uint64_t>(spec.divisibility) != 0)
      return refuseArgument(parameter.name, "is a multiple of " + std::to_string(spec.divisibility),
                            isAddress ? "a misaligned address" : std::to_string(argument.asInteger()),
                            "remove tt.divisibility from the IR, or pass a multiple", diagnostics);
  }
  return true;
}

bool fitsText(const IrKernel &kernel, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) {
  for (auto [parameter, spec, argument] : llvm::zip(kernel.face->parameters, kernel.specs, arguments))
    if (!isLike(argument, spec.type))
      return refuseArgument(parameter.name, "is " + signatureName(spec.type), describe(argument),
                            "IR text is compiled for its own types only", diagnostics);
  return keepsMultiples(*kernel.face, kernel.specs, arguments, diagnostics);
}

/// Appends the properties of arguments that distinguish specializations.
class KeyWriter {
public:
  explicit KeyWriter(SpecializationKey &key) : key(key) {}

  void constant(const Argument &argument) {
    key.push_back('c');
    key.push_back(static_cast<uint8_t>(argument.kind()));
    if (argument.isNumber()) return number(argument.bits);
    if (argument.kind() == Argument::Kind::tuple) return tuple(argument, [&](const Argument &member) { constant(member); });
    if (argument.kind() == Argument::Kind::constant) object(argument.payload->constant);
  }

  void runTime(const Argument &argument, const Declared &declared) {
    if (argument.isFixed()) return constant(argument);
    switch (argument.kind()) {
    case Argument::Kind::integer:
    case Argument::Kind::unsignedInteger:
      key.push_back(isFoldedOne(argument, declared) ? uint8_t('1') : static_cast<uint8_t>(integerType(argument)));
      key.push_back(isMultipleOf16(argument, declared));
      return;
    case Argument::Kind::boolean: key.push_back('b'); return;
    case Argument::Kind::floating: key.push_back('f'); return;
    case Argument::Kind::pointer:
      key.push_back('p');
      key.push_back(static_cast<uint8_t>(argument.element()));
      key.push_back(isMultipleOf16(argument, declared));
      return;
    case Argument::Kind::descriptor:
      key.push_back('d');
      key.push_back(static_cast<uint8_t>(argument.element()));
      key.push_back(isMultipleOf16(argument, declared));
      key.push_back(static_cast<uint8_t>(argument.blockShape().size()));
      for (int64_t extent : argument.blockShape())
        number(static_cast<uint64_t>(extent));
      key.push_back(argument.descriptorMode().padsWithNan);
      key.push_back(argument.descriptorMode().roundsToTf32);
      return;
    case Argument::Kind::tuple: {
      Declared ofMember = declared;
      ofMember.annotation = nullptr;
      return tuple(argument, [&](const Argument &member) { runTime(member, ofMember); });
    }
    case Argument::Kind::none:
    case Argument::Kind::constant:
    case Argument::Kind::missing: constant(argument); return;
    }
  }

private:
  void number(uint64_t bits) {
    auto *bytes = reinterpret_cast<const uint8_t *>(&bits);
    key.append(bytes, bytes + sizeof(bits));
  }

  // Functions are compared by identity (two may have one name), all other values by their text.
  void object(const Value &value) {
    if (std::shared_ptr<const JitFunction> function = value.asFunction()) {
      key.push_back('F');
      return number(reinterpret_cast<uint64_t>(function.get()));
    }
    if (std::shared_ptr<const Callable> callable = value.asCallable()) {
      key.push_back('C');
      return number(reinterpret_cast<uint64_t>(callable.get()));
    }
    if (const Sequence *sequence = value.asSequence()) {
      key.push_back('(');
      number(sequence->items.size());
      for (const Value &item : sequence->items)
        object(item);
      for (const std::string &name : sequence->fieldNames)
        text(name);
      return;
    }
    key.push_back('r');
    text(value.repr());
  }

  void text(const std::string &text) {
    number(text.size());
    key.append(text.begin(), text.end());
  }

  template <typename F> void tuple(const Argument &argument, F &&member) {
    key.push_back('(');
    number(argument.members().size());
    for (const Argument &item : argument.members())
      member(item);
    for (const std::string &name : argument.payload->fieldNames)
      text(name);
  }

  SpecializationKey &key;
};

void appendSpecializationKey(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, SpecializationKey &key) {
  KeyWriter writer(key);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const JitFunction::Parameter &parameter = kernel.parameters[i];
    if (parameter.isConstexpr)
      writer.constant(arguments[i]);
    else
      writer.runTime(arguments[i], declaredBy(kernel, parameter));
  }
}

static std::string scalarWord(Scalar scalar) {
  switch (scalar) {
  case Scalar::int1: return "i1";
  case Scalar::int8: return "i8";
  case Scalar::int16: return "i16";
  case Scalar::int32: return "i32";
  case Scalar::int64: return "i64";
  case Scalar::uint8: return "u8";
  case Scalar::uint16: return "u16";
  case Scalar::uint32: return "u32";
  case Scalar::uint64: return "u64";
  default: return scalarName(scalar).str();
  }
}

static std::string typeWord(const Type &type) {
  if (type.isPointer()) return (type.isConst() ? "*k" : "*") + typeWord(type.element());
  if (type.isDescriptor()) return signatureName(type);
  return type.isScalar() ? scalarWord(type.scalar()) : type.str();
}

static std::string specWord(const ArgumentSpec &spec) {
  if (!spec.members.empty()) {
    std::string text = "(";
    for (const ArgumentSpec &member : spec.members)
      text += specWord(member) + ", ";
    text.resize(text.size() - 2);
    return text + (spec.members.size() == 1 ? ",)" : ")");
  }
  if (spec.constant) return spec.constant->repr();
  return typeWord(spec.type) + (spec.divisibility > 1 ? ":" + std::to_string(spec.divisibility) : "");
}

std::string signatureText(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> specs) {
  std::string text;
  for (size_t i = 0; i < specs.size(); ++i)
    text += (i ? ", " : "") + kernel.parameters[i].name + "=" + specWord(specs[i]);
  return text;
}

} // namespace tilewright
