// A value, or the reason why there is none, for operations without a source location (files, devices).
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace tilewright {

struct Failure {
  std::string message; // without the name of the failed object, which the caller adds
};

/// Either a T or a Failure. Test it before you read the value.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state(std::in_place_index<1>, std::move(failure)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }
  /// Returns the error. Call it only for a failure.
  const std::string &error() const { return std::get_if<1>(&state)->message; }

private:
  std::variant<T, Failure> state;
};

/// Success, or the reason for the failure.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Failure failure) : failed(true), failure(std::move(failure)) {}

  explicit operator bool() const { return !failed; }
  const std::string &error() const { return failure.message; }

private:
  bool failed = false;
  Failure failure;
};

} // namespace tilewright
