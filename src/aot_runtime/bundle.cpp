#include "aot_runtime/bundle.h"

#include "support/artifact_bytes.h"

namespace tilewright::aot {

// The header: magic, version of the format, length and checksum of the fields.
static constexpr std::string_view magic = "TWBUNDLE";
static constexpr uint64_t formatVersion = 2;
static constexpr size_t headerBytes = 32;

uint64_t checksum(std::string_view bytes) {
  uint64_t sum = 0x9e3779b97f4a7c15 ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    sum = (sum ^ numberAt(bytes, i)) * 0x9fb21c651e98df25;
    sum ^= sum >> 29;
  }
  for (; i < bytes.size(); ++i)
    sum = (sum ^ static_cast<uint8_t>(bytes[i])) * 0x9fb21c651e98df25;
  return sum ^ sum >> 32;
}

static void write(ArtifactWriter &out, const GridProgram &program) {
  out.list(program, [&](const GridStep &step) {
    out.number(static_cast<int64_t>(step.kind));
    out.number(step.value);
  });
}

static void write(ArtifactWriter &out, const Variant &variant) {
  auto number = [&](int64_t each) { out.number(each); };
  out.text(variant.description);
  out.list(variant.conditions, [&](const Condition &condition) {
    out.number(condition.parameter);
    out.number(static_cast<int64_t>(condition.kind));
    out.number(condition.value);
    out.text(condition.text);
  });
  out.list(variant.rules, [&](const RuleCondition &rule) {
    write(out, rule.program);
    out.number(rule.result);
  });
  out.list(variant.problems, [&](const std::vector<int64_t> &problem) { out.list(problem, number); });
  for (const GridProgram &program : variant.grid)
    write(out, program);
  out.list(variant.parameterOfSlot, number);
  out.list(variant.cpu, [&](const CpuCode &code) {
    out.text(code.level);
    for (uint32_t word : code.features)
      out.number(word);
    out.number(code.entry);
    out.number(code.arenaBytes);
    out.number(static_cast<int64_t>(code.atomics));
    out.slots(code.slots, {});
    out.guards(code.guards);
  });
  out.list(variant.gpu, [&](const GpuArtifact &code) { out.text(encodeArtifact(code)); });
}

std::string encodeBundle(const Bundle &bundle) {
  ArtifactWriter out;
  out.text(bundle.kernel);
  out.text(bundle.compiler);
  out.list(bundle.parameters, [&](const Parameter &parameter) {
    out.text(parameter.name);
    out.number(static_cast<int64_t>(parameter.element));
    out.number(parameter.isPointer);
    out.number(parameter.isWritten);
  });
  out.list(bundle.key, [&](int64_t each) { out.number(each); });
  out.list(bundle.variants, [&](const Variant &variant) { write(out, variant); });
  std::string bytes(magic);
  appendNumber(bytes, formatVersion);
  appendNumber(bytes, out.bytes.size());
  appendNumber(bytes, checksum(out.bytes));
  return bytes + out.bytes;
}

static CpuCode readCpuCode(ArtifactReader &in, int64_t entryCount) {
  CpuCode code;
  code.level = in.text();
  for (uint32_t &word : code.features)
    word = static_cast<uint32_t>(in.number(0, UINT32_MAX));
  code.entry = in.number(0, entryCount - 1);
  code.arenaBytes = in.number(0, INT64_MAX);
  code.atomics = static_cast<Atomics>(in.number(0, static_cast<int64_t>(Atomics::plain)));
  std::vector<bool> none;
  in.slots(code.slots, none);
  in.guards(code.guards, static_cast<int64_t>(code.slots.size()));
  in.ok &= code.level == "native" || rankOfLevel(code.level);
  return code;
}

static GridProgram readProgram(ArtifactReader &in) {
  GridProgram program;
  in.list(program, [&] {
    auto kind = static_cast<GridStep::Kind>(in.number(0, static_cast<int64_t>(GridStep::last)));
    return GridStep{kind, in.number()};
  });
  return program;
}

static Variant readVariant(ArtifactReader &in, const Bundle &bundle, int64_t entryCount) {
  int64_t parameters = static_cast<int64_t>(bundle.parameters.size());
  Variant variant;
  variant.description = in.text();
  in.list(variant.conditions, [&] {
    Condition condition;
    condition.parameter = in.number(0, parameters - 1);
    condition.kind = static_cast<Condition::Kind>(in.number(0, static_cast<int64_t>(Condition::Kind::isText)));
    condition.value = in.number();
    condition.text = in.text();
    in.ok &= condition.kind != Condition::Kind::isMultiple || condition.value > 0;
    return condition;
  });
  in.list(variant.rules, [&] {
    RuleCondition rule;
    rule.program = readProgram(in);
    rule.result = in.number();
    in.ok &= isSound(rule.program, parameters);
    return rule;
  });
  in.list(variant.problems, [&] {
    std::vector<int64_t> problem;
    in.list(problem, [&] { return in.number(); });
    in.ok &= problem.size() == bundle.key.size();
    return problem;
  });
  for (GridProgram &program : variant.grid) {
    program = readProgram(in);
    in.ok &= program.empty() || isSound(program, parameters);
  }
  in.list(variant.parameterOfSlot, [&] { return in.number(0, parameters - 1); });
  in.list(variant.cpu, [&] { return readCpuCode(in, entryCount); });
  in.list(variant.gpu, [&] {
    std::optional<GpuArtifact> code = decodeGpuArtifact(in.text());
    in.ok &= code.has_value();
    return code.value_or(GpuArtifact());
  });
  for (const CpuCode &code : variant.cpu)
    in.ok &= code.slots.size() == variant.parameterOfSlot.size();
  for (const GpuArtifact &code : variant.gpu)
    in.ok &= code.slots.size() == variant.parameterOfSlot.size();
  return variant;
}

Result<Bundle> decodeBundle(std::string_view bytes, int64_t entryCount) {
  if (bytes.size() < headerBytes || bytes.substr(0, magic.size()) != magic) return Failure{"it does not begin like an artifact"};
  if (uint64_t version = numberAt(bytes, 8); version != formatVersion)
    return Failure{"its format has version " + std::to_string(version) + ", and this runtime library reads version " +
                   std::to_string(formatVersion)};
  std::string_view fields = bytes.substr(headerBytes);
  if (numberAt(bytes, 16) != fields.size()) return Failure{"it is truncated"};
  if (numberAt(bytes, 24) != checksum(fields)) return Failure{"its checksum is wrong"};
  ArtifactReader in(fields);
  Bundle bundle;
  bundle.kernel = in.text();
  bundle.compiler = in.text();
  in.list(bundle.parameters, [&] {
    Parameter parameter;
    parameter.name = in.text();
    parameter.element = static_cast<Element>(in.number(0, static_cast<int64_t>(Element::text)));
    parameter.isPointer = in.number(0, 1) != 0;
    parameter.isWritten = in.number(0, 1) != 0;
    return parameter;
  });
  int64_t parameters = static_cast<int64_t>(bundle.parameters.size());
  in.list(bundle.key, [&] { return in.number(0, parameters - 1); });
  in.list(bundle.variants, [&] { return readVariant(in, bundle, entryCount); });
  if (!in.ok || !in.atEnd()) return Failure{"its fields are damaged"};
  for (const Variant &variant : bundle.variants)
    if (variant.grid[0].empty() != bundle.callerGivesGrid()) return Failure{"its fields are damaged"};
  return bundle;
}

} // namespace tilewright::aot
