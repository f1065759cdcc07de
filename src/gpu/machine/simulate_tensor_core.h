// The operands of tcgen05.mma and tcgen05.cp: where their elements are. Shared by the checks at the issue and by the execution.
#pragma once

#include "gpu/machine/simulate_program.h"
#include "gpu/machine/tcgen05.h"

namespace tilewright::gpu::sim {

/// A lane and a column of one CTA's tensor memory.
struct TensorWord {
  int64_t lane, column;
};
inline TensorWord wordOf(uint64_t address) {
  return {int64_t(address >> 16), int64_t(address & 0xffff)};
}

/// Columns of a tcgen05.shift: 32 bytes of each row.
constexpr int64_t shiftedColumns = 8;

/// Where an MMA's matrices are. PTX ISA 9.1, sections 9.7.16.10.4 (packing), 9.7.16.10.5 (data path layouts) and 9.7.16.10.7 (scales).
struct MmaPlaces {
  InstructionDescriptor shape;
  MmaForm form;
  TensorWord d, scaleA, scaleB;

  int64_t rows() const { return shape.m / form.ctaGroup; } // of each CTA
  /// Layout B: lanes 64 to 127 have the second half of N.
  bool isSplit() const { return form.ctaGroup == 2 && shape.m == 128; }
  int64_t columns() const { return isSplit() ? shape.n / 2 : shape.n; } // of tensor memory
  /// Returns the word of an element of d; `row` is one of the CTA's.
  TensorWord wordOfD(int64_t row, int64_t n) const {
    bool isHalf = rows() == 64 && form.ctaGroup == 1; // layout F
    int64_t lane = isHalf ? row / 16 * 32 + row % 16 : row + (isSplit() ? 64 * (n / columns()) : 0);
    return {d.lane + lane, d.column + n % columns()};
  }
  /// Returns the word with the scales of a row, for the data path of the lane `lane` of d.
  TensorWord wordOfScaleA(int64_t row, int64_t lane) const { return {row % 32 + lane / 32 * 32, scaleA.column + row / 32}; }
  TensorWord wordOfScaleB(int64_t n, int64_t lane) const {
    return {n % columns() % 32 + lane / 32 * 32, scaleB.column + n % columns() / 32};
  }
};

/// A matrix in shared memory, in units of 16 bytes.
struct SharedMatrix {
  MatrixDescriptor matrix;
  TensorFormat format = TensorFormat::f16;
  bool isMnMajor = false;
  bool isDense = false; // two elements of 4 bits in a byte; otherwise 16 elements of 4 or 6 bits in 16 bytes
  int64_t depth = 16;   // elements of K

  int64_t perUnit() const { return isDense ? 32 : 128 / std::max<int64_t>(8, bitsOf(format)); }
  /// Returns the address of the unit with an element, and the element's index in it.
  std::pair<uint64_t, int64_t> unitOf(int64_t mn, int64_t k) const;
  /// Returns the addresses of the units of `rows` rows.
  std::vector<uint64_t> units(int64_t rows) const;
};

/// Returns the number of element `index` of a unit of 16 bytes in shared memory.
double elementOf(const SharedMatrix &matrix, const uint8_t *unit, int64_t index);

/// The parts of an operation that are known when it is issued.
struct MmaOperands {
  MmaPlaces places;
  std::optional<SharedMatrix> a; // none: in tensor memory
  SharedMatrix b;
};
/// Reads the descriptors. Returns nothing after an error, which names the broken rule.
std::optional<MmaOperands> operandsOf(const TensorOperation &operation);
/// Returns the source of a tcgen05.cp, or nothing after an error.
std::optional<MatrixDescriptor> sourceOf(const TensorOperation &operation);
/// Returns the CTAs of an operation of one or two CTAs, the even one first. Empty after an error.
llvm::SmallVector<Cta *, 2> ctasOf(Warp &warp, const Step &step, int64_t ctaGroup);

} // namespace tilewright::gpu::sim
