// Every instruction of the ptx dialect, as text, to PTX and through the assembler: is it spelled as meant, and does ptxas take it.
#include "ptx_text.h"

#include <array>

#include <chrono>

using namespace tilewright;

namespace {

TEST(Ptx, ThreadIndices) {
  expectLines(kernel(R"(
  %t = ptx.thread_id  %w = ptx.warp_id  %l = ptx.lane_id  %s = ptx.shared_base  %r = ptx.cluster_rank
  %x = ptx.block_id 0 %y = ptx.block_id 1 %z = ptx.block_id 2 %n = ptx.block_count 0
  %e = ptx.elect
  ptx.store_global %g, %t, %w, %l, %s if %e : i32, i32, i32, i32
  ptx.store_global %g, %x, %y, %z, %n : i32, i32, i32, i32
  ptx.store_global %g, %r : i32)"),
              {"sm_80", "sm_90a"},
              {".reqntid 128", "%tid.x", "shfl.sync.idx.b32", "%ctaid.z", "%nctaid.x", ".extern .shared .align 1024 .b8 shared_memory[]",
               ".visible .entry kernel("});
}

TEST(Ptx, TheLargestGrid) {
  expectLines(kernel(R"(
  %n = ptx.block_count 0
  %max = arith.constant 2147483647 : i32
  %isLargest = arith.cmpi eq, %n, %max : i32
  %v = arith.extui %isLargest : i1 to i32
  ptx.store_global %g, %v : i32)"),
              {"sm_80"}, {"%nctaid.x"});
}

TEST(Ptx, Memory) {
  expectLines(kernel(R"(
  %s = ptx.shared_base
  %f:4 = ptx.load_global %g -> f32, f32, f32, f32
  %h:8 = ptx.load_global %g if %p else %q, %q, %q, %q, %q, %q, %q, %q : f16, f16, f16, f16, f16, f16, f16, f16
      {cache = 2 : i32} -> f16, f16, f16, f16, f16, f16, f16, f16
  %b:4 = ptx.load_global %g if %p {evict = 1 : i32} -> i8, i8, i8, i8
  %c = ptx.load_global %g {isVolatile} -> i8
  %d:2 = ptx.load_global %g -> f64, f64
  %e:2 = ptx.load_global %g -> i8, i8
  ptx.store_shared %s, %f#0, %f#1, %f#2, %f#3 {offset = 16 : i32} : f32, f32, f32, f32
  %u:2 = ptx.load_shared %s if %p {offset = 32 : i32} -> bf16, bf16
  %v = ptx.load_shared %s -> i8
  ptx.store_global %g, %h#0, %h#1, %h#2, %h#3, %h#4, %h#5, %h#6, %h#7 {cache = 3 : i32} : f16, f16, f16, f16, f16, f16, f16, f16
  ptx.store_global %g, %b#0, %b#1, %b#2, %b#3 {evict = 2 : i32} : i8, i8, i8, i8
  ptx.store_global %g, %c if %p : i8
  ptx.store_global %g, %d#0, %d#1 : f64, f64
  ptx.store_global %g, %u#0, %u#1 : bf16, bf16
  ptx.store_global %g, %e#0, %e#1 : i8, i8
  ptx.store_global %g, %v : i8)",
                     "%g: i64, %p: i1, %q: f16"),
              {"sm_80", "sm_89", "sm_90a"},
              {"ld.global.v4.b32", "ld.global.cg.v4.b32", "ld.global.L1::evict_first.b32", "ld.volatile.global.b8", "ld.global.v2.b64",
               "ld.global.b16", "st.shared.v4.b32", "ld.shared.b32", "ld.shared.b8", "st.global.cs.v4.b32", "st.global.L1::evict_last.b32",
               "st.global.b8"});
}

TEST(Ptx, Atomics) {
  expectLines(kernel(R"(
  %0 = ptx.atomic add acq_rel gpu %g, %i : i32 -> i32
  %1 = ptx.atomic min relaxed cta %g, %l : i64 -> i64
  %2 = ptx.atomic umax acquire sys %g, %i if %p : i32 -> i32
  %3 = ptx.atomic and release gpu %g, %i : i32 -> i32
  %4 = ptx.atomic exch acq_rel gpu %g, %f : f32 -> f32
  %5 = ptx.atomic fadd relaxed gpu %g, %f : f32 -> f32
  %6:2 = ptx.atomic fadd relaxed gpu %g, %h, %h : f16, f16 -> f16, f16
  %9 = ptx.atomic add release gpu %g, %i if %p : i32 -> i32
  %7 = ptx.compare_swap acq_rel gpu %g, %i, %0 : i32
  %8 = ptx.compare_swap relaxed sys %g, %l, %1 if %p : i64
  ptx.fence gpu
  ptx.fence sys
  ptx.store_global %g, %0, %2, %3, %7 : i32, i32, i32, i32
  ptx.store_global %g, %1, %8 : i64, i64
  ptx.store_global %g, %4, %5 : f32, f32
  ptx.store_global %g, %6#0, %6#1 : f16, f16)",
                     "%g: i64, %p: i1, %i: i32, %l: i64, %f: f32, %h: f16"),
              {"sm_80", "sm_90a"},
              {"atom.global.gpu.acq_rel.add.u32", "atom.global.cta.relaxed.min.s64", "atom.global.sys.acquire.max.u32",
               "atom.global.gpu.release.and.b32", "atom.global.gpu.acq_rel.exch.b32", "atom.global.gpu.relaxed.add.f32", "add.noftz.f16x2",
               "atom.global.gpu.release.add.u32", "atom.global.acq_rel.gpu.cas.b32", "atom.global.relaxed.sys.cas.b64", "fence.acq_rel.gpu",
               "fence.acq_rel.sys"});
  std::string bf16 = kernel("  %0 = ptx.atomic fadd relaxed gpu %g, %b : bf16 -> bf16", "%g: i64, %b: bf16");
  expectLines(bf16, {"sm_90a"}, {"atom.global.gpu.relaxed.add.noftz.bf16"});
  std::string error;
  EXPECT_FALSE(compile(bf16, target("sm_80"), &error).has_value());
  EXPECT_NE(error.find("sm_80 has no instruction for the atomic 'fadd'"), std::string::npos) << error;
}

TEST(Ptx, Warp) {
  expectLines(kernel(R"(
  %l = ptx.lane_id
  %0 = ptx.shuffle bfly %f, %l : f32
  %1 = ptx.shuffle up %d, %l : f64
  %2 = ptx.shuffle idx %h, %l : bf16
  %3 = ptx.shuffle down %l, %l : i32
  %4 = ptx.redux add %l  %5 = ptx.redux umin %l  %6 = ptx.redux xor %l
  %7 = ptx.ballot %p  %8 = ptx.match_any %l
  ptx.barrier  ptx.barrier {id = 1 : i32, threads = 64 : i32}  ptx.warp_barrier
  ptx.barrier_arrive {id = 2 : i32, threads = 64 : i32}
  %w = ptx.warp_id  ptx.barrier of %w {id = 4 : i32, perWarpGroup, threads = 128 : i32}
  ptx.store_global %g, %0 : f32  ptx.store_global %g, %1 : f64  ptx.store_global %g, %2 : bf16
  ptx.store_global %g, %3, %4, %5, %6 : i32, i32, i32, i32
  ptx.store_global %g, %7, %8 : i32, i32)",
                     "%g: i64, %f: f32, %d: f64, %h: bf16, %p: i1"),
              {"sm_80", "sm_90a"},
              {"shfl.sync.bfly.b32", "shfl.sync.up.b32", "shfl.sync.idx.b32", "shfl.sync.down.b32", "redux.sync.add.s32",
               "redux.sync.min.u32", "redux.sync.xor.b32", "vote.sync.ballot.b32", "match.any.sync.b32", "bar.sync 0;", "bar.sync 1, 64;",
               "bar.warp.sync", "bar.arrive 2, 64;", ", 2; add.u32 id, id, 4; bar.sync id, 128;"});
}

TEST(Ptx, Copies) {
  expectLines(kernel(R"(
  %s = ptx.shared_base
  ptx.copy_async %s, %g if %p {bytes = 16 : i32, offset = 64 : i32}
  ptx.copy_async %s, %g {bytes = 4 : i32}
  ptx.copy_commit
  ptx.copy_wait 0
  ptx.mbarrier_init %s, 1 if %p
  ptx.mbarrier_arrive %s
  %c0 = arith.constant 0 : i32
  ptx.mbarrier_wait %s, %c0
  %m:4 = ptx.ldmatrix %s {transposed, offset = 128 : i32} -> i32, i32, i32, i32
  %n = ptx.ldmatrix %s -> i32
  ptx.store_global %g, %m#0, %m#1, %m#2, %n : i32, i32, i32, i32)",
                     "%g: i64, %p: i1"),
              {"sm_80", "sm_90a"},
              {"cp.async.cg.shared.global [", ", 16, ", "cp.async.ca.shared.global [", "cp.async.commit_group;", "cp.async.wait_group 0;",
               "mbarrier.init.shared::cta.b64", "mbarrier.arrive.shared::cta.b64 _", "_wait.parity.shared::cta.b64 done",
               "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "ldmatrix.sync.aligned.m8n8.x1.shared.b16"});
}

TEST(Ptx, ScopesOfMbarriers) {
  std::string body = R"(
  %s = ptx.shared_base
  %e = ptx.elect
  %c0 = arith.constant 0 : i32
  ptx.mbarrier_arrive %s if %e {inCtas = 2 : i32})";
  std::string launch = "threads = 128, sharedBytes = 64, cluster = 2";
  expectLines(kernel(body, "", launch), {"sm_90a", "sm_100a"}, {"mbarrier.arrive.release.cta.shared::cluster.b64 _, [there]"});
  std::string inCluster = kernel(body + R"(
  ptx.mbarrier_arrive %s scope cluster
  ptx.mbarrier_arrive %s if %e scope cluster {inCtas = 2 : i32}
  ptx.mbarrier_arrive %s if %e scope cluster {inCtas = 2 : i32, toFirst}
  ptx.mbarrier_wait %s, %c0 scope cluster)",
                                 "", launch);
  expectLines(inCluster, {"sm_100a"},
              {"fence.release.sync_restrict::shared::cta.cluster;", "mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [",
               "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there]", "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64",
               "bra.uni again; fence.acquire.sync_restrict::shared::cluster.cluster;"});
  auto error = [](const char *name, const std::string &operation) {
    std::string text;
    EXPECT_FALSE(compile(kernel("  %s = ptx.shared_base\n  " + operation), target(name), &text));
    return text;
  };
  EXPECT_NE(error("sm_90a", "ptx.mbarrier_arrive %s scope cluster").find("sm_90a has no instruction for ptx.mbarrier_arrive"),
            std::string::npos);
  EXPECT_NE(error("sm_100a", "ptx.mbarrier_arrive %s scope gpu").find("the scope of a CTA or of a cluster"), std::string::npos);
  EXPECT_NE(error("sm_100a", "ptx.mbarrier_arrive %s {toFirst}").find("if it names the CTAs"), std::string::npos);
  EXPECT_NE(error("sm_100a", "ptx.mbarrier_arrive %s {count = 2 : i32, inCtas = 2 : i32}").find("arrives once in each CTA"),
            std::string::npos);
}

TEST(Ptx, ConversionsInPairs) {
  std::string text = kernel("  %x = arith.truncf %f : f32 to bf16\n  ptx.store_global %g, %x : bf16", "%g: i64, %f: f32",
                            "threads = 128, sharedBytes = 0, pairConversions = true");
  expectLines(text, {"sm_90a"}, {"cvt.rn.bf16x2.f32 pair, 0f00000000"});
}

TEST(Ptx, Tensors) {
  expectLines(kernel(R"(
  %s = ptx.shared_base
  %e = ptx.elect
  %c = arith.constant 64 : i32
  ptx.prefetch_tensor_map %m
  ptx.mbarrier_init %s, 1 if %e
  ptx.mbarrier_init_fence
  ptx.cluster_arrive {relaxed}
  ptx.cluster_wait
  ptx.cluster_arrive
  ptx.cluster_wait
  ptx.mbarrier_expect %s, 8192 if %e
  ptx.tma_load %m [%c, %c] to %c, %s if %e {evict = 2 : i32}
  ptx.tma_load %n [%c, %c, %c] to %c, %s {multicast = 3 : i32}
  ptx.mbarrier_arrive %s if %e {count = 2 : i32}
  ptx.mbarrier_wait %s, %c
  ptx.mbarrier_wait %s, %c
  ptx.stmatrix %c, %c, %c, %c, %c {offset = 32 : i32}
  ptx.stmatrix %c, %c {transposed}
  ptx.fence_async
  %q:4 = ptx.load_block %s, %c -> f32, f32, f32, f32
  %u = arith.addf %q#0, %q#3 : f32
  ptx.store_global %g, %u : f32
  ptx.fence cluster
  ptx.tma_store %m [%c, %c] from %c if %e
  ptx.tma_store %m [%c, %c] from %c {reduce = 0 : i32}
  ptx.tma_commit
  ptx.tma_wait 1 {read}
  ptx.tma_wait 0
  ptx.max_registers false 40
  ptx.max_registers true 232)",
                     "%g: i64, %m: !ptx.tensor_map, %n: !ptx.tensor_map", "threads = 384, sharedBytes = 65536, cluster = 2, minCtas = 1"),
              {"sm_90a"},
              {".reqnctapercluster 2",
               ".align 64 .b8 kernel_param_1[128]",
               "elect.sync",
               "prefetch.tensormap",
               "fence.mbarrier_init.release.cluster",
               "barrier.cluster.arrive.relaxed.aligned",
               "barrier.cluster.wait.aligned",
               "mbarrier.arrive.expect_tx.shared::cta.b64 _",
               "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint",
               "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
               "mbarrier.try_wait.parity",
               "stmatrix.sync.aligned.m8n8.x4.shared.b16",
               "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
               "fence.proxy.async.shared::cta",
               "mapa.shared::cluster.u32",
               "ld.shared::cluster.v4.b32",
               "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
               "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
               "cp.async.bulk.commit_group",
               "cp.async.bulk.wait_group.read 1",
               ".minnctapersm 1",
               "setmaxnreg.dec.sync.aligned.u32 40",
               "setmaxnreg.inc.sync.aligned.u32 232"});
  // TMA reads the map where the launch put it; a copy in local memory would be another address. Without a promise, ptxas does not use the
  // registers of other CTAs.
  std::optional<std::string> ptx = compile(kernel("  ptx.prefetch_tensor_map %m", "%m: !ptx.tensor_map"), target("sm_90a"));
  ASSERT_TRUE(ptx.has_value());
  EXPECT_EQ(ptx->find(".local"), std::string::npos) << *ptx;
  EXPECT_EQ(ptx->find(".minnctapersm"), std::string::npos) << *ptx;
}

/// One mma whose registers are all the same value of each kind.
std::string product(int64_t a, int64_t b, int64_t c, const std::string &operand, const std::string &sum, int aFormat, int cFormat) {
  auto name = [](const std::string &type) { return type == "i32" ? "%a" : type == "f32" ? "%f" : "%d"; };
  std::string formats = "{aFormat = " + std::to_string(aFormat) + " : i32, bFormat = " + std::to_string(aFormat) +
                        " : i32, cFormat = " + std::to_string(cFormat) + " : i32, operandSegmentSizes = array<i32: " + std::to_string(a) +
                        ", " + std::to_string(b) + ", " + std::to_string(c) + ">}";
  return "\"ptx.mma\"(" + repeat(name(operand), a + b) + ", " + repeat(name(sum), c) + ") <" + formats + "> : (" + repeat(operand, a + b) +
         ", " + repeat(sum, c) + ") -> (" + repeat(sum, c) + ")\n";
}

TEST(Ptx, Products) {
  std::string arguments = "%a: i32, %f: f32, %d: f64";
  expectLines(kernel(product(4, 2, 4, "i32", "f32", 0, 7) + product(4, 2, 4, "i32", "f32", 1, 7) + product(4, 2, 4, "i32", "f32", 2, 7) +
                         product(4, 2, 4, "i32", "i32", 5, 8) + product(4, 2, 2, "i32", "i32", 0, 0),
                     arguments),
              {"sm_80", "sm_90a"},
              {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "m16n8k16.row.col.f32.bf16.bf16.f32",
               "m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k32.row.col.s32.s8.s8.s32", "m16n8k16.row.col.f16.f16.f16.f16"});
  std::string fp8 = kernel(product(4, 2, 4, "i32", "f32", 3, 7), arguments);
  expectLines(fp8, {"sm_89", "sm_90a"}, {"m16n8k32.row.col.f32.e4m3.e4m3.f32"});
  std::string error;
  EXPECT_FALSE(compile(fp8, target("sm_80"), &error).has_value());
  EXPECT_NE(error.find("sm_80 has no instruction for ptx.mma"), std::string::npos) << error;
}

TEST(Ptx, MmaShapesOfTuring) {
  std::string arguments = "%a: i32, %f: f32, %d: f64";
  expectLines(
      kernel(product(2, 1, 4, "i32", "f32", 0, 7) + product(2, 1, 2, "i32", "i32", 0, 0) + product(1, 1, 2, "i32", "i32", 5, 8), arguments),
      {"sm_75", "sm_80"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "m16n8k8.row.col.f16.f16.f16.f16", "m8n8k16.row.col.s32.s8.s8.s32"});
  std::string error;
  for (int format : {0, 1, 2}) {
    EXPECT_FALSE(compile(kernel(product(4, 2, 4, "i32", "f32", format, 7), arguments), target("sm_75"), &error).has_value());
    EXPECT_NE(error.find("sm_75 has no instruction for ptx.mma"), std::string::npos) << error;
  }
  EXPECT_FALSE(compile(kernel(product(4, 2, 4, "i32", "i32", 5, 8), arguments), target("sm_75"), &error).has_value());
}

/// One MMA of small formats, with the numbers of its formats, K, scales for each operand, and selectors {byte, thread} of A and B.
std::string scaledMma(int aFormat, int bFormat, int scaleFormat, int k, int vector, std::array<int, 4> selectors) {
  auto attribute = [](const std::string &name, int value) { return name + " = " + std::to_string(value) + " : i32, "; };
  std::string scales = vector ? ", %a, %a" : "", types = vector ? ", i32, i32" : "";
  return "\"ptx.scaled_mma\"(" + repeat("%a", 6) + ", " + repeat("%f", 4) + scales + ") <{" + attribute("aFormat", aFormat) +
         attribute("bFormat", bFormat) + attribute("scaleFormat", scaleFormat) + attribute("k", k) + attribute("vector", vector) +
         attribute("aByte", selectors[0]) + attribute("aThread", selectors[1]) + attribute("bByte", selectors[2]) +
         attribute("bThread", selectors[3]) + "operandSegmentSizes = array<i32: 4, 2, 4, " + (vector ? "2" : "0") + ">}> : (" +
         repeat("i32", 6) + ", " + repeat("f32", 4) + types + ") -> (" + repeat("f32", 4) + ")\n";
}

TEST(Ptx, MmasOfSmallFormats) {
  constexpr int e4m3 = 3, e5m2 = 4, e2m3 = 10, e3m2 = 11, e2m1 = 12, ue8m0 = 13, ue4m3 = 14;
  std::string text = kernel(scaledMma(e3m2, e2m1, ue8m0, 32, 0, {}) + scaledMma(e4m3, e2m3, ue8m0, 32, 1, {1, 1, 3, 2}) +
                                scaledMma(e2m1, e5m2, ue8m0, 32, 1, {}) + scaledMma(e2m1, e2m1, ue8m0, 64, 2, {2, 0, 0, 3}) +
                                scaledMma(e2m1, e2m1, ue4m3, 64, 4, {}),
                            "%a: i32, %f: f32");
  expectLines(text, {"sm_120a", "sm_121a"},
              {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32",
               "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0", "{1, 1}", "{3, 2}",
               "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e5m2.f32.ue8m0",
               "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "{2, 0}", "{0, 3}",
               "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"});
  for (const char *name : {"sm_120", "sm_100a", "sm_90a"}) {
    std::string error;
    EXPECT_FALSE(compile(text, target(name), &error).has_value());
    EXPECT_NE(error.find(std::string(name) + " has no instruction for ptx.scaled_mma"), std::string::npos) << error;
  }
}

/// With the address of another CTA, ptxas for sm_120 would call a function.
TEST(Ptx, CopiesToTheirOwnCta) {
  std::string text = kernel("  %i = arith.constant 0 : i32\n  ptx.tma_load %t [%i, %i] to %s, %s if %p\n"
                            "  ptx.tma_load %t [%i, %i] to %s, %s {evict = 2 : i32}",
                            "%t: !ptx.tensor_map, %p: i1, %s: i32", "threads = 128, sharedBytes = 65536");
  expectLines(text, {"sm_100a", "sm_103a", "sm_120a", "sm_121a"},
              {"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [",
               "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint ["});
  expectLines(text, {"sm_90a"}, {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ["});
}

/// One wgmma of `accumulators` values "%c#0 ...", named `result`.
std::string wgmma(const std::string &result, const std::string &a, int64_t registers, const std::string &from, int64_t accumulators,
                  const std::string &type, const std::string &attributes, bool predicate = true) {
  std::string c;
  for (int64_t i = 0; i < accumulators; ++i)
    c += ", " + from + "#" + std::to_string(i);
  std::string sizes = "operandSegmentSizes = array<i32: " + std::to_string(registers) + ", 1, " + std::to_string(accumulators) + ", " +
                      (predicate ? "1" : "0") + ">";
  return "  " + result + ":" + std::to_string(accumulators) + " = \"ptx.wgmma\"(" + repeat(a, registers) + ", %b" + c +
         (predicate ? ", %p" : "") + ") <{" + attributes + ", " + sizes + "}> : (" + repeat(registers == 1 ? "i64" : "i32", registers) +
         ", i64, " + repeat(type, accumulators) + (predicate ? ", i1" : "") + ") -> (" + repeat(type, accumulators) + ")\n";
}

std::string list(const std::string &from, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + from + "#" + std::to_string(i);
  return text;
}

std::string through(const std::string &result, const std::string &from, int64_t count, int64_t pending, const std::string &type) {
  return "  " + result + ":" + std::to_string(count) + " = ptx.wgmma_wait " + std::to_string(pending) + ", " + list(from, count) + " : " +
         repeat(type, count) + " -> " + repeat(type, count) + "\n";
}

std::string storeAll(const std::string &from, int64_t count, const std::string &type) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += "  %at" + std::to_string(i) + " = arith.constant " + std::to_string(i * 512) + " : i64\n  %to" + std::to_string(i) +
            " = arith.addi %g, %at" + std::to_string(i) + " : i64\n  ptx.store_global %to" + std::to_string(i) + ", " + from + "#" +
            std::to_string(i) + " : " + type + "\n";
  return text;
}

std::string unpacked(int64_t count, const std::string &type, const std::string &value) {
  return "  %start:" + std::to_string(count) + " = ptx.inline \"\", \"" +
         [&] {
           std::string text = type == "f32" ? repeat("=f", count) : repeat("=r", count);
           for (int64_t i = 0; i < count; ++i)
             text += "," + std::to_string(i);
           std::erase(text, ' ');
           return text;
         }() +
         "\" true (" + repeat(value, count) + ") : (" + repeat(type, count) + ") -> (" + repeat(type, count) + ")\n";
}

TEST(Ptx, WgmmaForms) {
  struct Form {
    const char *attributes;
    int64_t registers, accumulators;
    const char *type, *line;
  };
  const Form forms[] = {
      {"n = 64 : i32, aFormat = 0 : i32, bFormat = 0 : i32, cFormat = 7 : i32, bTransposed", 1, 32, "f32", "m64n64k16.f32.f16.f16"},
      {"n = 32 : i32, aFormat = 1 : i32, bFormat = 1 : i32, cFormat = 7 : i32, aTransposed", 1, 16, "f32", "m64n32k16.f32.bf16.bf16"},
      {"n = 32 : i32, aFormat = 1 : i32, bFormat = 1 : i32, cFormat = 7 : i32, bTransposed", 4, 16, "f32", "m64n32k16.f32.bf16.bf16"},
      {"n = 32 : i32, aFormat = 0 : i32, bFormat = 0 : i32, cFormat = 0 : i32", 1, 8, "i32", "m64n32k16.f16.f16.f16"},
      {"n = 16 : i32, aFormat = 2 : i32, bFormat = 2 : i32, cFormat = 7 : i32", 4, 8, "f32", "m64n16k8.f32.tf32.tf32"},
      {"n = 16 : i32, aFormat = 3 : i32, bFormat = 4 : i32, cFormat = 7 : i32", 1, 8, "f32", "m64n16k32.f32.e4m3.e5m2"},
      {"n = 32 : i32, aFormat = 5 : i32, bFormat = 5 : i32, cFormat = 8 : i32", 4, 16, "i32", "m64n32k32.s32.s8.s8"},
  };
  for (const Form &form : forms)
    for (bool predicate : {false, true}) {
      const char *a = form.registers == 1 ? "%b" : "%i";
      std::string body = unpacked(form.accumulators, form.type, form.type[0] == 'f' ? "%f" : "%i") + "  ptx.wgmma_fence\n" +
                         wgmma("%d", a, form.registers, "%start", form.accumulators, form.type, form.attributes, predicate) +
                         "  ptx.wgmma_commit\n" + through("%r", "%d", form.accumulators, 0, form.type) +
                         storeAll("%r", form.accumulators, form.type);
      expectLines(kernel(body, "%g: i64, %b: i64, %i: i32, %f: f32, %p: i1"), {"sm_90a"}, {form.line, "wgmma.wait_group.sync.aligned 0"});
    }
}

/// A loop with one batch in flight and 128 accumulators of each thread: no copies, no spills, and ptxas adds no waits of its own.
TEST(Ptx, WgmmaLoop) {
  const int64_t count = 128;
  std::string carried, names;
  for (int64_t i = 0; i < count; ++i)
    carried += (i ? ", " : "") + ("%c" + std::to_string(i)) + " = %zero";
  std::string body = "  %zero = arith.constant 0.0 : f32\n  %from = arith.constant 0 : i32\n  %step = arith.constant 1 : i32\n"
                     "  %sum:128 = scf.for %k = %from to %n step %step iter_args(" +
                     carried + ") -> (" + repeat("f32", count) + ") : i32 {\n    %p = arith.cmpi ne, %k, %from : i32\n";
  std::string plain;
  for (int64_t i = 0; i < count; ++i)
    plain += (i ? ", %c" : "%c") + std::to_string(i);
  std::string attributes = "n = 256 : i32, aFormat = 1 : i32, bFormat = 1 : i32, cFormat = 7 : i32";
  std::string types = repeat("f32", count);
  body += "  ptx.mbarrier_wait %s, %k\n  ptx.wgmma_fence\n  %d:128 = \"ptx.wgmma\"(%b, %b, " + plain + ", %p) <{" + attributes +
          ", operandSegmentSizes = array<i32: 1, 1, 128, 1>}> : (i64, i64, " + types + ", i1) -> (" + types + ")\n";
  body += wgmma("%e", "%b", 1, "%d", count, "f32", attributes, false) + "  ptx.wgmma_commit\n" + through("%w", "%e", count, 1, "f32");
  body += "  %elect = ptx.elect\n  ptx.mbarrier_arrive %s if %elect\n  scf.yield " + list("%w", count) + " : " + types + "\n  }\n" +
          through("%r", "%sum", count, 0, "f32") + storeAll("%r", count, "f32");
  std::string text = kernel(body, "%g: i64, %b: i64, %s: i32, %n: i32");
  expectLines(text, {"sm_90a"},
              {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "wgmma.wait_group.sync.aligned 1", ".pragma \"nounroll\""});
}

/// A wait with `count` values of which the last `computed` are to be computed before it.
static std::string waitForComputed(int64_t count, int64_t computed) {
  std::string wait = "  %r:" + std::to_string(count) + " = ptx.wgmma_wait 0, " + list("%start", count) + " : " + repeat("f32", count) +
                     " {computeBeforeWait = " + std::to_string(computed) + " : i32} -> " + repeat("f32", count) + "\n";
  return kernel(unpacked(count, "f32", "%f") + wait + storeAll("%r", count, "f32"), "%g: i64, %f: f32");
}

/// A wait names some of the values that must be computed before it, also if they are all of its values, or no multiple of a step.
TEST(Ptx, WgmmaWaitNamesValues) {
  for (auto [count, computed] : {std::pair<int64_t, int64_t>{17, 17}, {17, 16}, {20, 3}, {31, 31}})
    expectLines(waitForComputed(count, computed), {"sm_90a"}, {"@never st.shared.b32", "wgmma.wait_group.sync.aligned 0"});
  std::string error;
  EXPECT_FALSE(compile(waitForComputed(4, 5), target("sm_90a"), &error).has_value());
  EXPECT_NE(error.find("fewer values through than are to be computed before it"), std::string::npos) << error;
}

TEST(Ptx, Refusals) {
  auto message = [](const char *name, const std::string &body) {
    std::string error;
    EXPECT_FALSE(compile(kernel(body, "%g: i64, %s: i32"), target(name), &error).has_value());
    return error;
  };
  EXPECT_NE(message("sm_80", "  ptx.wgmma_fence").find("sm_80 has no instruction for ptx.wgmma_fence"), std::string::npos);
  EXPECT_NE(message("sm_89", "  ptx.tma_commit").find("sm_89"), std::string::npos);
  EXPECT_NE(message("sm_90a", "  ptx.max_registers true 41").find("multiple of 8"), std::string::npos);
  EXPECT_NE(message("sm_90a", "  ptx.barrier {id = 16 : i32}").find("barrier, 0 to 15"), std::string::npos);
  EXPECT_NE(message("sm_90a", "  ptx.copy_async %s, %g {bytes = 2 : i32}").find("4, 8 or 16"), std::string::npos);
}

TEST(Ptx, MissingAssembler) {
  setenv("TILEWRIGHT_PTXAS", "/nowhere/ptxas", 1);
  AssemblerProblem problem;
  EXPECT_FALSE(assemblePtx("", target("sm_90a"), "", problem).has_value());
  EXPECT_NE(problem.text.find("ptxas was not found"), std::string::npos) << problem.text;
  EXPECT_TRUE(problem.isOfSystem);
  unsetenv("TILEWRIGHT_PTXAS");
  if (findPtxas().empty()) GTEST_SKIP() << "no ptxas here";
  EXPECT_FALSE(assemblePtx("not ptx", target("sm_90a"), "", problem).has_value());
  EXPECT_NE(problem.text.find("ptxas failed"), std::string::npos) << problem.text;
  EXPECT_FALSE(problem.isOfSystem);
}

/// What stands around the instructions: loops of both kinds, branches, 16-bit floats, poison.
TEST(Ptx, Around) {
  expectLines(kernel(R"(
  %zero = arith.constant 0 : i32  %one = arith.constant 1 : i32
  %n = ptx.block_count 0
  %u = ub.poison : f32
  %last, %m = scf.while (%i = %zero, %x = %f) : (i32, f32) -> (i32, f32) {
    %go = arith.cmpi slt, %i, %n : i32
    scf.condition(%go) %i, %x : i32, f32
  } do {
  ^bb0(%i: i32, %x: f32):
    %next = arith.addi %i, %one : i32
    %v = ptx.load_global %g -> f32
    %y = arith.maximumf %x, %v : f32
    scf.yield %next, %y : i32, f32
  }
  %h = arith.truncf %m : f32 to bf16
  %k = arith.addf %h, %b : bf16
  %w = arith.extf %k : bf16 to f32
  %z = scf.if %p -> (f32) {
    %q = arith.divf %w, %f : f32
    scf.yield %q : f32
  } else {
    %q = arith.minnumf %w, %f : f32
    scf.yield %q : f32
  }
  %s = arith.sitofp %last : i32 to f32
  %t = arith.select %p, %z, %u : f32
  ptx.store_global %g, %z, %s, %t, %t : f32, f32, f32, f32)",
                     "%g: i64, %f: f32, %b: bf16, %p: i1"),
              {"sm_80", "sm_90a"}, {"max.NaN.f32", "div.rn.f32", "min.f32"});
}

/// out = x + y over n elements, four a thread; a launch compiles this before it runs, so its time is shown.
TEST(Ptx, VectorAdd) {
  std::string text = kernel(R"(
  %t = ptx.thread_id  %b = ptx.block_id 0
  %c128 = arith.constant 128 : i32  %c4 = arith.constant 4 : i32  %four = arith.constant 4 : i64
  %base = arith.muli %b, %c128 : i32  %thread = arith.addi %base, %t : i32  %first = arith.muli %thread, %c4 : i32
  %mask = arith.cmpi slt, %first, %n : i32
  %wide = arith.extsi %first : i32 to i64  %bytes = arith.muli %wide, %four : i64
  %px = arith.addi %x, %bytes : i64  %py = arith.addi %y, %bytes : i64  %po = arith.addi %g, %bytes : i64
  %vx:4 = ptx.load_global %px if %mask -> f32, f32, f32, f32
  %vy:4 = ptx.load_global %py if %mask -> f32, f32, f32, f32
  %s0 = arith.addf %vx#0, %vy#0 : f32  %s1 = arith.addf %vx#1, %vy#1 : f32
  %s2 = arith.addf %vx#2, %vy#2 : f32  %s3 = arith.addf %vx#3, %vy#3 : f32
  ptx.store_global %po, %s0, %s1, %s2, %s3 if %mask : f32, f32, f32, f32)",
                            "%g: i64, %x: i64, %y: i64, %n: i32");
  expectLines(text, {"sm_80", "sm_90a"}, {"ld.global.v4.b32", "st.global.v4.b32"});
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(compile(text, target("sm_90a")).has_value());
  auto end = std::chrono::steady_clock::now();
  RecordProperty("microseconds", static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(end - start).count()));
  printf("text to PTX: %.2f ms\n", std::chrono::duration<double, std::milli>(end - start).count());
}

TEST(Ptx, Arithmetic) {
  expectLines(kernel(R"(
  %0 = ptx.special ex2 %f {flushes} : f32  %1 = ptx.special lg2 %0 : f32  %2 = ptx.special rsqrt %1 : f32  %3 = ptx.special rcp %2 : f32
  %4 = ptx.special sqrt %3 : f32  %5 = ptx.special sin %4 : f32  %6 = ptx.special cos %5 : f32  %7 = ptx.special tanh %6 : f32
  %8 = ptx.special sqrt_rn %7 : f32  %9 = ptx.divide %8, %f
  %10 = ptx.special rcp %d : f64  %11 = ptx.special rsqrt %10 : f64  %12 = ptx.special sqrt_rn %11 : f64
  %13 = ptx.permute %i, %i, %j
  %14 = ptx.pack %h, %h : f16, f16 -> i32
  %15:4 = ptx.unpack %i : i32 -> i8, i8, i8, i8
  %16 = ptx.convert_pair %f, %9 bf16 -> i32
  %17 = ptx.convert %f f32 -> tf32 : f32 -> f32
  %18 = ptx.inline "add.s32 $0, $1, 7;", "=r,r" true (%i) : (i32) -> i32
  %19:2 = ptx.inline "mov.b32 $0, $2; mov.b32 $1, $2;", "=r,=r,r" false (%i) : (i32) -> (i32, i32)
  ptx.store_global %g, %9, %17 : f32, f32  ptx.store_global %g, %12 : f64
  ptx.store_global %g, %13, %14, %16, %18 : i32, i32, i32, i32  ptx.store_global %g, %15#0, %15#3 : i8, i8
  ptx.store_global %g, %19#0, %19#1 : i32, i32)",
                     "%g: i64, %f: f32, %d: f64, %i: i32, %j: i32, %h: f16"),
              {"sm_80", "sm_90a"},
              {"ex2.approx.ftz.f32", "lg2.approx.f32", "rsqrt.approx.f32", "rcp.approx.f32", "sqrt.approx.f32", "sin.approx.f32",
               "cos.approx.f32", "tanh.approx.f32", "sqrt.rn.f32", "div.full.f32", "rcp.rn.f64", "rsqrt.approx.f64", "sqrt.rn.f64",
               "prmt.b32", "cvt.rn.bf16x2.f32", "cvt.rna.tf32.f32", "add.s32"});
}

TEST(Ptx, Fp8) {
  std::string text = kernel(R"(
  %0 = ptx.convert_pair %f, %f e4m3 -> i16  %1 = ptx.convert_pair %f, %f e5m2 -> i16  %2 = ptx.convert_pair %f, %f f16 -> i32
  %3 = ptx.convert %0 e4m3 -> f16 : i16 -> i32  %4 = ptx.convert %1 e5m2 -> f16 : i16 -> i32
  ptx.store_global %g, %0, %1 : i16, i16  ptx.store_global %g, %3, %4 : i32, i32  ptx.store_global %g, %2 : i32)",
                            "%g: i64, %f: f32");
  expectLines(
      text, {"sm_89", "sm_90a"},
      {"cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32", "cvt.rn.f16x2.f32", "cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2"});
  std::string error;
  EXPECT_FALSE(compile(text, target("sm_80"), &error).has_value());
  EXPECT_NE(error.find("sm_80 has no instruction for ptx.convert_pair"), std::string::npos) << error;
}

TEST(Ptx, Debugging) {
  expectLines(kernel(R"(
  ptx.print "x %d %ld %f\n", %i, %g, %d : i32, i64, f64
  ptx.print "end\n"
  ptx.assert_fail "too big", "kernel.py", "kernel", 12 if %p)",
                     "%g: i64, %i: i32, %d: f64, %p: i1"),
              {"sm_80", "sm_90a"}, {"vprintf", "__assertfail"});
}

} // namespace
