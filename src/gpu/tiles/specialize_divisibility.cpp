// Launches are specialised on arguments that are multiples of 16, as everywhere in this language. Much that is not one still fills an
// access: rows of 1000 halves begin at multiples of 16 bytes, rows of 1002 at multiples of 4. So a kernel in which the divisibility of an
// argument bounds the width of an access says so, by a fact that it prefers to be true without relying on it:
//     prefers: stride_am is no multiple of 8
// The launch whose stride is 1000 refutes that, and takes a version of the kernel that relies on the contrary:
//     refuted: stride_am is no multiple of 8      ->      %stride_am {tt.divisibility = 8}, relies on: stride_am is a multiple of 8
// All later passes only look at tt.divisibility. Kernels whose arguments are multiples of 16, or do not matter, prefer nothing.
#include "gpu/passes.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/tiles/ttg.h"

#include "ir/address/indices.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int64_t specialised = 16, powers[] = {8, 4, 2};

class Specializer {
public:
  explicit Specializer(tt::FuncOp function) : function(function), failedGuards(ttg::failedGuardsOf(function)) {}

  void run() {
    if (failedGuards.contains(everyGuard)) return;
    for (BlockArgument argument : function.getArguments())
      if (isCandidate(argument)) candidates.push_back(argument);
    for (BlockArgument argument : candidates)
      takeFailedGuards(argument);
    if (candidates.empty() || widthWith(std::nullopt) == widthWith(specialised)) return;
    for (BlockArgument argument : candidates)
      preferWhatWouldHelp(argument);
  }

private:
  int64_t divisibilityOf(BlockArgument argument) {
    auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tt::divisibilityName);
    return known ? known.getInt() : 1;
  }

  bool isCandidate(BlockArgument argument) {
    Type type = argument.getType();
    bool counts = isa<tt::PointerType>(type) || type.isInteger(32) || type.isInteger(64);
    return counts && !function.getArgAttr(argument.getArgNumber(), ttg::notSpecializedName) && divisibilityOf(argument) < specialised;
  }

  static LaunchGuard guardOf(BlockArgument argument, int64_t divisor, bool isVersioningRequest) {
    LaunchGuard guard;
    guard.name = address::nameOf(argument) + (isVersioningRequest ? " is no multiple of " : " is a multiple of ") + std::to_string(divisor);
    using Kind = BoundNode::Kind;
    guard.nodes = {{Kind::slot, argument.getArgNumber()}, {Kind::between, divisor, divisor}, {Kind::remainder, 0, 1}};
    guard.isVersioningRequest = isVersioningRequest;
    return guard;
  }

  void setDivisibility(BlockArgument argument, int64_t divisor) {
    auto number = IntegerAttr::get(IntegerType::get(function.getContext(), 32), divisor);
    if (divisor > 1)
      function.setArgAttr(argument.getArgNumber(), tt::divisibilityName, number);
    else
      function.removeArgAttr(argument.getArgNumber(), tt::divisibilityName);
  }

  void takeFailedGuards(BlockArgument argument) {
    for (int64_t divisor : powers) {
      if (divisor <= divisibilityOf(argument) || !failedGuards.contains(guardOf(argument, divisor, true).name)) continue;
      LaunchGuard guard = guardOf(argument, divisor, false);
      if (failedGuards.contains(guard.name)) continue;
      setDivisibility(argument, divisor);
      ttg::relyOn(function, guard);
    }
  }

  /// The widths of all accesses, added up, if all candidates were multiples of `others` (none: as they are), and `one` of `divisor`.
  int64_t widthWith(std::optional<int64_t> others, BlockArgument one = {}, int64_t divisor = 1) {
    SmallVector<int64_t> before;
    Attribute guards = function->getAttr(ttg::guardsName);
    for (BlockArgument argument : candidates) {
      before.push_back(divisibilityOf(argument));
      if (others) setDivisibility(argument, argument == one ? divisor : *others);
    }
    AxisAnalysis axes(function);
    int64_t width = 0;
    auto add = [&](Value pointer, Value mask) {
      int64_t widest = 1;
      auto tile = dyn_cast<RankedTensorType>(pointer.getType());
      for (int64_t dim = 0; tile && dim < tile.getRank(); ++dim)
        widest = std::max(widest, axes.vectorWidth(pointer, mask, static_cast<size_t>(dim)));
      width += widest;
    };
    function.walk([&](tt::LoadOp load) { add(load.getPtr(), load.getMask()); });
    function.walk([&](tt::StoreOp store) { add(store.getPtr(), store.getMask()); });
    for (auto [argument, number] : llvm::zip(candidates, before))
      setDivisibility(argument, number);
    // The trial must not rely on anything.
    if (guards)
      function->setAttr(ttg::guardsName, guards);
    else
      function->removeAttr(ttg::guardsName);
    return width;
  }

  void preferWhatWouldHelp(BlockArgument argument) {
    int64_t wider = widthWith(specialised, argument, powers[0]);
    for (int64_t divisor : powers) {
      int64_t narrower = widthWith(specialised, argument, divisor / 2);
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
