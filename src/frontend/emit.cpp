// Functions: one tt.func for a kernel and one for each jit function that it calls, made once for each combination of argument types and
// constexprs. Constexprs are gone from the IR: they are part of the function's name.

#include "frontend/emit.h"
#include "evaluate/evaluate.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- names of functions

// A type in a function's name: i32, Pfp32, fp32S64_64S.
static std::string mangle(const Type &type) {
  if (type.isPointer()) return (type.isConst() ? "CP" : "P") + mangle(type.element());
  if (type.isScalar()) {
    Scalar scalar = type.scalar();
    if (!isInteger(scalar)) return scalarName(scalar).str();
    return (isSigned(scalar) || scalar == Scalar::int1 ? "i" : "u") + std::to_string(bitWidth(scalar));
  }
  std::string text = (type.isDescriptor() ? "TD" : "") + mangle(type.element()) + "S";
  for (size_t i = 0; i < type.shape().size(); ++i)
    text += (i ? "_" : "") + std::to_string(type.shape()[i]);
  return text + "S" + (type.descriptorMode().padsWithNan ? "nan" : "") + (type.descriptorMode().roundsToTf32 ? "tf32" : "");
}

/// What distinguishes constants with equal texts: the object that a function, class or module is.
static const void *identityOf(const Value &constant) {
  if (std::shared_ptr<const JitFunction> function = constant.asFunction()) return function->decl;
  if (const Builtin *builtin = constant.asBuiltin()) return builtin;
  if (std::shared_ptr<const Callable> callable = constant.asCallable()) return callable.get();
  return constant.asNamespace().get();
}

/// "kernels" for folder/kernels.py; "" for what is no file.
static llvm::StringRef moduleName(const ast::Module &module) {
  llvm::StringRef file = module.source->name();
  return file.starts_with("<") ? "" : llvm::sys::path::stem(file);
}

static std::string qualified(llvm::StringRef module, llvm::StringRef name) {
  return module.empty() ? name.str() : (module + "." + name).str();
}

static std::string shownConstant(const Value &constant) {
  if (std::shared_ptr<const JitFunction> function = constant.asFunction())
    return "JITFunction(" + moduleName(*function->module).str() + ":" + function->name + ")";
  return constant.repr();
}

/// The class of an instance as its file calls it.
static std::string shownClass(Namespace &type) {
  Diagnostics trial;
  std::optional<Value> module = type.lookup("__module__", trial);
  return qualified(module && module->asString() ? *module->asString() : "", type.classInfo()->name);
}

// An argument in a function's name: i32, c42 for a constant, TfpS16S_c2T for a tuple, file.Class<i32, c42>. `key` tells functions of one
// name apart, too.
static std::string describeArgument(const Operand &x, std::string &key) {
  if (x.isConstant()) {
    bool isFloating = x.constant.asFloat(), isBoolean = x.constant.asBool();
    key += "c" + x.constant.repr() + (isFloating ? "f" : isBoolean ? "b" : "");
    key += "@" + std::to_string(reinterpret_cast<uintptr_t>(identityOf(x.constant))) + ";";
    return "c" + shownConstant(x.constant);
  }
  if (!x.isTuple()) {
    key += "t" + x.type.str() + (x.kind == Operand::Kind::descriptor ? std::to_string(x.items.size()) : "") + ";";
    return mangle(x.type);
  }
  key += "(";
  llvm::SmallVector<std::string> items;
  for (const Operand &item : x.items)
    items.push_back(describeArgument(item, key));
  for (const std::string &field : x.fields)
    key += field + ",";
  key += ")";
  return x.isAggregate() ? shownClass(*x.cls) + "<" + llvm::join(items, ", ") + ">" : "T" + llvm::join(items, "_") + "T";
}

static std::string symbolName(Unit &unit, const std::string &wanted) {
  std::string name;
  for (char c : wanted) {
    if (c == '\'')
      name += "_sq_";
    else
      name += (c == '[' || c == ']' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32) ? '_' : c;
  }
  if (name.size() > 200) name.resize(200);
  std::string unique = name;
  for (int64_t i = 1; unit.module.lookupSymbol(unique); ++i)
    unique = name + "_" + std::to_string(i);
  return unique;
}

// ---- the body

Maybe Emitter::emitBody(tt::FuncOp op, std::vector<Operand> args) {
  ops.b.setInsertionPointToEnd(&op.getBody().front());
  for (size_t i = 0; i < args.size(); ++i)
    locals[function.parameters[i].name] = std::move(args[i]);
  Maybe result;
  Flow flow = sequence(function.decl->body, nullptr, result);
  if (flow == Flow::failed) return std::nullopt;
  if (!result) result = Operand::none();
  if (flow != Flow::returned) ops.at(function.decl->nameRange); // no statement says it
  llvm::SmallVector<mlir::Value> handles;
  flatten(*result, handles);
  tt::ReturnOp::create(ops.b, handles);
  op.setType(FunctionType::get(unit.context, op.getFunctionType().getInputs(), TypeRange(ValueRange(handles))));
  return result;
}

/// Each call recurses through the emitter, a few frames deep.
static constexpr size_t maxCalls = 200;

static tt::FuncOp makeFunction(Unit &unit, llvm::StringRef name, llvm::ArrayRef<mlir::Type> inputs, bool isPublic, bool noInline,
                               mlir::Location location) {
  OpBuilder builder = OpBuilder::atBlockEnd(unit.module.getBody());
  auto op = tt::FuncOp::create(builder, location, name, FunctionType::get(unit.context, inputs, {}));
  op.setSymVisibilityAttr(builder.getStringAttr(isPublic ? "public" : "private"));
  op->setAttr("noinline", builder.getBoolAttr(noInline));
  if (unit.anySize) op->setAttr(tt::anySizeName, builder.getUnitAttr());
  if (op.getBody().empty()) {
    Block *entry = builder.createBlock(&op.getBody());
    for (mlir::Type input : inputs)
      entry->addArgument(input, location);
  }
  return op;
}

// ---- calls of jit functions

std::optional<std::vector<Operand>> Emitter::bindCall(const JitFunction &callee, CallArguments given) {
  SourceRange range = given.range;
  const std::vector<JitFunction::Parameter> &parameters = callee.parameters;
  std::vector<Maybe> values(parameters.size());
  size_t next = 0;
  for (size_t i = 0; i < parameters.size() && next < given.positional.size(); ++i) {
    if (parameters[i].isVariadic) {
      values[i] = Operand::tuple({given.positional.begin() + next, given.positional.end()});
      next = given.positional.size();
      break;
    }
    values[i] = given.positional[next++];
  }
  if (next < given.positional.size())
    return ops.failAt(range, Diag::callTooManyArguments,
                      {callee.name, std::to_string(parameters.size()), std::to_string(given.positional.size())});
  for (CallArguments::Keyword &keyword : given.keywords) {
    auto found = llvm::find_if(parameters, [&](const JitFunction::Parameter &p) { return p.name == keyword.name; });
    if (found == parameters.end()) {
      std::vector<std::string> names;
      for (const JitFunction::Parameter &parameter : parameters)
        names.push_back(parameter.name);
      std::string near = nearestName(keyword.name, names);
      return ops.failAt(keyword.range, Diag::callUnknownArgument,
                        {callee.name, keyword.name, near.empty() ? "it takes " + joinNames(names, 12) : "did you mean '" + near + "'?"});
    }
    Maybe &slot = values[found - parameters.begin()];
    if (slot) return ops.failAt(keyword.range, Diag::argumentTwice, {callee.name, keyword.name});
    slot = std::move(keyword.value);
  }
  std::vector<Operand> args;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const JitFunction::Parameter &parameter = parameters[i];
    if (!values[i] && parameter.isVariadic) values[i] = Operand::tuple({});
    if (!values[i] && parameter.defaultValue) values[i] = Operand::of(*parameter.defaultValue);
    if (!values[i]) return ops.failAt(range, Diag::callMissingArgument, {callee.name, parameter.name});
    if (values[i]->kind == Operand::Kind::method)
      return ops.failAt(range, Diag::unsupportedSyntax, {"a bound method as an argument", "call it here"});
    args.push_back(std::move(*values[i]));
  }
  return args;
}

// The function's tt.func for these arguments, with the handles in them replaced by its own. False after an error.
bool Emitter::instantiate(const JitFunction &callee, Unit::Function &entry, const std::string &symbol, std::vector<Operand> args,
                          SourceRange range) {
  constexpr int64_t cost = 64; // of a function, counted in operations
  if (!grow(cost)) return false;
  llvm::SmallVector<mlir::Value> handles;
  for (const Operand &arg : args)
    flatten(arg, handles);
  Emitter inner(unit, callee);
  tt::FuncOp op = makeFunction(unit, symbol, llvm::SmallVector<mlir::Type>(TypeRange(ValueRange(handles))), false, callee.noinline_,
                               ops.locationOf(callee.decl->nameRange));
  entry.op = op;
  llvm::SmallVector<mlir::Value> arguments(op.getBody().front().getArguments());
  llvm::ArrayRef<mlir::Value> rest = arguments;
  for (size_t i = 0; i < args.size(); ++i) {
    args[i] = rebuild(args[i], rest);
    if (args[i].isRuntime())
      if (auto argument = dyn_cast<BlockArgument>(args[i].handle))
        argument.setLoc(NameLoc::get(ops.b.getStringAttr(callee.parameters[i].name), argument.getLoc()));
  }
  unit.calls.push_back(range);
  int64_t before = unit.operations;
  Maybe result = inner.emitBody(op, std::move(args));
  unit.calls.pop_back();
  if (!result) return false;
  entry.result = *result;
  entry.finished = true;
  entry.operations = unit.operations - before;
  entry.levels = inner.deepest;
  return true;
}

Maybe Emitter::callFunction(const JitFunction &callee, CallArguments given) {
  SourceRange range = given.range;
  std::optional<std::vector<Operand>> args = bindCall(callee, std::move(given));
  if (!args) return std::nullopt;
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(callee.decl)) + ":";
  llvm::SmallVector<std::string> shown;
  llvm::SmallVector<mlir::Value> handles;
  for (const Operand &arg : *args) {
    shown.push_back(describeArgument(arg, key));
    flatten(arg, handles);
  }
  auto [found, isNew] = unit.functions.try_emplace(key);
  Unit::Function &target = found->second; // stays where it is: entries of a StringMap do not move
  if (!isNew && !target.finished) return ops.failAt(range, Diag::recursiveCall, {callee.name});
  ops.at(range);
  if (isNew) {
    if (unit.calls.size() >= maxCalls) return ops.failAt(range, Diag::nestedTooDeeply, {std::to_string(maxCalls)});
    std::string symbol = symbolName(unit, qualified(moduleName(*callee.module), callee.name) + "__" + llvm::join(shown, "_"));
    if (!instantiate(callee, target, symbol, std::move(*args), range)) return std::nullopt;
  } else if (!grow(target.operations)) { // another copy of it
    return std::nullopt;
  }
  ops.at(range);
  constexpr int64_t maxLevels = 400; // passes recurse over loops and branches
  deepest = std::max(deepest, level + target.levels);
  if (deepest > maxLevels) return ops.fail(Diag::kernelTooDeep, {std::to_string(maxLevels)});
  auto call =
      tt::CallOp::create(ops.b, target.op.getFunctionType().getResults(), target.op.getSymName(), handles, ArrayAttr(), ArrayAttr());
  llvm::SmallVector<mlir::Value> results(call.getResults());
  llvm::ArrayRef<mlir::Value> rest = results;
  return rebuild(target.result, rest);
}

std::optional<Value> Emitter::languageName(llvm::StringRef name) {
  if (const Builtin *builtin = findBuiltin(name)) return Value::builtin(builtin);
  std::shared_ptr<Namespace> language = languageModule("triton.language");
  return language ? language->lookup(name, *unit.diagnostics) : std::nullopt;
}

// ---- kernels

// One parameter as tt.func arguments, and as the value that its name stands for once they are there.
static bool addParameter(Semantics &ops, const ArgumentSpec &spec, llvm::SmallVectorImpl<mlir::Type> &inputs,
                         llvm::SmallVectorImpl<int64_t> &divisibility) {
  if (spec.constant) return true;
  if (!spec.members.empty())
    return llvm::all_of(spec.members, [&](const ArgumentSpec &member) { return addParameter(ops, member, inputs, divisibility); });
  if (!spec.type.isDescriptor()) {
    inputs.push_back(ops.irType(spec.type));
    divisibility.push_back(spec.divisibility);
    return true;
  }
  if (!ops.checkShape(spec.type.shape())) return false;
  inputs.push_back(ops.irType(Type::pointer(spec.type.element(), false, 1)));
  divisibility.push_back(spec.divisibility);
  // The promises about a descriptor hold for its base, its strides and the length of its rows in bytes.
  int64_t elements = std::max<int64_t>(1, spec.divisibility * 8 / bitWidth(spec.type.element().scalar()));
  size_t rank = spec.type.shape().size();
  for (size_t i = 0; i < 2 * rank; ++i) {
    inputs.push_back(ops.irType(Type(i < rank ? Scalar::int32 : Scalar::int64)));
    divisibility.push_back(i + 1 < rank ? 1 : elements);
  }
  return true;
}

static Operand bindParameter(Semantics &ops, const ArgumentSpec &spec, llvm::ArrayRef<BlockArgument> &arguments) {
  if (spec.constant) return Operand::of(*spec.constant);
  if (!spec.members.empty()) {
    Operand result = Operand::tuple({});
    for (const ArgumentSpec &member : spec.members)
      result.items.push_back(bindParameter(ops, member, arguments));
    result.fields = spec.fieldNames;
    return result;
  }
  auto take = [&](Type type) {
    Operand result = Operand::of(arguments.front(), std::move(type));
    arguments = arguments.drop_front();
    return result;
  };
  if (!spec.type.isDescriptor()) return take(spec.type);
  Operand base = take(Type::pointer(spec.type.element(), false, 1)), result;
  result.kind = Operand::Kind::descriptor;
  result.type = spec.type;
  llvm::SmallVector<mlir::Value> shape, strides;
  for (size_t i = 0; i < 2 * spec.type.shape().size(); ++i) {
    bool isShape = i < spec.type.shape().size();
    result.items.push_back(take(Type(isShape ? Scalar::int32 : Scalar::int64)));
    (isShape ? shape : strides).push_back(result.items.back().handle);
  }
  strides.back() = ops.integerConstant(1, Scalar::int64).handle; // every descriptor's innermost stride is 1
  auto padding = spec.type.descriptorMode().padsWithNan ? tt::PaddingOption::PAD_NAN : tt::PaddingOption::PAD_ZERO;
  result.handle = tt::MakeTensorDescOp::create(ops.b, ops.irType(spec.type), base.handle, shape, strides, padding).getResult();
  return result;
}

/// The value of each parameter; the last is a tuple of the remaining arguments if the kernel is variadic.
static std::vector<Operand> bindParameters(Semantics &ops, llvm::ArrayRef<ArgumentSpec> args, llvm::ArrayRef<BlockArgument> arguments,
                                           size_t parameters, bool variadic) {
  std::vector<Operand> values;
  for (size_t i = 0; i < args.size(); ++i) {
    Operand value = bindParameter(ops, args[i], arguments);
    if (variadic && i >= parameters - 1) {
      if (values.size() < parameters) values.push_back(Operand::tuple({}));
      values.back().items.push_back(std::move(value));
    } else {
      values.push_back(std::move(value));
    }
  }
  if (variadic && values.size() < parameters) values.push_back(Operand::tuple({}));
  return values;
}

/// The verifier sees what the checks of the front end have missed; its message becomes an error at `range`, not a crash later.
static bool isValid(ModuleOp module, Semantics &ops, SourceRange range) {
  std::string message;
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (message.empty()) {
        message = diagnostic.str();
        if (auto location = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
          message += " (line " + std::to_string(location.getLine()) + ")";
      }
      return success();
    });
    if (succeeded(verify(module))) return true;
  }
  ops.failAt(range, Diag::invalidTiles, {message.empty() ? "no reason given" : message});
  return false;
}

OwningOpRef<ModuleOp> emitTiles(MLIRContext &context, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                const KernelOptions &options, Diagnostics &diagnostics) {
  Budget budget; // of all that is evaluated and emitted for this kernel
  context.loadDialect<tt::TTDialect, arith::ArithDialect, scf::SCFDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Unit unit{&context, *module, &options, &diagnostics, {}, {}, 0, {}, kernel.anySize};
  Emitter emitter(unit, kernel);
  emitter.ops.at(kernel.decl->nameRange);
  const std::vector<JitFunction::Parameter> &parameters = kernel.parameters;
  // The arguments of a `*args` parameter come one by one, or as one tuple.
  bool variadic = !parameters.empty() && parameters.back().isVariadic;
  if (variadic && args.size() == parameters.size() &&
      (!args.back().members.empty() || (args.back().constant && args.back().constant->asSequence())))
    variadic = false;
  if (variadic ? args.size() + 1 < parameters.size() : args.size() != parameters.size()) {
    emitter.ops.fail(Diag::kernelArguments, {kernel.name, std::to_string(parameters.size()), std::to_string(args.size())});
    return {};
  }
  llvm::SmallVector<mlir::Type> inputs;
  llvm::SmallVector<int64_t> divisibility;
  std::vector<std::string> names;
  for (size_t i = 0; i < args.size(); ++i) {
    const JitFunction::Parameter &parameter = parameters[std::min(i, parameters.size() - 1)];
    emitter.ops.at(parameter.range);
    if (parameter.isConstexpr && !args[i].constant) {
      emitter.ops.fail(Diag::constexprExpected, {"parameter '" + parameter.name + "' of '" + kernel.name + "'", args[i].type.str()});
      return {};
    }
    if (!addParameter(emitter.ops, args[i], inputs, divisibility)) return {};
    names.resize(inputs.size(), parameter.name);
  }
  emitter.ops.at(kernel.decl->nameRange);
  tt::FuncOp op = makeFunction(unit, kernel.name, inputs, true, false, emitter.ops.locationOf(kernel.decl->nameRange));
  unit.functions["kernel " + kernel.name].op = op;
  emitter.ops.b.setInsertionPointToEnd(&op.getBody().front());
  for (size_t i = 0; i < inputs.size(); ++i) {
    BlockArgument argument = op.getBody().front().getArgument(i);
    argument.setLoc(NameLoc::get(StringAttr::get(&context, names[i]), argument.getLoc()));
    if (divisibility[i] > 1) op.setArgAttr(i, tt::divisibilityName, emitter.ops.b.getI32IntegerAttr(static_cast<int32_t>(divisibility[i])));
  }
  llvm::SmallVector<BlockArgument> arguments(op.getBody().front().getArguments());
  Maybe result = emitter.emitBody(op, bindParameters(emitter.ops, args, arguments, parameters.size(), variadic));
  if (!result) return {};
  if (!op.getFunctionType().getResults().empty() || !result->isNone()) {
    emitter.ops.failAt(kernel.decl->nameRange, Diag::kernelResult, {kernel.name, result->describe()});
    return {};
  }
  if (isValid(*module, emitter.ops, kernel.decl->nameRange)) return module;
  return {};
}

} // namespace tilewright
