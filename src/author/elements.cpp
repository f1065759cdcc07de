#include "author/elements.h"

#include "support/half.h"

#include "llvm/ADT/APFloat.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace tilewright {

static const llvm::fltSemantics &fp8Semantics(Scalar scalar) {
  switch (scalar) {
  case Scalar::fp8e4nv: return llvm::APFloat::Float8E4M3FN();
  case Scalar::fp8e4b8: return llvm::APFloat::Float8E4M3FNUZ();
  case Scalar::fp8e5b16: return llvm::APFloat::Float8E5M2FNUZ();
  default: return llvm::APFloat::Float8E5M2();
  }
}

template <typename T> static T loadAs(const void *p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <typename T> static void storeAs(void *p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

double loadElement(Scalar type, const void *p) {
  switch (type) {
  case Scalar::int1:
  case Scalar::uint8: return loadAs<uint8_t>(p);
  case Scalar::int8: return loadAs<int8_t>(p);
  case Scalar::int16: return loadAs<int16_t>(p);
  case Scalar::uint16: return loadAs<uint16_t>(p);
  case Scalar::int32: return loadAs<int32_t>(p);
  case Scalar::uint32: return loadAs<uint32_t>(p);
  case Scalar::int64: return static_cast<double>(loadAs<int64_t>(p));
  case Scalar::uint64: return static_cast<double>(loadAs<uint64_t>(p));
  case Scalar::fp16: return halfValue(loadAs<uint16_t>(p));
  case Scalar::bf16: return bfloatValue(loadAs<uint16_t>(p));
  case Scalar::fp32: return loadAs<float>(p);
  case Scalar::fp64: return loadAs<double>(p);
  default: break;
  }
  llvm::APFloat number(fp8Semantics(type), llvm::APInt(8, loadAs<uint8_t>(p)));
  bool inexact = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

void storeElement(Scalar type, void *p, double value) {
  switch (type) {
  case Scalar::int1: return storeAs<uint8_t>(p, value != 0);
  case Scalar::uint8: return storeAs(p, static_cast<uint8_t>(static_cast<int64_t>(value)));
  case Scalar::int8: return storeAs(p, static_cast<int8_t>(static_cast<int64_t>(value)));
  case Scalar::int16: return storeAs(p, static_cast<int16_t>(static_cast<int64_t>(value)));
  case Scalar::uint16: return storeAs(p, static_cast<uint16_t>(static_cast<int64_t>(value)));
  case Scalar::int32: return storeAs(p, static_cast<int32_t>(static_cast<int64_t>(value)));
  case Scalar::uint32: return storeAs(p, static_cast<uint32_t>(static_cast<int64_t>(value)));
  case Scalar::int64: return storeAs(p, static_cast<int64_t>(value));
  case Scalar::uint64: return storeAs(p, static_cast<uint64_t>(value));
  case Scalar::fp16: return storeAs(p, halfBits(value));
  case Scalar::bf16: return storeAs(p, bfloatBits(value));
  case Scalar::fp32: return storeAs(p, static_cast<float>(value));
  case Scalar::fp64: return storeAs(p, value);
  default: break;
  }
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(fp8Semantics(type), llvm::APFloat::rmNearestTiesToEven, &inexact);
  storeAs(p, static_cast<uint8_t>(number.bitcastToAPInt().getZExtValue()));
}

namespace author {

static int64_t integerAt(const char *p, size_t width, bool isSigned) {
  switch (width) {
  case 1: return isSigned ? int64_t(loadAs<int8_t>(p)) : int64_t(loadAs<uint8_t>(p));
  case 2: return isSigned ? int64_t(loadAs<int16_t>(p)) : int64_t(loadAs<uint16_t>(p));
  case 4: return isSigned ? int64_t(loadAs<int32_t>(p)) : int64_t(loadAs<uint32_t>(p));
  default: return loadAs<int64_t>(p);
  }
}

Number numberAt(const Numbers &numbers, size_t index) {
  const char *p = numbers.data + index * numbers.width;
  switch (numbers.kind) {
  case NumberKind::floating: return {numbers.kind, loadAs<double>(p)};
  case NumberKind::complex: return {numbers.kind, loadAs<double>(p), loadAs<double>(p + sizeof(double))};
  default: return {numbers.kind, 0, 0, integerAt(p, numbers.width, numbers.kind == NumberKind::signedInt)};
  }
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[400];
  auto write = [&](std::chars_format form) { return std::string(text, std::to_chars(text, text + sizeof text, value, form).ptr); };
  std::string scientific = write(std::chars_format::scientific);
  int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  constexpr int leastPlain = -4, firstLong = 16; // Python's
  if (exponent < leastPlain || exponent >= firstLong) return scientific;
  std::string plain = write(std::chars_format::fixed);
  return plain.find('.') == std::string::npos ? plain + ".0" : plain;
}

llvm::json::Value finite(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

std::string Number::text() const {
  switch (kind) {
  case NumberKind::floating: return shortest(real);
  case NumberKind::complex: return "(" + shortest(real) + (std::signbit(imaginary) ? "" : "+") + shortest(imaginary) + "j)";
  case NumberKind::boolean: return integer ? "True" : "False";
  case NumberKind::signedInt: return std::to_string(integer);
  case NumberKind::unsignedInt: return std::to_string(static_cast<uint64_t>(integer));
  }
  return "";
}

llvm::json::Value Number::json() const {
  switch (kind) {
  case NumberKind::floating: return finite(real);
  case NumberKind::complex: return text();
  case NumberKind::boolean: return integer != 0;
  case NumberKind::signedInt: return integer;
  case NumberKind::unsignedInt: return static_cast<uint64_t>(integer);
  }
  return nullptr;
}

double Number::asDouble() const {
  if (kind == NumberKind::floating || kind == NumberKind::complex) return real;
  return kind == NumberKind::unsignedInt ? static_cast<double>(static_cast<uint64_t>(integer)) : static_cast<double>(integer);
}

} // namespace author
} // namespace tilewright
