// A list that needs the heap only beyond N elements. Launches use it, also in the runtime library, which is built without LLVM.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace tilewright {

template <typename T, size_t N> class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  InlineVector() = default;
  explicit InlineVector(llvm::ArrayRef<T> items) { append(items); }

  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T *data() { return count <= N ? fixed.data() : heap.data(); }
  const T *data() const { return count <= N ? fixed.data() : heap.data(); }
  T *begin() { return data(); }
  T *end() { return data() + count; }
  const T *begin() const { return data(); }
  const T *end() const { return data() + count; }
  T &operator[](size_t index) { return data()[index]; }
  const T &operator[](size_t index) const { return data()[index]; }
  operator llvm::ArrayRef<T>() const { return {data(), count}; }
  operator llvm::MutableArrayRef<T>() { return {data(), count}; }

  void push_back(const T &item) {
    if (count < N) {
      fixed[count++] = item;
      return;
    }
    if (count == N) heap.assign(fixed.begin(), fixed.end());
    heap.push_back(item);
    ++count;
  }
  void append(llvm::ArrayRef<T> items) {
    for (const T &item : items)
      push_back(item);
  }
  /// Adds copies of `item`, or removes elements at the end.
  void resize(size_t size, const T &item) {
    while (count < size)
      push_back(item);
    if (size <= N && count > N) std::copy(heap.begin(), heap.begin() + static_cast<std::ptrdiff_t>(size), fixed.begin());
    if (size < count) heap.resize(size > N ? size : 0);
    count = size;
  }

private:
  size_t count = 0;
  std::array<T, N> fixed; // not initialized
  std::vector<T> heap;    // all elements, if there are more than N
};

} // namespace tilewright
