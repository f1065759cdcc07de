// Integer arithmetic on known operands: all pairs of bytes, against the same arithmetic of C++; operands that are not known.
#include "ir/integer_value.h"
#include "ir/tt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

namespace tilewright {
namespace {

class IntegerValue : public testing::Test {
protected:
  IntegerValue() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The last operation of a function with these arguments.
  mlir::Operation *parse(const std::string &arguments, const std::string &body) {
    module = mlir::parseSourceString<mlir::ModuleOp>("tt.func public @f(" + arguments + ") {\n" + body + "\ntt.return\n}", &context);
    EXPECT_TRUE(module);
    return (*module->getOps<tt::FuncOp>().begin()).getBody().front().getTerminator()->getPrevNode();
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Reference = std::function<Integer(int, int)>;

TEST_F(IntegerValue, AllPairsOfBytes) {
  auto byte = [](int value) { return Integer(static_cast<int8_t>(value)); };
  auto low = [](int value) { return value & 255; };
  auto truth = [](bool value) { return Integer(value ? -1 : 0); }; // one bit, sign-extended
  const std::map<std::string, Reference> references = {
      {"addi", [&](int a, int b) { return byte(a + b); }},
      {"subi", [&](int a, int b) { return byte(a - b); }},
      {"muli", [&](int a, int b) { return byte(a * b); }},
      {"andi", [&](int a, int b) { return byte(a & b); }},
      {"ori", [&](int a, int b) { return byte(a | b); }},
      {"xori", [&](int a, int b) { return byte(a ^ b); }},
      {"minsi", [&](int a, int b) { return byte(std::min(a, b)); }},
      {"maxsi", [&](int a, int b) { return byte(std::max(a, b)); }},
      {"minui", [&](int a, int b) { return byte(std::min(low(a), low(b))); }},
      {"maxui", [&](int a, int b) { return byte(std::max(low(a), low(b))); }},
      {"divsi", [&](int a, int b) { return b ? byte(a / b) : Integer(); }},
      {"remsi", [&](int a, int b) { return b ? byte(a % b) : Integer(); }},
      {"divui", [&](int a, int b) { return b ? byte(low(a) / low(b)) : Integer(); }},
      {"remui", [&](int a, int b) { return b ? byte(low(a) % low(b)) : Integer(); }},
      {"cmpi slt,", [&](int a, int b) { return truth(a < b); }},
      {"cmpi ult,", [&](int a, int b) { return truth(low(a) < low(b)); }},
      {"cmpi eq,", [&](int a, int b) { return truth(a == b); }},
  };
  for (const auto &[name, reference] : references) {
    mlir::Operation *op = parse("%a: i8, %b: i8", "%c = arith." + name + " %a, %b : i8");
    for (int a = -128; a < 128; ++a)
      for (int b = -128; b < 128; ++b)
        ASSERT_EQ(computeInteger(op, {a, b}), reference(a, b)) << name << " of " << a << " and " << b;
  }
}

TEST_F(IntegerValue, Shifts) {
  for (int a = -128; a < 128; ++a)
    for (int b = 0; b < 8; ++b) {
      auto shifted = [&](const char *name) {
        return computeInteger(parse("%a: i8, %b: i8", std::string("%c = arith.") + name + " %a, %b : i8"), {a, b});
      };
      if (a % 16 != 0) continue; // a parse for each
      EXPECT_EQ(shifted("shli"), static_cast<int8_t>((a & 255) << b));
      EXPECT_EQ(shifted("shrui"), static_cast<int8_t>((a & 255) >> b));
      EXPECT_EQ(shifted("shrsi"), a >> b);
    }
}

TEST_F(IntegerValue, Extensions) {
  EXPECT_EQ(computeInteger(parse("%a: i8", "%c = arith.extui %a : i8 to i32"), {-1}), 255);
  EXPECT_EQ(computeInteger(parse("%a: i8", "%c = arith.extsi %a : i8 to i32"), {-1}), -1);
  EXPECT_EQ(computeInteger(parse("%a: i32", "%c = arith.trunci %a : i32 to i8"), {384}), -128);
  EXPECT_EQ(computeInteger(parse("", "%c = arith.constant 7 : i32"), {}), 7);
}

TEST_F(IntegerValue, UnknownOperands) {
  mlir::Operation *both = parse("%a: i1, %b: i1", "%c = arith.andi %a, %b : i1");
  EXPECT_EQ(computeInteger(both, {0, std::nullopt}), 0);
  EXPECT_EQ(computeInteger(both, {std::nullopt, -1}), std::nullopt);
  mlir::Operation *choice = parse("%a: i1, %b: i32, %d: i32", "%c = arith.select %a, %b, %d : i32");
  EXPECT_EQ(computeInteger(choice, {-1, 5, std::nullopt}), 5);
  EXPECT_EQ(computeInteger(choice, {0, 5, std::nullopt}), std::nullopt);
  EXPECT_EQ(computeInteger(choice, {std::nullopt, 5, 6}), std::nullopt);
}

/// Tiles and floats are no integers.
TEST_F(IntegerValue, OtherTypes) {
  EXPECT_EQ(computeInteger(parse("%a: tensor<4xi32>", "%c = arith.addi %a, %a : tensor<4xi32>"), {1, 2}), std::nullopt);
  EXPECT_EQ(computeInteger(parse("%a: f32", "%c = arith.addf %a, %a : f32"), {1, 2}), std::nullopt);
  EXPECT_EQ(computeInteger(parse("%a: tensor<4xi32>", "%c = arith.extui %a : tensor<4xi32> to tensor<4xi64>"), {1}), std::nullopt);
}

} // namespace
} // namespace tilewright
