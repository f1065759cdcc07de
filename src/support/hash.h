// Content addresses: BLAKE3, as lower-case hex. They are used for cache keys and build identities.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tilewright {

/// Returns the 256-bit BLAKE3 digest of `bytes` as 64 hex digits.
std::string hashHex(std::string_view bytes);

/// Hashes a sequence of fields. Each field is hashed with its length, so ("ab", "c") and ("a", "bc") differ.
class Hasher {
public:
  Hasher();
  ~Hasher();

  Hasher &add(std::string_view field);
  Hasher &addInteger(int64_t field);
  /// Returns the digest of all fields so far, as 64 hex digits.
  std::string hex() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tilewright
