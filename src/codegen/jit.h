// Object code -> code that can be called, in this process, by LLVM's JIT linker. No file, no assembler, no linker program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tilewright {

/// Keeps the code of one object mapped.
class LoadedObject {
public:
  /// Links `object` (ELF bytes) against this process, libm and libmvec. On failure returns null and sets `error`.
  static std::shared_ptr<LoadedObject> load(const std::string &object, std::string &error);
  ~LoadedObject();
  /// Null if there is no such symbol.
  void *lookup(const std::string &symbol) const;
  /// The memory that its code occupies: [first, second).
  std::pair<uintptr_t, uintptr_t> codeRange() const;

private:
  LoadedObject();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
