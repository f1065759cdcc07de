#include "gpu/tiles/arg_reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <array>

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// Stands for the values and the indices of two pairs in one case. The region only compares them, so examples that compare alike give the
/// same answer.
struct Example {
  std::array<double, 2> numbers; ///< 0, 1 or NaN
  std::array<int64_t, 2> indices;
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Records the signedness of the integer comparisons in a region.
struct Signs {
  bool isSigned = false, isUnsigned = false;
};

/// A value inside the region: a truth value, or one of its arguments (value and index of the first pair, then of the second).
struct Known {
  bool isTruth = false;
  int64_t value = 0;
};

/// Evaluates the region on an example.
class Run {
public:
  Run(Block &block, const Example &example) : block(block), example(example) {}

  /// Returns the pair that the region returns: 1 or 2. Nothing if it does more than compare and choose.
  std::optional<int64_t> picked() {
    for (BlockArgument argument : block.getArguments())
      known[argument] = {false, argument.getArgNumber()};
    for (Operation &op : block.without_terminator()) {
      std::optional<Known> result = op.getNumResults() == 1 ? resultOf(op) : std::nullopt;
      if (!result) return std::nullopt;
      known[op.getResult(0)] = *result;
    }
    std::optional<Known> number = of(block.getTerminator()->getOperand(0)), index = of(block.getTerminator()->getOperand(1));
    if (!number || !index || number->isTruth || index->isTruth) return std::nullopt;
    if (number->value == 0 && index->value == 1) return 1;
    if (number->value == 2 && index->value == 3) return 2;
    return std::nullopt;
  }
  Signs numbers, indices;

private:
  std::optional<Known> of(Value value) const {
    if (auto found = known.find(value); found != known.end()) return found->second;
    APInt constant;
    if (value.getType().isInteger(1) && matchPattern(value, m_ConstantInt(&constant))) return Known{true, constant.isZero() ? 0 : 1};
    return std::nullopt;
  }
  std::optional<Known> compareFloats(arith::CmpFOp op) const {
    std::optional<Known> left = of(op.getLhs()), right = of(op.getRhs());
    if (!left || !right) return std::nullopt;
    APFloat first(example.numbers[static_cast<size_t>(left->value / 2)]), second(example.numbers[static_cast<size_t>(right->value / 2)]);
    return Known{true, arith::applyCmpPredicate(op.getPredicate(), first, second)};
  }
  std::optional<Known> compareIntegers(arith::CmpIOp op) {
    std::optional<Known> left = of(op.getLhs()), right = of(op.getRhs());
    if (!left || !right || left->isTruth || right->isTruth || (left->value ^ right->value) & 1) return std::nullopt;
    bool ofIndices = left->value & 1;
    arith::CmpIPredicate predicate = op.getPredicate();
    Signs &signs = ofIndices ? indices : numbers;
    signs.isSigned |= predicate >= arith::CmpIPredicate::slt && predicate <= arith::CmpIPredicate::sge;
    signs.isUnsigned |= predicate >= arith::CmpIPredicate::ult;
    auto number = [&](int64_t argument) {
      size_t pair = static_cast<size_t>(argument / 2);
      return APInt(8, static_cast<uint64_t>(ofIndices ? example.indices[pair] : static_cast<int64_t>(example.numbers[pair])));
    };
    return Known{true, arith::applyCmpPredicate(predicate, number(left->value), number(right->value))};
  }
  /// Combines two truth values.
  std::optional<Known> combined(Operation &op) const {
    std::optional<Known> left = of(op.getOperand(0)), right = of(op.getOperand(1));
    if (!left || !right || !left->isTruth || !right->isTruth) return std::nullopt;
    if (isa<arith::AndIOp>(op)) return Known{true, left->value & right->value};
    return Known{true, isa<arith::OrIOp>(op) ? left->value | right->value : left->value ^ right->value};
  }
  std::optional<Known> resultOf(Operation &op) {
    if (auto compare = dyn_cast<arith::CmpFOp>(op)) return compareFloats(compare);
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) return compareIntegers(compare);
    if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) return combined(op);
    if (isa<arith::ConstantOp>(op)) return of(op.getResult(0));
    auto select = dyn_cast<arith::SelectOp>(op);
    std::optional<Known> condition = select ? of(select.getCondition()) : std::nullopt;
    if (!condition || !condition->isTruth) return std::nullopt;
    return of(condition->value ? select.getTrueValue() : select.getFalseValue());
  }

  Block &block;
  const Example &example;
  llvm::DenseMap<Value, Known> known;
};

/// The pair that a region returns, in either order of the pairs.
enum class Answer { first, second, either };

/// Evaluates a region on examples, each in both orders.
class PairTester {
public:
  explicit PairTester(Block &block) : block(block) {}

  std::optional<Answer> ask(const Example &example) {
    std::optional<int64_t> one = run(example);
    std::optional<int64_t> other = run({{example.numbers[1], example.numbers[0]}, {example.indices[1], example.indices[0]}});
    if (!one || !other) return std::nullopt;
    if (*one == *other) return Answer::either;
    return *one == 1 ? Answer::first : Answer::second;
  }
  Signs numbers, indices;

private:
  std::optional<int64_t> run(const Example &example) {
    Run run(block, example);
    std::optional<int64_t> picked = run.picked();
    numbers.isSigned |= run.numbers.isSigned, numbers.isUnsigned |= run.numbers.isUnsigned;
    indices.isSigned |= run.indices.isSigned, indices.isUnsigned |= run.indices.isUnsigned;
    return picked;
  }

  Block &block;
};
} // namespace

std::optional<ArgReduction> argReduction(tt::ReduceOp op) {
  Block &block = op.getCombineOp().front();
  if (block.getNumArguments() != 4 || !block.getArgument(1).getType().isInteger(32)) return std::nullopt;
  Type type = block.getArgument(0).getType();
  bool isFloat = type.isF32() || type.isF16();
  if (!isFloat && !(type.isInteger(8) || type.isInteger(16) || type.isInteger(32))) return std::nullopt;
  PairTester tester(block);
  ArgReduction found;
  // The larger or the smaller value wins, for any indices; for equal values one index wins, for any value.
  std::optional<Answer> larger = tester.ask({{1, 0}, {0, 1}}), ofEqual = tester.ask({{0, 0}, {0, 1}});
  if (!larger || !ofEqual || *larger == Answer::either || tester.ask({{1, 0}, {1, 0}}) != larger || tester.ask({{1, 0}, {0, 0}}) != larger)
    return std::nullopt;
  found.largest = *larger == Answer::first;
  found.firstIndex = *ofEqual != Answer::second;
  found.isSymmetric = *ofEqual != Answer::either;
  if (isFloat) {
    std::optional<Answer> ofNans = tester.ask({{nan, nan}, {0, 1}});
    if (!ofNans || (*ofNans != *ofEqual && *ofNans != Answer::either)) return std::nullopt;
    found.isSymmetric &= *ofNans != Answer::either;
    std::optional<Answer> ofNan = tester.ask({{nan, 0}, {0, 1}});
    if (!ofNan || tester.ask({{nan, 0}, {1, 0}}) != ofNan || tester.ask({{nan, 0}, {0, 0}}) != ofNan) return std::nullopt;
    found.isNanBest = *ofNan == Answer::first;
    found.isSymmetric &= *ofNan != Answer::either;
  }
  if ((tester.numbers.isSigned && tester.numbers.isUnsigned) || (tester.indices.isSigned && tester.indices.isUnsigned)) return std::nullopt;
  found.unsignedValue = tester.numbers.isUnsigned;
  found.unsignedIndex = tester.indices.isUnsigned;
  return found;
}

} // namespace tilewright::gpu
