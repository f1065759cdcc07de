// The elements of tensors as numbers of the host, independent of their type and of the owner of the memory.
#pragma once

#include "evaluate/types.h"

#include "llvm/Support/JSON.h"

#include <cstddef>
#include <memory>
#include <string>

namespace tilewright::author {

enum class NumberKind : uint8_t { floating, signedInt, unsignedInt, boolean, complex };

/// Contiguous numbers in the host's memory: floats as double, pairs of doubles as complex numbers, integers of 1, 2, 4 or 8 bytes.
struct Numbers {
  NumberKind kind = NumberKind::floating;
  size_t width = 8; // of one number
  const char *data = nullptr;
  size_t count = 0;
  std::shared_ptr<const void> owner; // of the memory; null if the caller owns it
};

/// Returns the elements of a tensor of this type from their contiguous bytes.
Numbers numbersOf(Scalar type, std::string bytes);

/// Returns the type's name in PyTorch: "float16", "bool", "float8_e5m2".
std::string typeName(Scalar type);

/// One number with its kind.
struct Number {
  NumberKind kind = NumberKind::floating;
  double real = 0, imaginary = 0;
  int64_t integer = 0; // for integers and booleans; the bits of an unsigned one

  /// Returns the number as Python prints it: 0.1, nan, 12, True.
  std::string text() const;
  /// Writes the number; null if JSON cannot represent it. A complex number is written as text.
  void write(llvm::json::OStream &json) const;
  /// Returns the nearest double; for a complex number the real part.
  double asDouble() const;
};

Number numberAt(const Numbers &numbers, size_t index);

/// Returns the shortest text that reads back as this number, as Python prints it: 1.0, 1e-05, inf.
std::string shortest(double value);
/// Writes the number to JSON, with null for infinities and NaN.
void writeNumber(llvm::json::OStream &json, double value);
void writeNumber(llvm::json::OStream &json, llvm::StringRef name, double value); // as an attribute

} // namespace tilewright::author
