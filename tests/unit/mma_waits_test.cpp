// Waits for MMAs: how many MMAs each may leave pending, in tables of bodies. A body is a list of
//   d=x    the MMA d = x + a * b          s=1:d    a wait that leaves one MMA pending, and passes d through as s          0:    one without
//   tiles
// The loop carries x, y and z. What it yields for them is listed; z, if nothing is.
#include "gpu/schedule/mma_intervals.h"
#include "gpu/schedule/mma_waits.h"
#include "tile_context.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

const std::string head = R"(
#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#acc = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]], 16>
!acc = tensor<64x64xf32, #acc>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func @kernel(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !acc
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero, %z = %zero) -> (!acc, !acc, !acc) : i32 {
)";

struct Edge {
  std::string op, until;
  int64_t distance;
};

class Body {
public:
  explicit Body(const std::string &ops, const std::string &yields = "x y z") {
    std::string text = head;
    for (llvm::StringRef op : llvm::split(ops, ' '))
      text += "    " + lineOf(op) + "\n";
    auto carried = llvm::map_to_vector(llvm::split(yields, ' '), [](llvm::StringRef name) { return "%" + name.str(); });
    module = mlir::parseSourceString<mlir::ModuleOp>(
        text + "    scf.yield " + llvm::join(carried, ", ") + " : !acc, !acc, !acc\n  }\n  tt.return\n}\n", &testContext());
    EXPECT_TRUE(module) << ops;
    module->walk([&](mlir::scf::ForOp each) { loop = each; });
    size_t index = 0;
    for (llvm::StringRef op : llvm::split(ops, ' ')) {
      while (!mlir::isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(at(index)))
        ++index;
      named[op.split('=').first.str()] = at(index++);
    }
  }

  mlir::Operation *operator[](const std::string &name) { return named.at(name); }

  llvm::SmallVector<MmaEdge> edges(const std::vector<Edge> &all) {
    return llvm::map_to_vector(all, [&](const Edge &edge) { return MmaEdge{named.at(edge.op), named.at(edge.until), edge.distance}; });
  }

  /// "M w1:2 | w0:1": an MMA and a wait of two tiles that leaves one MMA pending, and after the loop a wait.
  std::string text() {
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    std::string result;
    auto add = [&](mlir::Operation &op) {
      if (mlir::isa<ttg::MmaAsyncOp>(op)) result += "M ";
      if (auto wait = mlir::dyn_cast<ttg::MmaAsyncWaitOp>(op))
        result += "w" + std::to_string(wait.getPending()) + ":" + std::to_string(wait.getTiles().size()) + " ";
    };
    llvm::for_each(*loop.getBody(), add);
    result += "|";
    for (mlir::Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      if (auto wait = mlir::dyn_cast<ttg::MmaAsyncWaitOp>(op))
        result += " w" + std::to_string(wait.getPending()) + ":" + std::to_string(wait.getTiles().size());
    return result;
  }

  mlir::scf::ForOp loop;

private:
  static std::string lineOf(llvm::StringRef op) {
    auto [pending, tile] = op.split('=').second.split(':');
    if (op.ends_with(":")) return "ttg.mma_async_wait " + op.drop_back().str();
    std::string result = "%" + op.split('=').first.str() + " = ";
    if (tile.empty()) return result + "ttg.mma_async %a, %b, %" + pending.str() + " : !buffer, !buffer -> !acc";
    return result + "ttg.mma_async_wait " + pending.str() + ", %" + tile.str() + " : !acc -> !acc";
  }
  mlir::Operation *at(size_t index) { return &*std::next(loop.getBody()->begin(), static_cast<ptrdiff_t>(index)); }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, mlir::Operation *> named;
};

TEST(MmaWaits, pending) {
  struct Case {
    std::vector<std::string> tiles;
    int64_t pending;
  };
  Body body("d=z e=z f=z 0: g=z");
  BlockOrder order(*body.loop.getBody());
  for (const Case &each : {Case{{"d"}, 2}, {{"e"}, 1}, {{"f"}, 0}, {{"d", "e"}, 1}, {{"d", "f"}, 0}, {{"g"}, 0}, {{}, 0}}) {
    auto tiles = llvm::map_to_vector(each.tiles, [&](const std::string &name) -> mlir::Value { return body[name]->getResult(0); });
    EXPECT_EQ(pendingAt(tiles, body["0:"], order), each.pending);
  }
}

TEST(MmaWaits, recount) {
  Body body("d=z e=z s=0:d t=0:e");
  recount(mlir::cast<ttg::MmaAsyncWaitOp>(body["s"]));
  EXPECT_EQ(body.text(), "M M w1:1 w0:1 |");
}

/// What loops wait for whose MMAs stay in flight across the back edge.
TEST(MmaWaits, keepInFlight) {
  struct Case {
    std::string ops, yields;
    std::vector<Edge> edges;
    std::string made;
  };
  for (const Case &each : {
           Case{"d=x s=0:d", "s y z", {{"d", "d", 1}}, "M w1:0 | w0:1"},
           {"d=x s=0:d e=y t=0:e", "s t z", {{"d", "e", 1}, {"e", "e", 1}}, "M M w2:0 | w0:2"},
           {"e=z u=0:e d=x s=0:d", "s y z", {{"d", "u", 1}}, "M w0:2 M | w0:1"}, // a wait for another MMA drains it
           {"0: d=x s=0:d", "s y z", {{"d", "0:", 1}}, "w0:1 M | w0:1"},         // so does one without tiles
           {"d=x s=0:d 0:", "s y z", {{"d", "d", 1}}, "M w1:0 w0:0 | w0:1"},     // other waits stay
           {"e=z u=0:e d=x s=0:d", "s y z", {{"d", "d", 1}}, "M w0:1 M w1:0 | w0:1"},
       }) {
    Body body(each.ops, each.yields);
    keepInFlight(body.loop, body.edges(each.edges));
    EXPECT_EQ(body.text(), each.made) << each.ops;
  }
}

/// Waits at which other MMAs end than those that they name.
TEST(MmaWaits, endAtEdges) {
  struct Case {
    std::string ops;
    std::vector<Edge> edges;
    std::string made;
  };
  for (const Case &each : {
           Case{"d=z e=z s=0:d t=0:e", {{"d", "s", 0}}, "M M w1:1 w0:1 |"}, // e goes on
           {"d=z e=z s=0:d t=0:e", {{"d", "t", 0}}, "M M w0:2 |"},
           {"d=z e=z s=0:d t=0:e", {{"d", "s", 0}, {"e", "s", 0}}, "M M w0:2 |"},
           {"d=z e=z f=z s=0:d t=0:e u=0:f", {{"d", "t", 0}, {"e", "t", 0}}, "M M M w1:2 w0:1 |"},
       }) {
    Body body(each.ops);
    EXPECT_TRUE(mlir::succeeded(endAtEdges(body.loop, body.edges(each.edges)))) << each.ops;
    EXPECT_EQ(body.text(), each.made) << each.ops;
  }
}

TEST(MmaWaits, edgesThatDoNotEnd) {
  mlir::ScopedDiagnosticHandler silent(&testContext(), [](mlir::Diagnostic &) {});
  Body body("d=z e=z s=0:d t=0:e");
  EXPECT_TRUE(mlir::failed(endAtEdges(body.loop, body.edges({{"d", "s", 0}, {"d", "t", 0}})))); // two ends
  EXPECT_TRUE(mlir::failed(endAtEdges(body.loop, body.edges({{"d", "t", 0}, {"e", "s", 0}})))); // to waits that are merged
  Body alone("d=z 0:");
  EXPECT_TRUE(mlir::failed(endAtEdges(alone.loop, alone.edges({{"d", "0:", 0}})))); // its result passes through no wait
}

/// The interval of d, which the second wait of the next iteration ends.
TEST(MmaIntervals, acrossTheBackEdge) {
  Body body("1: 0: d=z");
  BlockOrder order(*body.loop.getBody());
  MmaIntervals intervals(order);
  MmaEdge interval = intervals.intervalOf(mlir::cast<ttg::MmaAsyncOp>(body["d"]));
  EXPECT_EQ(interval.until, body["0:"]);
  EXPECT_EQ(interval.distance, 1);
  struct Case {
    std::string op;
    int64_t distance;
    bool isIn;
  };
  for (const Case &each :
       {Case{"1:", 0, false}, {"d", 0, false}, {"1:", 1, true}, {"0:", 1, false}, {"d", 1, false}, {"1:", 2, false}, {"d", 2, false}})
    EXPECT_EQ(intervals.contains(interval, body[each.op], each.distance), each.isIn) << each.op << " " << each.distance;
}

TEST(MmaIntervals, withoutEnd) {
  Body body("d=z");
  BlockOrder order(*body.loop.getBody());
  MmaIntervals intervals(order);
  MmaEdge interval = intervals.intervalOf(mlir::cast<ttg::MmaAsyncOp>(body["d"]));
  EXPECT_EQ(interval.until, nullptr);
  EXPECT_TRUE(intervals.contains(interval, body["d"], 1));
}

} // namespace
