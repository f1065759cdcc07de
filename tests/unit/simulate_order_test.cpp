// Orders that the simulator must not assume: each kernel lacks one barrier, fence or wait, and every seed must report it.
#include "simulate_text.h"

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

constexpr uint64_t seeds = 16;

/// Each order of the warps must report the error: nothing may hide it.
void expectAlways(const std::string &text, const Launch &run, const std::string &words) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::string message = simulateOnce(text, run, seed, AsyncTiming(seed % 3));
    EXPECT_NE(message.find(words), std::string::npos) << "seed " << seed << ": " << message;
  }
}
void expectNever(const std::string &text, const Launch &run) {
  for (uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_EQ(simulateOnce(text, run, seed, AsyncTiming(seed % 3)), "") << "seed " << seed;
}

std::string inCluster(const std::string &text, int64_t ctas = 2) {
  return replaced(text, "sharedBytes = ", "cluster = " + std::to_string(ctas) + ", sharedBytes = ");
}

/// The body of a kernel with %w and %w0, %w1, ... that are true in warp 0, 1, ...
std::string inWarps(int64_t warps, const std::string &arguments, const std::string &body) {
  std::string text = "  %base = ptx.shared_base\n  %t = ptx.thread_id\n  %w = ptx.warp_id\n  %lane = ptx.lane_id\n";
  for (int64_t i = 0; i < std::max<int64_t>(warps, 5); ++i)
    text += "  %c" + std::to_string(i) + " = arith.constant " + std::to_string(i) + " : i32\n";
  for (int64_t i = 0; i < warps; ++i)
    text += "  %w" + std::to_string(i) + " = arith.cmpi eq, %w, %c" + std::to_string(i) + " : i32\n";
  return kernel(32 * warps, 4096, arguments, text + body);
}

// ---- barriers

const std::string loadedByTma = inCluster(kernel(32, 4096, "%in: !ptx.tensor_map, %out: i64", R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2048 = arith.constant 2048 : i32
  %bar = arith.addi %base, %c2048 : i32
  %rank = ptx.cluster_rank
  %there = arith.xori %rank, %c1 : i32
)" + std::string("  %one = ptx.elect\n") + loadByTma() + R"(  ptx.mbarrier_wait %bar, %c0
  ptx.cluster_arrive // FIRST
  ptx.cluster_wait
  %v = ptx.load_block %base, %there -> i32
  ptx.cluster_arrive
  ptx.cluster_wait)"));

TEST(SimulateOrder, RelaxedClusterBarriersPublishNoCopies) {
  std::vector<uint16_t> in(64 * 8);
  std::vector<int32_t> out(2);
  Launch run;
  run.map(in, MapElement::f16, {64, 8}, {64}, {64, 8}, 0).pointer(out).grid = {2, 1, 1};
  expectNever(loadedByTma, run);
  expectAlways(replaced(loadedByTma, "arrive // FIRST", "arrive {relaxed}"), run, "race: reads bytes that CTA");
}

TEST(SimulateOrder, ArrivalsAndWaitsAlternate) {
  std::string meet = "  ptx.cluster_arrive\n  ptx.cluster_wait\n";
  Launch run;
  run.grid = {2, 1, 1};
  expectNever(inCluster(inWarps(1, "", meet + meet)), run);
  expectAlways(inCluster(inWarps(1, "", "  ptx.cluster_arrive\n" + meet)), run, "and has not waited since");
  expectAlways(inCluster(inWarps(1, "", meet + "  ptx.cluster_wait\n")), run, "and has not arrived");
  std::string arrive = "    ptx.barrier_arrive {id = 1 : i32, threads = 64 : i32}\n";
  auto twice = [&](const std::string &more) {
    return inWarps(2, "", "  scf.if %w0 {\n" + arrive + more + "  } else {\n    ptx.barrier {id = 1 : i32, threads = 64 : i32}\n  }\n");
  };
  EXPECT_EQ(simulateText(twice(""), {}), "");
  bool found = false;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    found |=
        simulateOnce(twice(arrive), {}, seed, AsyncTiming::random).find("the warp has arrived at barrier 1 already") != std::string::npos;
  EXPECT_TRUE(found);
}

TEST(SimulateOrder, ABarriersNextUseOrdersNoWarpOfTheLastOne) {
  // Warps 0 and 1 meet. Then warp 1 stores, and meets warp 2 at the same barrier, perhaps before warp 0 goes on.
  std::string text = inWarps(3, "", R"(
  %meets = arith.cmpi ule, %w, %c1 : i32
  scf.if %meets {
    ptx.barrier {id = 1 : i32, threads = 64 : i32}
  }
  scf.if %w1 {
    ptx.store_shared %base, %lane if %first : i32
    ptx.barrier_arrive {id = 1 : i32, threads = 64 : i32}
  }
  scf.if %w2 {
    ptx.barrier {id = 1 : i32, threads = 64 : i32}
  }
  scf.if %w0 {
    %v = ptx.load_shared %base -> i32
  })");
  text = replaced(text, "  %meets", "  %first = arith.cmpi eq, %lane, %c0 : i32\n  %meets");
  // Warp 2 comes to its barrier last: it would complete the first use otherwise.
  text = replaced(
      text, "  scf.if %meets {\n    ptx.barrier {id = 1 : i32, threads = 64 : i32}\n",
      "  scf.if %meets {\n    ptx.barrier {id = 1 : i32, threads = 64 : i32}\n    scf.if %w1 {\n      ptx.barrier_arrive {id = 2 : "
      "i32, threads = 64 : i32}\n    }\n");
  text = replaced(text, "  scf.if %w2 {\n", "  scf.if %w2 {\n    ptx.barrier {id = 2 : i32, threads = 64 : i32}\n");
  expectAlways(text, {}, "race: ");
}

// ---- global memory

TEST(SimulateOrder, AStoreHasOneValueForEachAddress) {
  auto text = [](const std::string &value) { return inWarps(2, "%out: i64", "  ptx.store_global %out, " + value + " : i32"); };
  std::vector<int32_t> out(1);
  Launch run;
  run.pointer(out).checkRaces = true;
  expectNever(text("%c3"), run);
  expectAlways(text("%lane"), run, "another thread writes another value");
  expectAlways(text("%w"), run, "another thread writes another value");
}

TEST(SimulateOrder, UnrolledCopiesOfAStoreAreStoresOfTheirOwn) {
  // Two operations of one line: two parts of one tile's store, or the copies of an unrolled store.
  auto text = [](int64_t second) {
    auto store = [](const std::string &value, int64_t tile) {
      return "    ptx.store_global %out, " + value + " if %first {tile = " + std::to_string(tile) + " : i32} : i32 loc(\"line\")\n";
    };
    return inWarps(2, "%out: i64",
                   "  %first = arith.cmpi eq, %lane, %c0 : i32\n  scf.if %w0 {\n" + store("%c3", 0) + "  } else {\n" +
                       store("%c4", second) + "  }\n");
  };
  std::vector<int32_t> out(1);
  Launch run;
  run.pointer(out).checkRaces = true;
  expectAlways(text(1), run, "nothing orders the two accesses");
  expectAlways(text(0), run, "another thread writes another value");
  expectNever(replaced(text(0), "%c4 if", "%c3 if"), run);
}

TEST(SimulateOrder, EachOfManyReadersIsKept) {
  // Warps 0, 1 and 2 load a word; warp 3 meets two of them, and stores to it.
  std::string text = inWarps(4, "%x: i64, %out: i64", R"(
  scf.if %w3 {
    ptx.barrier {id = 1 : i32, threads = 96 : i32}
    ptx.store_global %x, %c3 if %first : i32
  } else {
    %v = ptx.load_global %x -> i32
    %meets = arith.cmpi ne, %w, %c1 : i32 // WHO
    scf.if %meets {
      ptx.barrier_arrive {id = 1 : i32, threads = 96 : i32}
    }
  })");
  text = replaced(text, "  scf.if %w3 {", "  %first = arith.cmpi eq, %lane, %c0 : i32\n  scf.if %w3 {");
  std::vector<int32_t> x(1), out(1);
  Launch run;
  run.pointer(x).pointer(out);
  for (const char *absent : {"%c0", "%c1", "%c2"})
    expectAlways(replaced(text, "%w, %c1 : i32 // WHO", std::string("%w, ") + absent + " : i32"), run, "nothing orders the two");
}

/// Two programs. The first one stores data, and raises a flag with a relaxed atomic after a fence. The second one polls it, then loads.
const std::string message = kernel(32, 64, "%data: i64, %flag: i64, %out: i64", R"(
  %b = ptx.block_id 0
  %lane = ptx.lane_id
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %isFirst = arith.cmpi eq, %b, %c0 : i32
  %one = arith.cmpi eq, %lane, %c0 : i32
  scf.if %isFirst {
    ptx.store_global %data, %c1 if %one : i32
    ptx.fence gpu // RELEASE
    %old = ptx.atomic exch acq_rel gpu %flag, %c1 if %one {fenced} : i32 -> i32
  } else {
    %polls = scf.while (%x = %c0) : (i32) -> i32 {
      %seen = ptx.atomic or acq_rel gpu %flag, %c0 if %one {fenced} : i32 -> i32
      %all = ptx.shuffle idx %seen, %c0 : i32
      %more = arith.cmpi eq, %all, %c0 : i32
      scf.condition(%more) %all : i32
    } do {
    ^bb0(%y: i32):
      scf.yield %c0 : i32
    }
    ptx.fence gpu // ACQUIRE
    %v = ptx.load_global %data if %one -> i32
    ptx.store_global %out, %v if %one : i32
  })");

TEST(SimulateOrder, FencesOrderRelaxedAtomics) {
  auto check = [](const std::string &text, bool passes) {
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      std::vector<int32_t> data(1), flag(1), out(1);
      Launch run;
      run.pointer(data).pointer(flag).pointer(out).grid = {2, 1, 1};
      run.checkRaces = true;
      std::string error = simulateOnce(text, run, seed, AsyncTiming::random);
      EXPECT_EQ(error.empty(), passes) << seed << error;
      if (!passes) EXPECT_NE(error.find("and no atomics order the two"), std::string::npos) << error;
    }
  };
  check(message, true);
  // Each lane has a fence of its own.
  std::string fences = "    %two = arith.cmpi eq, %lane, %c1 : i32\n    scf.if %one {\n      ptx.fence gpu\n    }\n    scf.if %two {\n     "
                       " ptx.fence gpu\n    }\n";
  check(replaced(message, "    ptx.fence gpu // RELEASE\n", fences), true);
  check(replaced(message, "    ptx.fence gpu // RELEASE\n", replaced(fences, "    scf.if %one {\n      ptx.fence gpu\n    }\n", "")),
        false);
  check(replaced(message, "    ptx.fence gpu // RELEASE\n", ""), false);
  check(replaced(message, "    ptx.fence gpu // ACQUIRE\n", ""), false);
  std::string unfenced = message;
  for (const char *fence : {"    ptx.fence gpu // RELEASE\n", "    ptx.fence gpu // ACQUIRE\n", " {fenced}", " {fenced}"})
    unfenced = without(unfenced, fence);
  check(unfenced, true);
}

TEST(SimulateOrder, LanesWithoutAnExchangeHaveNoResult) {
  std::string text = inWarps(1, "%flag: i64, %out: i64", R"(
  %one = arith.cmpi eq, %lane, %c0 : i32
  %old = ptx.compare_swap relaxed gpu %flag, %c0, %c1 if %one : i32
  %offset = arith.muli %lane, %c4 : i32
  %wide = arith.extui %offset : i32 to i64
  %at = arith.addi %out, %wide : i64
  ptx.store_global %at, %old : i32)");
  std::vector<int32_t> flag(1, 7), out(32);
  Launch run;
  run.pointer(flag).pointer(out);
  EXPECT_EQ(simulateOnce(text, run, 0, AsyncTiming::random), "");
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(uint32_t(out[1]), 0xdeadbeef);
}

TEST(SimulateOrder, UnalignedLoadsOfLoadedPointers) {
  std::string text = inWarps(1, "%pointers: i64, %out: i64", R"(
  %p = ptx.load_global %pointers -> i64
  %v = ptx.load_global %p {unaligned} -> i32
  ptx.store_global %out, %v : i32)");
  std::vector<int32_t> memory(1, 42), out(1);
  std::vector<uint64_t> pointers = {reinterpret_cast<uint64_t>(memory.data())};
  Launch run;
  run.pointer(pointers).pointer(out).tagsArguments = true;
  for (size_t i = 0; i < 2; ++i)
    run.slots[i] = pointerInto(run.slots[i], int64_t(i));
  EXPECT_EQ(simulateOnce(text, run, 0, AsyncTiming::random), "");
  EXPECT_EQ(out[0], 42);
}

// ---- asynchronous copies

TEST(SimulateOrder, CopiesReadTheirSourceUntilTheWait) {
  // Warp 0 copies; warp 1 overwrites the source after a barrier, before warp 0 waits.
  std::string text = inWarps(2, "%x: i64", R"(
  %first = arith.cmpi eq, %lane, %c0 : i32
  scf.if %w0 {
    scf.if %first {
      ptx.copy_async %base, %x {bytes = 4 : i32}
    }
    ptx.copy_commit
  }
  ptx.copy_wait 0 // EARLY
  ptx.barrier
  scf.if %w1 {
    ptx.store_global %x, %c3 if %first : i32
  }
  ptx.barrier
  ptx.copy_wait 0)");
  std::vector<int32_t> x(1);
  Launch run;
  run.pointer(x);
  expectNever(text, run);
  expectAlways(without(text, "  ptx.copy_wait 0 // EARLY\n"), run, "race: ");
}

TEST(SimulateOrder, EveryTmaLoadIsWaitedFor) {
  std::vector<uint16_t> in(64 * 8);
  std::vector<int32_t> out(2);
  Launch run;
  run.map(in, MapElement::f16, {64, 8}, {64}, {64, 8}, 0).pointer(out).grid = {2, 1, 1};
  std::string load = loadedByTma.substr(0, loadedByTma.find("  ptx.mbarrier_wait")) + "  tt.return\n}\n";
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::string error = simulateOnce(load, run, seed, AsyncTiming(seed % 3));
    bool isLate = error.find("no thread has waited for it") != std::string::npos;
    EXPECT_TRUE(isLate || error.find("of the cluster ends, and no wait has seen phase 0 of the mbarrier") != std::string::npos) << error;
  }
}

TEST(SimulateOrder, LoadsKnowWhatWasBeforeTheirIssue) {
  // CTA 0 copies x; CTA 1 stores to x between two barriers of the cluster, and CTA 0 waits for its copy after both.
  std::string text = inCluster(kernel(32, 4096, "%in: !ptx.tensor_map, %x: i64", R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2048 = arith.constant 2048 : i32
  %bar = arith.addi %base, %c2048 : i32
  %rank = ptx.cluster_rank
  %isFirst = arith.cmpi eq, %rank, %c0 : i32
  %isOther = arith.cmpi eq, %rank, %c1 : i32
  %leader = ptx.elect
  %one = arith.andi %isFirst, %leader : i1
  %two = arith.andi %isOther, %leader : i1
)" + loadByTma("ptx.warp_barrier", "%leader") + R"(  ptx.cluster_arrive
  ptx.cluster_wait
  ptx.store_global %x, %c1 if %two : i32
  ptx.cluster_arrive
  ptx.cluster_wait
  scf.if %isFirst {
    ptx.mbarrier_wait %bar, %c0
  })"));
  std::vector<uint16_t> in(64 * 8);
  Launch run;
  run.map(in, MapElement::f16, {64, 8}, {64}, {64, 8}, 0).pointer(in).grid = {2, 1, 1};
  expectAlways(text, run, "race: ");
  std::string wait = "  scf.if %isFirst {\n    ptx.mbarrier_wait %bar, %c0\n  }";
  expectNever(replaced(without(text, wait), "  ptx.cluster_arrive\n", wait + "\n  ptx.cluster_arrive\n"), run);
}

// ---- shared memory and registers

TEST(SimulateOrder, EachAdderIsKept) {
  // Warps 0 and 1 add to a word. Warp 2 meets one of them.
  auto text = [](const std::string &present) {
    return inWarps(3, "",
                   R"(
  %first = arith.cmpi eq, %lane, %c0 : i32
  scf.if %w2 {
    ptx.barrier {id = 1 : i32, threads = 64 : i32}
    %v = ptx.load_shared %base -> i32
  } else {
    ptx.add_shared %base, %c1 if %first
    %meets = arith.cmpi eq, %w, )" +
                       present + R"( : i32
    scf.if %meets {
      ptx.barrier_arrive {id = 1 : i32, threads = 64 : i32}
    }
  })");
  };
  std::string start = "  %first = arith.cmpi", zeros = "  scf.if %w0 {\n    ptx.store_shared %base, %c0 : i32\n  }\n  ptx.barrier\n";
  expectAlways(replaced(text("%c0"), start, zeros + start), {}, "race: ");
  expectAlways(replaced(text("%c1"), start, zeros + start), {}, "race: ");
  std::string all = replaced(replaced(text("%w"), "threads = 64", "threads = 96"), "threads = 64", "threads = 96");
  expectNever(replaced(all, start, zeros + start), {});
}

TEST(SimulateOrder, WarpGroupsShareTheRegistersOfTheirCta) {
  auto text = [](int64_t consumer, int64_t producer, const std::string &warps) {
    return replaced(inWarps(8, "",
                            R"(
  %consumes = arith.cmpi ult, %w, %c4 : i32
  %produces = arith.cmpi uge, %w, )" +
                                warps + R"( : i32
  scf.if %produces {
    ptx.max_registers false )" + std::to_string(producer) +
                                R"(
  }
  scf.if %consumes {
    ptx.max_registers true )" + std::to_string(consumer) +
                                "\n  }"),
                    "sharedBytes = ", "maxRegisters = 128, sharedBytes = ");
  };
  expectNever(text(232, 24, "%c4"), {});
  expectAlways(text(240, 24, "%c4"), {}, "waits for 240 registers");
  expectAlways(text(200, 24, "%c5"), {}, "did not execute the same setmaxnreg instructions");
  expectAlways(text(120, 24, "%c4"), {}, "the warp's threads have 128 registers: this is not an increase");
}

TEST(SimulateOrder, AccumulatorsInFlightKeepTheirShape) {
  auto wgmma = [](const std::string &result, const std::string &c, const std::string &format) {
    return "  " + result + ":4 = \"ptx.wgmma\"(%a, %a, " + c + ") <{n = 8 : i32, aFormat = " + format + " : i32, bFormat = " + format +
           " : i32, cFormat = 7 : i32, operandSegmentSizes = array<i32: 1, 1, 4, 0>}> : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, "
           "f32)\n";
  };
  auto text = [&](const std::string &format) {
    return kernel(128, 8192, "",
                  R"(
  %f = arith.constant 0.0 : f32
  %a = arith.constant 4611686293305294912 : i64
  ptx.wgmma_fence
)" + wgmma("%d", "%f, %f, %f, %f", "0") +
                      wgmma("%e", "%d#0, %d#1, %d#2, %d#3", format) + "  ptx.wgmma_commit\n");
  };
  expectNever(text("1"), {}); // f16 and bf16 have one shape
  expectAlways(text("2"), {}, "the accumulator of a wgmma of another shape is used without a wgmma_wait");
}

TEST(SimulateOrder, EachReaderOfAResponseFences) {
  std::vector<int32_t> out(4);
  Launch run;
  run.pointer(out).grid = {4, 1, 1};
  std::string text = programLoop("");
  EXPECT_EQ(simulateText(text, run), "");
  std::string alone = replaced(text, "    ptx.fence_async\n", "    scf.if %one {\n      ptx.fence_async\n    }\n");
  std::string error = simulateText(unmarked(alone), run);
  EXPECT_NE(error.find("has read the previous response"), std::string::npos) << error;
}

} // namespace
