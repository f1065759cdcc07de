#include "gpu/layout/verify_plan.h"

#include <algorithm>

namespace tilewright::gpu {

/// Returns the axis and index of bit `bit` of the thread number (lane bits, then warp bits).
static std::pair<Axis, int64_t> axisOfBit(const Layout &layout, int64_t bit) {
  return bit < layout.bits(Axis::lane) ? std::pair(Axis::lane, bit) : std::pair(Axis::warp, bit - layout.bits(Axis::lane));
}

static int64_t threadBits(const Layout &layout) {
  return layout.bits(Axis::lane) + layout.bits(Axis::warp);
}

/// Returns the element of this thread, relative to the first thread.
static uint32_t elementOfThread(const Layout &layout, uint32_t thread) {
  uint32_t lanes = (uint32_t(1) << layout.bits(Axis::lane)) - 1;
  return layout.apply(0, thread & lanes, thread >> layout.bits(Axis::lane));
}

static uint32_t elementOfRegister(const Layout &layout, int64_t reg) {
  return layout.apply(reg, 0, 0);
}

std::optional<std::string> verifyRegisters(const std::vector<std::optional<int64_t>> &registers, const Layout &src, const Layout &dst) {
  if (static_cast<int64_t>(registers.size()) != dst.registersPerThread()) return "a register is not assigned";
  for (size_t reg = 0; reg < registers.size(); ++reg) {
    if (!registers[reg] || *registers[reg] < 0 || *registers[reg] >= src.registersPerThread()) return "a register has no source";
    if (elementOfRegister(src, *registers[reg]) != elementOfRegister(dst, static_cast<int64_t>(reg)))
      return "a register gets a wrong element";
  }
  if (src.basesOf(Axis::lane) != dst.basesOf(Axis::lane) || src.basesOf(Axis::warp) != dst.basesOf(Axis::warp))
    return "a thread keeps elements of another thread";
  return {};
}

// Thread t gets, in its register got ^ receive(t), register send(t') ^ sent of the thread t': of itself, or of lane from(t) ^ laneXor in
// its warp. So dst(got) ^ dst(receive(t)) ^ dst(t) must be src(sent) ^ src(send(t')) ^ src(t'), for all t: at 0, and for each bit of t.
std::optional<std::string> verifyShuffle(const ShufflePlan &plan, const Layout &src, const Layout &dst) {
  if (src.bits(Axis::lane) != laneBits || dst.bits(Axis::lane) != laneBits) return "a warp does not have 32 lanes";
  if (src.bits(Axis::warp) != dst.bits(Axis::warp)) return "the layouts have different numbers of warps";
  size_t bits = static_cast<size_t>(threadBits(dst));
  if (plan.receiveSelect.size() < bits || plan.sendSelect.size() < bits || plan.laneFrom.size() < bits)
    return "a thread bit is not covered";
  auto exist = [](const std::vector<uint32_t> &registers, const Layout &layout) {
    return std::ranges::all_of(registers, [&](uint32_t reg) { return reg < layout.registersPerThread(); });
  };
  if (!exist(plan.sendSelect, src) || !exist(plan.receiveSelect, dst)) return "a thread selects an invalid register";
  constexpr uint32_t lanes = (uint32_t(1) << laneBits) - 1;
  auto inSource = [&](uint32_t thread) { // what the thread sends in round 0, relative to register 0 of the first thread
    uint32_t selected = 0;
    for (size_t bit = 0; bit < bits; ++bit)
      if (thread >> bit & 1) selected ^= plan.sendSelect[bit];
    return elementOfRegister(src, selected) ^ elementOfThread(src, thread);
  };
  bool anyLocal = false, anyMoved = false;
  std::vector<bool> received(static_cast<size_t>(dst.registersPerThread()));
  if (plan.rounds.size() != received.size()) return "the number of rounds differs from the number of registers";
  for (const ShufflePlan::Round &round : plan.rounds) {
    if (round.receive < 0 || round.receive >= dst.registersPerThread() || received[static_cast<size_t>(round.receive)])
      return "a register is received twice";
    if (round.send < 0 || round.send >= src.registersPerThread() || round.laneXor > lanes)
      return "a round reads an invalid register or lane";
    received[static_cast<size_t>(round.receive)] = true;
    (round.local ? anyLocal : anyMoved) = true;
    uint32_t from = round.local ? 0 : round.laneXor;
    if (elementOfRegister(dst, round.receive) != (elementOfRegister(src, round.send) ^ inSource(from)))
      return "a round moves a wrong element";
  }
  for (size_t bit = 0; bit < bits; ++bit) {
    auto [axis, at] = axisOfBit(dst, static_cast<int64_t>(bit));
    uint32_t wanted = elementOfRegister(dst, plan.receiveSelect[bit]) ^ dst.basesOf(axis)[static_cast<size_t>(at)];
    uint32_t own = uint32_t(1) << bit;
    uint32_t from = plan.butterfly ? own & lanes : plan.laneFrom[bit] & lanes;
    if (anyMoved && wanted != inSource(from | (own & ~lanes))) return "a lane reads from a lane that does not hold its element";
    if (anyLocal && wanted != inSource(own)) return "a lane does not hold the element that it keeps";
  }
  return {};
}

std::optional<std::string> verifyBuffer(const SharedLayout &shared) {
  if (!shared.isInjective()) return "two elements of a buffer have one offset";
  return {};
}

std::optional<std::string> verifyVectors(const VectorAccess &access, const Layout &layout, const SharedLayout &shared) {
  uint32_t bytes = static_cast<uint32_t>(shared.elementBytes());
  if (access.bytes <= 0 || access.bytes % bytes) return "an access covers part of an element";
  LinearMap offsets = shared.inverse();
  auto byteOffsetOf = [&](uint32_t element) { return offsets.apply(element) * bytes; };
  for (Axis axis : {Axis::lane, Axis::warp}) {
    const std::vector<uint32_t> &given = access.offsets[static_cast<size_t>(axis)];
    if (given.size() != layout.basesOf(axis).size()) return "a thread bit is not covered";
    for (size_t bit = 0; bit < given.size(); ++bit) {
      if (given[bit] != byteOffsetOf(layout.basesOf(axis)[bit])) return "a thread's offset differs from that of its elements";
      if (given[bit] % static_cast<uint32_t>(access.bytes)) return "an access is not aligned";
    }
  }
  std::vector<bool> reached(static_cast<size_t>(layout.registersPerThread()));
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (static_cast<int64_t>(vector.registers.size()) * bytes != access.bytes) return "an access has a wrong width";
    if (vector.offset % static_cast<uint32_t>(access.bytes)) return "an access is not aligned";
    for (size_t i = 0; i < vector.registers.size(); ++i) {
      int64_t reg = vector.registers[i];
      if (reg < 0 || reg >= layout.registersPerThread()) return "an access uses a nonexistent register";
      if (byteOffsetOf(elementOfRegister(layout, reg)) != vector.offset + static_cast<uint32_t>(i) * bytes)
        return "a register's offset differs from that of its element";
      reached[static_cast<size_t>(reg)] = true;
    }
  }
  for (bool yes : reached)
    if (!yes) return "a register is not assigned";
  return {};
}

// Lane i supplies the address of row i & 7 of matrix i >> 3, 16 bytes. Not transposed, thread t holds in word j the elements from byte 4 *
// (t & 3) of row t >> 2 of matrix j. Transposed, it holds the elements at t >> 2 of the rows 2 * (t & 3) and the next one.
std::optional<std::string> verifyMatrices(const MatrixPlan &plan, const Layout &layout, const SharedLayout &shared) {
  uint32_t bytes = static_cast<uint32_t>(shared.elementBytes());
  if (layout.bits(Axis::lane) != laneBits || plan.perWord * bytes != 4 || (plan.transposed && bytes != 2))
    return "the matrix instruction does not support these elements";
  LinearMap offsets = shared.inverse();
  auto byteOffsetOf = [&](uint32_t element) { return offsets.apply(element) * bytes; };
  auto rowOf = [&](uint32_t lane) { // offset of the row whose address this lane supplies
    uint32_t offset = 0;
    for (size_t bit = 0; bit < plan.laneOffsets.size(); ++bit)
      if (lane >> bit & 1) offset ^= plan.laneOffsets[bit];
    return offset;
  };
  auto readBy = [&](uint32_t lane, uint32_t word, uint32_t element) { // offset that the instruction reads for that element of that word
    if (plan.transposed) return rowOf(word * 8 + (lane & 3) * 2 + element) ^ (lane >> 2) * 2;
    return rowOf(word * 8 + (lane >> 2)) ^ ((lane & 3) * 4 + element * bytes);
  };
  for (uint32_t offset : plan.laneOffsets)
    if (offset % 16) return "a row is not aligned";
  if (plan.warpOffsets.size() != layout.basesOf(Axis::warp).size()) return "a thread bit is not covered";
  for (size_t bit = 0; bit < plan.warpOffsets.size(); ++bit) {
    if (plan.warpOffsets[bit] != byteOffsetOf(layout.basesOf(Axis::warp)[bit])) return "a warp's offset differs from that of its elements";
    if (plan.warpOffsets[bit] % 16) return "a row is not aligned";
  }
  for (size_t bit = 0; bit < laneBits; ++bit)
    if (readBy(uint32_t(1) << bit, 0, 0) != byteOffsetOf(layout.basesOf(Axis::lane)[bit])) return "a lane gets a wrong element";
  std::vector<bool> reached(static_cast<size_t>(layout.registersPerThread()));
  for (const MatrixPlan::Instruction &instruction : plan.instructions) {
    if (instruction.offset % 16) return "a row is not aligned";
    for (int64_t word = 0; word < plan.matrices; ++word)
      for (int64_t element = 0; element < plan.perWord; ++element) {
        int64_t reg = instruction.firstRegister + word * plan.perWord + element;
        if (reg < 0 || reg >= layout.registersPerThread()) return "a matrix fills a nonexistent register";
        uint32_t read = instruction.offset ^ readBy(0, static_cast<uint32_t>(word), static_cast<uint32_t>(element));
        if (byteOffsetOf(elementOfRegister(layout, reg)) != read) return "a register gets a wrong element";
        reached[static_cast<size_t>(reg)] = true;
      }
  }
  for (bool yes : reached)
    if (!yes) return "a register is not assigned";
  return {};
}

} // namespace tilewright::gpu
