// Diagnostics as Python's exceptions and warnings.

#include "core.h"

#include <nanobind/stl/string.h>

#include <exception>
#include <utility>

namespace tilewright::python {

static nb::object asRecord(const Diagnostic &diagnostic) {
  nb::dict record;
  record["name"] = std::string(diagName(diagnostic.id));
  record["severity"] = diagnostic.severity == Severity::error ? "error" : diagnostic.severity == Severity::warning ? "warning" : "note";
  record["message"] = diagnostic.message;
  nb::list args;
  for (const std::string &argument : diagnostic.args)
    args.append(argument);
  record["args"] = args;
  record["hint"] = diagnostic.hint;
  record["file"] = diagnostic.file;
  record["line"] = diagnostic.line;
  record["column"] = diagnostic.column;
  record["length"] = diagnostic.length;
  record["text"] = diagnostic.lineText;
  nb::list notes;
  for (const Diagnostic &note : diagnostic.notes)
    notes.append(asRecord(note));
  record["notes"] = notes;
  return record;
}

// Errors about a call belong to the caller; the kernel's text is only a help then.
static PyObject *callError(Diag id) {
  switch (id) {
  case Diag::unknownArgument: return PyExc_KeyError;
  case Diag::launchOption: return packageObject("runtime.errors", "OptionError").ptr();
  case Diag::repeatedArgument:
  case Diag::missingArgument:
  case Diag::tooManyArguments:
  case Diag::argumentType:
  case Diag::unsupportedArgument:
  case Diag::constexprArgument: return PyExc_TypeError;
  case Diag::badGrid:
  case Diag::invalidOption:
  case Diag::noClusters:
  case Diag::textArgument:
  case Diag::badSignature:
  case Diag::readOnlyArgument:
  case Diag::broadcastArgument:
  case Diag::absentMemory: return PyExc_ValueError;
  case Diag::mixedDevices:
  case Diag::tensorMapRefused: return PyExc_ValueError;
  case Diag::deviceAssert:
  case Diag::cudaMissing:
  case Diag::cudaTooOld:
  case Diag::cudaNoDevice:
  case Diag::cudaUnsupported:
  case Diag::cudaFailed:
  case Diag::cudaFault:
  case Diag::smallStack:
  case Diag::slotMismatch: return PyExc_RuntimeError;
  case Diag::noArena: return PyExc_MemoryError;
  case Diag::fileNotFound: return PyExc_FileNotFoundError;
  default: return nullptr;
  }
}

static thread_local std::exception_ptr kept;

void noteRaised(const nb::python_error &error, SourceRange range, std::string text, Diagnostics &diagnostics) {
  if (!kept && !error.matches(PyExc_Exception)) kept = std::current_exception();
  diagnostics.error(range, Diag::raisedException, {std::move(text)});
}

void raiseKept() {
  if (kept) std::rethrow_exception(std::exchange(kept, nullptr));
}

void raiseErrors(const Diagnostics &diagnostics, const JitFunction *function) {
  raiseKept();
  const Diagnostic *first = nullptr;
  for (const Diagnostic &record : diagnostics.all())
    if (!first && record.severity == Severity::error) first = &record;
  if (!first) raise(PyExc_RuntimeError, "the compiler failed without saying why; please report this");
  if (first->id == Diag::outOfResources) {
    static constinit PackageMember type("runtime.errors", "OutOfResources");
    auto number = [&](size_t index) { return nb::int_(std::atoll(first->args[index].c_str())); };
    nb::object error = type(number(1), number(2), first->args[0]);
    PyErr_SetObject(type.ptr(), error.ptr());
    throw nb::python_error();
  }
  if (first->id == Diag::assemblerFailed) {
    static constinit PackageMember type("runtime.errors", "PTXASError");
    raise(type.ptr(), first->message);
  }
  if (first->id == Diag::interruptedLaunch) raiseInterrupt(first->message);
  if (PyObject *type = callError(first->id)) {
    std::string text = first->message;
    if (!first->hint.empty()) text += " (" + first->hint + ")";
    for (const Diagnostic &note : first->notes)
      text += "\n  note: " + note.message;
    raise(type, text);
  }
  static constinit PackageMember make("compiler.errors", "compilation_error");
  nb::list records;
  for (const Diagnostic &record : diagnostics.all())
    records.append(asRecord(record));
  std::string source;
  if (function && function->module) source = std::string(function->module->source->text());
  nb::object error = make(diagnostics.render(), records, source);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void showWarnings(const Diagnostics &diagnostics) {
  raiseKept();
  for (const Diagnostic &record : diagnostics.all()) {
    if (record.severity != Severity::warning) continue;
    if (record.id == Diag::staticPrint) { // not a warning, but output that the kernel's author asked for
      nb::print(nb::str(record.message.c_str()), nb::str(""));
      continue;
    }
    std::string text = record.message + (record.hint.empty() ? "" : " (" + record.hint + ")");
    if (!record.file.empty()) text = record.file + ":" + std::to_string(record.line) + ":" + std::to_string(record.column) + ": " + text;
    nb::module_::import_("tilewright._errors").attr("warn")(text); // raises where warnings are errors
  }
}

} // namespace tilewright::python
