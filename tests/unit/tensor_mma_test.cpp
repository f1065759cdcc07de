// tcgen05.mma on the simulator: every kind, format, layout and option, compared with sums in f64 of the decoded numbers.
#include "tensor_text.h"

#include <cmath>
#include <random>

using namespace tilewright;
using namespace tilewright::gpu;
using F = TensorFormat;

namespace {

bool isDense(const InstructionDescriptor &shape) {
  return shape.kind == MmaKind::mxf4 || shape.kind == MmaKind::mxf4nvf4;
}

/// Random codes of finite numbers; f16, bf16 and tf32 are near 1.
uint32_t randomCode(F format, std::mt19937 &random) {
  while (true) {
    auto code = uint32_t(random()) & (bitsOf(format) == 32 ? ~0u : (1u << bitsOf(format)) - 1);
    if (format == F::f16) code = encode(F::f16, double(int(code % 4001) - 2000) / 1024);
    if (format == F::bf16) code = encode(F::bf16, double(int(code % 401) - 200) / 64);
    if (format == F::tf32) code = encode(F::f32, double(int(code % 4001) - 2000) / 1024);
    if (std::isfinite(decode(format, code))) return code;
  }
}

TestMatrix randomMatrix(F format, int64_t rows, int64_t depth, std::mt19937 &random) {
  TestMatrix matrix{rows, depth, {}};
  for (int64_t i = 0; i < rows * depth; ++i)
    matrix.codes.push_back(randomCode(format, random));
  return matrix;
}

/// One MMA (or several steps of one) with random operands, and its result.
struct MmaRun {
  MmaTest test;
  TestMatrix a, b;
  std::vector<uint32_t> scalesA, scalesB; // by row (or column), then by block of the one step
  std::vector<uint8_t> image;
  std::vector<uint32_t> words, out;
  std::string message;

  explicit MmaRun(const MmaTest &test, uint32_t seed = 1) : test(test), a(), b() {
    std::mt19937 random(seed);
    const InstructionDescriptor &shape = test.shape;
    int64_t depth = depthOf(shape.kind) * test.steps;
    a = randomMatrix(shape.a, shape.m, depth, random);
    b = randomMatrix(shape.b, shape.n, depth, random);
    image.resize(size_t(test.sharedBytes * test.ctaGroup));
    words.resize(size_t(8 * 128 * test.ctaGroup));
    out.assign(size_t(test.columnsOfD() * 128 * test.ctaGroup), 0xeeeeeeee);
    for (uint32_t &word : words)
      word = encode(F::f32, double(int(random() % 100)) / 8);
    for (int64_t cta = 0; cta < test.ctaGroup; ++cta)
      fill(cta, random);
  }
  void fill(int64_t cta, std::mt19937 &random);
  void fillScales(int64_t cta, std::mt19937 &random);
  void fillWords(int64_t cta, const TestMatrix &part);
  void run(const std::function<std::string(std::string)> &change = {});
  /// Returns the lane and the CTA of a row of D for a column.
  std::pair<int64_t, int64_t> placeOf(int64_t row, int64_t n) const;
  uint32_t found(int64_t row, int64_t n) const {
    auto [cta, lane] = placeOf(row, n);
    return out[size_t((cta * 128 + lane) * test.columnsOfD() + n % test.columnsOfD())];
  }
  double scaled(int64_t row, int64_t n, double &magnitude) const;
};

TestMatrix rowsOf(const TestMatrix &matrix, int64_t first, int64_t count) {
  auto begin = matrix.codes.begin() + first * matrix.depth;
  return {count, matrix.depth, std::vector<uint32_t>(begin, begin + count * matrix.depth)};
}

/// A in tensor memory: 32 bytes for each lane; of 4 and 6 bits each number has a byte.
void MmaRun::fillWords(int64_t cta, const TestMatrix &part) {
  const InstructionDescriptor &shape = test.shape;
  int64_t bits = isDense(shape) ? 4 : std::max<int64_t>(8, bitsOf(shape.a)), shift = !isDense(shape) && bitsOf(shape.a) == 4 ? 2 : 0;
  for (int64_t lane = 0; lane < 128; ++lane) {
    bool isHalf = test.ctaGroup == 1 && shape.m == 64; // layout F: 16 lanes of each 32
    if (isHalf && lane % 32 / 16 != test.dLane / 16) continue;
    int64_t row = test.isSplit() ? lane % 64 : isHalf ? lane / 32 * 16 + lane % 16 : lane;
    for (int64_t k = 0; k < part.depth; ++k) {
      int64_t first = k * bits;
      uint32_t &word = words[size_t((cta * 128 + lane) * 8 + first / 32)];
      if (first % 32 == 0) word = 0;
      word |= part.at(row, k) << shift << (first % 32);
    }
  }
}

void MmaRun::fillScales(int64_t cta, std::mt19937 &random) {
  const InstructionDescriptor &shape = test.shape;
  int64_t blocks = depthOf(shape.kind) / test.scaleBlock, rows = shape.m / test.ctaGroup;
  auto code = [&] { return shape.scale == F::ue8m0 ? 120 + uint32_t(random() % 16) : uint32_t(random() % 0x7f); };
  if (scalesA.empty())
    for (int64_t i = 0; i < shape.m * blocks; ++i)
      scalesA.push_back(code());
  if (scalesB.empty())
    for (int64_t i = 0; i < shape.n * blocks; ++i)
      scalesB.push_back(code());
  size_t base = size_t(cta * test.sharedBytes + test.scaleOffset);
  auto put = [&](size_t start, int64_t row, int64_t id, const uint32_t *codes) { // row r: bytes of 16 r mod 32, word r / 32
    for (int64_t j = 0; j < blocks; ++j)
      image[start + size_t(row / 128 * 512 + row % 32 * 16 + row % 128 / 32 * 4 + id + j)] = uint8_t(codes[j]);
  };
  for (int64_t row = 0; row < rows; ++row)
    put(base, row, shape.scaleIdA, &scalesA[size_t((cta * rows + row) * blocks)]);
  for (int64_t n = 0; n < shape.n; ++n) { // layout B: the second half of N comes from the next 32 rows
    int64_t half = test.isSplit() ? n / test.columnsOfD() : 0;
    put(base + 512 + size_t(512 * half), n - half * test.columnsOfD(), shape.scaleIdB, &scalesB[size_t(n * blocks)]);
  }
}

void MmaRun::fill(int64_t cta, std::mt19937 &random) {
  const InstructionDescriptor &shape = test.shape;
  int64_t rows = shape.m / test.ctaGroup, columns = shape.n / test.ctaGroup;
  auto base = size_t(cta * test.sharedBytes);
  TestMatrix partOfA = rowsOf(a, cta * rows, rows), partOfB = rowsOf(b, cta * columns, columns);
  for (auto [matrix, part, format, isMnMajor] :
       {std::tuple(test.a, &partOfA, shape.a, shape.transposeA), {test.b, &partOfB, shape.b, shape.transposeB}})
    for (int64_t step = 0; step < test.steps; ++step) {
      MatrixDescriptor moved = matrix;
      moved.start += uint64_t(step * test.stepBytes);
      TestMatrix slice{part->rows, depthOf(shape.kind), {}};
      for (int64_t row = 0; row < slice.rows; ++row)
        for (int64_t k = 0; k < slice.depth; ++k)
          slice.codes.push_back(part->at(row, step * slice.depth + k));
      fillImage(image, base, moved, slice, format, isMnMajor, isDense(shape));
    }
  if (test.aInTensorMemory) fillWords(cta, partOfA);
  if (test.scaleBlock) fillScales(cta, random);
}

void MmaRun::run(const std::function<std::string(std::string)> &change) {
  Launch launch;
  launch.pointer(image).pointer(words).pointer(out).grid = {test.ctaGroup, 1, 1};
  std::string text = mmaKernel(test);
  message = simulateText(change ? change(text) : text, launch);
}

std::pair<int64_t, int64_t> MmaRun::placeOf(int64_t row, int64_t n) const {
  int64_t rows = test.shape.m / test.ctaGroup, cta = row / rows, inside = row % rows;
  if (rows == 128) return {cta, inside};                                           // layouts A and D
  if (test.ctaGroup == 1) return {0, inside / 16 * 32 + inside % 16 + test.dLane}; // layout F
  return {cta, inside + 64 * (n / test.columnsOfD())};                             // layout B
}

/// The exact element of D without its initial value, and the sum of the magnitudes.
double MmaRun::scaled(int64_t row, int64_t n, double &magnitude) const {
  const InstructionDescriptor &shape = test.shape;
  int64_t blocks = test.scaleBlock ? depthOf(shape.kind) / test.scaleBlock : 1;
  double sum = 0;
  magnitude = 0;
  for (int64_t k = 0; k < a.depth; ++k) {
    double term = decode(shape.a, a.at(row, k)) * decode(shape.b, b.at(n, k));
    if (test.scaleBlock)
      term *= decode(shape.scale, scalesA[size_t(row * blocks + k / test.scaleBlock)]) *
              decode(shape.scale, scalesB[size_t(n * blocks + k / test.scaleBlock)]);
    sum += term;
    magnitude += std::fabs(term);
  }
  return shape.negateA != shape.negateB ? -sum : sum;
}

/// The bound: each step rounds its sum once, to nearest, so its error is at most 2^-24 of the magnitude so far.
void expectMma(MmaRun &run) {
  run.run();
  ASSERT_EQ(run.message, "");
  const InstructionDescriptor &shape = run.test.shape;
  for (int64_t row = 0; row < shape.m; ++row)
    for (int64_t n = 0; n < shape.n; ++n) {
      double magnitude = 0, expected = run.scaled(row, n, magnitude);
      if (run.test.accumulate && n < 8) {
        auto [cta, lane] = run.placeOf(row, n);
        double old = decode(F::f32, run.words[size_t((cta * 128 + lane) * 8 + n)]);
        expected += run.test.attributes.empty() ? old : old / 8; // scaleInputD = 3
        magnitude += std::fabs(old);
      }
      if (run.test.accumulate && n >= 8) continue; // no thread has written D there
      double found = decode(shape.d, run.found(row, n));
      if (shape.d == F::f32)
        ASSERT_LE(std::fabs(found - expected), double(run.test.steps) * std::ldexp(magnitude, -24)) << row << " " << n << " " << expected;
      else if (shape.d == F::f16)
        ASSERT_EQ(run.found(row, n), encode(F::f16, expected)) << row << " " << n; // one step: rounded once, upper half zero
      else
        ASSERT_EQ(found, expected) << row << " " << n;
    }
}

MmaTest mmaTest(MmaKind kind, int64_t m, int64_t n, F a, F b, F d = F::f32) {
  MmaTest test;
  test.shape.kind = kind;
  test.shape.m = m;
  test.shape.n = n;
  test.shape.a = a;
  test.shape.b = b;
  test.shape.d = d;
  test.a = {.start = 0, .leading = 16, .stride = 256, .swizzle = Swizzle::b32};
  test.b = {.start = 8192, .leading = 16, .stride = 256, .swizzle = Swizzle::b32};
  return test;
}

TEST(TensorMma, EveryKind) {
  for (auto [kind, a, b, d] : {std::tuple(MmaKind::f16, F::f16, F::f16, F::f32),
                               {MmaKind::f16, F::bf16, F::bf16, F::f32},
                               {MmaKind::f16, F::f16, F::f16, F::f16},
                               {MmaKind::tf32, F::tf32, F::tf32, F::f32},
                               {MmaKind::i8, F::s8, F::u8, F::s32},
                               {MmaKind::f8f6f4, F::e4m3, F::e5m2, F::f16}})
    for (int64_t m : {64, 128}) {
      SCOPED_TRACE(std::string(nameOf(kind)) + " " + std::string(nameOf(a)) + " M " + std::to_string(m));
      MmaRun run(mmaTest(kind, m, 32, a, b, d));
      expectMma(run);
    }
}

TEST(TensorMma, EveryMixOfSmallFloats) {
  for (F a : {F::e4m3, F::e5m2, F::e2m3, F::e3m2, F::e2m1})
    for (F b : {F::e4m3, F::e5m2, F::e2m3, F::e3m2, F::e2m1}) {
      SCOPED_TRACE(std::string(nameOf(a)) + " " + std::string(nameOf(b)));
      MmaRun run(mmaTest(MmaKind::f8f6f4, 64, 16, a, b));
      expectMma(run);
    }
}

TEST(TensorMma, SwizzlesAndStepsOfK) {
  for (auto [swizzle, bytes] : {std::pair(Swizzle::b32, 32), {Swizzle::b64, 64}, {Swizzle::b128, 128}}) {
    MmaTest test = mmaTest(MmaKind::f16, 128, 32, F::f16, F::f16);
    test.a = {.start = 0, .leading = 16, .stride = uint64_t(8 * bytes), .swizzle = swizzle};
    test.b = {.start = 16384, .leading = 16, .stride = uint64_t(8 * bytes), .swizzle = swizzle};
    test.steps = bytes / 32;
    MmaRun run(test);
    expectMma(run);
  }
  MmaTest plain = mmaTest(MmaKind::f16, 128, 40, F::f16, F::f16);
  plain.a = {.start = 0, .leading = 2048, .stride = 128, .swizzle = Swizzle::none};
  plain.b = {.start = 8192, .leading = 1024, .stride = 128, .swizzle = Swizzle::none};
  MmaRun run(plain);
  expectMma(run);
}

TEST(TensorMma, MnMajorOperands) {
  MmaTest test = mmaTest(MmaKind::f16, 128, 64, F::bf16, F::bf16);
  test.shape.transposeA = test.shape.transposeB = true;
  test.a = {.start = 0, .leading = 4096, .stride = 1024, .swizzle = Swizzle::b128};
  test.b = {.start = 16384, .leading = 1024, .stride = 512, .swizzle = Swizzle::b64};
  MmaRun sixteen(test);
  expectMma(sixteen);
  test = mmaTest(MmaKind::f8f6f4, 128, 32, F::e4m3, F::e5m2);
  test.shape.transposeB = true;
  test.b = {.start = 8192, .leading = 1024, .stride = 256, .swizzle = Swizzle::b32};
  MmaRun eight(test);
  expectMma(eight);
  test = mmaTest(MmaKind::tf32, 128, 32, F::tf32, F::tf32);
  test.shape.transposeA = test.shape.transposeB = true;
  test.a = {.start = 0, .leading = 1024, .stride = 512, .swizzle = Swizzle::b128base32};
  test.b = {.start = 8192, .leading = 1024, .stride = 512, .swizzle = Swizzle::b128base32};
  MmaRun thirtyTwo(test);
  expectMma(thirtyTwo);
}

TEST(TensorMma, OptionsOfTheDescriptor) {
  MmaTest test = mmaTest(MmaKind::f16, 128, 16, F::f16, F::f16);
  test.shape.negateA = true;
  MmaRun negated(test);
  expectMma(negated);
  test.accumulate = true;
  MmaRun added(test);
  expectMma(added);
  test.attributes = "scaleInputD = 3 : i32";
  MmaRun scaled(test);
  expectMma(scaled);
}

TEST(TensorMma, IntegersSaturateOnRequest) {
  for (bool saturate : {false, true}) {
    MmaTest test = mmaTest(MmaKind::i8, 128, 8, F::s8, F::s8, F::s32);
    test.shape.saturate = saturate;
    test.accumulate = true;
    MmaRun run(test);
    run.a.codes.assign(run.a.codes.size(), 127);
    run.b.codes.assign(run.b.codes.size(), 127);
    run.words.assign(run.words.size(), 0x7fffffff);
    std::mt19937 random(1);
    run.fill(0, random);
    run.run();
    ASSERT_EQ(run.message, "");
    int64_t sum = 0x7fffffff + int64_t(32 * 127 * 127);
    EXPECT_EQ(run.found(5, 3), saturate ? 0x7fffffffu : uint32_t(sum));
  }
}

TEST(TensorMma, DisabledLanesKeepTheirValue) {
  MmaTest test = mmaTest(MmaKind::f16, 128, 8, F::f16, F::f16);
  test.accumulate = true;
  test.disable = " disable(%c5, %c0, %c0, %c16)"; // lanes 0, 2 and 100
  MmaRun run(test);
  run.run();
  ASSERT_EQ(run.message, "");
  for (int64_t row = 0; row < 128; ++row)
    for (int64_t n = 0; n < 8; ++n)
      EXPECT_EQ(run.found(row, n) == run.words[size_t(row * 8 + n)], row == 0 || row == 2 || row == 100) << row << " " << n;
}

TEST(TensorMma, AInTensorMemory) {
  for (auto [kind, a, b] : {std::tuple(MmaKind::f16, F::f16, F::f16),
                            {MmaKind::tf32, F::tf32, F::tf32},
                            {MmaKind::f8f6f4, F::e5m2, F::e4m3},
                            {MmaKind::f8f6f4, F::e3m2, F::e2m1},
                            {MmaKind::f8f6f4, F::e2m1, F::e2m3}})
    for (int64_t lane : {128, 0, 16}) { // 128: M = 128; otherwise M = 64, at this lane
      MmaTest test = mmaTest(kind, lane == 128 ? 128 : 64, 32, a, b);
      test.dLane = lane % 128;
      test.aInTensorMemory = true;
      SCOPED_TRACE(std::string(nameOf(a)) + " " + std::to_string(lane));
      MmaRun run(test);
      expectMma(run);
    }
}

MmaTest scaledTest(MmaKind kind, int64_t block, F a, F b, F scale, int64_t id, int64_t ctaGroup = 1, int64_t m = 128, int64_t n = 48) {
  MmaTest test = mmaTest(kind, m, n, a, b);
  test.ctaGroup = ctaGroup;
  test.shape.scale = scale;
  test.shape.scaleIdA = id;
  test.shape.scaleIdB = test.shape.kind == MmaKind::mxf8f6f4 ? 3 - id : id;
  test.scaleBlock = block;
  test.scaleOffset = 24576;
  return test;
}

TEST(TensorMma, BlockScales) {
  for (int64_t id = 0; id < 4; ++id) {
    MmaRun run(scaledTest(MmaKind::mxf8f6f4, 32, id & 1 ? F::e2m3 : F::e4m3, id & 2 ? F::e2m1 : F::e5m2, F::ue8m0, id));
    expectMma(run);
  }
  for (int64_t id : {0, 2}) {
    MmaRun four(scaledTest(MmaKind::mxf4, 32, F::e2m1, F::e2m1, F::ue8m0, id));
    expectMma(four);
    MmaRun pairs(scaledTest(MmaKind::mxf4nvf4, 32, F::e2m1, F::e2m1, F::ue8m0, id));
    expectMma(pairs);
  }
  for (F scale : {F::ue8m0, F::ue4m3}) {
    MmaRun run(scaledTest(MmaKind::mxf4nvf4, 16, F::e2m1, F::e2m1, scale, 0, 1, 128, 136)); // more than 128 columns: 5 words of scales
    expectMma(run);
  }
  MmaTest test = scaledTest(MmaKind::mxf4nvf4, 16, F::e2m1, F::e2m1, F::ue4m3, 0);
  test.aInTensorMemory = true;
  MmaRun inTensorMemory(test);
  expectMma(inTensorMemory);
}

TEST(TensorMma, ScalesAtTheEndsOfTheirRange) {
  // 2^-127 as a scale of A and 2^127 as one of B: their product is 1. A scale of NaN makes the row NaN.
  MmaRun run(scaledTest(MmaKind::mxf8f6f4, 32, F::e4m3, F::e4m3, F::ue8m0, 0));
  run.scalesA.assign(run.scalesA.size(), 0);
  run.scalesB.assign(run.scalesB.size(), 254);
  run.scalesA[7] = 255;
  std::mt19937 random(1);
  run.fill(0, random);
  run.run();
  ASSERT_EQ(run.message, "");
  for (int64_t row = 0; row < 16; ++row) {
    double magnitude = 0, expected = run.scaled(row, 3, magnitude), found = decode(F::f32, run.found(row, 3));
    if (row == 7)
      EXPECT_TRUE(std::isnan(found));
    else
      EXPECT_LE(std::fabs(found - expected), std::ldexp(magnitude, -24));
  }
}

TEST(TensorMma, PairsOfCtas) {
  for (int64_t m : {128, 256}) {
    for (auto [kind, format, d] : {std::tuple(MmaKind::f16, F::f16, F::f32), {MmaKind::i8, F::s8, F::s32}}) {
      MmaTest test = mmaTest(kind, m, 64, format, format, d);
      test.ctaGroup = 2;
      SCOPED_TRACE(std::string(nameOf(kind)) + " M " + std::to_string(m));
      MmaRun run(test);
      expectMma(run);
      if (kind != MmaKind::f16) continue;
      test.aInTensorMemory = true;
      MmaRun inTensorMemory(test);
      expectMma(inTensorMemory);
    }
  }
  for (int64_t m : {128, 256}) {
    MmaRun scaled(scaledTest(MmaKind::mxf8f6f4, 32, F::e4m3, F::e2m1, F::ue8m0, 1, 2, m, 64));
    expectMma(scaled);
    MmaRun pairs(scaledTest(MmaKind::mxf4nvf4, 16, F::e2m1, F::e2m1, F::ue4m3, 0, 2, m, 96));
    expectMma(pairs);
  }
}

} // namespace
