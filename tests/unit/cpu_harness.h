// Test support for CPU code generation: builds a function from a few lines of emission code, compiles it for one CPU target and calls it.
#pragma once

#include "codegen/jit.h"
#include "codegen/lower.h"
#include "codegen/object.h"
#include "cpu/emit.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::cpu {

mlir::MLIRContext &testContext();

/// Returns the targets that this machine runs: sse2 and, if available, avx2 and avx512.
std::vector<CpuTarget> runnableTargets();

using Body = std::function<void(ImplicitLocOpBuilder &, ValueRange pointers)>;

/// Builds a module with one function `kernel` of `pointers` pointer arguments.
mlir::OwningOpRef<mlir::ModuleOp> buildModule(int64_t pointers, const Body &body);

/// A compiled function of up to four pointers; a compilation failure fails the test.
class Compiled {
public:
  Compiled(const CpuTarget &target, int64_t pointers, const Body &body);
  template <typename... Pointers> void operator()(Pointers *...pointers) const {
    reinterpret_cast<void (*)(Pointers *...)>(entry)(pointers...);
  }
  explicit operator bool() const { return entry != nullptr; }

private:
  std::shared_ptr<LoadedObject> object;
  void *entry = nullptr;
};

/// Storage for the tests: aligned as scratch is.
template <typename T> class Aligned {
public:
  explicit Aligned(int64_t count) : values(count + 64 / sizeof(T)), count(count) {
    first = reinterpret_cast<T *>((reinterpret_cast<uintptr_t>(values.data()) + 63) / 64 * 64);
  }
  T *data() { return first; }
  T &operator[](int64_t i) { return first[i]; }
  int64_t size() const { return count; }

private:
  std::vector<T> values;
  int64_t count;
  T *first;
};

} // namespace tilewright::cpu
