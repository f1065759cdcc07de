// The messages to the user. A diagnostic is a row of diagnostics.def plus a source location. Libraries collect them here and never print.
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

/// Return the row's name ("dotShapes"), its text with {0} {1} ... for the arguments, and its advice (may be empty).
std::string_view diagName(Diag id);
std::string_view diagText(Diag id);
std::string_view diagHint(Diag id);
/// Returns the row's text with its arguments filled in.
std::string diagMessage(Diag id, const std::vector<std::string> &args);

/// One finished message. It holds copies, so it outlives its source.
struct Diagnostic {
  Severity severity = Severity::error;
  Diag id{};
  std::string message;
  std::string hint;
  std::vector<std::string> args; // the values of {0} {1} ..., for callers that need more than the text
  std::string file;              // empty: no source location
  int64_t line = 0;
  int64_t column = 0;
  int64_t length = 0; // bytes to underline, at least 1, clipped to the line
  std::string lineText;
  std::vector<Diagnostic> notes;
};

/// Collects diagnostics. The caller of the library decides how to report them.
class Diagnostics {
public:
  /// Adds an error; the returned reference accepts notes. args[i] replaces {i} in the row's text and hint.
  Diagnostic &error(SourceRange range, Diag id, std::initializer_list<std::string> args = {});
  Diagnostic &error(SourceRange range, Diag id, const std::vector<std::string> &args);
  Diagnostic &warning(SourceRange range, Diag id, std::initializer_list<std::string> args = {});
  /// Makes a note for `Diagnostic::notes` ("called from here").
  static Diagnostic note(SourceRange range, std::string message);

  bool hasErrors() const { return errors != 0; }
  const std::vector<Diagnostic> &all() const { return records; }
  void clear();
  /// Appends copies of another object's records.
  void append(const Diagnostics &other);

  /// Renders all records in the form
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
