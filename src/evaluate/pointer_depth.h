// The maximum depth of pointers to pointers: functions that read, print and compare types recurse once per level.
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
