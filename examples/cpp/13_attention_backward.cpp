// Attention backward: gradients of q, k and v without storing the matrix of scores. The kernels of ../13_attention_backward.py.
//
// With ADDS, the programs of the keys add to the gradient of the queries by atomic operations; without, another kernel computes it, and the
// results do not depend on the order of the programs.
#include "common.h"

using namespace tilewright;

constexpr double LOG2E = 1.4426950408889634; // exp(x) = exp2(x * log2(e))

/// The strides of a tensor of [batches, heads, n_ctx, head_dim].
struct Strides {
  i32 z, h, n, d;
};
template <typename P> auto head_of(const P &pointer, const i64 &batch, const i64 &head, const Strides &s) {
  return pointer + batch * s.z + head * s.h;
}
template <typename P, typename R, typename D> auto rows_at(const P &pointer, const R &rows, const D &columns, const Strides &s) {
  return pointer + rows(all, new_axis) * s.n + columns(new_axis, all) * s.d;
}

template <typename T, bool ADDS, int HEAD_DIM, int BLOCK_M>
void rows(ptr<const T> out_ptr, ptr<const T> grad_ptr, ptr<const float> lse_ptr, ptr<float> delta_ptr, ptr<float> log_ptr,
          ptr<float> sum_ptr, i32 n_heads, i32 n_ctx, i32 stride_oz, i32 stride_oh, i32 stride_on, i32 stride_od, i32 stride_gz,
          i32 stride_gh, i32 stride_gn, i32 stride_gd) {
  auto both = cast<int64_t>(program_id(1));
  auto batch = both / n_heads, head = both % n_heads;
  auto offs_m = program_id(0) * BLOCK_M + arange<BLOCK_M>();
  auto offs_d = arange<HEAD_DIM>();
  auto inside = offs_m < n_ctx;
  Strides o{stride_oz, stride_oh, stride_on, stride_od}, g{stride_gz, stride_gh, stride_gn, stride_gd};
  auto out = cast<float>(load(rows_at(head_of(out_ptr, batch, head, o), offs_m, offs_d, o), inside(all, new_axis), 0.0));
  auto grad = cast<float>(load(rows_at(head_of(grad_ptr, batch, head, g), offs_m, offs_d, g), inside(all, new_axis), 0.0));
  store(delta_ptr + both * n_ctx + offs_m, sum<1>(out * grad), inside);
  auto lse = load(lse_ptr + both * n_ctx + offs_m, inside, 0.0);
  store(log_ptr + both * n_ctx + offs_m, lse * LOG2E, inside);
  if constexpr (ADDS) { // zeroes dQ, before programs add to it
    auto sums = sum_ptr + (both * n_ctx + offs_m(all, new_axis)) * HEAD_DIM + offs_d(new_axis, all);
    store(sums, zeros<float, BLOCK_M, HEAD_DIM>(), inside(all, new_axis));
  }
}

/// What a program of the keys reads of its head.
template <typename T> struct Queries {
  ptr<const T> q, grad;
  ptr<const float> log, delta;
  ptr<float> sum;
  f32 scale2;
  i32 n_ctx;
  Strides q_strides, grad_strides;
};

// `adds`, `masked` and `causal` are ordinary arguments: kernels run while they are built, so C++ compiles one function for all of their
// values.
template <int HEAD_DIM, int STEP, typename T, typename Sum, typename K, typename N>
void add_queries(bool adds, bool masked, Sum &dk, Sum &dv, const K &k, const K &v, const Queries<T> &m, i32 first, i32 last,
                 const N &offs_n) {
  auto offs_d = arange<HEAD_DIM>();
  for_range(first, last, STEP, [&](i32 start) {
    auto offs_m = start + arange<STEP>();
    auto inside = offs_m < m.n_ctx;
    auto q = load(rows_at(m.q, offs_m, offs_d, m.q_strides), inside(all, new_axis), 0.0);
    auto grad = load(rows_at(m.grad, offs_m, offs_d, m.grad_strides), inside(all, new_axis), 0.0);
    auto log = load(m.log + offs_m, inside, 0.0);
    auto delta = load(m.delta + offs_m, inside, 0.0);
    auto scores = dot(k, trans(q));
    auto grad_weights = dot(v, trans(grad));
    auto weights = exp2(scores * m.scale2 - log(new_axis, all));
    if (masked) weights = where(offs_n(all, new_axis) <= offs_m(new_axis, all), weights, 0.0);
    dv = dot(cast<T>(weights), grad, dv);
    auto grad_scores = cast<T>(weights * (grad_weights - delta(new_axis, all)));
    if (adds) {
      auto sums = m.sum + offs_m(all, new_axis) * HEAD_DIM + offs_d(new_axis, all);
      atomic_add(sums, dot(trans(grad_scores), k), inside(all, new_axis), {.sem = "relaxed"});
    }
    dk = dot(grad_scores, q, dk);
  });
}

template <typename T, bool ADDS, int HEAD_DIM, bool CAUSAL, int STEP, int OWN>
void keys(ptr<const T> q_ptr, ptr<const T> k_ptr, ptr<const T> v_ptr, ptr<const T> grad_ptr, ptr<const float> log_ptr,
          ptr<const float> delta_ptr, ptr<float> sum_ptr, ptr<T> dk_ptr, ptr<T> dv_ptr, f32 scale, i32 n_heads, i32 n_ctx, i32 stride_qz,
          i32 stride_qh, i32 stride_qn, i32 stride_qd, i32 stride_kz, i32 stride_kh, i32 stride_kn, i32 stride_kd, i32 stride_vz,
          i32 stride_vh, i32 stride_vn, i32 stride_vd, i32 stride_gz, i32 stride_gh, i32 stride_gn, i32 stride_gd, i32 stride_dkz,
          i32 stride_dkh, i32 stride_dkn, i32 stride_dkd, i32 stride_dvz, i32 stride_dvh, i32 stride_dvn, i32 stride_dvd) {
  auto both = cast<int64_t>(program_id(1));
  auto batch = both / n_heads, head = both % n_heads;
  Strides qs{stride_qz, stride_qh, stride_qn, stride_qd}, ks{stride_kz, stride_kh, stride_kn, stride_kd};
  Strides vs{stride_vz, stride_vh, stride_vn, stride_vd}, gs{stride_gz, stride_gh, stride_gn, stride_gd};
  Strides dks{stride_dkz, stride_dkh, stride_dkn, stride_dkd}, dvs{stride_dvz, stride_dvh, stride_dvn, stride_dvd};
  Queries<T> m{head_of(q_ptr, batch, head, qs),
               head_of(grad_ptr, batch, head, gs),
               log_ptr + both * n_ctx,
               delta_ptr + both * n_ctx,
               sum_ptr + both * n_ctx * HEAD_DIM,
               scale * LOG2E,
               n_ctx,
               qs,
               gs};
  auto block = program_id(0);
  auto offs_n = block * OWN + arange<OWN>();
  auto offs_d = arange<HEAD_DIM>();
  auto inside = offs_n(all, new_axis) < n_ctx;
  auto k = load(rows_at(head_of(k_ptr, batch, head, ks), offs_n, offs_d, ks), inside, 0.0);
  auto v = load(rows_at(head_of(v_ptr, batch, head, vs), offs_n, offs_d, vs), inside, 0.0);
  auto dk = zeros<float, OWN, HEAD_DIM>();
  auto dv = zeros<float, OWN, HEAD_DIM>();
  i32 first = 0;
  if constexpr (CAUSAL) { // queries before these keys see none of them; queries from `whole` on see all
    first = block * OWN / STEP * STEP;
    auto whole = minimum(cdiv((block + 1) * OWN, STEP) * STEP, n_ctx);
    add_queries<HEAD_DIM, STEP>(ADDS, true, dk, dv, k, v, m, first, whole, offs_n);
    first = whole;
  }
  add_queries<HEAD_DIM, STEP>(ADDS, false, dk, dv, k, v, m, first, n_ctx, offs_n);
  store(rows_at(head_of(dk_ptr, batch, head, dks), offs_n, offs_d, dks), cast<T>(dk * scale), inside);
  store(rows_at(head_of(dv_ptr, batch, head, dvs), offs_n, offs_d, dvs), cast<T>(dv), inside);
}

template <int HEAD_DIM, int STEP, typename T, typename Sum, typename Q, typename L, typename M>
void add_keys(bool masked, bool causal, Sum &dq, const Q &q, const Q &grad, const L &log, const L &delta, ptr<const T> k_ptr,
              ptr<const T> v_ptr, f32 scale2, const Strides &ks, const Strides &vs, i32 first, i32 last, i32 n_ctx, const M &offs_m) {
  auto offs_d = arange<HEAD_DIM>();
  for_range(first, last, STEP, [&](i32 start) {
    auto offs_n = start + arange<STEP>();
    auto inside = offs_n < n_ctx;
    auto k = load(rows_at(k_ptr, offs_n, offs_d, ks), inside(all, new_axis), 0.0);
    auto v = load(rows_at(v_ptr, offs_n, offs_d, vs), inside(all, new_axis), 0.0);
    auto scores = dot(q, trans(k));
    auto grad_weights = dot(grad, trans(v));
    auto weights = exp2(scores * scale2 - log(all, new_axis));
    if (masked && causal)
      weights = where((offs_n(new_axis, all) < n_ctx) & (offs_n(new_axis, all) <= offs_m(all, new_axis)), weights, 0.0);
    else if (masked)
      weights = where(offs_n(new_axis, all) < n_ctx, weights, 0.0);
    auto grad_scores = weights * (grad_weights - delta(all, new_axis));
    dq = dot(cast<T>(grad_scores), k, dq);
  });
}

template <typename T, int HEAD_DIM, bool CAUSAL, int OWN, int STEP>
void queries(ptr<const T> q_ptr, ptr<const T> k_ptr, ptr<const T> v_ptr, ptr<const T> grad_ptr, ptr<const float> log_ptr,
             ptr<const float> delta_ptr, ptr<T> dq_ptr, f32 scale, i32 n_heads, i32 n_ctx, i32 stride_qz, i32 stride_qh, i32 stride_qn,
             i32 stride_qd, i32 stride_kz, i32 stride_kh, i32 stride_kn, i32 stride_kd, i32 stride_vz, i32 stride_vh, i32 stride_vn,
             i32 stride_vd, i32 stride_gz, i32 stride_gh, i32 stride_gn, i32 stride_gd, i32 stride_dqz, i32 stride_dqh, i32 stride_dqn,
             i32 stride_dqd) {
  auto block = program_id(0);
  if constexpr (CAUSAL) block = num_programs(0) - 1 - block; // the longest rows first: short ones fill the last wave
  auto both = cast<int64_t>(program_id(1));
  auto batch = both / n_heads, head = both % n_heads;
  Strides qs{stride_qz, stride_qh, stride_qn, stride_qd}, ks{stride_kz, stride_kh, stride_kn, stride_kd};
  Strides vs{stride_vz, stride_vh, stride_vn, stride_vd}, gs{stride_gz, stride_gh, stride_gn, stride_gd};
  Strides dqs{stride_dqz, stride_dqh, stride_dqn, stride_dqd};
  auto k_head = head_of(k_ptr, batch, head, ks);
  auto v_head = head_of(v_ptr, batch, head, vs);

  auto offs_m = block * OWN + arange<OWN>();
  auto offs_d = arange<HEAD_DIM>();
  auto inside = offs_m < n_ctx;
  auto q = load(rows_at(head_of(q_ptr, batch, head, qs), offs_m, offs_d, qs), inside(all, new_axis), 0.0);
  auto grad = load(rows_at(head_of(grad_ptr, batch, head, gs), offs_m, offs_d, gs), inside(all, new_axis), 0.0);
  auto log = load(log_ptr + both * n_ctx + offs_m, inside, 0.0);
  auto delta = load(delta_ptr + both * n_ctx + offs_m, inside, 0.0);
  auto dq = zeros<float, OWN, HEAD_DIM>();
  auto scale2 = scale * LOG2E;
  // Every query of this program sees all keys before `whole`.
  auto whole = CAUSAL ? block * OWN / STEP * STEP : n_ctx / STEP * STEP;
  auto last = CAUSAL ? minimum((block + 1) * OWN, n_ctx) : n_ctx;
  add_keys<HEAD_DIM, STEP, T>(false, CAUSAL, dq, q, grad, log, delta, k_head, v_head, scale2, ks, vs, 0, whole, n_ctx, offs_m);
  add_keys<HEAD_DIM, STEP, T>(true, CAUSAL, dq, q, grad, log, delta, k_head, v_head, scale2, ks, vs, whole, last, n_ctx, offs_m);
  store(rows_at(head_of(dq_ptr, batch, head, dqs), offs_m, offs_d, dqs), cast<T>(dq * scale), inside(all, new_axis));
}

template <typename T, int HEAD_DIM, int BLOCK_M>
void round_sums(ptr<const float> sum_ptr, ptr<T> dq_ptr, f32 scale, i32 n_heads, i32 n_ctx, i32 stride_dqz, i32 stride_dqh, i32 stride_dqn,
                i32 stride_dqd) {
  auto both = cast<int64_t>(program_id(1));
  auto offs_m = program_id(0) * BLOCK_M + arange<BLOCK_M>();
  auto offs_d = arange<HEAD_DIM>();
  auto inside = offs_m(all, new_axis) < n_ctx;
  Strides dqs{stride_dqz, stride_dqh, stride_dqn, stride_dqd};
  auto sums = load(sum_ptr + (both * n_ctx + offs_m(all, new_axis)) * HEAD_DIM + offs_d(new_axis, all), inside);
  store(rows_at(head_of(dq_ptr, both / n_heads, both % n_heads, dqs), offs_m, offs_d, dqs), cast<T>(sums * scale), inside);
}

constexpr int DIM = 16;
template <bool ADDS> auto rows_kernel = jit<rows<float, ADDS, DIM, 64>>("rows_kernel");
template <bool ADDS> auto keys_kernel = jit<keys<float, ADDS, DIM, true, 32, 64>>("keys_kernel");
inline auto queries_kernel = jit<queries<float, DIM, true, 64, 32>>("queries_kernel");
inline auto round_kernel = jit<round_sums<float, DIM, 64>>("round_kernel");

struct Problem {
  int batches, heads, n;
  std::vector<float> q, k, v, grad, out, lse, dq, dk, dv; // the last three: gradients of the reference

  /// The causal forward and backward pass in plain C++.
  Problem(int batches, int heads, int n) : batches(batches), heads(heads), n(n) {
    size_t count = size_t(batches) * heads * n * DIM;
    q = common::randn(count, 1), k = common::randn(count, 2), v = common::randn(count, 3), grad = common::randn(count, 4);
    out.resize(count), dq.resize(count), dk.resize(count), dv.resize(count), lse.resize(count / DIM);
    for (size_t head = 0; head < count; head += size_t(n) * DIM)
      for (int i = 0; i < n; ++i)
        row(head, i);
  }
  float scale() const { return 1 / std::sqrt(float(DIM)); }

private:
  void row(size_t head, int i) {
    const float *qi = &q[head + size_t(i) * DIM], *gi = &grad[head + size_t(i) * DIM];
    std::vector<double> weights(i + 1);
    double total = 0, delta = 0;
    for (int j = 0; j <= i; ++j) {
      double score = 0;
      for (int d = 0; d < DIM; ++d)
        score += double(qi[d]) * k[head + size_t(j) * DIM + d];
      total += weights[j] = std::exp(score * scale());
    }
    lse[head / DIM + i] = float(std::log(total));
    for (int d = 0; d < DIM; ++d) {
      double sum = 0;
      for (int j = 0; j <= i; ++j)
        sum += weights[j] / total * v[head + size_t(j) * DIM + d];
      out[head + size_t(i) * DIM + d] = float(sum);
      delta += sum * gi[d];
    }
    for (int j = 0; j <= i; ++j) {
      double weight = weights[j] / total, grad_weight = 0;
      for (int d = 0; d < DIM; ++d)
        grad_weight += double(gi[d]) * v[head + size_t(j) * DIM + d];
      double grad_score = weight * (grad_weight - delta) * scale();
      for (int d = 0; d < DIM; ++d) {
        dv[head + size_t(j) * DIM + d] += float(weight * gi[d]);
        dk[head + size_t(j) * DIM + d] += float(grad_score * qi[d]);
        dq[head + size_t(i) * DIM + d] += float(grad_score * k[head + size_t(j) * DIM + d]);
      }
    }
  }
};

template <bool ADDS> int run(Problem &p) {
  std::vector<float> delta(p.lse.size()), log(p.lse.size()), sums(p.q.size()), dq(p.q.size()), dk(p.q.size()), dv(p.q.size());
  const int h = p.n * DIM, z = p.heads * h, D = DIM;
  auto programs = grid(cdiv(p.n, 64), p.batches * p.heads);
  if (common::failed(rows_kernel<ADDS>.launch(programs, cpu, p.out, p.grad, p.lse, delta, log, sums, p.heads, p.n, z, h, D, 1, z, h, D, 1)))
    return 1;
  if (common::failed(keys_kernel<ADDS>.launch(programs, cpu, p.q, p.k, p.v, p.grad, log, delta, sums, dk, dv, p.scale(), p.heads, p.n, z, h,
                                              D, 1, z, h, D, 1, z, h, D, 1, z, h, D, 1, z, h, D, 1, z, h, D, 1)))
    return 1;
  Result<void> done = ADDS ? round_kernel.launch(programs, cpu, sums, dq, p.scale(), p.heads, p.n, z, h, D, 1)
                           : queries_kernel.launch(programs, cpu, p.q, p.k, p.v, p.grad, log, delta, dq, p.scale(), p.heads, p.n, z, h, D,
                                                   1, z, h, D, 1, z, h, D, 1, z, h, D, 1, z, h, D, 1);
  if (common::failed(done)) return 1;
  return common::check(
             "dq", dq, [&](size_t i) { return p.dq[i]; }, 1e-4) +
         common::check(
             "dk", dk, [&](size_t i) { return p.dk[i]; }, 1e-4) +
         common::check("dv", dv, [&](size_t i) { return p.dv[i]; }, 1e-4);
}

int main(int argc, char **argv) {
  Problem p(1, 2, 100);
  if (common::wants_ir(argc, argv)) {
    std::vector<float> x(DIM);
    return common::print(
        rows_kernel<true>.emit("tt", x, x, x, x, x, x, 1, 1, 7, 7, 7, 7, 7, 7, 7, 7),
        keys_kernel<true>.emit("tt", x, x, x, x, x, x, x, x, x, 1.0f, 1, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                               7, 7, 7),
        queries_kernel.emit("tt", x, x, x, x, x, x, x, 1.0f, 1, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7),
        round_kernel.emit("tt", x, x, 1.0f, 1, 1, 7, 7, 7, 7));
  }
  return run<false>(p) + run<true>(p);
}
