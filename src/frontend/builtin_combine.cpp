// Builtins that combine elements: dot, reductions and scans by a jit function, histogram, gather, sort.

#include "frontend/builtin_emitters.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- dot

static std::optional<tt::InputPrecision> precisionNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<tt::InputPrecision>>(name.lower())
      .Case("tf32", tt::InputPrecision::TF32)
      .Case("tf32x3", tt::InputPrecision::TF32x3)
      .Case("ieee", tt::InputPrecision::IEEE)
      .Case("bf16x3", tt::InputPrecision::BF16x3)
      .Case("bf16x6", tt::InputPrecision::BF16x6)
      .Default(std::nullopt);
}

static std::optional<tt::InputPrecision> precision(Emitter &e, Arguments &args) {
  constexpr const char *names = "'tf32', 'tf32x3', 'ieee', 'bf16x3', 'bf16x6'";
  bool isGpu = e.unit.options->backend == "cuda";
  const std::string &setting = e.unit.options->dotPrecision;
  if (args.isNone(3) && !setting.empty()) {
    std::optional<tt::InputPrecision> named = precisionNamed(setting);
    return named ? named : e.ops.failAt(args.range, Diag::badOption, {"'" + setting + "'", "the setting TRITON_F32_DEFAULT", names});
  }
  if (args.isNone(3)) {
    bool isGiven =
        !args.isNone(4) && !args[4].isRuntime(); // a run-time value cannot select the precision: as upstream, it then allows tf32
    std::optional<bool> allow = isGiven ? args.boolean(4) : std::optional(true);
    if (!allow) return std::nullopt;
    return isGpu && *allow ? tt::InputPrecision::TF32 : tt::InputPrecision::IEEE;
  }
  std::optional<std::string> text = args.string(3);
  if (!text) return std::nullopt;
  std::optional<tt::InputPrecision> named = precisionNamed(*text);
  return named ? named : e.ops.failAt(args.ranges[3], Diag::badOption, {"'" + *text + "'", "input_precision", names});
}

// Merges several batch dimensions into one, because the operation has one.
static Operand oneBatch(Emitter &e, const Operand &tile) {
  llvm::ArrayRef<int64_t> shape = tile.type.shape();
  size_t rank = shape.size();
  if (rank <= 3) return tile;
  return e.ops.reshape(tile, {tile.type.elements() / (shape[rank - 2] * shape[rank - 1]), shape[rank - 2], shape[rank - 1]}, false);
}

/// True for fp8e4b15, which no target multiplies. fp16 represents all its values.
static bool isCustomFloat(const Operand &x) {
  return x.type.scalar() == Scalar::fp8e4b15;
}

static bool multiplies(Scalar scalar) {
  return isFloat(scalar) || scalar == Scalar::int8;
}

// The text is upstream's: programs search messages for it.
static void warnOfOldTypes(Emitter &e, const Arguments &args, Scalar left, Scalar right) {
  if (e.unit.options->backend != "cuda" || e.unit.options->capability < 90) return;
  if (left != Scalar::fp8e4b15 && right != Scalar::fp8e4b15) return;
  e.unit.diagnostics->warning(
      args.range, Diag::badValue,
      {"the use of fp8e4b15 is deprecated on Hopper and later architectures: its values are converted before each dot"});
}

Maybe emitDot(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0), y = x ? args.tile(1) : std::nullopt;
  if (!y) return std::nullopt;
  for (size_t i : {0, 1})
    if (!args[i].type.element().isScalar()) return args.typeError(i, "a tile of numbers");
  warnOfOldTypes(e, args, x->type.scalar(), y->type.scalar());
  if (isFloat(x->type.scalar()) && isFloat(y->type.scalar()) && (isCustomFloat(*x) || isCustomFloat(*y)))
    for (Maybe *side : {&x, &y})
      *side = e.ops.cast(**side, Type(Scalar::fp16));
  Scalar left = x->type.scalar(), right = y->type.scalar();
  for (size_t i : {0, 1})
    if (!multiplies(args[i].type.scalar())) return e.ops.failAt(args.ranges[i], Diag::dotType, {args[i].type.element().str()});
  if (left != right && !(isFp8(left) && isFp8(right))) return e.ops.fail(Diag::dotTypes, {scalarName(left).str(), scalarName(right).str()});
  size_t rank = x->type.shape().size();
  if (rank < 2 || y->type.shape().size() != rank) return e.ops.fail(Diag::dotRank, {x->describe(), y->describe()});
  int64_t m = x->type.shape()[rank - 2], k = x->type.shape()[rank - 1], n = y->type.shape()[rank - 1];
  llvm::ArrayRef<int64_t> batch = x->type.shape().drop_back(2);
  if (y->type.shape()[rank - 2] != k || batch != y->type.shape().drop_back(2))
    return e.ops.fail(Diag::dotShapes, {x->describe(), y->describe()});
  std::optional<tt::InputPrecision> mode = precision(e, args);
  if (!mode) return std::nullopt;
  bool halfSum = args[2].isBlock() && args[2].type.element() == Type(Scalar::fp16); // without out_dtype, the accumulator decides
  std::optional<Type> wanted = args.isNone(6) ? std::optional(Type(halfSum ? Scalar::fp16 : Scalar::fp32)) : args.type(6);
  if (!wanted) return std::nullopt;
  Scalar result = wanted->scalar();
  if (isInteger(left))
    result = Scalar::int32;
  else if (result == Scalar::bf16 || result == Scalar::void_)
    return e.ops.failAt(args.ranges[6], Diag::dotResult, {wanted->str()});
  else if (left == Scalar::fp32 || left == Scalar::bf16)
    result = Scalar::fp32;
  else if (left == Scalar::fp64)
    result = Scalar::fp64;
  else if (!wanted->isScalar() || (result != Scalar::fp16 && result != Scalar::fp32))
    return e.ops.failAt(args.ranges[6], Diag::dotResult, {wanted->str()});
  llvm::SmallVector<int64_t> shape(batch);
  shape.append({m, n});
  if (!e.ops.checkShape(shape)) return std::nullopt;
  Type type = Type::block(Type(result), shape);
  Operand acc;
  if (args.isNone(2)) {
    acc = e.ops.splat(e.ops.integerConstant(0, result), shape);
  } else {
    Maybe given = args.tile(2);
    if (!given) return std::nullopt;
    if (given->type != type) return e.ops.failAt(args.ranges[2], Diag::dotAccumulator, {given->describe(), type.str()});
    acc = *given;
  }
  int64_t imprecise = isFp8(left) && e.unit.options->capability == 90 ? int64_t(1) << 30 : 0;
  if (!args.isNone(5)) {
    std::optional<int64_t> limit = args.integer(5);
    if (!limit) return std::nullopt;
    if (isFp8(left) && *limit > k) return e.ops.failAt(args.ranges[5], Diag::impreciseAcc, {std::to_string(*limit), std::to_string(k)});
    imprecise = isFp8(left) ? *limit : 0;
  }
  Operand a = oneBatch(e, *x), b = oneBatch(e, *y), c = oneBatch(e, acc);
  auto op = tt::DotOp::create(e.ops.b, c.handle.getType(), a.handle, b.handle, c.handle, *mode, static_cast<int32_t>(imprecise));
  Operand product = Operand::of(op.getResult(), c.type);
  return rank <= 3 ? product : e.ops.reshape(product, shape, false);
}

// ---- reduce and scan

// Returns the tiles of a reduction: one tile, or a tuple of tiles of one shape.
static std::optional<std::vector<Operand>> inputTiles(Emitter &e, Arguments &args) {
  std::optional<std::vector<Operand>> inputs = args.list(0);
  if (inputs->empty()) return args.typeError(0, "at least one tile");
  for (const Operand &input : *inputs) {
    if (!input.isBlock()) return args.typeError(0, "a tile or a tuple of tiles");
    if (input.type.shape() != inputs->front().type.shape())
      return e.ops.failAt(args.ranges[0], Diag::combineShapes, {inputs->front().describe(), input.describe()});
  }
  return inputs;
}

static std::optional<int64_t> axisOf(Emitter &e, Arguments &args, int64_t rank) {
  std::optional<int64_t> axis = args.integer(1);
  if (!axis) return std::nullopt;
  if (*axis < -rank || *axis >= rank) return e.ops.failAt(args.ranges[1], Diag::axisRange, {std::to_string(*axis), std::to_string(rank)});
  return *axis < 0 ? *axis + rank : *axis;
}

// Fills the region with a call of the function. It takes two elements of each tile and returns one of each.
template <typename Return> static bool combineRegion(Emitter &e, Arguments &args, Region &region, const std::vector<Operand> &inputs) {
  std::shared_ptr<const JitFunction> function = args.function(2);
  if (!function) return false;
  OpBuilder::InsertionGuard guard(e.ops.b);
  Block *block = e.ops.b.createBlock(&region);
  CallArguments call{args.range, {}, {}, {}};
  for (size_t i = 0; i < 2 * inputs.size(); ++i) {
    Type element = inputs[i % inputs.size()].type.element();
    call.positional.push_back(Operand::of(block->addArgument(e.ops.irType(element), e.ops.b.getLoc()), element));
    call.ranges.push_back(args.range);
  }
  Maybe result = e.callFunction(*function, std::move(call));
  if (!result) return false;
  std::vector<Operand> values = result->isTuple() ? result->items : std::vector<Operand>{*result};
  for (Operand &value : values)
    if (value.isNumber()) value = *e.ops.toTensor(value);
  llvm::SmallVector<mlir::Value> handles;
  bool fits = values.size() == inputs.size();
  for (size_t i = 0; fits && i < values.size(); ++i) {
    fits = values[i].isRuntime() && values[i].type == inputs[i].type.element();
    handles.push_back(values[i].handle);
  }
  if (!fits) {
    std::string wanted, got;
    for (const Operand &input : inputs)
      wanted += (wanted.empty() ? "" : ", ") + input.type.element().str();
    for (const Operand &value : values)
      got += (got.empty() ? "" : ", ") + value.describe();
    e.ops.failAt(args.ranges[2], Diag::combineResult, {function->name, got, wanted});
    return false;
  }
  Return::create(e.ops.b, handles);
  return true;
}

static Operand oneOrTuple(Arguments &args, std::vector<Operand> results) {
  return args[0].isTuple() ? Operand::tuple(std::move(results)) : results[0];
}

static std::optional<std::vector<Operand>> reduced(Emitter &e, Arguments &args, std::vector<Operand> inputs, std::optional<int64_t> axis,
                                                   bool keep) {
  size_t rank = inputs[0].type.shape().size();
  if (!axis && rank > 1)
    for (Operand &input : inputs)
      input = e.ops.reshape(input, {input.type.elements()}, true);
  int64_t along = axis.value_or(0);
  llvm::SmallVector<int64_t> shape(inputs[0].type.shape());
  shape.erase(shape.begin() + along);
  llvm::SmallVector<mlir::Value> handles;
  llvm::SmallVector<mlir::Type> types;
  for (const Operand &input : inputs) {
    handles.push_back(input.handle);
    types.push_back(e.ops.irType(shape.empty() ? input.type.element() : Type::block(input.type.element(), shape)));
  }
  auto op = tt::ReduceOp::create(e.ops.b, types, handles, static_cast<uint32_t>(along));
  if (!combineRegion<tt::ReduceReturnOp>(e, args, op.getCombineOp(), inputs)) {
    op.erase();
    return std::nullopt;
  }
  std::vector<Operand> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Type element = inputs[i].type.element();
    Operand result = Operand::of(op.getResult()[i], shape.empty() ? element : Type::block(element, shape));
    if (keep && axis) result = e.ops.expandDims(result, *axis);
    for (size_t k = 0; keep && !axis && k < rank; ++k)
      result = e.ops.expandDims(result, 0);
    results.push_back(result);
  }
  return results;
}

Maybe emitReduce(Emitter &e, Arguments &args) {
  // A scalar has one element: there is nothing to combine.
  if (args[0].isRuntime() && !args[0].isBlock() && args.isNone(1)) return args[0];
  std::optional<std::vector<Operand>> inputs = inputTiles(e, args);
  std::optional<bool> keep = inputs ? args.boolean(3) : std::nullopt;
  if (!keep) return std::nullopt;
  std::optional<int64_t> axis;
  if (!args.isNone(1)) {
    axis = axisOf(e, args, static_cast<int64_t>(inputs->front().type.shape().size()));
    if (!axis) return std::nullopt;
  }
  std::optional<std::vector<Operand>> results = reduced(e, args, std::move(*inputs), axis, *keep);
  return results ? Maybe(oneOrTuple(args, std::move(*results))) : std::nullopt;
}

// Reduces the tile together with the index of each element along the axis. Without an axis, the index counts all elements.
Maybe emitReduceWithIndices(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<bool> keep = x ? args.boolean(3) : std::nullopt;
  if (!keep) return std::nullopt;
  std::optional<int64_t> axis;
  if (!args.isNone(1)) {
    axis = axisOf(e, args, static_cast<int64_t>(x->type.shape().size()));
    if (!axis) return std::nullopt;
  }
  size_t rank = x->type.shape().size();
  Operand input = *x;
  if (!axis && rank > 1) input = e.ops.reshape(input, {input.type.elements()}, false); // the order matters, because indices are reduced too
  int64_t length = input.type.shape()[axis.value_or(0)];
  Type indexType = Type::block(Type(Scalar::int32), {length});
  Operand index =
      Operand::of(tt::MakeRangeOp::create(e.ops.b, e.ops.irType(indexType), 0, static_cast<int32_t>(length)).getResult(), indexType);
  for (int64_t dim = 0; axis && dim < static_cast<int64_t>(rank); ++dim)
    if (dim != *axis) index = e.ops.expandDims(index, dim);
  Maybe wide = e.ops.broadcastTo(index, input.type.shape());
  if (!wide) return std::nullopt;
  std::optional<std::vector<Operand>> results = reduced(e, args, {input, *wide}, axis.value_or(0), *keep && (axis || rank == 1));
  if (!results) return std::nullopt;
  if (*keep && !axis && rank > 1)
    for (Operand &result : *results)
      for (size_t k = 0; k < rank; ++k)
        result = e.ops.expandDims(result, 0);
  return Operand::tuple(std::move(*results));
}

Maybe emitPromoteBf16(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  if (!x || x->type.scalarType() != Type(Scalar::bf16) || e.ops.follows39()) return x; // with the rules of 3.9 it stays bf16
  return e.ops.cast(*x, Type(Scalar::fp32));
}

Maybe emitScan(Emitter &e, Arguments &args) {
  std::optional<std::vector<Operand>> inputs = inputTiles(e, args);
  std::optional<bool> reverse = inputs ? args.boolean(3) : std::nullopt;
  std::optional<int64_t> axis = reverse ? axisOf(e, args, static_cast<int64_t>(inputs->front().type.shape().size())) : std::nullopt;
  if (!axis) return std::nullopt;
  llvm::SmallVector<mlir::Value> handles;
  llvm::SmallVector<mlir::Type> types;
  for (const Operand &input : *inputs) {
    handles.push_back(input.handle);
    types.push_back(input.handle.getType());
  }
  auto op = tt::ScanOp::create(e.ops.b, types, handles, static_cast<uint32_t>(*axis), *reverse);
  if (!combineRegion<tt::ScanReturnOp>(e, args, op.getCombineOp(), *inputs)) {
    op.erase();
    return std::nullopt;
  }
  std::vector<Operand> results;
  for (size_t i = 0; i < inputs->size(); ++i)
    results.push_back(Operand::of(op.getResult()[i], (*inputs)[i].type));
  return oneOrTuple(args, std::move(results));
}

// ---- a function on each element

// The result of a mapped function for `pack` elements: a value, or a tuple of values.
struct Mapped {
  std::vector<Operand> values;
  bool isTuple;
};

// Fills the region with a call of the function. It takes `pack` elements of each tile and returns `pack` of each result. Nothing after an
// error.
static std::optional<Mapped> mapRegion(Emitter &e, Arguments &args, const std::vector<Operand> &inputs, int64_t pack, Region &region) {
  std::shared_ptr<const JitFunction> function = args.function(0);
  if (!function) return std::nullopt;
  OpBuilder::InsertionGuard guard(e.ops.b);
  Block *block = e.ops.b.createBlock(&region);
  CallArguments call{args.range, {}, {}, {}};
  for (const Operand &input : inputs)
    for (int64_t i = 0; i < pack; ++i) {
      Type element = input.type.element();
      call.positional.push_back(Operand::of(block->addArgument(e.ops.irType(element), e.ops.b.getLoc()), element));
      call.ranges.push_back(args.range);
    }
  Maybe result = e.callFunction(*function, std::move(call));
  if (!result) return std::nullopt;
  std::vector<Operand> values = result->isTuple() ? result->items : std::vector<Operand>{*result};
  llvm::SmallVector<mlir::Value> handles;
  bool fits = !values.empty() && values.size() % static_cast<size_t>(pack) == 0;
  for (size_t i = 0; fits && i < values.size(); ++i) {
    Maybe value = values[i].isNumber() ? e.ops.toTensor(values[i]) : values[i];
    fits = value && value->isRuntime() && !value->isBlock() && !value->isBlockPointer();
    if (!fits) break;
    values[i] = *value;
    fits = values[i].type == values[i - i % static_cast<size_t>(pack)].type;
    handles.push_back(value->handle);
  }
  if (!fits) return e.ops.failAt(args.ranges[0], Diag::mapResult, {function->name, result->describe()});
  tt::MapElementwiseReturnOp::create(e.ops.b, handles);
  return Mapped{std::move(values), result->isTuple()};
}

Maybe emitMapElementwise(Emitter &e, Arguments &args) {
  std::optional<int64_t> pack = args.integer(2);
  if (!pack) return std::nullopt;
  if (*pack < 1) return args.typeError(2, "at least 1");
  std::vector<Operand> inputs = args[1].items;
  if (inputs.empty()) return args.typeError(1, "at least one tile");
  for (Operand &input : inputs) {
    Maybe tensor = e.ops.toTensor(input);
    if (!tensor) return std::nullopt;
    input = *tensor;
  }
  for (size_t round = 0; round < 2; ++round)
    for (Operand &input : inputs)
      if (!e.ops.broadcast(inputs[0], input)) return std::nullopt;
  if (!inputs[0].isBlock()) return args.typeError(1, "a tile");
  llvm::SmallVector<mlir::Value> handles;
  for (const Operand &input : inputs)
    handles.push_back(input.handle);
  // The result type is known once the call is emitted. So the operation is created afterwards, and the region moves into it.
  Region region;
  std::optional<Mapped> mapped = mapRegion(e, args, inputs, *pack, region);
  if (!mapped) return std::nullopt;
  std::vector<Operand> results;
  llvm::SmallVector<mlir::Type> types;
  for (size_t i = 0; i < mapped->values.size(); i += static_cast<size_t>(*pack)) {
    results.push_back(Operand::of(mlir::Value(), inputs[0].type.withElement(mapped->values[i].type)));
    types.push_back(e.ops.irType(results.back().type));
  }
  auto op = tt::MapElementwiseOp::create(e.ops.b, types, handles, static_cast<uint32_t>(*pack));
  op.getScalarOp().takeBody(region);
  for (size_t i = 0; i < results.size(); ++i)
    results[i].handle = op->getResult(static_cast<unsigned>(i));
  return mapped->isTuple ? Operand::tuple(std::move(results)) : results[0];
}

// ---- histogram, gather, sort

Maybe emitHistogram(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<int64_t> bins = x ? args.integer(1) : std::nullopt;
  if (!bins || !e.ops.checkShape({*bins})) return std::nullopt;
  if (x->type.shape().size() != 1 || !x->type.element().isScalar() || !isInteger(x->type.scalar()))
    return args.typeError(0, "a tile of integers with one dimension");
  mlir::Value mask;
  if (!args.isNone(2)) {
    Maybe given = args.tensor(2);
    if (given && given->type.scalarType() != Type(Scalar::int1)) return e.ops.failAt(args.ranges[2], Diag::maskType, {given->describe()});
    if (given) given = e.ops.broadcastTo(*given, x->type.shape());
    if (!given) return std::nullopt;
    mask = given->handle;
  }
  Type type = Type::block(Type(Scalar::int32), {*bins});
  return Operand::of(tt::HistogramOp::create(e.ops.b, e.ops.irType(type), x->handle, mask).getResult(), type);
}

Maybe emitGather(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0), index = x ? args.tile(1) : std::nullopt;
  std::optional<int64_t> axis = index ? args.integer(2) : std::nullopt;
  if (!axis) return std::nullopt;
  int64_t rank = static_cast<int64_t>(x->type.shape().size());
  if (*axis < -rank || *axis >= rank) return e.ops.failAt(args.ranges[2], Diag::axisRange, {std::to_string(*axis), std::to_string(rank)});
  if (*axis < 0) *axis += rank;
  if (!index->type.element().isScalar() || !isInteger(index->type.scalar())) return args.typeError(1, "a tile of integers");
  bool fits = static_cast<int64_t>(index->type.shape().size()) == rank;
  for (int64_t dim = 0; fits && dim < rank; ++dim)
    fits = dim == *axis || index->type.shape()[dim] == x->type.shape()[dim];
  if (!fits) return args.typeError(1, "the shape of the source except along the axis");
  Type type = Type::block(x->type.element(), index->type.shape());
  return Operand::of(tt::GatherOp::create(e.ops.b, e.ops.irType(type), x->handle, index->handle, static_cast<uint32_t>(*axis)).getResult(),
                     type);
}

Maybe emitCheckTopk(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<int64_t> kept = x ? args.integer(1) : std::nullopt;
  if (!kept) return std::nullopt;
  int64_t length = x->type.shape().back();
  if (*kept < 1 || *kept > length || (!e.unit.anySize && !llvm::isPowerOf2_64(static_cast<uint64_t>(*kept))))
    return e.ops.fail(Diag::topkCount, {std::to_string(*kept), std::to_string(length)});
  return Operand::none();
}

/// On CPUs, sorting is one operation that is lowered to loops. On GPUs, it is a bitonic network written in the language.
Maybe emitSort(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<int64_t> kept = x ? args.integer(1) : std::nullopt;
  std::optional<bool> descending = kept ? args.boolean(2) : std::nullopt;
  std::shared_ptr<const JitFunction> network = descending ? args.function(3) : nullptr;
  if (!network) return std::nullopt;
  llvm::SmallVector<int64_t> shape(x->type.shape());
  Scalar scalar = x->type.scalarType().scalar();
  bool fits = *kept > 0 && *kept <= shape.back() && llvm::isPowerOf2_64(static_cast<uint64_t>(*kept));
  if (e.unit.options->backend == "cuda" || !fits || scalar == Scalar::int1) {
    CallArguments call{args.range, {*x, args[1], args[2]}, {}, {}};
    call.ranges.assign(call.positional.size(), call.range);
    return e.callFunction(*network, std::move(call));
  }
  shape.back() = *kept;
  Type type = Type::block(x->type.element(), shape);
  bool isUnsigned = isInteger(scalar) && !isSigned(scalar);
  return Operand::of(tt::SortOp::create(e.ops.b, e.ops.irType(type), x->handle, *descending, isUnsigned).getResult(), type);
}

} // namespace tilewright
