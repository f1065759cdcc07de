// Which instruction a product becomes, and in what layouts it wants its operands and result. One answer for all passes: assign-layouts
// arranges the tiles for it, select-tensor-cores acts on it.
#pragma once

#include "gpu/tiles/ttg.h"

#include <optional>
#include <string>

namespace tilewright::gpu {

enum class DotKind : uint8_t {
  wgmma, ///< a warpgroup's asynchronous product: B, and A unless it is computed from another product, in shared memory
  mma,   ///< mma.sync of a warp: operands in registers
  fma    ///< multiplications and additions: operands in shared memory. fp32 where tf32 is not allowed, fp64, wide integers, small tiles
};

struct DotChoice {
  DotKind kind = DotKind::fma;
  Layout result;            ///< of C and D
  std::optional<Layout> a;  ///< in registers; nothing: in shared memory
  std::optional<Layout> b;  ///< likewise
  int64_t instructionN = 0; ///< wgmma: columns of one instruction
  std::string notWgmma;     ///< for people: why it is not wgmma; empty where it is
  std::string notMma;       ///< likewise, why it is no tensor core's; empty where it is
  bool eitherMajor = true;  ///< wgmma: 16-bit operands may lie M-major (A) or N-major (B) in shared memory, others along K only
};

/// Depends on types, on the target and on where A comes from, never on layouts: the answer is the same before and after they are assigned.
DotChoice chooseDot(tt::DotOp op, ttg::ConfigAttr config);

} // namespace tilewright::gpu
