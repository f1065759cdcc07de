// insert-barriers: each exemption saves a barrier or a wait, a wrong one is a race, and partitions of a kernel's own get what they need.
#include "gpu/machine/ptx.h"
#include "gpu/machine/simulate.h"
#include "gpu/passes.h"
#include "gpu/schedule/shared_memory/barrier_analysis.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

class Barriers : public testing::Test {
protected:
  Barriers() {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  }

  std::string buffer(const Dims &shape, int64_t bits, const std::string &element) {
    Dims order(shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
    std::string text = "!ttg.buffer<1 x " + element + ", ";
    llvm::raw_string_ostream(text) << mlir::Attribute(ttg::SharedAttr::get(&context, SharedLayout::rowMajor(shape, bits, order)));
    return text + ">";
  }

  /// A kernel of four warps. Its tiles have a float for each thread, in two layouts.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &arguments, const std::string &attributes, const std::string &body) {
    return mlir::parseSourceString<mlir::ModuleOp>(
        "#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>\n"
        "#mixed = #ttg.layout<128, reg [], lane [[4], [8], [16], [32], [64]], warp [[1], [2]]>\n"
        "!tile = tensor<128xf32, #row>\n!other = tensor<128xf32, #mixed>\n!pointers = tensor<128x!tt.ptr<f32>, #row>\n!barriers = "
        "!ttg.barriers<1>\n!sums = !ttg.tensor_memory<128x64xf32>\n!buffer = " +
            buffer({128}, 32, "f32") + "\n!left = " + buffer({128, 16}, 16, "f16") + "\n!right = " + buffer({16, 64}, 16, "f16") +
            "\ntt.func public @kernel(" + arguments +
            ") attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = \"sm_100a\">" + attributes +
            "} {\n%zero = arith.constant 0 : i32\n%true = arith.constant true\n" + body + "tt.return\n}\n",
        &context, "test.mlir");
  }

  /// What orders the accesses of a body, as a number: barriers, fences, and partitions that take part. A thousand if no barrier can.
  int64_t cost(const std::string &body, llvm::ArrayRef<Exemption> exempt) {
    auto module = parse("%v: !tile, %p: !pointers, %s: tensor<128x64xf32>, %m: !ptx.tensor_map",
                        ", ttg.operand_registers = 24 : i32, ttg.warp_specialized",
                        "%full = ttg.alloc_barriers {ttg.offset = 65536 : i64} : !barriers\n" + body);
    EXPECT_TRUE(module) << body;
    if (!module) return -1;
    tt::FuncOp function = *module->getOps<tt::FuncOp>().begin();
    if (failed(insertBarriers(function, exempt))) return 1000;
    int64_t number = 0;
    function.walk([&](ttg::CtaBarrierOp barrier) { number += 1 + barrier.getAllWarps(); });
    function.walk([&](ttg::FenceAsyncOp) { ++number; });
    return number;
  }

  /// Runs a kernel with pointers %x and %out, after `insert`. Returns what the simulator reports.
  std::string run(const std::string &body, std::vector<float> &x, std::vector<float> &out,
                  llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> insert) {
    auto module = parse("%x: !tt.ptr<f32>, %out: !tt.ptr<f32>", "", body);
    if (!module || failed(allocateShared(*module)) || failed(insert(*module)) || failed(prepareLowering(*module)) ||
        failed(orderAccesses(*module)) || failed(lowerToThreads(*module)))
      return "not lowered";
    std::string message;
    for (uint64_t seed = 0; seed < 8 && message.empty(); ++seed) {
      SimulateOptions options;
      options.memory = {{0, ~uint64_t(0), "memory"}};
      options.seed = seed;
      SimulatedArguments arguments;
      for (std::vector<float> *data : {&x, &out})
        arguments.slots.push_back(reinterpret_cast<uint64_t>(data->data()));
      if (auto error = simulate(*module, "kernel", {1, 1, 1}, arguments, options)) message = error->message();
    }
    return message;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

/// The 128 elements from `base` on, in two steps: their addresses, and the load.
std::string loadTile(const std::string &name, const std::string &base) {
  return "%" + name + "_range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #row>\n%" + name + "_base = tt.splat %" +
         base + " : !tt.ptr<f32> -> !pointers\n%" + name + "_p = tt.addptr %" + name + "_base, %" + name +
         "_range : !pointers, tensor<128xi32, #row>\n%" + name + " = tt.load %" + name + "_p : !pointers\n";
}
std::string storeTile(const std::string &value, const std::string &base) {
  return "%" + value + "_range_ = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #mixed>\n%" + value +
         "_base_ = tt.splat %" + base + " : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #mixed>\n%" + value + "_p_ = tt.addptr %" + value +
         "_base_, %" + value + "_range_ : tensor<128x!tt.ptr<f32>, #mixed>, tensor<128xi32, #mixed>\ntt.store %" + value + "_p_, %" +
         value + " : tensor<128x!tt.ptr<f32>, #mixed>\n";
}

std::vector<float> numbers(float first) {
  std::vector<float> values(128);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(Barriers, eachExemptionSavesSomething) {
  const std::string a = "%a = ttg.alloc {ttg.offset = 0 : i64} : !buffer\n", b = "%b = ttg.alloc {ttg.offset = 0 : i64} : !buffer\n";
  const std::string storeA = "ttg.store_shared %v, %a : !tile, !buffer\n", loadA = "%u = ttg.load_shared %a : !buffer -> !tile\n";
  const std::string copyA = "ttg.tma_load %m[%zero] to %a, %full[%zero] : !buffer, !barriers\n";
  const std::string operands = "%left = ttg.alloc {ttg.offset = 0 : i64} : !left\n%right = ttg.alloc {ttg.offset = 8192 : i64} : !right\n"
                               "%sums = ttg.tensor_tile %zero, 0 : !sums\n";
  auto mma = [](const std::string &attributes) {
    return "ttg.tcgen05_mma %left, %right, %sums if %true" + attributes + " : !left, !right, !sums\n";
  };
  auto of = [](const std::string &partition) { return " {ttg.partition = #ttg.partition<" + partition + ">}"; };
  const std::map<std::string, std::string> examples = {
      {"TMA loads", a + copyA + "ttg.barrier_wait %full[%zero], %zero : !barriers\n" + loadA},
      {"partitions of threads",
       a + b + "ttg.store_shared %v, %a" + of("operands") + " : !tile, !buffer\nttg.store_shared %v, %b : !tile, !buffer\n"},
      {"MMAs before consumers",
       a + operands + mma(of("mmas")) + "ttg.barrier_wait %full[%zero], %zero {tensorMemory} : !barriers\n" + storeA},
      {"one buffer of partitions", a + loadA + "ttg.tma_load %m[%zero] to %a, %full[%zero]" + of("producer") + " : !buffer, !barriers\n"},
      {"own part of tensor memory", "%sums = ttg.tensor_tile %zero, 0 : !sums\nttg.tensor_store %s, %sums : tensor<128x64xf32>, !sums\n"
                                    "%u = ttg.tensor_load %sums : !sums -> tensor<128x64xf32>\n"},
      {"MMAs in order", operands + mma("") + mma("")},
      {"sums in order", operands + mma("") + mma("")},
      {"copies after MMAs", a + operands + mma("") + "ttg.tcgen05_wait 0 of %full at %zero : !barriers\n" + copyA},
      {"own copies", a + "ttg.copy_async %p, %a : !pointers -> !buffer\nttg.copy_commit\nttg.copy_wait 0\n" + loadA},
      {"own part of a warp group", a + storeA +
                                       "ttg.fence_async\nptx.barrier {id = 4 : i32, threads = 128 : i32, perWarpGroup}\n"
                                       "ttg.tma_store %a to %m[%zero] {perWarpGroup} : !buffer\n"},
      {"own elements", a + storeA + storeA}};
  for (const Exemption &removed : exemptions()) {
    SCOPED_TRACE(removed.name.str());
    auto example = examples.find(removed.name.str());
    ASSERT_NE(example, examples.end());
    std::vector<Exemption> others;
    llvm::copy_if(exemptions(), std::back_inserter(others), [&](const Exemption &each) { return each.name != removed.name; });
    EXPECT_LT(cost(example->second, exemptions()), cost(example->second, others));
  }
}

/// Counts the pairs of accesses that the analysis meets and that are not ordered yet.
int64_t unorderedPairs = 0;
constexpr Exemption counted[] = {{"counted", {}, [](const PendingAccess &, const SharedAccess &) {
                                    ++unorderedPairs;
                                    return false;
                                  }}};

/// A wait of cp.async makes accesses alike, however many younger copies there were: the work grows with the square of the stages.
TEST_F(Barriers, manyStages) {
  auto work = [&](int64_t stages) {
    std::string number = std::to_string(stages), buffers = buffer({128}, 32, "f32"), last = std::to_string(stages - 1);
    buffers.replace(buffers.find("<1 x"), 4, "<" + number + " x");
    unorderedPairs = 0;
    std::string body = "%one = arith.constant 1 : i32\n%stages = arith.constant " + number + " : i32\n%last = arith.constant " + last +
                       " : i32\n%a = ttg.alloc {ttg.offset = 0 : i64} : " + buffers +
                       "\n%r = scf.for %i = %zero to %stages step %one iter_args(%at = %zero) -> (i32) : i32 {\n"
                       "%ahead = arith.addi %at, %last : i32\n%wraps = arith.cmpi sge, %ahead, %stages : i32\n"
                       "%less = arith.subi %ahead, %stages : i32\n%free = arith.select %wraps, %less, %ahead : i32\n"
                       "%into = ttg.stage %a[%free] : " +
                       buffers + " -> !buffer\n%from = ttg.stage %a[%at] : " + buffers +
                       " -> !buffer\nttg.copy_async %p, %into : !pointers -> !buffer\nttg.copy_commit\nttg.copy_wait " +
                       std::to_string(stages - 2) +
                       "\n%u = ttg.load_shared %from : !buffer -> !tile\n"
                       "%more = arith.addi %at, %one : i32\n%ends = arith.cmpi eq, %more, %stages : i32\n"
                       "%next = arith.select %ends, %zero, %more : i32\nscf.yield %next : i32\n}\n";
    EXPECT_LT(cost(body, counted), 10);
    return unorderedPairs;
  };
  int64_t few = work(8), many = work(16);
  EXPECT_LT(many, 5 * few) << few;
}

/// An iteration of an unrolled loop is analyzed once, not once for each barrier: the work grows with its length.
TEST_F(Barriers, unrolledLoops) {
  auto work = [&](int64_t count) {
    std::string body =
        "%one = arith.constant 1 : i32\n%a = ttg.alloc {ttg.offset = 0 : i64} : !buffer\nscf.for %i = %zero to %one step %one "
        ": i32 {\n";
    for (int64_t i = 0; i < count; ++i)
      body += "ttg.store_shared %v, %a : !tile, !buffer\n%u" + std::to_string(i) + " = ttg.load_shared %a : !buffer -> !tile\n";
    unorderedPairs = 0;
    EXPECT_EQ(cost(body + "}\n", counted), 2 * count);
    return unorderedPairs;
  };
  int64_t few = work(10), many = work(20);
  EXPECT_LT(many, 3 * few) << few;
}

/// A row that is wrong removes a barrier between threads that exchange elements.
TEST_F(Barriers, wrongExemption) {
  std::string body = loadTile("u", "x") +
                     "%a = ttg.alloc : !buffer\nttg.store_shared %u, %a : !tile, !buffer\n"
                     "%w = ttg.load_shared %a : !buffer -> !other\n" +
                     storeTile("w", "out");
  auto with = [](llvm::ArrayRef<Exemption> exempt) {
    return [=](mlir::ModuleOp module) { return insertBarriers(*module.getOps<tt::FuncOp>().begin(), exempt); };
  };
  std::vector<float> x = numbers(1), out(128);
  EXPECT_EQ(run(body, x, out, with(exemptions())), "");
  EXPECT_EQ(x, out);
  std::vector<Exemption> wrong(exemptions());
  wrong.push_back({"wrong", {.barrier = true}, [](const PendingAccess &, const SharedAccess &) { return true; }});
  EXPECT_NE(run(body, x, out, with(wrong)).find("race"), std::string::npos);
}

/// Operations that the analysis does not know, or does not visit, are bugs.
TEST_F(Barriers, unknownOperations) {
  const std::string a = "%a = ttg.alloc {ttg.offset = 0 : i64} : !buffer\n", store = "ttg.store_shared %v, %a : !tile, !buffer\n";
  EXPECT_EQ(cost(a + store, {}), 0);
  EXPECT_EQ(cost(a + "scf.execute_region {\n" + store + "scf.yield\n}\n", {}), 1000);
  EXPECT_EQ(cost(a + "%b = scf.execute_region -> !buffer {\nscf.yield %a : !buffer\n}\n", {}), 1000);
}

/// Partitions that a kernel has itself run at the same time: their scratch memory and buffers share no bytes, and threads of one that
/// exchange elements synchronize.
TEST_F(Barriers, partitionsOfTheKernel) {
  auto exchange = [](const std::string &from, const std::string &to) {
    return loadTile("u", from) + "%c = ttg.convert_layout %u : !tile -> !other\n%k = ttg.convert_layout %c : !other -> !tile\n" +
           "%a = ttg.alloc : !buffer\nttg.store_shared %k, %a : !tile, !buffer\n%w = ttg.load_shared %a : !buffer -> !other\n" +
           storeTile("w", to);
  };
  std::string body = "%far = arith.constant 128 : i32\n%y = tt.addptr %x, %far : !tt.ptr<f32>, i32\n%more = tt.addptr %out, %far : "
                     "!tt.ptr<f32>, i32\nttg.warp_specialize()\ndefault {\n" +
                     exchange("x", "out") + "ttg.warp_yield\n}\npartition0() num_warps(4) {\n" + exchange("y", "more") +
                     "ttg.warp_return\n} : () -> ()\n";
  std::vector<float> x(256), out(256);
  std::iota(x.begin(), x.end(), 1.0F);
  EXPECT_EQ(run(body, x, out, [](mlir::ModuleOp module) { return insertBarriers(module); }), "");
  EXPECT_EQ(x, out);
}

} // namespace
