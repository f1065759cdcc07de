#include "gpu/sm_model/sm_model.h"

#include "gpu/cost_model/registers.h"
#include "gpu/sm_model/sm.h"
#include "ir/tt.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu {

using namespace model;

/// Returns the registers of a thread: those that the assembler has chosen, else those that the kernel promises it. Nothing if neither is
/// known.
static std::optional<int64_t> registersOf(ptx::KernelAttr kernel, const ModeledLaunch &launch, const GpuTarget &target) {
  if (launch.registers) return llvm::alignTo(static_cast<uint64_t>(*launch.registers), registerStep);
  if (kernel.getMaxRegisters() > 0) return kernel.getMaxRegisters();
  if (kernel.getMinCtas() == 0) return std::nullopt;
  return std::min(target.registersPerThread, registersForOccupancy(kernel.getMinCtas(), kernel.getThreads(), target));
}

/// Returns how many CTAs an SM holds at a time. `registers`: of a thread; nothing: these do not limit it.
static int64_t residentCtas(ptx::KernelAttr kernel, std::optional<int64_t> registers, const SmRates &rates, const GpuTarget &target) {
  int64_t threads = kernel.getThreads();
  int64_t ctas = std::min({rates.ctasPerSM, target.threadsPerSM / threads, ctasByShared(kernel.getSharedBytes(), target)});
  if (registers) ctas = std::min(ctas, ctasByRegisters(threads, *registers, target));
  return std::max<int64_t>(ctas, 1);
}

/// Returns the fractions of an SM's traffic that go to memory: each tensor is read and written once, the rest comes from the L2 cache.
static std::vector<double> missFractions(ArrayRef<double> traffic, const ModeledLaunch &launch, double scale) {
  std::vector<double> fractions;
  for (auto [stream, ofOne] : llvm::enumerate(traffic)) {
    double bytes = ofOne * scale, tensor = stream / 2 < launch.tensorBytes.size() ? launch.tensorBytes[stream / 2] : 0;
    fractions.push_back(tensor > 0 && bytes > tensor ? tensor / bytes : 1);
  }
  return fractions;
}

std::vector<std::pair<std::string, double>> LaunchPrediction::busyUnits() const {
  std::vector<std::pair<std::string, double>> units = {
      {"tensor cores", tensorCores}, {"instruction issue", issue},    {"arithmetic", arithmetic}, {"special functions", special},
      {"shared memory", shared},     {"tensor memory", tensorMemory}, {"L2 cache", l2},           {"memory", memory}};
  llvm::erase_if(units, [](const auto &unit) { return unit.first == "tensor memory" && unit.second == 0; }); // few GPUs have it
  llvm::sort(units, [](const auto &a, const auto &b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  return units;
}

/// Gives each pointer an address of its own, so that distances between the accesses of a warp are known.
static ModeledLaunch withAddresses(ModeledLaunch launch, tt::FuncOp function) {
  for (auto [index, value] : llvm::enumerate(launch.arguments))
    if (!value && index < function.getNumArguments() && function.getArgument(static_cast<unsigned>(index)).getType().isInteger(64))
      value = static_cast<int64_t>(index + 1) << 40;
  return launch;
}

LaunchPrediction predictLaunch(ModuleOp module, const ModeledLaunch &described, const SmRates &rates) {
  LaunchPrediction prediction;
  auto kernels = module.getOps<tt::FuncOp>();
  if (kernels.empty()) return prediction;
  tt::FuncOp function = *kernels.begin();
  auto kernel = function->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  std::optional<GpuTarget> target = gpuTarget(rates.target);
  if (!kernel || !target) return prediction;
  Code code = decode(function.getBody(), rates, described.fusesMultiplyAdd);
  ModeledLaunch launch = withAddresses(described, function);
  int64_t all = launch.programs() * std::max<int64_t>(kernel.getCluster(), 1);
  int64_t ofOne = (all + rates.sms - 1) / rates.sms;
  std::optional<int64_t> registers = registersOf(kernel, launch, *target);
  prediction.knowsRegisters = registers.has_value();
  prediction.ctasPerSM = std::min(residentCtas(kernel, registers, rates, *target), ofOne);
  double cycles = 0;
  std::vector<double> misses;
  BusyTimes busy;
  std::optional<Steps> counted;
  // How much of the traffic goes to memory follows from the traffic, which the first run counts.
  for (int round = 0; round < 2; ++round) {
    Sm sm(code, kernel, launch, rates, prediction.ctasPerSM, misses);
    if (!counted) counted = sm.countSteps(ofOne);
    cycles = sm.run(ofOne, *counted);
    busy = sm.busy;
    prediction.isComplete = sm.isComplete;
    misses = missFractions(sm.traffic, launch, static_cast<double>(all) / static_cast<double>(ofOne));
  }
  cycles = std::max(cycles, 1.0); // of an empty kernel or grid
  prediction.tensorCores = busy[Unit::tensor] / schedulers / cycles;
  prediction.clock = rates.clock + (rates.busyClock - rates.clock) * std::min(1.0, prediction.tensorCores);
  prediction.seconds = cycles / prediction.clock + rates.launchSeconds;
  prediction.issue = busy.issue / schedulers / cycles;
  prediction.arithmetic = std::max(busy[Unit::fp32], busy[Unit::alu]) / schedulers / cycles;
  prediction.special = busy[Unit::special] / schedulers / cycles;
  prediction.shared = busy[Unit::shared] / cycles;
  prediction.tensorMemory = busy[Unit::tensorMemory] / schedulers / cycles;
  prediction.l2 = busy.l2Bytes / rates.l2BytesPerCycle / cycles;
  prediction.memory = busy.memoryBytes * rates.memoryCyclesPerByte() / cycles;
  return prediction;
}

} // namespace tilewright::gpu
