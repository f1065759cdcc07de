// The element types of artifacts: how DLPack and messages name them.
#pragma once

#include "aot_runtime/bundle.h"

namespace tilewright::aot {

struct ElementInfo {
  const char *name;
  int bits;
  int dlpackCode; // -1: DLPack has no type for it
  bool isFloat;
};

inline ElementInfo infoOf(Element element) {
  constexpr ElementInfo info[] = {
#define ELEMENT(enumerator, name, signature, attribute, group, bits, mantissa, bias, dlpack, others) {name, bits, dlpack, mantissa > 0},
#include "evaluate/element_types.def"
      {"text", 0, -1, false}};
  return info[static_cast<size_t>(element)];
}

/// Bytes of an element in memory, where int1 takes one.
inline int64_t bytesOf(Element element) {
  return (infoOf(element).bits + 7) / 8;
}

} // namespace tilewright::aot
