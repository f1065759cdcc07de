// Arguments as values: their construction, conversion, and binding to a kernel's parameters.

#include "runtime/argument.h"

#include "runtime/argument_payload.h"

#include <cstring>
#include <limits>

namespace tilewright {

Argument Argument::boolean(bool value) {
  Argument argument(Kind::boolean);
  argument.bits = value;
  return argument;
}

Argument Argument::integer(int64_t value) {
  Argument argument(Kind::integer);
  argument.bits = static_cast<uint64_t>(value);
  return argument;
}

Argument Argument::unsignedInteger(uint64_t value) {
  Argument argument(value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? Kind::unsignedInteger : Kind::integer);
  argument.bits = value;
  return argument;
}

Argument Argument::floating(double value) {
  Argument argument(Kind::floating);
  std::memcpy(&argument.bits, &value, sizeof(value));
  return argument;
}

Argument Argument::pointer(void *address, Scalar element, int64_t bytes, int64_t device) {
  Argument argument(Kind::pointer);
  argument.elementKind = element;
  argument.bits = reinterpret_cast<uint64_t>(address);
  argument.extent = bytes;
  argument.deviceOrdinal = static_cast<int16_t>(device);
  return argument;
}

Argument Argument::fixed() const {
  Argument result = *this;
  result.isConstexpr = true;
  return result;
}

Argument Argument::reaching(int64_t before, int64_t after) const {
  Argument result = *this;
  auto changed = payload ? std::make_shared<Payload>(*payload) : std::make_shared<Payload>();
  changed->reach = {before, after};
  result.payload = std::move(changed);
  return result;
}

std::optional<std::pair<uint64_t, uint64_t>> Argument::reach() const {
  if (payload && payload->reach)
    return std::pair(bits - static_cast<uint64_t>(payload->reach->first), bits + static_cast<uint64_t>(payload->reach->second));
  if (extent > 0) return std::pair(bits, bits + static_cast<uint64_t>(extent));
  return std::nullopt;
}

Argument Argument::constant(Value value) {
  if (value.isNone()) return none();
  if (const bool *truth = value.asBool()) return boolean(*truth);
  if (const double *number = value.asFloat()) return floating(*number);
  if (const Int *number = value.asInt()) {
    if (*number >= std::numeric_limits<int64_t>::min() && *number <= std::numeric_limits<int64_t>::max())
      return integer(static_cast<int64_t>(*number));
    if (*number > 0 && *number <= std::numeric_limits<uint64_t>::max()) return unsignedInteger(static_cast<uint64_t>(*number));
  }
  Argument argument(Kind::constant);
  auto payload = std::make_shared<Payload>();
  payload->constant = std::move(value);
  argument.payload = std::move(payload);
  return argument;
}

Argument Argument::tuple(std::vector<Argument> members, std::vector<std::string> fieldNames) {
  Argument argument(Kind::tuple);
  for (const Argument &member : members)
    if (member.memoryKind != Memory::plain) argument.memoryKind = member.memoryKind;
  auto payload = std::make_shared<Payload>();
  payload->members = std::move(members);
  payload->fieldNames = std::move(fieldNames);
  argument.payload = std::move(payload);
  return argument;
}

Argument Argument::descriptor(void *base, Scalar element, std::vector<int64_t> shape, std::vector<int64_t> strides,
                              std::vector<int64_t> blockShape, DescriptorMode mode, int64_t bytes, int64_t device) {
  Argument argument = pointer(base, element, bytes, device);
  argument.argumentKind = Kind::descriptor;
  auto payload = std::make_shared<Payload>();
  payload->shape = std::move(shape);
  payload->strides = std::move(strides);
  payload->blockShape = std::move(blockShape);
  payload->mode = mode;
  argument.payload = std::move(payload);
  return argument;
}

int64_t Argument::asInteger() const {
  if (argumentKind != Kind::floating) return static_cast<int64_t>(bits);
  double value = asDouble();
  // Converting a value out of range is undefined behavior in C++. The kernel's result is useless then, but the host must continue.
  if (!(value > -9.3e18 && value < 9.3e18)) return 0;
  return static_cast<int64_t>(value);
}

double Argument::asDouble() const {
  if (argumentKind == Kind::unsignedInteger) return static_cast<double>(bits);
  if (argumentKind != Kind::floating) return static_cast<double>(static_cast<int64_t>(bits));
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

llvm::ArrayRef<Argument> Argument::members() const {
  return payload ? llvm::ArrayRef<Argument>(payload->members) : llvm::ArrayRef<Argument>();
}
llvm::ArrayRef<std::string> Argument::fieldNames() const {
  return payload ? llvm::ArrayRef<std::string>(payload->fieldNames) : llvm::ArrayRef<std::string>();
}
llvm::ArrayRef<int64_t> Argument::shape() const {
  return payload ? llvm::ArrayRef<int64_t>(payload->shape) : llvm::ArrayRef<int64_t>();
}
llvm::ArrayRef<int64_t> Argument::strides() const {
  return payload ? llvm::ArrayRef<int64_t>(payload->strides) : llvm::ArrayRef<int64_t>();
}
DescriptorMode Argument::descriptorMode() const {
  return payload ? payload->mode : DescriptorMode();
}
llvm::ArrayRef<int64_t> Argument::blockShape() const {
  return payload ? llvm::ArrayRef<int64_t>(payload->blockShape) : llvm::ArrayRef<int64_t>();
}

std::optional<Value> Argument::value() const {
  switch (argumentKind) {
  case Kind::none: return Value::none();
  case Kind::boolean: return Value::boolean(bits != 0);
  case Kind::integer: return Value::integer(static_cast<int64_t>(bits));
  case Kind::unsignedInteger: return Value::integer(bits);
  case Kind::floating: return Value::floating(asDouble());
  case Kind::constant: return payload->constant;
  case Kind::tuple: {
    std::vector<Value> items;
    for (const Argument &member : payload->members) {
      std::optional<Value> item = member.value();
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    }
    return fieldNames().empty() ? Value::tuple(std::move(items)) : Value::namedTuple(payload->fieldNames, std::move(items));
  }
  case Kind::missing:
  case Kind::pointer:
  case Kind::descriptor: break;
  }
  return std::nullopt;
}

std::string Argument::describe() const {
  switch (argumentKind) {
  case Kind::missing: return "nothing";
  case Kind::none: return "None";
  case Kind::boolean: return "a bool";
  case Kind::integer:
  case Kind::unsignedInteger: return "an int";
  case Kind::floating: return "a float";
  case Kind::pointer: return "a pointer to " + scalarName(elementKind).str();
  case Kind::descriptor: return "a tensor descriptor of " + scalarName(elementKind).str();
  case Kind::constant: return payload->constant.describe();
  case Kind::tuple: return "a tuple";
  }
  return "";
}

static std::string parameterNames(const JitFunction &kernel) {
  std::string names;
  for (const JitFunction::Parameter &parameter : kernel.parameters)
    names += (names.empty() ? "" : ", ") + parameter.name;
  return names.empty() ? "none" : names;
}

static SourceRange kernelRange(const JitFunction &kernel) {
  return kernel.decl ? kernel.decl->range : SourceRange();
}

// A tuple for a run-time parameter becomes a tuple of run-time values; for a constexpr parameter it stays one constant.
static Argument membersOf(const Argument &argument, const Sequence &sequence) {
  std::vector<Argument> members;
  for (const Value &item : sequence.items)
    members.push_back(Argument::constant(item));
  return Argument::tuple(std::move(members), sequence.fieldNames);
}

std::optional<BoundArguments> bindKnownArguments(const JitFunction &kernel, llvm::ArrayRef<Argument> positional,
                                                 llvm::ArrayRef<NamedArgument> named, Diagnostics &diagnostics) {
  BoundArguments bound;
  size_t count = kernel.parameters.size();
  bound.resize(count);
  size_t used = 0;
  for (size_t i = 0; i < count && used < positional.size(); ++i) {
    if (kernel.parameters[i].isVariadic) {
      bound[i] = Argument::tuple(positional.drop_front(used).vec(), {});
      used = positional.size();
    } else {
      bound[i] = positional[used++];
    }
  }
  if (used < positional.size()) {
    diagnostics.error(kernelRange(kernel), Diag::tooManyArguments,
                      {kernel.name, std::to_string(count), std::to_string(positional.size()), parameterNames(kernel)});
    return std::nullopt;
  }
  size_t next = used; // named arguments mostly follow the order of the parameters
  for (const NamedArgument &argument : named) {
    size_t found = count;
    for (size_t step = 0; step < count && found == count; ++step) {
      size_t i = next + step < count ? next + step : next + step - count;
      if (kernel.parameters[i].name == argument.name) found = i;
    }
    if (found == count) {
      diagnostics.error(kernelRange(kernel), Diag::unknownArgument, {kernel.name, argument.name.str(), parameterNames(kernel)});
      return std::nullopt;
    }
    if (bound[found].kind() != Argument::Kind::missing) {
      diagnostics.error(kernel.parameters[found].range, Diag::repeatedArgument, {kernel.name, argument.name.str()});
      return std::nullopt;
    }
    bound[found] = argument.value;
    next = found + 1 < count ? found + 1 : 0;
  }
  for (size_t i = 0; i < count; ++i) {
    const JitFunction::Parameter &parameter = kernel.parameters[i];
    if (bound[i].kind() == Argument::Kind::missing) {
      if (parameter.defaultValue)
        bound[i] = Argument::constant(*parameter.defaultValue);
      else if (parameter.isVariadic)
        bound[i] = Argument::tuple({}, {});
    }
    if (parameter.isConstexpr || bound[i].kind() != Argument::Kind::constant || bound[i].isFixed()) continue;
    std::optional<Value> value = bound[i].value();
    if (const Sequence *sequence = value->asSequence()) bound[i] = membersOf(bound[i], *sequence);
  }
  return bound;
}

std::optional<BoundArguments> bindArguments(const JitFunction &kernel, llvm::ArrayRef<Argument> positional,
                                            llvm::ArrayRef<NamedArgument> named, Diagnostics &diagnostics) {
  std::optional<BoundArguments> bound = bindKnownArguments(kernel, positional, named, diagnostics);
  if (!bound) return std::nullopt;
  for (size_t i = 0; i < bound->size(); ++i) {
    if ((*bound)[i].kind() != Argument::Kind::missing) continue;
    diagnostics.error(kernel.parameters[i].range, Diag::missingArgument, {kernel.name, kernel.parameters[i].name});
    return std::nullopt;
  }
  return bound;
}

Value argumentDict(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments) {
  std::vector<std::pair<Value, Value>> items;
  items.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &name = kernel.parameters[i].name;
    if (arguments[i].kind() == Argument::Kind::missing) continue;
    std::optional<Value> value = arguments[i].value();
    items.push_back({Value::string(name), value ? *value : Value::host("the run-time value of '" + name + "'")});
  }
  return Value::dict(std::move(items));
}

static void appendMemory(const std::string &name, const ArgumentSpec &spec, const Argument &argument, std::vector<ArgumentMemory> &memory) {
  if (spec.constant) return;
  for (size_t i = 0; i < spec.members.size(); ++i)
    appendMemory(name + "[" + std::to_string(i) + "]", spec.members[i], argument.members()[i], memory);
  bool isTensor = argument.isPointer() || argument.kind() == Argument::Kind::descriptor;
  if (!spec.members.empty() || (!isTensor && !spec.type.isPointer())) return;
  std::optional<std::pair<uint64_t, uint64_t>> range = isTensor ? argument.reach() : std::nullopt;
  if (!range && isTensor && !argument.address()) range = std::pair(0, 0); // null: no memory
  memory.push_back(range ? ArgumentMemory{name, range->first, range->second, true} : ArgumentMemory{name, 0, 0, false});
}

std::vector<ArgumentMemory> memoryOfArguments(llvm::ArrayRef<std::string> parameters, llvm::ArrayRef<ArgumentSpec> specs,
                                              llvm::ArrayRef<Argument> arguments) {
  std::vector<ArgumentMemory> memory;
  for (size_t i = 0; i < specs.size(); ++i)
    appendMemory(parameters[i], specs[i], arguments[i], memory);
  return memory;
}

} // namespace tilewright
