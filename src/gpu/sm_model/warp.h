// The state of one warp in the model of an SM: its place in the code, its integers, and when its values are ready.
#pragma once

#include "gpu/sm_model/code.h"

#include <algorithm>
#include <array>
#include <deque>

namespace tilewright::gpu::model {

constexpr int64_t lanesOfWarp = 32;

/// What is known before the warps run.
struct Place {
  llvm::ArrayRef<Integer> arguments; ///< of the kernel
  std::array<int64_t, 3> block{}, grid{1, 1, 1};
  int64_t warp = 0;
};

/// Operations that have been counted.
struct Count {
  double all = 0, ofProgram = 0; ///< the latter: in a program loop
};

/// A loop or branch that a warp is in.
struct Frame {
  const Node *node = nullptr; ///< null: the kernel
  const Body *body = nullptr;
  size_t next = 0;
  int64_t left = 0; ///< iterations after this one
  uint32_t mask = ~0u;
  int64_t iterations = 1; ///< of a loop
  Count before = {};      ///< when the loop began
};

/// Asynchronous operations of a warp, which it commits in groups.
struct AsyncGroups {
  double open = 0;              ///< when those that are not in a group are complete
  std::deque<double> committed; ///< when each group is complete
  void add(double done) { open = std::max(open, done); }
  void commit() { committed.push_back(open); }
  /// Waits until all but the latest `pending` groups are complete. True if there are others.
  bool wait(int64_t pending, double &now) {
    bool waits = static_cast<int64_t>(committed.size()) > pending;
    for (; static_cast<int64_t>(committed.size()) > pending; committed.pop_front())
      now = std::max(now, committed.front());
    return waits;
  }
};

/// Returns an integer of the first thread of a program, which follows from the program and the arguments alone.
Integer inProgram(mlir::Value value, const Place &place);

class Warp {
public:
  Warp(const Code &code, const Place &place);

  const Code &code;
  Place place;
  std::vector<Integer> values;
  std::vector<double> ready;
  std::vector<Frame> stack;
  double now = 0;

  AsyncGroups mmas, copies, stores;
  double openTensorAccesses = 0; ///< when all accesses to tensor memory are complete

  /// Sets an integer result that the SM computes.
  void setInteger(int32_t value, Integer number) { values[static_cast<size_t>(value)] = number; }
  uint32_t mask() const { return stack.back().mask; }
  /// True in a loop that waits for a lock.
  bool spins() const {
    return llvm::any_of(stack, [](const Frame &frame) { return frame.node && frame.node->isSpinLoop; });
  }
  Integer get(int32_t value) const { return values[static_cast<size_t>(value)]; }
  /// Returns a value in one lane. Loop-carried values that differ between lanes have the difference that they begin with.
  Integer inLane(mlir::Value value, int64_t lane) const;
  /// Returns the lanes of `mask` in which the predicate is not known to be false; all for a null value.
  uint32_t lanesWhere(mlir::Value predicate) const;

  /// Goes on to the next operation, and enters and leaves loops and branches. Null at the end of the kernel.
  const Node *next();
  /// Computes the integer results of an operation.
  void evaluate(const Node &node);
  /// Enters the body of a branch or loop. False if none of it is executed.
  bool enter(const Node &node);
  /// Returns how many operations this warp executes from here on, loops included, attempts to acquire a lock excluded. In a kernel with a
  /// program loop: those of an iteration, because a CTA executes the others once for many programs. After `budget` operations, the
  /// iterations of a loop so far count for those that follow.
  double countSteps(int64_t budget);

  int64_t iterationsOf(const Node &loop) const;

private:
  bool goOnInLoop(Frame &frame);
  void define(int32_t value, Integer number, double time);
  uint32_t takenLanes(const Node &node) const;
  void pass(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to);
  void countOtherIterations(Frame &frame);

  Count counted;
  std::optional<int64_t> toWalk; ///< while operations are counted: how many more of them one by one
};

} // namespace tilewright::gpu::model
