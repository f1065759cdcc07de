// The registers of matrix instructions: formats, packed words, and the register of a thread that holds an element.
#pragma once

#include "gpu/thread/thread_context.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

namespace tilewright::gpu {

/// Null for elements that no matrix instruction of a dot multiplies.
inline std::optional<ptx::Format> formatOf(Type element) {
  if (element.isF16()) return ptx::Format::f16;
  if (element.isBF16()) return ptx::Format::bf16;
  if (element.isF32()) return ptx::Format::tf32;
  if (mlir::isa<mlir::Float8E4M3FNType>(element)) return ptx::Format::e4m3;
  if (mlir::isa<mlir::Float8E5M2Type>(element)) return ptx::Format::e5m2;
  return element.isInteger(8) ? std::optional(ptx::Format::s8) : std::nullopt;
}

/// Null for elements that no matrix instruction adds up.
inline std::optional<ptx::Format> accumulatorOf(Type element) {
  if (element.isF32()) return ptx::Format::f32;
  if (element.isF16()) return ptx::Format::f16;
  return element.isInteger(32) ? std::optional(ptx::Format::s32) : std::nullopt;
}

/// The CTAs of a tcgen05 operation. All operations of a kernel have the same.
inline uint32_t ctaGroupOf(bool paired) {
  return paired ? 2 : 1;
}

/// An address in shared memory in units of 16 bytes, for a descriptor. In a cluster, higher bits of a shared address are the CTA's rank. A
/// descriptor has other fields there.
inline Value descriptorStart(ThreadContext &t, Value address) {
  if (t.kernel.config.getCtas() != 1) address = mlir::arith::AndIOp::create(t.b, address, t.i32((int64_t(1) << descriptorAddressBits) - 1));
  return mlir::arith::ShRUIOp::create(t.b, address, t.i32(4));
}

/// Packs elements into the registers of instructions.
inline ThreadValues asRegisters(ThreadContext &t, mlir::ValueRange elements, int64_t ofRegister) {
  ThreadValues registers;
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(ofRegister))
    registers.push_back(ofRegister == 1 ? elements[i] : packed(t, elements.slice(i, static_cast<size_t>(ofRegister))));
  return registers;
}

inline ThreadValues asElements(ThreadContext &t, mlir::ValueRange registers, int64_t ofRegister, Type element) {
  if (ofRegister == 1) return ThreadValues(registers);
  ThreadValues elements;
  for (Value value : registers)
    elements.append(unpacked(t, value, element));
  return elements;
}

/// Maps an element to the register of the first thread that holds it. Other threads use the same register, for other elements of the
/// tile.
class Registers {
public:
  explicit Registers(const Layout &layout) : shape(layout.shape) {
    for (int64_t reg = layout.registersPerThread(); reg-- > 0;)
      registers[layout.apply(reg, 0, 0)] = reg;
  }
  /// Nothing if another thread holds the element.
  std::optional<size_t> at(const Dims &coordinates) const {
    auto found = registers.find(flatOf(shape, coordinates));
    return found == registers.end() ? std::nullopt : std::optional(static_cast<size_t>(found->second));
  }
  /// The elements of the first thread, in row-major order.
  std::vector<Dims> elements() const {
    std::vector<Dims> all;
    for (auto [flat, reg] : registers)
      all.push_back(coordinatesOf(shape, flat));
    return all;
  }

private:
  Dims shape;
  std::map<uint32_t, int64_t> registers;
};

} // namespace tilewright::gpu
