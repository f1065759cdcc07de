// Debug operations of the simulator: lines of tl.device_print and failed assertions.
#include "gpu/machine/simulate_program.h"

#include "llvm/ADT/bit.h"

#include <cstdio>

using namespace mlir;

namespace tilewright::gpu::sim {

using interp::decodeFloat;
using interp::signExtend;

static bool print(Warp &warp, const Step &step, ptx::PrintOp op) {
  if (!warp.cta.options.print) return true;
  llvm::StringRef format = op.getFormat();
  for (int64_t lane : lanesOf(warp.mask)) {
    std::string text;
    size_t next = 0;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%' || i + 1 == format.size()) {
        text += format[i];
        continue;
      }
      if (format[i + 1] == '%') {
        text += '%';
        ++i;
        continue;
      }
      size_t end = format.find_first_of("diouxXeEfFgGcp", i);
      if (end == llvm::StringRef::npos || next >= step.operands.size()) return warp.fail(step, "the format does not fit the values", lane);
      Format number = interp::formatOf(op.getValues()[next].getType());
      uint64_t bits = warp.get(step, next)[lane];
      std::string flags; // without C's length modifiers: all integers are passed as 64 bits
      for (char letter : format.slice(i, end))
        if (letter != 'l' && letter != 'h') flags += letter;
      char letter = format[end], buffer[128];
      if (number.kind != Format::integer)
        snprintf(buffer, sizeof buffer, (flags + letter).c_str(), decodeFloat(number, bits));
      else if (letter == 'd' || letter == 'i')
        snprintf(buffer, sizeof buffer, (flags + "ll" + letter).c_str(), (long long)signExtend(bits, number.bits));
      else if (letter == 'p' || letter == 'c')
        snprintf(buffer, sizeof buffer, "0x%llx", (unsigned long long)(letter == 'p' ? bits & interp::addressMask : bits));
      else
        snprintf(buffer, sizeof buffer, (flags + "ll" + letter).c_str(), (unsigned long long)bits);
      text += buffer;
      ++next;
      i = end;
    }
    warp.cta.options.print(text);
  }
  return true;
}

static bool assertFail(Warp &warp, const Step &step, ptx::AssertFailOp op) {
  uint32_t failed = warp.lanesWhere(step, 0);
  if (!failed) return true;
  return warp.fail(step, "device-side assertion failed: " + op.getMessage(), llvm::countr_zero(failed));
}

void addDebugHandlers(HandlerTable &table) {
  table.add<print, assertFail>();
}

} // namespace tilewright::gpu::sim
