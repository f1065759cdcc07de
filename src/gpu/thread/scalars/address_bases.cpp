#include "gpu/thread/scalars/address_bases.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::gpu {

/// The maximum number of bases compared under one key. Bases with the same key may still be too far away.
constexpr size_t maxLookups = 8;

// What a key stands for, besides terms: all terms of a form; all but the term with a given monomial; all but one uniform term.
constexpr uint64_t wholeKey = 0, lesserKey = 0x9e3779b97f4a7c15;

static uint64_t hashOf(const Monomial &monomial) {
  return llvm::hash_combine_range(monomial.begin(), monomial.end());
}
static uint64_t hashOf(const Monomial &monomial, int64_t factor) {
  return llvm::hash_combine(hashOf(monomial), factor);
}
static uint64_t hashOf(const Form &form) {
  uint64_t hash = 0;
  for (const auto &[monomial, factor] : form.terms)
    hash += hashOf(monomial, factor);
  return hash;
}

/// Forms whose constants differ by at most `maxDistance` are in the same bucket or in adjacent buckets.
static int64_t bucketOf(int64_t constant) {
  return constant >> 23;
}
static uint64_t keyOf(uint64_t hash, int64_t bucket) {
  return llvm::hash_combine(hash, bucket);
}

template <typename F> void Bases::forEachKey(const Form &form, F &&f) const {
  int64_t bucket = bucketOf(form.constant);
  uint64_t hash = hashOf(form);
  f(keyOf(hash + wholeKey, bucket));
  for (const auto &[monomial, factor] : form.terms) {
    if (!isUniform(monomial)) continue;
    uint64_t without = hash - hashOf(monomial, factor);
    f(keyOf(without + hashOf(monomial), bucket));
    f(keyOf(without + lesserKey, bucket));
  }
}

void Bases::lookUp(uint64_t hash, const Form &form, size_t maxTerms, std::optional<Near> &best) const {
  int64_t bucket = bucketOf(form.constant);
  for (int64_t near : {bucket - 1, bucket, bucket + 1}) {
    auto found = index.find(keyOf(hash, near));
    if (found == index.end()) continue;
    for (size_t position : ArrayRef(found->second).take_front(maxLookups)) {
      if (best && best->position <= position) break;
      Form distance = form;
      distance.add(all[position].form, -1);
      if (distance.terms.size() > maxTerms || distance.constant < -maxDistance || distance.constant > maxDistance) continue;
      if (!distance.terms.empty() && !isUniform(distance.terms.begin()->first)) continue;
      best = {position, std::move(distance)};
      break;
    }
  }
}

std::optional<Bases::Found> Bases::nearest(const Form &form) const {
  uint64_t hash = hashOf(form);
  std::optional<Near> best;
  lookUp(hash + wholeKey, form, 0, best);
  if (!best) {
    lookUp(hash + lesserKey, form, 1, best);
    for (const auto &[monomial, factor] : form.terms) {
      if (!isUniform(monomial)) continue;
      uint64_t without = hash - hashOf(monomial, factor);
      lookUp(without + wholeKey, form, 1, best);
      lookUp(without + hashOf(monomial), form, 1, best);
    }
  }
  if (!best) return std::nullopt;
  return Found{all[best->position].address, std::move(best->distance)};
}

void Bases::add(Value address, Form form) {
  size_t position = all.size();
  forEachKey(form, [&](uint64_t key) { index[key].push_back(position); });
  basesOfBlock[address.getParentBlock()].push_back(position);
  all.push_back({address, std::move(form)});
}

void Bases::leave(Block *block) {
  auto found = basesOfBlock.find(block);
  if (found == basesOfBlock.end()) return;
  for (size_t position : llvm::reverse(found->second)) { // the newest ones are at the ends of their lists
    forEachKey(all[position].form, [&](uint64_t key) {
      auto &positions = index.find(key)->second;
      positions.erase(llvm::find(llvm::reverse(positions), position).base() - 1);
      if (positions.empty()) index.erase(key);
    });
    all[position].form = {};
  }
  basesOfBlock.erase(found);
}

} // namespace tilewright::gpu
