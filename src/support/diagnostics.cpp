// Fills rows of diagnostics.def with arguments and source locations, and renders messages for a terminal.

#include "support/diagnostics.h"

#include "llvm/Support/Unicode.h"

#include <algorithm>

namespace tilewright {

namespace {
struct Row {
  std::string_view name, text, hint;
};
constexpr Row rows[] = {
#define DIAG(name, text, hint) {#name, text, hint},
#include "support/diagnostics.def"
#undef DIAG
};
} // namespace

std::string_view diagName(Diag id) {
  return rows[static_cast<size_t>(id)].name;
}
std::string_view diagText(Diag id) {
  return rows[static_cast<size_t>(id)].text;
}
std::string_view diagHint(Diag id) {
  return rows[static_cast<size_t>(id)].hint;
}

// Replaces {0} to {9}; a missing argument is empty.
static std::string fill(std::string_view text, const std::vector<std::string> &args) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isArgument = text[i] == '{' && i + 2 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' && text[i + 2] == '}';
    if (!isArgument) {
      result += text[i];
      continue;
    }
    size_t index = static_cast<size_t>(text[i + 1] - '0');
    if (index < args.size()) result += args[index];
    i += 2;
  }
  return result;
}

std::string diagMessage(Diag id, const std::vector<std::string> &args) {
  return fill(diagText(id), args);
}

static void setLocation(Diagnostic &diagnostic, SourceRange range) {
  if (!range.file) return;
  uint32_t size = static_cast<uint32_t>(range.file->text().size());
  uint32_t begin = std::min(range.begin, size);
  SourceFile::Position position = range.file->position(begin);
  diagnostic.file = range.file->name();
  diagnostic.line = position.line;
  diagnostic.column = position.column;
  diagnostic.lineText = std::string(range.file->lineText(begin));
  int64_t rest = static_cast<int64_t>(diagnostic.lineText.size()) - (position.column - 1);
  int64_t wanted = static_cast<int64_t>(std::max(range.end, begin)) - begin;
  diagnostic.length = std::max<int64_t>(1, std::min(wanted, rest));
}

Diagnostic &Diagnostics::add(Severity severity, SourceRange range, Diag id, const std::vector<std::string> &args) {
  Diagnostic &diagnostic = records.emplace_back();
  diagnostic.severity = severity;
  diagnostic.id = id;
  diagnostic.message = fill(diagText(id), args);
  diagnostic.hint = fill(diagHint(id), args);
  diagnostic.args = args;
  setLocation(diagnostic, range);
  return diagnostic;
}

Diagnostic &Diagnostics::error(SourceRange range, Diag id, std::initializer_list<std::string> args) {
  ++errors;
  return add(Severity::error, range, id, args);
}

Diagnostic &Diagnostics::error(SourceRange range, Diag id, const std::vector<std::string> &args) {
  ++errors;
  return add(Severity::error, range, id, args);
}

Diagnostic &Diagnostics::warning(SourceRange range, Diag id, std::initializer_list<std::string> args) {
  return add(Severity::warning, range, id, args);
}

Diagnostic Diagnostics::note(SourceRange range, std::string message) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::note;
  diagnostic.message = std::move(message);
  setLocation(diagnostic, range);
  return diagnostic;
}

void Diagnostics::clear() {
  records.clear();
  errors = 0;
}

void Diagnostics::append(const Diagnostics &other) {
  records.insert(records.end(), other.records.begin(), other.records.end());
  errors += other.errors;
}

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
    out += diagnostic.file + ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) + ": ";
  out += words[static_cast<size_t>(diagnostic.severity)];
  out += ": " + diagnostic.message + "\n";
  if (!diagnostic.file.empty() && !diagnostic.lineText.empty()) renderLine(diagnostic, out);
  if (!diagnostic.hint.empty()) out += "  help: " + diagnostic.hint + "\n";
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
