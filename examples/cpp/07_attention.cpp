// Attention forward without storing the matrix of scores (FlashAttention): the kernel of ../07_attention.py, tuned, with its rule.
#include "common.h"

using namespace tilewright;

struct Config {
  int BLOCK_M, BLOCK_N;
  bool PERSISTENT;
  int num_warps, num_stages;
};
constexpr Config configs[] = {{64, 64, false, 4, 2}, {64, 64, true, 4, 2}, {32, 64, false, 4, 3}};

/// The strides of a tensor of [batches, heads, n_ctx, head_dim].
struct Strides {
  i32 z, h, n, d;
};

// `causal` and `even` are ordinary arguments: the kernel runs while it is built, so C++ compiles one function for all of their values.
template <typename T, int HEAD_DIM, int BLOCK_M, int BLOCK_N>
void attend(bool causal, bool even, i32 block, i32 batch, i32 head, ptr<const T> q_ptr, ptr<const T> k_ptr, ptr<const T> v_ptr,
            ptr<T> out_ptr, f32 scale2, i32 n_ctx, const Strides &q_strides, const Strides &k_strides, const Strides &v_strides,
            const Strides &o_strides) {
  q_ptr += batch * q_strides.z + head * q_strides.h;
  k_ptr += batch * k_strides.z + head * k_strides.h;
  v_ptr += batch * v_strides.z + head * v_strides.h;
  out_ptr += batch * o_strides.z + head * o_strides.h;
  auto offs_m = block * BLOCK_M + arange<BLOCK_M>();
  auto offs_d = arange<HEAD_DIM>();
  auto rows = offs_m(all, new_axis) < n_ctx;
  auto q = load(q_ptr + offs_m(all, new_axis) * q_strides.n + offs_d(new_axis, all) * q_strides.d, rows, 0.0);

  auto acc = zeros<float, BLOCK_M, HEAD_DIM>();
  auto row_sum = zeros<float, BLOCK_M>();
  auto row_max = full<float, BLOCK_M>(-INFINITY);
  // Every query of this block sees all keys before `whole`.
  auto whole = causal ? block * BLOCK_M / BLOCK_N * BLOCK_N : n_ctx / BLOCK_N * BLOCK_N;
  auto last = causal ? minimum((block + 1) * BLOCK_M, n_ctx) : n_ctx;
  for_range(0, last, BLOCK_N, [&](i32 start) {
    auto offs_n = start + arange<BLOCK_N>();
    auto k_ptrs = k_ptr + offs_d(all, new_axis) * k_strides.d + offs_n(new_axis, all) * k_strides.n;
    auto v_ptrs = v_ptr + offs_n(all, new_axis) * v_strides.n + offs_d(new_axis, all) * v_strides.d;
    auto k = even ? load(k_ptrs) : load(k_ptrs, offs_n(new_axis, all) < n_ctx, 0.0);
    auto v = even ? load(v_ptrs) : load(v_ptrs, offs_n(all, new_axis) < n_ctx, 0.0);
    auto scores = dot(q, k);
    if (causal || !even)
      if_(start >= whole, [&] {
        auto seen = offs_n(new_axis, all) < n_ctx;
        if (causal)
          scores = where(seen & (offs_n(new_axis, all) <= offs_m(all, new_axis)), scores, -INFINITY);
        else
          scores = where(seen, scores, -INFINITY);
      });
    auto new_max = maximum(row_max, max<1>(scores) * scale2);
    auto weights = exp2(scores * scale2 - new_max(all, new_axis));
    auto rescale = exp2(row_max - new_max);
    row_sum = row_sum * rescale + sum<1>(weights);
    acc = dot(cast<T>(weights), v, acc * rescale(all, new_axis));
    row_max = new_max;
  });
  auto out = acc / row_sum(all, new_axis);
  store(out_ptr + offs_m(all, new_axis) * o_strides.n + offs_d(new_axis, all) * o_strides.d, cast<T>(out), rows);
}

template <typename T, int HEAD_DIM, bool CAUSAL, int BLOCK_M, int BLOCK_N, bool PERSISTENT, bool EVEN>
void attention(ptr<const T> q_ptr, ptr<const T> k_ptr, ptr<const T> v_ptr, ptr<T> out_ptr, f32 scale, i32 n_batches, i32 n_heads, i32 n_ctx,
               i32 stride_qz, i32 stride_qh, i32 stride_qn, i32 stride_qd, i32 stride_kz, i32 stride_kh, i32 stride_kn, i32 stride_kd,
               i32 stride_vz, i32 stride_vh, i32 stride_vn, i32 stride_vd, i32 stride_oz, i32 stride_oh, i32 stride_on, i32 stride_od) {
  Strides q{stride_qz, stride_qh, stride_qn, stride_qd}, k{stride_kz, stride_kh, stride_kn, stride_kd};
  Strides v{stride_vz, stride_vh, stride_vn, stride_vd}, o{stride_oz, stride_oh, stride_on, stride_od};
  auto scale2 = scale * 1.4426950408889634; // log2(e): exp(x) = exp2(x * log2(e))
  auto run = [&](i32 block, i32 both) {
    attend<T, HEAD_DIM, BLOCK_M, BLOCK_N>(CAUSAL, EVEN, block, both / n_heads, both % n_heads, q_ptr, k_ptr, v_ptr, out_ptr, scale2, n_ctx,
                                          q, k, v, o);
  };
  if constexpr (PERSISTENT) {
    auto blocks = cdiv(n_ctx, BLOCK_M);
    for_range(program_id(0), blocks * n_batches * n_heads, num_programs(0), [&](i32 tile) {
      auto block = tile % blocks, both = tile / blocks;
      if constexpr (CAUSAL) // later blocks see more keys: a program gets long and short ones
        block = where(both % 2 == 0, block, blocks - 1 - block);
      run(block, both);
    });
  } else {
    run(program_id(0), program_id(1));
  }
}

constexpr const char *signature =
    "attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, scale, n_batches, n_heads, n_ctx, stride_qz, stride_qh, stride_qn, stride_qd, "
    "stride_kz, "
    "stride_kh, stride_kn, stride_kd, stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_on, stride_od)";
template <bool CAUSAL>
auto tuned_attention = tuned<configs>(
    signature, []<Config C, bool EVEN> { return attention<float, 32, CAUSAL, C.BLOCK_M, C.BLOCK_N, C.PERSISTENT, EVEN>; },
    tuning{.key = key("n_ctx")}, [](const Config &c, Meta arguments) { return arguments["n_ctx"] % c.BLOCK_N == 0; });
inline auto plain_kernel = jit<attention<float, 32, true, 64, 64, true, false>>(signature);

template <bool CAUSAL> int run(int batches, int heads, int n) {
  const int dim = 32;
  std::vector<float> q = common::randn(batches * heads * n * dim, 1), k = common::randn(q.size(), 2), v = common::randn(q.size(), 3),
                     out(q.size());
  auto programs = [&](const Config &c) {
    int64_t blocks = cdiv(n, c.BLOCK_M);
    return c.PERSISTENT ? grid(std::min<int64_t>(8, blocks * batches * heads), 1) : grid(blocks, batches * heads);
  };
  int h = n * dim, z = heads * h;
  float scale = 1 / std::sqrt(float(dim));
  if (common::failed(tuned_attention<CAUSAL>.launch(programs, cpu, q, k, v, out, scale, batches, heads, n, z, h, dim, 1, z, h, dim, 1, z, h,
                                                    dim, 1, z, h, dim, 1)))
    return 1;
  auto expected = [&](size_t i) {
    int row = int(i) / dim % n, base = int(i) / dim / n * n * dim, seen = CAUSAL ? row + 1 : n;
    double total = 0, sum = 0;
    for (int j = 0; j < seen; ++j) {
      double score = 0;
      for (int d = 0; d < dim; ++d)
        score += double(q[base + row * dim + d]) * k[base + j * dim + d];
      double weight = std::exp(score * scale);
      total += weight;
      sum += weight * v[base + j * dim + int(i) % dim];
    }
    return sum / total;
  };
  return common::check(CAUSAL ? "causal attention" : "attention", out, expected, 1e-5);
}

int main(int argc, char **argv) {
  if (common::wants_ir(argc, argv)) {
    std::vector<float> x(32);
    return common::print(plain_kernel.emit("tt", x, x, x, x, 1.0f, 1, 1, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7));
  }
  return run<false>(1, 2, 128) + run<true>(2, 3, 133);
}
