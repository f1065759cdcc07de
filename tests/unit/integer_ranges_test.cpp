// The ranges, divisors and comparisons that ir/address proves or assumes, compared with the interpreter's results of all numbers. The
// operands of an operation are constants, and scalars that minima and maxima confine to an interval:
//     %x = maxsi (minsi %a, 7), -128     %y = ...     %r = arith.divsi %x, %y : i8         %r is in [low, high]
// Its results for all operands must be within the proven range, which need not be exact.
#include "ir/address/divisibility.h"
#include "ir/address/indices.h"
#include "ir/passes.h"
#include "tile_context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

#include <functional>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::address;

namespace {

using Wide = __int128;
using Range = std::pair<int64_t, int64_t>;

int64_t wrapped(uint64_t value, int64_t bits) {
  return llvm::SignExtend64(value, static_cast<unsigned>(bits));
}

/// The interpreter's meaning of an operation on two integers (one: `y` is not used).
struct Meaning {
  StringRef name;
  bool isUnary;
  uint64_t (*apply)(uint64_t a, uint64_t b, int64_t sa, int64_t sb, int64_t bits);
};

#define MEANING(NAME, UNARY, RESULT)                                                                                                       \
  {NAME, UNARY,                                                                                                                            \
   []([[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b, [[maybe_unused]] int64_t sa, [[maybe_unused]] int64_t sb,                  \
      [[maybe_unused]] int64_t bits) -> uint64_t { return RESULT; }},
#define INTEGER(NAME, RESULT) MEANING(NAME, false, RESULT)
#define INTEGER1(NAME, RESULT) MEANING(NAME, true, RESULT)
#define DIVISION(NAME, AT_ZERO, RESULT) MEANING(NAME, false, b == 0 ? uint64_t(AT_ZERO) : uint64_t(RESULT))
#define FLOAT(NAME, RESULT)
const Meaning meanings[] = {
#include "ir/interpret/scalar_ops.def"
};

int64_t apply(const Meaning &meaning, int64_t x, int64_t y, int64_t bits) {
  uint64_t mask = llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(bits));
  return static_cast<int64_t>(meaning.apply(uint64_t(x) & mask, uint64_t(y) & mask, x, y, bits));
}

/// A function of the integers %a and %b, multiples of 4 and 8 if `areMultiples`, and of %c of one bit.
class Kernel {
public:
  explicit Kernel(int64_t bits, bool areMultiples = false) : bits(bits), b(UnknownLoc::get(&testContext()), &testContext()) {
    std::string type = "i" + std::to_string(bits);
    auto argument = [&](const char *name, const char *divisor) {
      return name + (": " + type) + (areMultiples ? std::string(" {tt.divisibility = ") + divisor + " : i32}" : "") + ", ";
    };
    module = parseSourceString<ModuleOp>("tt.func public @k(" + argument("%a", "4") + argument("%b", "8") + "%c: i1) {\ntt.return\n}\n",
                                         &testContext());
    b.setInsertionPoint(function().getBody().front().getTerminator());
  }
  tt::FuncOp function() { return *module->getOps<tt::FuncOp>().begin(); }
  Value argument(unsigned index) { return function().getArgument(index); }
  Type type(int64_t width) { return b.getIntegerType(static_cast<unsigned>(width)); }

  Value constant(int64_t number) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type(bits), APInt(static_cast<unsigned>(bits), uint64_t(number), true)));
  }
  Value confined(Value value, Range range) {
    if (range.first == range.second) return constant(range.first);
    return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, value, constant(range.second)), constant(range.first));
  }
  Value make(StringRef name, ArrayRef<Value> operands, int64_t width) {
    OperationState state(b.getLoc(), name, operands, {type(width)});
    return b.create(state)->getResult(0);
  }

  int64_t bits;
  ImplicitLocOpBuilder b;
  OwningOpRef<ModuleOp> module;
};

FailedGuards everyGuardFailed() {
  FailedGuards all;
  all.insert(everyGuard);
  return all;
}
const FailedGuards nothing = everyGuardFailed(), everything;

std::vector<Range> rangesBetween(ArrayRef<int64_t> ends) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < ends.size(); ++i)
    for (size_t j = i; j < ends.size(); ++j)
      ranges.push_back({ends[i], ends[j]});
  return ranges;
}

/// Verifies the proven range of `value`, whose results are from `results.first` to `results.second`. Counts the ranges that are exact.
void check(Indices &indices, Value value, Range results, const std::string &text, size_t &exact) {
  Polynomial polynomial = indices.scalar(value);
  bool excludesFirst = results.first < INT64_MAX && indices.isProven(polynomial, results.first + 1, INT64_MAX);
  bool excludesSecond = results.second > INT64_MIN && indices.isProven(polynomial, INT64_MIN, results.second - 1);
  EXPECT_FALSE(excludesFirst) << text << " can be " << results.first;
  EXPECT_FALSE(excludesSecond) << text << " can be " << results.second;
  exact += indices.isProven(polynomial, results.first, results.second);
}

std::string textOf(Range range) {
  return "[" + std::to_string(range.first) + ", " + std::to_string(range.second) + "]";
}

const SmallVector<int64_t> ends8 = {-128, -127, -5, -1, 0, 1, 3, 8, 126, 127};

/// The results of an operation for all operands: of each x with all y of a range, and so of each range of x.
class Table {
public:
  Table(const Meaning &meaning, Range y) {
    for (int64_t x = -128; x < 128; ++x) {
      Range &row = rows.emplace_back(INT64_MAX, INT64_MIN);
      for (int64_t second = y.first; second <= y.second; ++second)
        widen(row, wrapped(uint64_t(apply(meaning, x, second, 8)), 8));
    }
  }
  Range of(Range x) const {
    Range all(INT64_MAX, INT64_MIN);
    for (int64_t first = x.first; first <= x.second; ++first) {
      widen(all, rows[size_t(first + 128)].first);
      widen(all, rows[size_t(first + 128)].second);
    }
    return all;
  }

private:
  static void widen(Range &range, int64_t value) { range = {std::min(range.first, value), std::max(range.second, value)}; }
  std::vector<Range> rows;
};

TEST(IntegerRanges, HoldForOperationsOnTwoNumbers) {
  std::vector<Range> ranges = rangesBetween(ends8);
  for (const Meaning &meaning : meanings) {
    if (meaning.isUnary) continue;
    Kernel kernel(8);
    std::vector<Value> xs, ys;
    for (Range range : ranges) {
      xs.push_back(kernel.confined(kernel.argument(0), range));
      ys.push_back(kernel.confined(kernel.argument(1), range));
    }
    Indices indices(kernel.function(), nothing, gridLimits);
    size_t exact = 0;
    for (size_t j = 0; j < ranges.size(); ++j) {
      Table table(meaning, ranges[j]);
      for (size_t i = 0; i < ranges.size(); ++i) {
        std::string text = meaning.name.str() + " of " + textOf(ranges[i]) + " and " + textOf(ranges[j]);
        check(indices, kernel.make(meaning.name, {xs[i], ys[j]}, 8), table.of(ranges[i]), text, exact);
        if (HasFailure()) return;
      }
    }
    bool isFollowed = StringRef("addi subi muli divsi remsi minsi maxsi").contains(meaning.name.drop_front(StringRef("arith.").size()));
    EXPECT_GT(exact, isFollowed ? ranges.size() * ranges.size() / 10 : 0) << meaning.name.str();
  }
}

TEST(IntegerRanges, HoldForCastsAndSelections) {
  std::vector<Range> ranges = rangesBetween(ends8);
  Kernel kernel(8);
  Indices indices(kernel.function(), nothing, gridLimits);
  size_t exact = 0;
  for (Range range : ranges) {
    Value x = kernel.confined(kernel.argument(0), range);
    auto checkCast = [&](const char *name, int64_t width, llvm::function_ref<int64_t(int64_t)> cast) {
      Range results(INT64_MAX, INT64_MIN);
      for (int64_t value = range.first; value <= range.second; ++value)
        results = {std::min(results.first, cast(value)), std::max(results.second, cast(value))};
      check(indices, kernel.make(name, {x}, width), results, name + (" of " + textOf(range)), exact);
    };
    checkCast("arith.extsi", 16, [](int64_t value) { return value; });
    checkCast("arith.extui", 16, [](int64_t value) { return value & 0xff; });
    checkCast("arith.extui", 64, [](int64_t value) { return value & 0xff; });
    checkCast("arith.trunci", 4, [](int64_t value) { return wrapped(uint64_t(value), 4); });
    checkCast("arith.trunci", 1, [](int64_t value) { return -(value & 1); });
    for (Range other : ranges) {
      Value chosen = kernel.make("arith.select", {kernel.argument(2), x, kernel.confined(kernel.argument(1), other)}, 8);
      Range both(std::min(range.first, other.first), std::max(range.second, other.second));
      check(indices, chosen, both, "a selection of " + textOf(range) + " and " + textOf(other), exact);
    }
  }
  EXPECT_GT(exact, ranges.size() * ranges.size());
}

TEST(IntegerRanges, DivisorsDivide) {
  for (const Meaning &meaning : meanings) {
    if (meaning.isUnary) continue;
    Kernel kernel(8, /*areMultiples=*/true);
    SmallVector<Value> operands{kernel.argument(0), kernel.argument(1)};
    for (int64_t number : {-128, -4, -1, 0, 1, 6, 64, 127})
      operands.push_back(kernel.constant(number));
    auto valuesOf = [&](size_t operand) {
      std::vector<int64_t> values;
      for (int64_t value = -128; operand < 2 && value < 128; value += operand == 0 ? 4 : 8)
        values.push_back(value);
      if (operand >= 2) values.push_back(cast<IntegerAttr>(operands[operand].getDefiningOp<arith::ConstantOp>().getValue()).getInt());
      return values;
    };
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t j = 0; j < operands.size(); ++j) {
        Value value = kernel.make(meaning.name, {operands[i], operands[j]}, 8), scaled = kernel.make("arith.muli", {value, operands[i]}, 8);
        int64_t divisor = std::min<int64_t>(divisorOf(value), 256), ofScaled = std::min<int64_t>(divisorOf(scaled), 256);
        for (int64_t x : valuesOf(i))
          for (int64_t y : valuesOf(j)) {
            uint64_t result = static_cast<uint64_t>(apply(meaning, x, y, 8)) & 0xff;
            EXPECT_EQ(result % static_cast<uint64_t>(divisor), 0u) << meaning.name.str() << " of " << x << " and " << y;
            EXPECT_EQ((result * static_cast<uint64_t>(x) & 0xff) % static_cast<uint64_t>(ofScaled), 0u) << meaning.name.str();
          }
      }
  }
}

const std::pair<arith::CmpIPredicate, bool (*)(int64_t, int64_t)> comparisons[] = {
    {arith::CmpIPredicate::eq, [](int64_t x, int64_t y) { return x == y; }},
    {arith::CmpIPredicate::ne, [](int64_t x, int64_t y) { return x != y; }},
    {arith::CmpIPredicate::slt, [](int64_t x, int64_t y) { return x < y; }},
    {arith::CmpIPredicate::sle, [](int64_t x, int64_t y) { return x <= y; }},
    {arith::CmpIPredicate::sgt, [](int64_t x, int64_t y) { return x > y; }},
    {arith::CmpIPredicate::sge, [](int64_t x, int64_t y) { return x >= y; }},
    {arith::CmpIPredicate::ult, [](int64_t x, int64_t y) { return (x & 0xff) < (y & 0xff); }},
    {arith::CmpIPredicate::ule, [](int64_t x, int64_t y) { return (x & 0xff) <= (y & 0xff); }},
    {arith::CmpIPredicate::ugt, [](int64_t x, int64_t y) { return (x & 0xff) > (y & 0xff); }},
    {arith::CmpIPredicate::uge, [](int64_t x, int64_t y) { return (x & 0xff) >= (y & 0xff); }},
};

/// Compares the elements 0 to 7 of a range, combined with a constant, with another constant. fold-comparisons must fold only what is true.
TEST(IntegerRanges, FoldedComparisonsAreTrue) {
  Kernel kernel(8);
  ImplicitLocOpBuilder &b = kernel.b;
  auto tile = RankedTensorType::get({8}, kernel.type(8));
  auto splat = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(tile, APInt(8, uint64_t(number), true)));
  };
  Value range = tt::MakeRangeOp::create(b, tile, 0, 8);
  std::vector<std::pair<Operation *, bool>> users; // of each comparison, and whether that is true for all elements
  for (const Meaning &meaning : meanings)
    for (int64_t number : ends8) {
      if (meaning.isUnary) continue;
      OperationState state(b.getLoc(), meaning.name, {range, splat(number)}, {tile});
      Value combined = b.create(state)->getResult(0);
      for (int64_t bound : ends8)
        for (auto [predicate, compare] : comparisons) {
          bool holds = true;
          for (int64_t i = 0; i < 8; ++i)
            holds &= compare(wrapped(uint64_t(apply(meaning, i, number, 8)), 8), bound);
          Value mask = arith::CmpIOp::create(b, predicate, combined, splat(bound));
          users.push_back({arith::ExtUIOp::create(b, tile, mask), holds});
        }
    }
  ASSERT_TRUE(succeeded(foldComparisons(*kernel.module)));
  size_t folded = 0;
  for (auto [user, holds] : users) {
    if (user->getOperand(0).getDefiningOp<arith::CmpIOp>()) continue;
    EXPECT_TRUE(holds);
    ++folded;
  }
  EXPECT_GT(folded, 400u);
}

/// Loops from `lower` to `upper`: their induction variable, and a number that each iteration increases.
void checkLoop(int64_t bits, int64_t lower, int64_t upper, int64_t step, int64_t increment) {
  std::string text = "for " + std::to_string(lower) + " to " + std::to_string(upper) + " step " + std::to_string(step);
  Kernel kernel(bits);
  Value zero = kernel.constant(0), each = kernel.constant(increment);
  auto loop = scf::ForOp::create(kernel.b, kernel.constant(lower), kernel.constant(upper), kernel.constant(step), ValueRange{zero});
  OpBuilder inner = OpBuilder::atBlockEnd(loop.getBody());
  Value sum = arith::AddIOp::create(inner, kernel.b.getLoc(), loop.getRegionIterArg(0), each);
  scf::YieldOp::create(inner, kernel.b.getLoc(), sum);
  Wide iterations = upper > lower ? (Wide(upper) - lower - 1) / step + 1 : 0;
  Indices indices(kernel.function(), nothing, gridLimits);
  if (iterations > 0) {
    size_t exact = 0;
    check(indices, loop.getInductionVar(), {lower, static_cast<int64_t>(lower + (iterations - 1) * step)}, text, exact);
    EXPECT_EQ(exact, 1u) << text;
  }
  Polynomial result = indices.scalar(loop.getResult(0));
  int64_t value = wrapped(static_cast<uint64_t>(iterations) * static_cast<uint64_t>(increment), bits);
  if (result.constant()) EXPECT_EQ(*result.constant(), value) << text << ": the sum of " << increment;
  for (Wide i : {Wide(0), iterations - 1}) {
    if (iterations == 0) continue;
    int64_t now = wrapped(static_cast<uint64_t>(i) * static_cast<uint64_t>(increment), bits);
    size_t exact = 0;
    check(indices, loop.getRegionIterArg(0), {now, now}, text + ": the sum of " + std::to_string(increment), exact);
  }
}

TEST(IntegerRanges, HoldInLoopsAtTheEdgesOfTheirType) {
  for (int64_t bits : {8, 64}) {
    int64_t smallest = INT64_MIN >> (64 - bits), largest = INT64_MAX >> (64 - bits);
    for (int64_t lower : {smallest, smallest + 1, int64_t(-1), int64_t(0), int64_t(1), largest - 1, largest})
      for (int64_t upper : {smallest, smallest + 1, int64_t(-1), int64_t(0), int64_t(5), largest - 1, largest})
        for (int64_t step : {int64_t(1), int64_t(2), int64_t(7), largest})
          for (int64_t increment : {int64_t(1), int64_t(14), smallest})
            checkLoop(bits, lower, upper, step, increment);
  }
}

/// What follows from launch guards: where a launch passes all of them, the result of x op y is in the assumed range.
void checkGuards(const Meaning &meaning, int64_t bits, Range range) {
  Kernel kernel(bits);
  Value value = kernel.make(meaning.name, {kernel.argument(0), kernel.argument(1)}, bits);
  Value twice = kernel.make("arith.divsi", {value, kernel.argument(1)}, bits);
  int64_t smallest = INT64_MIN >> (64 - bits), largest = INT64_MAX >> (64 - bits);
  const Meaning &divide = *llvm::find_if(meanings, [](const Meaning &each) { return each.name == "arith.divsi"; });
  for (Value asked : {value, twice}) {
    Indices indices(kernel.function(), everything, gridLimits);
    if (!indices.assume(indices.scalar(asked), range.first, range.second)) continue;
    for (int64_t x : {smallest, smallest + 1, int64_t(-256), int64_t(-1), int64_t(0), int64_t(1), int64_t(300), largest})
      for (int64_t y : {smallest, smallest + 1, int64_t(-8), int64_t(-1), int64_t(0), int64_t(1), int64_t(256), largest}) {
        uint64_t slots[] = {uint64_t(x), uint64_t(y), 0};
        if (!llvm::all_of(indices.guards(), [&](const LaunchGuard &guard) { return holds(guard, {slots, {}, {}}); })) continue;
        int64_t result = wrapped(uint64_t(apply(meaning, x, y, bits)), bits);
        if (asked == twice) result = wrapped(uint64_t(apply(divide, result, y, bits)), bits);
        EXPECT_TRUE(result >= range.first && result <= range.second)
            << meaning.name.str() << " of " << x << " and " << y << " is " << result << ", not in " << textOf(range);
      }
  }
}

TEST(IntegerRanges, HoldInLaunchesThatPassTheGuards) {
  for (const Meaning &meaning : meanings)
    for (int64_t bits : {32, 64})
      for (Range range : {Range(0, INT64_MAX), Range(0, 4096), Range(-4096, 100000), Range(INT64_MIN, 1000)})
        if (!meaning.isUnary) checkGuards(meaning, bits, range);
}

} // namespace
