// The last product of a sum stores its results where they belong.
//
//   for k: acc += A B          without: acc in scratch, read and copied to memory when all is added
//   store acc                  with: in the last turn the blocks of registers go to memory themselves
//
// This needs a store that takes exactly the results, in their type, column after column, and nothing between that reads memory or has an
// effect. A whole tile must be needed, and A, where it is read in memory, must end before the results begin or begin behind them: rows of
// it are read again when blocks above are stored. B is packed before. Otherwise the store runs as the program says, from scratch. (Int8,
// 256x256x256 by 128x256x256 on one thread: copying took 8 % of the time with products of bytes, 14 % in tile registers.)
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace tilewright::cpu {

/// The store that takes a product's results, of this turn or of the loop's last one, and could run where the product stands. Null: none.
tt::StoreOp storeOfResults(Context &ctx, tt::DotOp dot);
/// The same for the product in a loop's body; null: there is none.
tt::StoreOp storeOfLoop(Context &ctx, mlir::scf::ForOp loop);

struct DirectStore {
  Value holds;          // i1: here and now
  Value base, rowBytes; // i64: of the first result, and from one row to the next
  Value nonTemporal;        // i1: whole vectors bypass the caches; null: never
};

/// Whether `dot`, whose results are stored by `store`, stores them itself. None where that is certain not to be so. `readBefore`: bytes
/// along K that it reads of A in front of what this turn loads (i64; null: none).
std::optional<DirectStore> directStore(Context &ctx, tt::DotOp dot, tt::StoreOp store, const DotPlan &plan, Value readBefore);

} // namespace tilewright::cpu
