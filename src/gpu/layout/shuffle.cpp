// Plans conversions inside warps. In one shuffle every lane sends one register and reads from one lane. So a round is a set of elements of
// which each lane holds exactly one before and needs exactly one after. Such sets are the cosets of a space W that intersects neither the
// span P of the source's registers nor the span Q of the target's: no lane has two elements of a coset, on either side.
//   transpose 2x2, row in the register, column in the lane -> the reverse:  P = <row>, Q = <column>, W = <row+column>
//     coset {00, 11}: each lane keeps its own;  coset {01, 10}: one shuffle, lanes swap. Two registers, one shuffle instead of two.
// Lanes with copies get marker bits (bit 32 + lane), which make them distinct: the choice between copies is then a choice of W.
#include "gpu/layout/layout.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tilewright::gpu {

constexpr int64_t markerShift = 32;

int64_t ShufflePlan::shuffles() const {
  return std::count_if(rounds.begin(), rounds.end(), [](const Round &round) { return !round.local; });
}

int64_t ShufflePlan::selectCount() const {
  auto isSet = [](uint32_t mask) { return mask != 0; };
  return std::count_if(sendSelect.begin(), sendSelect.end(), isSet) + std::count_if(receiveSelect.begin(), receiveSelect.end(), isSet);
}

static Vectors toVectors(const std::vector<uint32_t> &bases) {
  return Vectors(bases.begin(), bases.end());
}

// Chooses for each lane bit of the target the element (relative to lane 0's) of a round, in lane + span(Q). The span W of these elements
// must not intersect P. Prefers elements that the same lane of the source holds: whole rounds then need no shuffle.
static std::optional<Vectors> chooseElements(const Vectors &sourceRegs, const Vectors &sourceLanes, const Vectors &targetChoice,
                                             const Vectors &targetLanes) {
  std::vector<std::optional<uint64_t>> chosen(targetLanes.size());
  Vectors space, open;
  for (size_t lane = 0; lane < targetLanes.size(); ++lane) {
    if (lane < sourceLanes.size()) chosen[lane] = commonPoint(targetLanes[lane], targetChoice, sourceLanes[lane], sourceRegs);
    if (chosen[lane])
      space.push_back(*chosen[lane]);
    else
      open.push_back(targetLanes[lane]);
  }
  // Complete W to a complement of Q. Pair vectors that are only in P with vectors that are only in Q; their sums are in neither.
  Vectors target = join(targetChoice, space);
  Vectors whole = join(target, open);
  SplitPair split = splitPair(intersection(join(sourceRegs, space), whole), target, whole);
  if (split.left.size() > split.right.size()) return std::nullopt;
  space = join(space, split.outside);
  for (size_t i = 0; i < split.left.size(); ++i)
    space.push_back(split.left[i] ^ split.right[i]);
  Vectors result;
  for (size_t lane = 0; lane < targetLanes.size(); ++lane) {
    if (!chosen[lane]) chosen[lane] = commonPoint(0, space, targetLanes[lane], targetChoice);
    if (!chosen[lane]) return std::nullopt;
    result.push_back(*chosen[lane]);
  }
  return result;
}

namespace {
// The register and lane of the source that hold an element, as XOR masks.
struct Held {
  uint32_t reg = 0, lane = 0;
};
class Source {
public:
  Source(const Vectors &regs, const Vectors &lanes) {
    for (size_t bit = 0; bit < regs.size(); ++bit)
      span.add(regs[bit], uint64_t(1) << bit);
    for (size_t bit = 0; bit < lanes.size(); ++bit)
      span.add(lanes[bit], uint64_t(1) << (32 + bit));
  }
  std::optional<Held> find(uint64_t element) const {
    Echelon::Reduced reduced = span.reduce(element);
    if (reduced.rest != 0) return std::nullopt;
    return Held{static_cast<uint32_t>(reduced.tag), static_cast<uint32_t>(reduced.tag >> 32)};
  }

private:
  Echelon span;
};
} // namespace

/// Returns one round for each register of the target, sorted by the distance between lanes. `offered`: the register that a lane sends.
static std::vector<ShufflePlan::Round> roundsOf(const Layout &dst, const Source &source, const std::function<uint32_t(uint32_t)> &offered,
                                                bool butterfly) {
  std::vector<ShufflePlan::Round> rounds;
  LinearMap registers{dst.basesOf(Axis::reg)};
  for (int64_t reg = 0; reg < dst.registersPerThread(); ++reg) {
    Held from = *source.find(registers.apply(reg));
    rounds.push_back({from.reg ^ offered(from.lane), reg, from.lane, butterfly && from.lane == 0});
  }
  std::sort(rounds.begin(), rounds.end(), [](const ShufflePlan::Round &left, const ShufflePlan::Round &right) {
    return std::pair(left.laneXor, left.receive) < std::pair(right.laneXor, right.receive);
  });
  return rounds;
}

std::optional<ShufflePlan> planShuffle(const Layout &src, const Layout &dst) {
  if (src.bits(Axis::lane) != dst.bits(Axis::lane) || src.bits(Axis::warp) != dst.bits(Axis::warp)) return std::nullopt;
  Vectors sourceRegs = toVectors(src.basesOf(Axis::reg)), sourceLanes = toVectors(src.basesOf(Axis::lane)), markers;
  Echelon held = spanOfAll(sourceRegs);
  for (size_t lane = 0; lane < sourceLanes.size(); ++lane)
    if (!held.add(sourceLanes[lane])) {
      markers.push_back(uint64_t(1) << (markerShift + lane));
      sourceLanes[lane] |= markers.back();
    }
  Source source(sourceRegs, sourceLanes);
  Vectors targetRegs = toVectors(dst.basesOf(Axis::reg)), targetLanes = toVectors(dst.basesOf(Axis::lane));
  for (uint64_t element : join(targetRegs, targetLanes))
    if (!source.find(element)) return std::nullopt;

  std::optional<Vectors> elements = chooseElements(sourceRegs, sourceLanes, join(targetRegs, markers), targetLanes);
  if (!elements) return std::nullopt;

  ShufflePlan plan;
  Echelon choice; // the register of the target that holds the chosen element; independent of markers
  for (size_t bit = 0; bit < targetRegs.size(); ++bit)
    choice.add(targetRegs[bit], uint64_t(1) << bit);
  for (uint64_t marker : markers)
    choice.add(marker, 0);
  Echelon sender; // lane -> register that it sends, from the chosen elements; unread lanes may send any value
  plan.butterfly = true;
  for (size_t lane = 0; lane < targetLanes.size(); ++lane) {
    std::optional<Held> from = source.find((*elements)[lane]);
    if (!from) return std::nullopt;
    plan.receiveSelect.push_back(static_cast<uint32_t>(choice.reduce((*elements)[lane] ^ targetLanes[lane]).tag));
    plan.laneFrom.push_back(from->lane);
    plan.butterfly &= from->lane == uint32_t(1) << lane;
    sender.add(from->lane, from->reg);
  }
  for (size_t lane = 0; lane < sourceLanes.size(); ++lane)
    sender.add(uint64_t(1) << lane, 0);
  auto offered = [&](uint32_t lanes) { return static_cast<uint32_t>(sender.reduce(lanes).tag); };
  for (size_t lane = 0; lane < sourceLanes.size(); ++lane)
    plan.sendSelect.push_back(offered(uint32_t(1) << lane));

  // A warp may need elements shifted against those that it holds; the shift is one more constant of the round.
  for (int64_t bit = 0; bit < src.bits(Axis::warp); ++bit) {
    std::optional<Held> from = source.find(src.basesOf(Axis::warp)[bit] ^ dst.basesOf(Axis::warp)[bit]);
    if (!from) return std::nullopt;
    plan.laneFrom.push_back(from->lane);
    plan.sendSelect.push_back(from->reg ^ offered(from->lane));
    plan.receiveSelect.push_back(0);
    plan.butterfly &= from->lane == 0;
  }

  plan.rounds = roundsOf(dst, source, offered, plan.butterfly);
  return plan;
}

} // namespace tilewright::gpu
