// Errors of the C interface, and the guard that keeps exceptions inside the library. Free of LLVM: every library with this interface uses
// it.
#pragma once

#ifndef TILEWRIGHT_BUILDING
#define TILEWRIGHT_BUILDING
#endif
#include "tilewright/error.h"

#include <exception>
#include <new>
#include <string>

struct TwError {
  TwErrorCode code;
  std::string text;
};

namespace tilewright::api {

/// Stores an error in *error, unless `error` is null. Does not throw: without memory, it stores a constant error.
void setError(TwError **error, TwErrorCode code, std::string text) noexcept;

/// Stores the error of the exception that is being handled.
void setErrorOfException(TwError **error) noexcept;

/// Runs the body of a function of the C interface. If it throws, the function fails with an error, and returns `failed`.
template <typename R, typename F> R guarded(TwError **error, R failed, F body) noexcept {
  try {
    return body();
  } catch (...) {
    setErrorOfException(error);
    return failed;
  }
}

/// Calls a function of the caller. If it throws, returns `failed`, and `thrown` describes the exception.
template <typename R, typename F> R callCaller(F function, R failed, std::string &thrown) {
  try {
    return function();
  } catch (const std::exception &exception) {
    thrown = std::string("it throws an exception: ") + exception.what();
  } catch (...) {
    thrown = "it throws an exception";
  }
  return failed;
}

} // namespace tilewright::api
