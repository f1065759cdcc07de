// Makes the explanation of a kernel from what its passes have decided. Example:
//     matmul.py:60  a = tl.load(a_ptrs, mask=...)
//         128x64 f16 from a_ptr by TMA: dims {K, M}, strides {stride_am}, box {64, 128}, swizzle 128, in 4 stages
//     L2  128x256: 256 elements a thread, up to 256 registers; accumulator of wgmma m64n256k16
// The decisions of passes are in the module: in types, in operations and, for their reasons, in attributes (`ttg.dot_choice`,
// `ttg.loop_schedule` and others, ttg.td) and remarks (ttg::remark). This folder decides nothing again.
#include "gpu/explain/explain.h"

#include "gpu/explain/findings.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

Explainer::Explainer() : impl(std::make_unique<Impl>()) {}
Explainer::~Explainer() = default;

static void onKernels(ModuleOp module, Explainer::Impl &impl, void (Explainer::Impl::*see)(tt::FuncOp)) {
  for (auto kernel : module.getOps<tt::FuncOp>())
    (impl.*see)(kernel);
}

void Explainer::seeAddresses(ModuleOp module) {
  onKernels(module, *impl, &Impl::seeAddresses);
}
void Explainer::seeTiles(ModuleOp module) {
  onKernels(module, *impl, &Impl::seeTiles);
}
void Explainer::seeBuffers(ModuleOp module) {
  onKernels(module, *impl, &Impl::seeBuffers);
}
void Explainer::seePartitions(ModuleOp module) {
  onKernels(module, *impl, &Impl::seePartitions);
}

std::optional<std::string> Explainer::layouts(StringRef wanted) const {
  std::string text;
  int64_t line = 0;
  bool isLine = !wanted.getAsInteger(10, line);
  for (size_t i = 0; i < impl->tiles.all.size(); ++i) {
    bool isWanted = isLine ? llvm::any_of(impl->tiles.all[i].uses, [&](const TileUse &use) { return use.where.line == line; })
                           : wanted.equals_insensitive(TileLayouts::nameOf(i));
    if (isWanted) text += impl->tiles.text(i, true);
  }
  if (text.empty()) return std::nullopt;
  return text.substr(1);
}

Explanation Explainer::explanation(const GpuArtifact &artifact) const {
  Explanation made;
  made.kernel = impl->name, made.target = "cuda:" + artifact.target, made.file = impl->file, made.heading = impl->heading();
  made.resources.push_back("shared memory   " + std::to_string(artifact.sharedBytes) + " of " +
                           countText(impl->target->sharedBytes, "byte"));
  std::string spills = artifact.spillBytes > 0 ? countText(artifact.spillBytes, "byte") + " spilled" : "no spills";
  made.resources.push_back("registers       " + (artifact.registers < 0 ? "unknown without ptxas"
                                                                        : std::to_string(artifact.registers) + " a thread, " + spills));
  made.guards = artifact.guards;
  if (artifact.spillBytes > 0) made.sections.push_back(impl->tiles.spilled());
  llvm::append_range(made.sections, impl->sections());
  for (size_t i = 0; i < impl->tiles.all.size(); ++i)
    made.layouts.push_back(impl->tiles.picture(i, impl->file));
  made.timelines = impl->timelines;
  for (const FoundAccess &access : impl->accesses)
    if (access.sectors && !access.sectors->isCoalesced()) made.waste.push_back({impl->lineOf(access.location), access.sectors->waste()});
  return made;
}

} // namespace tilewright::gpu
