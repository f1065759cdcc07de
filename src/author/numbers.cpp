#include "author/numbers.h"

#include "runtime/element.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace tilewright::author {

Numbers numbersOf(Scalar type, std::string bytes) {
  auto width = static_cast<size_t>(byteSize(type));
  size_t count = bytes.size() / width;
  if (!isFloat(type)) {
    auto kind = type == Scalar::int1 ? NumberKind::boolean : isSigned(type) ? NumberKind::signedInt : NumberKind::unsignedInt;
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    return {kind, width, owner->data(), count, owner};
  }
  auto owner = std::make_shared<std::vector<double>>(count + 1); // one more than `count`, so it is never null
  for (size_t i = 0; i < count; ++i)
    (*owner)[i] = loadElement(type, &bytes[i * width]);
  return {NumberKind::floating, sizeof(double), reinterpret_cast<const char *>(owner->data()), count, owner};
}

std::string typeName(Scalar type) {
  switch (type) {
  case Scalar::int1: return "bool";
  case Scalar::fp16: return "float16";
  case Scalar::bf16: return "bfloat16";
  case Scalar::fp32: return "float32";
  case Scalar::fp64: return "float64";
  case Scalar::fp8e5: return "float8_e5m2";
  case Scalar::fp8e4nv: return "float8_e4m3fn";
  case Scalar::fp8e5b16: return "float8_e5m2fnuz";
  case Scalar::fp8e4b8: return "float8_e4m3fnuz";
  default: return scalarName(type).str();
  }
}

template <typename T> static T loadAs(const void *p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
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
  constexpr int minPlain = -4, firstLong = 16; // as in Python
  if (exponent < minPlain || exponent >= firstLong) return scientific;
  std::string plain = write(std::chars_format::fixed);
  return plain.find('.') == std::string::npos ? plain + ".0" : plain;
}

void writeNumber(llvm::json::OStream &json, double value) {
  json.rawValue(std::isfinite(value) ? shortest(value) : "null");
}

void writeNumber(llvm::json::OStream &json, llvm::StringRef name, double value) {
  json.attributeBegin(name);
  writeNumber(json, value);
  json.attributeEnd();
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

void Number::write(llvm::json::OStream &json) const {
  switch (kind) {
  case NumberKind::floating: return writeNumber(json, real);
  case NumberKind::complex: return json.value(text());
  case NumberKind::boolean: return json.value(integer != 0);
  case NumberKind::signedInt: return json.value(integer);
  case NumberKind::unsignedInt: return json.value(static_cast<uint64_t>(integer));
  }
}

double Number::asDouble() const {
  if (kind == NumberKind::floating || kind == NumberKind::complex) return real;
  return kind == NumberKind::unsignedInt ? static_cast<double>(static_cast<uint64_t>(integer)) : static_cast<double>(integer);
}

} // namespace tilewright::author
