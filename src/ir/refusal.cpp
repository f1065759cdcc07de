#include "ir/refusal.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright {

/// Attaches the metadata: one array, which starts with the number of the row.
static void attach(mlir::Diagnostic &diagnostic, MLIRContext *context, Diag id, const std::vector<std::string> &args) {
  Builder b(context);
  SmallVector<Attribute> parts{b.getI64IntegerAttr(static_cast<int64_t>(id))};
  for (const std::string &arg : args)
    parts.push_back(b.getStringAttr(arg));
  diagnostic.getMetadata().push_back(DiagnosticArgument(Attribute(b.getArrayAttr(parts))));
}

InFlightDiagnostic refuse(Location at, Diag id, const std::vector<std::string> &args) {
  InFlightDiagnostic error = emitError(at, diagMessage(id, args));
  if (error.getUnderlyingDiagnostic()) attach(*error.getUnderlyingDiagnostic(), at.getContext(), id, args);
  return error;
}

InFlightDiagnostic refuse(Operation *op, Diag id, const std::vector<std::string> &args) {
  return refuse(op->getLoc(), id, args);
}

InFlightDiagnostic bug(Operation *op, const std::string &what) {
  std::string name = op->getName().getStringRef().str();
  InFlightDiagnostic error = emitError(op->getLoc(), "a bug of the compiler, at '" + name + "': " + what);
  if (error.getUnderlyingDiagnostic()) attach(*error.getUnderlyingDiagnostic(), op->getContext(), Diag::internalError, {what, name});
  return error;
}

std::optional<Refusal> refusalOf(mlir::Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata()) {
    if (argument.getKind() != DiagnosticArgument::DiagnosticArgumentKind::Attribute) continue;
    auto parts = dyn_cast<ArrayAttr>(argument.getAsAttribute());
    if (!parts || parts.empty()) continue;
    Refusal refusal{static_cast<Diag>(cast<IntegerAttr>(parts[0]).getInt()), {}};
    for (Attribute part : parts.getValue().drop_front())
      refusal.args.push_back(cast<StringAttr>(part).getValue().str());
    return refusal;
  }
  return std::nullopt;
}

std::string mlirText(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

} // namespace tilewright
