#include "driver/diagnose.h"

#include "ir/refusal.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tilewright {

/// The innermost place in a file that a location knows.
static FileLineColLoc locationOf(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    if (auto place = dyn_cast<FileLineColLoc>(part)) {
      found = place;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

static SourceRange rangeOf(Location location, const SourceFile *source) {
  FileLineColLoc place = locationOf(location);
  if (!place || !source || place.getFilename().getValue() != source->name()) return {};
  std::string_view text = source->text();
  int64_t line = source->position(0).line;
  size_t offset = 0;
  while (line < int64_t(place.getLine()) && offset < text.size()) {
    size_t next = text.find('\n', offset);
    if (next == std::string_view::npos) return {};
    offset = next + 1;
    ++line;
  }
  offset = std::min(text.size(), offset + std::max<size_t>(1, place.getColumn()) - 1);
  return {source, uint32_t(offset), uint32_t(std::min(text.size(), offset + 1))};
}

/// "file.py:3:9: " for a place in another file than the source, which no caret can point into.
static std::string foreignLocation(Location location) {
  FileLineColLoc place = locationOf(location);
  if (!place) return "";
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
}

DiagnosticForwarder::DiagnosticForwarder(MLIRContext &context, const SourceFile *source, std::string dump, Diagnostics &diagnostics)
    : source(source), dump(std::move(dump)), diagnostics(diagnostics), handler(&context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error) forward(diagnostic);
        return success();
      }) {}

void DiagnosticForwarder::enter(llvm::StringRef next) {
  step = next.str();
  checking = refused = false;
}

void DiagnosticForwarder::bug(const std::string &what) {
  std::string again = dump.empty()
                          ? "--dump=DIR of 'tilewright compile' saves the input of the step, and --from " + step + " repeats it"
                          : "the file before '" + step + "' in " + dump + " is the input of the step, and --from " + step + " repeats it";
  diagnostics.error({}, Diag::internalError, {step, what, again});
}

void DiagnosticForwarder::forward(mlir::Diagnostic &diagnostic) {
  SourceRange range = rangeOf(diagnostic.getLocation(), source);
  std::string place = range.file ? "" : foreignLocation(diagnostic.getLocation());
  std::optional<Refusal> refusal = refusalOf(diagnostic);
  if (checking || (refusal && refusal->id == Diag::internalError)) {
    if (refused) return; // one bug has many consequences
    refused = true;
    return bug(refusal ? place + refusal->args[0] + " (at '" + refusal->args[1] + "')" : place + diagnostic.str());
  }
  // What MLIR's drivers say about a pattern that has refused adds nothing.
  if (!refusal && refused) return;
  refused = refused || refusal;
  tilewright::Diagnostic &error =
      refusal ? diagnostics.error(range, refusal->id, refusal->args) : diagnostics.error(range, Diag::invalidIr, {diagnostic.str()});
  if (!place.empty()) error.message = place + error.message;
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (SourceRange at = rangeOf(note.getLocation(), source); refusal && at.file) error.notes.push_back(Diagnostics::note(at, note.str()));
}

} // namespace tilewright
