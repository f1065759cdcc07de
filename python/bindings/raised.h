// Callbacks into Python from C++ that knows no exceptions.
#pragma once

#include "gil.h"

#include <exception>
#include <mutex>

namespace tilewright::python {

/// What a callback from C++ raised first, by whichever thread; the tuner is compiled without exceptions.
struct Raised {
  std::mutex lock;
  std::exception_ptr first;

  /// What `body` gives, with the GIL; `otherwise` where it raises.
  template <typename T, typename F> T call(T otherwise, F body) {
    WithGil gil;
    if (std::lock_guard<std::mutex> guard(lock); first) return otherwise; // the tuning ends
    try {
      return body();
    } catch (...) {
      std::lock_guard<std::mutex> guard(lock);
      if (!first) first = std::current_exception();
      return otherwise;
    }
  }
};

} // namespace tilewright::python
