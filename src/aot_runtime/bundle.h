// A bundle: all that a launch of a kernel needs to know, as bytes in an artifact. `tilewright build` writes it, the runtime library reads
// it.
//
// A kernel has parameters, and variants for different values of them. A launch takes the first variant whose conditions its arguments meet;
// among variants that a tuner chose, those for the machine that is nearest to this one, and among them the one that was measured for the
// nearest problem:
//
//     matmul(a: *fp32, b: *fp32, c: *fp32 (written), M: int32, N: int32, K: int32), key M N K
//       variant "BLOCK_M=64, BLOCK_N=64"   if a % 16 == 0     problems (512, 512, 512), (1024, 1024, 1024)   grid cdiv(M, 64), cdiv(N, 64)
//         avx512   entry 0     no guards
//         sm_90a   cubin       guard "a and c are disjoint"
//         sm_90a   cubin       no guards
//       variant "BLOCK_M=16, BLOCK_N=64"   ...
//
// A heuristic that depends on arguments makes a variant for each of its results, which the launch computes:
//
//       variant "BLOCK_K=64, EVEN_K=True"   if K % 64 == 0 is 1
//       variant "BLOCK_K=64, EVEN_K=False"  if K % 64 == 0 is 0
//
// Among the codes of a variant, a launch takes the first that this machine runs and whose launch guards hold.
#pragma once

#include "aot_runtime/cpu_features.h"
#include "aot_runtime/grid.h"
#include "support/arena.h"
#include "support/artifact.h"
#include "support/result.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::aot {

enum class Element : uint8_t {
#define ELEMENT(enumerator, ...) enumerator,
#include "evaluate/element_types.def"
  text // a constant that is a text
};

/// A parameter of the launcher: a run-time argument, or a constant that differs between variants.
struct Parameter {
  std::string name;
  Element element = Element::void_; // of the value, or of the tensor at the pointer
  bool isPointer = false;
  bool isWritten = false; // some variant may write to the tensor
};

/// A condition on an argument, whose slot is as in twArtifactLaunch.
struct Condition {
  enum class Kind : uint8_t { equals, isMultiple, isText };
  int64_t parameter = 0;
  Kind kind = Kind::equals;
  int64_t value = 0; // the slot, or the divisor
  std::string text;
};

/// A condition on what a launch computes: the result of a heuristic.
struct RuleCondition {
  GridProgram program;
  int64_t result = 0;
};

struct CpuCode {
  std::string level;      // of targets; "native": this CPU must have `features`
  CpuFeatures features{}; // of the machine that compiled; only for "native"
  int64_t entry = 0;      // index of its function
  int64_t arenaBytes = 0;
  Atomics atomics = Atomics::none;
  std::vector<SlotKind> slots;
  std::vector<LaunchGuard> guards;

  /// Among the code that a CPU can run, the code with the largest rank is the best. Native code comes after all levels.
  int64_t rank() const { return rankOfLevel(level).value_or(INT64_MAX); }
};

struct Variant {
  std::string description;
  std::vector<Condition> conditions;
  std::vector<RuleCondition> rules;
  std::vector<std::vector<int64_t>> problems; // values of the key; empty: not tuned
  std::array<GridProgram, 3> grid;            // empty programs: the caller gives the grid
  std::vector<int64_t> parameterOfSlot;       // of the kernel's slots
  std::vector<CpuCode> cpu;
  std::vector<GpuArtifact> gpu;
};

struct Bundle {
  std::string kernel;
  std::string compiler; // its version, for messages
  std::vector<Parameter> parameters;
  std::vector<int64_t> key; // parameters that choose among tuned variants
  std::vector<Variant> variants;

  bool callerGivesGrid() const { return variants.empty() || variants.front().grid[0].empty(); }
};

/// A bundle as bytes: a header with version, length and checksum, and the fields.
std::string encodeBundle(const Bundle &bundle);
/// Reads a bundle. Fails with the reason if the bytes are damaged or of another version. Entries have indices below `entryCount`.
Result<Bundle> decodeBundle(std::string_view bytes, int64_t entryCount);

/// A checksum of bytes against damage. It gives no security against changes on purpose.
uint64_t checksum(std::string_view bytes);

/// The end of a shared library of `tilewright build`, after the ELF file: "TWAOTEND" and the checksum of all before it.
constexpr std::string_view trailerMagic = "TWAOTEND";
constexpr size_t trailerBytes = 16;

} // namespace tilewright::aot
