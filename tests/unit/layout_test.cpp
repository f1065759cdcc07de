// Layouts as maps: constructors against the tables of the instructions, algebra against enumeration.
#include "layout_helpers.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace tilewright::gpu;

//===------------------------------------------------------------------------------------------------------------- the tables

TEST(LayoutTables, mmaAccumulator) {
  EXPECT_EQ(textOf(Layout::mmaAccumulator({16, 8}, 1, 1)), "reg=[[0,1],[8,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaAccumulator({64, 32}, 2, 2)),
            "reg=[[0,1],[8,0],[0,16],[32,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[[16,0],[0,8]]");
  // Too few rows: the second warp along M holds copies.
  EXPECT_EQ(textOf(Layout::mmaAccumulator({16, 16}, 2, 2)), "reg=[[0,1],[8,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[[0,0],[0,8]]");
  EXPECT_EQ(textOf(Layout::mmaAccumulator({4, 16, 8}, 1, 1)),
            "reg=[[0,0,1],[0,8,0],[1,0,0],[2,0,0]] lane=[[0,0,2],[0,0,4],[0,1,0],[0,2,0],[0,4,0]] warp=[]");
}

TEST(LayoutTables, mmaOperands) {
  EXPECT_EQ(textOf(Layout::mmaOperand({16, 16}, 0, 1, 1, 2)), "reg=[[0,1],[8,0],[0,8]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaOperand({16, 8}, 1, 1, 1, 2)), "reg=[[1,0],[8,0]] lane=[[2,0],[4,0],[0,1],[0,2],[0,4]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaOperand({16, 8}, 0, 1, 1, 1)), "reg=[[8,0],[0,4]] lane=[[0,1],[0,2],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaOperand({8, 8}, 1, 1, 1, 1)), "reg=[[4,0]] lane=[[1,0],[2,0],[0,1],[0,2],[0,4]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaOperand({16, 32}, 0, 1, 1, 4)),
            "reg=[[0,1],[0,2],[8,0],[0,16]] lane=[[0,4],[0,8],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaOperand({32, 8}, 1, 1, 1, 4)), "reg=[[1,0],[2,0],[16,0]] lane=[[4,0],[8,0],[0,1],[0,2],[0,4]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaOperand({32, 16}, 0, 2, 2, 2)),
            "reg=[[0,1],[8,0],[0,8]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[[16,0],[0,0]]");
  EXPECT_EQ(textOf(Layout::mmaOperand({16, 16}, 1, 2, 2, 2)), "reg=[[1,0],[8,0]] lane=[[2,0],[4,0],[0,1],[0,2],[0,4]] warp=[[0,0],[0,8]]");
}

TEST(LayoutTables, tensorMemory) {
  EXPECT_EQ(textOf(Layout::tensorMemory({128, 16}, 4)),
            "reg=[[0,1],[0,2],[0,4],[0,8]] lane=[[1,0],[2,0],[4,0],[8,0],[16,0]] warp=[[32,0],[64,0]]");
  // The second warp group has the second half of the columns, or the second 128 rows.
  EXPECT_EQ(textOf(Layout::tensorMemory({128, 16}, 8)),
            "reg=[[0,1],[0,2],[0,4]] lane=[[1,0],[2,0],[4,0],[8,0],[16,0]] warp=[[32,0],[64,0],[0,8]]");
  EXPECT_EQ(textOf(Layout::tensorMemory({256, 16}, 8)),
            "reg=[[0,1],[0,2],[0,4],[0,8]] lane=[[1,0],[2,0],[4,0],[8,0],[16,0]] warp=[[32,0],[64,0],[128,0]]");
  EXPECT_EQ(textOf(Layout::tensorMemory({256, 16}, 16)),
            "reg=[[0,1],[0,2],[0,4]] lane=[[1,0],[2,0],[4,0],[8,0],[16,0]] warp=[[32,0],[64,0],[128,0],[0,8]]");
  // Further rows follow in registers.
  EXPECT_EQ(textOf(Layout::tensorMemory({512, 16}, 8)),
            "reg=[[0,1],[0,2],[0,4],[0,8],[256,0]] lane=[[1,0],[2,0],[4,0],[8,0],[16,0]] warp=[[32,0],[64,0],[128,0]]");
  // 64 rows are in half of the lanes: lanes 16 to 31 have the second half of a warp's columns.
  EXPECT_EQ(textOf(Layout::tensorMemory({64, 32}, 8)),
            "reg=[[0,1],[0,2],[0,4]] lane=[[1,0],[2,0],[4,0],[8,0],[0,8]] warp=[[16,0],[32,0],[0,16]]");
}

// The table of gpu_blackwell.md: word r of a block has the scales of rows r, r + 32, r + 64 and r + 96, four of each.
TEST(LayoutTables, scales) {
  SharedLayout scales = SharedLayout::scales({256, 8});
  EXPECT_TRUE(scales.isBijection());
  for (uint32_t byte = 0; byte < scales.bytes(); ++byte) {
    uint32_t block = byte / 512, inBlock = byte % 512, row = block / 2 * 128 + inBlock % 16 / 4 * 32 + inBlock / 16;
    EXPECT_EQ(scales.apply(byte), row * 8 + block % 2 * 4 + inBlock % 4) << byte;
  }
}

// The same tables as formulas of the PTX manual, element by element.
TEST(LayoutTables, mmaScales) {
  EXPECT_EQ(textOf(Layout::mmaScale({16, 4}, 0, 1, 1)), "reg=[[0,1],[0,2]] lane=[[8,0],[0,0],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_EQ(textOf(Layout::mmaScale({64, 2}, 0, 2, 2)), "reg=[[0,1],[32,0]] lane=[[8,0],[0,0],[1,0],[2,0],[4,0]] warp=[[16,0],[0,0]]");
  EXPECT_EQ(textOf(Layout::mmaScale({32, 2}, 1, 2, 2)), "reg=[[0,1],[16,0]] lane=[[0,0],[0,0],[1,0],[2,0],[4,0]] warp=[[0,0],[8,0]]");
  // The lanes that an MMA with selector 0 reads.
  Layout a = Layout::mmaScale({16, 1}, 0, 1, 1), b = Layout::mmaScale({8, 1}, 1, 1, 1);
  for (int64_t row = 0; row < 16; ++row)
    EXPECT_EQ(a.apply(0, 4 * (row % 8) + row / 8, 0), row);
  for (int64_t column = 0; column < 8; ++column)
    EXPECT_EQ(b.apply(0, 4 * column, 0), column);
}

TEST(LayoutTables, mmaFormulas) {
  Layout c = Layout::mmaAccumulator({16, 8}, 1, 1), a = Layout::mmaOperand({16, 16}, 0, 1, 1, 2),
         b = Layout::mmaOperand({16, 8}, 1, 1, 1, 2);
  for (int64_t lane = 0; lane < 32; ++lane) {
    int64_t group = lane / 4, inGroup = lane % 4;
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(c.coordinates(c.apply(i, lane, 0)), (Dims{group + 8 * (i / 2), inGroup * 2 + i % 2}));
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(a.coordinates(a.apply(i, lane, 0)), (Dims{group + 8 * (i / 2 % 2), inGroup * 2 + i % 2 + 8 * (i / 4)}));
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(b.coordinates(b.apply(i, lane, 0)), (Dims{inGroup * 2 + i % 2 + 8 * (i / 2), group}));
  }
}

TEST(LayoutTables, wgmma) {
  for (int64_t n : {8, 16, 64, 256}) {
    Layout d = Layout::wgmmaAccumulator({64, n}, 4, n);
    ASSERT_EQ(d.registersPerThread(), n / 2);
    for (int64_t thread = 0; thread < 128; ++thread)
      for (int64_t e = 0; e < n / 2; ++e)
        EXPECT_EQ(d.coordinates(d.apply(e, thread % 32, thread / 32)),
                  (Dims{16 * (thread / 32) + thread % 32 / 4 + 8 * (e / 2 % 2), 2 * (thread % 4) + e % 2 + 8 * (e / 4)}));
  }
  EXPECT_EQ(textOf(Layout::wgmmaAccumulator({256, 32}, 8, 16)),
            "reg=[[0,1],[8,0],[0,8],[0,16],[128,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[[16,0],[32,0],[64,0]]");
  EXPECT_EQ(textOf(Layout::wgmmaAccumulator({64, 64}, 8, 16)),
            "reg=[[0,1],[8,0],[0,8],[0,16]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[[16,0],[32,0],[0,32]]");
  // A chain of 16-bit products needs no conversion.
  EXPECT_EQ(Layout::wgmmaAccumulator({128, 128}, 8, 128), Layout::wgmmaOperandA({128, 128}, 8, 16));
  EXPECT_EQ(textOf(Layout::wgmmaOperandA({64, 8}, 4, 32)), "reg=[[8,0],[0,4]] lane=[[0,1],[0,2],[1,0],[2,0],[4,0]] warp=[[16,0],[32,0]]");
  EXPECT_EQ(textOf(Layout::wgmmaOperandA({64, 32}, 4, 8)),
            "reg=[[0,1],[0,2],[8,0],[0,16]] lane=[[0,4],[0,8],[1,0],[2,0],[4,0]] warp=[[16,0],[32,0]]");
}

TEST(LayoutTables, blocked) {
  EXPECT_EQ(textOf(Layout::blocked({16, 16}, {1, 4}, {8, 4}, {1, 1}, {1, 0})),
            "reg=[[0,1],[0,2],[8,0]] lane=[[0,4],[0,8],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_EQ(textOf(Layout::blocked({16}, {4}, {32}, {4}, {0})), "reg=[[1],[2]] lane=[[4],[8],[0],[0],[0]] warp=[[0],[0]]");
  EXPECT_EQ(textOf(Layout::blocked({2}, {4}, {32}, {1}, {0})), "reg=[[1]] lane=[[0],[0],[0],[0],[0]] warp=[]");
  EXPECT_EQ(textOf(Layout::coalesced({4, 128}, 8, 4, {1, 0})),
            "reg=[[0,1],[0,2],[0,4]] lane=[[0,8],[0,16],[0,32],[0,64],[1,0]] warp=[[2,0],[0,0]]");
  // A blocked layout is thread (row, column) -> block of elements, repeated over the tile.
  for (int64_t rows : {8, 32, 64})
    for (int64_t columns : {8, 32, 128}) {
      Layout layout = Layout::blocked({rows, columns}, {2, 4}, {4, 8}, {2, 2}, {1, 0});
      EXPECT_TRUE(layout.isSurjective());
      EXPECT_TRUE(isInjectiveModuloBroadcast(layout));
      for (int64_t warp = 0; warp < 4; ++warp)
        for (int64_t lane = 0; lane < 32; ++lane) {
          int64_t row = (lane / 8 * 2 + warp / 2 * 8) % rows, column = (lane % 8 * 4 + warp % 2 * 32) % columns;
          EXPECT_EQ(layout.coordinates(layout.apply(0, lane, warp)), (Dims{row, column}));
        }
    }
}

//===----------------------------------------------------------------------------------------------------------------- algebra

static std::vector<Layout> samples() {
  return {
      Layout::blocked({16, 32}, {1, 4}, {4, 8}, {2, 2}, {1, 0}),
      Layout::blocked({16, 32}, {2, 2}, {16, 2}, {4, 1}, {0, 1}),
      Layout::mmaAccumulator({16, 32}, 1, 4),
      Layout::mmaAccumulator({16, 32}, 2, 2),
      Layout::mmaOperand({16, 32}, 0, 2, 2, 2),
      Layout::mmaOperand({16, 32}, 1, 2, 2, 2),
      Layout::coalesced({16, 32}, 8, 4, {1, 0}),
      Layout::coalesced({16, 32}, 2, 4, {0, 1}),
  };
}

TEST(LayoutAlgebra, inverse) {
  for (const Layout &layout : samples()) {
    EXPECT_EQ(layout.rank(), 9);
    LinearMap inverse = layout.inverse();
    for (uint32_t flat = 0; flat < 512; ++flat) {
      EXPECT_EQ(layout.map().apply(inverse.apply(flat)), flat);
      EXPECT_EQ(layout.apply(layout.locationOf(inverse.apply(flat))), flat);
    }
    // Locations without a free bit hold each element once.
    std::set<uint32_t> seen;
    int64_t locations = 0;
    for (uint64_t input = 0; input < uint64_t(1) << layout.map().columns.size(); ++input) {
      HardwareLocation location = layout.locationOf(input);
      if ((location.reg & layout.freeMask(Axis::reg)) || (location.lane & layout.freeMask(Axis::lane)) ||
          (location.warp & layout.freeMask(Axis::warp)))
        continue;
      seen.insert(layout.apply(location));
      ++locations;
    }
    EXPECT_EQ(locations, 512);
    EXPECT_EQ(seen.size(), 512u);
  }
}

TEST(LayoutAlgebra, randomMaps) {
  std::mt19937 random(7);
  for (int64_t trial = 0; trial < 300; ++trial) {
    int64_t inputs = 1 + random() % 8, outputs = 1 + random() % 8;
    LinearMap map;
    for (int64_t i = 0; i < inputs; ++i)
      map.columns.push_back(random() % (1u << outputs));
    LinearMap inverse = map.pseudoInverse(outputs);
    std::set<uint32_t> image;
    for (uint64_t input = 0; input < uint64_t(1) << inputs; ++input) {
      image.insert(map.apply(input));
      EXPECT_EQ(map.apply(inverse.apply(map.apply(input))), map.apply(input));
    }
    EXPECT_EQ(image.size(), size_t(1) << map.rank());
    for (uint32_t output = 0; output < 1u << outputs; ++output) {
      std::optional<uint64_t> input = map.solve(output);
      EXPECT_EQ(input.has_value(), image.count(output) == 1);
      if (input) EXPECT_EQ(map.apply(*input), output);
    }
    // Intersections against enumeration.
    Vectors left, right;
    for (int64_t i = 0; i < 4; ++i)
      left.push_back(random() % 64), right.push_back(random() % 64);
    Echelon inLeft = spanOfAll(left), inRight = spanOfAll(right), both = spanOfAll(intersection(left, right));
    for (uint64_t vector = 0; vector < 64; ++vector)
      EXPECT_EQ(both.contains(vector), inLeft.contains(vector) && inRight.contains(vector));
  }
}

TEST(LayoutAlgebra, shapes) {
  for (const Layout &layout : samples()) {
    EXPECT_EQ(layout.reshaped({4, 4, 32}).reshaped({16, 32}), layout);
    EXPECT_EQ(layout.transposed({1, 0}).transposed({1, 0}), layout);
    Layout transposed = layout.transposed({1, 0}), joined = layout.joined(), row = layout.withoutDim(0), unit = layout.withUnitDim(1);
    EXPECT_EQ(unit.shape, (Dims{16, 1, 32}));
    EXPECT_EQ(row.withUnitDim(0), layout.collapsedDim(0));
    for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
      for (int64_t lane = 0; lane < 32; ++lane)
        for (int64_t warp = 0; warp < 4; ++warp) {
          Dims at = layout.coordinates(layout.apply(reg, lane, warp));
          EXPECT_EQ(transposed.coordinates(transposed.apply(reg, lane, warp)), (Dims{at[1], at[0]}));
          EXPECT_EQ(unit.coordinates(unit.apply(reg, lane, warp)), (Dims{at[0], 0, at[1]}));
          for (int64_t half = 0; half < 2; ++half)
            EXPECT_EQ(joined.coordinates(joined.apply(2 * reg + half, lane, warp)), (Dims{at[0], at[1], half}));
        }
    std::optional<Halves> halves = joined.splitHalves();
    ASSERT_TRUE(halves);
    EXPECT_EQ(halves->layout, layout);
    EXPECT_EQ(halves->registerBit, 0);
    Layout longer = layout.concatenated(0);
    EXPECT_EQ(longer.shape, (Dims{32, 32}));
    EXPECT_TRUE(longer.isSurjective());
    for (int64_t reg = 0; reg < longer.registersPerThread(); ++reg) {
      Dims at = layout.coordinates(layout.apply(reg % layout.registersPerThread(), 5, 1));
      EXPECT_EQ(longer.coordinates(longer.apply(reg, 5, 1)), (Dims{at[0] + reg / layout.registersPerThread() * 16, at[1]}));
    }
  }
  EXPECT_FALSE(Layout::coalesced({64, 2}, 1, 1, {1, 0}).splitHalves()); // a lane tells the halves apart
}

//===--------------------------------------------------------------------------------------------------------------- shared layouts

// Byte addresses by the rule itself: column blocks, then a4 ^= a7 and so on.
TEST(SharedLayouts, swizzleFormula) {
  for (int64_t bits : {8, 16, 32, 64})
    for (int64_t span : {0, 32, 64, 128})
      for (bool transposed : {false, true})
        for (Dims shape : {Dims{64, 128}, Dims{16, 64}, Dims{128, 64}}) {
          Dims order = transposed ? Dims{0, 1} : Dims{1, 0};
          int64_t inner = shape[order[0]], outer = shape[order[1]], bytes = bits / 8;
          if (span > inner * bytes) continue;
          SharedLayout layout = SharedLayout::swizzled(shape, bits, span, order);
          ASSERT_TRUE(layout.isBijection());
          LinearMap offsets = layout.inverse();
          int64_t wide = span ? span / bytes : inner, mask = span ? span / 16 - 1 : 0;
          for (int64_t row = 0; row < outer; ++row)
            for (int64_t column = 0; column < inner; ++column) {
              int64_t address = ((column / wide * outer + row) * wide + column % wide) * bytes;
              address ^= (address >> 7 & mask) << 4;
              Dims at(2);
              at[order[0]] = column;
              at[order[1]] = row;
              ASSERT_EQ(offsets.apply(flatOf(shape, at)) * bytes, address);
            }
          EXPECT_EQ(spanOf(layout), (TileSwizzle{span, order}));
          EXPECT_EQ(spanOf(layout.transposed({1, 0})), (TileSwizzle{span, transposed ? Dims{1, 0} : Dims{0, 1}}));
        }
  EXPECT_EQ(SharedLayout::swizzled({64, 32}, 16, 128, {1, 0}), SharedLayout::swizzled({64, 32}, 16, 64, {1, 0}));
}

TEST(SharedLayouts, vectorSwizzleFormula) {
  SharedLayout layout = vectorSwizzled({32, 32}, 16, {1, 0}, 8, 2, 4);
  for (int64_t row = 0; row < 32; ++row)
    for (int64_t column = 0; column < 32; ++column) {
      int64_t offset = row * 32 + ((column / 8 ^ (row / 2 % 4)) * 8 + column % 8);
      EXPECT_EQ(coordinatesOf(layout.shape, layout.apply(offset)), (Dims{row, column}));
    }
  EXPECT_FALSE(spanOf(vectorSwizzled({32, 32}, 16, {1, 0}, 4, 1, 8)));
  // 64-byte rows: two rows in 128 bytes, so this is the 64-byte pattern of TMA.
  EXPECT_EQ(spanOf(layout), (TileSwizzle{64, {1, 0}}));
}

TEST(SharedLayouts, tmaBox) {
  std::optional<TmaBox> box = tmaBox(SharedLayout::swizzled({128, 256}, 16, 128, {1, 0}));
  ASSERT_TRUE(box);
  EXPECT_EQ(box->box, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(box->copies, 4);
  EXPECT_EQ(box->bytes, 128 * 128);
  EXPECT_EQ(box->spanBytes, 128);
  box = tmaBox(SharedLayout::rowMajor({4, 8, 16}, 32, {2, 1, 0}));
  ASSERT_TRUE(box);
  EXPECT_EQ(box->box, (std::vector<int64_t>{16, 8, 4}));
  EXPECT_EQ(box->copies, 1);
  EXPECT_FALSE(tmaBox(SharedLayout::rowMajor({512, 8}, 32, {1, 0})));                         // 512 rows
  EXPECT_FALSE(tmaBox(SharedLayout::rowMajor({64, 4}, 16, {1, 0})));                          // 8 bytes
  EXPECT_FALSE(tmaBox(vectorSwizzled({32, 32}, 16, {1, 0}, 4, 1, 8)));                        // not its pattern
  EXPECT_EQ(tmaBox(SharedLayout::swizzled({64, 128}, 16, 128, {0, 1}))->order, (Dims{0, 1})); // rows contiguous
}

TEST(SharedLayouts, padding) {
  // Every second scale of a row is padding, and every second word of 16 bytes.
  SharedLayout scales = SharedLayout::scales({128, 4}).padded(1, 0).padded(0, 6);
  EXPECT_EQ(scales.shape, (Dims{64, 2}));
  EXPECT_EQ(scales.bytes(), 512);
  EXPECT_FALSE(scales.isBijection());
  EXPECT_TRUE(scales.isInjective());
  for (uint32_t row = 0; row < 64; ++row)
    for (uint32_t group = 0; group < 2; ++group)
      EXPECT_EQ(scales.inverse().apply(row * 2 + group), row % 32 * 16 + row / 32 * 4 + group * 2) << row << " " << group;
  // 16 numbers of 4 bits are 8 bytes, and 8 bytes of padding.
  SharedLayout pairs = SharedLayout::swizzled({128, 256}, 8, 128, {1, 0}).padded(1, 3);
  EXPECT_EQ(pairs.shape, (Dims{128, 128}));
  EXPECT_TRUE(pairs.isInjective());
  EXPECT_EQ(pairs.bytes(), 128 * 256);
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t byte = 0; byte < 128; ++byte) {
      uint32_t at = byte / 8 * 16 + byte % 8;
      EXPECT_EQ(pairs.inverse().apply(row * 128 + byte), at / 128 * 16384 + row * 128 + ((at % 128) ^ (row % 8 * 16)));
    }
  EXPECT_FALSE(spanOf(pairs));
  std::optional<TmaBox> box = tmaBox(pairs);
  ASSERT_TRUE(box);
  EXPECT_TRUE(box->isPadded);
  EXPECT_EQ(box->box, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(box->copies, 2);
  EXPECT_EQ(box->bytes, 128 * 128);
  EXPECT_EQ(tmaBox(pairs.transposed({1, 0}))->order, (Dims{0, 1}));
  EXPECT_FALSE(tmaBox(SharedLayout::swizzled({128, 64}, 8, 128, {1, 0}).padded(1, 3)));  // rows of 64 numbers
  EXPECT_FALSE(tmaBox(SharedLayout::swizzled({128, 256}, 8, 128, {1, 0}).padded(0, 4))); // whole rows
  // One element has two offsets.
  SharedLayout broken = scales;
  broken.bases[0] = broken.bases[1];
  EXPECT_FALSE(broken.isInjective());
}

TEST(LayoutPictures, grids) {
  EXPECT_EQ(picture(Layout::blocked({2, 4}, {1, 2}, {2, 2}, {1, 1}, {1, 0}), 16, 16), "      0     1     2     3\n"
                                                                                      "0  T0:0  T0:1  T1:0  T1:1\n"
                                                                                      "1  T2:0  T2:1  T3:0  T3:1\n"
                                                                                      "T<thread>:<register>\n");
  std::string cut = picture(Layout::mmaAccumulator({64, 64}, 2, 2), 2, 3);
  EXPECT_NE(cut.find("rows 0..1 of 64, columns 0..2 of 64"), std::string::npos) << cut;
  EXPECT_NE(picture(Layout::blocked({2}, {1}, {32}, {1}, {0}), 16, 16).find("T0:0,T2:0+14"), std::string::npos);
}
