// Opens the driver. The errors before the first kernel are: the library is missing, it is a stub for linking, it is too old, or it does not
// start. Each has its own message, because the remedies differ.

#include "runtime/cuda/driver.h"

#include <cstdlib>
#include <dlfcn.h>

namespace tilewright::gpu {

// The first version with tensor maps, and the oldest that accepts code of a 12.x toolkit.
static constexpr int64_t oldestVersion = 12000;

std::string versionText(int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Driver::describe(DriverStatus status) const {
  const char *name = nullptr, *text = nullptr;
  errorName(status, &name);
  errorText(status, &text);
  if (!name) return "error " + std::to_string(status);
  return text ? std::string(name) + ": " + text : name;
}

std::unique_ptr<Driver> Driver::open(const std::string &path, Diagnostics &diagnostics) {
  auto missing = [&](const std::string &reason) {
    diagnostics.error({}, Diag::cudaMissing, {reason});
    return nullptr;
  };
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = ::dlerror();
    return missing(reason ? reason : path);
  }
  auto driver = std::make_unique<Driver>();
  const char *absent = nullptr;
#define CUDA_FUNCTION(name, symbol, parameters)                                                                                            \
  driver->name = reinterpret_cast<decltype(driver->name)>(::dlsym(library, symbol));                                                       \
  if (!driver->name && !absent) absent = symbol;
  TILEWRIGHT_CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
  // An old library also lacks some functions, but its age is the better message.
  int version = 0;
  if (driver->driverVersion) driver->driverVersion(&version);
  driver->version = version;
  if (version > 0 && version < oldestVersion) {
    diagnostics.error({}, Diag::cudaTooOld, {versionText(version), versionText(oldestVersion)});
    return nullptr;
  }
  if (absent) return missing(path + " has no function " + absent);
  DriverStatus state = driver->initialize(0);
  if (state == status::stubLibrary) return missing(path + " is only a stub for linking");
  // The caller reports which requested device is missing.
  if (state == status::success || state == status::noDevice) return driver;
  return missing(driver->describe(state));
}

const Driver *cudaDriver(Diagnostics &diagnostics) {
  struct Opened {
    std::unique_ptr<Driver> driver;
    Diagnostics diagnostics;
  };
  // Never destroyed: kernels may be released after main has ended.
  static const Opened *once = [] {
    auto *result = new Opened;
    const char *path = std::getenv("TILEWRIGHT_LIBCUDA");
    result->driver = Driver::open(path && *path ? path : "libcuda.so.1", result->diagnostics);
    return result;
  }();
  if (!once->driver) diagnostics.append(once->diagnostics);
  return once->driver.get();
}

} // namespace tilewright::gpu
