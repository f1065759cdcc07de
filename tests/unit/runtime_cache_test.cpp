// The cache on disk: what is stored comes back, what is damaged does not, and processes do not disturb each other.

#include "driver/compile.h"
#include "evaluate/module.h"
#include "runtime/cache.h"
#include "support/artifact_bytes.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/npy.h"
#include "syntax/parser.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;

namespace {

class Cache : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/tilewright-test-XXXXXX";
    folder = ::mkdtemp(pattern);
    ::setenv("TILEWRIGHT_CACHE_DIR", folder.c_str(), 1);
    ::unsetenv("TILEWRIGHT_CACHE");
  }
  void TearDown() override {
    clearCache();
    ::unsetenv("TILEWRIGHT_CACHE_DIR");
  }
  std::string path(const std::string &key) const { return folder + "/" + key.substr(0, 2) + "/" + key.substr(2) + ".twc"; }
  std::string folder, key = hashHex("a key");
  Diagnostics diagnostics;
};

TEST_F(Cache, IsCarriedByTheFilesOfTritonsFolder) {
  ::unsetenv("TILEWRIGHT_CACHE_DIR");
  ::setenv("TRITON_CACHE_DIR", folder.c_str(), 1);
  std::string known = "00443214c74254b635cf84653a56d7c675be77df00443214c74254b635cf8465"; // the alphabet of base 32, and its beginning
  std::string carried = folder + "/ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRSQ/kernel.twc";
  storeCached(known, CacheKind::kernel, "code", diagnostics);
  storeCached(known, CacheKind::tuned, "choice", diagnostics);
  EXPECT_EQ(::access(carried.c_str(), F_OK), 0);
  std::string own = folder + "/tilewright/00/" + known.substr(2) + ".twc";
  ASSERT_EQ(::unlink(own.c_str()), 0); // as on another machine, where that file was put
  EXPECT_EQ(loadCached(known, CacheKind::kernel, diagnostics), "code");
  storeCached(known, CacheKind::kernel, "other code", diagnostics);
  ASSERT_EQ(::unlink(own.c_str()), 0);
  EXPECT_EQ(loadCached(known, CacheKind::kernel, diagnostics), "other code");
  storeCached(known, CacheKind::kernel, "code", diagnostics);
  EXPECT_EQ(clearCache(), 2);
  EXPECT_FALSE(loadCached(known, CacheKind::kernel, diagnostics));
  EXPECT_NE(::access(carried.c_str(), F_OK), 0);
  ::setenv("TILEWRIGHT_CACHE_DIR", folder.c_str(), 1);
  storeCached(known, CacheKind::kernel, "code", diagnostics);
  EXPECT_NE(::access(carried.c_str(), F_OK), 0); // a folder of our own has no second names
  ::unsetenv("TRITON_CACHE_DIR");
}

TEST_F(Cache, KeepsBytes) {
  EXPECT_FALSE(loadCached(key, CacheKind::kernel, diagnostics));
  std::string bytes("binary\0bytes", 12);
  storeCached(key, CacheKind::kernel, bytes, diagnostics);
  EXPECT_EQ(loadCached(key, CacheKind::kernel, diagnostics), bytes);
  EXPECT_EQ(cacheUse().entries, 1);
  EXPECT_EQ(clearCache(), 1);
  EXPECT_FALSE(loadCached(key, CacheKind::kernel, diagnostics));
  EXPECT_TRUE(diagnostics.all().empty());
}

TEST_F(Cache, FindsEveryDamage) {
  storeCached(key, CacheKind::kernel, std::string(1000, 'x'), diagnostics);
  Result<std::string> good = readFile(path(key));
  ASSERT_TRUE(good);
  int64_t warnings = 0;
  auto expectDamaged = [&](const std::string &bytes) {
    ASSERT_TRUE(writeFileAtomically(path(key), bytes));
    EXPECT_FALSE(loadCached(key, CacheKind::kernel, diagnostics));
    EXPECT_EQ(static_cast<int64_t>(diagnostics.all().size()), ++warnings);
    EXPECT_EQ(diagnostics.all().back().id, Diag::damagedCache);
    EXPECT_NE(diagnostics.all().back().message.find("; it is replaced"), std::string::npos);
    EXPECT_FALSE(readFile(path(key))); // removed, so that it is written again
  };
  for (size_t size : {size_t(0), size_t(5), size_t(79), size_t(80), good->size() - 1})
    expectDamaged(good->substr(0, size));
  for (size_t at : {size_t(0), size_t(9), size_t(20), size_t(500)}) {
    std::string bytes = *good;
    bytes[at] ^= 1;
    expectDamaged(bytes);
  }
  expectDamaged(*good + "x");
  EXPECT_FALSE(diagnostics.hasErrors());
}

TEST_F(Cache, TakesNoEntryOfAnotherKey) {
  std::string other = hashHex("another key");
  storeCached(key, CacheKind::kernel, "code of one kernel", diagnostics);
  storeCached(other, CacheKind::kernel, "code of another", diagnostics);
  ASSERT_TRUE(writeFileAtomically(path(other), *readFile(path(key))));
  EXPECT_FALSE(loadCached(other, CacheKind::kernel, diagnostics));
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_NE(diagnostics.all()[0].message.find("it belongs to another key"), std::string::npos);
}

TEST_F(Cache, TakesOnlyRegularFiles) {
  storeCached(key, CacheKind::kernel, "bytes", diagnostics);
  std::string file = path(key), entry = *readFile(file);
  auto refused = [&](const char *why) {
    EXPECT_FALSE(loadCached(key, CacheKind::kernel, diagnostics)) << why;
    ASSERT_FALSE(diagnostics.all().empty()) << why;
    EXPECT_NE(diagnostics.all().back().message.find(why), std::string::npos) << diagnostics.render();
    ::unlink(file.c_str());
    diagnostics.clear();
  };
  ::unlink(file.c_str());
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  refused("it is not a regular file");
  ASSERT_EQ(::symlink("/dev/zero", file.c_str()), 0);
  refused("it is a symbolic link");
  ASSERT_TRUE(writeFileAtomically(file, entry));
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  refused("other users may write to it");
  if (::geteuid() != 0) return;
  ASSERT_TRUE(writeFileAtomically(file, entry));
  ASSERT_EQ(::chown(file.c_str(), 1000, 1000), 0);
  refused("it belongs to user 1000");
}

// Each in a process of its own: the warning comes once.
TEST_F(Cache, TakesOnlyPrivateFolders) {
  storeCached(key, CacheKind::kernel, "bytes", diagnostics);
  auto refuses = [this](const char *why) {
    bool loaded = loadCached(key, CacheKind::kernel, diagnostics).has_value();
    storeCached(key, CacheKind::kernel, "bytes", diagnostics);
    bool good = !loaded && diagnostics.all().size() == 1 && diagnostics.all()[0].id == Diag::unsafeCache &&
                diagnostics.all()[0].message.find(why) != std::string::npos;
    if (!good) std::fputs(diagnostics.render().c_str(), stderr);
    std::exit(good ? 0 : 1);
  };
  auto succeeds = testing::ExitedWithCode(0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EXIT(refuses("other users may write to it"), succeeds, "");
  ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
  EXPECT_EXIT(refuses("other users may write to it"), succeeds, "");
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  std::string link = folder + "-link"; // /tmp is everybody's
  ASSERT_EQ(::symlink(folder.c_str(), link.c_str()), 0);
  ::setenv("TILEWRIGHT_CACHE_DIR", (link + "/").c_str(), 1);
  EXPECT_EXIT(refuses("is a symbolic link in a folder that other users may write to"), succeeds, "");
  ::unlink(link.c_str());
  ::setenv("TILEWRIGHT_CACHE_DIR", folder.c_str(), 1);
  EXPECT_EQ(loadCached(key, CacheKind::kernel, diagnostics), "bytes");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(folder.c_str(), 1000, 1000), 0);
  EXPECT_EXIT(refuses("it belongs to user 1000"), succeeds, "");
  ASSERT_EQ(::chown(folder.c_str(), 0, 0), 0);
  // The folder that holds it: its owner could put another one in its place.
  std::string above = folder + "-above", inside = above + "/cache";
  ASSERT_TRUE(makePrivateDirectories(inside));
  ::setenv("TILEWRIGHT_CACHE_DIR", inside.c_str(), 1);
  storeCached(key, CacheKind::kernel, "bytes", diagnostics);
  EXPECT_EQ(loadCached(key, CacheKind::kernel, diagnostics), "bytes");
  ASSERT_EQ(::chown(above.c_str(), 1000, 1000), 0);
  EXPECT_EXIT(refuses("which holds it, belongs to user 1000"), succeeds, "");
  ASSERT_EQ(::chown(above.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(above.c_str(), 0777), 0);
  EXPECT_EXIT(refuses("which holds it, may be changed by all users"), succeeds, "");
  ASSERT_EQ(::chmod(above.c_str(), 01777), 0);
  EXPECT_EQ(loadCached(key, CacheKind::kernel, diagnostics), "bytes");
  ASSERT_EQ(::chmod(above.c_str(), 0770), 0);
  EXPECT_EQ(loadCached(key, CacheKind::kernel, diagnostics), "bytes");
}

TEST_F(Cache, CanBeOff) {
  ::setenv("TILEWRIGHT_CACHE", "0", 1);
  storeCached(key, CacheKind::kernel, "bytes", diagnostics);
  EXPECT_FALSE(loadCached(key, CacheKind::kernel, diagnostics));
  ::unsetenv("TILEWRIGHT_CACHE");
  EXPECT_EQ(cacheUse().entries, 0);
}

TEST_F(Cache, WorksWithoutAFolder) {
  ::setenv("TILEWRIGHT_CACHE_DIR", "/proc/nowhere", 1);
  storeCached(key, CacheKind::kernel, "bytes", diagnostics);
  storeCached(key, CacheKind::kernel, "bytes", diagnostics);
  EXPECT_FALSE(loadCached(key, CacheKind::kernel, diagnostics));
  EXPECT_EQ(diagnostics.all().size(), 1u); // one warning for the process
  EXPECT_FALSE(diagnostics.hasErrors());
}

TEST_F(Cache, SurvivesManyProcesses) {
  std::vector<pid_t> children;
  for (int64_t child = 0; child < 4; ++child) {
    pid_t process = ::fork();
    if (process == 0) {
      Diagnostics local;
      bool good = true;
      for (int64_t trial = 0; trial < 200; ++trial) {
        std::string name = hashHex(std::to_string(trial % 10));
        std::optional<std::string> found = loadCached(name, CacheKind::kernel, local);
        if (found && *found != std::string(5000, static_cast<char>('a' + trial % 10))) good = false;
        storeCached(name, CacheKind::kernel, std::string(5000, static_cast<char>('a' + trial % 10)), local);
      }
      ::_exit(good && local.all().empty() ? 0 : 1);
    }
    children.push_back(process);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(cacheUse().entries, 10);
}

// Two processes on one machine may have different rights: what one may run ends the other.
TEST(CacheKey, KnowsWhatTheFeaturesDoNotTell) {
  Diagnostics diagnostics;
  std::shared_ptr<Namespace> scope =
      moduleScope(parse(SourceFile::create("key.py", "import triton\n@triton.jit\ndef nothing():\n    pass\n", 1), diagnostics));
  std::shared_ptr<const JitFunction> function = findKernel(*scope, "nothing", diagnostics);
  ASSERT_TRUE(function) << diagnostics.render();
  CompileRequest request;
  request.kernel = KernelSource(function);
  request.target = hostCpu();
  std::string before = kernelCacheKey(request);
  EXPECT_EQ(kernelCacheKey(request), before);
  for (bool CpuTarget::*field : {&CpuTarget::bf16Tiles, &CpuTarget::fp16Tiles, &CpuTarget::byteTiles}) {
    request.target.*field = !(hostCpu().*field);
    EXPECT_NE(kernelCacheKey(request), before);
    request.target = hostCpu();
  }
  request.target.cachedOutputBytes /= 2;
  EXPECT_NE(kernelCacheKey(request), before);
}

TEST(Artifact, EncodesAndDecodes) {
  CpuArtifact artifact;
  artifact.entry = "kernel";
  artifact.object = std::string("\x7f"
                                "ELF\0...",
                                8);
  artifact.arenaBytes = 12345;
  artifact.slots = {SlotKind::pointer, SlotKind::f64, SlotKind::i1};
  artifact.writes = {true, false, false};
  std::string bytes = encodeArtifact(artifact);
  std::optional<CpuArtifact> back = decodeArtifact(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->entry, artifact.entry);
  EXPECT_EQ(back->object, artifact.object);
  EXPECT_EQ(back->arenaBytes, artifact.arenaBytes);
  EXPECT_EQ(back->slots, artifact.slots);
  EXPECT_EQ(back->writes, artifact.writes);
  EXPECT_FALSE(decodeArtifact(bytes.substr(0, 20)));
  EXPECT_FALSE(decodeArtifact(std::string(24, '\xff')));
}

TEST(Artifact, OfGpusEncodesAndDecodes) {
  GpuArtifact artifact;
  artifact.entry = "kernel";
  artifact.ptx = ".version 8.3";
  artifact.cubin = std::string("\x7f"
                               "ELF\0...",
                               8);
  artifact.target = "sm_90a";
  artifact.warps = 12;
  artifact.ctas = 2;
  artifact.sharedBytes = 200000;
  artifact.registers = 168;
  artifact.slots = {SlotKind::pointer, SlotKind::i32, SlotKind::i64};
  artifact.writes = {true, false, false};
  gpu::TensorMapSpec map;
  map.element = gpu::MapElement::bf16;
  map.elementBytes = 2;
  map.baseOffset.terms = {{-3, {1, 2}}, {64, {}}};
  map.dims = {gpu::HostExpr::slot(2), gpu::MapDim::withoutBound()};
  map.strides = {gpu::HostExpr::slot(1, 4)};
  map.box = {64, 128};
  map.swizzle = 128;
  artifact.maps = {map, map};
  artifact.guards = {{"stride >= 0", {{BoundNode::Kind::slot, 1, 0}}, 0, INT64_MAX, -1, -1}, {"a and b do not overlap", {}, 0, 0, 0, 2}};
  artifact.messages = {"C7510"};
  artifact.stages = {{"ttgir", "module {}"}};
  std::string bytes = encodeArtifact(artifact);
  std::optional<GpuArtifact> back = decodeGpuArtifact(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->entry, artifact.entry);
  EXPECT_EQ(back->ptx, artifact.ptx);
  EXPECT_EQ(back->cubin, artifact.cubin);
  EXPECT_EQ(back->target, artifact.target);
  EXPECT_EQ(back->warps, 12);
  EXPECT_EQ(back->ctas, 2);
  EXPECT_EQ(back->sharedBytes, 200000);
  EXPECT_EQ(back->registers, 168);
  EXPECT_EQ(back->spillBytes, -1);
  EXPECT_EQ(back->slots, artifact.slots);
  EXPECT_EQ(back->writes, artifact.writes);
  EXPECT_EQ(back->maps, artifact.maps);
  EXPECT_EQ(back->guards, artifact.guards);
  EXPECT_EQ(back->messages, artifact.messages);
  EXPECT_EQ(back->stages, artifact.stages);
  EXPECT_EQ(encodeArtifact(*back), bytes);
  // Whatever is cut off or damaged, nothing worse than a refusal or another artifact comes of it.
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeGpuArtifact(std::string_view(bytes).substr(0, size))) << size;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    if (std::optional<GpuArtifact> other = decodeGpuArtifact(damaged)) EXPECT_LE(other->slots.size(), bytes.size());
  }
  EXPECT_FALSE(decodeGpuArtifact(bytes + "x"));
}

TEST(Npy, RoundTrip) {
  NpyArray array;
  array.dtype = "f4";
  array.shape = {2, 3};
  array.bytes = std::string(24, 'q');
  std::string file = formatNpy(array);
  EXPECT_EQ(file.size() % 64, 24u);
  Result<NpyArray> back = parseNpy(file);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->dtype, "f4");
  EXPECT_EQ(back->shape, array.shape);
  EXPECT_EQ(back->bytes, array.bytes);
  array.shape = {};
  array.bytes.resize(4);
  ASSERT_TRUE(parseNpy(formatNpy(array)));
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseNpy(std::string_view(file).substr(0, size)));
}

TEST(Npy, RefusesWhatItCannotRead) {
  auto file = [](const std::string &header) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    return bytes + header + std::string(64, '\0');
  };
  EXPECT_TRUE(parseNpy(file("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }")));
  EXPECT_FALSE(parseNpy(file("{'descr': '>i4', 'fortran_order': False, 'shape': (3,), }")));
  EXPECT_FALSE(parseNpy(file("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }")));
  EXPECT_FALSE(parseNpy(file("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }")));
  EXPECT_FALSE(parseNpy(file("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }")));
  EXPECT_FALSE(parseNpy("not a file"));
}

} // namespace
