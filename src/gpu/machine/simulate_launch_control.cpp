// Cluster launch control: a running cluster asks for one that has not started, and does its work. PTX ISA 9.1, sections 9.7.13.17 and
// 9.7.13.18.
//
// The response is written like the bytes of a TMA load: through the async proxy, some time after the issue, and reported to an mbarrier.
// Its bits are opaque; here they are the block indices of the first CTA and a word that is 1 for "canceled".
#include "gpu/machine/simulate_program.h"

#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

constexpr int64_t responseBytes = 16;

/// Checks that warps which have read the previous response executed fence_async after it: the next one comes through the async proxy.
static bool checkFences(Warp &warp, const Step &step, int64_t lane, Cta &target, uint64_t response) {
  const Clock &known = warp.knownOf(target);
  for (size_t other = 0; other < target.warps.size(); ++other) {
    const Warp &reader = *target.warps[other];
    auto lanes = reader.responseReaders.find(response);
    if (lanes == reader.responseReaders.end() || !(target.state(response).readers >> other & 1)) continue;
    const ReadState &read = target.reads[size_t(response - sharedBase) * size_t(target.readers()) + other];
    for (int64_t i = 0; i < lanesPerWarp; ++i)
      if (lanes->second >> i & 1 && !reader.fencedSince(i, read.epoch, sim::at(known, int64_t(other))))
        return warp.fail(step,
                         "fence_async is missing: warp " + llvm::Twine(other) + ", lane " + llvm::Twine(i) +
                             " has read the previous response (" + target.whereIs(read.op) + ") and did not execute fence_async after it",
                         lane, read.op);
  }
  return true;
}

/// Starts a request: its response belongs to the request until its mbarrier has the bytes.
static bool startRequest(Warp &warp, const Step &step, int64_t lane, Cta &target, uint64_t response, uint64_t barrier) {
  if (!findBarrier(warp, step, lane, target, barrier)) return false;
  Chunk chunk{response, responseBytes};
  if (!warp.touch(step, lane, target, chunk, Warp::Access::asyncWrite, responseBytes)) return false;
  if (!checkFences(warp, step, lane, target, response)) return false;
  target.setOwner(chunk, target.newCopy(step.number));
  return true;
}

static bool tryCancel(Warp &warp, const Step &step, ptx::ClcTryCancelOp op) {
  uint32_t acts = warp.acting(step);
  for (int64_t lane : lanesOf(acts)) {
    if (warp.cta.refusedCancel)
      return warp.fail(step, "the CTA has seen a request fail, and must not make another one (PTX ISA 9.7.13.17)", lane,
                       *warp.cta.refusedCancel);
    LaunchRequest request{&warp, &step, warp.cta.local(warp.get(step, 0)[lane]), warp.cta.local(warp.get(step, 1)[lane]),
                          op.getMulticast()};
    for (const auto &cta : warp.cta.cluster.ctas) {
      bool isTarget = op.getMulticast() || cta.get() == &warp.cta;
      if (isTarget && !startRequest(warp, step, lane, *cta, request.response, request.barrier)) return false;
    }
    warp.cta.launchRequests.push_back(request);
  }
  if (!acts) return true;
  warp.advanced = true; // other clusters start, or ask first
  warp.cta.cluster.hasPolled = true;
  return warp.yield();
}

/// Writes the response and reports its bytes, as a TMA load does.
static bool respond(Cta &cta, const LaunchRequest &request, const std::array<uint32_t, 4> &words) {
  Mbarrier &barrier = cta.mbarriers.at(request.barrier);
  std::memcpy(cta.at(request.response), words.data(), sizeof words);
  cta.setOwner({request.response, responseBytes}, 0);
  cta.noteWrite(request.response, responseBytes, barrier.component, barrier.phase + 1, 0, request.step->number);
  if (!addTransactions(*request.warp, *request.step, -1, barrier, -responseBytes)) return false;
  completePhase(barrier);
  return true;
}

bool runLaunchRequest(Cta &cta) {
  LaunchRequest request = cta.launchRequests.front();
  cta.launchRequests.pop_front();
  Launch &launch = cta.cluster.launch;
  ++launch.changes;
  std::array<uint32_t, 4> words{};
  if (std::optional<int64_t> number = launch.takeCluster()) {
    std::array<int64_t, 3> first = launch.positionOf(*number, cta.program.kernel.getCluster());
    words = {uint32_t(first[0]), uint32_t(first[1]), uint32_t(first[2]), 1};
  }
  for (const auto &target : cta.cluster.ctas)
    if ((request.multicast || target.get() == &cta) && !respond(*target, request, words)) return false;
  return true;
}

static bool query(Warp &warp, const Step &step, ptx::ClcQueryOp) {
  const Launch &launch = warp.cta.cluster.launch;
  std::map<uint64_t, uint32_t> readers; // by response
  for (int64_t lane : lanesOf(warp.mask)) {
    uint64_t response = warp.cta.local(warp.get(step, 0)[lane]);
    if (!warp.touch(step, lane, response, responseBytes, Warp::Access::read, responseBytes)) return false;
    warp.responseReaders[response] = readers[response] |= uint32_t(1) << lane;
    std::array<uint32_t, 4> words;
    std::memcpy(words.data(), warp.cta.at(response), sizeof words);
    bool canceled = words[3] == 1;
    if (!canceled) warp.cta.refusedCancel = step.number;
    if (canceled) warp.program = uint32_t(launch.numberAt({words[0], words[1], words[2]}, warp.cta.program.kernel.getCluster()));
    warp.result(step, 0)[lane] = canceled;
    for (size_t i = 0; i < 3; ++i)
      warp.result(step, 1 + i)[lane] = canceled ? words[i] : 0xdeadbeef;
  }
  return true;
}

/// A request may be refused although a cluster has not started: it starts later.
std::optional<int64_t> Launch::takeCluster() {
  constexpr uint64_t requestsOfRefusal = 8;
  if (random() % requestsOfRefusal == 0) return std::nullopt;
  int64_t left = clusters[0] * clusters[1] * clusters[2] - nextCluster;
  int64_t start = left > 0 ? int64_t(random() % uint64_t(left)) : 0;
  for (int64_t i = 0; i < left; ++i) {
    int64_t number = nextCluster + (start + i) % left;
    if (canceled.insert(number).second) return number;
  }
  return std::nullopt;
}

std::array<int64_t, 3> Launch::positionOf(int64_t number, int64_t ctas) const {
  return {number % clusters[0] * ctas, number / clusters[0] % clusters[1], number / (clusters[0] * clusters[1])};
}

int64_t Launch::numberAt(std::array<int64_t, 3> position, int64_t ctas) const {
  return position[0] / ctas + clusters[0] * (position[1] + clusters[1] * position[2]);
}

void addLaunchControlHandlers(HandlerTable &table) {
  table.add<tryCancel, query>();
}

} // namespace tilewright::gpu::sim
