// Values of other iterations, and which iterations exist: compared with the loop itself, executed one iteration after the other. Integers
// of four bits have all bounds and steps; wider ones those around zero and at both ends.
#include "gpu/schedule/loop_iterations.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;
using llvm::APInt;

namespace {

using Known = llvm::DenseMap<mlir::Value, APInt>;

/// Computes a value from known ones. An offset of a pointer has 64 bits.
APInt valueOf(mlir::Value value, const Known &known) {
  if (auto found = known.find(value); found != known.end()) return found->second;
  mlir::Operation *op = value.getDefiningOp();
  if (auto pointer = mlir::dyn_cast<tt::AddPtrOp>(op))
    return valueOf(pointer.getPtr(), known) + valueOf(pointer.getOffset(), known).sext(64);
  mlir::Builder b(op->getContext());
  llvm::SmallVector<mlir::Attribute> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(b.getIntegerAttr(operand.getType(), valueOf(operand, known)));
  llvm::SmallVector<mlir::OpFoldResult> results;
  EXPECT_TRUE(mlir::succeeded(op->fold(operands, results)) && results.size() == 1) << op->getName().getStringRef().str();
  if (auto result = mlir::dyn_cast<mlir::Value>(results[0])) return valueOf(result, known);
  return mlir::cast<mlir::IntegerAttr>(mlir::cast<mlir::Attribute>(results[0])).getValue();
}

class LoopIterationsTest : public testing::Test {
protected:
  LoopIterationsTest() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Parses a loop over a type: `lower` and `step` are arguments of the kernel if they are empty.
  mlir::scf::ForOp parse(const std::string &type, bool isUnsigned, const std::string &lower, const std::string &step) {
    auto constant = [&](const std::string &name, const std::string &value) {
      return value.empty() ? "" : "%" + name + "Constant = arith.constant " + value + " : " + type + "\n";
    };
    auto use = [](const std::string &name, const std::string &value) { return "%" + name + (value.empty() ? "" : "Constant"); };
    std::string ofType = type == "index" ? "" : " : " + type;
    return parse("tt.func public @kernel(%lower: " + type + ", %upper: " + type + ", %step: " + type + ") {\n" + constant("lower", lower) +
                 constant("step", step) + "scf.for " + (isUnsigned ? "unsigned " : "") + "%i = " + use("lower", lower) +
                 " to %upper step " + use("step", step) + ofType + " {\n}\ntt.return\n}\n");
  }

  mlir::scf::ForOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
    EXPECT_TRUE(module) << text;
    mlir::scf::ForOp loop;
    module->walk([&](mlir::scf::ForOp found) { loop = found; });
    return loop;
  }

  mlir::Value argument(unsigned number) { return (*module->getOps<tt::FuncOp>().begin()).getArgument(number); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Wide = __int128;

Wide asWide(const APInt &value, bool isUnsigned) {
  return isUnsigned ? Wide(value.getZExtValue()) : Wide(value.getSExtValue());
}

/// Which iterations exist, as expressions of a loop.
struct Existence {
  explicit Existence(mlir::scf::ForOp loop) {
    LoopIterations iterations(loop);
    mlir::OpBuilder before(loop), inside = mlir::OpBuilder::atBlockBegin(loop.getBody());
    for (int64_t number = 0; number < numbers; ++number) {
      fromFirst.push_back(iterations.existsIteration(before, number));
      fromPresent.push_back(iterations.existsLater(inside, number + 1));
    }
    rest = iterations.count(before, modulus);
  }
  static constexpr int64_t numbers = 7, modulus = 3;
  llvm::SmallVector<mlir::Value> fromFirst, fromPresent; ///< of the iteration 0, 1, ...; 1, 2, ... later
  mlir::Value rest;                                      ///< of the number of iterations

  /// Compares with a loop with these bounds. A step is read as an unsigned number, so one that is negative passes the upper bound at once,
  /// or almost.
  void check(mlir::scf::ForOp loop, Known known, const APInt &lower, const APInt &upper, const APInt &step) const {
    bool isUnsigned = loop.getUnsignedCmp();
    Wide first = asWide(lower, isUnsigned), end = asWide(upper, isUnsigned), by = Wide(step.getZExtValue());
    Wide count = first < end ? (end - first + by - 1) / by : 0;
    for (int64_t number = 0; number < numbers; ++number)
      ASSERT_EQ(valueOf(fromFirst[size_t(number)], known).getBoolValue(), number < count) << number;
    ASSERT_EQ(Wide(valueOf(rest, known).getZExtValue()), count % modulus);
    for (Wide present : {Wide(0), Wide(1), Wide(2), count / 2, count - 3, count - 2, count - 1}) {
      if (present < 0 || present >= count) continue;
      known.insert_or_assign(loop.getInductionVar(), lower + step * APInt(64, uint64_t(present)).zextOrTrunc(step.getBitWidth()));
      for (int64_t number = 0; number < numbers; ++number)
        ASSERT_EQ(valueOf(fromPresent[size_t(number)], known).getBoolValue(), present + number + 1 < count) << number;
    }
  }
};

TEST_F(LoopIterationsTest, allLoopsOfFourBits) {
  for (bool isUnsigned : {false, true}) {
    mlir::scf::ForOp loop = parse("i4", isUnsigned, "", "");
    Existence existence(loop);
    for (uint64_t lower = 0; lower < 16; ++lower)
      for (uint64_t upper = 0; upper < 16; ++upper)
        for (uint64_t step = 1; step < 16; ++step) {
          SCOPED_TRACE(testing::Message() << lower << " to " << upper << " step " << step << " unsigned " << isUnsigned);
          APInt first(4, lower), end(4, upper), by(4, step);
          existence.check(loop, Known{{argument(0), first}, {argument(1), end}, {argument(2), by}}, first, end, by);
          if (HasFatalFailure()) return;
        }
  }
}

/// Constants take other ways: a loop from zero compares the upper bound, and products of steps are known to fit or not.
TEST_F(LoopIterationsTest, constantBoundsOfFourBits) {
  for (bool isUnsigned : {false, true})
    for (int lower : {-8, -3, 0, 5})
      for (int step = -8; step < 8; ++step) {
        if (step == 0) continue;
        mlir::scf::ForOp loop = parse("i4", isUnsigned, std::to_string(lower), std::to_string(step));
        Existence existence(loop);
        for (uint64_t upper = 0; upper < 16; ++upper) {
          SCOPED_TRACE(testing::Message() << lower << " to " << upper << " step " << step << " unsigned " << isUnsigned);
          APInt end(4, upper);
          existence.check(loop, Known{{argument(1), end}}, APInt(4, uint64_t(lower) & 15), end, APInt(4, uint64_t(step) & 15));
          if (HasFatalFailure()) return;
        }
      }
}

TEST_F(LoopIterationsTest, extremes) {
  for (auto [type, bits] : {std::pair("i8", 8u), {"i32", 32u}, {"i64", 64u}, {"index", 64u}})
    for (bool isUnsigned : {false, true})
      for (const char *from : {"", "0"}) {
        mlir::scf::ForOp loop = parse(type, isUnsigned, from, "");
        Existence existence(loop);
        APInt least = APInt::getSignedMinValue(bits), most = APInt::getSignedMaxValue(bits), zero(bits, 0);
        llvm::SmallVector<APInt> bounds = {least,    least + 1, least + 2, zero - 2, zero - 1, zero,
                                           zero + 1, zero + 2,  most - 2,  most - 1, most};
        llvm::SmallVector<APInt> steps = {zero + 1, zero + 2, zero + 3, most.udiv(APInt(bits, 3)), most - 1, most, least, zero - 1};
        for (const APInt &lower : bounds)
          for (const APInt &upper : bounds)
            for (const APInt &step : steps) {
              SCOPED_TRACE(testing::Message() << type << " unsigned " << isUnsigned << ": " << llvm::toString(lower, 10, true) << " to "
                                              << llvm::toString(upper, 10, true) << " step " << llvm::toString(step, 10, true));
              APInt first = *from ? zero : lower;
              existence.check(loop, Known{{argument(0), first}, {argument(1), upper}, {argument(2), step}}, first, upper, step);
              if (HasFatalFailure()) return;
            }
      }
}

/// What carried values may be: they advance by a constant, by a value from outside, by others, or as nothing that has a closed form.
constexpr char values[] = R"(
tt.func public @kernel(%lower: i32, %upper: i32, %step: i32, %by: i32, %base: !tt.ptr<i8>) {
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c5 = arith.constant 5 : i32
  %r:5 = scf.for %i = %lower to %upper step %step iter_args(%a = %c1, %b = %by, %c = %c3, %d = %c5, %p = %base)
      -> (i32, i32, i32, i32, !tt.ptr<i8>) : i32 {
    %a1 = arith.addi %a, %c3 : i32
    %b1 = arith.addi %by, %b : i32
    %product = arith.muli %c, %c5 : i32
    %c2 = arith.addi %product, %i : i32
    %d1 = arith.addi %d, %c : i32
    %p1 = tt.addptr %p, %by : !tt.ptr<i8>, i32
    %mixed = arith.xori %a, %d : i32
    %all = arith.subi %mixed, %i : i32
    %q = tt.addptr %p, %all : !tt.ptr<i8>, i32
    scf.yield %a1, %b1, %c2, %d1, %p1 : i32, i32, i32, i32, !tt.ptr<i8>
  }
  tt.return
}
)";

/// Binds the arguments of a loop's body in each of its iterations.
std::vector<Known> execute(mlir::scf::ForOp loop, const Known &outside, int64_t count) {
  std::vector<Known> iterations;
  Known present = outside;
  present[loop.getInductionVar()] = valueOf(loop.getLowerBound(), outside);
  for (auto [carried, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInits()))
    present[carried] = valueOf(init, outside);
  for (int64_t number = 0; number < count; ++number) {
    iterations.push_back(present);
    Known next = outside;
    next[loop.getInductionVar()] = present[loop.getInductionVar()] + valueOf(loop.getStep(), outside);
    for (auto [carried, yielded] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      next[carried] = valueOf(yielded, present);
    present = next;
  }
  return iterations;
}

/// The values of the loop above whose other iterations are asked for: those that it carries, and what it computes from them.
llvm::SmallVector<mlir::Value> valuesOf(mlir::scf::ForOp loop) {
  llvm::SmallVector<mlir::Value> all(loop.getBody()->getArguments());
  for (mlir::Operation &op : loop.getBody()->without_terminator())
    all.append(op.result_begin(), op.result_end());
  return all;
}

TEST_F(LoopIterationsTest, valuesOfOtherIterations) {
  constexpr int64_t count = 6, ahead = 4;
  for (int64_t by : {int64_t(1), int64_t(-7), int64_t(INT32_MAX), int64_t(INT32_MIN)})
    for (int64_t distance = 1; distance <= ahead; ++distance) {
      mlir::scf::ForOp loop = parse(values);
      Known outside = {{argument(0), APInt(32, uint64_t(-2), true)},
                       {argument(1), APInt(32, 100)},
                       {argument(2), APInt(32, 3)},
                       {argument(3), APInt(32, uint64_t(by), true)},
                       {argument(4), APInt(64, 1'000'000)}};
      llvm::SmallVector<mlir::Value> all = valuesOf(loop);
      std::vector<Known> iterations = execute(loop, outside, count + ahead);
      LoopIterations other(loop);
      for (mlir::Value value : all)
        EXPECT_TRUE(other.canClone(value));
      EXPECT_EQ(other.recurrences(all).size(), 2u); // %c and %d
      mlir::OpBuilder before(loop), inside = mlir::OpBuilder::atBlockBegin(loop.getBody());
      llvm::SmallVector<mlir::Value> fromFirst = other.ofIteration(before, all, distance), later = other.later(inside, all, distance);
      for (size_t value = 0; value < all.size(); ++value) {
        EXPECT_EQ(valueOf(fromFirst[value], outside), valueOf(all[value], iterations[size_t(distance)])) << value;
        for (size_t present = 0; present < count; ++present)
          EXPECT_EQ(valueOf(later[value], iterations[present]), valueOf(all[value], iterations[present + size_t(distance)])) << value;
      }
    }
}

/// A loop that carries what its scalars will be computes one step of them in an iteration.
TEST_F(LoopIterationsTest, carriedForLater) {
  constexpr int64_t count = 6, distance = 3;
  mlir::scf::ForOp loop = parse(values);
  Known outside = {{argument(0), APInt(32, 0)},
                   {argument(1), APInt(32, 100)},
                   {argument(2), APInt(32, 2)},
                   {argument(3), APInt(32, 9)},
                   {argument(4), APInt(64, 1'000'000)}};
  llvm::SmallVector<LaterScalar> made;
  loop = carryLater(loop, LoopIterations(loop).recurrences(loop.getYieldedValues()), distance, made);
  ASSERT_EQ(made.size(), 2u);
  ASSERT_EQ(loop.getNumRegionIterArgs(), 7u);
  std::vector<Known> iterations = execute(loop, outside, count + distance);
  for (const LaterScalar &each : made)
    for (size_t present = 0; present < count; ++present)
      EXPECT_EQ(iterations[present].lookup(loop.getRegionIterArgs()[each.later]),
                iterations[present + distance].lookup(loop.getRegionIterArgs()[each.carried]));
}

} // namespace
