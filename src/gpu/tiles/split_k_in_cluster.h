// A product of few rows in a loop over K: the blocks of a program each multiply a part of every step, and add up at the end. Few tiles of a
// long K keep all multiprocessors busy that way, and what a block copies is read by no other.
//   before: for k { %acc = tt.dot %a, %b, %acc }   use %acc
//   after:  for k { %acc = tt.dot %a, %b, %acc {ttg.split_k} }   %sum = tt.reshape %acc {ttg.cluster_reduce}   use %sum
// The reshape to the same shape stands for the sum until split-ctas has made an exchange of it.
#pragma once

#include "ir/tt.h"

#include <optional>

namespace tilewright::gpu {

/// Of a tt.dot (a unit attribute): each block multiplies a part of K, and its result is one of as many terms.
constexpr llvm::StringLiteral splitKName = "ttg.split_k";
/// Of a tt.reshape (a unit attribute): the sum of the blocks' tiles.
constexpr llvm::StringLiteral clusterReduceName = "ttg.cluster_reduce";
/// Of a ttg.read_cluster with one result (an integer attribute): it reads the tile of the block whose number differs in these bits.
constexpr llvm::StringLiteral peerName = "ttg.peer";

constexpr int64_t warpgroupRows = 64; // of a warpgroup's product

/// What a loop leaves of the sum that a product adds to, if the sum starts with zeros and nobody sees it while the loop runs.
std::optional<mlir::OpResult> sumOf(tt::DotOp dot);

/// Whether so many blocks of a program split all products of a kernel along K: there are too few rows for a warpgroup's product in each,
/// and a sum that starts with zeros is carried by a loop and used behind it alone.
bool isSplitK(tt::FuncOp function, int64_t blocks);

/// Marks the products of such a kernel.
void splitK(tt::FuncOp function, int64_t blocks);

} // namespace tilewright::gpu
