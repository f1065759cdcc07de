// The analyses of integers, compared with brute force. Every expression of up to so many operations over a range, two scalars and a few
// constants of 4 bits (or 5) is built, the analyses are asked about it, and what they claim is compared with the values of its elements
// for every value of the scalars:
//   %d = subi %i, (remsi %i, %a)      step 0 while the remainder does not wrap around; equal elements only in groups of ...
// Two expressions with the same values and the same claims are one operand to what comes after them, which keeps the number of
// expressions with three and more operations small.
//
// TILEWRIGHT_EXHAUSTIVE_OPERATIONS sets the number of operations, TILEWRIGHT_EXHAUSTIVE_BITS the width, and TILEWRIGHT_EXHAUSTIVE_NAMES
// the operations on two numbers that are tried ("addi subi muli divsi remsi cmpi"; all of them if it is not set).
// With TILEWRIGHT_EXHAUSTIVE_SHARD="K/N" one of N processes tries its share of the expressions of the largest number of operations.
#include "cpu/analysis.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/ttg/ttg.h"
#include "ir/address/indices.h"
#include "tile_context.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>

using namespace mlir;
using namespace tilewright;

namespace {

constexpr int16_t undefined = INT16_MIN; // a shift by the width or more

/// The tile (without a shape: a scalar) and the values of the scalars that every expression is computed for.
struct Space {
  int64_t bits;
  SmallVector<int64_t, 2> shape;
  std::vector<std::pair<int64_t, int64_t>> scalars; // a and b

  size_t lanes() const {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    return static_cast<size_t>(count);
  }
  size_t size() const { return scalars.size() * lanes(); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// How far the next element along `dim` is in the order of lanes, and the index of `lane` there.
  size_t pitch(int64_t dim) const { return dim + 1 == rank() ? 1 : static_cast<size_t>(shape[1]); }
  int64_t index(size_t lane, int64_t dim) const { return static_cast<int64_t>(lane / pitch(dim)) % shape[static_cast<size_t>(dim)]; }
};

/// An expression: how it is made, its elements for all scalars (lane by lane, sign extended), and its elements with sums and products
/// that do not wrap around.
struct Expression {
  std::string made; // "subi 0 7": an operation and the indices of its operands
  std::vector<size_t> operands;
  int64_t bits = 0;
  bool isPointer = false;
  std::vector<int16_t> values;
  std::vector<int64_t> exact;
  /// For each dimension and each assignment: whether the run-time checks that the CPU's steps along it depend on succeed.
  std::vector<std::vector<bool>> checked;
  SmallVector<cpu::Stride, 2> steps;
};

int64_t wrapped(int64_t value, int64_t bits) {
  return llvm::SignExtend64(static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(bits)),
                            static_cast<unsigned>(bits));
}

uint64_t asUnsigned(int64_t value, int64_t bits) {
  return static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(bits));
}

/// An operation on two numbers of equal width. `linear`: a sum or product, whose exact value is that of the operands' exact values.
struct Binary {
  const char *name;
  bool linear;
  std::optional<int64_t> (*apply)(int64_t a, int64_t b, int64_t bits);
};

#define UNSIGNED(expression)                                                                                                               \
  [](int64_t x, int64_t y, int64_t bits) -> std::optional<int64_t> {                                                                       \
    uint64_t a = asUnsigned(x, bits), b = asUnsigned(y, bits);                                                                             \
    (void)a, (void)b;                                                                                                                      \
    return expression;                                                                                                                     \
  }
#define SIGNED(expression)                                                                                                                 \
  [](int64_t a, int64_t b, int64_t bits) -> std::optional<int64_t> {                                                                       \
    (void)bits;                                                                                                                            \
    return expression;                                                                                                                     \
  }
const std::optional<int64_t> none;
const Binary binaries[] = {
    {"arith.addi", true, SIGNED(a + b)},
    {"arith.subi", true, SIGNED(a - b)},
    {"arith.muli", true, SIGNED(a * b)},
    {"arith.shli", true, SIGNED(b >= 0 && b < bits ? std::optional(a * (int64_t(1) << b)) : none)},
    {"arith.divsi", false, SIGNED(b ? a / b : -1)},
    {"arith.remsi", false, SIGNED(b ? a % b : a)},
    {"arith.divui", false, UNSIGNED(b ? static_cast<int64_t>(a / b) : -1)},
    {"arith.remui", false, UNSIGNED(static_cast<int64_t>(b ? a % b : a))},
    {"arith.shrsi", false, SIGNED(b >= 0 && b < bits ? std::optional(a >> b) : none)},
    {"arith.shrui", false, UNSIGNED(b < static_cast<uint64_t>(bits) ? std::optional(static_cast<int64_t>(a >> b)) : none)},
    {"arith.andi", false, SIGNED(a & b)},
    {"arith.ori", false, SIGNED(a | b)},
    {"arith.xori", false, SIGNED(a ^ b)},
    {"arith.minsi", false, SIGNED(std::min(a, b))},
    {"arith.maxsi", false, SIGNED(std::max(a, b))},
    {"arith.minui", false, UNSIGNED(static_cast<int64_t>(std::min(a, b)))},
    {"arith.maxui", false, UNSIGNED(static_cast<int64_t>(std::max(a, b)))},
};
const std::pair<const char *, bool (*)(int64_t a, int64_t b, uint64_t ua, uint64_t ub)> comparisons[] = {
    {"slt", [](int64_t a, int64_t b, uint64_t, uint64_t) { return a < b; }},
    {"sle", [](int64_t a, int64_t b, uint64_t, uint64_t) { return a <= b; }},
    {"ult", [](int64_t, int64_t, uint64_t a, uint64_t b) { return a < b; }},
    {"uge", [](int64_t, int64_t, uint64_t a, uint64_t b) { return a >= b; }},
    {"eq", [](int64_t a, int64_t b, uint64_t, uint64_t) { return a == b; }},
};

/// A function of a pointer and the two scalars, in which expressions become operations.
class Kernel {
public:
  explicit Kernel(const Space &space) : space(space), b(UnknownLoc::get(&testContext()), &testContext()) {
    auto type = [&](int64_t bits) { return ("i" + llvm::Twine(bits)).str(); };
    std::string text = "tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %a: " + type(space.bits) +
                       ", %b: " + type(space.bits) + ") {\ntt.return\n}\n";
    module = parseSourceString<ModuleOp>(text, &testContext());
    b.setInsertionPoint(function().getBody().front().getTerminator());
  }
  tt::FuncOp function() { return *module->getOps<tt::FuncOp>().begin(); }

  Type tileOf(Type element) { return space.shape.empty() ? element : RankedTensorType::get(space.shape, element); }
  Type tileOf(int64_t bits) { return tileOf(b.getIntegerType(static_cast<unsigned>(bits))); }

  Value range(int64_t dim) {
    Type narrow = b.getIntegerType(static_cast<unsigned>(space.bits));
    auto row = RankedTensorType::get({space.shape[static_cast<size_t>(dim)]}, narrow);
    Value made = tt::MakeRangeOp::create(b, row, 0, static_cast<int32_t>(space.shape[static_cast<size_t>(dim)]));
    if (space.rank() == 1) return made;
    SmallVector<int64_t, 2> one(space.shape);
    one[static_cast<size_t>(1 - dim)] = 1;
    Value expanded = tt::ExpandDimsOp::create(b, RankedTensorType::get(one, narrow), made, static_cast<int32_t>(1 - dim));
    return tt::BroadcastOp::create(b, tileOf(space.bits), expanded);
  }
  Value splat(Value scalar) { return space.shape.empty() ? scalar : Value(tt::SplatOp::create(b, tileOf(scalar.getType()), scalar)); }
  Value constant(int64_t number) {
    APInt value(static_cast<unsigned>(space.bits), static_cast<uint64_t>(number), true);
    if (space.shape.empty()) return arith::ConstantOp::create(b, b.getIntegerAttr(tileOf(space.bits), value));
    return arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(tileOf(space.bits)), value));
  }
  Value make(const std::string &name, ArrayRef<Value> operands, int64_t bits, bool isPointer) {
    auto [op, rest] = StringRef(name).split(' ');
    if (op == "range") return range(rest == "1");
    if (op == "scalar") return splat(function().getArgument(rest == "a" ? 1 : 2));
    if (op == "constant") return constant(std::stoll(rest.str()));
    if (op == "arith.cmpi") return arith::CmpIOp::create(b, *arith::symbolizeCmpIPredicate(rest), operands[0], operands[1]);
    if (isPointer) {
      Value base = operands.size() == 2 ? operands[0] : splat(function().getArgument(0));
      return tt::AddPtrOp::create(b, base.getType(), base, operands.back());
    }
    OperationState state(b.getLoc(), op, operands, {tileOf(bits)});
    return b.create(state)->getResult(0);
  }

  const Space &space;
  ImplicitLocOpBuilder b;
  OwningOpRef<ModuleOp> module;
};

//===-------------------------------------------------------------------------------------------------------- enumeration

class Enumeration {
public:
  Enumeration(const Space &space, SmallVector<int64_t> constants) : space(space) {
    if (const char *names = std::getenv("TILEWRIGHT_EXHAUSTIVE_NAMES")) llvm::SplitString(names, triedNames);
    if (const char *text = std::getenv("TILEWRIGHT_EXHAUSTIVE_SHARD")) {
      auto [number, count] = StringRef(text).split('/');
      if (number.getAsInteger(10, shard) || count.getAsInteger(10, numShards) || shard >= numShards)
        ADD_FAILURE() << "TILEWRIGHT_EXHAUSTIVE_SHARD is K/N, not " << text;
    }
    for (int64_t d = 0; d < space.rank(); ++d)
      leaf("range " + std::to_string(d), [&, d](size_t, size_t lane) { return space.index(lane, d); });
    leaf("scalar a", [&](size_t which, size_t) { return space.scalars[which].first; });
    leaf("scalar b", [&](size_t which, size_t) { return space.scalars[which].second; });
    for (int64_t number : constants)
      leaf("constant " + std::to_string(number), [&, number](size_t, size_t) { return number; });
  }

  /// Expressions of exactly one operation more each time; those that are like others are dropped.
  void grow(int64_t operations) {
    byOperations.push_back(representatives);
    check(byOperations[0]);
    for (int64_t n = 1; n <= operations; ++n) {
      std::vector<size_t> fresh;
      isLast = n == operations;
      for (size_t left = 0; left < byOperations.size(); ++left) {
        size_t right = static_cast<size_t>(n) - 1 - left;
        if (right < byOperations.size())
          for (size_t l : byOperations[left]) {
            if (isLast && l % numShards != shard) continue;
            for (size_t r : byOperations[right])
              combine(l, r, fresh);
            flush(fresh);
          }
      }
      for (size_t i : byOperations[static_cast<size_t>(n) - 1])
        convert(i, fresh);
      flush(fresh);
      byOperations.push_back(fresh);
      if (failures > 20) return;
    }
  }

  size_t numExpressions() const { return tried; }
  size_t numClaims() const { return claims; }
  std::vector<size_t> kept() const {
    std::vector<size_t> counts;
    for (auto &level : byOperations)
      counts.push_back(level.size());
    return counts;
  }

private:
  bool isTried(StringRef name) const {
    return triedNames.empty() || llvm::is_contained(triedNames, name.drop_front(StringRef("arith.").size()));
  }

  void leaf(const std::string &made, llvm::function_ref<int64_t(size_t, size_t)> value) {
    Expression e{made, {}, space.bits, false, {}, {}, {}, {}};
    for (size_t which = 0; which < space.scalars.size(); ++which)
      for (size_t lane = 0; lane < space.lanes(); ++lane)
        e.values.push_back(static_cast<int16_t>(value(which, lane)));
    e.exact.assign(e.values.begin(), e.values.end());
    representatives.push_back(pool.size());
    pool.push_back(std::move(e));
  }

  void combine(size_t l, size_t r, std::vector<size_t> &fresh) {
    if (pool[l].isPointer || pool[r].isPointer || pool[l].bits != pool[r].bits) return;
    int64_t bits = pool[l].bits;
    if (bits == 1) return;
    for (const Binary &op : binaries) {
      if (!isTried(op.name)) continue;
      Expression e = like(op.name, {l, r}, bits);
      for (size_t i = 0; i < space.size(); ++i) {
        int64_t x = pool[l].values[i], y = pool[r].values[i];
        std::optional<int64_t> value = x == undefined || y == undefined ? none : op.apply(x, y, bits);
        e.values[i] = value ? static_cast<int16_t>(wrapped(*value, bits)) : undefined;
        if (!value) continue;
        // A shift's amount is a number as it is; what is shifted may have wrapped around.
        bool isShift = op.name == StringRef("arith.shli");
        std::optional<int64_t> exact =
            op.linear ? op.apply(pool[l].exact[i], isShift ? y : pool[r].exact[i], isShift ? 63 : bits) : e.values[i];
        e.exact[i] = *exact;
      }
      pending.push_back(std::move(e));
    }
    for (auto [name, compare] : comparisons) {
      if (!isTried("arith.cmpi")) break;
      Expression e = like(std::string("arith.cmpi ") + name, {l, r}, 1);
      for (size_t i = 0; i < space.size(); ++i) {
        int64_t x = pool[l].values[i], y = pool[r].values[i];
        bool isUndefined = x == undefined || y == undefined;
        e.values[i] = isUndefined ? undefined : static_cast<int16_t>(-compare(x, y, asUnsigned(x, bits), asUnsigned(y, bits)));
        e.exact[i] = e.values[i];
      }
      pending.push_back(std::move(e));
    }
    if (pending.size() > 4096) flush(fresh);
  }

  /// The operations on one number: wider, narrower, an address.
  void convert(size_t i, std::vector<size_t> &fresh) {
    int64_t bits = pool[i].bits;
    if (pool[i].isPointer) return;
    auto unary = [&](const char *name, int64_t to, bool isUnsigned, bool isPointer) {
      Expression e = like(name, {i}, to);
      e.isPointer = isPointer;
      for (size_t k = 0; k < space.size(); ++k) {
        int64_t x = pool[i].values[k];
        e.values[k] = undefined;
        if (x == undefined) continue;
        int64_t value = isUnsigned ? static_cast<int64_t>(asUnsigned(x, bits)) : x;
        e.values[k] = static_cast<int16_t>(isPointer ? 4 * value : wrapped(value, to));
        e.exact[k] = to < bits && !isPointer ? pool[i].exact[k] : e.values[k];
      }
      pending.push_back(std::move(e));
    };
    if (bits < 2 * space.bits) {
      unary("arith.extui", 2 * space.bits, true, false);
      if (bits > 1) unary("arith.extsi", 2 * space.bits, false, false);
    } else {
      unary("arith.trunci", space.bits, false, false);
    }
    if (bits > 1) unary("tt.addptr", 64, false, true);
    if (pending.size() > 4096) flush(fresh);
  }

  Expression like(std::string made, std::vector<size_t> operands, int64_t bits) {
    Expression e{
        std::move(made), std::move(operands), bits, false, std::vector<int16_t>(space.size()), std::vector<int64_t>(space.size()), {}, {}};
    return e;
  }

  /// Asks the analyses about what is pending, checks their claims, and keeps what is unlike everything before.
  void flush(std::vector<size_t> &fresh) {
    std::vector<size_t> added;
    for (Expression &e : pending) {
      if (llvm::all_of(e.values, [](int16_t value) { return value == undefined; })) continue;
      added.push_back(pool.size());
      pool.push_back(std::move(e));
    }
    pending.clear();
    size_t end = pool.size();
    std::vector<bool> isNew = check(added);
    for (size_t i = 0; i < added.size(); ++i)
      if (isNew[i]) fresh.push_back(added[i]);
    // What nothing is made of needs no tables.
    for (size_t i = 0; i < added.size(); ++i)
      if (!isNew[i] || isLast) pool[added[i]] = Expression();
    while (end > 0 && pool[end - 1].values.empty())
      --end;
    pool.resize(end);
  }

  std::string text(size_t i) const {
    const Expression &e = pool[i];
    auto [op, rest] = StringRef(e.made).split(' ');
    if (e.operands.empty()) return rest.str();
    op.consume_front("arith.");
    std::string result = "(" + op.str() + (rest.empty() ? "" : " " + rest.str());
    for (size_t operand : e.operands)
      result += " " + text(operand);
    return result + ")";
  }

  Value build(Kernel &kernel, size_t i, std::map<size_t, Value> &built) {
    if (auto found = built.find(i); found != built.end()) return found->second;
    SmallVector<Value, 2> operands;
    for (size_t operand : pool[i].operands)
      operands.push_back(build(kernel, operand, built));
    return built[i] = kernel.make(pool[i].made, operands, pool[i].bits, pool[i].isPointer);
  }

  void fail(size_t i, const std::string &claim, size_t which) {
    if (i == lastFailed || ++failures > 20) return; // one claim of an expression is enough
    lastFailed = i;
    std::string values;
    for (size_t lane = 0; lane < space.lanes(); ++lane)
      values += " " + std::to_string(pool[i].values[which * space.lanes() + lane]);
    ADD_FAILURE() << text(i) << " : i" << pool[i].bits << ", a = " << space.scalars[which].first << ", b = " << space.scalars[which].second
                  << ": " << claim << ", but its elements are" << values;
  }

  bool isDefined(size_t i, size_t which) const {
    auto begin = pool[i].values.begin() + static_cast<ptrdiff_t>(which * space.lanes());
    return std::none_of(begin, begin + static_cast<ptrdiff_t>(space.lanes()), [](int16_t value) { return value == undefined; });
  }

  std::vector<bool> check(const std::vector<size_t> &added) {
    Kernel kernel(space);
    std::map<size_t, Value> built;
    for (size_t i : added)
      build(kernel, i, built);
    address::FailedGuards everything;
    everything.insert(everyGuard);
    cpu::TileAnalysis tiles(kernel.function(), everything);
    address::Indices indices(kernel.function(), everything, gridLimits);
    kernel.function()->setAttr(ttg::failedGuardsName, kernel.b.getStrArrayAttr({everyGuard}));
    gpu::AxisAnalysis axes(kernel.function());
    std::vector<bool> isNew;
    for (size_t i : added) {
      ++tried;
      Value value = built[i];
      llvm::hash_code key = llvm::hash_combine(llvm::hash_combine_range(pool[i].values), llvm::hash_combine_range(pool[i].exact));
      key = llvm::hash_combine(key, pool[i].bits, pool[i].isPointer, checkSteps(i, value, tiles));
      if (pool[i].isPointer)
        checkDistinct(i, value, tiles);
      else
        key = llvm::hash_combine(key, space.shape.empty() ? checkBounds(i, value, indices) : checkRange(i, value, tiles, indices));
      key = llvm::hash_combine(key, checkAxes(i, axes.of(value)));
      if (pool[i].bits == 1) checkBox(i, value, tiles);
      for (auto &checked : pool[i].checked)
        key = llvm::hash_combine(key, llvm::hash_combine_range(std::vector<char>(checked.begin(), checked.end())));
      isNew.push_back(seen.insert(static_cast<size_t>(key)).second);
    }
    return isNew;
  }

  //===----------------------------------------------------------------------------------------------------- CPUs: steps

  /// The run-time check of `(start + i) % n`, from the first elements alone, as cpu/conditions.cpp makes it.
  bool staysBelow(size_t i, int64_t dim, size_t which) const {
    const Expression &l = pool[pool[i].operands[0]], &r = pool[pool[i].operands[1]];
    int64_t moving = 0;
    for (int64_t d = 0; d < space.rank(); ++d)
      moving += !l.steps[static_cast<size_t>(d)].isZero();
    if (moving > 1) return false;
    int64_t start = l.values[which * space.lanes()], count = r.values[which * space.lanes()], size = space.shape[static_cast<size_t>(dim)];
    int64_t last = (int64_t(1) << (pool[i].bits - 1)) - 1 - (size - 1);
    return start >= 0 && start % std::max<int64_t>(count, 1) + size <= count && start <= last;
  }

  /// The run-time check that the operand moves as exact numbers do.
  bool extendsWithoutWrap(size_t i, size_t which) const {
    const Expression &in = pool[pool[i].operands.back()];
    bool isUnsigned = StringRef(pool[i].made).starts_with("arith.extui");
    int64_t narrow = in.values[which * space.lanes()];
    int64_t first = isUnsigned ? static_cast<int64_t>(asUnsigned(narrow, in.bits)) : narrow, low = first, high = first;
    for (int64_t d = 0; d < space.rank(); ++d) {
      const cpu::Stride &step = in.steps[static_cast<size_t>(d)];
      if (step.isZero()) continue;
      int64_t next = in.values[which * space.lanes() + space.pitch(d)];
      int64_t amount = step.kind == cpu::Stride::constant ? step.amount : wrapped(next - narrow, in.bits);
      int64_t span = amount * (space.shape[static_cast<size_t>(d)] - 1);
      low += std::min<int64_t>(span, 0), high += std::max<int64_t>(span, 0);
    }
    int64_t half = int64_t(1) << (in.bits - 1);
    return isUnsigned ? low >= 0 && high < 2 * half : low >= -half && high < half;
  }

  llvm::hash_code checkSteps(size_t i, Value value, cpu::TileAnalysis &tiles) {
    Expression &e = pool[i];
    llvm::hash_code key(0);
    for (int64_t d = 0; d < space.rank(); ++d) {
      cpu::Stride step = tiles.strideOf(value, d);
      e.steps.push_back(step);
      key = llvm::hash_combine(key, static_cast<int>(step.kind), step.amount, step.wraps, step.extends, step.modular);
      Operation *op = value.getDefiningOp();
      bool wraps = isa<arith::RemSIOp, arith::RemUIOp>(op) && step.wraps;
      bool extends = cpu::extendedFrom(op) && step.extends && !tiles.extendsWithoutWrap(op, d);
      std::vector<bool> checked(space.scalars.size(), true);
      for (size_t which = 0; which < space.scalars.size(); ++which) {
        for (size_t operand : e.operands)
          if (!pool[operand].checked[static_cast<size_t>(d)][which]) checked[which] = false;
        if (!isDefined(i, which)) continue;
        if (wraps && !staysBelow(i, d, which)) checked[which] = false;
        if (extends && !extendsWithoutWrap(i, which)) checked[which] = false;
        if (step.kind != cpu::Stride::other && (checked[which] || !step.isConditional())) checkStep(i, step, d, which);
      }
      e.checked.push_back(std::move(checked));
    }
    return key;
  }

  void checkStep(size_t i, const cpu::Stride &step, int64_t dim, size_t which) {
    const Expression &e = pool[i];
    ++claims;
    std::map<size_t, int64_t> first; // of all rows along the dimension, or of each
    for (size_t lane = 0; lane < space.lanes(); ++lane) {
      if (space.index(lane, dim) + 1 == space.shape[static_cast<size_t>(dim)]) continue;
      size_t at = which * space.lanes() + lane;
      int64_t moved = e.values[at + space.pitch(dim)] - e.values[at];
      if (step.modular) moved = wrapped(moved, e.bits);
      size_t row = step.varies ? lane - static_cast<size_t>(space.index(lane, dim)) * space.pitch(dim) : 0;
      int64_t wanted = step.kind == cpu::Stride::constant ? step.amount : first.try_emplace(row, moved).first->second;
      if (step.modular) wanted = wrapped(wanted, e.bits);
      if (moved != wanted) {
        std::string condition = step.isConditional() ? " where its checks succeed" : "";
        return fail(i, "moves along " + std::to_string(dim) + " by " + std::to_string(wanted) + condition, which);
      }
    }
  }

  //===------------------------------------------------------------------------------------------ ranges, overflow, masks

  llvm::hash_code checkRange(size_t i, Value value, cpu::TileAnalysis &tiles, address::Indices &indices) {
    const Expression &e = pool[i];
    bool isExact = e.bits > 1 && tiles.isExact(value), isNonNegative = indices.assumeNonNegativeElements(value);
    Result<address::Polynomial> element = indices.element(value, address::ownDims(value));
    bool isPolynomial = e.bits > 1 && element && indices.isOfArguments(*element);
    for (size_t which = 0; which < space.scalars.size(); ++which) {
      if (!isDefined(i, which)) continue;
      claims += isExact + isNonNegative + isPolynomial;
      for (size_t lane = 0; lane < space.lanes(); ++lane) {
        size_t at = which * space.lanes() + lane;
        if (isExact && e.exact[at] != e.values[at]) fail(i, "nothing overflows", which);
        if (isNonNegative && e.values[at] < 0) fail(i, "nothing is negative", which);
        if (isPolynomial && valueOf(*element, which, lane) != e.values[at]) fail(i, "is " + indices.text(*element), which);
      }
    }
    return llvm::hash_combine(isExact, isNonNegative, isPolynomial);
  }

  /// The smallest and the largest number that a scalar is proven to be.
  llvm::hash_code checkBounds(size_t i, Value value, address::Indices &indices) {
    const Expression &e = pool[i];
    if (e.bits == 1) return llvm::hash_code(0);
    address::Polynomial polynomial = indices.scalar(value);
    int64_t half = int64_t(1) << (e.bits - 1), low = -half - 1, high = half;
    while (low + 1 < half && indices.isProven(polynomial, low + 1, INT64_MAX))
      ++low;
    while (high - 1 >= -half && indices.isProven(polynomial, INT64_MIN, high - 1))
      --high;
    bool isPolynomial = indices.isOfArguments(polynomial);
    for (size_t which = 0; which < space.scalars.size(); ++which) {
      if (!isDefined(i, which)) continue;
      claims += 2;
      if (e.values[which] < low || e.values[which] > high) fail(i, "is from " + std::to_string(low) + " to " + std::to_string(high), which);
      if (isPolynomial && valueOf(polynomial, which, 0) != e.values[which]) fail(i, "is " + indices.text(polynomial), which);
    }
    return llvm::hash_combine(low, high, isPolynomial);
  }

  /// Where the steps are constants, each of which exceeds what the smaller ones reach, no address occurs twice.
  void checkDistinct(size_t i, Value value, cpu::TileAnalysis &tiles) {
    if (!tiles.distinctAddresses(value)) return;
    SmallVector<std::pair<int64_t, int64_t>, 2> steps;
    for (int64_t d = 0; d < space.rank(); ++d)
      steps.push_back({std::abs(pool[i].steps[static_cast<size_t>(d)].amount), d});
    llvm::sort(steps);
    int64_t reached = 4;
    for (auto [step, d] : steps) {
      if (pool[i].steps[static_cast<size_t>(d)].kind != cpu::Stride::constant || step < reached) return;
      reached += step * (space.shape[static_cast<size_t>(d)] - 1);
    }
    for (size_t which = 0; which < space.scalars.size(); ++which) {
      bool holds = isDefined(i, which);
      for (auto &checked : pool[i].checked)
        holds &= checked[which];
      if (!holds) continue;
      ++claims;
      auto begin = pool[i].values.begin() + static_cast<ptrdiff_t>(which * space.lanes());
      std::vector<int16_t> sorted(begin, begin + static_cast<ptrdiff_t>(space.lanes()));
      llvm::sort(sorted);
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) fail(i, "no address occurs twice", which);
    }
  }

  int64_t valueOf(const address::Polynomial &polynomial, size_t which, size_t lane) const {
    int64_t sum = 0;
    for (const address::Term &term : polynomial.terms) {
      int64_t part = term.coefficient;
      for (int64_t factor : term.factors)
        part *= factor == 1 ? space.scalars[which].first : space.scalars[which].second;
      if (term.dim >= 0) part *= space.index(lane, term.dim);
      sum += part;
    }
    return sum;
  }

  /// A mask of boxes is true for the first indices of a dimension, or for the last ones, and the same along the others.
  void checkBox(size_t i, Value value, cpu::TileAnalysis &tiles) {
    llvm::SmallVector<cpu::BoxTerm> terms;
    if (!isa<arith::CmpIOp>(value.getDefiningOp()) || !tiles.box(value, terms) || terms[0].mayWrap) return;
    for (size_t which = 0; which < space.scalars.size(); ++which) {
      if (!isDefined(i, which)) continue;
      ++claims;
      for (size_t lane = 0; lane < space.lanes(); ++lane)
        for (int64_t d = 0; d < space.rank(); ++d) {
          if (space.index(lane, d) + 1 == space.shape[static_cast<size_t>(d)]) continue;
          size_t at = which * space.lanes() + lane;
          bool here = pool[i].values[at] != 0, next = pool[i].values[at + space.pitch(d)] != 0;
          bool isRight = d != terms[0].dim ? here == next : terms[0].lower ? next || !here : here || !next;
          if (!isRight) fail(i, "is a box", which);
        }
    }
  }

  //===------------------------------------------------------------------------------------------------- GPUs: AxisInfo

  llvm::hash_code checkAxes(size_t i, const gpu::AxisInfo &info) {
    const Expression &e = pool[i];
    llvm::hash_code key = llvm::hash_combine(info.constant.value_or(INT64_MIN), info.unit);
    uint64_t modulus = e.isPointer ? 16 : uint64_t(1) << e.bits; // the base is a multiple of 16
    for (size_t which = 0; which < space.scalars.size() && space.shape.empty(); ++which) {
      if (!isDefined(i, which)) continue;
      uint64_t by = std::min(static_cast<uint64_t>(info.divisibility[0]), modulus);
      if (static_cast<uint64_t>(int64_t(e.values[which])) % by) fail(i, "is a multiple of " + std::to_string(by), which);
      if (info.constant && e.bits > 1 && wrapped(*info.constant, e.bits) != e.values[which])
        fail(i, "is " + std::to_string(*info.constant), which);
    }
    if (space.shape.empty()) key = llvm::hash_combine(key, info.divisibility[0]);
    for (int64_t d = 0; d < space.rank(); ++d) {
      auto dim = static_cast<size_t>(d);
      key = llvm::hash_combine(key, info.contiguity[dim], info.divisibility[dim], info.constancy[dim]);
      // A group that rises starts at a multiple of its size where anything follows from it.
      int64_t rising = std::min(info.contiguity[dim], std::max<int64_t>(1, info.divisibility[dim] / info.unit));
      for (size_t which = 0; which < space.scalars.size(); ++which) {
        if (!isDefined(i, which)) continue;
        claims += 3;
        for (size_t lane = 0; lane < space.lanes(); ++lane) {
          int64_t index = space.index(lane, d), value = e.values[which * space.lanes() + lane];
          auto from = [&](int64_t group) {
            return e.values[which * space.lanes() + lane - static_cast<size_t>(index % group) * space.pitch(d)];
          };
          if (value != from(rising) + index % rising * info.unit)
            return fail(i, "rises in groups of " + std::to_string(rising), which), key;
          if (value != from(info.constancy[dim]))
            return fail(i, "is equal in groups of " + std::to_string(info.constancy[dim]), which), key;
          for (int64_t group = 1; group <= space.shape[dim]; group *= 2)
            if (index % group == 0) {
              uint64_t by = std::min(static_cast<uint64_t>(info.divisibilityAt(dim, group)), modulus);
              if (static_cast<uint64_t>(value) % by)
                return fail(i, "is a multiple of " + std::to_string(by) + " in groups of " + std::to_string(group), which), key;
            }
          if (info.constant && e.bits > 1 && wrapped(*info.constant, e.bits) != value)
            return fail(i, "is " + std::to_string(*info.constant), which), key;
        }
      }
    }
    return key;
  }

  const Space &space;
  SmallVector<StringRef> triedNames; // without the dialect; none: all
  size_t shard = 0, numShards = 1;
  std::vector<Expression> pool;
  std::vector<Expression> pending;
  std::vector<size_t> representatives;
  std::vector<std::vector<size_t>> byOperations;
  llvm::DenseSet<size_t> seen;
  bool isLast = false; // nothing is made of the expressions that are being tried
  size_t tried = 0, claims = 0, failures = 0, lastFailed = SIZE_MAX;
};

int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

void run(const Space &space, SmallVector<int64_t> constants, int64_t operations) {
  Enumeration enumeration(space, std::move(constants));
  enumeration.grow(setting("TILEWRIGHT_EXHAUSTIVE_OPERATIONS", operations));
  std::string kept;
  for (size_t count : enumeration.kept())
    kept += " " + std::to_string(count);
  std::printf("%zu expressions, %zu claims; unlike each other by number of operations:%s\n", enumeration.numExpressions(),
              enumeration.numClaims(), kept.c_str());
  EXPECT_GT(enumeration.numClaims(), enumeration.numExpressions());
}

Space allScalars(SmallVector<int64_t, 2> shape) {
  Space space{setting("TILEWRIGHT_EXHAUSTIVE_BITS", 4), std::move(shape), {}};
  int64_t half = int64_t(1) << (space.bits - 1);
  for (int64_t a = -half; a < half; ++a)
    for (int64_t b = -half; b < half; ++b)
      space.scalars.push_back({a, b});
  return space;
}

TEST(ExhaustiveAnalysis, smallIntegers) {
  run(allScalars({}), {1, 2, 3, -1}, 2);
}

TEST(ExhaustiveAnalysis, rowsOfSmallIntegers) {
  run(allScalars({4}), {2, 3}, 2);
}

TEST(ExhaustiveAnalysis, matricesOfSmallIntegers) {
  Space space{setting("TILEWRIGHT_EXHAUSTIVE_BITS", 4), {2, 4}, {}};
  int64_t half = int64_t(1) << (space.bits - 1);
  for (int64_t a = -half; a < half; ++a)
    for (int64_t b : {int64_t(1), int64_t(4), int64_t(-2), half - 1})
      space.scalars.push_back({a, b});
  run(space, {2}, 2);
}

} // namespace
