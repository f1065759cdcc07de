// Specializes a kernel on arguments that are multiples of 8, 4 or 2. Launches are specialized on multiples of 16 in any case. Smaller
// divisors still make accesses wider: rows of 1000 halves begin at multiples of 16 bytes, rows of 1002 at multiples of 4. If the
// divisibility of an argument limits the width of an access, the kernel requests a version by a guard, on which it does not rely:
//     requests: stride_am is not a multiple of 8
// For a launch with the stride 1000 this guard fails, and the launch uses a version that relies on the opposite:
//     failed: stride_am is not a multiple of 8      ->      %stride_am {tt.divisibility = 8}, relies on: stride_am is a multiple of 8
// Later passes only read tt.divisibility. Kernels whose arguments are multiples of 16, or do not matter, request nothing.
#include "gpu/passes.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/ttg/ttg.h"

#include "ir/address/indices.h"
#include "support/target.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {
namespace {

using address::divisibilityOf;

constexpr int64_t defaultDivisor = 16, powers[] = {8, 4, 2};

class Specializer {
public:
  explicit Specializer(tt::FuncOp function) : function(function), failedGuards(ttg::failedGuardsOf(function)) {}

  void run() {
    if (failedGuards.contains(everyGuard)) return;
    for (BlockArgument argument : function.getArguments())
      if (isCandidate(argument)) candidates.push_back(argument);
    for (BlockArgument argument : candidates)
      applyFailedGuards(argument);
    if (candidates.empty() || widthWith(std::nullopt) == widthWith(defaultDivisor)) return;
    for (BlockArgument argument : candidates)
      requestVersions(argument);
  }

private:
  bool isCandidate(BlockArgument argument) {
    Type type = argument.getType();
    bool counts = isa<tt::PointerType>(type) || type.isInteger(32) || type.isInteger(64);
    return counts && !function.getArgAttr(argument.getArgNumber(), ttg::notSpecializedName) && divisibilityOf(argument) < defaultDivisor;
  }

  static LaunchGuard guardOf(BlockArgument argument, int64_t divisor, bool isVersioningRequest) {
    LaunchGuard guard;
    guard.name =
        address::nameOf(argument) + (isVersioningRequest ? " is not a multiple of " : " is a multiple of ") + std::to_string(divisor);
    using Kind = BoundNode::Kind;
    guard.nodes = {{Kind::slot, argument.getArgNumber()}, {Kind::range, divisor, divisor}, {Kind::remainder, 0, 1}};
    guard.isVersioningRequest = isVersioningRequest;
    return guard;
  }

  void applyFailedGuards(BlockArgument argument) {
    for (int64_t divisor : powers) {
      if (divisor <= divisibilityOf(argument) || !failedGuards.contains(guardOf(argument, divisor, true).name)) continue;
      LaunchGuard guard = guardOf(argument, divisor, false);
      if (failedGuards.contains(guard.name)) continue;
      function.setArgAttr(argument.getArgNumber(), tt::divisibilityName,
                          IntegerAttr::get(IntegerType::get(function.getContext(), 32), divisor));
      ttg::relyOn(function, guard);
    }
  }

  /// Returns the sum of the widths of all accesses, if all candidates were multiples of `others` (none: unchanged), and `one` of `divisor`.
  int64_t widthWith(std::optional<int64_t> others, BlockArgument one = {}, int64_t divisor = 1) {
    auto hypothesis = [&](BlockArgument argument) {
      if (!others || !llvm::is_contained(candidates, argument)) return divisibilityOf(argument);
      return argument == one ? divisor : *others;
    };
    SmallVector<int64_t> widths = AxisAnalysis(function, /*trustsPromises=*/true, hypothesis).accessWidths(function);
    return std::accumulate(widths.begin(), widths.end(), int64_t(0));
  }

  void requestVersions(BlockArgument argument) {
    int64_t wider = widthWith(defaultDivisor, argument, powers[0]);
    for (int64_t divisor : powers) {
      int64_t narrower = widthWith(defaultDivisor, argument, divisor / 2);
      if (divisor > divisibilityOf(argument) && wider > narrower) ttg::relyOn(function, guardOf(argument, divisor, true));
      wider = narrower;
    }
  }

  tt::FuncOp function;
  address::FailedGuards failedGuards;
  SmallVector<BlockArgument> candidates;
};

} // namespace

LogicalResult specializeDivisibility(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp kernel, ttg::ConfigAttr, const GpuTarget &) {
    Specializer(kernel).run();
    return success();
  });
}

} // namespace tilewright::gpu
