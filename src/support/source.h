// Source text and positions in it. Every later stage refers to them, so that an error can show its line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// One source text with its name. It is immutable and shared by all its positions.
class SourceFile {
public:
  /// `firstLine` is the line number of the first line of `text` (a function captured from the middle of a file keeps its numbers).
  static std::shared_ptr<const SourceFile> create(std::string name, std::string text, int64_t firstLine);

  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }

  struct Position {
    int64_t line;   // 1-based
    int64_t column; // 1-based, in bytes
  };
  Position position(uint32_t offset) const;
  /// Returns the text of the line at `offset`, without its line break.
  std::string_view lineText(uint32_t offset) const;

private:
  SourceFile(std::string name, std::string text, int64_t firstLine);
  std::string fileName;
  std::string contents;
  std::vector<uint32_t> lineStarts;
  int64_t firstLine;
};

/// A half-open range of bytes in one source file. `file` is null without a source (IR that was written by hand).
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;
};

} // namespace tilewright
