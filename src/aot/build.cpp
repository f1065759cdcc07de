// Compiles every specialization for every target, and describes the results in bundles.

#include "aot/build.h"

#include "aot_runtime/elements.h"
#include "evaluate/parameters.h"
#include "support/artifact.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace tilewright::aot {
namespace {

/// The specializations of a launcher: their parameters have the same types.
struct Group {
  std::vector<std::optional<Type>> types; // of each parameter of the kernel; null if all specializations have a constant
  std::vector<const Specialization *> members;
};

bool refuse(Diagnostics &diagnostics, const std::string &problem, const std::string &advice) {
  diagnostics.error({}, Diag::invalidOption, {problem, advice});
  return false;
}

/// True if a launcher can pass such an argument.
bool isPassable(const Type &type) {
  return type.isScalar() ? !isFp8(type.scalar()) : type.isPointer() && type.element().isScalar();
}

bool checkTypes(const JitFunction &kernel, const Specialization &specialization, Diagnostics &diagnostics) {
  for (auto [parameter, spec] : llvm::zip(kernel.parameters, specialization.args)) {
    if (spec.constant || (spec.members.empty() && isPassable(spec.type))) continue;
    return refuse(diagnostics,
                  "parameter '" + parameter.name + "' is " + (spec.members.empty() ? spec.type.str() : "a tuple") +
                      ", which a launcher in C cannot pass",
                  "pass pointers and numbers, and make tensor descriptors in the kernel");
  }
  return true;
}

/// Adds a specialization to the launcher of its types.
void addToGroup(std::vector<Group> &groups, const Specialization &specialization) {
  auto fits = [&](const Group &group) {
    for (auto [type, spec] : llvm::zip(group.types, specialization.args))
      if (type && !spec.constant && *type != spec.type) return false;
    return true;
  };
  auto found = llvm::find_if(groups, fits);
  if (found == groups.end()) found = groups.insert(groups.end(), {std::vector<std::optional<Type>>(specialization.args.size()), {}});
  for (auto [type, spec] : llvm::zip(found->types, specialization.args))
    if (!spec.constant) type = spec.type;
  found->members.push_back(&specialization);
}

/// Returns a launcher's name: that of the request, with the element types of its tensors if there are several launchers.
std::string launcherName(const std::string &name, const Group &group, size_t index, size_t count) {
  if (count == 1) return name;
  std::string types, last;
  for (const std::optional<Type> &type : group.types) {
    std::string word = type && type->isPointer() ? scalarName(type->scalar()).str() : "";
    if (!word.empty() && word != last) types += "_" + word, last = word;
  }
  return name + (types.empty() ? "_" + std::to_string(index) : types);
}

/// Inserts an item after those that come before it, or are equal to it.
template <typename T, typename F> void insertOrdered(std::vector<T> &list, T item, F comesBefore) {
  auto position = std::upper_bound(list.begin(), list.end(), item, comesBefore);
  list.insert(position, std::move(item));
}

Element elementOf(const Value &constant) {
  if (constant.asString()) return Element::text;
  return constant.asFloat() ? Element::fp64 : Element::int64;
}

/// Returns the slot in which a launcher passes a constant. Null if it passes no such constants.
std::optional<int64_t> slotOfConstant(const Value &constant, Element element) {
  std::optional<Int> integer = constant.toInt();
  if (integer && (*integer > INT64_MAX || *integer < INT64_MIN)) return std::nullopt;
  const double *number = constant.asFloat();
  if (!integer && !number) return std::nullopt;
  double wide = number ? *number : static_cast<double>(*integer);
  float narrow = static_cast<float>(wide);
  int64_t slot = 0;
  switch (element) {
  case Element::fp64: std::memcpy(&slot, &wide, sizeof wide); return slot;
  case Element::fp32:
  case Element::fp16:
  case Element::bf16: std::memcpy(&slot, &narrow, sizeof narrow); return slot;
  default: return integer ? std::optional(static_cast<int64_t>(*integer)) : std::nullopt;
  }
}

class Builder {
public:
  Builder(const BuildRequest &request, const Group &group, std::string name, BuiltArtifact &artifact, Diagnostics &diagnostics)
      : request(request), kernel(*request.kernel.face()), group(group), artifact(artifact), diagnostics(diagnostics) {
    launcher.name = std::move(name);
    launcher.bundle.kernel = launcher.name;
    launcher.bundle.compiler = TILEWRIGHT_VERSION;
  }

  bool run() {
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      if (!addParameter(i)) return false;
    size_t position = 0; // in the problems of specializations
    for (const std::string &name : request.key) {
      std::optional<size_t> parameter = indexOfParameter(kernel, name);
      if (!parameter) continue;
      int64_t index = indexOf(name);
      bool isOfLaunch = index >= 0 && isInteger(index) && group.types[*parameter];
      if (isOfLaunch) keyPositions.push_back(position), launcher.bundle.key.push_back(index);
      ++position;
    }
    for (const Specialization *member : group.members)
      if (!addVariant(*member)) return false;
    return finish();
  }

private:
  bool isInteger(int64_t index) const {
    const Parameter &parameter = launcher.bundle.parameters[static_cast<size_t>(index)];
    return !parameter.isPointer && parameter.element != Element::text && !infoOf(parameter.element).isFloat;
  }

  int64_t indexOf(llvm::StringRef name) const {
    for (auto [i, parameter] : llvm::enumerate(launcher.bundle.parameters))
      if (parameter.name == name) return static_cast<int64_t>(i);
    return -1;
  }

  /// True if a tuner, and not the caller, chooses a constant.
  bool isTunersChoice(const std::string &name) const {
    return llvm::none_of(group.members, [](const Specialization *member) { return member->problems.empty(); }) &&
           llvm::is_contained(namesOfConfigs(kernel), name);
  }

  static bool isRuled(const Specialization &member, size_t index) {
    return llvm::any_of(member.ruled, [&](const RuledParameter &each) { return each.parameter == index; });
  }

  /// Adds a parameter of the launcher, unless all specializations have the same constant, a tuner chooses it, or the launcher computes it.
  bool addParameter(size_t index) {
    Parameter parameter;
    parameter.name = kernel.parameters[index].name;
    if (const std::optional<Type> &type = group.types[index]) {
      parameter.isPointer = type->isPointer();
      parameter.element = static_cast<Element>(type->scalar());
      launcher.bundle.parameters.push_back(std::move(parameter));
      return true;
    }
    const Value &first = *group.members.front()->args[index].constant;
    int64_t ruled = llvm::count_if(group.members, [&](const Specialization *member) { return isRuled(*member, index); });
    if (ruled == static_cast<int64_t>(group.members.size())) return true;
    if (ruled > 0)
      return refuse(diagnostics, "some signatures give '" + parameter.name + "', and others leave it to its heuristic",
                    "give it in all signatures, or in none");
    bool isSame =
        llvm::all_of(group.members, [&](const Specialization *member) { return member->args[index].constant->repr() == first.repr(); });
    if (isSame || isTunersChoice(parameter.name)) return true;
    parameter.element = elementOf(first);
    launcher.bundle.parameters.push_back(std::move(parameter));
    return true;
  }

  bool addCondition(size_t index, const ArgumentSpec &spec, Variant &variant) {
    int64_t parameter = indexOf(kernel.parameters[index].name);
    if (parameter < 0) return true;
    if (!spec.constant) {
      if (spec.divisibility > 1) variant.conditions.push_back({parameter, Condition::Kind::isMultiple, spec.divisibility, ""});
      return true;
    }
    Element element = launcher.bundle.parameters[static_cast<size_t>(parameter)].element;
    if (const std::string *text = spec.constant->asString(); text && element == Element::text) {
      variant.conditions.push_back({parameter, Condition::Kind::isText, 0, *text});
      return true;
    }
    bool isNull = spec.constant->isNone() && launcher.bundle.parameters[static_cast<size_t>(parameter)].isPointer;
    std::optional<int64_t> slot = isNull ? 0 : slotOfConstant(*spec.constant, element);
    if (!slot)
      return refuse(diagnostics,
                    "the specializations differ in the constant '" + kernel.parameters[index].name + "', which is " +
                        spec.constant->repr() + " in one of them",
                    "a launch chooses among integers, floats, texts and null pointers; build the others under another --name");
    variant.conditions.push_back({parameter, Condition::Kind::equals, *slot, ""});
    return true;
  }

  bool addVariant(const Specialization &specialization) {
    Variant variant;
    for (size_t i = 0; i < specialization.args.size(); ++i) {
      const ArgumentSpec &spec = specialization.args[i];
      if (!addCondition(i, spec, variant)) return false;
      if (!spec.constant) variant.parameterOfSlot.push_back(indexOf(kernel.parameters[i].name));
      std::string word = spec.constant           ? spec.constant->repr()
                         : spec.type.isPointer() ? "*" + scalarName(spec.type.scalar()).str()
                                                 : spec.type.str();
      if (spec.divisibility > 1) word += ":" + std::to_string(spec.divisibility);
      variant.description += (i ? ", " : "") + kernel.parameters[i].name + "=" + word;
    }
    for (const std::vector<int64_t> &problem : specialization.problems) {
      std::vector<int64_t> &values = variant.problems.emplace_back();
      for (size_t position : keyPositions)
        values.push_back(problem[position]);
    }
    for (const RuledParameter &ruled : specialization.ruled) {
      if (ruled.program.empty()) continue;
      RuleCondition &rule = variant.rules.emplace_back(RuleCondition{ruled.program, ruled.result});
      for (GridStep &step : rule.program)
        if (step.kind == GridStep::Kind::parameter) step.value = indexOf(kernel.parameters[static_cast<size_t>(step.value)].name);
    }
    if (!request.grid.empty()) {
      auto numberOf = [&](llvm::StringRef name) {
        int64_t index = indexOf(name);
        return index >= 0 && isInteger(index) ? index : -1;
      };
      auto grid = gridProgram(request.grid, kernel, specialization.args, numberOf, diagnostics);
      if (!grid) return false;
      variant.grid = std::move(*grid);
    }
    for (const Target &target : request.targets) {
      if (!specialization.targets.empty() && !llvm::is_contained(specialization.targets, target.text)) continue;
      if (target.gpu ? !addGpuCode(specialization, target, variant) : !addCpuCode(specialization, target, variant)) return false;
    }
    // Variants with more conditions come first, because a launch takes the first that fits.
    insertOrdered(launcher.bundle.variants, std::move(variant),
                  [](const Variant &a, const Variant &b) { return a.conditions.size() > b.conditions.size(); });
    return true;
  }

  CompileRequest compileRequest(const Specialization &specialization, const Target &target) const {
    CompileRequest compile;
    compile.kernel = request.kernel;
    compile.args = specialization.args;
    compile.options = specialization.options;
    if (target.cpu) compile.target = *target.cpu;
    compile.gpu = target.gpu;
    return compile;
  }

  void noteWrites(const std::vector<bool> &writes, const Variant &variant) {
    for (auto [isWritten, parameter] : llvm::zip(writes, variant.parameterOfSlot))
      if (Parameter &written = launcher.bundle.parameters[static_cast<size_t>(parameter)]; isWritten && written.isPointer)
        written.isWritten = true;
  }

  /// Compiles code that relies on launch guards, and if it has any, code without them.
  bool addCpuCode(const Specialization &specialization, const Target &target, Variant &variant) {
    CompileRequest compile = compileRequest(specialization, target);
    for (bool isFallback : {false, true}) {
      if (isFallback) compile.failedGuards = {everyGuard};
      compile.symbol = launcher.name + "_" + std::to_string(launcher.bundle.variants.size()) + (isFallback ? "_any_" : "_") +
                       llvm::StringRef(target.isNative ? "native" : target.cpu->name).str();
      std::replace(compile.symbol.begin(), compile.symbol.end(), '-', '_');
      std::unique_ptr<CpuArtifact> made = compileForCpu(compile, diagnostics);
      if (!made) return false;
      if (made->object.find("tilewright_") != std::string::npos)
        return refuse(diagnostics, "the kernel calls tl.device_print or tl.device_assert, which need the compiler's library",
                      "remove these calls, or embed the library");
      noteWrites(made->writes, variant);
      CpuCode code;
      code.level = target.isNative ? "native" : target.cpu->name;
      if (target.isNative) code.features = cpuFeatures();
      code.entry = static_cast<int64_t>(entries.size());
      code.arenaBytes = made->arenaBytes, code.atomics = made->atomics, code.slots = made->slots, code.guards = made->guards;
      entries.push_back(made->entry);
      if (Result<void> hidden = hideSymbols(made->object); !hidden) {
        diagnostics.error({}, Diag::internalError, {"the object cannot be read: " + hidden.error()});
        return false;
      }
      artifact.objects.push_back({made->entry + ".o", std::move(made->object)});
      bool isSafe = llvm::all_of(code.guards, [](const LaunchGuard &guard) { return guard.isVersioningRequest; });
      insertOrdered(variant.cpu, std::move(code), [](const CpuCode &a, const CpuCode &b) { return a.rank() > b.rank(); });
      if (isSafe) break;
    }
    return true;
  }

  bool addGpuCode(const Specialization &specialization, const Target &target, Variant &variant) {
    CompileRequest compile = compileRequest(specialization, target);
    for (bool isFallback : {false, true}) {
      if (isFallback) compile.failedGuards = {everyGuard};
      std::unique_ptr<GpuArtifact> made = compileForGpu(compile, diagnostics);
      if (!made) return false;
      noteWrites(made->writes, variant);
      made->stages.clear();
      made->messages.clear();
      bool isSafe = made->maps.empty() && llvm::all_of(made->guards, [](const LaunchGuard &guard) { return guard.isVersioningRequest; });
      auto rank = [](const GpuArtifact &code) { return gpuTarget(code.target)->rank(); };
      insertOrdered(variant.gpu, std::move(*made), [&](const GpuArtifact &a, const GpuArtifact &b) { return rank(a) > rank(b); });
      if (isSafe) break;
    }
    return true;
  }

  bool finish() {
    Result<std::string> object = launcherObject(launcher, entries, request, artifact.isa);
    if (!object) {
      diagnostics.error({}, Diag::internalError, {"the launcher cannot be compiled: " + object.error()});
      return false;
    }
    artifact.objects.push_back({launcher.name + ".o", std::move(*object)});
    artifact.exports.insert(artifact.exports.end(), {launcher.name, launcher.name + "_artifact"});
    if (request.ffi) artifact.exports.push_back("__tvm_ffi_" + launcher.name);
    artifact.launchers.push_back(std::move(launcher));
    return true;
  }

  const BuildRequest &request;
  const JitFunction &kernel;
  const Group &group;
  BuiltArtifact &artifact;
  Diagnostics &diagnostics;
  Launcher launcher;
  std::vector<std::string> entries;
  std::vector<size_t> keyPositions; // of the problems' values that a launch compares
};

} // namespace

std::optional<BuiltArtifact> build(const BuildRequest &request, Diagnostics &diagnostics) {
  std::vector<Group> groups;
  for (const Specialization &specialization : request.specializations) {
    if (!checkTypes(*request.kernel.face(), specialization, diagnostics)) return std::nullopt;
    addToGroup(groups, specialization);
  }
  BuiltArtifact artifact;
  artifact.name = request.name;
  artifact.isa = isaOf(request.targets);
  for (auto [i, group] : llvm::enumerate(groups))
    if (!Builder(request, group, launcherName(request.name, group, i, groups.size()), artifact, diagnostics).run()) return std::nullopt;
  return artifact;
}

} // namespace tilewright::aot
