#include "gpu/sm_model/rates.h"

namespace tilewright::gpu {

static constexpr SmRates rows[] = {
#define SM_RATES(...) SmRates{__VA_ARGS__},
#include "gpu/sm_model/rates.def"
#undef SM_RATES
};

const SmRates *smRates(std::string_view target, std::string_view machine) {
  const SmRates *first = nullptr;
  for (const SmRates &row : rows) {
    if (row.target != target) continue;
    if (machine.find(row.gpu) != std::string_view::npos) return &row;
    if (!first) first = &row;
  }
  return first;
}

} // namespace tilewright::gpu
