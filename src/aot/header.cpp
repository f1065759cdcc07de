// The header of an artifact: launchers in C, and the same in C++ with overloads.

#include "aot/build.h"
#include "aot_runtime/elements.h"
#include "support/c_names.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <set>

namespace tilewright::aot {

/// Returns the C type of an element in memory, or of a number that a launcher passes by value.
static std::string elementType(Element element, bool isMemory) {
  switch (element) {
  case Element::int1: return isMemory ? "uint8_t" : "int8_t";
  case Element::fp16: return isMemory ? "TwHalf" : "float";
  case Element::bf16: return isMemory ? "TwBfloat16" : "float";
  case Element::fp32: return "float";
  case Element::fp64: return "double";
  case Element::text: return "char";
  default: break;
  }
  const ElementInfo info = infoOf(element);
  return info.isFloat ? "TwFloat8" : std::string(info.name) + "_t";
}

std::string cTypeOf(const Parameter &parameter) {
  if (parameter.element == Element::text) return "const char *";
  std::string type = elementType(parameter.element, parameter.isPointer);
  if (!parameter.isPointer) return type + " ";
  return (parameter.isWritten ? "" : "const ") + type + " *";
}

/// Returns the names of the launcher's parameters in the header.
static std::vector<std::string> namesInC(const Launcher &launcher) {
  std::vector<std::string> names;
  for (const Parameter &parameter : launcher.bundle.parameters)
    names.push_back(parameter.name);
  return parameterNames(names, {"options", "error", "grid_x", "grid_y", "grid_z"});
}

static std::string parameterList(const Launcher &launcher) {
  std::string text = "const TwLaunchOptions *options";
  if (launcher.bundle.callerGivesGrid()) text += ", int64_t grid_x, int64_t grid_y, int64_t grid_z";
  for (auto [parameter, name] : llvm::zip(launcher.bundle.parameters, namesInC(launcher)))
    text += ", " + cTypeOf(parameter) + name;
  return text;
}

static std::string argumentList(const Launcher &launcher) {
  std::string text = "options";
  if (launcher.bundle.callerGivesGrid()) text += ", grid_x, grid_y, grid_z";
  for (const std::string &name : namesInC(launcher))
    text += ", " + name;
  return text;
}

/// Returns the values that the specializations accept for a parameter, for the comment; empty without a condition on it.
static std::string conditionText(const Bundle &bundle, int64_t parameter) {
  std::vector<std::string> texts;
  for (const Variant &variant : bundle.variants) {
    std::string text = "any value";
    for (const Condition &condition : variant.conditions) {
      if (condition.parameter != parameter) continue;
      double number = 0;
      std::memcpy(&number, &condition.value, sizeof number);
      bool isDouble = bundle.parameters[static_cast<size_t>(parameter)].element == Element::fp64;
      text = condition.kind == Condition::Kind::isText       ? "'" + condition.text + "'"
             : condition.kind == Condition::Kind::isMultiple ? "a multiple of " + std::to_string(condition.value)
             : isDouble                                      ? std::to_string(number)
                                                             : std::to_string(condition.value);
    }
    if (!llvm::is_contained(texts, text)) texts.push_back(text);
  }
  return texts.size() == 1 && texts.front() == "any value" ? "" : llvm::join(texts, ", or ");
}

static std::string commentOf(const Launcher &launcher) {
  const Bundle &bundle = launcher.bundle;
  std::string text = "/* Launches kernel " + launcher.name + ".\n *   options: where and how it runs; null: on the CPU\n";
  if (bundle.callerGivesGrid()) text += " *   grid_x, grid_y, grid_z: the programs along each axis, from 0\n";
  std::vector<std::string> names = namesInC(launcher);
  for (auto [i, parameter] : llvm::enumerate(bundle.parameters)) {
    std::string kind = parameter.isPointer ? std::string(parameter.isWritten ? "written: " : "read: ") + infoOf(parameter.element).name +
                                                 " elements, in the memory of the device"
                       : parameter.element == Element::text ? "a text"
                                                            : infoOf(parameter.element).name;
    std::string values = conditionText(bundle, static_cast<int64_t>(i));
    text += " *   " + names[i] + ": " + kind + (values.empty() ? "" : "; " + commentText(values)) + "\n";
  }
  text += " *   error: set to the reason after a failure, unless it is null; free it with twErrorFree\n";
  text += " * Returns 1, or 0 after an error. Errors are those of twArtifactLaunch. Specializations:\n";
  for (const Variant &variant : bundle.variants) {
    std::vector<std::string> targets;
    auto add = [&](std::string target) {
      if (!llvm::is_contained(targets, target)) targets.push_back(std::move(target));
    };
    for (const CpuCode &code : variant.cpu)
      add("cpu:" + code.level);
    for (const GpuArtifact &code : variant.gpu)
      add("cuda:" + code.target);
    text += " *   " + commentText(variant.description + "; " + llvm::join(targets, ", ")) + "\n";
  }
  return text + " */\n";
}

std::string headerText(const BuiltArtifact &artifact, const std::string &fileName, bool ffi) {
  std::string guard = "TILEWRIGHT_KERNELS_";
  for (char c : fileName)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  std::string text = "/* Kernels compiled ahead of time by Tilewright " + std::string(TILEWRIGHT_VERSION) +
                     ". Link the artifact, and libtilewright_rt. */\n#ifndef " + guard + "\n#define " + guard +
                     "\n\n#include <tilewright/runtime.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const Launcher &launcher : artifact.launchers) {
    // A macro in capitals may be defined by any header before this one.
    if (llvm::none_of(launcher.name, [](char c) { return llvm::isLower(c); }))
      text += "#ifdef " + launcher.name + "\n#error \"a macro has the name of the kernel " + launcher.name + "\"\n#endif\n";
    text += commentOf(launcher) + "int " + launcher.name + "(" + parameterList(launcher) + ", TwError **error);\n";
    text += "/* The kernel, for twArtifactLoad and twArtifactDescribe. */\nextern TwArtifact " + launcher.name + "_artifact;\n";
    if (ffi)
      text += "/* The same as a TVM-FFI function: tensors are DLPack's. The arguments are those above without options and error" +
              std::string(launcher.bundle.callerGivesGrid() ? "; the grid comes last" : "") + ". */\nint32_t __tvm_ffi_" + launcher.name +
              "(void *self, const void *arguments, int32_t count, void *result);\n";
    text += "\n";
  }
  text += "#ifdef __cplusplus\n}\n\nnamespace tilewright::kernels {\n\n";
  std::set<std::string> overloads;
  for (const Launcher &launcher : artifact.launchers) {
    // Types of the language that are one type in C++ make no overload.
    const std::string &name = overloads.insert(parameterList(launcher)).second ? artifact.name : launcher.name;
    text += "/// The launcher in C++: returns a Status, which holds the error.\n[[gnu::visibility(\"hidden\")]] inline runtime::Status " +
            name + "(" + parameterList(launcher) + ") {\n  TwError *error = nullptr;\n  return ::" + launcher.name + "(" +
            argumentList(launcher) + ", &error) ? runtime::Status() : runtime::Status(error);\n}\n\n";
  }
  return text + "} // namespace tilewright::kernels\n#endif\n\n#endif\n";
}

} // namespace tilewright::aot
