#include "author/variants.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

namespace tilewright::author {

static constexpr size_t maxSizes = 4; // the largest ones; each makes three variants
static constexpr int64_t gap = 16;     // elements behind each row

const char *kindName(VariantKind kind) {
  switch (kind) {
  case VariantKind::given: return "given";
  case VariantKind::strided: return "strided";
  case VariantKind::empty: return "empty";
  case VariantKind::one: return "one";
  case VariantKind::odd: return "odd";
  }
  return "";
}

std::optional<VariantKind> kindNamed(std::string_view name) {
  for (VariantKind kind : allKinds)
    if (name == kindName(kind)) return kind;
  return std::nullopt;
}

static int64_t product(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

static int64_t changed(const std::map<int64_t, int64_t> &changes, int64_t value) {
  auto found = changes.find(value);
  return found == changes.end() ? value : found->second;
}

std::vector<int64_t> Variant::shapeOf(llvm::ArrayRef<int64_t> shape) const {
  std::vector<int64_t> derived;
  for (int64_t extent : shape)
    derived.push_back(changed(changes, extent));
  return derived;
}

std::vector<int64_t> Variant::wholeOf(llvm::ArrayRef<int64_t> shape) const {
  std::vector<int64_t> whole = shapeOf(shape);
  if (layout == Layout::everySecond && !whole.empty()) whole.back() *= 2;
  if (layout == Layout::withGaps && whole.size() > 1) whole.back() += gap;
  return whole;
}

int64_t Variant::integerOf(int64_t value, llvm::ArrayRef<InputProperties> inputs) const {
  if (auto found = changes.find(value); found != changes.end()) return found->second;
  for (const InputProperties &input : llvm::reverse(inputs))
    if (input.shape && product(*input.shape) == value) return product(shapeOf(*input.shape));
  return value;
}

/// The distinct extents above 1, the largest first.
static std::vector<int64_t> sizesOf(llvm::ArrayRef<InputProperties> inputs) {
  std::set<int64_t, std::greater<>> sizes;
  for (const InputProperties &input : inputs)
    for (int64_t extent : input.shape.value_or(std::vector<int64_t>()))
      if (extent > 1) sizes.insert(extent);
  return {sizes.begin(), sizes.end()};
}

/// The greatest odd number below.
static int64_t oddBelow(int64_t size) {
  return size - 1 - size % 2;
}

std::vector<Variant> variantsOf(llvm::ArrayRef<InputProperties> inputs, llvm::ArrayRef<VariantKind> kinds) {
  std::vector<Variant> variants;
  int64_t highest = -1;
  bool hasTensors = false, hasRows = false;
  for (const InputProperties &input : inputs) {
    highest = std::max(highest, input.highest);
    hasTensors |= input.shape.has_value();
    hasRows |= input.shape && input.shape->size() > 1;
  }
  auto wanted = [&](VariantKind kind) { return llvm::is_contained(kinds, kind); };
  auto resize = [&](VariantKind kind, std::string name, std::map<int64_t, int64_t> changes) {
    bool isUnfit = llvm::any_of(changes, [&](const auto &change) { return change.second <= highest && highest < change.first; });
    variants.push_back({kind, std::move(name), Variant::Layout::resized, std::move(changes),
                        isUnfit ? "integers among the inputs may be indices beyond that" : ""});
  };
  if (wanted(VariantKind::given)) variants.push_back({VariantKind::given, "as given", Variant::Layout::asGiven, {}, ""});
  if (wanted(VariantKind::strided) && hasTensors) {
    variants.push_back({VariantKind::strided, "every other element", Variant::Layout::everySecond, {}, ""});
    if (hasRows) variants.push_back({VariantKind::strided, "rows with gaps", Variant::Layout::withGaps, {}, ""});
  }
  std::vector<int64_t> sizes = sizesOf(inputs);
  for (size_t i = 0; i < std::min(sizes.size(), maxSizes); ++i) {
    int64_t size = sizes[i];
    auto becomes = [&](VariantKind kind, int64_t smaller) {
      resize(kind, std::to_string(size) + " -> " + std::to_string(smaller), {{size, smaller}});
    };
    if (wanted(VariantKind::empty)) becomes(VariantKind::empty, 0);
    if (wanted(VariantKind::one)) becomes(VariantKind::one, 1);
    if (wanted(VariantKind::odd) && oddBelow(size) > 1) becomes(VariantKind::odd, oddBelow(size));
  }
  if (wanted(VariantKind::odd) && sizes.size() > 1) {
    std::map<int64_t, int64_t> changes;
    for (int64_t size : sizes)
      changes[size] = std::max<int64_t>(oddBelow(size), 1);
    resize(VariantKind::odd, "all sizes odd", std::move(changes));
  }
  return variants;
}

} // namespace tilewright::author
