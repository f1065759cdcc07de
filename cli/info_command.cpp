// `tilewright info` and `cache`: what there is.

#include "cli/command.h"
#include "pipeline/build_id.h"
#include "runtime/cache.h"
#include "runtime/pool.h"
#include "support/files.h"
#include "support/target.h"

#include "llvm/Config/llvm-config.h"

#include <algorithm>
#include <cstdio>

namespace tilewright {

int infoMain(int argc, char **argv) {
  static const CommandSpec spec{
      "info", "", "Shows the version, the processor as the compiler sees it, the threads and the cache folder.", "", {}};
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(spec, argc, argv, status);
  if (!line) return status;
  if (!line->words.empty()) return fail("info takes no words, but got '" + line->words.front() + "'");
  const CpuTarget &cpu = hostCpu();
  CacheUse use = cacheUse();
  std::printf("tilewright  %s (build %.16s)\n", TILEWRIGHT_VERSION, buildId().c_str());
  std::printf("llvm        %s\n", LLVM_VERSION_STRING);
  std::printf("processor   %s, level %s: %lld-byte vectors, %lld registers%s%s\n", cpu.cpu.c_str(), cpu.name.c_str(),
              static_cast<long long>(cpu.vectorBytes), static_cast<long long>(cpu.registers), cpu.bf16Dot ? ", products of bf16" : "",
              cpu.byteDot ? ", products of bytes" : "");
  std::printf("caches      %lld KiB L2, %lld KiB last level\n", static_cast<long long>(cpu.l2Bytes / 1024),
              static_cast<long long>(cpu.llcBytes / 1024));
  std::printf("threads     %lld\n", static_cast<long long>(defaultThreads()));
  std::printf("cache       %s%s: %lld entries, %lld KiB\n", cacheDirectory().c_str(), cacheEnabled() ? "" : " (off)",
              static_cast<long long>(use.entries), static_cast<long long>(use.bytes / 1024));
  return success;
}

int cacheMain(int argc, char **argv) {
  static const CommandSpec spec{
      "cache", "[path | size | clear]", "The folder of compiled kernels and tuning results. Without a word: path and size.", "", {}};
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(spec, argc, argv, status);
  if (!line) return status;
  if (line->words.size() > 1) return fail("cache wants one of path, size, clear");
  std::string action = line->words.empty() ? "" : line->words.front();
  if (action == "clear") {
    std::printf("removed %lld entries\n", static_cast<long long>(clearCache()));
    return success;
  }
  if (!action.empty() && action != "path" && action != "size") return fail("cache knows path, size and clear, not '" + action + "'");
  if (action != "size") std::printf("%s\n", cacheDirectory().c_str());
  if (action == "path") return success;
  CacheUse use = cacheUse();
  std::printf("%lld entries, %lld bytes\n", static_cast<long long>(use.entries), static_cast<long long>(use.bytes));
  return success;
}

} // namespace tilewright
