// Structs of the C interface that begin with their size. A caller that was compiled with an older header passes a smaller struct, one with
// a newer header a larger struct.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace tilewright::api {

constexpr size_t maxStructSize = 1 << 16; // a larger number is memory that was not initialized

/// Returns the reason why a struct of this size cannot be read, or an empty text.
inline std::string problemOfSize(const void *given, size_t size, size_t known, const char *name) {
  std::string type = name;
  if (size <= sizeof(size_t) || size > maxStructSize)
    return "the size of a " + type + " is " + std::to_string(size) + ": set it to sizeof(" + type + ")";
  const char *bytes = static_cast<const char *>(given);
  if (size > known && std::any_of(bytes + known, bytes + size, [](char byte) { return byte != 0; }))
    return "a " + type + " sets a field that this version of the library does not know";
  return "";
}

/// Copies a caller's struct. Missing fields become 0. Returns the reason why it cannot be read, or an empty text.
template <typename T> std::string readSized(const T *given, T &copy, const char *name) {
  size_t size = given->size;
  if (size != sizeof(T))
    if (std::string problem = problemOfSize(given, size, sizeof(T), name); !problem.empty()) return problem;
  if (size < sizeof(T)) copy = T{};
  std::memcpy(static_cast<void *>(&copy), given, std::min(size, sizeof(T)));
  copy.size = sizeof(T);
  return "";
}

/// Returns the caller's struct, or `copy`, which then holds it. Null, with a reason, if it cannot be read.
template <typename T> const T *viewSized(const T *given, T &copy, const char *name, std::string &problem) {
  if (given->size == sizeof(T)) return given;
  problem = readSized(given, copy, name);
  return problem.empty() ? &copy : nullptr;
}

/// Fills as much of a caller's struct as it has. False if its size is wrong.
template <typename T> bool writeSized(const T &made, T *result) {
  size_t size = result->size;
  if (size <= sizeof(size_t) || size > maxStructSize) return false;
  std::memcpy(static_cast<void *>(result), &made, std::min(size, sizeof(T)));
  result->size = size;
  return true;
}

/// Returns element `index` of a caller's array.
template <typename T> const T *elementOf(const T *array, size_t index) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(array) + index * array->size);
}

} // namespace tilewright::api
