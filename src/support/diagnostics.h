// Everything the user is told. A diagnostic is a row of diagnostics.def plus a place in the source; libraries collect them here and never
// print.
#pragma once

#include "support/source.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace tilewright {

enum class Severity { error, warning, note };

enum class Diag : uint16_t {
#define DIAG(name, text, hint) name,
#include "support/diagnostics.def"
#undef DIAG
};

/// The row's name ("dotShapes"), text with {0} {1} ... for its arguments, and advice (may be empty).
std::string_view diagName(Diag id);
std::string_view diagText(Diag id);
std::string_view diagHint(Diag id);
/// The row's text with its arguments filled in.
std::string diagMessage(Diag id, const std::vector<std::string> &args);

/// One finished message. Holds copies, so it outlives the source it is about.
struct Diagnostic {
  Severity severity = Severity::error;
  Diag id{};
  std::string message;
  std::string hint;
  std::vector<std::string> args; // what {0} {1} ... became, for callers that make more than text of them
  std::string file;              // empty: no place in a source
  int64_t line = 0;
  int64_t column = 0;
  int64_t length = 0; // bytes to underline, at least 1, clipped to the line
  std::string lineText;
  std::vector<Diagnostic> notes;
};

/// Collects diagnostics. The caller of the library decides what becomes of them.
class Diagnostics {
public:
  /// Adds an error; the returned reference takes notes. {i} in the row's text and hint is replaced by args[i].
  Diagnostic &error(SourceRange range, Diag id, std::initializer_list<std::string> args = {});
  Diagnostic &error(SourceRange range, Diag id, const std::vector<std::string> &args);
  Diagnostic &warning(SourceRange range, Diag id, std::initializer_list<std::string> args = {});
  /// A note to attach to `Diagnostic::notes` ("called from here").
  static Diagnostic note(SourceRange range, std::string message);

  bool hasErrors() const { return errors != 0; }
  const std::vector<Diagnostic> &all() const { return records; }
  void clear();
  /// Adds copies of another's records.
  void append(const Diagnostics &other);

  /// All records in the form
  ///   file.py:3:9: error: message
  ///       x = tl.zros((4,))
  ///           ^~~~~~~
  ///     help: hint
  std::string render() const;

private:
  Diagnostic &add(Severity severity, SourceRange range, Diag id, const std::vector<std::string> &args);
  std::vector<Diagnostic> records;
  int64_t errors = 0;
};

} // namespace tilewright
