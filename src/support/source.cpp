#include "support/source.h"

#include <algorithm>

namespace tilewright {

std::shared_ptr<const SourceFile> SourceFile::create(std::string name, std::string text, int64_t firstLine) {
  return std::shared_ptr<const SourceFile>(new SourceFile(std::move(name), std::move(text), firstLine));
}

// A line ends as in Python: by "\n", "\r\n" or "\r".
SourceFile::SourceFile(std::string name, std::string text, int64_t firstLine)
    : fileName(std::move(name)), contents(std::move(text)), firstLine(firstLine) {
  lineStarts.push_back(0);
  size_t at = contents.find_first_of("\r\n");
  while (at != std::string::npos) {
    if (contents[at] == '\r' && at + 1 < contents.size() && contents[at + 1] == '\n') ++at;
    lineStarts.push_back(static_cast<uint32_t>(at + 1));
    at = contents.find_first_of("\r\n", at + 1);
  }
}

SourceFile::Position SourceFile::position(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  int64_t index = next - lineStarts.begin() - 1;
  return {firstLine + index, static_cast<int64_t>(offset) - lineStarts[index] + 1};
}

std::string_view SourceFile::lineText(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t begin = *(next - 1);
  size_t end = next == lineStarts.end() ? contents.size() : *next;
  while (end > begin && (contents[end - 1] == '\n' || contents[end - 1] == '\r'))
    --end;
  return std::string_view(contents).substr(begin, end - begin);
}

} // namespace tilewright
