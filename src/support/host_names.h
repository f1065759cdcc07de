// The functions that compiled programs on a CPU call; the process that runs them defines them (codegen/host_calls.cpp).
//   void CALL(i32 x, i32 y, i32 z, ptr format, i64 element [, i64 bits])        element counts in row-major order
// `format` is a text that the compiler writes:
//   print:   KIND HEX BITS {,EXTENT} ; PREFIX        KIND: i u f p, or n for a line with no value; HEX: x or -; floats come as f64 bits
//   assert:  {,EXTENT} ; LOCATION \n MESSAGE
#pragma once

namespace tilewright {

struct HostNames {
  const char *print = "tilewright_print";
  const char *assertFailed = "tilewright_assert_failed";
};
constexpr HostNames hostNames;

} // namespace tilewright
