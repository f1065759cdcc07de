// Times of what ran on a GPU, from records of a library that was made for the purpose.

#include "runtime/cuda/activity.h"
#include "runtime/cuda/cupti.h"

#include "fake_cupti.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <dlfcn.h>

#if __has_include(<cuda.h>) && __has_include(<cupti.h>)
#include <cupti.h>
#endif

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

#if __has_include(<cuda.h>) && __has_include(<cupti.h>)
// What is declared in cupti.h is what NVIDIA's header says.
template <typename Ours, typename Theirs> constexpr bool isPart = sizeof(Ours) <= sizeof(Theirs);
#define SAME(ours, field, theirs, name)                                                                                                    \
  static_assert(offsetof(cupti::ours, field) == offsetof(theirs, name) && sizeof(cupti::ours::field) == sizeof(theirs::name))
SAME(KernelRecord, start, CUpti_ActivityKernel4, start);
SAME(KernelRecord, end, CUpti_ActivityKernel9, end);
SAME(KernelRecord, correlation, CUpti_ActivityKernel4, correlationId);
SAME(KernelRecord, correlation, CUpti_ActivityKernel9, correlationId);
SAME(MemoryRecord, start, CUpti_ActivityMemcpy5, start);
SAME(MemoryRecord, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME(MemoryRecord, end, CUpti_ActivityMemset4, end);
SAME(MemoryRecord, correlation, CUpti_ActivityMemset4, correlationId);
SAME(CorrelationRecord, externalKind, CUpti_ActivityExternalCorrelation, externalKind);
SAME(CorrelationRecord, external, CUpti_ActivityExternalCorrelation, externalId);
SAME(CorrelationRecord, correlation, CUpti_ActivityExternalCorrelation, correlationId);
static_assert(isPart<cupti::KernelRecord, CUpti_ActivityKernel4> && isPart<cupti::MemoryRecord, CUpti_ActivityMemset>);
static_assert(int(cupti::Kind::kernel) == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && int(cupti::Kind::fill) == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(int(cupti::Kind::copy) == CUPTI_ACTIVITY_KIND_MEMCPY && int(cupti::Kind::driverCall) == CUPTI_ACTIVITY_KIND_DRIVER);
static_assert(int(cupti::Kind::runtimeCall) == CUPTI_ACTIVITY_KIND_RUNTIME);
static_assert(int(cupti::Kind::externalCorrelation) == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
static_assert(cupti::ownCorrelation == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
static_assert(cupti::otherSubscriber == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
#endif

class Activity : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("TILEWRIGHT_LIBCUDA", FAKE_CUDA, 1);
    ::setenv("TILEWRIGHT_LIBCUPTI", FAKE_CUPTI, 1);
    void *library = ::dlopen(FAKE_CUPTI, RTLD_NOW);
    ASSERT_TRUE(library) << ::dlerror();
    fake = reinterpret_cast<FakeCuptiAccess>(::dlsym(library, "fakeCupti"))();
    ran = reinterpret_cast<FakeCuptiRan>(::dlsym(library, "fakeCuptiRan"));
    *fake = {};
    Diagnostics diagnostics;
    device = CudaDevice::get(0, diagnostics);
    ASSERT_TRUE(device) << diagnostics.render();
  }
  static constexpr int copy = 1, fill = 2, kernel = 10;
  FakeCupti *fake;
  FakeCuptiRan ran;
  const CudaDevice *device;
};

TEST_F(Activity, TimesOfAMark) {
  ASSERT_EQ(startActivities(), std::nullopt);
  ran(kernel, 100, 900); // of no launch
  uint64_t mark = enterActivity();
  ran(fill, 1000, 1100);
  ran(kernel, 1300, 1800);
  leaveActivity(mark);
  ran(copy, 2000, 2500);
  std::optional<ActivityTimes> times = activityTimes(mark, *device);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 600);
  EXPECT_EQ(times->end - times->begin, 800);
  EXPECT_EQ(times->count, 2);
  EXPECT_FALSE(activityTimes(mark, *device)); // it is forgotten
  stopActivities();
  EXPECT_EQ(fake->enabled, 0);
  EXPECT_EQ(fake->subscribers, 0);
}

TEST_F(Activity, TheInnermostMarkCounts) {
  ASSERT_EQ(startActivities(), std::nullopt);
  uint64_t outer = enterActivity();
  ran(kernel, 1, 2);
  uint64_t inner = enterActivity();
  ran(kernel, 10, 30);
  leaveActivity(inner);
  std::optional<ActivityTimes> within = activityTimes(inner, *device);
  ran(kernel, 40, 44); // after a flush, and still of the outer one
  leaveActivity(outer);
  std::optional<ActivityTimes> around = activityTimes(outer, *device);
  stopActivities();
  ASSERT_TRUE(within && around);
  EXPECT_EQ(within->busy, 20);
  EXPECT_EQ(around->busy, 5);
  EXPECT_EQ(around->count, 2);
}

TEST_F(Activity, OneFlushForManyMarks) {
  ASSERT_EQ(startActivities(), std::nullopt);
  uint64_t marks[8];
  for (uint64_t i = 0; i < 8; ++i) {
    marks[i] = enterActivity();
    ran(kernel, 100 * i + 1, 101 * i + 2);
    leaveActivity(marks[i]);
  }
  for (uint64_t i = 0; i < 8; ++i)
    EXPECT_EQ(activityTimes(marks[i], *device)->busy, static_cast<int64_t>(i + 1));
  EXPECT_EQ(fake->flushes, 1);
  stopActivities();
}

TEST_F(Activity, TimesAreOfTheHostsClock) {
  auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  fake->now = 5000;
  int64_t before = now();
  ASSERT_EQ(startActivities(), std::nullopt);
  int64_t after = now();
  uint64_t mark = enterActivity();
  ran(kernel, 5100, 5200);
  leaveActivity(mark);
  std::optional<ActivityTimes> times = activityTimes(mark, *device);
  stopActivities();
  ASSERT_TRUE(times);
  EXPECT_GE(times->begin, before + 100);
  EXPECT_LE(times->begin, after + 100);
}

TEST_F(Activity, ARecordWithoutATimeIsNone) {
  ASSERT_EQ(startActivities(), std::nullopt);
  uint64_t mark = enterActivity();
  ran(kernel, 0, 0);
  leaveActivity(mark);
  EXPECT_FALSE(activityTimes(mark, *device));
  stopActivities();
}

TEST_F(Activity, AnotherProfilerIsThere) {
  fake->subscribeStatus = 39;
  EXPECT_EQ(startActivities(), "another profiler has CUPTI");
  fake->subscribeStatus = 0;
  fake->enableStatus = 15;
  EXPECT_EQ(startActivities(), "CUPTI_ERROR_NOT_INITIALIZED");
  EXPECT_EQ(fake->subscribers, 0); // left to others
  stopActivities();                // of nothing
  EXPECT_EQ(fake->enabled, 0);
}

TEST_F(Activity, SeveralUsersShareIt) {
  ASSERT_EQ(startActivities(), std::nullopt);
  ASSERT_EQ(startActivities(), std::nullopt);
  EXPECT_EQ(fake->subscribers, 1);
  stopActivities();
  EXPECT_EQ(fake->subscribers, 1);
  stopActivities();
  EXPECT_EQ(fake->subscribers, 0);
}

TEST_F(Activity, WithoutALibrary) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto run = [] {
    ::setenv("TILEWRIGHT_LIBCUPTI", "/nowhere/libcupti.so", 1);
    std::optional<std::string> why = startActivities();
    uint64_t mark = enterActivity();
    leaveActivity(mark);
    stopActivities();
    std::exit(why && why->find("/nowhere/libcupti.so") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

} // namespace
