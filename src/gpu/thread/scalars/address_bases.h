// Addresses as linear forms, and the base addresses that later addresses can be computed from (cse_addresses.cpp).
#pragma once

#include "mlir/IR/Block.h"

#include "mlir/IR/Value.h"
#include "support/gpu_hardware.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tilewright::gpu {

/// A product of at most two values: i64, or sign-extended i32. Values are numbered in the order of the walk, so that the code does not
/// depend on their addresses in the compiler.
using Monomial = std::vector<size_t>;

/// constant + sum of factor * monomial.
struct Form {
  std::map<Monomial, int64_t> terms;
  int64_t constant = 0;

  void add(const Monomial &monomial, int64_t factor) {
    if ((terms[monomial] += factor) == 0) terms.erase(monomial);
  }
  void add(const Form &other, int64_t factor) {
    for (const auto &[monomial, count] : other.terms)
      add(monomial, factor * count);
    constant += factor * other.constant;
  }
};

/// The addresses that dominate the walk's current position. A few hash look-ups find one near a given address, however many there are.
/// Each address is entered under the hash of its form, and under the hash of its form without each of its uniform terms. The hash of a
/// form is the sum of the hashes of its terms.
class Bases {
public:
  static constexpr int64_t maxDistance = immediateOffsetRange - 1;

  /// `isUniform`: true if all threads have the same value of the monomial.
  explicit Bases(std::function<bool(const Monomial &)> isUniform) : isUniform(std::move(isUniform)) {}

  struct Found {
    mlir::Value address;
    Form distance; // from `address`: a constant of at most `maxDistance`, and at most one term, which is uniform
  };
  /// Returns the first address at a constant distance from the form, else the first one at a distance with one uniform term.
  std::optional<Found> nearest(const Form &form) const;
  void add(mlir::Value address, Form form);
  /// Removes the addresses of the block, which dominate nothing after it.
  void leave(mlir::Block *block);

private:
  struct Base {
    mlir::Value address;
    Form form;
  };
  struct Near {
    size_t position;
    Form distance;
  };

  template <typename F> void forEachKey(const Form &form, F &&f) const;
  void lookUp(uint64_t hash, const Form &form, size_t maxTerms, std::optional<Near> &best) const;

  std::function<bool(const Monomial &)> isUniform;
  std::vector<Base> all;
  std::unordered_map<uint64_t, llvm::SmallVector<size_t, 1>> index;      // indices into `all`, in ascending order
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<size_t>> basesOfBlock; // the indices of the bases that a block contains
};

} // namespace tilewright::gpu
