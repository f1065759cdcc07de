#include "support/artifact_bytes.h"

namespace tilewright {

void appendNumber(std::string &bytes, uint64_t number) {
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(number >> (8 * i));
}

uint64_t numberAt(std::string_view bytes, size_t offset) {
  uint64_t number = 0;
  for (int i = 0; i < 8; ++i)
    number |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[offset + static_cast<size_t>(i)])) << (8 * i);
  return number;
}

std::string encodeArtifact(const GpuArtifact &artifact) {
  ArtifactWriter out;
  out.text(artifact.entry);
  out.text(artifact.target);
  out.slots(artifact.slots, artifact.writes);
  for (int64_t number : {artifact.warps, artifact.ctas, artifact.sharedBytes, artifact.registers, artifact.spillBytes, artifact.localBytes,
                         artifact.maxnreg, static_cast<int64_t>(artifact.printsOrAsserts)})
    out.number(number);
  out.list(artifact.maps, [&](const gpu::TensorMapSpec &map) {
    out.number(map.baseSlot);
    out.expr(map.baseOffset);
    out.number(static_cast<int64_t>(map.element));
    out.number(map.elementBytes);
    out.list(map.dims, [&](const gpu::MapDim &dim) {
      out.number(dim.unbounded);
      out.expr(dim.extent);
    });
    out.list(map.strides, [&](const gpu::HostExpr &stride) { out.expr(stride); });
    out.list(map.box, [&](int64_t extent) { out.number(extent); });
    out.number(map.swizzle);
    out.number(map.nanFill);
    out.number(map.stores);
  });
  out.guards(artifact.guards);
  out.list(artifact.messages, [&](const std::string &message) { out.text(message); });
  out.list(artifact.stages, [&](const std::pair<std::string, std::string> &stage) {
    out.text(stage.first);
    out.text(stage.second);
  });
  out.text(artifact.ptx);
  out.text(artifact.cubin);
  return std::move(out.bytes);
}

std::optional<GpuArtifact> decodeGpuArtifact(std::string_view bytes) {
  ArtifactReader in(bytes);
  GpuArtifact artifact;
  artifact.entry = in.text();
  artifact.target = in.text();
  in.slots(artifact.slots, artifact.writes);
  for (int64_t *number : {&artifact.warps, &artifact.ctas, &artifact.sharedBytes, &artifact.registers, &artifact.spillBytes,
                          &artifact.localBytes, &artifact.maxnreg})
    *number = in.number();
  artifact.printsOrAsserts = in.number(0, 1) != 0;
  int64_t slots = static_cast<int64_t>(artifact.slots.size());
  in.list(artifact.maps, [&] {
    gpu::TensorMapSpec map;
    map.baseSlot = in.number(0, slots - 1);
    map.baseOffset = in.expr(slots);
    map.element = static_cast<gpu::MapElement>(in.number(0, static_cast<int64_t>(gpu::MapElement::paddedPairs)));
    map.elementBytes = in.number();
    in.list(map.dims, [&] {
      gpu::MapDim dim;
      dim.unbounded = in.number(0, 1) != 0;
      dim.extent = in.expr(slots);
      return dim;
    });
    in.list(map.strides, [&] { return in.expr(slots); });
    in.list(map.box, [&] { return in.number(); });
    map.swizzle = in.number();
    map.nanFill = in.number(0, 1) != 0;
    map.stores = in.number(0, 1) != 0;
    return map;
  });
  in.guards(artifact.guards, slots);
  in.list(artifact.messages, [&] { return in.text(); });
  in.list(artifact.stages, [&] {
    std::string name = in.text();
    return std::pair<std::string, std::string>(std::move(name), in.text());
  });
  artifact.ptx = in.text();
  artifact.cubin = in.text();
  if (!in.ok || !in.atEnd()) return std::nullopt;
  return artifact;
}

} // namespace tilewright
