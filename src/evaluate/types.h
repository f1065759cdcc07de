// The language's types. Signedness lives here only: the IR's integers have none.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

enum class Scalar : uint8_t {
#define ELEMENT(enumerator, ...) enumerator,
#include "evaluate/element_types.def"
};

/// The changes that a descriptor's loads make to values in memory. Descriptors that the host creates have this in their type.
struct DescriptorMode {
  bool padsWithNan = false;  // outside of the tensor, instead of zeros
  bool roundsToTf32 = false; // numbers of fp32 to the nearest of tf32, halves to even
  bool operator==(const DescriptorMode &other) const { return padsWithNan == other.padsWithNan && roundsToTf32 == other.roundsToTf32; }
};

/// A type of the language, immutable and cheap to copy: a scalar, a pointer to a type, a block of a scalar or pointer, a tensor descriptor.
/// Constants and tuples have types that can only be compared: by their text.
class Type {
public:
  enum class Kind : uint8_t { scalar, pointer, block, descriptor, constant, tuple };

  Type() = default; // void
  Type(Scalar scalar) : scalarKind(scalar) {}
  static Type pointer(Type element, bool isConst, int64_t addressSpace);
  static Type block(Type element, llvm::ArrayRef<int64_t> shape);                                // element: scalar or pointer
  static Type descriptor(Type element, llvm::ArrayRef<int64_t> blockShape, DescriptorMode mode); // element: scalar

  static Type ofConstant(const std::string &repr);            // tl.constexpr_type(10): every constant has its own type
  static Type ofTuple(llvm::ArrayRef<std::string> itemTypes); // tl.tuple_type([tl.int32, tl.int32])

  Kind kind() const { return typeKind; }
  bool isScalar() const { return typeKind == Kind::scalar; }
  bool isPointer() const { return typeKind == Kind::pointer; }
  bool isBlock() const { return typeKind == Kind::block; }
  bool isDescriptor() const { return typeKind == Kind::descriptor; }
  bool isOfConstant() const { return typeKind == Kind::constant; }
  bool isOfTuple() const { return typeKind == Kind::tuple; }
  /// The scalar of a scalar type; for other types, the scalar of `element()`.
  Scalar scalar() const;
  /// The element of a block, the pointee of a pointer, itself for a scalar.
  Type element() const;
  /// `element()` of a block, else itself: upstream's `.scalar`.
  Type scalarType() const { return isBlock() ? element() : *this; }
  llvm::ArrayRef<int64_t> shape() const { return dims; } // empty for scalars and pointers
  int64_t elements() const;
  bool isConst() const { return constPointee; }
  int64_t addressSpace() const { return space; }
  DescriptorMode descriptorMode() const { return mode; }
  Type withElement(Type element) const; // the same shape (or a scalar) of another element

  bool operator==(const Type &other) const;
  bool operator!=(const Type &other) const { return !(*this == other); }

  /// As messages show it: "fp32", "pointer<fp32>", "<['64', '32'], fp32>" in upstream's way of writing.
  std::string str() const;

private:
  Kind typeKind = Kind::scalar;
  Scalar scalarKind = Scalar::void_;
  bool constPointee = false;
  int64_t space = 1;
  DescriptorMode mode; // of a descriptor
  std::shared_ptr<const Type> inner;
  std::vector<int64_t> dims;
  std::shared_ptr<const std::string> text; // of constant and tuple
};

bool isFloat(Scalar scalar);
bool isInteger(Scalar scalar); // bool included
bool isSigned(Scalar scalar);  // signed integers; int1 is not
bool isFp8(Scalar scalar);
int64_t bitWidth(Scalar scalar);     // of the value: an int1 has 1
int64_t byteSize(Scalar scalar);     // in memory: an int1 has 1
int64_t mantissaBits(Scalar scalar); // stored bits of the significand; 0 for other types
int64_t exponentBias(Scalar scalar); // 0 for other types
/// The element type with this DLPack type code and width, of one lane; nothing if the language has none.
std::optional<Scalar> dlpackScalar(int64_t code, int64_t bits);
/// "fp32", "int32", "uint8", "bf16", "fp8e4nv", ... as upstream's dtype.name.
llvm::StringRef scalarName(Scalar scalar);
/// Any word of element_types.def ("i32", "fp16", "bfloat16", "float8_e4m3fn"), `*T` for pointers (`*kT` for const ones),
/// `tensordesc<fp16[64,64]>` for descriptors.
std::optional<Type> parseTypeName(llvm::StringRef text);
/// A type in the notation of signatures and cache keys: "i32", "*fp32", "*kfp16", "tensordesc<fp16[64,64]>",
/// "tensordesc<fp32[64,64] nan tf32>". parseTypeName reads it back.
std::string signatureName(const Type &type);
/// The type that triton.language has under this attribute name ("float32", "uint8", "pi32_t"), if any, and all such names.
std::optional<Type> languageType(llvm::StringRef name);
std::vector<std::string> languageTypeNames();

} // namespace tilewright
