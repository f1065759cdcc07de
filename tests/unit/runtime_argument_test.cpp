// Binding and specialization: the properties of arguments that the compiler uses, and keys that distinguish exactly these.

#include "runtime/argument.h"

#include "gtest/gtest.h"

#include <limits>

using namespace tilewright;

namespace {

JitFunction::Parameter parameter(std::string name) {
  JitFunction::Parameter result;
  result.name = std::move(name);
  return result;
}

JitFunction::Parameter constexprParameter(std::string name) {
  JitFunction::Parameter result = parameter(std::move(name));
  result.isConstexpr = true;
  return result;
}

JitFunction kernelOf(std::vector<JitFunction::Parameter> parameters) {
  JitFunction kernel;
  kernel.name = "k";
  kernel.parameters = std::move(parameters);
  return kernel;
}

std::string specialized(const JitFunction &kernel, std::vector<Argument> arguments) {
  Diagnostics diagnostics;
  std::optional<std::vector<ArgumentSpec>> specs = specialize(kernel, arguments, diagnostics);
  return specs ? signatureText(kernel, *specs) : diagnostics.render();
}

std::string one(const Argument &argument) {
  return specialized(kernelOf({parameter("x")}), {argument});
}

void *address(uint64_t bits) {
  return reinterpret_cast<void *>(bits);
}

TEST(Specialize, Numbers) {
  EXPECT_EQ(one(Argument::integer(7)), "x=i32");
  EXPECT_EQ(one(Argument::integer(1)), "x=1");
  EXPECT_EQ(one(Argument::integer(0)), "x=i32:16");
  EXPECT_EQ(one(Argument::integer(-32)), "x=i32:16");
  EXPECT_EQ(one(Argument::integer(int64_t(1) << 31)), "x=i64:16");
  EXPECT_EQ(one(Argument::integer((int64_t(1) << 31) - 1)), "x=i32");
  EXPECT_EQ(one(Argument::integer(-(int64_t(1) << 31) - 1)), "x=i64");
  EXPECT_EQ(one(Argument::unsignedInteger(std::numeric_limits<uint64_t>::max())), "x=u64");
  EXPECT_EQ(one(Argument::unsignedInteger(5)), "x=i32");
  EXPECT_EQ(one(Argument::boolean(true)), "x=i1");
  EXPECT_EQ(one(Argument::floating(1.0)), "x=fp32");
  EXPECT_EQ(one(Argument::none()), "x=None");
}

TEST(Specialize, Pointers) {
  EXPECT_EQ(one(Argument::pointer(address(0x1000), Scalar::fp32, 0)), "x=*fp32:16");
  EXPECT_EQ(one(Argument::pointer(address(0x1008), Scalar::bf16, 0)), "x=*bf16");
}

TEST(Specialize, Requests) {
  JitFunction kernel = kernelOf({parameter("x"), parameter("y")});
  kernel.doNotSpecialize = {"x"};
  kernel.doNotSpecializeOnAlignment = {"y"};
  EXPECT_EQ(specialized(kernel, {Argument::integer(1), Argument::integer(16)}), "x=i32, y=i32");
  EXPECT_EQ(specialized(kernel, {Argument::integer(32), Argument::integer(1)}), "x=i32, y=1");
}

TEST(Specialize, Annotations) {
  JitFunction kernel = kernelOf({parameter("x")});
  kernel.parameters[0].annotation = Type(Scalar::int64);
  EXPECT_EQ(specialized(kernel, {Argument::integer(1)}), "x=i64");
  EXPECT_EQ(specialized(kernel, {Argument::integer(48)}), "x=i64:16");
  EXPECT_NE(specialized(kernel, {Argument::floating(2)}).find("cannot take a float"), std::string::npos);
  kernel.parameters[0].annotation = Type(Scalar::fp64);
  EXPECT_EQ(specialized(kernel, {Argument::integer(16)}), "x=fp64");
}

TEST(Specialize, ConstantsAndTuples) {
  JitFunction kernel = kernelOf({constexprParameter("N"), parameter("t")});
  Argument tuple = Argument::tuple({Argument::integer(3), Argument::floating(1), Argument::none()}, {});
  EXPECT_EQ(specialized(kernel, {Argument::constant(Value::string("relu")), tuple}), "N='relu', t=(i32, fp32, None)");
  EXPECT_NE(specialized(kernel, {Argument::pointer(address(64), Scalar::fp32, 0), tuple}).find("is a constexpr"), std::string::npos);
  EXPECT_NE(one(Argument::constant(Value::string("s"))).find("tl.constexpr"), std::string::npos);
}

TEST(Specialize, KeysDifferWhereSignaturesDo) {
  JitFunction kernel = kernelOf({parameter("x"), constexprParameter("C")});
  std::vector<Argument> values = {
      Argument::integer(1),
      Argument::integer(2),
      Argument::integer(3),
      Argument::integer(16),
      Argument::none(),
      Argument::boolean(true),
      Argument::floating(1),
      Argument::integer(int64_t(1) << 40),
      Argument::floating(16),
      Argument::boolean(false),
      Argument::pointer(address(16), Scalar::fp32, 0),
      Argument::pointer(address(32), Scalar::fp32, 0),
      Argument::pointer(address(8), Scalar::fp32, 0),
      Argument::pointer(address(8), Scalar::fp16, 0),
      Argument::tuple({Argument::integer(1)}, {}),
      Argument::tuple({Argument::integer(2)}, {}),
  };
  std::vector<Argument> constants = {
      Argument::integer(1), Argument::boolean(true), Argument::floating(1), Argument::none(), Argument::constant(Value::string("1")),
      Argument::integer(2)};
  std::vector<std::pair<std::string, std::string>> seen;
  for (const Argument &x : values)
    for (const Argument &c : constants) {
      SpecializationKey key;
      std::vector<Argument> arguments = {x, c};
      appendSpecializationKey(kernel, arguments, key);
      seen.push_back({std::string(key.begin(), key.end()), specialized(kernel, arguments)});
    }
  for (const auto &[key, signature] : seen)
    for (const auto &[otherKey, otherSignature] : seen)
      EXPECT_EQ(key == otherKey, signature == otherSignature) << signature << " | " << otherSignature;
}

TEST(Bind, PutsArgumentsInOrder) {
  JitFunction kernel = kernelOf({parameter("a"), parameter("b"), constexprParameter("C")});
  kernel.parameters[2].defaultValue = Value::integer(9);
  Diagnostics diagnostics;
  std::optional<BoundArguments> bound = bindArguments(kernel, {Argument::integer(1)}, {{"b", Argument::floating(2)}}, diagnostics);
  ASSERT_TRUE(bound);
  EXPECT_EQ((*bound)[0].asInteger(), 1);
  EXPECT_EQ((*bound)[1].asDouble(), 2);
  EXPECT_EQ((*bound)[2].asInteger(), 9);
}

TEST(Bind, NamesWhatIsWrong) {
  JitFunction kernel = kernelOf({parameter("a"), parameter("b")});
  auto message = [&](std::vector<Argument> positional, std::vector<NamedArgument> named) {
    Diagnostics diagnostics;
    EXPECT_FALSE(bindArguments(kernel, positional, named, diagnostics));
    return diagnostics.all().empty() ? "" : diagnostics.all().front().message;
  };
  Argument x = Argument::integer(1);
  EXPECT_EQ(message({x}, {}), "kernel 'k' needs a value for its parameter 'b'");
  EXPECT_EQ(message({x, x, x}, {}), "kernel 'k' takes 2 arguments, but 3 were given"); // tooManyArguments
  EXPECT_EQ(message({x, x}, {{"a", x}}), "parameter 'a' of kernel 'k' is given twice");
  EXPECT_EQ(message({x, x}, {{"c", x}}), "kernel 'k' has no parameter 'c'");
}

TEST(Bind, VariadicTakesTheRest) {
  JitFunction kernel = kernelOf({parameter("a"), parameter("rest")});
  kernel.parameters[1].isVariadic = true;
  Diagnostics diagnostics;
  std::optional<BoundArguments> bound =
      bindArguments(kernel, {Argument::integer(1), Argument::integer(2), Argument::integer(3)}, {}, diagnostics);
  ASSERT_TRUE(bound);
  EXPECT_EQ((*bound)[1].members().size(), 2u);
}

} // namespace
