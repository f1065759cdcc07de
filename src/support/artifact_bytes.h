// Artifacts as bytes: their fields in order, texts and lists after their lengths. Numbers take eight bytes, the lowest first. The cache on
// disk and the artifacts of `tilewright build` use this form.
#pragma once

#include "support/artifact.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

void appendNumber(std::string &bytes, uint64_t number);
uint64_t numberAt(std::string_view bytes, size_t offset);

class ArtifactWriter {
public:
  std::string bytes;
  void number(int64_t number) { appendNumber(bytes, static_cast<uint64_t>(number)); }
  void text(std::string_view text) {
    number(static_cast<int64_t>(text.size()));
    bytes += text;
  }
  void expr(const gpu::HostExpr &expr) {
    list(expr.terms, [&](const gpu::HostExpr::Term &term) {
      number(term.coefficient);
      list(term.slots, [&](int64_t slot) { number(slot); });
    });
  }
  template <typename T, typename F> void list(const std::vector<T> &items, F write) {
    number(static_cast<int64_t>(items.size()));
    for (auto &&item : items)
      write(item);
  }
  void slots(const std::vector<SlotKind> &kinds, const std::vector<bool> &writes) {
    list(kinds, [&](SlotKind kind) { number(static_cast<int64_t>(kind)); });
    list(writes, [&](bool isWritten) { number(isWritten); });
  }
  void guards(const std::vector<LaunchGuard> &guards) {
    list(guards, [&](const LaunchGuard &guard) {
      text(guard.name);
      list(numbersOf(guard), [&](int64_t each) { number(each); });
    });
  }
};

/// Reads the output of ArtifactWriter. After the first error all results are empty, and `ok` is false.
class ArtifactReader {
public:
  explicit ArtifactReader(std::string_view bytes) : bytes(bytes) {}
  bool ok = true;
  bool atEnd() const { return position == bytes.size(); }
  int64_t number() {
    if (!ok || bytes.size() - position < 8) return fail();
    position += 8;
    return static_cast<int64_t>(numberAt(bytes, position - 8));
  }
  int64_t number(int64_t min, int64_t max) {
    int64_t read = number();
    return read < min || read > max ? fail() : read;
  }
  std::string text() {
    size_t size = static_cast<size_t>(length());
    position += size;
    return std::string(bytes.substr(position - size, size));
  }
  /// Reads a count of items of at least one byte each. The limit stops damaged bytes from requesting too much memory.
  int64_t length() { return number(0, static_cast<int64_t>(bytes.size() - std::min(bytes.size(), position + 8))); }
  template <typename T, typename F> void list(std::vector<T> &items, F read) {
    for (int64_t count = length(); ok && count > 0; --count)
      items.push_back(read());
  }
  gpu::HostExpr expr(int64_t slotCount) {
    gpu::HostExpr expr;
    list(expr.terms, [&] {
      gpu::HostExpr::Term term;
      term.coefficient = number();
      list(term.slots, [&] { return number(0, slotCount - 1); });
      return term;
    });
    return expr;
  }

  void slots(std::vector<SlotKind> &kinds, std::vector<bool> &writes) {
    list(kinds, [&] { return static_cast<SlotKind>(number(0, static_cast<int64_t>(SlotKind::f64))); });
    list(writes, [&] { return number(0, 1) != 0; });
  }
  void guards(std::vector<LaunchGuard> &guards, int64_t slotCount) {
    list(guards, [&] {
      std::string name = text();
      std::vector<int64_t> numbers;
      list(numbers, [&] { return number(); });
      std::optional<LaunchGuard> guard = guardOf(std::move(name), numbers, slotCount);
      ok &= guard.has_value();
      return guard.value_or(LaunchGuard());
    });
  }

private:
  int64_t fail() {
    ok = false;
    return 0;
  }
  std::string_view bytes;
  size_t position = 0;
};

/// An artifact as bytes, and back. Null if the bytes are not an artifact.
std::string encodeArtifact(const GpuArtifact &artifact);
std::optional<GpuArtifact> decodeGpuArtifact(std::string_view bytes);

} // namespace tilewright
