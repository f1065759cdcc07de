#include "aot/build.h"

namespace tilewright::aot {

Result<std::vector<Target>> readTargets(const std::string &text) {
  std::vector<Target> targets;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    Target target;
    target.text = word.trim().str();
    llvm::StringRef level = word.trim();
    if (level == "cpu" || level == "cpu:native") {
      target.cpu = hostCpu();
      target.isNative = true;
    } else if (level.consume_front("cpu:")) {
      target.cpu = cpuTarget(level.str());
    } else {
      target.gpu = gpuTargetOfText(target.text);
    }
    if (!target.cpu && !target.gpu)
      return Failure{"there is no target '" + target.text + "'; the targets are cpu:native, cpu: with one of " + cpuLevelNames() +
                     ", and cuda: with one of " + gpuTargetNames()};
    for (const Target &other : targets) {
      if (other.text == target.text) return Failure{"the target '" + target.text + "' is given twice"};
      if (other.cpu && target.cpu && other.cpu->isa != target.cpu->isa)
        return Failure{"the target '" + other.text + "' is of " + nameOf(other.cpu->isa) + ", and '" + target.text + "' of " +
                       nameOf(target.cpu->isa) + ": a library is for one of them"};
    }
    targets.push_back(std::move(target));
  }
  if (targets.empty()) return Failure{"no target is given"};
  return targets;
}

Isa isaOf(llvm::ArrayRef<Target> targets) {
  for (const Target &target : targets)
    if (target.cpu) return target.cpu->isa;
  return hostIsa;
}

} // namespace tilewright::aot
