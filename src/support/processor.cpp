#include "support/processor.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"

#include <fstream>

namespace tilewright {

namespace {
struct Row {
  const char *llvmName, *name;
  bool isUsed;
};
constexpr Row rows[] = {{"avxvnni", "vnni of 32 bytes", true}, {"avx512vnni", "vnni", true},    {"avx512bf16", "bf16", true},
                        {"avx512fp16", "fp16", false},         {"amx-bf16", "amx bf16", false}, {"amx-int8", "amx int8", false},
                        {"amx-fp16", "amx fp16", false}};
} // namespace

static std::string modelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    auto [name, value] = llvm::StringRef(line).split(':');
    if (name.trim() == "model name") return value.trim().str();
  }
  return "";
}

HostProcessor hostProcessor() {
  HostProcessor host;
  host.model = modelName();
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  for (const Row &row : rows)
    if (has.lookup(row.llvmName)) host.narrow.push_back({row.name, row.isUsed});
  int64_t kilobytes = 0;
  if (std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size"); file >> kilobytes) host.lastLevelBytes = kilobytes * 1024;
  return host;
}

} // namespace tilewright
