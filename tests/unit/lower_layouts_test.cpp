// Operations in which threads exchange elements, in layouts drawn at random: any assignment of element bits to registers, lanes and warps,
// mixed by XOR, with copies. What lower-to-threads makes of them runs on the simulator, which also finds missing barriers.
#include "gpu/machine/ptx.h"
#include "gpu/machine/simulate.h"
#include "gpu/passes.h"
#include "gpu/ttg/ttg.h"
#include "ir/tt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include "layout_helpers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class LowerLayouts : public testing::Test {
protected:
  LowerLayouts() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  Layout randomLayout(const Dims &shape, int64_t warps, bool mixed) {
    int64_t bits = 0;
    while (int64_t(1) << bits < elementCount(shape))
      ++bits;
    std::vector<uint32_t> elements;
    for (int64_t bit = 0; bit < bits; ++bit)
      elements.push_back(uint32_t(1) << bit);
    std::shuffle(elements.begin(), elements.end(), random);
    // Adding one basis to another keeps them independent.
    for (int64_t i = 0; mixed && bits > 1 && i < 4; ++i) {
      size_t from = random() % elements.size(), to = random() % elements.size();
      if (from != to) elements[to] ^= elements[from];
    }
    std::array<std::vector<uint32_t>, 3> bases;
    int64_t warpBits = warps == 4 ? 2 : warps == 2 ? 1 : 0;
    auto take = [&](Axis axis, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        bool copies = elements.empty() || random() % 8 == 0;
        bases[size_t(axis)].push_back(copies ? 0 : elements.back());
        if (!copies) elements.pop_back();
      }
    };
    take(Axis::warp, warpBits);
    take(Axis::lane, 5);
    bases[size_t(Axis::reg)] = elements;
    return Layout::fromBases(shape, bases);
  }

  std::string text(const Layout &layout) {
    std::string result;
    llvm::raw_string_ostream out(result);
    out << mlir::Attribute(ttg::LayoutAttr::get(&context, layout));
    return result;
  }
  std::string tile(const Layout &layout, const std::string &element) {
    std::string result = "tensor<";
    for (int64_t extent : layout.shape)
      result += std::to_string(extent) + "x";
    return result + element + ", " + text(layout) + ">";
  }

  /// The flat indices as a tile.
  std::string indices(const std::string &name, const Layout &layout) {
    Layout flat = layout.reshaped({elementCount(layout.shape)});
    std::string count = std::to_string(elementCount(layout.shape));
    return "%" + name + "_flat = tt.make_range {start = 0 : i32, end = " + count + " : i32} : " + tile(flat, "i32") + "\n%" + name +
           " = tt.reshape %" + name + "_flat : " + tile(flat, "i32") + " -> " + tile(layout, "i32") + "\n";
  }
  std::string pointers(const std::string &name, const std::string &base, const std::string &element, const Layout &layout) {
    std::string type = tile(layout, "!tt.ptr<" + element + ">");
    return indices(name + "_at", layout) + "%" + name + "_base = tt.splat %" + base + " : !tt.ptr<" + element + "> -> " + type + "\n%" +
           name + " = tt.addptr %" + name + "_base, %" + name + "_at : " + type + ", " + tile(layout, "i32") + "\n";
  }
  std::string load(const std::string &name, const std::string &base, const std::string &element, const Layout &layout) {
    return pointers(name + "_p", base, element, layout) + "%" + name + " = tt.load %" + name +
           "_p : " + tile(layout, "!tt.ptr<" + element + ">") + "\n";
  }
  std::string store(const std::string &value, const std::string &base, const std::string &element, const Layout &layout) {
    return pointers(value + "_q", base, element, layout) + "tt.store %" + value + "_q, %" + value + " : " +
           tile(layout, "!tt.ptr<" + element + ">") + "\n";
  }

  /// Runs `body` with pointers %x and %y to `element`s and %out; the answer is an error.
  std::string run(int64_t warps, const std::string &element, const std::string &outElement, const std::string &body, const void *x,
                  const void *y, void *out) {
    std::string source = "tt.func public @kernel(%x: !tt.ptr<" + element + ">, %y: !tt.ptr<i32>, %out: !tt.ptr<" + outElement +
                         ">) attributes {ttg.config = #ttg.config<warps = " + std::to_string(warps) +
                         ", ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_90a\">" + attributes + "} {\n" + body + "tt.return\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context, "test.mlir");
    if (!module) return "not parsed:\n" + source;
    if (attributes.empty() && mlir::failed(allocateShared(*module))) return "not allocated:\n" + source;
    for (auto *step : {prepareLowering, orderAccesses, lowerToThreads})
      if (mlir::failed(step(*module)) || mlir::failed(mlir::verify(*module))) return "not lowered:\n" + source;
    SimulateOptions options;
    options.memory = {{0, ~uint64_t(0), "memory"}};
    options.seed = random();
    SimulatedArguments args;
    for (const void *pointer : {x, y, static_cast<const void *>(out)})
      args.slots.push_back(reinterpret_cast<uint64_t>(pointer));
    std::optional<SimulationError> error = simulate(*module, "kernel", {1, 1, 1}, args, options);
    return error ? error->message() + "\n" + source : "";
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::mt19937_64 random{1};
  std::string attributes; ///< more of the kernel's
};

TEST_F(LowerLayouts, conversions) {
  const int64_t sizes[] = {1, 2, 16, 64, 256, 1024};
  for (int64_t trial = 0; trial < 160; ++trial) {
    int64_t count = sizes[random() % 6], warps = int64_t(1) << random() % 3, bits = int64_t(8) << random() % 4;
    Dims shape = count >= 64 && trial % 2 ? Dims{count / 16, 16} : Dims{count};
    Layout from = randomLayout(shape, warps, trial % 3 == 0), to = randomLayout(shape, warps, trial % 4 == 0);
    std::string element = "i" + std::to_string(bits);
    std::vector<uint8_t> x(size_t(count * bits / 8)), out(x.size());
    for (uint8_t &byte : x)
      byte = uint8_t(random());
    std::string error = run(warps, element, element,
                            load("v", "x", element, from) + "%w = ttg.convert_layout %v : " + tile(from, element) + " -> " +
                                tile(to, element) + "\n" + store("w", "out", element, to),
                            x.data(), nullptr, out.data());
    ASSERT_EQ(error, "");
    ASSERT_EQ(x, out) << textOf(from) << "\n" << textOf(to);
  }
}

TEST_F(LowerLayouts, scans) {
  for (int64_t trial = 0; trial < 60; ++trial) {
    int64_t warps = int64_t(1) << random() % 3, axis = int64_t(random() % 2);
    Dims shape = {int64_t(1) << random() % 6, int64_t(1) << random() % 7};
    bool reverse = random() % 2;
    Layout layout = randomLayout(shape, warps, trial % 5 == 0);
    std::string type = tile(layout, "i32");
    // (a, b) -> 3 b + a is not associative, so the composition of affine maps stands in: two operands, order matters.
    std::string body = load("v", "x", "i32", layout) + load("u", "y", "i32", layout) +
                       "%s:2 = \"tt.scan\"(%v, %u) <{axis = " + std::to_string(axis) + " : i32, reverse = " + (reverse ? "true" : "false") +
                       "}> ({\n^bb0(%a: i32, %b: i32, %c: i32, %d: i32):\n%m = arith.muli %a, %c : i32\n%n = arith.muli %b, %c : i32\n"
                       "%k = arith.addi %n, %d : i32\ntt.scan.return %m, %k : i32, i32\n}) : (" +
                       type + ", " + type + ") -> (" + type + ", " + type + ")\n%t = arith.addi %s#1, %s#1 : " + type + "\n" +
                       store("t", "out", "i32", layout);
    int64_t count = elementCount(shape);
    std::vector<uint32_t> x(size_t(count), 0), y(x), out(x), expected(x);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = uint32_t(random());
      y[i] = uint32_t(random());
    }
    int64_t stride = axis == 0 ? shape[1] : 1, length = shape[size_t(axis)];
    for (int64_t start = 0; start < count; ++start) {
      if (start / stride % length) continue;
      uint32_t factor = 1, constant = 0;
      for (int64_t i = 0; i < length; ++i) {
        size_t at = size_t(start + (reverse ? length - 1 - i : i) * stride);
        constant = constant * x[at] + y[at];
        factor *= x[at];
        expected[at] = 2 * constant;
      }
    }
    std::string error = run(warps, "i32", "i32", body, x.data(), y.data(), out.data());
    ASSERT_EQ(error, "");
    ASSERT_EQ(expected, out) << textOf(layout) << " axis " << axis << " reverse " << reverse;
  }
}

TEST_F(LowerLayouts, reductions) {
  for (int64_t trial = 0; trial < 60; ++trial) {
    int64_t warps = int64_t(1) << random() % 3, axis = int64_t(random() % 2);
    Dims shape = {int64_t(1) << random() % 6, int64_t(1) << random() % 7}, left = {shape[size_t(1 - axis)]};
    Layout layout = randomLayout(shape, warps, trial % 5 == 0), result = randomLayout(left, warps, false);
    if (random() % 2) result = layout.withoutDim(axis);
    std::string body = load("v", "x", "i32", layout) + "%s = \"tt.reduce\"(%v) <{axis = " + std::to_string(axis) +
                       " : i32}> ({\n^bb0(%a: i32, %b: i32):\n%m = arith.addi %a, %b : i32\ntt.reduce.return %m : i32\n}) : (" +
                       tile(layout, "i32") + ") -> " + tile(result, "i32") + "\n" + store("s", "out", "i32", result);
    std::vector<uint32_t> x(size_t(elementCount(shape))), out(size_t(left[0]), 0), expected(out);
    for (uint32_t &value : x)
      value = uint32_t(random());
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j)
        expected[size_t(axis ? i : j)] += x[size_t(i * shape[1] + j)];
    std::string error = run(warps, "i32", "i32", body, x.data(), nullptr, out.data());
    ASSERT_EQ(error, "");
    ASSERT_EQ(expected, out) << textOf(layout) << " axis " << axis;
  }
}

TEST_F(LowerLayouts, gathers) {
  for (int64_t trial = 0; trial < 60; ++trial) {
    int64_t warps = int64_t(1) << random() % 3, axis = int64_t(random() % 2);
    Dims shape = {int64_t(1) << random() % 6, int64_t(1) << random() % 6}, wanted = shape;
    wanted[size_t(axis)] = int64_t(1) << random() % 6;
    Layout from = randomLayout(shape, warps, trial % 3 == 0), to = randomLayout(wanted, warps, trial % 4 == 0);
    std::string body = load("v", "x", "i16", from) + load("i", "y", "i32", to) + "%g = tt.gather %v[%i] {axis = " + std::to_string(axis) +
                       " : i32} : (" + tile(from, "i16") + ", " + tile(to, "i32") + ") -> " + tile(to, "i16") + "\n" +
                       store("g", "out", "i16", to);
    std::vector<uint16_t> x(size_t(elementCount(shape))), out(size_t(elementCount(wanted))), expected(out);
    std::vector<int32_t> which(out.size());
    for (uint16_t &value : x)
      value = uint16_t(random());
    for (int32_t &index : which)
      index = int32_t(random() % uint64_t(shape[size_t(axis)]));
    for (int64_t i = 0; i < wanted[0]; ++i)
      for (int64_t j = 0; j < wanted[1]; ++j) {
        size_t at = size_t(i * wanted[1] + j);
        expected[at] = axis == 0 ? x[size_t(which[at] * shape[1] + j)] : x[size_t(i * shape[1] + which[at])];
      }
    std::string error = run(warps, "i16", "i16", body, x.data(), which.data(), out.data());
    ASSERT_EQ(error, "");
    ASSERT_EQ(expected, out) << textOf(from) << "\n" << textOf(to) << " axis " << axis;
  }
}

TEST_F(LowerLayouts, histogramsAndCats) {
  for (int64_t trial = 0; trial < 40; ++trial) {
    int64_t warps = int64_t(1) << random() % 3, count = int64_t(1) << random() % 9, bins = int64_t(1) << random() % 8;
    Layout from = randomLayout({count}, warps, trial % 3 == 0), to = randomLayout({bins}, warps, trial % 4 == 0);
    std::vector<uint32_t> x(size_t(count), 0), out(size_t(bins), 0), expected(out);
    for (uint32_t &value : x) {
      value = uint32_t(random() % uint64_t(bins + 2));
      if (value < expected.size()) ++expected[value];
    }
    std::string body = load("v", "x", "i32", from) + "%h = tt.histogram %v : " + tile(from, "i32") + " -> " + tile(to, "i32") + "\n" +
                       store("h", "out", "i32", to);
    std::string error = run(warps, "i32", "i32", body, x.data(), nullptr, out.data());
    ASSERT_EQ(error, "");
    ASSERT_EQ(expected, out) << textOf(from) << "\n" << textOf(to);

    Layout half = randomLayout({count}, warps, false), whole = trial % 2 ? half.concatenated(0) : randomLayout({2 * count}, warps, true);
    std::vector<uint32_t> both(size_t(2 * count), 0);
    body = load("v", "x", "i32", half) + "%w = arith.addi %v, %v : " + tile(half, "i32") + "\n%c = tt.cat %v, %w : " + tile(half, "i32") +
           " -> " + tile(whole, "i32") + "\n" + store("c", "out", "i32", whole);
    ASSERT_EQ(run(warps, "i32", "i32", body, x.data(), nullptr, both.data()), "");
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(both[i], x[i]);
      ASSERT_EQ(both[x.size() + i], 2 * x[i]);
    }
  }
}

/// A tile goes from one partition to the next one, and then to the default region, through buffers and mbarriers. Conversions between
/// layouts need scratch memory and a barrier of their partition.
TEST_F(LowerLayouts, partitions) {
  attributes = ", ttg.shared_bytes = 32768 : i64";
  const Dims shape = {16, 32};
  std::string buffer, registers[] = {"", "attributes {requestedRegisters = array<i32: 24, 80>}"};
  llvm::raw_string_ostream(buffer) << mlir::Type(ttg::BufferType::get(
      &context, 1, mlir::IntegerType::get(&context, 32), ttg::SharedAttr::get(&context, SharedLayout::rowMajor(shape, 32, {1, 0}))));
  auto convert = [&](const std::string &name, const Layout &from, const Layout &to, int64_t offset) {
    return "%" + name + "_converted = ttg.convert_layout %" + name + " {ttg.offset = " + std::to_string(offset) +
           " : i64} : " + tile(from, "i32") + " -> " + tile(to, "i32") + "\n";
  };
  auto barriers = [](const std::string &name, int64_t warps, int64_t offset) {
    return "%" + name + " = ttg.alloc_barriers {arrivals = " + std::to_string(warps) + " : i32, ttg.offset = " + std::to_string(offset) +
           " : i64} : !ttg.barriers<1>\n";
  };
  for (int64_t trial = 0; trial < 24; ++trial) {
    int64_t first = int64_t(1) << random() % 3, second = int64_t(1) << random() % 3;
    auto layoutFor = [&](int64_t warps) { return randomLayout(shape, warps, random() % 2); };
    Layout a = layoutFor(first), b = layoutFor(first), c = layoutFor(second), d = layoutFor(second), e = layoutFor(4);
    auto transfer = [&](const std::string &name, const Layout &layout, const std::string &to, const std::string &barrier) {
      return "ttg.store_shared %" + name + ", " + to + " : " + tile(layout, "i32") + ", " + buffer + "\nttg.barrier_arrive %" + barrier +
             "[%zero] : !ttg.barriers<1>\nttg.warp_return\n";
    };
    auto receive = [&](const std::string &name, const Layout &layout, const std::string &from, const std::string &barrier) {
      return "ttg.barrier_wait %" + barrier + "[%zero], %zero : !ttg.barriers<1>\n%" + name + " = ttg.load_shared " + from + " : " +
             buffer + " -> " + tile(layout, "i32") + "\n";
    };
    std::string body = "%zero = arith.constant 0 : i32\n%ab = ttg.alloc {ttg.offset = 0 : i64} : " + buffer +
                       "\n%cd = ttg.alloc {ttg.offset = 4096 : i64} : " + buffer + "\n" + barriers("full", first, 8192) +
                       barriers("made", second, 8200) + "ttg.warp_specialize(%x, %ab) " + registers[trial % 2] + "\ndefault {\n" +
                       receive("w", e, "%cd", "made") + store("w", "out", "i32", e) +
                       "ttg.warp_yield\n}\npartition0(%p: !tt.ptr<i32>, %q: " + buffer + ") num_warps(" + std::to_string(first) + ") {\n" +
                       load("v", "p", "i32", a) + convert("v", a, b, 12288) + transfer("v_converted", b, "%q", "full") +
                       "}\npartition1(%p: !tt.ptr<i32>, %q: " + buffer + ") num_warps(" + std::to_string(second) + ") {\n" +
                       receive("u", c, "%q", "full") + convert("u", c, d, 20480) + transfer("u_converted", d, "%cd", "made") +
                       "} : (!tt.ptr<i32>, " + buffer + ") -> ()\n";
    std::vector<uint32_t> x(size_t(elementCount(shape))), out(x.size());
    for (uint32_t &value : x)
      value = uint32_t(random());
    ASSERT_EQ(run(4, "i32", "i32", body, x.data(), nullptr, out.data()), "");
    ASSERT_EQ(x, out) << body;
  }
}

} // namespace
