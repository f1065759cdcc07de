#include "runtime/element.h"

#include "support/half.h"

#include "llvm/ADT/APFloat.h"

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

} // namespace tilewright
