// `tilewright info`, `cache` and `explain`: what there is, and what it means.

#include "cli/command.h"
#include "compile.h"
#include "frontend/builtins.h"
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
  std::printf("processor   %s, level %s: %lld-byte vectors, %lld registers\n", cpu.cpu.c_str(), cpu.name.c_str(),
              static_cast<long long>(cpu.vectorBytes), static_cast<long long>(cpu.registers));
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

static constexpr struct {
  std::string_view name, text, hint;
} rows[] = {
#define DIAG(name, text, hint) {#name, text, hint},
#include "support/diagnostics.def"
#undef DIAG
};

int explainMain(int argc, char **argv) {
  static const CommandSpec spec{
      "explain", "[NAME ...]", "Explains a builtin (tl.dot, math.exp) or a diagnostic (dotShapes). Without a name: lists all.", "", {}};
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(spec, argc, argv, status);
  if (!line) return status;
  if (line->words.empty()) {
    std::printf("builtins:\n");
    for (const Builtin *builtin : allBuiltins())
      std::printf("  %-28s %s\n", builtin->path.str().c_str(), builtin->summary.str().c_str());
    std::printf("\ndiagnostics:\n");
    for (const auto &row : rows)
      std::printf("  %-28s %s\n", std::string(row.name).c_str(), std::string(row.text).c_str());
    return success;
  }
  for (const std::string &word : line->words) {
    llvm::StringRef path = word;
    for (llvm::StringRef prefix : {"triton.language.", "tilewright.language.", "tl."})
      if (path.consume_front(prefix)) break;
    bool found = false;
    if (const Builtin *builtin = findBuiltin(path)) {
      std::printf("%s\n  %s\n", builtin->signature.str().c_str(), builtin->summary.str().c_str());
      found = true;
    }
    for (const auto &row : rows) {
      if (row.name != word) continue;
      std::printf("%s: %s\n", word.c_str(), std::string(row.text).c_str());
      if (!row.hint.empty()) std::printf("  help: %s\n", std::string(row.hint).c_str());
      found = true;
    }
    if (!found) status = fail("there is neither a builtin nor a diagnostic named '" + word + "'");
  }
  return status;
}

} // namespace tilewright
