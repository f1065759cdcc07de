// The language's types and their many spellings. One table holds what is known of each scalar; everything else is read off it.
#include "evaluate/types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright {

namespace {

enum class ScalarGroup : uint8_t { none, boolean, signedInt, unsignedInt, fp8, floating };

struct ScalarRow {
  llvm::StringLiteral name;      // upstream's dtype.name
  llvm::StringLiteral signature; // in signatures and cache keys
  llvm::StringLiteral attribute; // its name in triton.language
  ScalarGroup group;
  int64_t bits;
};

// In the order of enum Scalar.
constexpr ScalarRow scalarRows[] = {
    {"void", "void", "void", ScalarGroup::none, 0},
    {"int1", "i1", "int1", ScalarGroup::boolean, 1},
    {"int8", "i8", "int8", ScalarGroup::signedInt, 8},
    {"int16", "i16", "int16", ScalarGroup::signedInt, 16},
    {"int32", "i32", "int32", ScalarGroup::signedInt, 32},
    {"int64", "i64", "int64", ScalarGroup::signedInt, 64},
    {"uint8", "u8", "uint8", ScalarGroup::unsignedInt, 8},
    {"uint16", "u16", "uint16", ScalarGroup::unsignedInt, 16},
    {"uint32", "u32", "uint32", ScalarGroup::unsignedInt, 32},
    {"uint64", "u64", "uint64", ScalarGroup::unsignedInt, 64},
    {"fp8e5", "fp8e5", "float8e5", ScalarGroup::fp8, 8},
    {"fp8e5b16", "fp8e5b16", "float8e5b16", ScalarGroup::fp8, 8},
    {"fp8e4nv", "fp8e4nv", "float8e4nv", ScalarGroup::fp8, 8},
    {"fp8e4b8", "fp8e4b8", "float8e4b8", ScalarGroup::fp8, 8},
    {"fp8e4b15", "fp8e4b15", "float8e4b15", ScalarGroup::fp8, 8},
    {"fp16", "fp16", "float16", ScalarGroup::floating, 16},
    {"bf16", "bf16", "bfloat16", ScalarGroup::floating, 16},
    {"fp32", "fp32", "float32", ScalarGroup::floating, 32},
    {"fp64", "fp64", "float64", ScalarGroup::floating, 64},
};
static_assert(std::size(scalarRows) == static_cast<size_t>(Scalar::fp64) + 1);

const ScalarRow &row(Scalar scalar) {
  return scalarRows[static_cast<size_t>(scalar)];
}

// Words that mean a scalar in signatures but are no name of the language: PyTorch's, NumPy's and short ones.
constexpr std::pair<llvm::StringLiteral, Scalar> otherSpellings[] = {
    {"B", Scalar::int1},
    {"u1", Scalar::int1},
    {"bool", Scalar::int1},
    {"f16", Scalar::fp16},
    {"half", Scalar::fp16},
    {"f32", Scalar::fp32},
    {"float", Scalar::fp32},
    {"f64", Scalar::fp64},
    {"double", Scalar::fp64},
    {"float8_e4m3fn", Scalar::fp8e4nv},
    {"float8_e5m2", Scalar::fp8e5},
    {"float8_e4m3fnuz", Scalar::fp8e4b8},
    {"float8_e5m2fnuz", Scalar::fp8e5b16},
};

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

Type Type::descriptor(Type element, llvm::ArrayRef<int64_t> blockShape) {
  Type type = block(std::move(element), blockShape);
  type.typeKind = Kind::descriptor;
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
  if (isDescriptor()) return descriptor(std::move(element), dims);
  return element;
}

bool Type::operator==(const Type &other) const {
  if (typeKind != other.typeKind) return false;
  if (isScalar()) return scalarKind == other.scalarKind;
  return constPointee == other.constPointee && space == other.space && dims == other.dims && *inner == *other.inner;
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
    return isBlock() ? text : "tensor_descriptor<" + text + ">";
  }
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

llvm::StringRef scalarName(Scalar scalar) {
  return row(scalar).name;
}

std::string signatureName(const Type &type) {
  switch (type.kind()) {
  case Type::Kind::scalar: return row(type.scalar()).signature.str();
  case Type::Kind::pointer: return (type.isConst() ? "*k" : "*") + signatureName(type.element());
  case Type::Kind::block: return "tensor<" + signatureName(type.element()) + "[" + joinDims(type.shape()) + "]>";
  case Type::Kind::descriptor: return "tensordesc<" + signatureName(type.element()) + "[" + joinDims(type.shape()) + "]>";
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
  if (text.consume_front("*")) {
    // `*k` promises that nothing is stored through the pointer; no scalar's word begins with k.
    bool isConst = text.consume_front("k");
    std::optional<Type> element = parseTypeName(text);
    if (!element || element->isBlock() || element->isDescriptor()) return std::nullopt;
    return Type::pointer(*element, isConst, 1);
  }
  if (text.consume_front("tensordesc<")) {
    if (!text.consume_back(">")) return std::nullopt;
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
    return Type::descriptor(*elementType, dims);
  }
  for (auto [index, scalar] : llvm::enumerate(scalarRows))
    if (text == scalar.name || text == scalar.signature || text == scalar.attribute) return Type(static_cast<Scalar>(index));
  for (const auto &[word, scalar] : otherSpellings)
    if (text == word) return Type(scalar);
  return std::nullopt;
}

} // namespace tilewright
