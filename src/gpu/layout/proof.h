// Plans that prove themselves. A plan says which instructions move which elements; these functions compare that, by linear algebra, with
// what the layouts say: every element of the destination must come from exactly the place that holds it. Layouts and plans are linear
// over XOR in the bits of a place, so only a register's constant part and the image of each thread bit need to be compared: a few dozen
// comparisons prove thousands of elements. Each plan is checked before it is used; a wrong plan is our bug and must never become code.
//
// Each function returns what is wrong, as text, or null.
#pragma once

#include "gpu/layout/layout.h"

#include <optional>
#include <string>

namespace tilewright::gpu {

/// `registers[r]`: the register of `src` that becomes register r of `dst`, in every thread.
std::optional<std::string> verifyRegisters(const std::vector<std::optional<int64_t>> &registers, const Layout &src, const Layout &dst);
std::optional<std::string> verifyShuffle(const ShufflePlan &plan, const Layout &src, const Layout &dst);
/// Each element of the tile must have its own place in the buffer.
std::optional<std::string> verifyBuffer(const SharedLayout &shared);
/// Each register is read or written, at its element's place in the buffer. `vector` elements, side by side and aligned, are one access.
std::optional<std::string> verifyVectors(const VectorAccess &access, const Layout &layout, const SharedLayout &shared);
std::optional<std::string> verifyMatrices(const MatrixPlan &plan, const Layout &layout, const SharedLayout &shared);

} // namespace tilewright::gpu
