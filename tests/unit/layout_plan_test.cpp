// Plans made from layouts, carried out by simulation: registers and lanes that exchange values, addresses that are read and written.
#include "layout_helpers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace tilewright::gpu;

static int64_t warpsOf(const Layout &layout) {
  return int64_t(1) << layout.bits(Axis::warp);
}

//===------------------------------------------------------------------------------------------------------------- conversions

static uint32_t selected(const std::vector<uint32_t> &masks, int64_t lane, int64_t warp) {
  uint32_t result = 0;
  int64_t bits = lane | warp << laneBits;
  for (size_t bit = 0; bit < masks.size(); ++bit)
    if (bits >> bit & 1) result ^= masks[bit];
  return result;
}

// Values are the names of the elements. Follows the three steps of ShufflePlan.
static void simulateShuffle(const ShufflePlan &plan, const Layout &src, const Layout &dst) {
  ASSERT_EQ(static_cast<int64_t>(plan.rounds.size()), dst.registersPerThread());
  for (int64_t warp = 0; warp < warpsOf(src); ++warp) {
    std::vector<std::vector<uint32_t>> got(32, std::vector<uint32_t>(dst.registersPerThread(), ~0u));
    auto sent = [&](int64_t reg, int64_t lane) { return src.apply(reg ^ selected(plan.sendSelect, lane, warp), lane, warp); };
    for (const ShufflePlan::Round &round : plan.rounds)
      for (int64_t lane = 0; lane < 32; ++lane) {
        int64_t from = round.laneXor ^ selected(plan.laneFrom, lane, warp);
        ASSERT_LT(from, 32);
        if (round.local) ASSERT_EQ(from, lane);
        if (plan.butterfly) ASSERT_EQ(from, lane ^ round.laneXor);
        got[lane][round.receive] = sent(round.send, from);
      }
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t reg = 0; reg < dst.registersPerThread(); ++reg)
        ASSERT_EQ(got[lane][reg ^ selected(plan.receiveSelect, lane, warp)], dst.apply(reg, lane, warp)) << textOf(src) << "\n"
                                                                                                         << textOf(dst);
  }
}

TEST(Conversions, kinds) {
  Layout acc = Layout::mmaAccumulator({32, 32}, 2, 2);
  EXPECT_EQ(classifyConversion(acc, acc), Conversion::none);
  Layout renamed = acc;
  std::swap(renamed.basesOf(Axis::reg)[0], renamed.basesOf(Axis::reg)[1]);
  EXPECT_EQ(classifyConversion(acc, renamed), Conversion::registers);
  EXPECT_EQ(sameThreadRegisters(renamed, acc)[1], 2);
  Layout exchanged = acc;
  std::swap(exchanged.basesOf(Axis::reg)[0], exchanged.basesOf(Axis::lane)[3]);
  EXPECT_EQ(classifyConversion(acc, exchanged), Conversion::shuffle);
  EXPECT_EQ(planShuffle(acc, exchanged)->shuffles(), acc.registersPerThread() / 2);
  EXPECT_EQ(classifyConversion(acc, Layout::coalesced({32, 32}, 4, 4, {1, 0})), Conversion::shared);
  // A warp that wants what it does not hold; one whose warps hold everything.
  Layout copies = parsed({64}, "reg=[[32]] lane=[[1],[2],[4],[8],[16]] warp=[[0]]");
  Layout shares = parsed({64}, "reg=[] lane=[[1],[2],[4],[8],[16]] warp=[[32]]");
  EXPECT_EQ(classifyConversion(shares, copies), Conversion::shared);
  EXPECT_EQ(classifyConversion(copies, shares), Conversion::shuffle);
  std::optional<ShufflePlan> plan = planShuffle(copies, shares);
  EXPECT_EQ(plan->shuffles(), 0); // each warp selects its register
  simulateShuffle(*plan, copies, shares);
}

TEST(Conversions, swapOfRegisterAndLaneCostsHalf) {
  Layout src = parsed({2, 32}, "reg=[[1,0]] lane=[[0,1],[0,2],[0,4],[0,8],[0,16]] warp=[]");
  Layout dst = parsed({2, 32}, "reg=[[0,1]] lane=[[1,0],[0,2],[0,4],[0,8],[0,16]] warp=[]");
  std::optional<ShufflePlan> plan = planShuffle(src, dst);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->shuffles(), 1);
  EXPECT_TRUE(plan->butterfly);
  EXPECT_EQ(plan->selectCount(), 2);
  simulateShuffle(*plan, src, dst);
}

// All ways to hand out the bits of a tile to registers and lanes, mixed by random invertible maps, with copies on either side.
TEST(Conversions, randomShuffles) {
  std::mt19937 random(11);
  int64_t planned = 0;
  for (int64_t trial = 0; trial < 1500; ++trial) {
    int64_t bits = 3 + random() % 6, warpBits = random() % 2;
    auto make = [&] {
      Layout layout;
      layout.shape = {int64_t(1) << bits};
      std::vector<uint32_t> pool;
      for (int64_t bit = 0; bit + warpBits < bits; ++bit)
        pool.push_back(1u << bit);
      std::shuffle(pool.begin(), pool.end(), random);
      if (trial % 2) // not only permutations of bits
        for (size_t i = 1; i < pool.size(); ++i)
          if (random() % 2) pool[i] ^= pool[random() % i];
      if (warpBits) layout.basesOf(Axis::warp).push_back(1u << (bits - 1));
      if (warpBits && trial % 3 == 0) layout.basesOf(Axis::warp)[0] ^= pool[random() % pool.size()];
      layout.basesOf(Axis::lane).assign(laneBits, 0);
      for (int64_t lane = 0; lane < laneBits; ++lane)
        if (!pool.empty() && random() % 4) {
          layout.basesOf(Axis::lane)[lane] = pool.back();
          pool.pop_back();
        } else if (random() % 3 == 0) {
          layout.basesOf(Axis::lane)[lane] = lane ? layout.basesOf(Axis::lane)[random() % lane] : 0; // copies that move together
        }
      layout.basesOf(Axis::reg) = pool;
      return layout;
    };
    Layout src = make(), dst = make();
    std::optional<ShufflePlan> plan = planShuffle(src, dst);
    ASSERT_TRUE(plan) << textOf(src) << "\n" << textOf(dst);
    ++planned;
    simulateShuffle(*plan, src, dst);
    EXPECT_LE(plan->shuffles(), dst.registersPerThread());
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(planned, 1500);
}

TEST(Conversions, accumulatorToOperand) {
  // 8-bit and tf32 chains stay within the quad of lanes that owns a row.
  for (int64_t kWidth : {1, 4}) {
    Layout acc = Layout::mmaAccumulator({16, 32}, 1, 1), operand = Layout::mmaOperand({16, 32}, 0, 1, 1, kWidth);
    std::optional<ShufflePlan> plan = planShuffle(acc, operand);
    ASSERT_TRUE(plan);
    simulateShuffle(*plan, acc, operand);
  }
  Layout acc = Layout::mmaAccumulator({16, 32}, 1, 1), operand = Layout::mmaOperand({16, 32}, 0, 1, 1, 2);
  EXPECT_LE(classifyConversion(acc, operand), Conversion::registers); // 16-bit: free
}

TEST(Conversions, sourceRegistersOfBroadcast) {
  Layout tile = Layout::mmaAccumulator({32, 64}, 2, 2);
  Layout row = tile.collapsedDim(1);
  uint32_t columns = 64;
  std::vector<std::optional<int64_t>> registers =
      sourceRegisters(tile, row, [&](uint32_t flat) { return flat / columns; }); // (r, c) -> (r, 0) of a 32x1 tile
  for (int64_t reg = 0; reg < tile.registersPerThread(); ++reg) {
    ASSERT_TRUE(registers[reg]);
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t warp = 0; warp < 4; ++warp)
        EXPECT_EQ(row.apply(*registers[reg], lane, warp), tile.apply(reg, lane, warp) / columns);
  }
  EXPECT_FALSE(sourceRegisters(tile, row.transposed({1, 0}), [](uint32_t flat) { return flat % 32; })[0]);
}

//===------------------------------------------------------------------------------------------------------- along dimensions

TEST(AlongDimensions, runs) {
  EXPECT_EQ(contiguousRun(Layout::coalesced({16, 128}, 8, 4, {1, 0}), {1, 0}), 8);
  EXPECT_EQ(contiguousRun(Layout::coalesced({16, 128}, 8, 4, {1, 0}), {0, 1}), 1);
  EXPECT_EQ(contiguousRun(Layout::mmaAccumulator({16, 8}, 1, 1), {1, 0}), 2);
  Layout permuted = parsed({128}, "reg=[[2],[1]] lane=[[4],[8],[16],[32],[64]] warp=[]");
  EXPECT_EQ(contiguousRun(permuted, {0}), 1);
  Layout crossed = parsed({64}, "reg=[[1],[3]] lane=[[4],[8],[16],[32],[0]] warp=[]");
  EXPECT_EQ(contiguousRun(crossed, {0}), 1); // registers 2, 3 hold elements 3, 2
  Layout byLane = parsed({64}, "reg=[[1],[2]] lane=[[6],[4],[8],[16],[32]] warp=[]");
  EXPECT_EQ(contiguousRun(byLane, {0}), 2); // lane 1 starts at element 6
}

// The register of the result that a register of the source is added to: its bits outside of the mask.
static int64_t resultRegister(int64_t reg, uint64_t registerMask) {
  int64_t result = 0, position = 0;
  for (int64_t bit = 0; reg >> bit; ++bit)
    if (!(registerMask >> bit & 1)) result |= (reg >> bit & 1) << position++;
  return result;
}

// Sums along a dimension by the plan: registers, butterfly over lanes, then warps.
TEST(AlongDimensions, reductions) {
  for (const Layout &layout : {Layout::mmaAccumulator({32, 64}, 2, 2), Layout::blocked({32, 64}, {2, 4}, {4, 8}, {2, 2}, {1, 0}),
                               Layout::coalesced({32, 64}, 4, 4, {0, 1}), Layout::mmaOperand({32, 64}, 0, 2, 2, 2)})
    for (int64_t dim : {0, 1}) {
      std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
      ASSERT_TRUE(plan);
      EXPECT_EQ(plan->result, layout.withoutDim(dim));
      std::map<std::array<int64_t, 3>, std::set<uint32_t>> sums; // the elements that each result register has seen
      for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t warp = 0; warp < 4; ++warp) {
            auto &sum = sums[{resultRegister(reg, plan->registerMask), static_cast<int64_t>(lane & ~plan->laneMask),
                              static_cast<int64_t>(warp & ~plan->warpMask)}];
            EXPECT_TRUE(sum.insert(layout.apply(reg, lane, warp)).second) << "counted twice";
          }
      for (const auto &[place, sum] : sums) {
        EXPECT_EQ(static_cast<int64_t>(sum.size()), layout.shape[dim]);
        uint32_t result = plan->result.apply(place[0], place[1], place[2]);
        for (uint32_t element : sum)
          EXPECT_EQ(layout.coordinates(element)[1 - dim], static_cast<int64_t>(result));
      }
    }
  EXPECT_FALSE(reductionPlan(parsed({2, 2}, "reg=[[1,1],[0,1]] lane=[] warp=[]"), 1));
}

TEST(AlongDimensions, scans) {
  std::optional<std::vector<AxisBit>> order = scanOrder(Layout::mmaAccumulator({32, 32}, 1, 2), 1);
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (std::vector<AxisBit>{{Axis::reg, 0}, {Axis::lane, 0}, {Axis::lane, 1}, {Axis::warp, 0}, {Axis::reg, 2}}));
  EXPECT_FALSE(scanOrder(parsed({4}, "reg=[[1],[3]] lane=[] warp=[]"), 0));
}

//===------------------------------------------------------------------------------------------------------------- shared memory

// Every vector reads, at the XOR of its offsets, exactly the elements of its registers; registers are covered once.
static void simulateVectors(const VectorAccess &access, const Layout &layout, const SharedLayout &shared) {
  std::set<int64_t> covered;
  for (const VectorAccess::Vector &vector : access.vectors) {
    ASSERT_EQ(static_cast<int64_t>(vector.registers.size()) * shared.elementBytes(), access.bytes);
    for (int64_t reg : vector.registers)
      ASSERT_TRUE(covered.insert(reg).second);
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t warp = 0; warp < warpsOf(layout); ++warp) {
        uint32_t address = vector.offset ^ selected(access.offsets[1], lane, 0) ^ LinearMap { access.offsets[2] }.apply(warp);
        ASSERT_EQ(address % access.bytes, 0);
        for (size_t i = 0; i < vector.registers.size(); ++i)
          ASSERT_EQ(shared.apply(address / shared.elementBytes() + i), layout.apply(vector.registers[i], lane, warp));
      }
  }
  ASSERT_EQ(static_cast<int64_t>(covered.size()), layout.registersPerThread());
}

TEST(SharedAccess, vectors) {
  SharedLayout swizzled = SharedLayout::swizzled({64, 64}, 16, 128, {1, 0});
  VectorAccess wide = vectorAccess(Layout::coalesced({64, 64}, 8, 4, {1, 0}), swizzled);
  EXPECT_EQ(wide.bytes, 16);
  EXPECT_EQ(bankConflicts(Layout::coalesced({64, 64}, 8, 4, {1, 0}), swizzled, 16), 0);
  for (const Layout &layout : {Layout::coalesced({64, 64}, 8, 4, {1, 0}), Layout::mmaAccumulator({64, 64}, 2, 2),
                               Layout::wgmmaAccumulator({64, 64}, 4, 64), Layout::coalesced({64, 64}, 4, 4, {0, 1})})
    for (const SharedLayout &shared :
         {swizzled, SharedLayout::rowMajor({64, 64}, 32, {1, 0}), SharedLayout::swizzled({64, 64}, 8, 64, {0, 1})})
      simulateVectors(vectorAccess(layout, shared), layout, shared);
  // A column of 32-bit elements in a row-major tile: all lanes in one bank.
  EXPECT_EQ(bankConflicts(Layout::coalesced({32, 32}, 1, 1, {0, 1}), SharedLayout::rowMajor({32, 32}, 32, {1, 0}), 4), 31);
  EXPECT_EQ(bankConflicts(Layout::coalesced({32, 32}, 1, 1, {1, 0}), SharedLayout::rowMajor({32, 32}, 32, {1, 0}), 4), 0);
}

// Registers that lie together in shared memory need not be neighbors by number, as a thread's neighbors in global memory are.
TEST(SharedAccess, registersInOrder) {
  SharedLayout rows = SharedLayout::rowMajor({64, 32}, 32, {1, 0});
  EXPECT_EQ(registersInOrder(vectorAccess(Layout::coalesced({64, 32}, 4, 1, {1, 0}), rows)), 4);
  EXPECT_EQ(registersInOrder(vectorAccess(Layout::coalesced({64, 32}, 2, 4, {1, 0}), rows)), 2);
  VectorAccess across = vectorAccess(Layout::coalesced({64, 32}, 2, 1, {0, 1}), rows);
  EXPECT_EQ(across.bytes, 16);
  EXPECT_EQ(registersInOrder(across), 1);
}

// B of mma.sync in rows of N: what a thread has of two or four instructions comes at once, and half or a quarter of a warp finds all banks.
TEST(SharedAccess, adjacentColumns) {
  EXPECT_TRUE(Layout::adjacentColumns(8, 1).empty());
  EXPECT_TRUE(Layout::adjacentColumns(32, 4).empty());
  EXPECT_EQ(Layout::adjacentColumns(32, 2), (std::vector<int64_t>{1, 4, 2, 3, 0}));
  for (int64_t warps : {1, 2, 4, 8})
    for (int64_t columns = 16 * warps; columns <= 256; columns *= 2) {
      std::vector<int64_t> to = Layout::adjacentColumns(columns, warps);
      Layout b = Layout::mmaOperand({32, columns}, 1, 1, warps, 1).withColumnBits(to);
      Layout result = Layout::mmaAccumulator({16, columns}, 1, warps).withColumnBits(to);
      EXPECT_TRUE(isInjectiveModuloBroadcast(b) && b.isSurjective());
      SharedLayout shared = SharedLayout::swizzled({32, columns}, 32, 128, {1, 0});
      VectorAccess access = vectorAccess(b, shared);
      simulateVectors(access, b, shared);
      EXPECT_EQ(access.bytes, columns >= 32 * warps ? 16 : 8) << columns << " columns, " << warps << " warps";
      EXPECT_EQ(bankConflicts(b, shared, access.bytes), 0) << columns << " columns, " << warps << " warps";
      EXPECT_EQ(contiguousRun(result, {1, 0}), 4);
    }
}

TEST(SharedAccess, additiveRegisters) {
  SharedLayout swizzled = SharedLayout::swizzled({64, 64}, 16, 128, {1, 0});
  for (const Layout &layout : {Layout::wgmmaAccumulator({64, 64}, 4, 64), Layout::coalesced({64, 64}, 8, 4, {1, 0})}) {
    OffsetBases offsets = offsetBases(layout, swizzled);
    uint64_t additive = splitAdd(offsets);
    EXPECT_NE(additive, 0u);
    LinearMap registers{offsets[0]}, lanes{offsets[1]}, warps{offsets[2]};
    for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
      for (int64_t lane = 0; lane < 32; ++lane)
        for (int64_t warp = 0; warp < 4; ++warp) {
          uint32_t thread = lanes.apply(lane) ^ warps.apply(warp);
          EXPECT_EQ((thread ^ registers.apply(reg & ~additive)) + registers.apply(reg & additive), thread ^ registers.apply(reg));
        }
  }
  // Columns 8, 16, 32 meet the rows of lanes in the swizzle; a step of 64 rows would not.
  EXPECT_EQ(splitAdd(offsetBases(Layout::wgmmaAccumulator({64, 64}, 4, 64), swizzled)) & 0b11100, 0u);
}

// ldmatrix as the manual says it: matrix m gets its rows from the addresses of lanes 8m .. 8m+7; lane l holds two 16-bit units of row l / 4
// (plain) or of rows 2 (l % 4) and the next (transposed).
static void simulateMatrix(const MatrixPlan &plan, const Layout &layout, const SharedLayout &shared) {
  int64_t bytes = shared.elementBytes(), perWord = plan.perWord;
  std::set<int64_t> covered;
  for (int64_t warp = 0; warp < warpsOf(layout); ++warp)
    for (const MatrixPlan::Instruction &instruction : plan.instructions)
      for (int64_t matrix = 0; matrix < plan.matrices; ++matrix)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t i = 0; i < perWord; ++i) {
            int64_t row = plan.transposed ? 2 * (lane % 4) + i : lane / 4;
            int64_t byte = plan.transposed ? lane / 4 * 2 : lane % 4 * 4 + i * bytes;
            int64_t supplier = matrix * 8 + row;
            uint32_t address = instruction.offset ^ LinearMap{plan.warpOffsets}.apply(warp);
            for (int64_t bit = 0; bit < laneBits; ++bit)
              if (supplier >> bit & 1) address ^= plan.laneOffsets[bit];
            ASSERT_EQ(address % 16, 0u);
            int64_t reg = instruction.firstRegister + matrix * perWord + i;
            covered.insert(reg);
            ASSERT_EQ(shared.apply((address + byte) / bytes), layout.apply(reg, lane, warp));
          }
  ASSERT_EQ(static_cast<int64_t>(covered.size()), layout.registersPerThread());
}

TEST(SharedAccess, matrices) {
  Layout a = Layout::mmaOperand({64, 64}, 0, 2, 2, 2), b = Layout::mmaOperand({64, 64}, 1, 2, 2, 2);
  Dims rows = {1, 0}, columns = {0, 1};
  for (int64_t span : {0, 32, 64, 128})
    for (const Dims &order : {rows, columns}) {
      SharedLayout shared = SharedLayout::swizzled({64, 64}, 16, span, order);
      for (const Layout &layout : {a, b, Layout::wgmmaOperandA({64, 64}, 4, 16), Layout::mmaAccumulator({64, 64}, 2, 2)}) {
        std::optional<MatrixPlan> plan = ldmatrixPlan(layout, shared);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->matrices, 4);
        EXPECT_EQ(plan->transposed, (order == rows) == (layout == b));
        // 128-byte rows: 8-way conflicts in each of four phases without a swizzle, none with any.
        EXPECT_EQ(plan->conflicts, span == 0 ? 28 : 0);
        simulateMatrix(*plan, layout, shared);
        EXPECT_TRUE(stmatrixPlan(layout, shared));
        if (layout == b)
          for (const MatrixPlan::Instruction &instruction : plan->instructions) { // 16 elements along K, 16 columns of a warp
            Dims first = coordinatesOf(b.shape, b.apply(instruction.firstRegister, 0, 0));
            Dims last = coordinatesOf(b.shape, b.apply(instruction.firstRegister + 7, 0, 0));
            EXPECT_EQ(last, Dims({first[0] + 9, first[1] + 16}));
          }
      }
    }
  SharedLayout words = SharedLayout::swizzled({64, 32}, 32, 128, rows), bytes = SharedLayout::swizzled({64, 128}, 8, 128, rows);
  for (auto [layout, shared] :
       {std::pair(Layout::mmaOperand({64, 32}, 0, 2, 2, 1), words), std::pair(Layout::mmaOperand({64, 128}, 0, 2, 2, 4), bytes)}) {
    std::optional<MatrixPlan> plan = ldmatrixPlan(layout, shared);
    ASSERT_TRUE(plan);
    simulateMatrix(*plan, layout, shared);
  }
  // 8-bit elements have no transposed form; a blocked layout has no matrices; the small operand has two.
  EXPECT_FALSE(ldmatrixPlan(Layout::mmaOperand({64, 128}, 1, 2, 2, 4), bytes));
  EXPECT_FALSE(ldmatrixPlan(Layout::coalesced({64, 64}, 8, 4, rows), SharedLayout::swizzled({64, 64}, 16, 128, rows)));
  EXPECT_EQ(ldmatrixPlan(Layout::mmaOperand({16, 8}, 1, 1, 1, 2), SharedLayout::rowMajor({16, 8}, 16, rows))->matrices, 2);
  EXPECT_EQ(ldmatrixPlan(Layout::mmaOperand({16, 8}, 1, 1, 1, 2), vectorSwizzled({16, 8}, 16, rows, 8, 1, 8))->conflicts, 0);
}

TEST(SharedAccess, scratch) {
  Dims rows = {1, 0}, columns = {0, 1};
  for (int64_t bits : {8, 16, 32, 64}) {
    std::vector<Layout> layouts = {
        Layout::coalesced({64, 64}, 128 / bits, 4, rows), Layout::coalesced({64, 64}, 128 / bits, 4, columns),
        Layout::mmaAccumulator({64, 64}, 2, 2),           Layout::wgmmaAccumulator({64, 64}, 4, 64),
        Layout::mmaOperand({64, 64}, 1, 2, 2, 2),         Layout::blocked({64, 64}, {1, 1}, {1, 32}, {4, 1}, rows)};
    for (const Layout &src : layouts)
      for (const Layout &dst : layouts) {
        ScratchPlan plan = optimalScratch(src, dst, bits, MatrixInstructions{true, true});
        ASSERT_TRUE(plan.shared.isBijection());
        simulateVectors(plan.store, src, plan.shared);
        simulateVectors(plan.load, dst, plan.shared);
        if (plan.storeMatrix) simulateMatrix(*plan.storeMatrix, src, plan.shared);
        if (plan.loadMatrix) simulateMatrix(*plan.loadMatrix, dst, plan.shared);
        // Never worse than plain rows.
        SharedLayout plain = SharedLayout::rowMajor({64, 64}, bits, rows);
        ScratchPlan vectors = optimalScratch(src, dst, bits);
        EXPECT_LE(vectors.store.wavefronts + vectors.load.wavefronts,
                  vectorAccess(src, plain).wavefronts + vectorAccess(dst, plain).wavefronts)
            << bits << "\n"
            << textOf(src) << "\n"
            << textOf(dst);
      }
  }
  // 32-bit transposition: the diagonal swizzle, no conflict on either side.
  ScratchPlan plan = optimalScratch(Layout::coalesced({32, 32}, 1, 1, rows), Layout::coalesced({32, 32}, 1, 1, columns), 32);
  EXPECT_EQ(plan.store.wavefronts + plan.load.wavefronts, 64);
  // Accumulators of 16 bits to rows for wide stores: 16 bytes a lane out, 4 in, everything at the full width of the banks.
  plan =
      optimalScratch(Layout::mmaAccumulator({64, 64}, 2, 2), Layout::coalesced({64, 64}, 8, 4, rows), 16, MatrixInstructions{true, true});
  EXPECT_EQ(plan.load.bytes, 16);
  EXPECT_EQ(plan.load.wavefronts, 16);
  ASSERT_TRUE(plan.storeMatrix);
  EXPECT_EQ(plan.storeMatrix->conflicts, 0);
  // The smallest tiles, and booleans, which are bytes in memory.
  for (const Dims &shape : {Dims{}, Dims{1}, Dims{2, 1}}) {
    Layout tiny = Layout::coalesced(shape, 4, 4, rowMajorOrder(static_cast<int64_t>(shape.size())));
    plan = optimalScratch(tiny, tiny, 1);
    EXPECT_EQ(plan.shared.elementBits, 8);
    simulateVectors(plan.store, tiny, plan.shared);
    EXPECT_EQ(classifyConversion(tiny, tiny), Conversion::none);
  }
}
