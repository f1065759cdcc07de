// See passes/drop_wraparound.cpp.
#pragma once

#include "ir/address/indices.h"

#include <vector>

namespace tilewright {

/// A product's rows may be loaded at index % M, where those from M on are never stored: the modulo becomes a mask, which keeps addresses
/// affine. May rely on facts about launches that are not refuted; returns those that it has relied on.
std::vector<LaunchFact> dropWraparound(tt::FuncOp function, const address::RefutedFacts &refuted);

} // namespace tilewright
