// Bad input for every function of tilewright/builder.h, and allocations that fail below the C interface.

#include "tilewright/builder.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

static thread_local int64_t allocationsLeft = -1; // negative: none fails

// For the whole process: the library takes its memory from here, too.
void *operator new(size_t size) {
  if (allocationsLeft == 0) throw std::bad_alloc();
  if (allocationsLeft > 0) --allocationsLeft;
  if (void *memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
// LLVM's containers end the process without memory, so theirs stays.
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return std::malloc(size ? size : 1);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}

namespace {

const TwPlace place{sizeof(TwPlace), "kernel.cpp", 10, 3};
const int64_t sixteen[] = {16};
const TwTileType wide{sizeof(TwTileType), "fp32", sixteen, 1}, number{sizeof(TwTileType), "i32", nullptr, 0};

/// A kernel with parameters (x: *fp32, n: i32).
struct Begun {
  std::unique_ptr<TwBuilder, void (*)(TwBuilder *)> builder{twBuilderNew("kernel", &place), twBuilderFree};
  TwValue x = twBuilderParameter(builder.get(), "x", "*fp32", &place), n = twBuilderParameter(builder.get(), "n", "i32", &place);
  TwBuilder *b() const { return builder.get(); }
  /// Finishes the kernel. Returns its error, or "".
  std::string error(TwErrorCode *code = nullptr) const {
    TwError *error = nullptr;
    TwModule *module = twBuilderFinish(builder.get(), &error);
    std::string text = twErrorText(error);
    EXPECT_EQ(module == nullptr, error != nullptr);
    if (code) *code = twErrorCode(error);
    twModuleFree(module);
    twErrorFree(error);
    return text;
  }
};

struct Case {
  const char *expected; // a part of the error
  std::function<void(Begun &)> run;
};

TEST(BuilderApi, WrongValuesAreErrors) {
  const TwTileType noElement{sizeof(TwTileType), "fp33", sixteen, 1}, noShape{sizeof(TwTileType), "fp32", nullptr, 1};
  const TwTileType highRank{sizeof(TwTileType), "fp32", sixteen, SIZE_MAX}, noSize{0, "fp32", sixteen, 1};
  const int64_t negative[] = {-16};
  const TwTileType negativeShape{sizeof(TwTileType), "fp32", negative, 1};
  const TwCallArgument foreign{sizeof(TwCallArgument), nullptr, 12345}, sizeless{3, nullptr, 1};
  const char *const noNames[] = {nullptr};
  const TwConfig emptyConfig{sizeof(TwConfig), nullptr, nullptr, 1, 0, 0, 0, 0}, sizelessConfig{1, nullptr, nullptr, 0, 0, 0, 0, 0};
  TwRule rule = [](void *, const TwMeta *) { return int64_t{1}; };
  const Case cases[] = {
      {"a parameter has a type that does not exist", [](Begun &k) { twBuilderParameter(k.b(), "y", "fp33", &place); }},
      {"a parameter has a type that does not exist", [](Begun &k) { twBuilderParameter(k.b(), "y", nullptr, &place); }},
      {"is not an identifier", [](Begun &k) { twBuilderParameter(k.b(), "2y", "i32", &place); }},
      {"is not an identifier", [](Begun &k) { twBuilderParameter(k.b(), nullptr, "i32", &place); }},
      {"two parameters of the kernel have the name 'x'", [](Begun &k) { twBuilderParameter(k.b(), "x", "i32", &place); }},
      {"a parameter is added after a statement",
       [](Begun &k) { twBuilderVariable(k.b(), k.n, nullptr, &place), twBuilderParameter(k.b(), "y", "i32", &place); }},
      {"is not an identifier", [](Begun &k) { twBuilderConstexpr(k.b(), "a b", &place); }},
      {"the values of a tuple are null", [](Begun &k) { twBuilderTuple(k.b(), nullptr, 2); }},
      {"does not belong to the kernel",
       [](Begun &k) {
         TwValue bad = 99;
         twBuilderTuple(k.b(), &bad, 1);
       }},
      {"the name of a builtin is null", [](Begun &k) { twBuilderCall(k.b(), nullptr, nullptr, 0, nullptr, &place); }},
      {"the arguments of a call are null", [](Begun &k) { twBuilderCall(k.b(), "load", nullptr, 1, nullptr, &place); }},
      {"does not belong to the kernel", [&](Begun &k) { twBuilderCall(k.b(), "load", &foreign, 1, nullptr, &place); }},
      {"the size of a TwCallArgument is 3", [&](Begun &k) { twBuilderCall(k.b(), "load", &sizeless, 1, nullptr, &place); }},
      {"a type has the element 'fp33'", [&](Begun &k) { twBuilderCall(k.b(), "arange", nullptr, 0, &noElement, &place); }},
      {"a type has the element 'fp32', which is not one", [&](Begun &k) { twBuilderCall(k.b(), "arange", nullptr, 0, &noShape, &place); }},
      {"a type has the rank 18446744073709551615", [&](Begun &k) { twBuilderCall(k.b(), "arange", nullptr, 0, &highRank, &place); }},
      {"an extent below 1", [&](Begun &k) { twBuilderCall(k.b(), "arange", nullptr, 0, &negativeShape, &place); }},
      {"the size of a TwTileType is 0", [&](Begun &k) { twBuilderCall(k.b(), "arange", nullptr, 0, &noSize, &place); }},
      {"the name of a builtin is null", [](Begun &k) { twBuilderRun(k.b(), nullptr, nullptr, 0, &place); }},
      {"the arguments of a call are null", [](Begun &k) { twBuilderRun(k.b(), "store", nullptr, 2, &place); }},
      {"there is no operator 99", [](Begun &k) { twBuilderOperator(k.b(), static_cast<TwOperator>(99), k.n, k.n, nullptr, &place); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderOperator(k.b(), TW_ADD, k.n, 0, nullptr, &place); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderOperator(k.b(), TW_NEGATE, 99, 0, nullptr, &place); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderItem(k.b(), 99, 0, nullptr, &place); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderVariable(k.b(), 99, nullptr, &place); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderAssign(k.b(), 0, k.n, nullptr, &place); }},
      {"this assigns to a constant", [](Begun &k) { twBuilderAssign(k.b(), twBuilderInteger(k.b(), 1), k.n, nullptr, &place); }},
      {"this assigns to a constant", [](Begun &k) { twBuilderAssign(k.b(), twBuilderUnsigned(k.b(), 1), k.n, nullptr, &place); }},
      {"this assigns to a constant", [](Begun &k) { twBuilderAssign(k.b(), twBuilderFloat(k.b(), 1), k.n, nullptr, &place); }},
      {"this assigns to a constant", [](Begun &k) { twBuilderAssign(k.b(), twBuilderBool(k.b(), 1), k.n, nullptr, &place); }},
      {"this assigns to a constant", [](Begun &k) { twBuilderAssign(k.b(), twBuilderString(k.b(), "x"), k.n, nullptr, &place); }},
      {"this assigns to a constant", [](Begun &k) { twBuilderAssign(k.b(), twBuilderString(k.b(), nullptr), k.n, nullptr, &place); }},
      {"the arguments of a call are null", [](Begun &k) { twBuilderFor(k.b(), nullptr, 1, nullptr, &place); }},
      {"has no end",
       [](Begun &k) {
         TwCallArgument end{sizeof end, nullptr, k.n};
         twBuilderFor(k.b(), &end, 1, &number, &place);
       }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderIf(k.b(), 0, &place); }},
      {"has no end", [](Begun &k) { twBuilderIf(k.b(), k.n, &place); }},
      {"an 'else' does not follow an 'if'", [](Begun &k) { twBuilderElse(k.b(), &place); }},
      {"has no end", [](Begun &k) { twBuilderWhile(k.b(), &place); }},
      {"does not follow its condition", [](Begun &k) { twBuilderDo(k.b(), k.n, &place); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderWhile(k.b(), &place), twBuilderDo(k.b(), 99, &place); }},
      {"break_() is not inside of a loop", [](Begun &k) { twBuilderBreak(k.b(), &place); }},
      {"continue_() is not inside of a loop", [](Begun &k) { twBuilderContinue(k.b(), &place); }},
      {"return_() is inside of a function",
       [](Begun &k) {
         TwValue p = 0;
         twBuilderFunction(k.b(), &p, 1, &place), twBuilderReturn(k.b(), &place);
       }},
      {"a block is ended that was not begun", [](Begun &k) { twBuilderEnd(k.b()); }},
      {"a function has no parameters", [](Begun &k) { twBuilderFunction(k.b(), nullptr, 2, &place); }},
      {"a function has no parameters",
       [](Begun &k) {
         TwValue p = 7;
         twBuilderFunction(k.b(), &p, 0, &place);
       }},
      {"a function has no results", [](Begun &k) { twBuilderEndFunction(k.b(), nullptr, 1, &place); }},
      {"a function is ended that was not begun", [](Begun &k) { twBuilderEndFunction(k.b(), &k.n, 1, &place); }},
      {"a configuration is null", [](Begun &k) { twBuilderConfig(k.b(), nullptr); }},
      {"the values of a configuration are null", [&](Begun &k) { twBuilderConfig(k.b(), &emptyConfig); }},
      {"the size of a TwConfig is 1", [&](Begun &k) { twBuilderConfig(k.b(), &sizelessConfig); }},
      {"the name of a parameter is null", [&](Begun &k) { twBuilderKey(k.b(), noNames, 1); }},
      {"the name of a parameter is null", [](Begun &k) { twBuilderKey(k.b(), nullptr, 1); }},
      {"the name of a parameter is null", [&](Begun &k) { twBuilderResetToZero(k.b(), noNames, 1); }},
      {"the name of a parameter is null", [&](Begun &k) { twBuilderRestoreValue(k.b(), noNames, 1); }},
      {"does not belong to the kernel", [](Begun &k) { twBuilderCase(k.b(), 99, 1, &place); }},
      {"a rule, or the name of its parameter, is null", [&](Begun &k) { twBuilderHeuristic(k.b(), nullptr, rule, nullptr); }},
      {"a rule, or the name of its parameter, is null", [](Begun &k) { twBuilderHeuristic(k.b(), "x", nullptr, nullptr); }},
      {"kernel.cpp:10:3: error: ", [](Begun &k) { twBuilderError(k.b(), nullptr, nullptr, &place); }},
      {"the caller's text", [](Begun &k) { twBuilderError(k.b(), "the caller's text", "its advice", nullptr); }},
  };
  for (const Case &each : cases) {
    Begun kernel;
    each.run(kernel);
    TwErrorCode code = TW_ERROR_NONE;
    std::string text = kernel.error(&code);
    EXPECT_NE(text.find(each.expected), std::string::npos) << each.expected << "\n" << text;
    EXPECT_NE(code, TW_ERROR_NONE);
    EXPECT_NE(code, TW_ERROR_INTERNAL) << text;
  }
}

/// Calls every function that takes a builder.
void callAll(TwBuilder *b) {
  TwValue value = 1, parameter = 5;
  const TwCallArgument argument{sizeof(TwCallArgument), nullptr, 1};
  const char *name = "x";
  EXPECT_EQ(twBuilderParameter(b, "x", "i32", &place), 0u);
  EXPECT_EQ(twBuilderConstexpr(b, "x", &place), 0u);
  EXPECT_EQ(twBuilderInteger(b, 1), 0u);
  EXPECT_EQ(twBuilderUnsigned(b, 1), 0u);
  EXPECT_EQ(twBuilderFloat(b, 1), 0u);
  EXPECT_EQ(twBuilderBool(b, 1), 0u);
  EXPECT_EQ(twBuilderString(b, "x"), 0u);
  EXPECT_EQ(twBuilderTuple(b, &value, 1), 0u);
  EXPECT_EQ(twBuilderCall(b, "load", &argument, 1, nullptr, &place), 0u);
  twBuilderRun(b, "store", &argument, 1, &place);
  EXPECT_EQ(twBuilderOperator(b, TW_ADD, 1, 1, &wide, &place), 0u);
  EXPECT_EQ(twBuilderItem(b, 1, 0, nullptr, &place), 0u);
  EXPECT_EQ(twBuilderVariable(b, 1, &number, &place), 0u);
  twBuilderAssign(b, 1, 1, nullptr, &place);
  EXPECT_EQ(twBuilderFor(b, &argument, 1, nullptr, &place), 0u);
  twBuilderIf(b, 1, &place), twBuilderElse(b, &place), twBuilderWhile(b, &place), twBuilderDo(b, 1, &place), twBuilderBreak(b, &place);
  twBuilderContinue(b, &place), twBuilderReturn(b, &place), twBuilderEnd(b);
  twBuilderFunction(b, &parameter, 1, &place);
  EXPECT_EQ(parameter, 0u);
  twBuilderFunction(b, nullptr, 1, nullptr);
  EXPECT_EQ(twBuilderEndFunction(b, &value, 1, &place), 0u);
  TwConfig config{};
  config.size = sizeof config;
  twBuilderConfig(b, &config), twBuilderKey(b, &name, 1), twBuilderResetToZero(b, &name, 1), twBuilderRestoreValue(b, &name, 1);
  twBuilderCase(b, 1, 1, &place), twBuilderAnySize(b), twBuilderError(b, "text", "advice", &place);
  twBuilderHeuristic(b, "x", [](void *, const TwMeta *) { return int64_t{1}; }, nullptr);
  TwError *error = nullptr;
  EXPECT_EQ(twBuilderFinish(b, &error), nullptr);
  EXPECT_EQ(twErrorCode(error), TW_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(twErrorText(error), "the builder is null, or its kernel is finished\n");
  twErrorFree(error);
  EXPECT_EQ(twBuilderFinish(b, nullptr), nullptr);
}

TEST(BuilderApi, NoBuilderAndFinishedBuilders) {
  callAll(nullptr);
  twBuilderFree(nullptr);
  Begun kernel;
  EXPECT_EQ(kernel.error(), "");
  callAll(kernel.b());
}

TEST(BuilderApi, NamesAndPlaces) {
  for (const char *name : {"", "2", "a b", "tl", "triton", "a\nb"}) {
    Begun kernel;
    kernel.builder.reset(twBuilderNew(name, &place));
    EXPECT_NE(kernel.error().find("which is not an identifier"), std::string::npos) << name;
  }
  const TwPlace bad[] = {{0, "kernel.cpp", 1, 1},
                         {sizeof(TwPlace), nullptr, 1, 1},
                         {sizeof(TwPlace), "", 1, 1},
                         {sizeof(TwPlace), "/nowhere", 0, 0},
                         {sizeof(TwPlace), "/nowhere", UINT32_MAX, UINT32_MAX},
                         {sizeof(TwPlace), "/dev/zero", 1, 1},
                         {sizeof(TwPlace), "/", 1, 1}};
  for (const TwPlace &each : bad) {
    TwBuilder *builder = twBuilderNew("kernel", &each);
    twBuilderVariable(builder, 99, nullptr, &each);
    TwError *error = nullptr;
    EXPECT_EQ(twBuilderFinish(builder, &error), nullptr);
    EXPECT_NE(std::string(twErrorText(error)).find("does not belong to the kernel"), std::string::npos);
    twErrorFree(error);
    twBuilderFree(builder);
  }
  std::string large(10'000'000, 'a');
  TwBuilder *builder = twBuilderNew((large + " b").c_str(), nullptr);
  TwError *error = nullptr;
  EXPECT_EQ(twBuilderFinish(builder, &error), nullptr);
  EXPECT_LT(std::string(twErrorText(error)).size(), 70'000u);
  EXPECT_NE(std::string(twErrorText(error)).find("more bytes are left out)"), std::string::npos);
  twErrorFree(error);
  twBuilderFree(builder);
}

/// Builds a kernel with all kinds of statements. Null after an error.
TwModule *build(TwError **error) {
  std::unique_ptr<TwBuilder, void (*)(TwBuilder *)> owner(twBuilderNew("kernel", &place), twBuilderFree);
  TwBuilder *b = owner.get();
  TwValue x = twBuilderParameter(b, "x", "*fp32", &place), n = twBuilderParameter(b, "n", "i32", &place);
  TwValue size = twBuilderConstexpr(b, "SIZE", &place);
  TwValue total = twBuilderVariable(b, twBuilderInteger(b, 0), nullptr, &place);
  TwCallArgument end{sizeof end, nullptr, n};
  TwValue i = twBuilderFor(b, &end, 1, &number, &place);
  twBuilderAssign(b, total, twBuilderOperator(b, TW_ADD, total, i, nullptr, &place), nullptr, &place);
  twBuilderIf(b, twBuilderOperator(b, TW_LESS, total, size, nullptr, &place), &place);
  twBuilderBreak(b, &place);
  twBuilderElse(b, &place);
  twBuilderEnd(b), twBuilderEnd(b);
  TwValue pair[] = {total, twBuilderFloat(b, 1.5)};
  TwValue second = twBuilderItem(b, twBuilderTuple(b, pair, 2), 1, nullptr, &place);
  const TwCallArgument stored[] = {{sizeof(TwCallArgument), "pointer", x}, {sizeof(TwCallArgument), "value", second}};
  twBuilderRun(b, "store", stored, 2, &place);
  const char *names[] = {"SIZE"};
  const int64_t values[] = {4};
  TwConfig config{sizeof(TwConfig), names, values, 1, 4, 0, 0, 0};
  twBuilderConfig(b, &config), twBuilderKey(b, nullptr, 0);
  return twBuilderFinish(b, error);
}

TEST(BuilderApi, FailedAllocationsAreErrors) {
  TwError *error = nullptr;
  TwModule *module = build(&error);
  ASSERT_NE(module, nullptr) << twErrorText(error);
  twModuleFree(module);
  int64_t failures = 0;
  for (int64_t allocation = 0;; ++allocation) {
    error = nullptr;
    allocationsLeft = allocation;
    module = build(&error);
    bool isDone = allocationsLeft > 0;
    allocationsLeft = -1;
    if (module) {
      twModuleFree(module);
      if (isDone) break;
      continue;
    }
    ++failures;
    TwErrorCode code = twErrorCode(error);
    EXPECT_TRUE(code == TW_ERROR_OUT_OF_MEMORY || code == TW_ERROR_INVALID_ARGUMENT) << allocation << ": " << twErrorText(error);
    twErrorFree(error);
  }
  EXPECT_GT(failures, 50);
}

} // namespace
