#include "gpu/sm_model/sm.h"

#include <algorithm>

namespace tilewright::gpu::model {

Sm::Sm(const Code &code, ptx::KernelAttr kernel, const ModeledLaunch &launch, const SmRates &rates, int64_t resident,
       std::vector<double> missFractions)
    : code(code), launch(launch), rates(rates), warpsOfCta(kernel.getThreads() / lanesOfWarp), resident(resident),
      cluster(std::max<int64_t>(kernel.getCluster(), 1)), misses(std::move(missFractions)) {
  traffic.resize(2 * (code.body.arguments.size() + 1));
  misses.resize(traffic.size(), 1);
}

void Sm::start(double time) {
  size_t cta = ctas.size();
  ctas.emplace_back();
  ctas.back().running = warpsOfCta;
  for (int64_t index = 0; index < warpsOfCta; ++index) {
    warps.push_back(std::make_unique<Warp>(code, placeOf(programOf(started), index)));
    warpCta.push_back(cta);
    pending.push_back(nullptr);
    warps.back()->now = time;
    push(warps.size() - 1);
  }
  ++started;
}

void Sm::finish(size_t index) {
  Cta &cta = ctaOf(index);
  Warp &warp = *warps[index];
  double last = warp.now;
  for (const AsyncGroups *groups : {&warp.stores, &warp.mmas, &warp.copies})
    for (double done : groups->committed)
      last = std::max(last, done);
  cta.end = std::max(cta.end, last);
  end = std::max(end, last);
  warps[index].reset();
  if (--cta.running == 0 && started < wanted) start(cta.end + ctaStartLatency);
}

namespace {
struct Progress {
  double steps = 0; ///< without those of spin loops
  double time = 0;
};
} // namespace

/// Executes one operation. False if the warp has to wait.
bool Sm::execute(size_t index, const Node &node, double time) {
  Warp &warp = *warps[index];
  warp.evaluate(node);
  Step step{index, warp, node, time};
  issue(step);
  if (!node.bodies.empty()) warp.enter(node);
  step.time = warp.now;
  if (node.modeled) (this->*node.modeled->effect)(step);
  return !step.waits;
}

double Sm::run(int64_t count, const Steps &counted) {
  constexpr double maxSteps = 500'000;
  wanted = count;
  for (int64_t cta = 0; cta < std::min(count, resident); ++cta)
    start(ctaStartLatency);
  double all = counted.all, steps = 0, spinSteps = 0, now = 0, budget = std::min(all, maxSteps);
  std::optional<Progress> half, spinHalf;
  while (!queue.empty() && steps < maxSteps && spinSteps < maxSteps) {
    auto [time, index] = queue.top();
    queue.pop();
    Warp &warp = *warps[index];
    if (!pending[index] && !(pending[index] = warp.next())) {
      finish(index);
      continue;
    }
    const Node &node = *pending[index];
    double ready = node.isFree() ? time : issueTime(index, node, readyTime(warp, node));
    if (ready > time) {
      queue.push({ready, index});
      warp.now = ready;
      continue;
    }
    pending[index] = nullptr;
    ++(warp.spins() ? spinSteps : steps);
    now = std::max(now, time);
    if (!half && steps >= budget / 2) half = {steps, now};
    if (!spinHalf && spinSteps >= maxSteps / 2) spinHalf = {steps, now};
    if (execute(index, node, time)) push(index);
  }
  bool stopped = !queue.empty();
  Progress since = (spinSteps < maxSteps ? half : spinHalf).value_or(Progress());
  isComplete &=
      stopped ? steps > since.steps && !waitsSince(since.time) : llvm::all_of(ctas, [](const Cta &cta) { return cta.running == 0; });
  // The rest goes on at the rate of the second half, and the SM with the most work ends last.
  double cycles = stopped ? now : end;
  if (stopped && isComplete) cycles += std::max(all - steps, 0.0) * (now - since.time) / (steps - since.steps);
  double scale = steps > 0 ? std::max(all / steps, 1.0) : 1, most = counted.ofBusiestSm / all;
  busy.issue *= scale, busy.l2Bytes *= scale, busy.memoryBytes *= scale;
  for (double &cyclesOfUnit : busy.ofUnits)
    cyclesOfUnit *= scale;
  for (double &bytes : traffic)
    bytes *= scale;
  // What MMAs read of shared memory has not delayed other accesses. What is still in the L2 cache is written during the next kernel, as
  // that of the previous kernel was.
  return std::max({most > 0 ? cycles * most : cycles, busy[Unit::shared], busy.memoryBytes * rates.memoryCyclesPerByte()});
}

} // namespace tilewright::gpu::model
