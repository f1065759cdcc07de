// tcgen05 and cluster launch control: every form is printed as meant, and ptxas takes it.
#include "gpu/machine/descriptors.h"
#include "ptx_text.h"
#include "tensor_gemm_text.h"

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

const std::string arguments = "%g: i64, %s: i32, %d: i32, %m: i64, %i: i32, %p: i1, %q: i1, %c: i16";

std::string inGroup(int64_t ctas, const std::string &more = "") {
  return " {ctaGroup = " + std::to_string(ctas) + " : i32" + more + "}";
}

TEST(PtxTensor, Allocation) {
  for (int64_t ctas : {1, 2}) {
    std::string group = ".cta_group::" + std::to_string(ctas);
    std::string text;
    for (int64_t columns = 32; columns <= 512; columns *= 2)
      text += "  ptx.tcgen05_alloc %s, " + std::to_string(columns) + inGroup(ctas) + "\n  ptx.tcgen05_dealloc %d, " +
              std::to_string(columns) + inGroup(ctas) + "\n";
    text += "  ptx.tcgen05_relinquish" + inGroup(ctas) + "\n";
    std::string alloc = "tcgen05.alloc" + group + ".sync.aligned.shared::cta.b32 [",
                dealloc = "tcgen05.dealloc" + group + ".sync.aligned.b32 ";
    std::string relinquish = "tcgen05.relinquish_alloc_permit" + group + ".sync.aligned;";
    expectLines(kernel(text, arguments), {"sm_100a", "sm_103a", "sm_110a"}, {alloc, "], 32;", "], 512;", dealloc, ", 256;", relinquish});
  }
}

TEST(PtxTensor, LoadsAndStores) {
  for (auto [shape, least] : {std::pair("m32x32b", 1), {"m16x64b", 1}, {"m16x128b", 2}, {"m16x256b", 4}, {"m16x32bx2", 1}}) {
    std::string text, name = shape + 1;
    std::vector<std::string> lines;
    for (int64_t count = least, number = 0; count <= 128; count *= 2)
      for (bool packed : {false, true}) {
        std::string v = "%v" + std::to_string(number++), half = name == "16x32bx2" ? "halfOffset = 16 : i32" : "";
        std::string type = packed ? "f32" : "i32", repetitions = ".x" + std::to_string(count / least);
        auto attributes = [&](const std::string &pack) {
          std::string list = packed ? pack + (half.empty() ? "" : ", ") + half : half;
          return list.empty() ? std::string() : " {" + list + "}";
        };
        text += "  " + v + ":" + std::to_string(count) + " = ptx.tcgen05_ld " + shape + " %d" + attributes("pack") + " -> " +
                repeat(type, count) + "\n  ptx.tcgen05_wait ld\n  ptx.tcgen05_st " + shape + " %d";
        for (int64_t i = 0; i < count; ++i)
          text += ", " + v + "#" + std::to_string(i);
        text += attributes("unpack") + " : " + repeat(type, count) + "\n  ptx.tcgen05_wait st\n";
        lines.push_back("tcgen05.ld.sync.aligned." + name + repetitions + (packed ? ".pack::16b" : "") + ".b32 {");
        lines.push_back("tcgen05.st.sync.aligned." + name + repetitions + (packed ? ".unpack::16b" : "") + ".b32 [");
      }
    lines.push_back("tcgen05.wait::ld.sync.aligned;");
    lines.push_back("tcgen05.wait::st.sync.aligned;");
    expectLines(kernel(text, arguments), {"sm_100a", "sm_103a"}, lines);
  }
}

TEST(PtxTensor, CopiesShiftsFences) {
  for (int64_t ctas : {1, 2}) {
    std::string text = "  ptx.tcgen05_fence before\n  ptx.tcgen05_fence after\n  ptx.tcgen05_shift %d if %p" + inGroup(ctas) + "\n";
    for (const char *shape : {"m128x256b", "m4x256b", "m128x128b", "m64x128b_02_13", "m64x128b_01_23", "m32x128b"})
      for (const char *source : {"", ", source = 0 : i32", ", source = 1 : i32"})
        text += std::string("  ptx.tcgen05_cp ") + shape + " %d, %m if %p" + inGroup(ctas, source) + "\n";
    std::string cp = "tcgen05.cp.cta_group::" + std::to_string(ctas);
    std::string pairs = cp + ".64x128b.warpx2::02_13.b8x16.b4x16_p64 [", four = cp + ".32x128b.warpx4 [",
                whole = cp + ".128x256b.b8x16.b6x16_p32 [";
    std::string shift = "tcgen05.shift.cta_group::" + std::to_string(ctas) + ".down [";
    expectLines(kernel(text, arguments), {"sm_100a", "sm_103a"},
                {pairs, four, whole, shift, "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"});
  }
}

TEST(PtxTensor, MmasOfEveryKind) {
  for (int64_t ctas : {1, 2}) {
    std::string text, masks = ctas == 1 ? "%i, %i, %i, %i" : "%i, %i, %i, %i, %i, %i, %i, %i";
    for (const char *kind : {"f16", "tf32", "f8f6f4"})
      for (const char *a : {"%m", "%d"}) {
        std::string type = a[1] == 'm' ? " : i64\n" : " : i32\n",
                    mma = std::string("  ptx.tcgen05_mma ") + kind + " %d, " + a + ", %m, %i, %q";
        text += mma + inGroup(ctas) + type + mma + " disable(" + masks + ") if %p" + inGroup(ctas) + type;
        if (std::string(kind) != "f8f6f4") text += mma + " if %p" + inGroup(ctas, ", scaleInputD = 7 : i32") + type;
      }
    for (auto [kind, block] : {std::pair("mxf8f6f4", 32), {"mxf4", 32}, {"mxf4nvf4", 32}, {"mxf4nvf4", 16}})
      for (const char *a : {"%m : i64", "%d : i32"})
        text += std::string("  ptx.tcgen05_mma ") + kind + " %d, " + std::string(a, 2) + ", %m, %i, %q scales %d, %s if %p" +
                inGroup(ctas, ", scaleBlock = " + std::to_string(block) + " : i32") + std::string(a + 2) + "\n";
    std::string mma = "tcgen05.mma.cta_group::" + std::to_string(ctas) + ".kind::";
    std::vector<std::string> lines = {", 7;",
                                      mma + "f16 [",
                                      mma + "tf32 [",
                                      mma + "f8f6f4 [",
                                      mma + "mxf8f6f4.block_scale.scale_vec::1X [",
                                      mma + "mxf4.block_scale.scale_vec::2X [",
                                      mma + "mxf4nvf4.block_scale.scale_vec::2X [",
                                      mma + "mxf4nvf4.block_scale.scale_vec::4X ["};
    expectLines(kernel(text, arguments), {"sm_100a", "sm_103a"}, lines);
    std::string integers = "  ptx.tcgen05_mma i8 %d, %m, %m, %i, %q" + inGroup(ctas) +
                           " : i64\n  ptx.tcgen05_mma i8 %d, %d, %m, %i, %q if %p" + inGroup(ctas) + " : i32";
    std::string i8 = mma + "i8 [";
    expectLines(kernel(integers, arguments), {"sm_100a", "sm_110a"}, {i8});
  }
}

TEST(PtxTensor, Commits) {
  for (int64_t ctas : {1, 2}) {
    std::string text = "  ptx.tcgen05_commit %s" + inGroup(ctas) + "\n  ptx.tcgen05_commit %s to %c if %p" + inGroup(ctas) + "\n";
    std::string commit = "tcgen05.commit.cta_group::" + std::to_string(ctas) + ".mbarrier::arrive::one.shared::cluster";
    std::string one = commit + ".b64 [", many = commit + ".multicast::cluster.b64 [";
    expectLines(kernel(text, arguments, "threads = 128, sharedBytes = 0, cluster = 2"), {"sm_100a", "sm_103a", "sm_110a"}, {one, many});
  }
}

TEST(PtxTensor, LaunchControl) {
  std::string text = R"(
  ptx.clc_try_cancel %s, %d if %p
  %canceled, %x, %y, %z = ptx.clc_query %s
  ptx.store_global %g, %x, %y, %z, %x if %canceled : i32, i32, i32, i32)";
  expectLines(kernel(text, arguments), {"sm_100", "sm_100a", "sm_103a", "sm_120"},
              {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [", "ld.shared.b128 response, [",
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response;",
               "@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {"});
  expectLines(kernel("  ptx.clc_try_cancel %s, %d {multicast}", arguments, "threads = 128, sharedBytes = 0, cluster = 2"),
              {"sm_100a", "sm_103a", "sm_120a"}, {".multicast::cluster::all.b128 ["});
}

TEST(PtxTensor, LoadsThatReportToTheEvenCta) {
  std::string text =
      "  ptx.tma_load %t [%i, %i] to %s, %d if %p {toLeader}\n  ptx.tma_load %t [%i, %i] to %s, %d {toLeader, multicast = 3 : i32, "
      "evict = 1 : i32}\n";
  expectLines(kernel(text, arguments + ", %t: !ptx.tensor_map", "threads = 128, sharedBytes = 0, cluster = 4"), {"sm_100a", "sm_103a"},
              {"complete_tx::bytes.cta_group::2 [", "complete_tx::bytes.multicast::cluster.cta_group::2.L2::cache_hint [", "-16777217"});
  std::string error;
  EXPECT_FALSE(compile(kernel(text, arguments + ", %t: !ptx.tensor_map"), target("sm_90a"), &error).has_value());
  EXPECT_NE(error.find("sm_90a has no instruction for ptx.tma_load"), std::string::npos) << error;
}

TEST(PtxTensor, ReductionsByTma) {
  std::string text = "  ptx.tma_commit\n";
  for (int kind = 0; kind < 8; ++kind)
    text += "  ptx.tma_store %t [%i, %i] from %s if %p {reduce = " + std::to_string(kind) + " : i32}\n";
  expectLines(kernel(text, arguments + ", %t: !ptx.tensor_map"), {"sm_100a", "sm_103a"},
              {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group", ".min.tile", ".max.tile", ".and.tile", ".or.tile",
               ".xor.tile"});
}

TEST(PtxTensor, AWholeGemm) {
  expectLines(tensor_gemm::gemm, {"sm_100a", "sm_103a", "sm_110a"},
              {"tcgen05.alloc", "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.commit", "tcgen05.ld.sync.aligned.32x32b.x64.b32",
               "tcgen05.dealloc"});
}

TEST(PtxTensor, Refusals) {
  auto message = [](const char *name, const std::string &body) {
    std::string error;
    EXPECT_FALSE(compile(kernel(body, arguments), target(name), &error).has_value());
    return error;
  };
  for (const char *name : {"sm_90a", "sm_100", "sm_103", "sm_120a"})
    EXPECT_NE(message(name, "  ptx.tcgen05_wait ld").find(std::string(name) + " has no instruction for ptx.tcgen05_wait"),
              std::string::npos)
        << name;
  EXPECT_NE(message("sm_103a", "  ptx.tcgen05_mma i8 %d, %m, %m, %i, %q : i64").find("sm_103a has no instruction for ptx.tcgen05_mma"),
            std::string::npos);
  EXPECT_NE(message("sm_110a", "  ptx.tcgen05_mma f16 %d, %m, %m, %i, %q {scaleInputD = 1 : i32} : i64").find("sm_110a"),
            std::string::npos);
  EXPECT_NE(message("sm_90a", "  ptx.clc_try_cancel %s, %d").find("sm_90a has no instruction for ptx.clc_try_cancel"), std::string::npos);
  EXPECT_NE(message("sm_100", "  ptx.clc_try_cancel %s, %d {multicast}").find("sm_100 has no instruction"), std::string::npos);
  EXPECT_NE(message("sm_100a", "  ptx.tcgen05_relinquish\n  ptx.tcgen05_relinquish {ctaGroup = 2 : i32}").find("have one cta_group"),
            std::string::npos);
}

TEST(PtxTensor, VerifierNamesTheRule) {
  auto message = [](const std::string &body) {
    std::string error;
    EXPECT_FALSE(compile(kernel(body, arguments), target("sm_100a"), &error).has_value());
    return error;
  };
  auto mma = [&](uint32_t bits, const std::string &kind) {
    return message("  %k = arith.constant " + std::to_string(int32_t(bits)) + " : i32\n  ptx.tcgen05_mma " + kind +
                   " %d, %m, %m, %k, %q : i64");
  };
  InstructionDescriptor shape;
  shape.m = 192;
  EXPECT_NE(mma(encode(shape), "f16").find("M = 192, N = 256 is not a shape of kind f16 and cta_group 1"), std::string::npos);
  shape.m = 128;
  shape.n = 264;
  EXPECT_NE(mma(encode(shape), "f16").find("N is a multiple of 8 up to 256"), std::string::npos);
  EXPECT_NE(mma(encode(shape), "i8").find("kind i8 has no D of f32"), std::string::npos);
  EXPECT_NE(message("  ptx.tcgen05_alloc %s, 48").find("columns"), std::string::npos);
  EXPECT_NE(message("  %v:3 = ptx.tcgen05_ld m32x32b %d -> i32, i32, i32")
                .find("of shape 32x32b moves a power of two from 1 to 128 registers, not 3"),
            std::string::npos);
  EXPECT_NE(message("  %v = ptx.tcgen05_ld m16x32bx2 %d -> i32").find("has an offset of its second half"), std::string::npos);
  EXPECT_NE(message("  ptx.tcgen05_mma mxf4 %d, %m, %m, %i, %q : i64").find("of kind mxf4 needs scales"), std::string::npos);
}

} // namespace
