// JSON from files that anybody may have written: what is nested deeply is refused, and everything else is llvm's parser's.
#include "support/json.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::string repeated(const char *part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += part;
  return text;
}

TEST(Json, DeepTextIsRefused) {
  for (const char *part : {"[", "{\"a\":", "[{\"a\":"}) {
    Result<llvm::json::Value> value = parseJson(repeated(part, 100000));
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error(), "it is nested more than 100 levels deep");
  }
}

TEST(Json, SomeLevelsAreFine) {
  EXPECT_TRUE(parseJson(repeated("[", 100) + repeated("]", 100)));
  EXPECT_FALSE(parseJson(repeated("[", 101) + repeated("]", 101)));
  EXPECT_TRUE(parseJson("[" + repeated("[],", 1000) + "[]]"));
}

TEST(Json, BracketsInStringsDoNotCount) {
  Result<llvm::json::Value> value = parseJson("[\"" + repeated("[\\\"{\\\\", 1000) + "\"]");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->getAsArray()->front().getAsString()->size(), size_t(4000));
}

TEST(Json, OtherMistakesAreNamed) {
  Result<llvm::json::Value> value = parseJson("{\"a\" 1}");
  ASSERT_FALSE(value);
  EXPECT_TRUE(value.error().starts_with("it is not JSON: ")) << value.error();
}

} // namespace
} // namespace tilewright
