// Kernels written in C++20.
//
//   template <int BLOCK> void add(ptr<const float> x, ptr<const float> y, ptr<float> out, i32 n) {
//     auto i = program_id(0) * BLOCK + arange<BLOCK>();
//     auto mask = i < n;
//     store(out + i, load(x + i, mask) + load(y + i, mask), mask);
//   }
//   inline auto add_kernel = tilewright::jit<add<1024>>("add(x, y, out, n)");
//   auto done = add_kernel.launch(tilewright::grid(tilewright::cdiv(n, 1024)), tilewright::cpu, x, y, out, n);
//
// The builtins have the names and meanings of the tile language (docs/reference/language.md). Shapes and element types are checked when C++
// is compiled. Building against this header needs no part of the compiler: it records calls through tilewright/builder.h.
#pragma once

#if __cplusplus < 202002L
#error "tilewright/language.h needs C++20 (-std=c++20)"
#endif

#include "tilewright/language/combine.h"
#include "tilewright/language/control.h"
#include "tilewright/language/debug.h"
#include "tilewright/language/descriptor.h"
#include "tilewright/language/generated.h"
#include "tilewright/language/launch.h"
#include "tilewright/language/math.h"
#include "tilewright/language/memory.h"
#include "tilewright/language/random.h"
#include "tilewright/language/shape.h"
#include "tilewright/language/tuned.h"
