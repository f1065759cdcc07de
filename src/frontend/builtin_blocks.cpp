// Block pointers and tensor descriptors: a kernel loads and stores whole blocks of a strided tensor.

#include "frontend/builtin_emitters.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// Returns a number or integer scalar as `width` bits. Offsets are i32, and a wider one is an error.
static mlir::Value indexValue(Emitter &e, Arguments &args, size_t i, const Operand &x, int64_t width) {
  Scalar scalar = width == 64 ? Scalar::int64 : Scalar::int32;
  if (x.isNumber()) {
    std::optional<Int> number = x.constant.toInt();
    if (!number) return args.typeError(i, "integers"), mlir::Value();
    const Int limit = Int(1) << (width - 1);
    if (*number < -limit || *number >= limit)
      return e.ops.failAt(args.ranges[i], Diag::scalarRange, {x.constant.repr(), scalarName(scalar).str()}), mlir::Value();
    return e.ops.scalarConstant(x.constant, scalar).handle;
  }
  if (!x.isRuntime() || !x.type.scalarType().isScalar() || !isInteger(x.type.scalar()) || x.type.elements() != 1)
    return args.typeError(i, "integer scalars"), mlir::Value();
  if (bitWidth(x.type.scalar()) > width) return e.ops.failAt(args.ranges[i], Diag::offsetWidth, {x.describe()}), mlir::Value();
  Maybe value = e.ops.cast(e.ops.item(x), Type(scalar));
  return value ? value->handle : mlir::Value();
}

static bool indexValues(Emitter &e, Arguments &args, size_t i, int64_t width, llvm::SmallVectorImpl<mlir::Value> &handles) {
  std::optional<std::vector<Operand>> items = args.list(i);
  for (const Operand &item : *items) {
    handles.push_back(indexValue(e, args, i, item, width));
    if (!handles.back()) return false;
  }
  return true;
}

static bool sameRank(Emitter &e, Arguments &args, size_t i, size_t have, size_t want) {
  if (have == want) return true;
  args.typeError(i, std::to_string(want) + (want == 1 ? " entry" : " entries") + ", one for each dimension");
  return false;
}

// ---- block pointers

Maybe emitMakeBlockPtr(Emitter &e, Arguments &args) {
  Operand base = args[0];
  if (!base.isRuntime() || !base.type.isPointer() || base.isBlockPointer() || base.type.element() == Type(Scalar::void_))
    return e.ops.failAt(args.ranges[0], Diag::notAPointer, {"make_block_ptr", base.describe()});
  llvm::SmallVector<mlir::Value> shape, strides, offsets;
  if (!indexValues(e, args, 1, 64, shape) || !indexValues(e, args, 2, 64, strides) || !indexValues(e, args, 3, 32, offsets))
    return std::nullopt;
  std::optional<std::vector<int64_t>> block = args.integers(4), order = block ? args.integers(5) : std::nullopt;
  if (!order || !e.ops.checkShape(*block)) return std::nullopt;
  if (!sameRank(e, args, 1, shape.size(), block->size()) || !sameRank(e, args, 2, strides.size(), block->size()) ||
      !sameRank(e, args, 3, offsets.size(), block->size()) || !sameRank(e, args, 5, order->size(), block->size()))
    return std::nullopt;
  std::vector<int64_t> sorted = *order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return args.typeError(5, "each dimension once, the fastest first");
  Type element = base.type.element();
  if (element == Type(Scalar::int1)) {
    Maybe bytes = e.ops.cast(base, Type::pointer(Type(Scalar::int8), base.type.isConst(), base.type.addressSpace()));
    if (!bytes) return std::nullopt;
    base = *bytes;
  }
  Type type = Type::pointer(Type::block(element, *block), base.type.isConst(), base.type.addressSpace());
  std::vector<int32_t> dims(order->begin(), order->end());
  auto op = tt::MakeTensorPtrOp::create(e.ops.b, e.ops.irType(type), base.handle, shape, strides, offsets, dims);
  return Operand::of(op.getResult(), type);
}

Maybe emitAdvance(Emitter &e, Arguments &args) {
  const Operand &base = args[0];
  if (!base.isBlockPointer()) return args.typeError(0, "a block pointer");
  llvm::SmallVector<mlir::Value> offsets;
  if (!indexValues(e, args, 1, 32, offsets) || !sameRank(e, args, 1, offsets.size(), base.type.element().shape().size()))
    return std::nullopt;
  return Operand::of(tt::AdvanceOp::create(e.ops.b, base.handle.getType(), base.handle, offsets).getResult(), base.type);
}

// ---- tensor descriptors

Maybe emitMakeTensorDescriptor(Emitter &e, Arguments &args) {
  const Operand &base = args[0];
  if (!base.isRuntime() || !base.type.isPointer() || base.isBlockPointer() || base.type.element() == Type(Scalar::void_))
    return e.ops.failAt(args.ranges[0], Diag::notAPointer, {"make_tensor_descriptor", base.describe()});
  std::optional<std::vector<Operand>> shape = args.list(1), strides = args.list(2);
  std::optional<std::vector<int64_t>> block = args.integers(3);
  std::optional<std::string> padding = block ? args.string(4) : std::nullopt;
  if (!padding || !e.ops.checkShape(*block)) return std::nullopt;
  size_t rank = block->size();
  if (rank < 1 || rank > 5) return args.typeError(3, "1 to 5 dimensions");
  if (!sameRank(e, args, 1, shape->size(), rank) || !sameRank(e, args, 2, strides->size(), rank)) return std::nullopt;
  Type element = base.type.element();
  int64_t bytes = element.isScalar() ? byteSize(element.scalar()) : 8;
  if (block->back() * bytes < 16)
    return e.ops.failAt(args.ranges[3], Diag::descriptorRow,
                        {std::to_string(block->back()), element.str(), std::to_string(block->back() * bytes)});
  const Operand &last = strides->back();
  if (!last.isConstant() || last.constant.toInt() != Int(1)) return e.ops.failAt(args.ranges[2], Diag::descriptorStride, {last.describe()});
  if (*padding != "zero" && *padding != "nan" && !padding->empty())
    return e.ops.failAt(args.ranges[4], Diag::badOption, {"'" + *padding + "'", "padding_option", "'zero', 'nan'"});
  if (*padding == "nan" && isInteger(element.scalar())) return e.ops.failAt(args.ranges[4], Diag::nanPadding, {element.str()});

  // Booleans lie in memory as bytes.
  Type bytesType = Type::pointer(Type(Scalar::int8), base.type.isConst(), base.type.addressSpace());
  Maybe stored = element == Type(Scalar::int1) ? e.ops.cast(base, bytesType) : Maybe(base);
  if (!stored) return std::nullopt;
  Operand result;
  result.kind = Operand::Kind::descriptor;
  result.type = Type::descriptor(element, *block, {});
  llvm::SmallVector<mlir::Value> handles[2];
  for (size_t part = 0; part < 2; ++part)
    for (const Operand &item : part == 0 ? *shape : *strides) {
      handles[part].push_back(indexValue(e, args, 1 + part, item, part == 0 ? 32 : 64));
      if (!handles[part].back()) return std::nullopt;
      result.items.push_back(Operand::of(handles[part].back(), Type(part == 0 ? Scalar::int32 : Scalar::int64)));
    }
  auto option = *padding == "nan" ? tt::PaddingOption::PAD_NAN : tt::PaddingOption::PAD_ZERO;
  result.handle =
      tt::MakeTensorDescOp::create(e.ops.b, e.ops.irType(result.type), stored->handle, handles[0], handles[1], option).getResult();
  return result;
}

static bool readDescriptor(Emitter &e, Arguments &args, llvm::SmallVectorImpl<mlir::Value> &offsets) {
  if (args[0].kind != Operand::Kind::descriptor) {
    args.typeError(0, "a tensor descriptor");
    return false;
  }
  return indexValues(e, args, 1, 32, offsets) && sameRank(e, args, 1, offsets.size(), args[0].type.shape().size());
}

// Rounds as TMA does for a descriptor with round_f32_to_tf32: the fraction loses 13 bits, ties round to even. Infinities and NaN stay.
static Maybe asDescribed(Semantics &s, const Operand &loaded, DescriptorMode mode) {
  if (!mode.roundsToTf32) return loaded;
  auto &b = s.b;
  Operand bits = *s.bitcast(loaded, Type(Scalar::int32));
  auto constant = [&](int64_t value) { return s.splat(s.integerConstant(value, Scalar::int32), bits.type.shape()).handle; };
  constexpr int64_t dropped = 13, half = (1 << (dropped - 1)) - 1, exponent = 0x7f800000;
  mlir::Value odd = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits.handle, constant(dropped)), constant(1));
  mlir::Value raised = arith::AddIOp::create(b, bits.handle, arith::AddIOp::create(b, odd, constant(half)));
  mlir::Value rounded = arith::AndIOp::create(b, raised, constant(-(1 << dropped)));
  mlir::Value isSpecial =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::AndIOp::create(b, bits.handle, constant(exponent)), constant(exponent));
  mlir::Value chosen = arith::SelectOp::create(b, isSpecial, bits.handle, rounded);
  return s.bitcast(Operand::of(chosen, bits.type), Type(Scalar::fp32));
}

Maybe emitDescriptorLoad(Emitter &e, Arguments &args) {
  llvm::SmallVector<mlir::Value> offsets;
  if (!readDescriptor(e, args, offsets)) return std::nullopt;
  Type type = Type::block(args[0].type.element(), args[0].type.shape());
  bool isBool = type.element() == Type(Scalar::int1);
  if (isBool) type = type.withElement(Type(Scalar::int8));
  auto op = tt::DescriptorLoadOp::create(e.ops.b, e.ops.irType(type), args[0].handle, offsets);
  if (isBool) return e.ops.cast(Operand::of(op.getResult(), type), Type(Scalar::int1));
  return asDescribed(e.ops, Operand::of(op.getResult(), type), args[0].type.descriptorMode());
}

static Maybe blockValue(Emitter &e, Arguments &args) {
  Maybe value = args.tensor(2);
  if (!value) return std::nullopt;
  const Type &descriptor = args[0].type;
  if (!value->isBlock()) value = e.ops.splat(*value, descriptor.shape());
  if (value->type.shape() != descriptor.shape())
    return e.ops.failAt(args.ranges[2], Diag::storeShape, {args[2].describe(), descriptor.str()});
  return e.ops.castForMemory(*value, descriptor.element());
}

Maybe emitDescriptorStore(Emitter &e, Arguments &args) {
  llvm::SmallVector<mlir::Value> offsets;
  if (!readDescriptor(e, args, offsets)) return std::nullopt;
  Maybe value = blockValue(e, args);
  if (!value) return std::nullopt;
  tt::DescriptorStoreOp::create(e.ops.b, args[0].handle, value->handle, offsets);
  return Operand::none();
}

// True if TMA supports this reduction of this type. The same types are allowed on every target.
static bool reduces(tt::DescriptorReduceKind kind, Scalar scalar) {
  bool isHalf = scalar == Scalar::fp16 || scalar == Scalar::bf16, isWide = isInteger(scalar) && bitWidth(scalar) >= 32;
  switch (kind) {
  case tt::DescriptorReduceKind::ADD: return isHalf || scalar == Scalar::fp32 || (isWide && scalar != Scalar::int64);
  case tt::DescriptorReduceKind::MIN:
  case tt::DescriptorReduceKind::MAX: return isHalf || isWide;
  default: return isWide;
  }
}

static Maybe descriptorReduce(Emitter &e, Arguments &args, tt::DescriptorReduceKind kind) {
  llvm::SmallVector<mlir::Value> offsets;
  if (!readDescriptor(e, args, offsets)) return std::nullopt;
  if (!reduces(kind, args[0].type.scalar()))
    return e.ops.failAt(args.ranges[0], Diag::atomicType, {args.builtin.path.str(), args[0].type.element().str()});
  Maybe value = blockValue(e, args);
  if (!value) return std::nullopt;
  tt::DescriptorReduceOp::create(e.ops.b, kind, args[0].handle, value->handle, offsets);
  return Operand::none();
}
Maybe emitDescriptorAdd(Emitter &e, Arguments &args) {
  return descriptorReduce(e, args, tt::DescriptorReduceKind::ADD);
}
Maybe emitDescriptorMin(Emitter &e, Arguments &args) {
  return descriptorReduce(e, args, tt::DescriptorReduceKind::MIN);
}
Maybe emitDescriptorMax(Emitter &e, Arguments &args) {
  return descriptorReduce(e, args, tt::DescriptorReduceKind::MAX);
}
Maybe emitDescriptorAnd(Emitter &e, Arguments &args) {
  return descriptorReduce(e, args, tt::DescriptorReduceKind::AND);
}
Maybe emitDescriptorOr(Emitter &e, Arguments &args) {
  return descriptorReduce(e, args, tt::DescriptorReduceKind::OR);
}
Maybe emitDescriptorXor(Emitter &e, Arguments &args) {
  return descriptorReduce(e, args, tt::DescriptorReduceKind::XOR);
}

// ---- rows by index

// Reads the arguments of a gather or scatter: row indices, column and tile. Returns false after an error.
static bool readRows(Emitter &e, Arguments &args, size_t rows, size_t column, mlir::Value &offset, Type &moved) {
  auto typeError = [&](size_t i, llvm::StringRef wanted) {
    e.ops.failAt(args.ranges[i], Diag::rowsAccess, {args.builtin.path.str(), wanted.str(), args[i].describe()});
    return false;
  };
  const Operand &descriptor = args[0], &numbers = args[rows];
  constexpr int64_t minRows = 8;
  if (descriptor.kind != Operand::Kind::descriptor || descriptor.type.shape().size() != 2 || descriptor.type.shape()[0] != 1)
    return typeError(0, "a descriptor with block_shape=[1, N]");
  if (!numbers.isBlock() || numbers.type.shape().size() != 1 || !numbers.type.element().isScalar() || !isInteger(numbers.type.scalar()))
    return typeError(rows, "a one-dimensional tile of row indices");
  int64_t count = numbers.type.shape()[0], width = descriptor.type.shape()[1], bytes = byteSize(descriptor.type.element().scalar());
  if (count < minRows) return typeError(rows, "at least 8 rows");
  if (width * bytes < 32) return typeError(0, "rows of at least 32 bytes");
  Maybe start = args.tensor(column);
  if (!start) return false;
  if (start->isBlock() || !start->type.isScalar() || !isInteger(start->type.scalar()))
    return typeError(column, "an integer as the first column");
  start = e.ops.cast(*start, Type(Scalar::int32));
  if (!start) return false;
  offset = start->handle;
  moved = Type::block(descriptor.type.element(), {count, width});
  return true;
}

Maybe emitDescriptorGather(Emitter &e, Arguments &args) {
  mlir::Value column;
  Type type;
  if (!readRows(e, args, 1, 2, column, type)) return std::nullopt;
  bool isBool = type.element() == Type(Scalar::int1);
  if (isBool) type = type.withElement(Type(Scalar::int8));
  auto op = tt::DescriptorGatherOp::create(e.ops.b, e.ops.irType(type), args[0].handle, args[1].handle, column);
  if (isBool) return e.ops.cast(Operand::of(op.getResult(), type), Type(Scalar::int1));
  return asDescribed(e.ops, Operand::of(op.getResult(), type), args[0].type.descriptorMode());
}

Maybe emitDescriptorScatter(Emitter &e, Arguments &args) {
  mlir::Value column;
  Type type;
  if (!readRows(e, args, 2, 3, column, type)) return std::nullopt;
  Maybe value = args.tile(1);
  if (!value) return std::nullopt;
  if (value->type.shape() != type.shape()) return e.ops.failAt(args.ranges[1], Diag::storeShape, {args[1].describe(), type.str()});
  value = e.ops.castForMemory(*value, type.element());
  if (!value) return std::nullopt;
  tt::DescriptorScatterOp::create(e.ops.b, args[0].handle, args[2].handle, column, value->handle);
  return Operand::none();
}

} // namespace tilewright
