// The rare parts of an Argument, stored out of line so that the common ones stay small.
#pragma once

#include "runtime/argument.h"

namespace tilewright {

struct Argument::Payload {
  Value constant;
  std::vector<Argument> members;
  std::vector<std::string> fieldNames;
  std::vector<int64_t> shape, strides, blockShape;
  DescriptorMode mode;
  std::optional<std::pair<int64_t, int64_t>> reach; // bytes before and after the address
};

} // namespace tilewright
