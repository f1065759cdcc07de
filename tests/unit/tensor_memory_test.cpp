// The rules of tensor memory and of the order between tcgen05 operations: each broken once, and reported by name; the correct twin passes.
#include "tensor_text.h"

using namespace tilewright;
using namespace tilewright::gpu;
using F = TensorFormat;

namespace {

/// The message of a kernel of mmaKernel's parameters.
std::string messageOf(const std::string &text, int64_t ctas = 1) {
  std::vector<uint8_t> image(size_t(32768 * ctas));
  std::vector<uint32_t> words(size_t(8 * 128 * ctas)), out(size_t(128 * 256 * ctas));
  Launch launch;
  launch.pointer(image).pointer(words).pointer(out).grid = {ctas, 1, 1};
  return simulateText(text, launch);
}

/// The message of each order of execution, of a pair.
std::vector<std::string> everyMessageOf(const std::string &text) {
  std::vector<uint8_t> image(size_t(32768 * 2));
  std::vector<uint32_t> words(size_t(8 * 128 * 2)), out(size_t(128 * 256 * 2));
  Launch launch;
  launch.pointer(image).pointer(words).pointer(out).grid = {2, 1, 1};
  std::vector<std::string> messages;
  for (uint64_t seed = 0; seed < 24; ++seed)
    messages.push_back(simulateOnce(text, launch, seed, AsyncTiming::random));
  return messages;
}

void expectRule(const std::string &text, const std::string &rule, int64_t ctas = 1) {
  std::string message = messageOf(text, ctas);
  EXPECT_NE(message.find(rule), std::string::npos) << message;
}

/// The same with the first 8 columns of D from registers.
std::string accumulating() {
  MmaTest test = smallTest();
  test.accumulate = true;
  test.shape.n = 8;
  return mmaKernel(test);
}

const std::string dealloc = "    ptx.tcgen05_dealloc %d, 512 {ctaGroup = 1 : i32}\n";
const std::string commit = "  ptx.tcgen05_commit %bar if %e\n";
const std::string waitForMma = "  ptx.mbarrier_wait %bar, %c0\n";
const std::string fenceAfterWait = waitForMma + "  ptx.tcgen05_fence after\n";
const std::string clusterBarrier = "  ptx.cluster_arrive\n  ptx.cluster_wait\n";
const std::string fencesOfStore = "  ptx.tcgen05_wait st\n  ptx.tcgen05_fence before\n" + clusterBarrier + "  ptx.tcgen05_fence after\n";

/// `text` after the first MMA, in the thread that executes it.
std::string afterMma(const std::string &text, const std::string &added) {
  return replaced(text, " // MMA\n", "\n" + added);
}
/// A second mbarrier, after the address of tensor memory.
std::string withSecondBarrier(const std::string &text) {
  return replaced(text, "  ptx.mbarrier_init_fence\n",
                  "  %second = arith.addi %bar, %c16 : i32\n  ptx.mbarrier_init %second, 1 if %one\n  ptx.mbarrier_init_fence\n");
}

// ---- allocation: PTX ISA 9.7.16.7.1

TEST(TensorMemory, TheKernelIsCorrect) {
  EXPECT_EQ(messageOf(small()), "");
  EXPECT_EQ(messageOf(accumulating()), "");
}

TEST(TensorMemory, EveryAllocationIsFreed) {
  expectRule(without(small(), dealloc), "every allocation must be freed");
  expectRule(replaced(small(), dealloc, "    ptx.tcgen05_dealloc %d, 256\n"), "no allocation has this address and 256 columns");
  expectRule(replaced(small(), dealloc, "    ptx.tcgen05_dealloc %own, 512\n    ptx.tcgen05_dealloc %own, 512\n"),
             "no allocation has this address");
}

TEST(TensorMemory, OneWarpAllocatesAndFrees) {
  std::string second = "  %c1 = arith.constant 1 : i32\n  %isSecond = arith.cmpi eq, %w, %c1 : i32\n  scf.if %isSecond {\n" + dealloc;
  expectRule(replaced(small(), "  scf.if %isFirst {\n" + dealloc, second), "one warp of a CTA allocates and frees it");
}

TEST(TensorMemory, NoAllocationAfterRelinquish) {
  std::string early = "    ptx.tcgen05_relinquish\n    ptx.tcgen05_alloc %slot, 512";
  expectRule(replaced(small(), "    ptx.tcgen05_alloc %slot, 512", early), "has relinquished its right to allocate");
}

TEST(TensorMemory, AllocationsDoNotGrow) {
  std::string growing = replaced(small(), "alloc %slot, 512 {ctaGroup = 1 : i32}\n", "alloc %slot, 32\n    ptx.tcgen05_alloc %slot, 64\n");
  expectRule(growing, "allocates 64 columns after 32: the number must not increase");
}

TEST(TensorMemory, AllocBlocksWhileNothingIsFree) {
  std::string twice = replaced(small(), "alloc %slot, 512 {ctaGroup = 1 : i32}\n", "alloc %slot, 512\n    ptx.tcgen05_alloc %slot, 512\n");
  expectRule(twice, "deadlock: warp 0 waits for 512 columns of tensor memory");
}

TEST(TensorMemory, ColumnsAreAPowerOfTwo) {
  for (const char *columns : {"16", "48", "1024"})
    EXPECT_EQ(messageOf(replaced(small(), "alloc %slot, 512", std::string("alloc %slot, ") + columns)).substr(0, 10), "not parsed")
        << columns;
}

TEST(TensorMemory, AccessesStayInsideAllocations) {
  std::string narrow = replaced(small(), "alloc %slot, 512", "alloc %slot, 32");
  narrow = replaced(narrow, "dealloc %d, 512", "dealloc %d, 32");
  EXPECT_EQ(messageOf(narrow), "");
  MmaTest test = smallTest();
  test.shape.n = 64;
  std::string outside = replaced(replaced(mmaKernel(test), "alloc %slot, 512", "alloc %slot, 32"), "dealloc %d, 512", "dealloc %d, 32");
  expectRule(outside, "of tensor memory is not allocated (PTX ISA 9.7.16.1.2)");
  std::string late = replaced(small(), dealloc, dealloc + "    %late = ptx.tcgen05_ld m32x32b %own -> i32\n");
  expectRule(late, "is not allocated");
}

TEST(TensorMemory, AccessesEndBeforeDealloc) {
  std::string last = "  ptx.tcgen05_wait ld\n", text = small();
  text.erase(text.rfind(last), last.size());
  expectRule(text, "tcgen05_wait ld is missing");
  // Other warps may load before the columns are freed (a race) or after it.
  expectRule(replaced(small(), clusterBarrier + "  scf.if %isFirst {\n" + dealloc, "  scf.if %isFirst {\n" + dealloc), "tensor memory");
  std::string early = afterMma(small(), "    ptx.tcgen05_dealloc %d, 512\n");
  expectRule(early, "ptx.tcgen05_dealloc: race in tensor memory");
}

// ---- access restrictions: PTX ISA 9.7.16.8

TEST(TensorMemory, AWarpAccessesItsLanes) {
  expectRule(replaced(small(), "%own = arith.addi %d, %warpLane", "%own = arith.addi %d, %c0"),
             "but it accesses lanes 32 to 63 only (PTX ISA 9.7.16.8.1)");
  expectRule(replaced(small(), "%from0 = arith.addi %own, %column0", "%from0 = arith.addi %own, %t"),
             "the threads of the warp give different addresses");
}

TEST(TensorMemory, RegistersFitTheShape) {
  std::string text = small();
  auto loads = [&](const std::string &load) {
    return messageOf(replaced(text, "  %v0:8 = ptx.tcgen05_ld", load + "  %v0:8 = ptx.tcgen05_ld"));
  };
  EXPECT_EQ(loads("  %x = ptx.tcgen05_ld m16x64b %from0 -> i32\n  ptx.tcgen05_wait ld\n"), "");
  EXPECT_EQ(loads("  %x = ptx.tcgen05_ld m16x32bx2 %from0 {halfOffset = 4 : i32} -> i32\n  ptx.tcgen05_wait ld\n"), "");
  EXPECT_EQ(loads("  %x = ptx.tcgen05_ld m16x128b %from0 -> i32\n").substr(0, 10), "not parsed");
  EXPECT_EQ(loads("  %x:3 = ptx.tcgen05_ld m32x32b %from0 -> i32, i32, i32\n").substr(0, 10), "not parsed");
  EXPECT_EQ(loads("  %x:2 = ptx.tcgen05_ld m16x256b %from0 -> i32, i32\n").substr(0, 10), "not parsed");
  EXPECT_EQ(loads("  %x = ptx.tcgen05_ld m16x32bx2 %from0 -> i32\n").substr(0, 10), "not parsed");
  EXPECT_EQ(loads("  %x = ptx.tcgen05_ld m32x32b %from0 {halfOffset = 4 : i32} -> i32\n").substr(0, 10), "not parsed");
}

TEST(TensorMemory, WholeWarpsExecuteTogether) {
  auto broken = [](const std::string &op) {
    expectRule(replaced(small(), "  ptx.tcgen05_fence after\n", "  ptx.tcgen05_fence after\n  scf.if %leader {\n" + op + "  }\n"),
               "all lanes of the warp must take part, but only 1 are active");
  };
  broken("    %x = ptx.tcgen05_ld m32x32b %own -> i32\n");
  broken("    ptx.tcgen05_st m32x32b %own, %c0 : i32\n");
  broken("    ptx.tcgen05_wait ld\n");
  expectRule(replaced(small(), "  scf.if %isFirst {\n    ptx.tcgen05_alloc", "  scf.if %one {\n    ptx.tcgen05_alloc"),
             "all lanes of the warp must take part");
}

// ---- issue: PTX ISA 9.7.16.5

TEST(TensorMemory, OneThreadIssues) {
  expectRule(replaced(small(), " if %e {ctaGroup", " {ctaGroup"), "32 threads of the warp execute this");
  expectRule(replaced(small(), "commit %bar if %e", "commit %bar"), "32 threads of the warp execute this");
}

TEST(TensorMemory, OneCtaGroup) {
  expectRule(replaced(small(), "commit %bar if %e", "commit %bar if %e {ctaGroup = 2 : i32}"),
             "all tcgen05 operations of a kernel have one cta_group");
  EXPECT_EQ(messageOf(replaced(small(), "commit %bar if %e", "commit %bar if %e {ctaGroup = 3 : i32}")).substr(0, 10), "not parsed");
}

// ---- order: PTX ISA 9.7.16.6

TEST(TensorMemory, ALoadFollowsTheMma) {
  expectRule(without(small(), waitForMma), "race in tensor memory");
  expectRule(afterMma(small(), "  %early = ptx.tcgen05_ld m32x32b %d -> i32\n"),
             "a tcgen05_commit after the first, and a wait for its mbarrier, are missing");
  expectRule(replaced(small(), fenceAfterWait, waitForMma), "tcgen05_fence after is missing");
  expectRule(without(small(), commit), "deadlock");
  // A fence before the wait is too early.
  expectRule(replaced(small(), fenceAfterWait, "  ptx.tcgen05_fence after\n" + waitForMma), "tcgen05_fence after is missing");
}

TEST(TensorMemory, ACommitTracksItsThread) {
  std::string other = "  %lane = ptx.lane_id\n  %c7 = arith.constant 7 : i32\n  %is7 = arith.cmpi eq, %lane, %c7 : i32\n  "
                      "ptx.tcgen05_commit %bar if %is7\n";
  expectRule(replaced(small(), commit, other), "a tcgen05_commit after the first, and a wait for its mbarrier, are missing");
}

TEST(TensorMemory, OthersMayWaitForTheMma) {
  // One warp waits, a barrier tells the others; each needs its own fence.
  std::string one = replaced(small(), fenceAfterWait,
                             "  scf.if %isFirst {\n    ptx.mbarrier_wait %bar, %c0\n  }\n  ptx.barrier\n  ptx.tcgen05_fence after\n");
  EXPECT_EQ(messageOf(one), "");
  expectRule(without(one, "  ptx.barrier\n"), "race in tensor memory");
}

TEST(TensorMemory, AnMmaFollowsAStore) {
  auto broken = [](const std::string &fences) { return replaced(accumulating(), fencesOfStore, fences); };
  std::string wait = "  ptx.tcgen05_wait st\n", before = "  ptx.tcgen05_fence before\n", after = "  ptx.tcgen05_fence after\n";
  expectRule(broken(before + clusterBarrier + after), "tcgen05_wait st is missing");
  expectRule(broken(wait + clusterBarrier + after), "tcgen05_fence before is missing");
  expectRule(broken(wait + before + clusterBarrier), "tcgen05_fence after is missing");
  expectRule(broken(wait + before + after), "no synchronization orders the two");
  expectRule(broken("  ptx.tcgen05_wait ld\n" + before + clusterBarrier + after), "tcgen05_wait st is missing");
}

TEST(TensorMemory, LoadsAndStoresOfOneWarpNeedWaits) {
  std::string both =
      "  ptx.tcgen05_wait st\n  %back = ptx.tcgen05_ld m32x32b %wordPlace -> i32\n  ptx.tcgen05_wait ld\n  ptx.tcgen05_st m32x32b "
      "%wordPlace, %back : i32\n" +
      fencesOfStore;
  std::string text = replaced(accumulating(), fencesOfStore, both);
  EXPECT_EQ(messageOf(text), "");
  expectRule(without(text, "  ptx.tcgen05_wait st\n"), "tcgen05_wait st is missing");
  expectRule(without(text, "  ptx.tcgen05_wait ld\n"), "tcgen05_wait ld is missing");
}

/// Another MMA into the same accumulator after all warps have read it.
std::string reusing() {
  std::string again = "  ptx.tcgen05_fence before\n  ptx.barrier\n  ptx.tcgen05_fence after\n  scf.if %isFirst {\n    %e2 = ptx.elect\n" +
                      descriptorText("c", smallTest().a, 0) + descriptorText("f", smallTest().b, 0) +
                      constant("i2", int32_t(encode(smallTest().shape))) +
                      "    ptx.tcgen05_mma f16 %d, %c, %f, %i2, %false if %e2 : i64\n    ptx.tcgen05_commit %second if %e2\n  }\n"
                      "  ptx.mbarrier_wait %second, %c0\n";
  return withSecondBarrier(replaced(small(), "  ptx.cluster_arrive\n  ptx.cluster_wait\n  scf.if %isFirst {\n    ptx.tcgen05_dealloc",
                                    again + "  ptx.cluster_arrive\n  ptx.cluster_wait\n  scf.if %isFirst {\n    ptx.tcgen05_dealloc"));
}

TEST(TensorMemory, AnMmaFollowsTheLoads) {
  std::string text = reusing(),
              fences = "  ptx.tcgen05_fence before\n  ptx.barrier\n  ptx.tcgen05_fence after\n  scf.if %isFirst {\n    %e2";
  EXPECT_EQ(messageOf(text), "");
  auto broken = [&](const std::string &kept) { return replaced(text, fences, kept + "  scf.if %isFirst {\n    %e2"); };
  expectRule(broken("  ptx.barrier\n  ptx.tcgen05_fence after\n"), "tcgen05_fence before is missing");
  expectRule(broken("  ptx.tcgen05_fence before\n  ptx.barrier\n"), "tcgen05_fence after is missing");
  expectRule(broken("  ptx.tcgen05_fence before\n  ptx.tcgen05_fence after\n"), "race in tensor memory");
  std::string unwaited = text; // the last load of each warp
  size_t wait = unwaited.rfind("  ptx.tcgen05_wait ld\n");
  expectRule(unwaited.erase(wait, std::strlen("  ptx.tcgen05_wait ld\n")), "tcgen05_wait ld is missing");
  // The kernel must also wait for the second MMA before it frees its accumulator.
  expectRule(without(text, "  ptx.mbarrier_wait %second, %c0\n"),
             "a tcgen05_commit after the first, and a wait for its mbarrier, are missing");
}

TEST(TensorMemory, PipelinedPairsNeedNoWait) {
  MmaTest test = smallTest();
  test.a = {.start = 0, .leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
  test.b = {.start = 16384, .leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
  test.steps = 4;
  EXPECT_EQ(messageOf(mmaKernel(test)), ""); // mma after mma, same accumulator and shape
  MmaTest narrow = smallTest();
  narrow.shape.n = 8;
  std::string other = constant("otherShape", int32_t(encode(narrow.shape))) +
                      "  ptx.tcgen05_mma f16 %accumulator, %a0, %b0, %otherShape, %true if %e : i64\n";
  expectRule(afterMma(small(), other), "the two are not a pipeline (PTX ISA 9.7.16.6.2)");
  std::string shifted =
      "  %moved = arith.addi %accumulator, %c4 : i32\n  ptx.tcgen05_mma f16 %moved, %a0, %b0, %instruction, %true if %e : i64\n";
  expectRule(afterMma(small(), shifted), "the two are not a pipeline");
  std::string chained = "  %fresh = arith.addi %accumulator, %c128 : i32\n  ptx.tcgen05_mma f16 %fresh, %accumulator, %b0, %instruction, "
                        "%false if %e : i32\n";
  expectRule(afterMma(small(), chained), "the two are not a pipeline"); // A is D of the first
}

// ---- cp and shift

/// The thread copies 32 rows of 16 bytes to column 100 before the MMA.
std::string copying(const std::string &before, const std::string &after) {
  std::string text = "  %c100 = arith.constant 100 : i32\n  %place = arith.addi %d, %c100 : i32\n" +
                     descriptorText("source", {.stride = 128}, 16384) + before;
  return afterMma(replaced(small(), "  %columnA = ", text + "  %columnA = "), after);
}
const std::string copy = "  ptx.tcgen05_cp m32x128b %place, %source if %e\n";

TEST(TensorMemory, CopiesArePipelinedWithLaterMmas) {
  std::string scaledBefore = mmaKernel([] {
    MmaTest test = smallTest();
    test.shape.kind = MmaKind::mxf8f6f4;
    test.shape.a = test.shape.b = F::e4m3;
    test.scaleBlock = 32;
    test.scaleOffset = 24576;
    return test;
  }());
  EXPECT_EQ(messageOf(scaledBefore), "");
  // A copy over scales that an MMA reads is not a pipeline; nor are two copies to one place.
  expectRule(afterMma(scaledBefore, "  ptx.tcgen05_cp m32x128b %sa, %scaleA if %e\n"), "the two are not a pipeline");
  EXPECT_EQ(messageOf(copying(copy, "")), "");
  expectRule(copying(copy + copy, ""), "the two are not a pipeline");
}

TEST(TensorMemory, CopiesOfAnotherThreadNeedFences) {
  // Warp 1 copies the scales, warp 0 multiplies: PTX ISA 9.7.16.6.4.3.
  MmaTest test = smallTest();
  test.shape.kind = MmaKind::mxf8f6f4;
  test.shape.a = test.shape.b = F::e4m3;
  test.scaleBlock = 32;
  test.scaleOffset = 24576;
  std::string text = mmaKernel(test), issue = "  %issues = arith.andi %true, %isFirst : i1\n  scf.if %issues {\n  %e = ptx.elect\n";
  size_t begin = text.find(issue), copies = text.find("  %columnA = ");
  std::string ofScales = text.substr(begin + issue.size(), copies - begin - issue.size());
  std::string values = ofScales, outside;
  for (size_t at = 0, end; at < values.size(); at = end + 1) { // addresses for both warps, copies in warp 1
    end = values.find('\n', at);
    std::string line = values.substr(at, end - at + 1);
    if (line.find("tcgen05_cp") == std::string::npos) outside += line;
  }
  std::string inWarp1;
  for (const char *line : {"%sa, %scaleA", "%sb, %scaleB", "%sb2, %scaleB2"})
    inWarp1 += std::string("    ptx.tcgen05_cp m32x128b ") + line + " if %e1\n";
  std::string split = text.substr(0, begin) + outside + "  %c1 = arith.constant 1 : i32\n  %isSecond = arith.cmpi eq, %w, %c1 : i32\n" +
                      "  scf.if %isSecond {\n    %e1 = ptx.elect\n" + inWarp1 + "    ptx.tcgen05_commit %second if %e1\n" +
                      "    ptx.tcgen05_fence before\n  }\n  ptx.barrier\n  ptx.tcgen05_fence after\n" + issue + text.substr(copies);
  split = withSecondBarrier(replaced(split, waitForMma, waitForMma + "  ptx.mbarrier_wait %second, %c0\n")); // for dealloc
  EXPECT_EQ(messageOf(split), "");
  expectRule(without(split, "    ptx.tcgen05_fence before\n"), "tcgen05_fence before is missing in warp 1");
  expectRule(replaced(split, "  ptx.barrier\n  ptx.tcgen05_fence after\n", "  ptx.barrier\n"), "tcgen05_fence after is missing");
  expectRule(replaced(split, "  ptx.barrier\n  ptx.tcgen05_fence after\n", "  ptx.tcgen05_fence after\n"),
             "no synchronization orders the two");
}

TEST(TensorMemory, ShiftsAreChecked) {
  EXPECT_EQ(messageOf(afterMma(small(), "  ptx.tcgen05_shift %accumulator if %e\n")), ""); // mma, shift
  std::string lane =
      "  %c8lanes = arith.constant 524288 : i32\n  %wrong = arith.addi %accumulator, %c8lanes : i32\n  ptx.tcgen05_shift %wrong if %e\n";
  expectRule(afterMma(small(), lane), "the lane of the address is not a multiple of 32");
  expectRule(copying(copy + "  ptx.tcgen05_shift %place if %e\n", ""), "the two are not a pipeline"); // cp, shift
}

TEST(TensorMemory, OperandsInTensorMemoryStayUntilTheMmaIsComplete) {
  MmaTest test = smallTest();
  test.aInTensorMemory = true;
  std::string text = mmaKernel(test);
  EXPECT_EQ(messageOf(text), "");
  expectRule(afterMma(text, "  ptx.tcgen05_st m32x32b %placeA, %c0 : i32\n"), "the two are not a pipeline");      // A
  expectRule(afterMma(text, "  ptx.tcgen05_st m32x32b %accumulator, %c0 : i32\n"), "the two are not a pipeline"); // D
}

// ---- shared memory: PTX ISA 9.7.16.6.5

TEST(TensorMemory, OperandsNeedAProxyFence) {
  expectRule(without(small(), "  ptx.fence_async\n"), "fence_async is missing");
}

TEST(TensorMemory, OperandsStayUntilTheMmaIsComplete) {
  std::string store =
      "  %first = arith.muli %t, %c4 : i32\n  %over = arith.addi %base, %first : i32\n  ptx.store_shared %over, %c0 : i32\n";
  EXPECT_EQ(messageOf(replaced(small(), waitForMma, waitForMma + store)), "");
  expectRule(replaced(small(), waitForMma, store + waitForMma), "race: ");
  std::string alone = afterMma(small(), "  ptx.store_shared %base, %c0 if %e : i32\n");
  expectRule(alone, "may still be reading: a tcgen05_commit after it and a wait for its mbarrier are missing");
}

TEST(TensorMemory, SourcesOfCopiesStay) {
  std::string store = "  ptx.store_shared %sourceStart, %c0 if %e : i32\n";
  expectRule(copying(copy + store, ""), "race: writes bytes that ptx.tcgen05_cp");
  expectRule(copying(store + copy, ""), "fence_async is missing");
  EXPECT_EQ(messageOf(copying(store + "  ptx.fence_async\n" + copy, "")), "");
}

TEST(TensorMemory, BarriersCountTheirArrivals) {
  expectRule(replaced(small(), commit, commit + commit), "deadlock"); // the second arrival completes the next phase
  expectRule(without(small(), "  ptx.mbarrier_init %bar, 1 if %one\n"), "no mbarrier was initialized");
  expectRule(replaced(small(), commit, "  %far = arith.constant 4 : i16\n  ptx.tcgen05_commit %bar to %far if %e\n"),
             "the cluster has fewer CTAs than the mask names");
}

// ---- descriptors

TEST(TensorMemory, DescriptorsAreChecked) {
  auto instruction = [](uint32_t bits, bool isConstant) {
    std::string text = small(), old = constant("instruction", int32_t(encode(smallTest().shape)));
    std::string fresh = constant("instruction", int32_t(bits));
    if (!isConstant) fresh = constant("bitsOfIt", int32_t(bits)) + "  %instruction = arith.addi %bitsOfIt, %c0 : i32\n";
    return messageOf(replaced(text, old, fresh));
  };
  InstructionDescriptor wide = smallTest().shape;
  wide.m = 256;
  EXPECT_EQ(instruction(encode(wide), true).substr(0, 10), "not parsed"); // the verifier knows the constant
  EXPECT_NE(instruction(encode(wide), false).find("M = 256, N = 16 is not a shape of kind f16 and cta_group 1"), std::string::npos);
  EXPECT_NE(instruction(encode(smallTest().shape) | 4, false).find("sparse matrices are not supported"), std::string::npos);
  auto matrix = [](uint64_t mask, uint64_t bits) {
    std::string old = constant("b0Bits", int64_t(encode(MatrixDescriptor{.leading = 16, .stride = 256, .swizzle = Swizzle::b32})), "i64");
    uint64_t changed = (encode(MatrixDescriptor{.leading = 16, .stride = 256, .swizzle = Swizzle::b32}) & ~mask) | bits;
    return messageOf(replaced(small(), old, constant("b0Bits", int64_t(changed), "i64")));
  };
  EXPECT_EQ(matrix(0, 0), "");
  EXPECT_NE(matrix(uint64_t(7) << 46, 0).find("B: bits 46 to 48 of a matrix descriptor are 0b001 (PTX ISA 9.7.16.4.1)"), std::string::npos);
  EXPECT_NE(matrix(uint64_t(7) << 61, uint64_t(3) << 61).find("swizzle mode 3"), std::string::npos);
  EXPECT_NE(matrix(uint64_t(7) << 61, uint64_t(1) << 61).find("is for MN-major matrices of 32-bit elements"), std::string::npos);
  EXPECT_NE(matrix(0, uint64_t(1) << 49).find("does not support a base offset"), std::string::npos);
}

TEST(TensorMemory, OperandsOfKindsAreVerified) {
  auto mma = [](const std::string &text) { return messageOf(afterMma(small(), "  ptx.tcgen05_mma " + text + "\n")); };
  EXPECT_EQ(mma("f16 %d, %a0, %b0, %c0, %true scales %d, %d if %e : i64").substr(0, 10), "not parsed");
  EXPECT_EQ(mma("mxf4 %d, %a0, %b0, %c0, %true if %e : i64").substr(0, 10), "not parsed");
  EXPECT_EQ(mma("f8f6f4 %d, %a0, %b0, %instruction, %true if %e {scaleInputD = 1 : i32} : i64").substr(0, 10), "not parsed");
  EXPECT_EQ(mma("f16 %d, %a0, %b0, %instruction, %true if %e {scaleInputD = 16 : i32} : i64").substr(0, 10), "not parsed");
  EXPECT_EQ(mma("f16 %d, %a0, %b0, %instruction, %true disable(%c0, %c0) if %e : i64").substr(0, 10), "not parsed");
}

TEST(TensorMemory, LanesOfOperands) {
  std::string lane = constant("dLane", 0);
  expectRule(replaced(small(), lane, constant("dLane", 16 << 16)), "D starts at lane 16, not 0 (PTX ISA 9.7.16.10.5)");
  MmaTest test = smallTest();
  test.shape.m = 64;
  test.aInTensorMemory = true;
  std::string text = mmaKernel(test);
  EXPECT_EQ(messageOf(text), "");
  expectRule(replaced(text, "%placeA = arith.addi %accumulator, %columnA",
                      "%lane16 = arith.constant 1048576 : i32\n  %higher = arith.addi %accumulator, %lane16 : i32\n  %placeA = arith.addi "
                      "%higher, %columnA"),
             "A and D start at different lanes");
}

// ---- pairs of CTAs: PTX ISA 9.7.16.5

std::string paired() {
  MmaTest test = smallTest();
  test.ctaGroup = 2;
  test.shape.m = 256;
  return mmaKernel(test);
}

TEST(TensorMemory, PairsExecuteTogether) {
  EXPECT_EQ(messageOf(paired(), 2), "");
  std::string alone = replaced(paired(), "cluster = 2, ", "");
  expectRule(alone, "cta_group 2 needs a pair of CTAs");
  // The odd CTA allocates another number of columns, or none.
  std::string number =
      "    %isEven = arith.cmpi eq, %rank, %c0 : i32\n    scf.if %isEven {\n      ptx.tcgen05_alloc %slot, 512 {ctaGroup = 2 : i32}\n    }";
  std::string some = replaced(paired(), "    ptx.tcgen05_alloc %slot, 512 {ctaGroup = 2 : i32}", number);
  expectRule(some, "deadlock", 2);
  expectRule(replaced(some, "    }\n  }", "    } else {\n      ptx.tcgen05_alloc %slot, 256 {ctaGroup = 2 : i32}\n    }\n  }"),
             "both execute it", 2);
}

TEST(TensorMemory, DeallocOfAPairMayWait) {
  // Table 48 of the ISA: the odd CTA frees before the cluster barrier, the even one after it.
  std::string meeting = "  ptx.cluster_arrive\n  ptx.cluster_wait\n", free = "    ptx.tcgen05_dealloc %d, 512 {ctaGroup = 2 : i32}\n";
  std::string odd = "  %isOdd = arith.cmpi ne, %rank, %c0 : i32\n  %oddFirst = arith.andi %isOdd, %isFirst : i1\n  %isEven = arith.cmpi "
                    "eq, %rank, %c0 : i32\n"
                    "  %evenFirst = arith.andi %isEven, %isFirst : i1\n" +
                    meeting + "  scf.if %oddFirst {\n" + free + "  }\n";
  std::string text = replaced(paired(), meeting + "  scf.if %isFirst {\n" + free,
                              odd + meeting + "  scf.if %evenFirst {\n" + free + "  }\n  scf.if %isFirst {\n");
  expectRule(text, "deadlock", 2);
}

TEST(TensorMemory, ACommitReachesTheNamedCtas) {
  std::string commitBoth = "ptx.tcgen05_commit %bar to %both if %e {ctaGroup = 2 : i32}";
  expectRule(replaced(paired(), commitBoth, "ptx.tcgen05_commit %bar if %e {ctaGroup = 2 : i32}"), "deadlock", 2); // the odd CTA waits
}

TEST(TensorMemory, ACommitArrivesBeforeItsCtaEnds) {
  // A last commit that the odd CTA does not wait for. Its arrival may come after the CTA's end.
  std::string commitBoth = "  ptx.tcgen05_commit %bar to %both if %e {ctaGroup = 2 : i32}\n";
  std::string last = "  ptx.tcgen05_commit %second to %both if %e {ctaGroup = 2 : i32}\n";
  expectRule(withSecondBarrier(replaced(paired(), commitBoth, commitBoth + last)), "has ended before this arrival at its mbarrier", 2);
}

TEST(TensorMemory, APairNeedsBothCtas) {
  // The odd CTA frees its columns and ends before the even one multiplies; dealloc need not wait for the even CTA.
  std::string early =
      "  %isOdd = arith.cmpi ne, %rank, %c0 : i32\n  %oddFirst = arith.andi %isOdd, %isFirst : i1\n  scf.if %oddFirst {\n"
      "    ptx.tcgen05_dealloc %d, 512 {ctaGroup = 2 : i32}\n  }\n  %isEven = arith.cmpi eq, %rank, %c0 : i32\n  scf.if %isEven {\n"
      "    ptx.sleep 1000\n";
  std::string text = replaced(paired(), "  %even = arith.cmpi", early + "  %even = arith.cmpi");
  size_t rest = text.find("  ptx.cluster_arrive\n  ptx.cluster_wait\n  scf.if %isFirst {\n    ptx.tcgen05_dealloc");
  text.erase(rest, std::strlen("  ptx.cluster_arrive\n  ptx.cluster_wait\n"));
  text = replaced(text, "    ptx.tcgen05_relinquish {ctaGroup = 2 : i32}\n  }\n", "  }\n  }\n");
  for (const std::string &message : everyMessageOf(text)) // which rule is seen first depends on the order of execution
    EXPECT_NE(message.find("tcgen05_"), std::string::npos) << message;
}

} // namespace
