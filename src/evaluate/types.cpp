// The language's types and their many spellings. One table holds everything about each scalar type; the functions read it.
#include "evaluate/types.h"

#include "evaluate/pointer_depth.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright {

namespace {

enum class ScalarGroup : uint8_t { none, boolean, signedInt, unsignedInt, fp8, floating };

struct ScalarRow {
  llvm::StringLiteral name, signature, attribute;
  ScalarGroup group;
  int64_t bits, mantissa, bias, dlpack;
  llvm::StringLiteral others;
};

// In the order of enum Scalar.
constexpr ScalarRow scalarRows[] = {
#define ELEMENT(enumerator, name, signature, attribute, group, bits, mantissa, bias, dlpack, others)                                       \
  {name, signature, attribute, ScalarGroup::group, bits, mantissa, bias, dlpack, others},
#include "evaluate/element_types.def"
};

const ScalarRow &row(Scalar scalar) {
  return scalarRows[static_cast<size_t>(scalar)];
}

/// True if `word` is one of the row's other spellings.
bool isAlias(const ScalarRow &scalar, llvm::StringRef word) {
  llvm::SmallVector<llvm::StringRef> words;
  scalar.others.split(words, ' ', -1, false);
  return llvm::is_contained(words, word);
}

std::string joinDims(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ",") + std::to_string(dim);
  return text;
}

} // namespace

Type Type::pointer(Type element, bool isConst, int64_t addressSpace) {
  Type type;
  type.typeKind = Kind::pointer;
  type.constPointee = isConst;
  type.space = addressSpace;
  type.inner = std::make_shared<const Type>(std::move(element));
  return type;
}

Type Type::block(Type element, llvm::ArrayRef<int64_t> shape) {
  Type type;
  type.typeKind = Kind::block;
  type.inner = std::make_shared<const Type>(std::move(element));
  type.dims.assign(shape.begin(), shape.end());
  return type;
}

Type Type::descriptor(Type element, llvm::ArrayRef<int64_t> blockShape, DescriptorMode mode) {
  Type type = block(std::move(element), blockShape);
  type.mode = mode;
  type.typeKind = Kind::descriptor;
  return type;
}

Type Type::ofConstant(const std::string &repr) {
  Type type;
  type.typeKind = Kind::constant;
  type.text = std::make_shared<const std::string>("constexpr_type[" + repr + "]");
  return type;
}

Type Type::ofTuple(llvm::ArrayRef<std::string> itemTypes) {
  Type type;
  type.typeKind = Kind::tuple;
  type.text = std::make_shared<const std::string>("[" + llvm::join(itemTypes, ",") + "]");
  return type;
}

Scalar Type::scalar() const {
  return inner ? inner->scalar() : scalarKind;
}

Type Type::element() const {
  return inner ? *inner : *this;
}

int64_t Type::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

Type Type::withElement(Type element) const {
  if (isBlock()) return block(std::move(element), dims);
  if (isDescriptor()) return descriptor(std::move(element), dims, mode);
  return element;
}

bool Type::operator==(const Type &other) const {
  if (typeKind != other.typeKind) return false;
  if (isScalar()) return scalarKind == other.scalarKind;
  if (text) return *text == *other.text;
  return constPointee == other.constPointee && space == other.space && mode == other.mode && dims == other.dims && *inner == *other.inner;
}

// Returns the words that follow the block's shape in a signature.
static std::string modeWords(DescriptorMode mode) {
  return (mode.padsWithNan ? std::string(" nan") : std::string()) + (mode.roundsToTf32 ? " tf32" : "");
}

std::string Type::str() const {
  switch (typeKind) {
  case Kind::scalar: return row(scalarKind).name.str();
  case Kind::pointer: return (constPointee ? "const_pointer<" : "pointer<") + inner->str() + ">";
  case Kind::block:
  case Kind::descriptor: {
    std::string text;
    for (int64_t dim : dims)
      text += (text.empty() ? "'" : ", '") + std::to_string(dim) + "'";
    text = "<[" + text + "], " + inner->str() + ">";
    return isBlock() ? text : "tensor_descriptor<" + text + modeWords(mode) + ">";
  }
  case Kind::constant:
  case Kind::tuple: return *text;
  }
  return {};
}

bool isFloat(Scalar scalar) {
  return row(scalar).group == ScalarGroup::floating || row(scalar).group == ScalarGroup::fp8;
}

bool isInteger(Scalar scalar) {
  ScalarGroup group = row(scalar).group;
  return group == ScalarGroup::boolean || group == ScalarGroup::signedInt || group == ScalarGroup::unsignedInt;
}

bool isSigned(Scalar scalar) {
  return row(scalar).group == ScalarGroup::signedInt;
}

bool isFp8(Scalar scalar) {
  return row(scalar).group == ScalarGroup::fp8;
}

int64_t bitWidth(Scalar scalar) {
  return row(scalar).bits;
}

int64_t byteSize(Scalar scalar) {
  return (row(scalar).bits + 7) / 8;
}

int64_t mantissaBits(Scalar scalar) {
  return row(scalar).mantissa;
}

int64_t exponentBias(Scalar scalar) {
  return row(scalar).bias;
}

std::optional<Scalar> dlpackScalar(int64_t code, int64_t bits) {
  for (auto [index, scalar] : llvm::enumerate(scalarRows))
    if (scalar.dlpack == code && (scalar.bits + 7) / 8 * 8 == bits) return static_cast<Scalar>(index);
  return std::nullopt;
}

llvm::StringRef scalarName(Scalar scalar) {
  return row(scalar).name;
}

static DescriptorMode takeModeWords(llvm::StringRef &text) {
  DescriptorMode mode;
  mode.roundsToTf32 = text.consume_back(" tf32");
  mode.padsWithNan = text.consume_back(" nan");
  return mode;
}

std::string signatureName(const Type &type) {
  switch (type.kind()) {
  case Type::Kind::scalar: return row(type.scalar()).signature.str();
  case Type::Kind::pointer: return (type.isConst() ? "*k" : "*") + signatureName(type.element());
  case Type::Kind::block: return "tensor<" + signatureName(type.element()) + "[" + joinDims(type.shape()) + "]>";
  case Type::Kind::descriptor:
    return "tensordesc<" + signatureName(type.element()) + "[" + joinDims(type.shape()) + "]" + modeWords(type.descriptorMode()) + ">";
  case Type::Kind::constant:
  case Type::Kind::tuple: return type.str();
  }
  return {};
}

std::optional<Type> languageType(llvm::StringRef name) {
  for (auto [index, scalar] : llvm::enumerate(scalarRows))
    if (name == scalar.attribute) return Type(static_cast<Scalar>(index));
  if (name == "pi32_t") return Type::pointer(Scalar::int32, false, 1);
  return std::nullopt;
}

std::vector<std::string> languageTypeNames() {
  std::vector<std::string> names;
  for (const ScalarRow &scalar : scalarRows)
    names.push_back(scalar.attribute.str());
  return names;
}

std::optional<Type> parseTypeName(llvm::StringRef text) {
  text = text.trim();
  if (text.size() - text.ltrim("*k ").size() > 3 * size_t(maxPointerDepth)) return std::nullopt; // each level is a call
  if (text.consume_front("*")) {
    // `*k` promises that nothing is stored through the pointer; no scalar's word begins with k.
    bool isConst = text.consume_front("k");
    std::optional<Type> element = parseTypeName(text);
    if (!element || element->isBlock() || element->isDescriptor() || pointerDepth(*element) >= maxPointerDepth) return std::nullopt;
    return Type::pointer(*element, isConst, 1);
  }
  if (text.consume_front("tensordesc<")) {
    if (!text.consume_back(">")) return std::nullopt;
    DescriptorMode mode = takeModeWords(text);
    auto [element, rest] = text.split('[');
    std::optional<Type> elementType = parseTypeName(element);
    if (!elementType || !elementType->isScalar() || !rest.consume_back("]")) return std::nullopt;
    llvm::SmallVector<llvm::StringRef> words;
    rest.split(words, ',');
    std::vector<int64_t> dims;
    for (llvm::StringRef word : words) {
      int64_t dim = 0;
      if (word.trim().getAsInteger(10, dim) || dim <= 0) return std::nullopt;
      dims.push_back(dim);
    }
    return Type::descriptor(*elementType, dims, mode);
  }
  for (auto [index, scalar] : llvm::enumerate(scalarRows))
    if (text == scalar.name || text == scalar.signature || text == scalar.attribute || isAlias(scalar, text))
      return Type(static_cast<Scalar>(index));
  return std::nullopt;
}

} // namespace tilewright
