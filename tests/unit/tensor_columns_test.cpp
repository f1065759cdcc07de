// Columns of tensor memory: what is live at the same time never shares any, and what is not may.
#include "gpu/schedule/tensor_memory/tensor_columns.h"

#include <gtest/gtest.h>

#include <random>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

TEST(TensorColumns, liveTilesAreDisjoint) {
  std::mt19937 random(7);
  for (int run = 0; run < 200; ++run) {
    struct Tile {
      int64_t first, end;
      OperationSpan live;
    };
    std::vector<Tile> tiles;
    TensorColumns columns;
    int64_t end = 0;
    for (int i = 0; i < 12; ++i) {
      int64_t count = int64_t(8) << random() % 5, from = random() % 20;
      OperationSpan live{from, from + int64_t(random() % 10)};
      int64_t first = columns.take(count, live);
      for (const Tile &other : tiles)
        EXPECT_TRUE(live.last < other.live.first || other.live.last < live.first || first >= other.end || other.first >= first + count);
      tiles.push_back({first, first + count, live});
      end = std::max(end, first + count);
    }
    EXPECT_EQ(columns.used(), end);
  }
}

TEST(TensorColumns, freedColumnsAreTakenAgain) {
  TensorColumns columns;
  EXPECT_EQ(columns.take(128, {0, 9}), 0);
  EXPECT_EQ(columns.take(64, {5, 20}), 128);
  EXPECT_EQ(columns.take(64, {10, 30}), 0);
  EXPECT_EQ(columns.take(96, {10, 30}), 192); // 64 columns between the others are too few
  EXPECT_EQ(columns.take(32), 288);           // in the whole kernel
  EXPECT_EQ(columns.used(), 320);
  EXPECT_EQ(columns.allocated(), 512);
}

} // namespace
