// Renders messages for a terminal: the line of the source, and carets below the location.

#include "support/diagnostics.h"

#include "support/bounded_text.h"

#include "llvm/Support/Unicode.h"

#include <algorithm>

namespace tilewright {

// Returns the terminal cells of a part of a line. Bytes without a width of their own (broken UTF-8, control characters) count as one each.
static int64_t cells(std::string_view text) {
  int width = llvm::sys::unicode::columnWidthUTF8(llvm::StringRef(text));
  return width >= 0 ? width : static_cast<int64_t>(text.size());
}

// Returns blanks as wide as `text`. Tabs stay tabs, so the caret is right at any tab width.
static std::string blanks(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t tab = std::min(text.find('\t', at), text.size());
    result.append(static_cast<size_t>(cells(text.substr(at, tab - at))), ' ');
    if (tab < text.size()) result += '\t';
    at = tab + 1;
  }
  return result;
}

static std::string withoutControls(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return result;
}

static bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Renders the line and the carets. A line too long for a terminal is cut to the part around the location.
static void renderLine(const Diagnostic &diagnostic, std::string &out) {
  constexpr int64_t widest = 240, before = 80;
  std::string line = withoutControls(diagnostic.lineText);
  int64_t start = std::min<int64_t>(diagnostic.column - 1, static_cast<int64_t>(line.size()));
  int64_t length = diagnostic.length;
  if (static_cast<int64_t>(line.size()) > widest) {
    int64_t from = std::max<int64_t>(0, start - before);
    int64_t to = std::min<int64_t>(static_cast<int64_t>(line.size()), from + widest);
    while (from > 0 && isContinuation(line[from]))
      --from;
    while (to < static_cast<int64_t>(line.size()) && isContinuation(line[to]))
      ++to;
    length = std::max<int64_t>(1, std::min(length, to - start));
    std::string head = from > 0 ? "..." : "", tail = to < static_cast<int64_t>(line.size()) ? "..." : "";
    start = start - from + static_cast<int64_t>(head.size());
    line = head + line.substr(from, to - from) + tail;
  }
  std::string_view view = line;
  int64_t width = std::max<int64_t>(1, cells(view.substr(start, length)));
  out += line + "\n" + blanks(view.substr(0, start)) + "^" + std::string(static_cast<size_t>(width - 1), '~') + "\n";
}

static void renderOne(const Diagnostic &diagnostic, std::string &out) {
  constexpr std::string_view words[] = {"error", "warning", "note"};
  if (!diagnostic.file.empty())
    out += boundedText(diagnostic.file, maxMessageBytes) + ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) +
           ": ";
  out += words[static_cast<size_t>(diagnostic.severity)];
  out += ": " + boundedText(diagnostic.message, maxMessageBytes) + "\n";
  if (!diagnostic.file.empty() && !diagnostic.lineText.empty()) renderLine(diagnostic, out);
  if (!diagnostic.hint.empty()) out += "  help: " + boundedText(diagnostic.hint, maxMessageBytes) + "\n";
  for (const Diagnostic &note : diagnostic.notes)
    renderOne(note, out);
}

std::string Diagnostics::render() const {
  std::string out;
  for (const Diagnostic &diagnostic : records)
    if (diagnostic.id != Diag::staticPrint) renderOne(diagnostic, out); // output of the kernel is not a message about the kernel
  return out;
}

} // namespace tilewright
