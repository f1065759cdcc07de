// How deeply pointers to pointers may be nested: what reads, prints and compares types calls itself for each level.
#pragma once

#include "evaluate/types.h"

namespace tilewright {

constexpr int64_t maxPointerDepth = 32;

inline int64_t pointerDepth(Type type) {
  int64_t depth = 0;
  for (; type.isPointer(); type = type.element())
    ++depth;
  return depth;
}

} // namespace tilewright
