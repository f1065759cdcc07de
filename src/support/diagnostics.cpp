// Fills rows of diagnostics.def with arguments and source locations.

#include "support/diagnostics.h"

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

} // namespace tilewright
