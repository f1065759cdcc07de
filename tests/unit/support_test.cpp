// Sources, messages, hashes and files.

#include "support/diagnostics.h"
#include "support/files.h"
#include "support/hash.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <unistd.h>

using namespace tilewright;

static std::shared_ptr<const SourceFile> source(std::string text) {
  return SourceFile::create("k.py", std::move(text), 1);
}

TEST(Source, PositionsForEveryLineBreak) {
  auto file = SourceFile::create("k.py", "ab\ncd\r\nef\rgh", 10);
  EXPECT_EQ(file->position(0).line, 10);
  EXPECT_EQ(file->position(4).line, 11);
  EXPECT_EQ(file->position(4).column, 2);
  EXPECT_EQ(file->position(7).line, 12);
  EXPECT_EQ(file->position(10).line, 13);
  EXPECT_EQ(file->lineText(4), "cd");
  EXPECT_EQ(file->lineText(8), "ef");
  EXPECT_EQ(file->lineText(12), "gh"); // the end of the text belongs to the last line
}

TEST(Source, EmptyText) {
  auto file = source("");
  EXPECT_EQ(file->position(0).line, 1);
  EXPECT_EQ(file->position(0).column, 1);
  EXPECT_EQ(file->lineText(0), "");
}

TEST(Diagnostics, RendersTheLineWithCarets) {
  auto file = source("def f():\n    x = tl.zros((4,))\n");
  Diagnostics diagnostics;
  diagnostics.error({file.get(), 17, 24}, Diag::unknownName, {"zros"});
  EXPECT_EQ(diagnostics.render(), "k.py:2:9: error: name 'zros' is not defined\n"
                                  "    x = tl.zros((4,))\n"
                                  "        ^~~~~~~\n");
  EXPECT_TRUE(diagnostics.hasErrors());
}

TEST(Diagnostics, RendersHelpNotesAndNoPlace) {
  auto file = source("a = 1\n");
  Diagnostics diagnostics;
  Diagnostic &error = diagnostics.error({}, Diag::syntaxError, {"bad", "do this"});
  error.notes.push_back(Diagnostics::note({file.get(), 4, 5}, "called from here"));
  EXPECT_EQ(diagnostics.render(), "error: bad\n  help: do this\nk.py:1:5: note: called from here\na = 1\n    ^\n");
}

TEST(Diagnostics, ClipsTheCaretsToTheLine) {
  auto file = source("abc\ndef\n");
  Diagnostics diagnostics;
  diagnostics.error({file.get(), 1, 7}, Diag::syntaxError, {"m"});
  EXPECT_EQ(diagnostics.all()[0].length, 2);
  diagnostics.error({file.get(), 100, 200}, Diag::syntaxError, {"past the end"});
  EXPECT_EQ(diagnostics.all()[1].length, 1);
}

TEST(Diagnostics, CaretsStandUnderWideCharactersAndTabs) {
  auto file = source("\tä = \"日本\" + x\n");
  Diagnostics diagnostics;
  uint32_t x = static_cast<uint32_t>(file->text().find('x'));
  diagnostics.error({file.get(), x, x + 1}, Diag::syntaxError, {"m"});
  EXPECT_NE(diagnostics.render().find("\n\t             ^\n"), std::string::npos) << diagnostics.render();
}

TEST(Diagnostics, CutsVeryLongLines) {
  auto file = source(std::string(5000, 'a') + "!" + std::string(5000, 'b'));
  Diagnostics diagnostics;
  diagnostics.error({file.get(), 5000, 5001}, Diag::syntaxError, {"m"});
  EXPECT_LT(diagnostics.render().size(), 600u);
  EXPECT_NE(diagnostics.render().find("a!b"), std::string::npos);
}

TEST(Diagnostics, RowsHaveNames) {
  EXPECT_EQ(diagName(Diag::unknownName), "unknownName");
  EXPECT_FALSE(diagText(Diag::fileNotFound).empty());
}

TEST(Hash, KnownDigestAndFields) {
  EXPECT_EQ(hashHex(""), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_EQ(Hasher().add("a").addInteger(-1).hex(), Hasher().add("a").addInteger(-1).hex());
}

TEST(Files, WriteReadAndReplace) {
  char folder[] = "/tmp/tilewright_filesXXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string deep = std::string(folder) + "/a/b";
  ASSERT_TRUE(makeDirectories(deep));
  ASSERT_TRUE(makeDirectories(deep));
  std::string path = deep + "/file", bytes(100000, '\0');
  ASSERT_TRUE(writeFileAtomically(path, bytes));
  EXPECT_EQ(*readFile(path), bytes);
  ASSERT_TRUE(writeFileAtomically(path, "new"));
  EXPECT_EQ(*readFile(path), "new");
  EXPECT_EQ(readFile(path + "x").error(), "No such file or directory");
  EXPECT_EQ(readFile(deep).error(), "Is a directory");
  EXPECT_EQ(makeDirectories(path + "/c").error(), "Not a directory");
  EXPECT_FALSE(writeFileAtomically(deep + "/no/file", "x"));
  unlink(path.c_str());
  rmdir(deep.c_str());
  rmdir((std::string(folder) + "/a").c_str());
  EXPECT_EQ(rmdir(folder), 0); // no temporary file was left
}

TEST(Files, CacheFolderFollowsTheEnvironment) {
  setenv("XDG_CACHE_HOME", "/x", 1);
  unsetenv("TILEWRIGHT_CACHE_DIR");
  EXPECT_EQ(cacheDirectory(), "/x/tilewright");
  setenv("TILEWRIGHT_CACHE_DIR", "/own", 1);
  EXPECT_EQ(cacheDirectory(), "/own");
  unsetenv("TILEWRIGHT_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(cacheDirectory(), "/h/.cache/tilewright");
}
