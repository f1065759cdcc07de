// A dot of 256 rows takes two MMAs of a CTA, which both read all columns of the second operand. Two CTAs with 128 rows each need half of
// the shared memory, of its bandwidth for that operand, and of tensor memory, so that a tile is stored while the next one is multiplied.
// With fewer rows each CTA would have 64, which take as long as 128 (docs/stages/gpu_cta_pairs.md). An iteration of a pair takes half the
// time, so its stages must be enough to cover the latency of a copy.
#include "driver/choose_cta_pairs.h"

#include "driver/steps.h"
#include "gpu/schedule/clusters/cta_pairs.h"
#include "gpu/ttg/ttg.h"
#include "gpu/ttg/unknown_code.h"
#include "ir/bug_filter.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright {

/// The steps after this one, up to schedule-loops.
static llvm::ArrayRef<Step> stepsUpToSchedule() {
  auto isNamed = [](llvm::StringRef name) { return [name](const Step &step) { return step.name == name; }; };
  llvm::ArrayRef<Step> later = allSteps().drop_until(isNamed("choose-cta-pairs")).drop_front();
  return later.drop_back(later.size() - later.take_until(isNamed("schedule-loops")).size() - 1);
}

/// True if all dots of a kernel have so many rows that each CTA of a pair would have whole MMAs of 128, and no operation
/// depends on how many CTAs the launch asks for.
static bool haveRowsOfPair(tt::FuncOp function) {
  bool hasDot = false;
  auto walk = function.walk([&](Operation *op) {
    if (ttg::mayDependOnLaunch(op)) return WalkResult::interrupt();
    if (!isa<tt::DotOp, tt::DotScaledOp>(op)) return WalkResult::advance();
    hasDot = true;
    auto tile = cast<RankedTensorType>(op->getResult(0).getType());
    return tile.getRank() == 2 && tile.getDimSize(0) >= 2 * gpu::tensorMemoryLanes ? WalkResult::advance() : WalkResult::interrupt();
  });
  return hasDot && !walk.wasInterrupted();
}

static ttg::ConfigAttr withTwoCtas(ttg::ConfigAttr config) {
  return ttg::ConfigAttr::get(config.getContext(), config.getWarps(), 2, config.getStages(), config.getMaxRegisters(), config.getTarget());
}

/// True if two CTAs that run the program of a kernel multiply together, and take less time. Fails if a step reports a bug.
static FailureOr<bool> wouldPay(tt::FuncOp function, ttg::ConfigAttr config) {
  BugFilter filter(function.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  auto copy = cast<tt::FuncOp>(function->clone());
  copy->setAttr(ttg::configName, withTwoCtas(config));
  module->push_back(copy);
  for (const Step &step : stepsUpToSchedule()) {
    bool passed = succeeded(step.pass(*module));
    if (filter.foundBug()) return failure();
    if (!passed) return false;
  }
  return gpu::pairsPay(*module->getOps<tt::FuncOp>().begin());
}

LogicalResult chooseCtaPairs(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    if (!target.ctaPairs || config.getCtas() != 1 || config.getMaxRegisters() != 0 || !haveRowsOfPair(function)) return success();
    FailureOr<bool> pays = wouldPay(function, config);
    if (failed(pays)) return failure();
    if (!*pays) return success();
    function->setAttr(ttg::configName, withTwoCtas(config));
    ttg::remark(function, "choose-cta-pairs", function.getLoc(), "2 CTAs share a program, because they can multiply together");
    return success();
  });
}

} // namespace tilewright
