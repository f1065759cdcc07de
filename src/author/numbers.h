// The elements of tensors as numbers of the host, however their type holds them and whoever owns the memory.
#pragma once

#include "llvm/Support/JSON.h"

#include <cstddef>
#include <memory>
#include <string>

namespace tilewright::author {

enum class NumberKind : uint8_t { floating, signedInt, unsignedInt, boolean, complex };

/// Numbers back to back in the host's memory: floats as double, pairs of them as complex numbers, integers of 1, 2, 4 or 8 bytes.
struct Numbers {
  NumberKind kind = NumberKind::floating;
  size_t width = 8; // bytes of one
  const char *data = nullptr;
  size_t count = 0;
  std::shared_ptr<const void> owner; // of the memory; null where the caller holds it
};

/// One of them, of its own kind.
struct Number {
  NumberKind kind = NumberKind::floating;
  double real = 0, imaginary = 0;
  int64_t integer = 0; // of integers and booleans; an unsigned one by its bits

  /// As Python writes it: 0.1, nan, 12, True.
  std::string text() const;
  /// Null for what JSON has no number for; a complex number as text.
  void write(llvm::json::OStream &json) const;
  /// The nearest double; of a complex number the real part.
  double asDouble() const;
};

Number numberAt(const Numbers &numbers, size_t index);

/// The shortest text that reads back as this number, as Python writes it: 1.0, 1e-05, inf.
std::string shortest(double value);
/// The same in JSON, which has no infinities and no NaN: null.
void writeNumber(llvm::json::OStream &json, double value);
void writeNumber(llvm::json::OStream &json, llvm::StringRef name, double value); // as an attribute

} // namespace tilewright::author
