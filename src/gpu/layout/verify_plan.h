// Verification of plans. A plan says which instructions move which elements. These functions compare that with the layouts by linear
// algebra: every element of the destination must come from exactly the register or address that holds it. Layouts and plans are linear over
// XOR, so it suffices to compare a register's constant part and the image of each thread bit. A few dozen comparisons prove thousands of
// elements. Each plan is verified before use: a wrong plan is a compiler bug and must never become code.
//
// Each function returns an error message, or null.
#pragma once

#include "gpu/layout/layout.h"

#include <optional>
#include <string>

namespace tilewright::gpu {

/// `registers[r]`: the register of `src` that becomes register r of `dst`, in every thread.
std::optional<std::string> verifyRegisters(const std::vector<std::optional<int64_t>> &registers, const Layout &src, const Layout &dst);
std::optional<std::string> verifyShuffle(const ShufflePlan &plan, const Layout &src, const Layout &dst);
/// Verifies that each element of the tile has a distinct offset in the buffer.
std::optional<std::string> verifyBuffer(const SharedLayout &shared);
/// Verifies that each register is read or written at its element's offset in the buffer. Each vector is one aligned access of adjacent
/// elements.
std::optional<std::string> verifyVectors(const VectorAccess &access, const Layout &layout, const SharedLayout &shared);
std::optional<std::string> verifyMatrices(const MatrixPlan &plan, const Layout &layout, const SharedLayout &shared);

} // namespace tilewright::gpu
