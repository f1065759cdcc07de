// Does the driver's work for the simulator: makes slots from arguments, and tensor maps from their recipes.
#include "runtime/simulated.h"

#include "driver/program.h"
#include "gpu/machine/simulate.h"
#include "runtime/cuda/maps.h"
#include "runtime/version_search.h"
#include "support/artifact.h"
#include "support/gpu_hardware.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tilewright {

struct SimulatedKernel::Impl {
  CompileRequest request;
  std::unique_ptr<ThreadProgram> program;
  // By the guards that launches have failed.
  std::map<std::vector<std::string>, std::unique_ptr<ThreadProgram>> others;
  std::vector<ArgumentSpec> specs;
  std::vector<std::string> parameters;
  uint64_t hash = 0;     // of the kernel's operations
  uint64_t launches = 0; // so far
};

SimulatedKernel::SimulatedKernel() : impl(std::make_unique<Impl>()) {}
SimulatedKernel::~SimulatedKernel() = default;

/// Returns a hash of a kernel's operations that is the same in every process.
static uint64_t hashOf(const ThreadProgram &program) {
  uint64_t hash = llvm::xxh3_64bits(program.artifact().entry);
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  (*program.hold()).walk([&](mlir::Operation *op) { hash = hash * factor + llvm::xxh3_64bits(op->getName().getStringRef()); });
  return hash;
}

/// Returns the seed of a launch: each launch of a kernel runs its warps in another order, and a program that runs again repeats its orders.
static Result<uint64_t> seedOf(uint64_t hash, uint64_t launch) {
  const char *text = std::getenv("TILEWRIGHT_SIMULATE_SEED");
  if (!text || !*text) return llvm::xxh3_64bits(llvm::utostr(hash) + "," + llvm::utostr(launch)) & ~uint32_t(0);
  uint32_t seed = 0;
  llvm::StringRef word = text;
  if (!word.getAsInteger(10, seed)) return uint64_t(seed);
  return Failure{"TILEWRIGHT_SIMULATE_SEED is '" + word.str() + "'; it may be an integer from 0 to 4294967295"};
}

static Result<gpu::ApproximationError> approximationError() {
  const char *text = std::getenv("TILEWRIGHT_SIMULATE_ERRORS");
  constexpr llvm::StringLiteral words[] = {"none", "down", "up", "mixed"};
  if (!text || !*text) return gpu::ApproximationError::none;
  const auto *word = llvm::find(words, llvm::StringRef(text));
  if (word != std::end(words)) return static_cast<gpu::ApproximationError>(word - std::begin(words));
  return Failure{"TILEWRIGHT_SIMULATE_ERRORS is '" + std::string(text) + "'; it may be none, down, up or mixed"};
}

/// Returns the options that the environment and the number of the launch determine.
static Result<gpu::SimulateOptions> optionsOf(uint64_t hash, uint64_t launch) {
  constexpr uint64_t timings = 3;
  Result<uint64_t> seed = seedOf(hash, launch);
  if (!seed) return Failure{seed.error()};
  Result<gpu::ApproximationError> error = approximationError();
  if (!error) return Failure{error.error()};
  gpu::SimulateOptions options;
  options.seed = *seed;
  options.timing = static_cast<gpu::AsyncTiming>(*seed % timings);
  options.error = *error;
  return options;
}

std::shared_ptr<SimulatedKernel> SimulatedKernel::create(const CompileRequest &request, Diagnostics &diagnostics) {
  std::shared_ptr<SimulatedKernel> kernel(new SimulatedKernel);
  kernel->impl->program = ThreadProgram::create(request, diagnostics);
  if (!kernel->impl->program) return nullptr;
  kernel->impl->hash = hashOf(*kernel->impl->program);
  kernel->impl->request = request;
  kernel->impl->request.onStep = {};
  kernel->impl->specs = request.args;
  for (const JitFunction::Parameter &parameter : request.kernel.face()->parameters)
    kernel->impl->parameters.push_back(parameter.name);
  return kernel;
}

const std::vector<bool> &SimulatedKernel::writes() const {
  return impl->program->artifact().writes;
}

/// Appends the number of its ArgumentMemory for each slot that holds a pointer, else -1.
static void appendOwners(const ArgumentSpec &spec, const Argument &argument, std::vector<int64_t> &owners, int64_t &next) {
  if (spec.constant) return;
  for (size_t i = 0; i < spec.members.size(); ++i)
    appendOwners(spec.members[i], argument.members()[i], owners, next);
  if (!spec.members.empty()) return;
  bool isDescriptor = argument.kind() == Argument::Kind::descriptor;
  owners.push_back(isDescriptor || argument.isPointer() || spec.type.isPointer() ? next++ : -1);
  if (isDescriptor) owners.insert(owners.end(), argument.shape().size() + argument.strides().size(), -1);
}

static gpu::SimulatedTensorMap tensorMapFor(const gpu::TensorMapSpec &spec, const gpu::TensorMapArguments &encoded) {
  gpu::SimulatedTensorMap map;
  map.base = encoded.address;
  map.element = spec.element;
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    bool isPairs = spec.element == gpu::MapElement::paddedPairs && i == 0; // the driver counts numbers
    map.dims.push_back(static_cast<int64_t>(encoded.dims[i]) / (isPairs ? 2 : 1));
    if (i) map.strides.push_back(static_cast<int64_t>(encoded.strides[i - 1]) / spec.elementBytes);
    map.box.push_back(spec.box[i]);
  }
  map.swizzle = spec.swizzle;
  map.nanFill = spec.nanFill;
  return map;
}

/// Returns the CTAs of a kernel that an SM may hold, whatever registers they need.
static int64_t ctasPerSM(const GpuTarget &target, const GpuArtifact &artifact) {
  constexpr int64_t maxCtas = 32, lanes = 32;
  int64_t byShared = (target.sharedBytes + gpu::reservedSharedBytes) / (artifact.sharedBytes + gpu::reservedSharedBytes);
  return std::max<int64_t>(1, std::min({maxCtas, byShared, target.threadsPerSM / (lanes * artifact.warps)}));
}

/// Returns the guards of `artifact` that a launch fails, by the names of GpuKernel::guardsFailedBy.
static std::vector<std::string> guardsFailedBy(const GpuArtifact &artifact, const LaunchValues &launch) {
  std::vector<std::string> broken;
  for (const LaunchGuard &guard : artifact.guards)
    if (!holds(guard, launch)) broken.push_back(guard.name);
  for (const gpu::TensorMapSpec &map : artifact.maps)
    if (!gpu::tensorMapArguments(map, launch.slots)) broken.push_back(gpu::mapGuardName(map.baseSlot));
  return broken;
}

const ThreadProgram *SimulatedKernel::versionFor(const LaunchValues &launch, std::string &problem) const {
  const ThreadProgram *version = impl->program.get();
  const std::vector<std::string> first = guardsFailedBy(version->artifact(), launch);
  VersionSearch search;
  while (true) {
    std::vector<std::string> broken = guardsFailedBy(version->artifact(), launch);
    if (broken.empty()) return version;
    if (!search.add(broken)) {
      problem = "this launch fails the guard: " + broken.front();
      return nullptr;
    }
    std::unique_ptr<ThreadProgram> &other = impl->others[search.failed()];
    if (!other) {
      CompileRequest request = impl->request;
      request.failedGuards = search.failed();
      Diagnostics diagnostics;
      other = ThreadProgram::create(request, diagnostics);
      if (!other && areVersioningRequests(impl->program->artifact().guards, first)) return impl->program.get();
      if (!other) {
        problem = diagnostics.all().empty() ? "it does not compile" : diagnostics.all().front().message;
        return nullptr;
      }
    }
    version = other.get();
  }
}

std::string SimulatedKernel::run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const {
  const std::vector<SlotKind> &kinds = impl->program->artifact().slots;
  llvm::SmallVector<uint64_t, 32> slots;
  if (!packArguments(impl->specs, arguments, kinds, slots) || slots.size() != kinds.size())
    return "the arguments do not fit the compiled kernel";
  llvm::SmallVector<int64_t, 32> bytes;
  appendTensorBytes(impl->specs, arguments, bytes);
  llvm::SmallVector<uint64_t, 32> integers = signedSlots(slots, kinds);
  std::string problem;
  const ThreadProgram *version = versionFor({integers, bytes, grid.extent}, problem);
  if (!version) return problem;
  const GpuArtifact &artifact = version->artifact();
  Result<gpu::SimulateOptions> made = optionsOf(impl->hash, impl->launches++);
  if (!made) return made.error();
  gpu::SimulateOptions options = std::move(*made);
  options.mayFuse = impl->request.options.fpFusion;
  std::vector<int64_t> owners;
  options.tagsArguments = launch.checkBounds;
  if (launch.checkBounds) {
    for (ArgumentMemory &memory : memoryOfArguments(impl->parameters, impl->specs, arguments))
      options.memory.push_back({memory.begin, memory.end, std::move(memory.name), memory.isKnown});
    int64_t next = 0;
    for (size_t i = 0; i < impl->specs.size(); ++i)
      appendOwners(impl->specs[i], arguments[i], owners, next);
  } else {
    options.memory = {{0, ~uint64_t(0), "memory", false}};
    owners.assign(slots.size(), -1);
  }
  options.checkRaces = launch.checkBounds;
  options.ctasPerSM = ctasPerSM(*impl->request.gpu, artifact);
  options.print = launch.print;
  options.stop = launch.stop;
  gpu::SimulatedArguments args;
  for (size_t i = 0; i < slots.size(); ++i)
    args.slots.push_back(owners[i] < 0 ? slots[i] : gpu::pointerInto(slots[i], owners[i]));
  struct alignas(gpu::standInBytes) StandIn {
    uint8_t bytes[gpu::standInBytes] = {};
  };
  std::vector<StandIn> standIns(artifact.maps.size()); // one for each map: stores to two empty tensors are not a race
  auto firstByte = reinterpret_cast<uint64_t>(standIns.data());
  options.memory.push_back({firstByte, firstByte + standIns.size() * sizeof(StandIn), "the replacement of an empty tensor", true});
  for (auto [i, spec] : llvm::enumerate(artifact.maps)) {
    Result<gpu::TensorMapArguments> encoded = gpu::tensorMapArguments(spec, integers);
    if (!encoded) return "a tensor map cannot be encoded: " + encoded.error();
    if (!encoded->address)
      encoded->address = firstByte + i * sizeof(StandIn);
    else if (int64_t owner = owners[static_cast<size_t>(spec.baseSlot)]; owner >= 0)
      encoded->address += gpu::pointerInto(0, owner); // a map's first element may be far from the moved ones, beyond the end of addresses
    args.maps.push_back(tensorMapFor(spec, *encoded));
  }
  std::array<int64_t, 3> blocks = grid.extent;
  blocks[0] *= artifact.ctas;
  std::optional<gpu::SimulationError> error = gpu::simulate(*version->hold(), artifact.entry, blocks, args, options);
  return error ? error->message() + " [TILEWRIGHT_SIMULATE_SEED=" + std::to_string(options.seed) + "]" : std::string();
}

} // namespace tilewright
