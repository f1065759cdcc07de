// Converts the arguments, options and grid of a call of the C interface to the runtime's types. It checks everything that C code can write
// into these structures: kinds, types, sizes, devices and numbers of threads.
#include "api/handles.h"
#include "api/sized.h"

#include "evaluate/evaluate.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace tilewright;
using namespace tilewright::api;

namespace tilewright::api {

Scalar scalarOf(TwType type) {
  switch (type) {
  case TW_I1: return Scalar::int1;
  case TW_I8: return Scalar::int8;
  case TW_I16: return Scalar::int16;
  case TW_I32: return Scalar::int32;
  case TW_I64: return Scalar::int64;
  case TW_U8: return Scalar::uint8;
  case TW_U16: return Scalar::uint16;
  case TW_U32: return Scalar::uint32;
  case TW_U64: return Scalar::uint64;
  case TW_F16: return Scalar::fp16;
  case TW_BF16: return Scalar::bf16;
  case TW_F32: return Scalar::fp32;
  case TW_F64: return Scalar::fp64;
  case TW_F8E5: return Scalar::fp8e5;
  case TW_F8E4: return Scalar::fp8e4nv;
  }
  return Scalar::int8;
}

static constexpr int64_t maxDevices = 1024; // far more than a machine has

/// Returns the reason why an argument cannot be used, or null.
static std::optional<std::string> problemOf(const TwArgument &argument) {
  if (argument.kind < TW_NONE || argument.kind > TW_DEVICE_POINTER)
    return "its kind is " + std::to_string(static_cast<int>(argument.kind)) + ", which is none of TwKind";
  if (argument.kind == TW_STRING && !argument.value.string) return "its string is null";
  if (argument.kind == TW_STRING && argument.bytes > 0 && std::strlen(argument.value.string) != static_cast<size_t>(argument.bytes))
    return "its text contains a NUL character";
  if (argument.kind != TW_POINTER && argument.kind != TW_DEVICE_POINTER) return std::nullopt;
  if (!isType(argument.type)) return "its type is " + std::to_string(static_cast<int>(argument.type)) + ", which is none of TwType";
  if (argument.bytes < -1) return "its size is " + std::to_string(argument.bytes) + " bytes";
  if (argument.bytes > 0 && reinterpret_cast<uintptr_t>(argument.value.pointer) > UINTPTR_MAX - static_cast<uintptr_t>(argument.bytes))
    return "its size is " + std::to_string(argument.bytes) + " bytes, which reach beyond the address space";
  if (argument.kind == TW_DEVICE_POINTER && (argument.device < 0 || argument.device >= maxDevices))
    return "its device is " + std::to_string(argument.device) + "; CUDA devices are numbered from 0";
  return std::nullopt;
}

static Argument pointerOf(const TwArgument &argument, int64_t device) {
  Argument made = Argument::pointer(argument.value.pointer, scalarOf(argument.type), std::max<int64_t>(argument.bytes, 0), device);
  if (argument.readOnly) made.setMemory(Memory::readOnly);
  return argument.bytes < 0 ? made.reaching(0, 0) : made;
}

static Argument argumentOf(const TwArgument &argument) {
  switch (argument.kind) {
  case TW_NONE: return Argument::none();
  case TW_BOOL: return Argument::boolean(argument.value.integer != 0);
  case TW_INT: return Argument::integer(argument.value.integer);
  case TW_UINT: return Argument::unsignedInteger(argument.value.unsignedInteger);
  case TW_FLOAT: return Argument::floating(argument.value.floating);
  case TW_STRING: return Argument::constant(Value::string(argument.value.string));
  case TW_POINTER: return pointerOf(argument, -1);
  case TW_DEVICE_POINTER: return pointerOf(argument, argument.device);
  }
  return Argument::none();
}

/// Reports an argument that cannot be used.
static void refuse(const char *name, size_t index, const std::string &problem, Diagnostics &diagnostics) {
  std::string title = name ? "'" + std::string(name) + "'" : std::to_string(index);
  diagnostics.error({}, Diag::invalidOption, {"argument " + title + " cannot be used: " + problem, ""});
}

Arguments::Arguments(const TwArgument *arguments, size_t count, Diagnostics &diagnostics) {
  if (count > 0 && !arguments) {
    diagnostics.error({}, Diag::invalidOption, {std::to_string(count) + " arguments are given, but their address is null", ""});
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const TwArgument *given = elementOf(arguments, i);
    TwArgument copy;
    if (given->size != sizeof(TwArgument)) {
      std::string problem = given->size == arguments->size ? readSized(given, copy, "TwArgument") : "its size is not that of the first one";
      if (!problem.empty()) {
        refuse(nullptr, i, problem, diagnostics);
        return;
      }
      given = &copy;
    }
    if (std::optional<std::string> problem = problemOf(*given))
      refuse(given->name, i, *problem, diagnostics);
    else if (given->name)
      named.push_back({given->name, argumentOf(*given)});
    else
      positional.push_back(argumentOf(*given));
  }
}

} // namespace tilewright::api

//===----------------------------------------------------------------------------------------------------------------- the grid

/// Returns the names of the arguments that a grid function can read: n, BLOCK.
static std::vector<std::string> integerNames(const TwMeta &meta) {
  std::vector<std::string> names;
  for (size_t i = 0; i < meta.arguments.size(); ++i)
    if (meta.arguments[i].isNumber()) names.push_back(meta.kernel->parameters[i].name);
  return names;
}

static std::optional<Int> integerOf(const Dict &values, const char *name) {
  std::optional<size_t> index = findKey(values, Value::string(name));
  return index ? values.items[*index].second.toInt() : std::nullopt;
}

int64_t twMetaInteger(const TwMeta *meta, const char *name, int *found) {
  if (found) *found = 0;
  for (size_t i = 0; meta && name && i < meta->arguments.size(); ++i) {
    if (meta->kernel->parameters[i].name != name || !meta->arguments[i].isNumber()) continue;
    if (found) *found = 1;
    return meta->arguments[i].asInteger();
  }
  if (std::optional<Int> value = meta && name && meta->values ? integerOf(*meta->values, name) : std::nullopt) {
    if (found) *found = 1;
    return static_cast<int64_t>(*value);
  }
  if (found) return 0;
  if (meta && meta->missing.empty()) meta->missing = name && *name ? name : "(no name)";
  return 1;
}

/// Calls the grid function. False after an error.
bool GivenGrid::askFunction(llvm::ArrayRef<Argument> bound, TwGrid &raw, Diagnostics &problems) const {
  TwMeta meta{&kernel.tuned.function(), bound, ""};
  std::string thrown;
  bool isGiven = function && callCaller([&] { return function(context, &meta, &raw) != 0; }, false, thrown);
  if (!thrown.empty()) {
    hasFailed = true;
    problems.error({}, Diag::badGrid, {"the grid function fails: " + thrown});
    return false;
  }
  if (!meta.missing.empty()) {
    std::vector<std::string> names = integerNames(meta);
    std::string near = nearestName(meta.missing, names);
    problems.error(
        {}, Diag::invalidOption,
        {"the grid function reads '" + meta.missing + "', which is not an integer argument of kernel '" + meta.kernel->name + "'",
         (near.empty() ? "" : "did you mean '" + near + "'? ") + "the integer arguments are " + llvm::join(names, ", ")});
    return false;
  }
  if (!isGiven) problems.error({}, Diag::badGrid, {function ? "the grid function returned no grid" : "there is no grid"});
  hasFailed |= function && !isGiven;
  return isGiven;
}

std::optional<Grid> GivenGrid::operator()(llvm::ArrayRef<Argument> bound, Diagnostics &problems) const {
  TwGrid raw{sizeof(TwGrid), {1, 1, 1}, 1};
  const TwGrid *known = &raw;
  if (grid) {
    std::string problem;
    known = viewSized(grid, raw, "TwGrid", problem);
    if (!known) problems.error({}, Diag::badGrid, {problem});
  } else if (!askFunction(bound, raw, problems)) {
    known = nullptr;
  }
  if (known && (known->rank < 1 || known->rank > 3)) {
    problems.error({}, Diag::badGrid, {"a grid of rank " + std::to_string(known->rank)});
    known = nullptr;
  }
  if (!known) return std::nullopt;
  Grid result;
  for (size_t i = 0; i < 3; ++i)
    result.extent[i] = known->extent[i];
  result.rank = known->rank;
  return result;
}
