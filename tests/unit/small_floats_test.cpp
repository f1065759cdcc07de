// The number formats of tensor cores, bit for bit against ml_dtypes (small_floats_table.h, made by small_floats_table.py).
#include "gpu/machine/small_floats.h"
#include "small_floats_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace tilewright::gpu;

namespace {

TEST(SmallFloats, EveryCodeIsThatOfMlDtypes) {
  for (const SmallFloatTable &table : smallFloatTables) {
    ASSERT_EQ(table.numbers.size(), size_t(1) << (table.format == TensorFormat::ue4m3 ? 7 : bitsOf(table.format))) << nameOf(table.format);
    for (uint32_t code = 0; code < table.numbers.size(); ++code) {
      double expected = table.numbers[code], found = decode(table.format, code);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << nameOf(table.format) << " " << code;
      else
        EXPECT_EQ(std::memcmp(&found, &expected, sizeof found), 0)
            << nameOf(table.format) << " " << code << ": " << found; // the sign of 0, too
    }
  }
}

TEST(SmallFloats, ScalesHaveTheirEnds) {
  EXPECT_EQ(decode(TensorFormat::ue8m0, 0), std::ldexp(1.0, -127)); // not zero
  EXPECT_EQ(decode(TensorFormat::ue8m0, 127), 1.0);
  EXPECT_EQ(decode(TensorFormat::ue8m0, 254), std::ldexp(1.0, 127));
  EXPECT_TRUE(std::isnan(decode(TensorFormat::ue8m0, 255)));
  EXPECT_EQ(decode(TensorFormat::ue4m3, 0x7e), 448.0);
  EXPECT_EQ(decode(TensorFormat::ue4m3, 0xfe), 448.0); // it has no sign
}

TEST(SmallFloats, EncodingIsNearestEvenOfEveryFormat) {
  for (TensorFormat format : {TensorFormat::e4m3, TensorFormat::e5m2, TensorFormat::e2m3, TensorFormat::e3m2, TensorFormat::e2m1,
                              TensorFormat::f16, TensorFormat::bf16}) {
    uint32_t half = 1u << (bitsOf(format) - 1);
    for (uint32_t code = 0; code + 1 < half; ++code) {
      double here = decode(format, code), next = decode(format, code + 1);
      if (!std::isfinite(here)) continue;
      EXPECT_EQ(encode(format, here), code);
      EXPECT_EQ(encode(format, -here), code | half);
      if (!std::isfinite(next)) continue;
      double middle = (here + next) / 2;
      EXPECT_EQ(encode(format, middle), code + (code & 1)) << nameOf(format) << " " << middle;
      EXPECT_EQ(encode(format, std::nextafter(middle, here)), code);
      EXPECT_EQ(encode(format, std::nextafter(middle, next)), code + 1);
    }
  }
  EXPECT_EQ(encode(TensorFormat::e4m3, 1e9), 0x7eu);
  EXPECT_EQ(encode(TensorFormat::e2m1, -100), 0xfu);
  EXPECT_EQ(encode(TensorFormat::f16, 1e9), 0x7c00u);
  EXPECT_EQ(encode(TensorFormat::f16, 65519.0), 0x7bffu);
  EXPECT_TRUE(std::isnan(decode(TensorFormat::e4m3, encode(TensorFormat::e4m3, NAN))));
}

TEST(SmallFloats, WideFormatsAndIntegers) {
  EXPECT_EQ(decode(TensorFormat::tf32, 0x3f801fff), 1.0); // 13 bits are not read
  EXPECT_EQ(decode(TensorFormat::f16, 0x3555), 0.333251953125);
  EXPECT_EQ(decode(TensorFormat::bf16, 0xc040), -3.0);
  EXPECT_EQ(decode(TensorFormat::s8, 0x80), -128.0);
  EXPECT_EQ(decode(TensorFormat::u8, 0x80), 128.0);
  EXPECT_EQ(decode(TensorFormat::s32, 0xffffffff), -1.0);
}

} // namespace
