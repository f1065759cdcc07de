// What a measurement finds in the caches.

#include "support/target.h"
#include "tune/measure.h"
#include "tune/tuner.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(Measure, DroppingFromCachesChangesNothing) {
  std::vector<float> data(1000, 3.0f);
  float *middle = data.data() + 1; // in the middle of a line
  dropFromCaches({Argument::pointer(middle, Scalar::fp32, 3000), Argument::pointer(nullptr, Scalar::fp32, 0), Argument::none(),
                  Argument::integer(4), Argument::tuple({Argument::pointer(data.data(), Scalar::fp32, 4000)}, {})});
  EXPECT_EQ(data, std::vector<float>(1000, 3.0f));
}

TEST(Measure, SmallTensorsStayInCaches) {
  std::vector<float> data(static_cast<size_t>(hostCpu().l2Bytes) / 8);
  auto tensor = [&](int64_t part) { return Argument::pointer(data.data(), Scalar::fp32, hostCpu().l2Bytes / part); };
  EXPECT_TRUE(stayInCaches({tensor(8), Argument::integer(4), Argument::none(), Argument::tuple({tensor(8), tensor(8)}, {})}));
  EXPECT_FALSE(stayInCaches({tensor(4), Argument::tuple({tensor(8), tensor(2)}, {})}));
  EXPECT_TRUE(stayInCaches({}));
}

TEST(Measure, ARunInWhichSomethingIsCompiledOrTunedIsNotTheKernelsAlone) {
  double (*now)() = [] { return 0.0; };
  EXPECT_TRUE(timeOnCpu(now, {}, [] { return true; })->isOfKernel);
  EXPECT_FALSE(timeOnCpu(now, {}, [] { return Compiling(), true; })->isOfKernel);
  EXPECT_FALSE(timeOnCpu(now, {}, [] {
                 TunerCallbacks callbacks;
                 callbacks.measure = [](size_t, std::optional<double>) { return Measured{{1, 1, 1}, ""}; };
                 callbacks.compile = [](size_t) { return std::nullopt; };
                 Diagnostics diagnostics;
                 return tune(nullptr, {"a", "b"}, callbacks, diagnostics)->worked;
               })->isOfKernel);
  EXPECT_FALSE(timeOnCpu(now, {}, [] { return false; }));
}
