// Memory that other libraries export (DLPack, the buffer protocol), and what keeps it alive.
#pragma once

#include "core.h"

#include "support/result.h"

#include <vector>

namespace tilewright::python {

/// Objects that own memory which arguments point into: capsules, views, members that a property makes. Kept until a launch has ended. On a
/// GPU that is until the launch is in its stream: memory that is released then is reused in the order of the stream, as for all tensors.
using StoredObjects = std::vector<Shared>;

/// While it lives, what this thread's conversions of arguments must keep goes into `objects`.
class KeepScope {
public:
  explicit KeepScope(StoredObjects &objects);
  ~KeepScope();
  KeepScope(const KeepScope &) = delete;
  KeepScope &operator=(const KeepScope &) = delete;

private:
  StoredObjects *previous;
};

/// Keeps an object with the present KeepScope; without one it may go at once.
void keepObject(nb::handle object);

/// An array as its exporter describes it.
struct Exported {
  void *address = nullptr; // of the first element
  Scalar element = Scalar::int8;
  std::vector<int64_t> shape, strides; // strides in bytes
  int32_t deviceType = 1;              // DLPack's DLDeviceType: 1 is the CPU
  int32_t deviceId = 0;
  bool isReadOnly = false;
};

/// Reads an object with `__dlpack__` (versions 0 and 1), or a buffer, which is also the second choice of an object with both. The failure
/// says why the array cannot be taken. Raises what is no Exception.
Result<Exported> readExported(nb::handle object, bool hasDlpack);

} // namespace tilewright::python
