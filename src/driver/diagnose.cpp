#include "driver/diagnose.h"

#include "ir/refusal.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tilewright {

/// The innermost file location in a location.
static FileLineColLoc locationOf(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    if (auto inFile = dyn_cast<FileLineColLoc>(part)) {
      found = inFile;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

static SourceRange rangeOf(Location location, const SourceFile *source) {
  FileLineColLoc inFile = locationOf(location);
  if (!inFile || !source || inFile.getFilename().getValue() != source->name()) return {};
  std::string_view text = source->text();
  int64_t line = source->position(0).line;
  size_t offset = 0;
  while (line < int64_t(inFile.getLine()) && offset < text.size()) {
    size_t next = text.find('\n', offset);
    if (next == std::string_view::npos) return {};
    offset = next + 1;
    ++line;
  }
  offset = std::min(text.size(), offset + std::max<size_t>(1, inFile.getColumn()) - 1);
  return {source, uint32_t(offset), uint32_t(std::min(text.size(), offset + 1))};
}

/// "file.py:3:9: " for a location in another file than the source, which a caret cannot show.
static std::string foreignLocation(Location location) {
  FileLineColLoc inFile = locationOf(location);
  if (!inFile) return "";
  return inFile.getFilename().str() + ":" + std::to_string(inFile.getLine()) + ":" + std::to_string(inFile.getColumn()) + ": ";
}

DiagnosticForwarder::DiagnosticForwarder(MLIRContext &context, const SourceFile *source, std::string dump, Diagnostics &diagnostics)
    : source(source), dump(std::move(dump)), diagnostics(diagnostics), handler(&context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error) forward(diagnostic);
        return success();
      }) {}

void DiagnosticForwarder::enter(llvm::StringRef next) {
  step = next.str();
  checking = rejected = false;
}

void DiagnosticForwarder::bug(const std::string &what) {
  std::string again = dump.empty()
                          ? "--dump=DIR of 'tilewright compile' writes the input of each step, and --from " + step + " repeats this one"
                          : "the input of the step is the file before '" + step + "' in " + dump + "; --from " + step + " repeats the step";
  diagnostics.error({}, Diag::internalError, {step, what, again});
}

void DiagnosticForwarder::forward(mlir::Diagnostic &diagnostic) {
  SourceRange range = rangeOf(diagnostic.getLocation(), source);
  std::string location = range.file ? "" : foreignLocation(diagnostic.getLocation());
  std::optional<Refusal> refusal = refusalOf(diagnostic);
  if (checking || (refusal && refusal->id == Diag::internalError)) {
    if (rejected) return; // one bug can cause many errors
    rejected = true;
    return bug(refusal ? location + refusal->args[0] + " (at '" + refusal->args[1] + "')" : location + diagnostic.str());
  }
  // MLIR's drivers also report a pattern that has failed with an error; that adds no information.
  if (!refusal && rejected) return;
  rejected = rejected || refusal;
  tilewright::Diagnostic &error =
      refusal ? diagnostics.error(range, refusal->id, refusal->args) : diagnostics.error(range, Diag::invalidIr, {diagnostic.str()});
  if (!location.empty()) error.message = location + error.message;
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (SourceRange at = rangeOf(note.getLocation(), source); refusal && at.file) error.notes.push_back(Diagnostics::note(at, note.str()));
}

} // namespace tilewright
