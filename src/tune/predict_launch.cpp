#include "tune/predict_launch.h"

#include "driver/context.h"
#include "driver/ir_text.h"
#include "support/artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace tilewright {

/// Returns the guards that the launch fails. Pointers are aligned, and tensors do not overlap.
static std::vector<std::string> failedGuards(const GpuArtifact &artifact, const gpu::ModeledLaunch &launch) {
  std::vector<uint64_t> slots;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < artifact.slots.size(); ++i) {
    bool isKnown = i < launch.arguments.size() && launch.arguments[i];
    uint64_t address = (i + 1) << 40;
    slots.push_back(isKnown ? static_cast<uint64_t>(*launch.arguments[i]) : address);
    bytes.push_back(i < launch.tensorBytes.size() ? static_cast<int64_t>(launch.tensorBytes[i]) : 0);
  }
  llvm::SmallVector<uint64_t, 32> integers = signedSlots(slots, artifact.slots);
  std::vector<std::string> failed;
  for (const LaunchGuard &guard : artifact.guards)
    if (!holds(guard, {integers, bytes, launch.grid})) failed.push_back(guard.name);
  return failed;
}

void ModeledVersion::see(const StepDone &done) {
  if (done.module && done.step == "choose-occupancy") threads = irText(*done.module);
}

/// Runs the model on the text of a version. Null after an error.
static std::optional<gpu::LaunchPrediction> predict(const std::string &threads, const gpu::ModeledLaunch &launch,
                                                    const gpu::SmRates &rates) {
  ContextHold context = ContextHold::any();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(threads, &*context);
  return module ? std::optional(gpu::predictLaunch(*module, launch, rates)) : std::nullopt;
}

std::optional<gpu::LaunchPrediction> predictGpuLaunch(CompileRequest request, gpu::ModeledLaunch launch, const gpu::SmRates &rates,
                                                      const ModeledVersion *compiled, Diagnostics &diagnostics) {
  ModeledVersion own;
  request.onStep = [&](const StepDone &done) { own.see(done); };
  request.onExplained = {};
  launch.fusesMultiplyAdd = request.options.fpFusion;
  constexpr int maxVersions = 3; // a version may have guards of its own
  for (int version = 0;; ++version) {
    if (!compiled || !compiled->artifact) {
      own.artifact = compileForGpu(request, diagnostics);
      if (!own.artifact) return std::nullopt;
      compiled = &own;
    }
    if (!launch.registers && compiled->artifact->registers > 0) launch.registers = compiled->artifact->registers;
    std::vector<std::string> failed = failedGuards(*compiled->artifact, launch);
    if (failed.empty() || version == maxVersions) return predict(compiled->threads, launch, rates);
    request.failedGuards.insert(request.failedGuards.end(), failed.begin(), failed.end());
    compiled = nullptr;
  }
}

/// Appends the values of an argument, in the order of the kernel's arguments in IR.
static void append(const ArgumentSpec &spec, const Argument &argument, gpu::ModeledLaunch &launch) {
  if (spec.constant) return;
  if (!spec.members.empty()) {
    for (auto [member, value] : llvm::zip(spec.members, argument.members()))
      append(member, value, launch);
    return;
  }
  bool isInteger = argument.kind() == Argument::Kind::integer || argument.kind() == Argument::Kind::boolean;
  launch.arguments.push_back(isInteger ? std::optional(argument.asInteger()) : std::nullopt);
  launch.tensorBytes.push_back(static_cast<double>(argument.bytes()));
  if (argument.kind() != Argument::Kind::descriptor) return;
  for (llvm::ArrayRef<int64_t> numbers : {argument.shape(), argument.strides()})
    for (int64_t number : numbers) {
      launch.arguments.push_back(number);
      launch.tensorBytes.push_back(0);
    }
}

gpu::ModeledLaunch modeledLaunch(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, std::array<int64_t, 3> grid) {
  gpu::ModeledLaunch launch;
  for (auto [spec, argument] : llvm::zip(specs, arguments))
    append(spec, argument, launch);
  launch.grid = grid;
  return launch;
}

} // namespace tilewright
