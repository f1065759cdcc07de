#include "tune/predict_launch.h"

#include "support/artifact.h"

#include "mlir/IR/BuiltinOps.h"

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

std::optional<gpu::LaunchPrediction> predictGpuLaunch(CompileRequest request, gpu::ModeledLaunch launch, const gpu::SmRates &rates,
                                                      Diagnostics &diagnostics) {
  request.onStep = {}, request.onExplained = {};
  constexpr int maxVersions = 3; // a version may have guards of its own
  for (int version = 0; version < maxVersions; ++version) {
    std::unique_ptr<GpuArtifact> artifact = compileForGpu(request, diagnostics);
    if (!artifact) return std::nullopt;
    if (launch.registers == 0 && artifact->registers > 0) launch.registers = artifact->registers;
    std::vector<std::string> failed = failedGuards(*artifact, launch);
    if (failed.empty()) break;
    request.failedGuards.insert(request.failedGuards.end(), failed.begin(), failed.end());
  }
  std::optional<gpu::LaunchPrediction> prediction;
  constexpr llvm::StringRef modeled = "choose-occupancy";
  request.onStep = [&](const StepDone &done) {
    if (done.step == modeled) prediction = gpu::predictLaunch(*done.module, launch, rates);
  };
  if (!emitAfter(request, "", modeled, diagnostics)) return std::nullopt;
  return prediction;
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
