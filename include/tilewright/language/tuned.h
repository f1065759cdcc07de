// Kernels with configurations: the first launch for a key measures them and keeps the best.
//
//   struct Config { int BLOCK_M, BLOCK_N, BLOCK_K; int num_warps = 4, num_stages = 3; };
//   constexpr Config configs[] = {{128, 128, 32, 8}, {64, 64, 32}};
//   inline auto matmul_kernel = tuned<configs>("matmul(a, b, c, M, N, K)", []<Config C> { return matmul<C>; }, key("M", "N", "K"));
//   matmul_kernel.launch([&](const Config &c) { return grid(cdiv(m, c.BLOCK_M) * cdiv(n, c.BLOCK_N)); }, cpu, a, b, c, m, n, k);
//
// A configuration is a structure of integers. Its members num_warps, num_stages, num_ctas and max_registers, where it has them, are options
// of the launch; the kernel reads the others as template arguments. The results are kept in the cache folder, as for kernels in Python.
#pragma once

#include "tilewright/language/launch.h"

#include <iterator>

namespace tilewright {

/// Names of parameters: key("M", "N").
using names = std::vector<const char *>;
template <typename... N> names key(N... name) {
  return {name...};
}

/// How a kernel is tuned. A new key, one of new values of these parameters, is measured again.
struct tuning {
  names key = {};
  names reset_to_zero = {}, restore_value = {}; // pointers whose memory each measured launch needs as it was; pass sized memory for them
  bool any_size = false;                        // as in jit_options
};

namespace detail {
template <typename C> TwConfig options_of(const C &config) {
  TwConfig result{};
  result.size = sizeof(TwConfig);
  if constexpr (requires { config.num_warps; }) result.numWarps = config.num_warps;
  if constexpr (requires { config.num_stages; }) result.numStages = config.num_stages;
  if constexpr (requires { config.num_ctas; }) result.numCtas = config.num_ctas;
  if constexpr (requires { config.max_registers; }) result.maxRegisters = config.max_registers;
  return result;
}
/// No rule: the kernel has one form for each configuration.
struct no_rule {};

template <const auto &Configs, typename Make, typename Rule> struct variants {
  static constexpr bool has_rule = !std::is_same_v<Rule, no_rule>;
  template <size_t I, bool Flag> static constexpr auto function() {
    if constexpr (has_rule)
      return +Make{}.template operator()<Configs[I], Flag>();
    else
      return +Make{}.template operator()<Configs[I]>();
  }
  using types = typename function_type<decltype(function<0, false>())>::parameters;
};
} // namespace detail

/// A kernel function for each configuration of `Configs`. With a rule, there are two for each, and the rule chooses.
template <const auto &Configs, typename Make, typename Rule = detail::no_rule> class TunedKernel {
  using variants = detail::variants<Configs, Make, Rule>;
  using parameters = detail::parameter_list<typename variants::types>;
  using config = std::remove_cvref_t<decltype(Configs[0])>;
  static constexpr size_t count = std::size(Configs);

public:
  TunedKernel(std::string signature, tuning options, location where) : lazy(std::move(signature), where), options(std::move(options)) {}

  /// Runs the grid of `grid_of(configuration)`. The first launch for a key compiles and measures the configurations.
  template <typename G, typename... A>
    requires std::is_invocable_r_v<Grid, G &, const config &>
  Result<void> launch(G grid_of, const Stream &stream, A &&...arguments) {
    auto grid = [&](Meta meta) { return grid_of(Configs[static_cast<size_t>(meta[config_name])]); };
    return parameters::launch(lazy, how(), grid, stream, arguments...);
  }
  const Result<Kernel> &built() { return lazy.built(how()); }
  /// A module with this kernel, for TILEWRIGHT_EXPORT. The caller frees it. Null after an error.
  TwModule *module(TwError **error) const { return lazy.record(how(), error); }

private:
  detail::recording how() const {
    auto body = [](const void *given, const detail::trace &t, const detail::value *list, const detail::place &at) {
      static_cast<const TunedKernel *>(given)->build(t, list, at);
    };
    return {parameters::types, parameters::count, body, this};
  }
  static constexpr const char *config_name = "CONFIG", *rule_name = "RULE";

  void build(const detail::trace &t, const detail::value *parameters, const detail::place &at) const {
    if (options.any_size) twBuilderAnySize(t.builder);
    twBuilderKey(t.builder, options.key.data(), options.key.size());
    twBuilderResetToZero(t.builder, options.reset_to_zero.data(), options.reset_to_zero.size());
    twBuilderRestoreValue(t.builder, options.restore_value.data(), options.restore_value.size());
    TwValue chosen = twBuilderConstexpr(t.builder, config_name, &at), flag = 0;
    if constexpr (variants::has_rule) {
      flag = twBuilderConstexpr(t.builder, rule_name, &at);
      twBuilderHeuristic(t.builder, rule_name, [](void *, const TwMeta *meta) { return evaluate(meta); }, nullptr);
    }
    check_index(t, chosen, at);
    [&]<size_t... I>(std::index_sequence<I...>) { (add<I>(t, parameters, chosen, flag, at), ...); }(std::make_index_sequence<count>());
  }
  /// A signature may give any value. No case exists for a value that is not the index of a configuration.
  static void check_index(const detail::trace &t, TwValue chosen, const detail::place &at) {
    const TwTileType constant{sizeof(TwTileType), "constexpr", nullptr, 0};
    TwValue known = 0;
    for (size_t i = 0; i < count; ++i) {
      TwValue is = twBuilderOperator(t.builder, TW_EQUAL, chosen, twBuilderInteger(t.builder, static_cast<int64_t>(i)), &constant, &at);
      known = known ? twBuilderOperator(t.builder, TW_BIT_OR, known, is, &constant, &at) : is;
    }
    std::string text = std::string(config_name) + " is the index of a configuration, from 0 to " + std::to_string(count - 1);
    const TwCallArgument arguments[] = {{sizeof(TwCallArgument), "cond", known},
                                        {sizeof(TwCallArgument), "msg", twBuilderString(t.builder, text.c_str())}};
    twBuilderRun(t.builder, "static_assert", arguments, 2, &at);
  }
  template <size_t I>
  static void add(const detail::trace &t, const detail::value *parameters, TwValue chosen, TwValue flag, const detail::place &at) {
    TwConfig raw = detail::options_of(Configs[I]);
    const int64_t index = I;
    raw.names = &config_name;
    raw.values = &index;
    raw.count = 1;
    twBuilderConfig(t.builder, &raw);
    twBuilderCase(t.builder, chosen, index, &at);
    if constexpr (variants::has_rule) {
      twBuilderCase(t.builder, flag, 0, &at);
      detail::run_function(variants::template function<I, false>(), parameters);
      twBuilderElse(t.builder, &at);
      detail::run_function(variants::template function<I, true>(), parameters);
      twBuilderEnd(t.builder);
    } else {
      detail::run_function(variants::template function<I, false>(), parameters);
    }
    twBuilderEnd(t.builder);
  }
  static int64_t evaluate(const TwMeta *meta) {
    Meta arguments(meta);
    if constexpr (variants::has_rule)
      return Rule{}(Configs[static_cast<size_t>(arguments[config_name])], arguments);
    else
      return 0;
  }

  detail::lazy_kernel lazy;
  const tuning options;
};

/// A tuned kernel: `make` returns the kernel function of a configuration, []<Config C> { return matmul<C>; }.
template <const auto &Configs, typename Make>
auto tuned(std::string signature, Make, tuning options, location where = location::current()) {
  return TunedKernel<Configs, Make>(std::move(signature), std::move(options), where);
}
template <const auto &Configs, typename Make> auto tuned(std::string signature, Make, names key, location where = location::current()) {
  return TunedKernel<Configs, Make>(std::move(signature), tuning{std::move(key), {}, {}}, where);
}
/// The same with a rule (a heuristic): rule(config, arguments) returns a bool that the kernel takes as a second template argument, as in
/// [](const Config &c, Meta a) { return a["K"] % c.BLOCK_K == 0; } with []<Config C, bool EVEN_K> { return matmul<C, EVEN_K>; }.
template <const auto &Configs, typename Make, typename Rule>
  requires std::is_invocable_r_v<bool, Rule &, const std::remove_cvref_t<decltype(Configs[0])> &, Meta>
auto tuned(std::string signature, Make, tuning options, Rule, location where = location::current()) {
  return TunedKernel<Configs, Make, Rule>(std::move(signature), std::move(options), where);
}

} // namespace tilewright
