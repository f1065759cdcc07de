// The parameters of a kernel, for programs that fill calls from data.
#include "api/handles.h"
#include "api/sized.h"

using namespace tilewright;
using namespace tilewright::api;

namespace {

/// The numbers of TwType and TwKind for a type.
struct TypeNumbers {
  TwKind kind = TW_NONE;
  TwType type = TW_I1;
};

std::optional<TwType> typeOf(Scalar scalar) {
  for (int type = TW_I1; type <= TW_F8E4; ++type)
    if (scalarOf(static_cast<TwType>(type)) == scalar) return static_cast<TwType>(type);
  return std::nullopt;
}

TypeNumbers typeNumbersOf(const Type &declared) {
  if (declared.isPointer()) return {TW_POINTER, typeOf(declared.element().scalar()).value_or(TW_I8)};
  std::optional<TwType> type = declared.isScalar() ? typeOf(declared.scalar()) : std::nullopt;
  if (!type) return {};
  if (*type == TW_I1) return {TW_BOOL, *type};
  return {isFloat(declared.scalar()) ? TW_FLOAT : *type >= TW_U8 && *type <= TW_U64 ? TW_UINT : TW_INT, *type};
}

bool isChosenByRules(const JitFunction &kernel, const std::string &name) {
  for (const auto &rule : kernel.heuristics)
    if (rule.first == name) return true;
  if (!kernel.autotune) return false;
  for (const Config &config : kernel.autotune->configs)
    for (const auto &argument : config.kwargs)
      if (argument.first == name) return true;
  return false;
}

} // namespace

void tilewright::api::describeParameters(const JitFunction &kernel, std::vector<KernelParameter> &parameters) {
  for (const JitFunction::Parameter &parameter : kernel.parameters) {
    KernelParameter &made = parameters.emplace_back();
    if (parameter.defaultValue) made.defaultText = parameter.defaultValue->repr();
    if (parameter.annotation) made.annotation = parameter.annotation->str();
    TypeNumbers numbers = parameter.annotation ? typeNumbersOf(*parameter.annotation) : TypeNumbers();
    made.raw = {sizeof(TwParameter),
                parameter.name.c_str(),
                parameter.isConstexpr,
                isChosenByRules(kernel, parameter.name),
                parameter.isVariadic,
                parameter.isConst,
                nullptr,
                nullptr,
                numbers.kind,
                numbers.type};
  }
  for (KernelParameter &made : parameters) { // the texts have their final addresses now
    if (made.defaultText) made.raw.defaultText = made.defaultText->c_str();
    if (made.annotation) made.raw.annotation = made.annotation->c_str();
  }
}

extern "C" {

const char *twKernelName(const TwKernel *kernel) {
  return kernel ? kernel->tuned.function().name.c_str() : nullptr;
}
size_t twKernelParameterCount(const TwKernel *kernel) {
  return kernel ? kernel->parameters.size() : 0;
}
int twKernelParameter(const TwKernel *kernel, size_t index, TwParameter *parameter) {
  return kernel && parameter && index < kernel->parameters.size() && writeSized(kernel->parameters[index].raw, parameter);
}

} // extern "C"
