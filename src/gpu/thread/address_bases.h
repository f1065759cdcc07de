// Forms of addresses, and the addresses that later ones may be expressed by (cse_addresses.cpp).
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tilewright::gpu {

/// A product of at most two values: i64, or i32 that are sign-extended. They are numbered as they are met, so that code does not depend on
/// where values lie in the compiler's memory.
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

/// The addresses that can be seen from where a function is being walked. One that a given address is near to is found by a few look-ups,
/// however many there are: each is entered under the hash of its form, and under the hashes of its form without one term. A form's hash is
/// the sum of its terms' hashes.
class Bases {
public:
  static constexpr int64_t farthest = (int64_t(1) << 23) - 1; // of a constant in a load or a store

  /// `isUniform`: whether all threads have the same value of it.
  explicit Bases(std::function<bool(const Monomial &)> isUniform) : isUniform(std::move(isUniform)) {}

  struct Found {
    mlir::Value address;
    Form distance; // from there: a constant of at most `farthest`, and at most one term, a uniform one
  };
  /// The first address from which the form is at a constant distance; else the first one from which it is at one with a term.
  std::optional<Found> nearest(const Form &form) const;
  void add(mlir::Value address, Form form);
  /// Nothing behind the block sees what is in it.
  void leave(mlir::Block *block);

private:
  struct Base {
    mlir::Value address;
    Form form;
  };
  struct Near {
    size_t place;
    Form distance;
  };

  template <typename F> void forEachKey(const Form &form, F &&f) const;
  void look(uint64_t hash, const Form &form, size_t maxTerms, std::optional<Near> &best) const;

  std::function<bool(const Monomial &)> isUniform;
  std::vector<Base> all;
  std::unordered_map<uint64_t, llvm::SmallVector<size_t, 1>> index; // places in `all`, the first one first
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<size_t>> homes;   // which of them a block holds
};

} // namespace tilewright::gpu
