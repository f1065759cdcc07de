// The errors of the functions of f32 that ir/single_math.cpp computes on GPUs, on the simulator, in units in the last place. The bounds are
// those of docs/libdevice.md: with correctly rounded approximations, and with approximations and fusions at their worst.
#include "simulate_text.h"

#include "gpu/thread/math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

struct Function {
  std::function<long double(long double, long double)> reference;
  bool isBinary = false;
  std::vector<float> limits = {}; // of ranges in which it is computed differently, and arguments with the largest errors
};

template <class Reference> Function unary(Reference reference, std::vector<float> limits = {}) {
  return {[reference](long double x, long double) { return reference(x); }, false, std::move(limits)};
}

std::map<std::string, Function> functions() {
  std::vector<float> exponents = {88.722839F, 89.415985F, -87.336548F, -103.97208F, 0.34657359F, 44.0F};
  return {
      {"exp", unary([](long double x) { return std::exp(x); }, exponents)},
      {"expm1", unary([](long double x) { return std::expm1(x); }, {-25, 0.4F, -0.28F, 88.722839F, 0x1.9ecb7ep-2F, 0x1.10a70cp+4F})},
      {"log", unary([](long double x) { return std::log(x); }, {0.75F, 1, 1.5F, 0x1p-126F, 0x1.8f3a72p+0F})},
      {"log2", unary([](long double x) { return std::log2(x); }, {0.70710678F, 1, 1.4142135F, 0x1p-126F})},
      {"log10", unary([](long double x) { return std::log10(x); }, {0.70710678F, 1, 1.4142135F, 0x1p-126F})},
      {"log1p", unary([](long double x) { return std::log1p(x); }, {-1, -0.25F, 0.5F, 0x1p24F, 0x1p126F})},
      {"sin", unary([](long double x) { return std::sin(x); }, {105615, 0.78539816F, 3.1415927F, 1e10F})},
      {"cos", unary([](long double x) { return std::cos(x); }, {105615, 0.78539816F, 1.5707964F, 1e10F})},
      {"tan", unary([](long double x) { return std::tan(x); }, {105615, 0.78539816F, 1.5707964F, 1e10F})},
      {"asin", unary([](long double x) { return std::asin(x); }, {0.55F, 1})},
      {"acos", unary([](long double x) { return std::acos(x); }, {0.55F, -0.55F, 1, -1})},
      {"atan", unary([](long double x) { return std::atan(x); }, {1, 0x1p126F})},
      {"sinh", unary([](long double x) { return std::sinh(x); }, {1.45F, 88.722839F, 89.415985F})},
      {"cosh", unary([](long double x) { return std::cosh(x); }, {88.722839F, 89.415985F})},
      {"tanh", unary([](long double x) { return std::tanh(x); }, {0.6F, 9, 44})},
      {"asinh", unary([](long double x) { return std::asinh(x); }, {1, 0.5F, 0x1p60F})},
      {"acosh", unary([](long double x) { return std::acosh(x); }, {1, 1.5F, 0x1p60F})},
      {"atanh", unary([](long double x) { return std::atanh(x); }, {1, 0.2F, 0.5F})},
      {"erf", unary([](long double x) { return std::erf(x); }, {0.925F, 3.9F})},
      {"erfc", unary([](long double x) { return std::erfc(x); }, {0.477F, -0.477F, 10.05F, 9.19F, 11})},
      {"cbrt", unary([](long double x) { return std::cbrt(x); }, {1, 8, 0x1p-100F, 0x1p-126F})},
      {"pow", {[](long double x, long double y) { return std::pow(x, y); }, true, {0.70710678F, 1, 1.4142135F, 0x1p-126F}}},
      {"atan2", {[](long double x, long double y) { return std::atan2(x, y); }, true, {0x1p-126F, 0x1p-100F, 1, 0x1p100F}}},
      {"hypot", {[](long double x, long double y) { return std::hypot(x, y); }, true, {0x1p-126F, 0x1p-101F, 1, 0x1p100F}}},
  };
}

/// The rows of the table of elementary functions.
std::map<std::string, std::array<double, 2>> bounds() {
  std::map<std::string, std::array<double, 2>> found;
  std::ifstream document(LIBDEVICE_DOCUMENT);
  bool isInside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("| elementary function")) isInside = true;
    if (line.empty()) isInside = false;
    if (!isInside || line.starts_with("| elementary") || line.starts_with("| ---")) continue;
    std::istringstream row(line);
    std::string bar, name;
    std::array<double, 2> values{};
    row >> bar >> name >> bar >> values[0] >> bar >> values[1];
    found[name] = values;
  }
  return found;
}

constexpr int64_t threads = 1024;
constexpr int32_t neighborsOfLimit = 802; // 200 on each side, of both signs

constexpr float specials[] = {0.0F,
                              -0.0F,
                              INFINITY,
                              -INFINITY,
                              NAN,
                              1,
                              -1,
                              0.5F,
                              -0.5F,
                              2,
                              -2,
                              3,
                              -3,
                              2.5F,
                              8,
                              1000,
                              3.4028235e38F,
                              -3.4028235e38F,
                              1e-45F,
                              -1e-45F,
                              0x1p-126F,
                              -0x1p-126F,
                              1.1754942e-38F,
                              16777215,
                              -16777216,
                              8388607.5F,
                              0.99999994F,
                              1.0000001F};

/// Every bit pattern in steps, with all special ones, ordinary numbers, and the neighbors of limits.
std::vector<float> samples(const std::vector<float> &limits, uint32_t seed) {
  std::vector<float> x(std::begin(specials), std::end(specials));
  for (float limit : limits)
    for (int32_t i = -neighborsOfLimit / 4; i <= neighborsOfLimit / 4; ++i)
      for (uint32_t sign : {0U, 1U << 31})
        x.push_back(std::bit_cast<float>((std::bit_cast<uint32_t>(limit) + uint32_t(i)) ^ sign));
  for (uint64_t bits = seed % 65536; bits < uint64_t(1) << 32; bits += 1 << 17)
    x.push_back(std::bit_cast<float>(uint32_t(bits)));
  std::mt19937 random(seed);
  std::normal_distribution<float> ordinary(0, 4);
  while (x.size() < 65536 || x.size() % threads)
    x.push_back(ordinary(random));
  return x;
}

/// Adds second arguments: to every other number one that makes a power of some magnitude, to the neighbors of limits one that is not
/// larger, else bit patterns. All pairs of special numbers come last.
void addPairs(std::vector<float> &x, std::vector<float> &y, const std::vector<float> &limits) {
  y = samples({1}, 777);
  std::mt19937 random(5);
  std::shuffle(y.begin(), y.end(), random);
  y.resize(x.size(), 1);
  size_t count = std::size(specials), neighbors = count + limits.size() * neighborsOfLimit;
  std::uniform_real_distribution<float> exponent(-150, 129), ratio(-1, 1);
  for (size_t i = count; i < x.size(); ++i)
    if (i % 2 == 0) {
      x[i] = std::fabs(x[i]);
      y[i] = exponent(random) / std::log2(x[i]);
    } else if (i < neighbors) {
      y[i] = x[i] * ratio(random);
    }
  for (size_t i = 0, first = x.size() - count * count; i < count * count; ++i) {
    x[first + i] = specials[i / count];
    y[first + i] = specials[i % count];
  }
}

/// Simulates out[i] = function(x[i], y[i]).
std::vector<float> compute(const std::string &name, std::vector<float> x, std::vector<float> y, ApproximationError error) {
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  registry.insert<ptx::PtxDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text = kernel(threads, 0, "%x: i64, %y: i64, %out: i64", R"(
  %block = ptx.block_id 0
  %size = arith.constant 4096 : i32
  %first = arith.muli %block, %size : i32
  %thread = ptx.thread_id
  %four = arith.constant 4 : i32
  %inBlock = arith.muli %thread, %four : i32
  %offset32 = arith.addi %first, %inBlock : i32
  %offset = arith.extui %offset32 : i32 to i64
  %xAt = arith.addi %x, %offset : i64
  %yAt = arith.addi %y, %offset : i64
  %outAt = arith.addi %out, %offset : i64
  %a = ptx.load_global %xAt -> f32
  %b = ptx.load_global %yAt -> f32
  %result = arith.remf %a, %b : f32
  ptx.store_global %outAt, %result : f32)");
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  module->walk([&](mlir::arith::RemFOp op) { // only holds the function's place: any operation of two f32 with one result
    mlir::ImplicitLocOpBuilder b(op.getLoc(), op);
    llvm::SmallVector<mlir::Value> operands = {op.getLhs()};
    if (functions().at(name).isBinary) operands.push_back(op.getRhs());
    op.replaceAllUsesWith(floats::singleFunction(b, singleInstructions, name, operands));
    op.erase();
  });
  std::vector<float> out(x.size());
  Launch run;
  run.pointer(x).pointer(y).pointer(out);
  SimulateOptions options;
  options.memory = run.memory;
  options.error = error;
  auto failure = simulate(*module, "kernel", {int64_t(x.size()) / threads, 1, 1}, {run.slots, {}}, options);
  EXPECT_FALSE(failure) << failure->message();
  return out;
}

/// The error of a result in units in the last place; infinity for a wrong special value or a wrong sign. At overflow, both results are
/// right.
double errorOf(float actual, long double expected) {
  auto rounded = float(expected);
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected) ? 0 : INFINITY;
  if (std::isinf(actual) || std::isinf(rounded))
    return std::signbit(actual) == std::signbit(rounded) && std::fabs(expected) >= 3.40282e38L ? 0 : INFINITY;
  if (actual == 0 && rounded == 0) return std::signbit(actual) == std::signbit(rounded) ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(expected, &exponent);
  return double(std::fabs(actual - expected) / std::ldexp(1.0L, std::max(exponent - 24, -149)));
}

class SingleMath : public testing::TestWithParam<std::string> {};

TEST_P(SingleMath, IsWithinItsBounds) {
  const std::string &name = GetParam();
  ASSERT_TRUE(functions().count(name)) << "no reference";
  Function function = functions().at(name);
  std::vector<float> x = samples(function.limits, 4321), y(x.size());
  if (function.isBinary) addPairs(x, y, function.limits);
  for (ApproximationError error : {ApproximationError::none, ApproximationError::down, ApproximationError::up, ApproximationError::mixed}) {
    std::vector<float> out = compute(name, x, y, error);
    double largest = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double found = errorOf(out[i], function.reference(x[i], y[i])); found > largest) {
        largest = found;
        at = i;
      }
    RecordProperty("largest" + std::to_string(int(error)), std::to_string(largest));
    EXPECT_LE(largest, bounds().at(name)[error == ApproximationError::none ? 0 : 1])
        << name << "(" << x[at] << (function.isBinary ? ", " + std::to_string(y[at]) : "") << ") is " << out[at] << ", not "
        << double(function.reference(x[at], y[at])) << ", with error " << int(error);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto &[name, limits] : bounds())
    found.push_back(name);
  return found;
}
INSTANTIATE_TEST_SUITE_P(Functions, SingleMath, testing::ValuesIn(names()), [](const auto &test) { return test.param; });

TEST(SingleMathBounds, EachFunctionHasARow) {
  EXPECT_EQ(bounds().size(), functions().size());
}

} // namespace
