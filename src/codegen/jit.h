// Loads object code into this process with LLVM's JIT linker. No files or other programs are involved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tilewright {

/// Owns the mapped code of one object.
class LoadedObject {
public:
  /// Links `object` (ELF bytes) against this process, libm and libmvec. On failure returns null and sets `error`.
  static std::shared_ptr<LoadedObject> load(const std::string &object, std::string &error);
  ~LoadedObject();
  /// Null if there is no such symbol.
  void *lookup(const std::string &symbol) const;
  /// The memory range of its code: [first, second).
  std::pair<uintptr_t, uintptr_t> codeRange() const;

private:
  LoadedObject();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
