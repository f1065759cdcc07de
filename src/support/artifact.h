// The GPU back end's output for the runtime: the code of one kernel, and recipes for the arguments that only a launch can make.
//
// A kernel that moves tiles by TMA needs a tensor map for each tensor, which the host encodes from the tensor's address, extents and
// strides. The kernel was written with pointers and integers:
//     def matmul(a_ptr, M, K, ...)                  slots: a_ptr = slot 0, M = slot 1, K = slot 2
// so the compiler describes how the map follows from them, and the runtime evaluates that at each launch:
//     map 0: base slot 0, dims {K, M}, strides {K}, box {64, 128}, swizzle 128
//
// The parameters of the PTX entry, in order: one for each slot (the bytes of its kind, pointers 8), then one of 128 bytes (align 64,
// grid_constant) for each map.
#pragma once

#include "support/launch_guards.h"
#include "support/slots.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::gpu {

/// A polynomial over the slots of a launch: 3*s1*s2 + 64 is {{3, {1, 2}}, {64, {}}}. Without terms it is 0.
struct HostExpr {
  struct Term {
    int64_t coefficient = 0;
    std::vector<int64_t> slots; // indices of the factors; an index may occur more than once
    bool operator==(const Term &) const = default;
  };
  std::vector<Term> terms;
  bool operator==(const HostExpr &) const = default;

  HostExpr() = default;
  HostExpr(int64_t constant) {
    if (constant) terms.push_back({constant, {}});
  }
  static HostExpr slot(int64_t index, int64_t coefficient = 1) {
    HostExpr expr;
    expr.terms.push_back({coefficient, {index}});
    return expr;
  }

  /// Evaluates the polynomial. Slots are signed integers, and the arithmetic wraps. `slots` must hold all indices.
  int64_t evaluate(llvm::ArrayRef<uint64_t> slots) const {
    uint64_t sum = 0;
    for (const Term &term : terms) {
      uint64_t product = static_cast<uint64_t>(term.coefficient);
      for (int64_t index : term.slots)
        product *= slots[static_cast<size_t>(index)];
      sum += product;
    }
    return static_cast<int64_t>(sum);
  }
};

/// Element types of tensor maps, in the driver's order (CUtensorMapDataType). tf32 rounds f32 when it is loaded.
/// `paddedPairs`: bytes with two 4-bit numbers each. In shared memory, 8 bytes of padding follow each 8 bytes.
enum class MapElement : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32Ftz, tf32, paddedPairs = 14 };

/// One extent of a tensor. The dimension of a pointer kernel without a mask has no bound, because the kernel does not state the tensor's
/// end.
struct MapDim {
  HostExpr extent; // in elements; ignored if `unbounded`. The kernel moves nothing if it is below 1
  bool unbounded = false;
  MapDim() = default;
  MapDim(HostExpr extent) : extent(std::move(extent)) {}
  static MapDim withoutBound() {
    MapDim dim;
    dim.unbounded = true;
    return dim;
  }
  bool operator==(const MapDim &) const = default;
};

/// Describes one tensor map of a launch. Dimensions are innermost first; the innermost stride is one element.
struct TensorMapSpec {
  int64_t baseSlot = 0;
  HostExpr baseOffset; // elements from the pointer in baseSlot
  MapElement element = MapElement::u8;
  int64_t elementBytes = 1;
  std::vector<MapDim> dims;      // 1 to 5
  std::vector<HostExpr> strides; // elements, of dims 1..: one fewer than dims
  std::vector<int64_t> box;      // elements, as many as dims
  int64_t swizzle = 0;           // bytes: 0, 32, 64, 128
  bool nanFill = false;          // loads outside the bounds return NaN instead of 0
  bool stores = false;           // the kernel stores through it (and does not load)
  bool operator==(const TensorMapSpec &) const = default;
};

/// Larger bounds are errors: coordinates have 32 bits, and a tile that starts at the bound must still fit.
constexpr int64_t largestMapExtent = INT32_MAX - (1 << 16);

/// Returns the name of the launch guard of this slot's tensor maps. It fails if the hardware has no such map.
inline std::string mapGuardName(int64_t slot) {
  return "argument " + std::to_string(slot) + " has tensor maps";
}

} // namespace tilewright::gpu

namespace tilewright {

/// A compiled kernel for an NVIDIA GPU.
struct GpuArtifact {
  /// The number of null pointers after the kernel's own parameters: Triton's PTX (ir_override) expects scratch memory there.
  static constexpr int64_t scratchParameters = 2;
  std::string entry;       // the name of the .entry
  std::string ptx;         // ends without a NUL byte
  std::string cubin;       // empty: the driver assembles the PTX
  std::string target;      // GpuTarget::name
  int64_t warps = 4;       // of one CTA, producer warps included: a CTA has 32 * warps threads
  int64_t ctas = 1;        // of one cluster. The grid of a launch counts programs; the runtime multiplies its x by this
  int64_t sharedBytes = 0; // dynamic
  int64_t registers = -1, spillBytes = -1, localBytes = -1; // of one thread; -1: unknown
  int64_t maxnreg = 0;                                      // 0: no limit
  std::vector<SlotKind> slots;
  std::vector<bool> writes; // for each slot: whether the kernel may write to its memory
  std::vector<gpu::TensorMapSpec> maps;
  std::vector<LaunchGuard> guards; // the code's assumptions about a launch
  bool printsOrAsserts = false;
  std::vector<std::string> messages; // performance messages of the assembler
  // The stages of `asm` that the compiler stored, by Triton's names ("ttgir", "llir"); may be empty.
  std::vector<std::pair<std::string, std::string>> stages;
};

} // namespace tilewright
