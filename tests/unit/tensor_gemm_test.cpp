// The GEMM of tensor_gemm_text.h on the simulator: its result, and each synchronization removed once, which is reported.
#include "tensor_gemm_text.h"

using namespace tilewright;
using namespace tilewright::gpu;
using namespace tilewright::gpu::tensor_gemm;

namespace {

struct Matrices {
  std::vector<uint16_t> a, b;
  std::vector<double> av, bv;
  std::vector<float> out;
  Launch run;

  Matrices()
      : a(size_t(tiles * rowsOfTile * steps * depthOfStep)), b(size_t(columnsOfTile * steps * depthOfStep)), av(a.size()), bv(b.size()),
        out(size_t(tiles * rowsOfTile * columnsOfTile)) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = uint16_t(encode(TensorFormat::f16, av[i] = double((i * 5 + i / 192 * 3) % 13) - 6));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = uint16_t(encode(TensorFormat::f16, bv[i] = double((i * 3 + i / 192) % 7) - 3));
    int64_t depth = steps * depthOfStep;
    run.map(a, MapElement::f16, {depth, tiles * rowsOfTile}, {depth}, {64, 128}, 128)
        .map(b, MapElement::f16, {depth, columnsOfTile}, {depth}, {64, 64}, 128)
        .pointer(out);
  }
};

TEST(TensorGemm, IsRight) {
  Matrices matrices;
  ASSERT_EQ(simulateText(gemm, matrices.run), "");
  size_t depth = size_t(steps * depthOfStep), columns = size_t(columnsOfTile);
  for (size_t row = 0; row < size_t(tiles * rowsOfTile); ++row)
    for (size_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (size_t k = 0; k < depth; ++k)
        sum += matrices.av[row * depth + k] * matrices.bv[n * depth + k];
      ASSERT_EQ(matrices.out[row * columns + n], sum) << row << " " << n; // integers: exact
    }
}

TEST(TensorGemm, NeedsEachSynchronization) {
  Matrices matrices;
  int removed = 0;
  for (size_t mark = gemm.find(" // REMOVE"); mark != std::string::npos; mark = gemm.find(" // REMOVE", mark + 1)) {
    size_t begin = gemm.rfind('\n', mark) + 1;
    std::string line = gemm.substr(begin, mark - begin), text = gemm;
    text.erase(begin, gemm.find('\n', mark) + 1 - begin);
    std::string message;
    for (uint64_t seed = 0; seed < 3 && message.empty(); ++seed)
      message = simulateOnce(text, matrices.run, seed,
                             seed == 0   ? AsyncTiming::late
                             : seed == 1 ? AsyncTiming::early
                                         : AsyncTiming::random);
    EXPECT_TRUE(message.starts_with("test.mlir:")) << line << ": " << message;
    ++removed;
  }
  EXPECT_EQ(removed, 12);
}

} // namespace
