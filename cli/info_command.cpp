// `tilewright info` and `cache`: the machine, the settings and the stored kernels.

#include "cli/command.h"
#include "cli/json_output.h"
#include "driver/build_id.h"
#include "runtime/cache.h"
#include "runtime/pool.h"
#include "support/artifact_bytes.h"
#include "support/cpu.h"
#include "support/files.h"
#include "support/numa.h"
#include "support/target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace tilewright {

llvm::ArrayRef<Setting> allSettings() {
  static constexpr Setting settings[] = {
#define SETTING(name, values, meaning) {#name, values, meaning},
#include "support/settings.def"
#undef SETTING
  };
  return settings;
}

const CommandSpec &infoSpec() {
  static const CommandSpec spec{
      "info",
      "",
      "Shows the version, the CPU as the compiler sees it, the threads, NUMA nodes, the cache folder and all settings.",
      "Settings are environment variables. 1, true, yes, on or y switches a setting on, and 0, false, no, off or n\n"
      "switches it off; any other word leaves it at its default.\n",
      {{"--json", "", "the same as JSON"}}};
  return spec;
}

static llvm::json::Object cacheProperties(const CacheUse &use) {
  return llvm::json::Object{{"folder", cacheDirectory()}, {"on", cacheEnabled()}, {"entries", use.entries}, {"bytes", use.bytes}};
}

static llvm::json::Object machineProperties(const HostCpuInfo &host) {
  llvm::json::Object narrow;
  for (const CpuFeature &feature : host.narrow)
    narrow[feature.name] = feature.reasonUnused.empty();
  return llvm::json::Object{
      {"model", host.model}, {"narrow_products_used", std::move(narrow)}, {"reported_llc_bytes", host.lastLevelBytes}};
}

/// "AMD EPYC; dot instructions for narrow types: vnni, bf16, amx bf16 (refused by the system)"
static std::string machineText(const HostCpuInfo &host) {
  std::string text = host.model.empty() ? "unknown" : host.model, separator = "; dot instructions for narrow types: ";
  for (const CpuFeature &feature : host.narrow) {
    text += separator + feature.name + (feature.reasonUnused.empty() ? "" : " (" + feature.reasonUnused + ")");
    separator = ", ";
  }
  return text;
}

static llvm::json::Array nodeProperties() {
  llvm::json::Array nodes;
  for (const NumaNode &node : numaNodes())
    nodes.push_back(llvm::json::Object{{"node", node.number}, {"processors", llvm::json::Array(node.cpus)}});
  return nodes;
}

/// "2 of memory, with 8 and 8 CPUs"
static std::string nodesText() {
  std::vector<NumaNode> nodes = numaNodes();
  std::vector<std::string> counts;
  for (const NumaNode &node : nodes)
    counts.push_back(std::to_string(node.cpus.size()));
  return std::to_string(nodes.size()) + " of memory, with " + llvm::join(counts, " and ") + " CPUs";
}

static int printInfoAsJson(const CpuTarget &cpu, const CacheUse &use) {
  llvm::json::Object values;
  for (const Setting &setting : allSettings()) {
    const char *value = std::getenv(setting.name);
    values[setting.name] = value ? llvm::json::Value(llvm::json::fixUTF8(value)) : llvm::json::Value(nullptr);
  }
  printJson(llvm::json::Object{{"tilewright", TILEWRIGHT_VERSION},
                               {"build", buildId()},
                               {"llvm", LLVM_VERSION_STRING},
                               {"machine", machineProperties(hostCpuInfo())},
                               {"processor", cpu.cpu},
                               {"level", cpu.name},
                               {"vector_bytes", cpu.vectorBytes},
                               {"registers", cpu.registers},
                               {"l2_bytes", cpu.l2Bytes},
                               {"llc_bytes", cpu.llcBytes},
                               {"cached_output_bytes", cpu.cachedOutputBytes},
                               {"threads", defaultThreads()},
                               {"nodes", nodeProperties()},
                               {"cache", cacheProperties(use)},
                               {"settings", std::move(values)}});
  return success;
}

int printVersion() {
  std::printf("tilewright  %s (build %.16s)\n", TILEWRIGHT_VERSION, buildId().c_str());
  std::printf("llvm        %s\n", LLVM_VERSION_STRING);
  return success;
}

int infoMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(infoSpec(), argc, argv, status);
  if (!line) return status;
  if (!line->words.empty()) return fail("info takes no words, but got '" + line->words.front() + "'");
  const CpuTarget &cpu = hostCpu();
  CacheUse use = cacheUse();
  if (line->has("--json")) return printInfoAsJson(cpu, use);
  printVersion();
  HostCpuInfo host = hostCpuInfo();
  std::printf("machine     %s\n", machineText(host).c_str());
  std::printf("cpu         %s, level %s: %lld-byte vectors, %lld registers%s%s%s\n", cpu.cpu.c_str(), cpu.name.c_str(),
              static_cast<long long>(cpu.vectorBytes), static_cast<long long>(cpu.registers), cpu.bf16Dot ? ", bf16 dots" : "",
              cpu.byteDot ? ", byte dots" : "", cpu.bf16Tiles || cpu.byteTiles ? ", tiles" : "");
  std::printf("caches      %lld KiB L2, %lld KiB last level of %lld reported; outputs above %lld KiB bypass the caches\n",
              static_cast<long long>(cpu.l2Bytes / 1024), static_cast<long long>(cpu.llcBytes / 1024),
              static_cast<long long>(host.lastLevelBytes / 1024), static_cast<long long>(cpu.cachedOutputBytes / 1024));
  std::printf("threads     %lld\n", static_cast<long long>(defaultThreads()));
  std::printf("nodes       %s\n", nodesText().c_str());
  std::printf("cache       %s%s: %lld entries, %lld KiB\n", cacheDirectory().c_str(), cacheEnabled() ? "" : " (off)",
              static_cast<long long>(use.entries), static_cast<long long>(use.bytes / 1024));
  std::printf("settings\n");
  for (const Setting &setting : allSettings()) {
    const char *value = std::getenv(setting.name);
    std::printf("  %-30s %-10s %-14s %s\n", setting.name, value ? value : "-", setting.values, setting.meaning);
  }
  return success;
}

const CommandSpec &cacheSpec() {
  static const CommandSpec spec{
      "cache",
      "[path | size | list | clear]",
      "Shows, lists or clears the folder of compiled kernels and tuning results. Without an argument, it prints path and size.",
      "'list' counts the compiled kernels by name and machine; 'tilewright tune --list' lists the results of tuning.\n",
      {{"--json", "", "print path and size, the list, or the number of removed entries as JSON"}}};
  return spec;
}

/// Compiled kernels by name and target: the number of versions, and their bytes.
static int listKernels(bool asJson) {
  Diagnostics diagnostics;
  std::map<std::pair<std::string, std::string>, CacheUse> kernels;
  for (const std::string &bytes : allCached(CacheKind::kernel, diagnostics)) {
    std::pair<std::string, std::string> kernel;
    if (std::optional<CpuArtifact> cpu = decodeArtifact(bytes)) kernel = {cpu->entry, "cpu"};
    if (std::optional<GpuArtifact> gpu = decodeGpuArtifact(bytes)) kernel = {gpu->entry, "cuda:" + gpu->target};
    CacheUse &use = kernels[kernel];
    ++use.entries;
    use.bytes += static_cast<int64_t>(bytes.size());
  }
  llvm::json::Array rows;
  for (const auto &[kernel, use] : kernels) {
    llvm::StringRef name = kernel.first;
    name.consume_back(".entry");
    std::printf("%-40s %-12s %6lld versions %8lld KiB\n", name.str().c_str(), kernel.second.c_str(), static_cast<long long>(use.entries),
                static_cast<long long>((use.bytes + 1023) / 1024));
    rows.push_back(llvm::json::Object{{"kernel", name}, {"target", kernel.second}, {"versions", use.entries}, {"bytes", use.bytes}});
  }
  if (asJson) printJson(std::move(rows));
  return report(diagnostics, success);
}

int cacheMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(cacheSpec(), argc, argv, status);
  if (!line) return status;
  if (line->words.size() > 1) return fail("cache expects one of path, size, list, clear");
  std::string action = line->words.empty() ? "" : line->words.front();
  if (action == "clear") {
    int64_t removed = clearCache();
    std::printf("removed %lld entries\n", static_cast<long long>(removed));
    if (line->has("--json")) printJson(llvm::json::Object{{"removed", removed}});
    return success;
  }
  if (action == "list") return listKernels(line->has("--json"));
  if (!action.empty() && action != "path" && action != "size") return fail("cache expects path, size, list or clear, got '" + action + "'");
  if (line->has("--json")) {
    printJson(cacheProperties(cacheUse()));
    return success;
  }
  if (action != "size") std::printf("%s\n", cacheDirectory().c_str());
  if (action == "path") return success;
  CacheUse use = cacheUse();
  std::printf("%lld entries, %lld bytes\n", static_cast<long long>(use.entries), static_cast<long long>(use.bytes));
  return success;
}

} // namespace tilewright
