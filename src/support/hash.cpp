#include "support/hash.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace tilewright {

struct Hasher::State {
  llvm::BLAKE3 blake;
};

static std::string toHex(llvm::BLAKE3Result<> digest) {
  return llvm::toHex(llvm::ArrayRef<uint8_t>(digest), /*LowerCase=*/true);
}

std::string hashHex(std::string_view bytes) {
  llvm::BLAKE3 blake;
  blake.update(llvm::StringRef(bytes));
  return toHex(blake.final());
}

Hasher::Hasher() : state(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

Hasher &Hasher::add(std::string_view field) {
  addInteger(static_cast<int64_t>(field.size()));
  state->blake.update(llvm::StringRef(field));
  return *this;
}

Hasher &Hasher::addInteger(int64_t field) {
  uint8_t bytes[8]; // little-endian on every machine, so that keys are equal
  for (int64_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(field) >> (8 * i));
  state->blake.update(llvm::ArrayRef<uint8_t>(bytes));
  return *this;
}

std::string Hasher::hex() const {
  return toHex(state->blake.final());
}

} // namespace tilewright
