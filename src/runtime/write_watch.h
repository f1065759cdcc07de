// Finds the program of a launch that wrote to an address. `tilewright verify` uses it to name the program that wrote a wrong element.
//
// While a thread watches some bytes, its launches on the CPU run their programs one after another on that thread. After each program
// they check whether the bytes have changed. The result is the last program that changed them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class WriteWatch {
public:
  struct Writer {
    std::string kernel;
    std::array<int64_t, 3> program{};
  };

  WriteWatch(const char *address, size_t bytes);
  /// Called after each program of a launch: `program` is its position in launch order.
  void check(std::string_view kernel, const int32_t grid[3], int64_t program);
  const std::optional<Writer> &lastWriter() const { return writer; }

private:
  const char *address;
  std::vector<char> before;
  std::optional<Writer> writer;
};

/// Returns this thread's watch; null: none.
WriteWatch *watchedWrites();
/// Sets this thread's watch; null ends it.
void watchWrites(std::optional<WriteWatch> watch);

} // namespace tilewright
