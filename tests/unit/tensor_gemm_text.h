// A GEMM as a compiler would write it for tcgen05: a warp loads by TMA through a ring of stages, a warp multiplies into two accumulators in
// tensor memory, and four warps store one accumulator while the other one is filled. "// REMOVE" marks each synchronization.
#pragma once

#include "tensor_text.h"

namespace tilewright::gpu::tensor_gemm {

constexpr int64_t tiles = 4, steps = 3, rowsOfTile = 128, columnsOfTile = 64, depthOfStep = 64;
constexpr int64_t stageBytes = 24576, barriers = 2 * stageBytes; // full, empty, done and free, two of each; then the address

/// The address of an mbarrier: number `index` (an i32) of its kind.
inline std::string barrierText(const std::string &name, int64_t kind, const std::string &index) {
  return "    %" + name + "Byte = arith.muli " + index + ", %c8 : i32\n    %" + name + "Base = arith.addi %base, %kind" +
         std::to_string(kind) + " : i32\n    %" + name + " = arith.addi %" + name + "Base, %" + name + "Byte : i32\n";
}

inline std::string start() {
  std::string text;
  for (int64_t value : {0, 1, 2, 3, 4, 5, 6, 8, 32, 64, 128})
    text += constant("c" + std::to_string(value), value);
  for (int64_t kind = 0; kind < 4; ++kind)
    text += constant("kind" + std::to_string(kind), barriers + 16 * kind);
  text += constant("slotByte", barriers + 64) + constant("stage", stageBytes) + constant("ofB", 16384) + constant("window", 0x3ffff) +
          constant("tiles", tiles) + constant("steps", steps) + constant("true", 1, "i1") + constant("warpLanes", 32 << 16) + R"(
  %base = ptx.shared_base
  %t = ptx.thread_id
  %w = ptx.warp_id
  %slot = arith.addi %base, %slotByte : i32
  %isFirst = arith.cmpi eq, %w, %c0 : i32
  %e = ptx.elect
  %one = arith.andi %isFirst, %e : i1
)";
  for (int64_t kind = 0; kind < 4; ++kind)
    for (int64_t index : {0, 1}) {
      std::string name = "init" + std::to_string(2 * kind + index);
      text += barrierText(name, kind, "%c" + std::to_string(index)) + "  ptx.mbarrier_init %" + name + ", " + (kind == 3 ? "4" : "1") +
              " if %one\n";
    }
  return text + R"(  ptx.mbarrier_init_fence
  scf.if %isFirst {
    ptx.tcgen05_alloc %slot, 128
    ptx.tcgen05_relinquish
  }
  ptx.barrier
  %d = ptx.load_shared %slot -> i32
  %isLoader = arith.cmpi eq, %w, %c4 : i32
  %isMultiplier = arith.cmpi eq, %w, %c5 : i32
  %isReader = arith.cmpi ult, %w, %c4 : i32
)";
}

/// "%stageIndex, %lap, %parity, %otherParity" of a counter `it` of a ring of two.
inline std::string ringText(const std::string &it, const std::string &name) {
  return "    %" + name + " = arith.andi " + it + ", %c1 : i32\n    %" + name + "Lap = arith.shrui " + it + ", %c1 : i32\n    %" + name +
         "Parity = arith.andi %" + name + "Lap, %c1 : i32\n    %" + name + "Other = arith.xori %" + name + "Parity, %c1 : i32\n";
}

inline std::string loader() {
  return R"(  scf.if %isLoader {
  scf.for %tile = %c0 to %tiles step %c1 : i32 {
  scf.for %k = %c0 to %steps step %c1 : i32 {
    %before = arith.muli %tile, %steps : i32
    %it = arith.addi %before, %k : i32
)" + ringText("%it", "s") +
         barrierText("full", 0, "%s") + barrierText("empty", 1, "%s") + R"(    ptx.mbarrier_wait %empty, %sOther // REMOVE
    ptx.mbarrier_expect %full, 24576 if %e
    %offset = arith.muli %s, %stage : i32
    %toA = arith.addi %base, %offset : i32
    %toB = arith.addi %toA, %ofB : i32
    %depth = arith.muli %k, %c64 : i32
    %row = arith.muli %tile, %c128 : i32
    ptx.tma_load %a [%depth, %row] to %toA, %full if %e
    ptx.tma_load %b [%depth, %c0] to %toB, %full if %e
  }
  }
  }
)";
}

inline std::string multiplier() {
  InstructionDescriptor shape;
  shape.n = columnsOfTile;
  MatrixDescriptor matrix{.leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
  std::string text =
      "  scf.if %isMultiplier {\n" + constant("idesc", int32_t(encode(shape))) + constant("bits", int64_t(encode(matrix)), "i64") +
      "  scf.for %tile = %c0 to %tiles step %c1 : i32 {\n" + ringText("%tile", "u") + barrierText("free", 3, "%u") +
      barrierText("done", 2, "%u") +
      "    ptx.mbarrier_wait %free, %uOther // REMOVE\n    ptx.tcgen05_fence after // REMOVE\n    %column = arith.muli %u, %c64 : "
      "i32\n    %acc = arith.addi %d, %column : i32\n"
      "    scf.for %k = %c0 to %steps step %c1 : i32 {\n    %before = arith.muli %tile, %steps : i32\n"
      "    %it = arith.addi %before, %k : i32\n" +
      ringText("%it", "s") + barrierText("full", 0, "%s") + barrierText("empty", 1, "%s") +
      "    ptx.mbarrier_wait %full, %sParity // REMOVE\n    %offset = arith.muli %s, %stage : i32\n    %notFirst = arith.cmpi ne, "
      "%k, %c0 : i32\n";
  for (int64_t j = 0; j < depthOfStep / 16; ++j) {
    std::string n = std::to_string(j);
    text += constant("a" + n + "At", 32 * j) + constant("b" + n + "At", 16384 + 32 * j);
    for (std::string name : {"a" + n, "b" + n})
      text += "    %" + name + "Place = arith.addi %offset, %" + name + "At : i32\n    %" + name + "Full = arith.addi %base, %" + name +
              "Place : i32\n    %" + name + "Window = arith.andi %" + name + "Full, %window : i32\n    %" + name + "Unit = arith.shrui %" +
              name + "Window, %c4 : i32\n    %" + name + "Wide = arith.extui %" + name + "Unit : i32 to i64\n    %" + name +
              "Desc = arith.ori %" + name + "Wide, %bits : i64\n";
    text += "    ptx.tcgen05_mma f16 %acc, %a" + n + "Desc, %b" + n + "Desc, %idesc, " + (j ? "%true" : "%notFirst") + " if %e : i64\n";
  }
  return text + "    ptx.tcgen05_commit %empty if %e // REMOVE\n    }\n    ptx.tcgen05_commit %done if %e // REMOVE\n  }\n  }\n";
}

inline std::string reader() {
  std::string text =
      "  scf.if %isReader {\n    %ownLanes = arith.muli %w, %warpLanes : i32\n    %own = arith.addi %d, %ownLanes : i32\n"
      "  scf.for %tile = %c0 to %tiles step %c1 : i32 {\n" +
      ringText("%tile", "u") + barrierText("free", 3, "%u") + barrierText("done", 2, "%u") +
      "    ptx.mbarrier_wait %done, %uParity // REMOVE\n    ptx.tcgen05_fence after // REMOVE\n    %column = arith.muli %u, %c64 : "
      "i32\n    %from = arith.addi %own, %column : i32\n    %v:64 = ptx.tcgen05_ld m32x32b %from -> " +
      types("f32", 64) +
      "\n    ptx.tcgen05_wait ld // REMOVE\n    ptx.tcgen05_fence before // REMOVE\n    ptx.warp_barrier\n    ptx.mbarrier_arrive "
      "%free if %e // REMOVE\n    %row = arith.muli %tile, %c128 : i32\n    %thread = arith.addi %row, %t : i32\n" +
      constant("rowBytes", 4 * columnsOfTile) +
      "    %outOffset = arith.muli %thread, %rowBytes : i32\n    %outWide = arith.extui %outOffset : i32 to i64\n"
      "    %outRow = arith.addi %out, %outWide : i64\n";
  for (int64_t c = 0; c < columnsOfTile; c += 4) {
    std::string n = std::to_string(c);
    text += constant("byte" + n, 4 * c, "i64") + "    %at" + n + " = arith.addi %outRow, %byte" + n + " : i64\n    ptx.store_global %at" +
            n + ", " + names("%v", 4, c) + " : f32, f32, f32, f32\n";
  }
  return text + "  }\n  }\n";
}

inline const std::string gemm = kernel(192, barriers + 80, "%a: !ptx.tensor_map, %b: !ptx.tensor_map, %out: i64",
                                       start() + loader() + multiplier() + reader() +
                                           "  ptx.barrier // REMOVE\n  scf.if %isFirst {\n    ptx.tcgen05_dealloc %d, 128\n  }\n");

} // namespace tilewright::gpu::tensor_gemm
