// The model of an SM on kernels of the ptx dialect whose times follow from one rate each.
#include "gpu/sm_model/sm_model.h"

#include "gpu/machine/descriptors.h"
#include "gpu/machine/ptx.h"
#include "gpu/sm_model/operations.h"
#include "ir/tt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tilewright::gpu {
namespace {

const SmRates &rates() {
  return *smRates("sm_90a", "NVIDIA H200");
}

const SmRates &blackwell() {
  return *smRates("sm_100a", "B200, data sheet");
}

/// `promise`: more parameters of ptx.kernel.
LaunchPrediction predictOn(const SmRates &gpu, int64_t threads, const std::string &arguments, const std::string &body,
                           const ModeledLaunch &launch, const std::string &promise = "") {
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  registry.insert<ptx::PtxDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text = "tt.func public @kernel(" + arguments + ") attributes {ptx.kernel = #ptx.kernel<threads = " + std::to_string(threads) +
                     ", sharedBytes = 0" + promise + ">} {\n" + body + "\n  tt.return\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
  EXPECT_TRUE(module);
  return module ? predictLaunch(*module, launch, gpu) : LaunchPrediction();
}

LaunchPrediction predict(int64_t threads, const std::string &arguments, const std::string &body, const ModeledLaunch &launch) {
  return predictOn(rates(), threads, arguments, body, launch);
}

double secondsWithoutLaunch(const LaunchPrediction &prediction) {
  return prediction.seconds - rates().launchSeconds;
}

/// Each thread of 65536 CTAs loads 16 contiguous bytes: memory is the limit.
const char *const contiguousLoads = R"(
  %thread = ptx.thread_id
  %block = ptx.block_id 0
  %c128 = arith.constant 128 : i32
  %c16 = arith.constant 16 : i64
  %first = arith.muli %block, %c128 : i32
  %index = arith.addi %first, %thread : i32
  %wide = arith.extsi %index : i32 to i64
  %offset = arith.muli %wide, %c16 : i64
  %address = arith.addi %pointer, %offset : i64
  %x:4 = ptx.load_global %address -> f32, f32, f32, f32
  ptx.store_global %address, %x#0, %x#1, %x#2, %x#3 : f32, f32, f32, f32)";

TEST(SmModel, MemoryLimitsACopy) {
  constexpr int64_t ctas = 65536;
  LaunchPrediction copy = predict(128, "%pointer: i64", contiguousLoads, {{std::nullopt}, {ctas, 1, 1}, 32, {}});
  EXPECT_TRUE(copy.isComplete);
  EXPECT_EQ(copy.ctasPerSM, 16);
  EXPECT_NEAR(copy.memory, 1, 0.05);
  EXPECT_NEAR(secondsWithoutLaunch(copy), 2.0 * 16 * 128 * ctas / rates().memoryBytes, 0.05 * secondsWithoutLaunch(copy));
}

/// Without an assembler, a promise to it limits the CTAs of an SM. If there is none, the prediction says that registers are not known.
TEST(SmModel, RegistersWithoutAnAssembler) {
  ModeledLaunch launch{{std::nullopt}, {65536, 1, 1}, std::nullopt, {}};
  LaunchPrediction unknown = predictOn(rates(), 128, "%pointer: i64", contiguousLoads, launch);
  EXPECT_FALSE(unknown.knowsRegisters);
  EXPECT_EQ(unknown.ctasPerSM, 16);
  LaunchPrediction promised = predictOn(rates(), 128, "%pointer: i64", contiguousLoads, launch, ", minCtas = 2");
  EXPECT_TRUE(promised.knowsRegisters);
  EXPECT_EQ(promised.ctasPerSM, 2);
  EXPECT_EQ(predictOn(rates(), 128, "%pointer: i64", contiguousLoads, launch, ", maxRegisters = 128").ctasPerSM, 4);
}

TEST(SmModel, EveryOperationHasARow) {
  mlir::DialectRegistry registry;
  registry.insert<ptx::PtxDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto names = context.getRegisteredOperationsByDialect("ptx");
  EXPECT_GT(names.size(), 60u);
  for (mlir::RegisteredOperationName name : names)
    EXPECT_TRUE(model::modeled(name)) << name.getStringRef().str();
}

/// A tensor that all CTAs read again and again comes from the L2 cache.
TEST(SmModel, RepeatedReadsComeFromTheCache) {
  constexpr int64_t ctas = 65536;
  ModeledLaunch launch{{std::nullopt}, {ctas, 1, 1}, 32, {1024}};
  LaunchPrediction cached = predict(128, "%pointer: i64", contiguousLoads, launch);
  launch.tensorBytes = {};
  LaunchPrediction uncached = predict(128, "%pointer: i64", contiguousLoads, launch);
  EXPECT_LT(cached.memory, 0.01);
  EXPECT_LT(cached.seconds, 0.5 * uncached.seconds);
}

/// Lanes that are 128 bytes apart take a sector of 32 bytes each for their 4 bytes.
TEST(SmModel, StridedLoadsMoveWholeSectors) {
  auto loads = [](int64_t stride) {
    return "%lane = ptx.thread_id\n%block = ptx.block_id 0\n%c128 = arith.constant 128 : i32\n%s = arith.constant " +
           std::to_string(stride) +
           R"( : i64
  %first = arith.muli %block, %c128 : i32
  %index = arith.addi %first, %lane : i32
  %wide = arith.extsi %index : i32 to i64
  %offset = arith.muli %wide, %s : i64
  %address = arith.addi %pointer, %offset : i64
  %x = ptx.load_global %address -> f32
  ptx.store_global %pointer, %x : f32)";
  };
  constexpr int64_t ctas = 65536;
  ModeledLaunch launch{{std::nullopt}, {ctas, 1, 1}, 32, {}};
  double contiguous = secondsWithoutLaunch(predict(128, "%pointer: i64", loads(4), launch));
  double strided = secondsWithoutLaunch(predict(128, "%pointer: i64", loads(128), launch));
  EXPECT_GT(strided, 2.5 * contiguous); // that of contiguous loads is bound by the starts of CTAs
}

/// Programs of one warp that acquire one of `locks` locks, work for as long as a load takes, and release it where `releases` is true.
LaunchPrediction lockedPrograms(int64_t programs, int64_t locks, const std::string &releases = "%first") {
  std::string body = R"(
  %block = ptx.block_id 0
  %locks = arith.constant )" +
                     std::to_string(locks) + R"( : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i64
  %number = arith.remui %block, %locks : i32
  %wide = arith.extui %number : i32 to i64
  %offset = arith.muli %wide, %c4 : i64
  %address = arith.addi %pointer, %offset : i64
  %thread = ptx.thread_id
  %first = arith.cmpi eq, %thread, %c0 : i32
  scf.if %first {
    scf.while : () -> () {
      %old = ptx.compare_swap acquire gpu %address, %c0, %c1 : i32
      %taken = arith.cmpi eq, %old, %c1 : i32
      scf.condition(%taken)
    } do {
      ptx.sleep 100
      scf.yield
    }
  }
  %x = ptx.load_global %address -> i32
  %y = arith.addi %x, %c1 : i32
  %isLoaded = arith.cmpi eq, %x, %c1 : i32
  ptx.store_global %pointer, %y : i32
  scf.if )" + releases +
                     R"( {
    %before = ptx.atomic exch release gpu %address, %c0 : i32 -> i32
  })";
  return predict(32, "%pointer: i64", body, {{std::nullopt}, {programs, 1, 1}, 32, {4096}});
}

/// Programs wait for the holder of their lock, also if it is on another SM: the time is that of the programs of one lock, one after
/// another.
TEST(SmModel, ProgramsOfOneLockRunOneAfterAnother) {
  const SmRates &gpu = rates();
  int64_t programs = 2 * gpu.sms;
  LaunchPrediction own = lockedPrograms(programs, programs), one = lockedPrograms(programs, 1);
  EXPECT_TRUE(one.isComplete);
  double section = (3 * gpu.l2Latency + releaseLatency) / gpu.clock; // the attempt, the load and the fence, at least
  EXPECT_GT(secondsWithoutLaunch(one), static_cast<double>(programs) * section);
  EXPECT_LT(secondsWithoutLaunch(one), 2 * static_cast<double>(programs) * section);
  EXPECT_LT(secondsWithoutLaunch(own), 0.03 * secondsWithoutLaunch(one));
  EXPECT_NEAR(secondsWithoutLaunch(lockedPrograms(programs, 4)), secondsWithoutLaunch(one) / 4, 0.1 * secondsWithoutLaunch(one));
}

/// More attempts than the model makes: the programs that are left follow at the same rate.
TEST(SmModel, ManyProgramsOfOneLock) {
  int64_t programs = 16 * rates().sms;
  LaunchPrediction some = lockedPrograms(programs, 8), many = lockedPrograms(32 * programs, 8);
  EXPECT_TRUE(many.isComplete);
  EXPECT_NEAR(secondsWithoutLaunch(many), 32 * secondsWithoutLaunch(some), 5 * secondsWithoutLaunch(some));
}

/// A branch on data without an else does not count, and with it the release of the lock.
TEST(SmModel, ALockThatIsNotReleased) {
  EXPECT_FALSE(lockedPrograms(2 * rates().sms, 1, "%isLoaded").isComplete);
  EXPECT_FALSE(lockedPrograms(20 * rates().sms, 1, "%isLoaded").isComplete);
}

/// The L2 cache executes atomics of one address one after another, those of all programs.
TEST(SmModel, AtomicsOfOneAddressAreSerial) {
  auto atomics = [](const char *offset, int64_t threads) {
    std::string body = R"(
  %block = ptx.block_id 0
  %thread = ptx.thread_id
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i64
  %wide = arith.extui )" +
                       std::string(offset) + R"( : i32 to i64
  %offset = arith.muli %wide, %c4 : i64
  %address = arith.addi %pointer, %offset : i64
  %old = ptx.atomic add relaxed gpu %address, %c1 : i32 -> i32)";
    return secondsWithoutLaunch(predict(threads, "%pointer: i64", body, {{std::nullopt}, {65536, 1, 1}, 32, {4096}}));
  };
  double serial = atomicCycles * 65536 / rates().clock;
  EXPECT_NEAR(atomics("%c0", 32), serial, 0.05 * serial);
  EXPECT_LT(atomics("%block", 32), 0.3 * serial);
  // Eight warps of a program have one address, or eight.
  EXPECT_NEAR(atomics("%c0", 256), 8 * serial, 0.4 * serial);
  EXPECT_NEAR(atomics("%thread", 256), serial, 0.1 * serial);
}

/// Four warps with one wgmma of 64x256x16 in each iteration: 128 cycles of the SM's tensor cores.
TEST(SmModel, TensorCoresLimitALoopOfMmas) {
  std::string sums, types, zeros;
  for (int i = 0; i < 128; ++i) {
    sums += (i ? ", %zero" : "%zero");
    types += i ? ", f32" : "f32";
  }
  std::string body = R"(
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %d = arith.constant 0 : i64
  scf.for %i = %c0 to %n step %c1 : i32 {
    ptx.wgmma_fence
    %r:128 = ptx.wgmma(%d), %d, ()" +
                     sums + R"() {aFormat = 0 : i32, bFormat = 0 : i32, cFormat = 7 : i32, n = 256 : i32} : (i64), ()" + types + ") -> (" +
                     types + R"()
    ptx.wgmma_commit
    ptx.wgmma_wait 0
  })";
  constexpr int64_t iterations = 4096;
  LaunchPrediction loop = predict(128, "%n: i32", body, {{iterations}, {rates().sms, 1, 1}, 200, {}});
  EXPECT_TRUE(loop.isComplete);
  double cycles = secondsWithoutLaunch(loop) * loop.clock;
  EXPECT_GT(cycles, 128.0 * iterations);
  EXPECT_LT(cycles, 1.5 * 128.0 * iterations); // each wait is for the last MMA
  EXPECT_NEAR(loop.tensorCores, 128.0 * iterations / cycles, 0.05);
  EXPECT_LT(loop.clock, rates().clock);
  // The trip count is that of the argument.
  LaunchPrediction twice = predict(128, "%n: i32", body, {{2 * iterations}, {rates().sms, 1, 1}, 200, {}});
  EXPECT_NEAR(secondsWithoutLaunch(twice), 2 * secondsWithoutLaunch(loop), 0.1 * secondsWithoutLaunch(loop));
}

/// The seconds of a loop with these operations, each 32 times ('$' is the number), in 16 warps.
double secondsOfOperations(const SmRates &gpu, const std::string &operations, bool fusesMultiplyAdd) {
  std::string body = "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\nscf.for %i = %c0 to %n step %c1 : i32 {\n";
  for (int number = 0; number < 32; ++number)
    for (char c : operations)
      body += c == '$' ? std::to_string(number) : std::string(1, c);
  ModeledLaunch launch{{4096, std::nullopt}, {gpu.sms, 1, 1}, 64, {}};
  launch.fusesMultiplyAdd = fusesMultiplyAdd;
  LaunchPrediction loop = predictOn(gpu, 512, "%n: i32, %x: f32", body + "}", launch);
  return loop.seconds - gpu.launchSeconds;
}

TEST(SmModel, MultiplicationsAndAdditionsAreMerged) {
  const char *both = "%p$ = arith.mulf %x, %x : f32\n%s$ = arith.addf %p$, %x : f32\n";
  double fused = secondsOfOperations(rates(), both, true), unfused = secondsOfOperations(rates(), both, false);
  EXPECT_NEAR(fused / unfused, 0.5, 0.05);
  // A product that something else needs, too, is computed.
  std::string needed = std::string(both) + "%o$ = arith.negf %p$ : f32\n";
  EXPECT_NEAR(secondsOfOperations(rates(), needed, true), secondsOfOperations(rates(), needed, false), 1e-9);
}

TEST(SmModel, MaximaOfThreeAreMerged) {
  const char *chain = "%p$ = arith.maxnumf %x, %x : f32\n%s$ = arith.maxnumf %p$, %x : f32\n";
  SmRates two = blackwell();
  two.threeOperandMaximum = false;
  EXPECT_NEAR(secondsOfOperations(blackwell(), chain, true) / secondsOfOperations(two, chain, true), 0.5, 0.05);
  const char *different = "%p$ = arith.minnumf %x, %x : f32\n%s$ = arith.maxnumf %p$, %x : f32\n";
  EXPECT_NEAR(secondsOfOperations(blackwell(), different, true), secondsOfOperations(two, different, true), 1e-9);
}

TEST(SmModel, ConversionsToHalvesAreMerged) {
  const char *pair = "%p$ = arith.truncf %x : f32 to f16\n%q$ = arith.truncf %x : f32 to f16\n%s$ = ptx.pack %p$, %q$ : f16, f16 -> i32\n";
  const char *one = "%p$ = arith.truncf %x : f32 to f16\n%q$ = arith.truncf %x : f32 to f16\n";
  EXPECT_NEAR(secondsOfOperations(rates(), pair, true) / secondsOfOperations(rates(), one, true), 1, 0.03);
}

/// The cycles of a loop in which one thread issues four MMAs of this instruction and kind, and the first warp waits for them at an
/// mbarrier.
LaunchPrediction tensorLoop(int64_t iterations, const std::string &kind, const InstructionDescriptor &instruction) {
  std::string mma = "ptx.tcgen05_mma " + kind + " %base, %d, %d, %descriptor, %true if %one : i64\n";
  return predictOn(blackwell(), 128, "%n: i32",
                   R"(
  %warp = ptx.warp_id
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %d = arith.constant 0 : i64
  %true = arith.constant true
  %descriptor = arith.constant )" +
                       std::to_string(int32_t(encode(instruction))) + R"( : i32
  %base = ptx.shared_base
  %first = arith.cmpi eq, %warp, %c0 : i32
  ptx.mbarrier_init %base, 1 if %first
  ptx.barrier
  scf.if %first {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %one = ptx.elect
      )" + mma + mma + mma +
                       mma + R"(
      ptx.tcgen05_commit %base if %one
      %parity = arith.andi %i, %c1 : i32
      ptx.mbarrier_wait %base, %parity
    }
  })",
                   {{iterations}, {blackwell().sms, 1, 1}, 64, {}});
}

double tensorCycles(const LaunchPrediction &loop) {
  return (loop.seconds - blackwell().launchSeconds) * loop.clock;
}

/// An MMA of 128x256x16 takes 128 cycles. With half of the rows it takes as long; with 64 columns it waits for shared memory, which has
/// 128 * 32 + 64 * 32 bytes to deliver, 128 a cycle.
TEST(SmModel, TensorCoresOfBlackwell) {
  constexpr int64_t iterations = 1000;
  auto cyclesOfMma = [](int64_t m, int64_t n) {
    LaunchPrediction loop = tensorLoop(iterations, "f16", {.m = m, .n = n});
    EXPECT_TRUE(loop.isComplete);
    return tensorCycles(loop) / (4 * iterations);
  };
  EXPECT_NEAR(cyclesOfMma(128, 256), 128, 20);
  EXPECT_NEAR(cyclesOfMma(64, 256), 128, 20);
  EXPECT_NEAR(cyclesOfMma(128, 64), 48, 20);
  LaunchPrediction large = tensorLoop(iterations, "f16", {.n = 256});
  EXPECT_NEAR(large.tensorCores, 128.0 * 4 * iterations / tensorCycles(large), 0.02);
  EXPECT_GT(large.shared, 0.6); // 96 of 128 cycles
  EXPECT_LT(large.clock, blackwell().clock);
}

/// 32 registers of 32 lanes, from the part of tensor memory that belongs to a warp's scheduler.
TEST(SmModel, TensorMemoryLimitsLoads) {
  std::string types = "i32", body = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %x:32 = ptx.tcgen05_ld m32x32b %c0 -> )";
  for (int i = 1; i < 32; ++i)
    types += ", i32";
  constexpr int64_t iterations = 10000;
  LaunchPrediction loads =
      predictOn(blackwell(), 128, "%n: i32", body + types + "\n  ptx.tcgen05_wait ld\n}", {{iterations}, {blackwell().sms, 1, 1}, 64, {}});
  double cyclesOfLoad = 32 * 32 * 4 / blackwell().tensorBytesPerCycle;
  EXPECT_NEAR(tensorCycles(loads) / iterations, cyclesOfLoad + tensorLatency, 10);
  EXPECT_NEAR(loads.tensorMemory, cyclesOfLoad / (cyclesOfLoad + tensorLatency), 0.1);
  EXPECT_EQ(loads.busyUnits().front().first, "tensor memory");
}

/// The cycles of an iteration of a loop in which warps from `later` on execute other operations than those before. '$' is the number of an
/// operation.
double cyclesOfHalves(const std::string &first, const std::string &second, int64_t threads, int64_t later) {
  auto repeat = [](const std::string &operation) {
    std::string all;
    for (int number = 0; number < 32; ++number)
      for (char c : operation)
        all += c == '$' ? std::to_string(number) : std::string(1, c);
    return "scf.for %i = %c0 to %n step %c1 : i32 {\n" + all + "}\n";
  };
  std::string body = "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%later = arith.constant " + std::to_string(later) +
                     " : i32\n%warp = ptx.warp_id\n%isFirst = arith.cmpi slt, %warp, %later : i32\nscf.if %isFirst {\n" + repeat(first) +
                     "} else {\n" + repeat(second) + "}";
  constexpr int64_t iterations = 300;
  LaunchPrediction loop =
      predictOn(blackwell(), threads, "%n: i32, %x: f32", body, {{iterations, std::nullopt}, {blackwell().sms, 1, 1}, 64, {}});
  return tensorCycles(loop) / iterations;
}

/// A scheduler has one warp that waits for the special function unit most of the time, and one that adds: the second one gets the issue
/// slots that the first one leaves.
TEST(SmModel, WarpsThatWaitForAUnitLeaveIssueSlots) {
  const char *special = "%e$ = ptx.special ex2 %x : f32\n";
  const char *adds = "%p$ = arith.addf %x, %x : f32\n%q$ = arith.addf %x, %x : f32\n%r$ = arith.addf %x, %x : f32\n";
  double alone = cyclesOfHalves(special, "", 256, 4);
  EXPECT_NEAR(alone, 32 * 8, 10);
  EXPECT_NEAR(cyclesOfHalves(special, adds, 256, 4), alone, 10);
}

/// A change of type is no instruction: the warp goes on to what does not use the result.
TEST(SmModel, OperationsWithoutInstructionsDoNotWait) {
  const char *changes = "%e$ = ptx.special ex2 %x : f32\n%b$ = arith.bitcast %e$ : f32 to i32\n";
  EXPECT_NEAR(cyclesOfHalves(changes, "", 128, 4), 32 * 8, 10);
}

/// The assembler puts additions between special functions.
TEST(SmModel, UnitsAreBusyAtTheSameTime) {
  std::string adds;
  for (char name : {'p', 'q', 'r', 's'})
    adds += std::string("%") + name + "$ = arith.addf %x, %x : f32\n";
  EXPECT_NEAR(cyclesOfHalves(adds + "%e$ = ptx.special ex2 %x : f32\n", "", 128, 4), 32 * 8, 10);
  EXPECT_NEAR(cyclesOfHalves("%e$ = ptx.special ex2 %x : f32\n%f$ = ptx.special ex2 %e$ : f32\n", "", 128, 4), 64 * 8, 40);
}

/// One CTA more than the SMs hold takes another wave.
TEST(SmModel, WavesOfCtas) {
  std::string body = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = arith.constant 5000 : i32
  %one = arith.constant 1.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (f32) : i32 {
    %next = arith.addf %x, %one : f32
    scf.yield %next : f32
  })";
  auto seconds = [&](int64_t ctas) { return secondsWithoutLaunch(predict(1024, "", body, {{}, {ctas, 1, 1}, 64, {}})); };
  EXPECT_NEAR(seconds(rates().sms + 1), 2 * seconds(rates().sms), 0.1 * seconds(rates().sms));
}

/// A CTA that cancels the launch of others executes as much as they would, without the time in which they start.
TEST(SmModel, CanceledLaunches) {
  const std::string work = R"(
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (f32) : i32 {
      %next = arith.addf %x, %one : f32
      scf.yield %next : f32
    })";
  const std::string constants = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %n = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  %yes = arith.constant 1 : i1)";
  const std::string taking = constants + R"(
  %response = ptx.shared_base
  %bar = arith.addi %response, %c16 : i32
  %lane = ptx.lane_id
  %isLane = arith.cmpi eq, %lane, %c0 : i32
  ptx.mbarrier_init %bar, 1 if %isLane
  %first = ptx.block_id 0
  %r:3 = scf.while (%block = %first, %parity = %c0, %more = %yes) : (i32, i32, i1) -> (i32, i32, i1) {
    scf.condition(%more) %block, %parity, %more : i32, i32, i1
  } do {
  ^bb0(%block: i32, %parity: i32, %more: i1):
    ptx.mbarrier_expect %bar, 16 if %isLane
    ptx.clc_try_cancel %response, %bar if %isLane)" +
                             work + R"(
    ptx.mbarrier_wait %bar, %parity
    %canceled, %x, %y, %z = ptx.clc_query %response
    %next = arith.xori %parity, %c1 : i32
    scf.yield %x, %next, %canceled : i32, i32, i1
  })";
  constexpr int64_t ctas = 10;
  int64_t sms = blackwell().sms, threads = 32;
  // One CTA at a time on an SM: it takes all registers.
  auto cycles = [&](const std::string &body, int64_t programs) {
    LaunchPrediction prediction = predictOn(blackwell(), threads, "", body, {{}, {programs * sms, 1, 1}, 65536 / threads, {}});
    EXPECT_TRUE(prediction.isComplete);
    return (prediction.seconds - blackwell().launchSeconds) * prediction.clock;
  };
  double starting = cycles(constants + work, ctas) - ctas * (cycles(constants + work, 1) - ctaStartLatency);
  EXPECT_NEAR(starting, ctas * ctaStartLatency, ctaStartLatency / 10);
  EXPECT_NEAR(cycles(constants + work, ctas) - cycles(taking, ctas), (ctas - 1) * ctaStartLatency, ctaStartLatency);
}

/// Warp 1 waits on an mbarrier at which warp 0 arrives; a wait without an arrival cannot be resolved.
TEST(SmModel, Mbarriers) {
  auto body = [](bool arrives) {
    return std::string(R"(
  %warp = ptx.warp_id
  %lane = ptx.lane_id
  %c0 = arith.constant 0 : i32
  %base = ptx.shared_base
  %isFirst = arith.cmpi eq, %warp, %c0 : i32
  %isLane = arith.cmpi eq, %lane, %c0 : i32
  %isOne = arith.andi %isFirst, %isLane : i1
  ptx.mbarrier_init %base, 1 if %isOne
  ptx.barrier
  scf.if %isFirst {
)") + (arrives ? "ptx.mbarrier_arrive %base if %isLane\n" : "") +
           "} else {\n  ptx.mbarrier_wait %base, %c0\n}";
  };
  EXPECT_TRUE(predict(64, "", body(true), {{}, {1, 1, 1}, 32, {}}).isComplete);
  EXPECT_FALSE(predict(64, "", body(false), {{}, {1, 1, 1}, 32, {}}).isComplete);
}

/// Where an mbarrier is, or which of its phases a warp waits for, may follow from data: then nothing says how long it waits.
TEST(SmModel, UnknownMbarriers) {
  auto body = [](const char *address, const char *parity) {
    return std::string(R"(
  %c0 = arith.constant 0 : i32
  %base = ptx.shared_base
  %x = ptx.load_global %pointer -> i32
  %address = arith.addi %base, )") +
           address + " : i32\n  ptx.mbarrier_init %address, 1\n  ptx.mbarrier_arrive %address\n  ptx.mbarrier_wait %address, " + parity;
  };
  ModeledLaunch launch{{std::nullopt}, {1, 1, 1}, 32, {}};
  EXPECT_TRUE(predict(32, "%pointer: i64", body("%c0", "%c0"), launch).isComplete);
  EXPECT_FALSE(predict(32, "%pointer: i64", body("%x", "%c0"), launch).isComplete);
  EXPECT_FALSE(predict(32, "%pointer: i64", body("%c0", "%x"), launch).isComplete);
}

/// Each value of a lane is computed once, however many paths lead to it.
TEST(SmModel, ValuesOfLanesWithManyPaths) {
  std::string body = "%lane = ptx.lane_id\n%c1 = arith.constant 1 : i32\n%v0 = arith.addi %lane, %c1 : i32\n";
  for (int i = 0; i < 60; ++i)
    body += "%v" + std::to_string(i + 1) + " = arith.xori %v" + std::to_string(i) + ", %v" + std::to_string(i) + " : i32\n";
  body += "%isZero = arith.cmpi eq, %v60, %lane : i32\n%x = ptx.load_global %pointer if %isZero -> i32\n";
  EXPECT_TRUE(predict(32, "%pointer: i64", body, {{std::nullopt}, {1, 1, 1}, 32, {}}).isComplete);
}

/// A warp counts so many operations at most. The iterations of the loops that it has not counted then are as those before.
TEST(SmModel, LoopsOfManyIterations) {
  auto seconds = [](int64_t iterations) {
    return secondsWithoutLaunch(predict(32, "%n: i32", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c10 = arith.constant 10 : i32
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %sum = scf.for %j = %c0 to %c10 step %c1 iter_args(%x = %one) -> (f32) : i32 {
      %next = arith.addf %x, %one : f32
      scf.yield %next : f32
    }
  })",
                                        {{iterations}, {rates().sms, 1, 1}, 32, {}}));
  };
  EXPECT_NEAR(seconds(2'000'000'000) / seconds(20'000), 100'000, 2'000);
}

TEST(SmModel, AnEmptyKernelKeepsNothingBusy) {
  LaunchPrediction empty = predict(128, "", "", {{}, {1000, 1, 1}, 32, {}});
  for (const auto &[unit, fraction] : empty.busyUnits())
    EXPECT_EQ(fraction, 0) << unit;
  EXPECT_GE(empty.seconds, rates().launchSeconds);
}

/// 3'000'000'000 is negative as a signed number of 32 bits.
TEST(SmModel, UnsignedLoops) {
  auto seconds = [](const std::string &kind) {
    return secondsWithoutLaunch(predict(128, "%n: i32", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1000000 : i32
  %one = arith.constant 1.0 : f32
  %sum = scf.for )" + kind + R"( %i = %c0 to %n step %c1 iter_args(%x = %one) -> (f32) : i32 {
    %next = arith.addf %x, %one : f32
    scf.yield %next : f32
  })",
                                        {{int64_t(-1294967296)}, {rates().sms, 1, 1}, 32, {}}));
  };
  EXPECT_GT(seconds("unsigned"), 3000 * arithmeticLatency / rates().clock);
  EXPECT_LT(seconds(""), 3000 / rates().clock);
}

TEST(SmModel, RatesOfAMachine) {
  EXPECT_EQ(smRates("sm_90a", "NVIDIA H200, measured")->gpu, "H200");
  EXPECT_EQ(smRates("sm_90a", "H100 SXM, data sheet")->gpu, "H100");
  EXPECT_EQ(smRates("sm_90a", "another")->gpu, "H100");
  EXPECT_EQ(smRates("sm_80", "A100"), nullptr);
  // The peak of each kind of MMA follows from one rate: 2 * 4096 * 148 operations of fp16 a cycle are 2.25 PFLOP/s at 1.86 GHz.
  EXPECT_NEAR(blackwell().mmaBytesPerCycle * static_cast<double>(blackwell().sms) * 1.86e9, 2.25e15, 0.01e15);
}

} // namespace
} // namespace tilewright::gpu
