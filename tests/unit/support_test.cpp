// Sources, messages, hashes and files.

#include "support/cpu_quota.h"
#include "support/diagnostics.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/options.h"
#include "support/settings.h"
#include "support/target.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
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

TEST(GpuTargets, EveryGpuFromTuringOnHasOne) {
  auto nameFor = [](int64_t major, int64_t minor) {
    std::optional<GpuTarget> target = gpuTargetFor(major, minor);
    return target ? target->name : std::string();
  };
  EXPECT_EQ(nameFor(7, 0), "");
  EXPECT_EQ(nameFor(7, 2), "");
  EXPECT_EQ(nameFor(7, 5), "sm_75");
  EXPECT_EQ(nameFor(8, 0), "sm_80");
  EXPECT_EQ(nameFor(8, 6), "sm_86");
  EXPECT_EQ(nameFor(8, 8), "sm_87");
  EXPECT_EQ(nameFor(8, 9), "sm_89");
  EXPECT_EQ(nameFor(9, 0), "sm_90a");
  EXPECT_EQ(nameFor(10, 0), "sm_100a");
  EXPECT_EQ(nameFor(10, 3), "sm_103a");
  EXPECT_EQ(nameFor(11, 0), "sm_110a");
  EXPECT_EQ(nameFor(11, 1), "sm_110"); // newer than the adjacent rows of the table: the last one whose code it runs
  EXPECT_EQ(nameFor(12, 0), "sm_120a");
  EXPECT_EQ(nameFor(12, 1), "sm_121a");
  EXPECT_EQ(nameFor(15, 0), "sm_120");
}

TEST(GpuTargets, NamesAndNumbers) {
  EXPECT_EQ(gpuTarget("sm_90")->name, "sm_90");
  EXPECT_EQ(gpuTarget("sm_90a")->name, "sm_90a");
  EXPECT_EQ(gpuTarget("90")->name, "sm_90a");
  EXPECT_EQ(gpuTarget("100")->name, "sm_100a");
  EXPECT_FALSE(gpuTarget("sm_42"));
  EXPECT_FALSE(gpuTarget(""));
}

TEST(GpuTargets, CodeOfOneGpuStaysThere) {
  EXPECT_TRUE(runsOn(*gpuTarget("sm_90a"), 9, 0));
  EXPECT_FALSE(runsOn(*gpuTarget("sm_90a"), 10, 0));
  EXPECT_TRUE(runsOn(*gpuTarget("sm_90"), 10, 0));
  EXPECT_TRUE(runsOn(*gpuTarget("sm_80"), 12, 0));
  EXPECT_FALSE(runsOn(*gpuTarget("sm_100"), 9, 0));
  for (const char *name : {"sm_100", "sm_103", "sm_110", "sm_120", "sm_100a", "sm_103a", "sm_110a", "sm_120a"}) {
    GpuTarget target = *gpuTarget(name);
    EXPECT_TRUE(target.launchControl) << name;
    EXPECT_TRUE(target.tma && target.clusters && target.stmatrix && target.mbarrierTransactions) << name;
    EXPECT_FALSE(target.wgmma) << name;
    EXPECT_EQ(target.setmaxnreg, target.tcgen05) << name;
  }
  EXPECT_EQ(gpuTarget("sm_120")->sharedBytes, 99 * 1024);
}

TEST(GpuTargets, TuringHasNoInstructionsOfAmpere) {
  GpuTarget target = *gpuTarget("sm_75");
  EXPECT_FALSE(target.deepMma || target.redux || target.cpAsync || target.mbarrier || target.bf16Mma || target.tf32Mma || target.clusters);
  EXPECT_TRUE(gpuTarget("sm_80")->deepMma && gpuTarget("sm_80")->redux);
  EXPECT_EQ(target.sharedBytes, 64 * 1024);
  EXPECT_EQ(target.threadsPerSM, 1024);
  EXPECT_TRUE(runsOn(target, 8, 0));
}

TEST(GpuTargets, BlockScalesOfMmaSync) {
  for (const char *name : {"sm_120a", "sm_121a"})
    EXPECT_TRUE(gpuTarget(name)->scaledMma && !gpuTarget(name)->multicast && gpuTarget(name)->sharedBytes == 99 * 1024) << name;
  for (const char *name : {"sm_90a", "sm_100a", "sm_120"})
    EXPECT_FALSE(gpuTarget(name)->scaledMma) << name;
  EXPECT_FALSE(runsOn(*gpuTarget("sm_120a"), 12, 1));
}

TEST(GpuTargets, TensorMemoryIsOfDataCenterGpus) {
  for (const char *name : {"sm_100a", "sm_103a", "sm_110a"}) {
    GpuTarget target = *gpuTarget(name);
    EXPECT_TRUE(target.tcgen05 && target.tcgen05BlockScales && target.ctaPairs && target.launchMulticast) << name;
    EXPECT_EQ(target.tensorColumns, 512) << name;
  }
  for (const char *name : {"sm_90a", "sm_100", "sm_103", "sm_110", "sm_120", "sm_120a"}) {
    GpuTarget target = *gpuTarget(name);
    EXPECT_FALSE(target.tcgen05 || target.ctaPairs || target.tensorColumns) << name;
  }
  EXPECT_TRUE(gpuTarget("sm_100a")->tcgen05Int8 && gpuTarget("sm_110a")->tcgen05Int8);
  EXPECT_FALSE(gpuTarget("sm_103a")->tcgen05Int8);
  EXPECT_FALSE(gpuTarget("sm_110a")->tcgen05ScaleInput);
}

TEST(KernelOptions, AreCheckedForTheTarget) {
  auto says = [](KernelOptions options, const char *target) {
    Diagnostics diagnostics;
    std::optional<GpuTarget> gpu = gpuTarget(target);
    bool good = options.check(gpu ? &*gpu : nullptr, diagnostics);
    EXPECT_EQ(good, !diagnostics.hasErrors());
    return good ? std::string() : std::string(diagName(diagnostics.all()[0].id));
  };
  for (const char *target : {"", "sm_80", "sm_90a", "sm_120"}) {
    EXPECT_EQ(says({}, target), "");
    EXPECT_EQ(says({.numWarps = 1, .numStages = 0}, target), "");
    EXPECT_EQ(says({.numWarps = 32, .maxnreg = 255}, target), "");
    for (int64_t warps : {0, 3, -4, 6})
      EXPECT_EQ(says({.numWarps = warps}, target), "launchOption");
    for (int64_t ctas : {0, 3, -2, 32})
      EXPECT_EQ(says({.numCtas = ctas}, target), "launchOption");
    EXPECT_EQ(says({.numStages = -1}, target), "launchOption");
    EXPECT_EQ(says({.maxnreg = 0}, target), "launchOption");
  }
  EXPECT_EQ(says({.numWarps = 64}, ""), "");
  EXPECT_EQ(says({.numWarps = 64}, "sm_90a"), "outOfResources");
  EXPECT_EQ(says({.numWarps = int64_t(1) << 62}, "sm_90a"), "outOfResources");
  EXPECT_EQ(says({.numCtas = 2}, ""), "");
  EXPECT_EQ(says({.numCtas = 2}, "sm_80"), "noClusters");
  EXPECT_EQ(says({.numCtas = 16}, "sm_90a"), "");
}

TEST(Target, EachLevelIsATarget) {
  std::string names = cpuLevelNames();
  EXPECT_EQ(names, "sse2, avx2, avx512, avx512-dot, amx, armv8, neon, neon-dot, sve, sve256");
  EXPECT_EQ(cpuLevelNames(Isa::aarch64), "armv8, neon, neon-dot, sve, sve256");
  for (llvm::StringRef name : llvm::split(names, ", ")) {
    std::optional<CpuTarget> target = cpuTarget(name);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->name, name);
    EXPECT_EQ(target->isa == Isa::aarch64, cpuLevelNames(Isa::aarch64).find(name.str()) != std::string::npos);
    EXPECT_EQ(target->bf16Tiles, name == "amx");
    EXPECT_EQ(target->byteTiles, name == "amx");
    EXPECT_FALSE(target->fp16Tiles); // no level has them: the CPU itself reports them
  }
  EXPECT_FALSE(cpuTarget("avx1024"));
}

// A process that may not use AMX tiles would end at the first instruction.
TEST(Target, CodeForThisProcessHasTilesOnlyWhereItMayUseThem) {
  const CpuTarget &host = hostCpu();
  if (!mayUseTiles()) EXPECT_FALSE(host.bf16Tiles || host.fp16Tiles || host.byteTiles);
  bool isCompiledFor = host.features.find("+amx-tile") != std::string::npos;
  EXPECT_LE(host.bf16Tiles || host.byteTiles, isCompiledFor);
}

TEST(Target, CachesAreThoseOfTheCoresThatAreHere) {
  const CpuTarget &host = hostCpu();
  EXPECT_GT(host.l2Bytes, 0);
  EXPECT_GT(host.llcBytes, 0);
  EXPECT_LE(host.llcBytes, ::sysconf(_SC_NPROCESSORS_ONLN) * (12 << 20));
  EXPECT_GE(host.cachedOutputBytes, host.l2Bytes);
  EXPECT_LE(host.cachedOutputBytes, host.llcBytes);
}

namespace {
/// A folder in which control groups are mounted.
struct Groups {
  std::string root;
  Groups() {
    llvm::SmallString<128> made;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("groups", made));
    root = made.str().str();
  }
  ~Groups() { llvm::sys::fs::remove_directories(root); }
  void write(const std::string &folder, const std::string &name, const std::string &text) {
    EXPECT_FALSE(llvm::sys::fs::create_directories(root + folder));
    std::ofstream(root + folder + "/" + name) << text << "\n";
  }
};
} // namespace

TEST(Quota, OfBothVersionsAndOfTheGroupsAround) {
  Groups groups;
  EXPECT_EQ(quotaCpusOf(groups.root, "0::/a/b\n"), INT64_MAX);
  groups.write("/a/b", "cpu.max", "max 100000");
  EXPECT_EQ(quotaCpusOf(groups.root, "0::/a/b\n"), INT64_MAX);
  groups.write("/a", "cpu.max", "250000 100000");
  EXPECT_EQ(quotaCpusOf(groups.root, "0::/a/b\n"), 3);
  EXPECT_EQ(quotaCpusOf(groups.root, "0::/other\n"), INT64_MAX);
  groups.write("/cpu/job/one", "cpu.cfs_quota_us", "-1");
  groups.write("/cpu/job/one", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(quotaCpusOf(groups.root, "3:memory:/job\n1:cpu:/job/one\n"), INT64_MAX);
  groups.write("/cpu/job", "cpu.cfs_quota_us", "50000");
  groups.write("/cpu/job", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(quotaCpusOf(groups.root, "3:memory:/job\n1:cpu:/job/one\n"), 1);
  EXPECT_EQ(quotaCpusOf(groups.root, "3:cpuset:/job/one\n"), INT64_MAX);
  groups.write("/cpu,cpuacct/job", "cpu.cfs_quota_us", "200000");
  groups.write("/cpu,cpuacct/job", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(quotaCpusOf(groups.root, "1:cpu,cpuacct:/job\n"), 1); // of both mounts
  groups.write("", "cpu.max", "400000 100000");                   // in a container the root is its own group
  EXPECT_EQ(quotaCpusOf(groups.root, "0::/unknown/here\n"), 4);
}

TEST(Settings, WordsForOnAndOff) {
  for (const char *word : {"1", "true", "True", "YES", "on", " y ", "2", "007"})
    EXPECT_EQ(switchOf(word), true) << word;
  for (const char *word : {"0", "false", "False", "NO", "off\n", "n", "00"})
    EXPECT_EQ(switchOf(word), false) << word;
  for (const char *word : {"", "  ", "perhaps", "onn", "-1", "1.0", "0x1", "kernel_name"})
    EXPECT_EQ(switchOf(word), std::nullopt) << word;
}

TEST(Settings, WhatSaysNeitherLeavesTheDefault) {
  for (bool byDefault : {false, true}) {
    unsetenv("TILEWRIGHT_A_SWITCH");
    EXPECT_EQ(isSwitchedOn("TILEWRIGHT_A_SWITCH", byDefault), byDefault);
    for (const char *word : {"", "perhaps"}) {
      setenv("TILEWRIGHT_A_SWITCH", word, 1);
      EXPECT_EQ(isSwitchedOn("TILEWRIGHT_A_SWITCH", byDefault), byDefault) << word;
    }
    setenv("TILEWRIGHT_A_SWITCH", "Yes", 1);
    EXPECT_TRUE(isSwitchedOn("TILEWRIGHT_A_SWITCH", byDefault));
    setenv("TILEWRIGHT_A_SWITCH", "off", 1);
    EXPECT_FALSE(isSwitchedOn("TILEWRIGHT_A_SWITCH", byDefault));
  }
  unsetenv("TILEWRIGHT_A_SWITCH");
}
