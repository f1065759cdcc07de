#include "cli/json_output.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace json = llvm::json;

namespace tilewright {

static struct {
  std::FILE *results = nullptr; // null without --json
  bool isPrinted = false;
  std::string error; // the first one
  json::Array diagnostics;
} output;

void beginJson() {
  std::fflush(stdout);
  int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  // If the standard output is closed, the write reports it.
  output = {own < 0 ? stdout : ::fdopen(own, "w"), false, {}, {}};
  if (own >= 0) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

void releaseOutput() {
  std::fflush(stdout);
  if (output.results && output.results != stdout) ::dup2(::fileno(output.results), STDOUT_FILENO);
}

static json::Value text(const std::string &bytes) {
  return json::fixUTF8(bytes);
}

static json::Object record(const Diagnostic &diagnostic) {
  constexpr const char *severities[] = {"error", "warning", "note"};
  json::Array notes;
  for (const Diagnostic &note : diagnostic.notes)
    notes.push_back(record(note));
  json::Object result{{"severity", severities[static_cast<size_t>(diagnostic.severity)]},
                      {"message", text(diagnostic.message)},
                      {"hint", text(diagnostic.hint)},
                      {"file", text(diagnostic.file)},
                      {"line", diagnostic.line},
                      {"column", diagnostic.column},
                      {"length", diagnostic.length},
                      {"text", text(diagnostic.lineText)},
                      {"notes", std::move(notes)}};
  if (diagnostic.severity != Severity::note) result["name"] = llvm::StringRef(diagName(diagnostic.id));
  return result;
}

void noteError(const std::string &message) {
  if (output.results && output.error.empty()) output.error = message;
}

void noteDiagnostics(const Diagnostics &diagnostics) {
  if (!output.results) return;
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    output.diagnostics.push_back(record(diagnostic));
    if (diagnostic.severity == Severity::error) noteError(diagnostic.message);
  }
}

void printJson(json::Value results) {
  if (json::Object *object = results.getAsObject(); object && !output.error.empty()) {
    (*object)["error"] = text(output.error);
    if (!output.diagnostics.empty()) (*object)["diagnostics"] = std::move(output.diagnostics);
  }
  if (output.results) std::fprintf(output.results, "%s\n", llvm::formatv("{0:2}", results).str().c_str());
  output.isPrinted = true;
}

bool endJson(int status) {
  if (!output.results) return true;
  if (!output.isPrinted && status != 0) printJson(json::Object{{"error", text(output.error)}});
  releaseOutput();
  std::FILE *results = std::exchange(output.results, nullptr);
  if (results == stdout) return true;
  bool isWritten = !std::ferror(results);
  return std::fclose(results) == 0 && isWritten;
}

} // namespace tilewright
