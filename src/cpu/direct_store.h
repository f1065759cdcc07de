// The last dot of an accumulation stores its results directly to their destination.
//
//   for k: acc += A B          without: acc in scratch, read and copied to memory after the loop
//   store acc                  with: in the last iteration the register blocks are stored to memory
//
// The store must take exactly the results, in their type, with contiguous columns. Nothing between dot and store may read memory or have a
// side effect. A whole tile must be needed. If A is read in memory, it must not overlap the results: the micro-kernel reads rows of
// A again after it has stored blocks of earlier columns. B is packed beforehand. Otherwise the store runs from scratch as the program says.
// (Int8, 256x256x256 by 128x256x256 on one thread: copying took 8 % of the time with vectors, 14 % with AMX tiles.)
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace tilewright::cpu {

/// Returns the store of a dot's results, in this iteration or after the loop, if it could run at the dot. Null: none.
tt::StoreOp storeOfResults(Context &ctx, tt::DotOp dot);
/// The same for the dot in a loop's body; null: none.
tt::StoreOp storeOfLoop(Context &ctx, mlir::scf::ForOp loop);

struct DirectStore {
  Value holds;          // i1: the direct store is legal in this iteration
  Value base, rowBytes; // i64: the first result's address, and the distance of rows
  Value nonTemporal;    // i1: whole vectors use non-temporal stores; null: never
};

/// Returns how `dot` stores its results itself in place of `store`. nullopt if that is impossible. `readBefore`: bytes of A along K that
/// the dot reads before those that this iteration loads (i64; null: none).
std::optional<DirectStore> directStore(Context &ctx, tt::DotOp dot, tt::StoreOp store, const DotPlan &plan, Value readBefore);

} // namespace tilewright::cpu
