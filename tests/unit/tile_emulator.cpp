// An instruction that the CPU lacks raises SIGILL. The handler decodes its bytes, executes it on emulated AMX tiles,
// and continues after it. Meaning and encoding are those of Intel's manual, volume 2: all of them have a VEX prefix of three bytes,
//
//   C4  R X B mmmmm  W vvvv L pp  opcode  ModRM  [SIB]  [displacement]
//
// with R, X, B and vvvv inverted. Registers are 16 rows of 64 bytes, of which the configuration says how many count.
#include "tile_emulator.h"

#include <bit>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

namespace tilewright::cpu {
namespace {

constexpr int tiles = 8, maxRows = 16, rowBytes = 64;

struct TileState {
  uint8_t data[tiles][maxRows][rowBytes];
  int64_t rows[tiles], bytes[tiles];
  bool isConfigured = false;
};
TileState state;
struct sigaction before;

struct Instruction {
  int prefix, opcode, mod, reg, rm, third; // `third`: vvvv
  uint8_t *address = nullptr;              // of a memory operand: of its first row
  int64_t stride = 0, length = 0;
};

int64_t registerOf(const ucontext_t &context, int number) {
  constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[order[number]];
}

template <typename T> T read(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Instruction decode(const ucontext_t &context) {
  auto *code = reinterpret_cast<const uint8_t *>(context.uc_mcontext.gregs[REG_RIP]);
  if (code[0] != 0xC4 || (code[1] & 31) != 2) std::abort(); // an illegal instruction of another kind
  bool extendsIndex = !(code[1] & 64), extendsBase = !(code[1] & 32);
  Instruction made{code[2] & 3, code[3], code[4] >> 6, code[4] >> 3 & 7, code[4] & 7, ~(code[2] >> 3) & 15};
  made.length = 5;
  if (made.mod == 3) return made;
  int base = made.rm + 8 * extendsBase, index = 4;
  int64_t scale = 0;
  if (made.rm == 4) {
    uint8_t sib = code[5];
    base = (sib & 7) + 8 * extendsBase, index = (sib >> 3 & 7) + 8 * extendsIndex, scale = 1 << (sib >> 6);
    made.length = 6;
  }
  int64_t address = 0;
  bool isRelative = made.mod == 0 && made.rm == 5;
  if (isRelative || (made.mod == 0 && (base & 7) == 5)) {
    address = read<int32_t>(code + made.length), made.length += 4;
    if (isRelative) address += context.uc_mcontext.gregs[REG_RIP] + made.length;
  } else {
    if (made.mod == 1) address = read<int8_t>(code + made.length), made.length += 1;
    if (made.mod == 2) address = read<int32_t>(code + made.length), made.length += 4;
    address += registerOf(context, base);
  }
  if (index != 4) made.stride = registerOf(context, index) * scale;
  made.address = reinterpret_cast<uint8_t *>(address);
  return made;
}

void configure(const uint8_t *shape) {
  if (shape[0] != 1) std::abort();
  std::memset(&state, 0, sizeof state);
  for (int tile = 0; tile < tiles; ++tile)
    state.bytes[tile] = read<uint16_t>(shape + 16 + 2 * tile), state.rows[tile] = shape[48 + tile];
  state.isConfigured = true;
}

float ofBf16(uint16_t bits) {
  return (bits & 0x7F80) ? std::bit_cast<float>(uint32_t(bits) << 16) : 0; // what is too small for a normal number is zero
}
float ofFp16(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
}

/// C += A * B; one 32-bit lane of A's row meets one of B's at a time.
template <typename Sum, typename Multiply> void multiply(const Instruction &at, Multiply lanes) {
  auto &c = state.data[at.reg], &a = state.data[at.rm], &b = state.data[at.third];
  if (at.reg == at.rm || at.reg == at.third || at.rm == at.third) std::abort(); // the CPU rejects it, too
  for (int64_t i = 0; i < state.rows[at.reg]; ++i)
    for (int64_t p = 0; p < state.bytes[at.rm] / 4; ++p)
      for (int64_t j = 0; j < state.bytes[at.reg] / 4; ++j) {
        Sum sum = read<Sum>(&c[i][4 * j]);
        sum = lanes(sum, &a[i][4 * p], &b[p][4 * j]);
        std::memcpy(&c[i][4 * j], &sum, sizeof sum);
      }
}

template <float (*convert)(uint16_t)> float addPairs(float sum, const uint8_t *a, const uint8_t *b) {
  for (int half = 0; half < 2; ++half)
    sum += convert(read<uint16_t>(a + 2 * half)) * convert(read<uint16_t>(b + 2 * half));
  return sum;
}

uint32_t addFours(uint32_t sum, const uint8_t *a, const uint8_t *b) {
  for (int i = 0; i < 4; ++i)
    sum += static_cast<uint32_t>(static_cast<int8_t>(a[i]) * static_cast<int8_t>(b[i]));
  return sum;
}

void carryOut(const Instruction &at) {
  enum Prefix { none, x66, xF3, xF2 };
  if (at.opcode == 0x49 && at.prefix == none && at.mod != 3) return configure(at.address);
  if (!state.isConfigured) std::abort();
  if (at.opcode == 0x49 && at.prefix == none) {
    state.isConfigured = false;
  } else if (at.opcode == 0x49 && at.prefix == xF2) {
    std::memset(state.data[at.reg], 0, sizeof state.data[at.reg]);
  } else if (at.opcode == 0x4B) {
    for (int64_t row = 0; row < state.rows[at.reg]; ++row) {
      uint8_t *memory = at.address + row * at.stride, *held = state.data[at.reg][row];
      auto bytes = static_cast<size_t>(state.bytes[at.reg]);
      at.prefix == xF3 ? std::memcpy(memory, held, bytes) : std::memcpy(held, memory, bytes);
    }
  } else if (at.opcode == 0x5C && at.prefix == xF3) {
    multiply<float>(at, addPairs<ofBf16>);
  } else if (at.opcode == 0x5C && at.prefix == xF2) {
    multiply<float>(at, addPairs<ofFp16>);
  } else if (at.opcode == 0x5E && at.prefix == xF2) {
    multiply<uint32_t>(at, addFours);
  } else {
    std::abort();
  }
}

void handle(int, siginfo_t *, void *raw) {
  auto *context = static_cast<ucontext_t *>(raw);
  Instruction at = decode(*context);
  carryOut(at);
  context->uc_mcontext.gregs[REG_RIP] += at.length;
}

} // namespace

TileEmulator::TileEmulator() {
  state.isConfigured = false;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
}

TileEmulator::~TileEmulator() {
  sigaction(SIGILL, &before, nullptr);
}

bool TileEmulator::isConfigured() const {
  return state.isConfigured;
}

} // namespace tilewright::cpu
